"""Questions of a program to whoever runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon.effects.door import place
from antiphon.errors import Halted, Unsettled
from antiphon.lang.run.errors import Stopped, VibeError

if TYPE_CHECKING:
    from antiphon.effects import Said
    from antiphon.session.people import Once, People

#: So much of a question stands in an error; the whole of it is in the journal.
_MOST_SHOWN = 200


def answered(
    people: People | None, id: str, kind: Any, text: str, who: str, *, refused: str = "", once: Once | None = None
) -> Said:
    """What a person says; a V0923 where nobody is there."""
    if people is not None:
        from antiphon.session import Question

        said = people.ask_now(Question(id, kind, text, who=who), once)
        if said is not None:
            return said
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    raise waits(refused or f"nobody is here to answer: {shown}", "run it in a terminal")


class NobodyThere(VibeError, Unsettled):
    """Somebody is waited for; what asked has no outcome yet."""


class Asleep(NobodyThere):
    """A time is waited for that is far off."""


def halted(error: Halted) -> Stopped:
    """What ends a program that may do nothing more, whatever it catches."""
    told = VibeError("V0930", str(error))
    told.__cause__ = error
    return Stopped(told)


def waits(message: str, hint: str = "", kind: type[NobodyThere] = NobodyThere) -> BaseException:
    """What is raised where nobody answers; in a run that can wait, the program cannot catch it."""
    error = kind("V0923", message, hint)
    return Stopped(error) if place().waits else error


def is_waiting(error: BaseException | None) -> bool:
    """Whether an error is none, but says that the program can be gone on with when somebody has answered."""
    return isinstance(error, Stopped) and isinstance(error.error, NobodyThere)


def named(text: str) -> str:
    """A text of the program's in a question of ours, in which nothing can pass for more of the question."""
    said = json.dumps(text)
    return said if len(said) <= 600 else f"{said[:300]} … {len(said) - 600:,} more characters … {said[-300:]}"
