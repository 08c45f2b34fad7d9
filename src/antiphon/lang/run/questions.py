"""Questions of a program to whoever runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon.lang.run.errors import VibeError

if TYPE_CHECKING:
    from antiphon.effects import Said
    from antiphon.session import People


def answered(people: People | None, id: str, kind: Any, text: str, who: str, *, refused: str = "") -> Said:
    """What a person says; a V0923 where nobody is there."""
    if people is not None:
        from antiphon.session import Question

        said = people.ask_now(Question(id, kind, text, who=who))
        if said is not None:
            return said
    raise VibeError("V0923", refused or f"nobody is here to answer: {text}", "run it in a terminal")


def named(text: str) -> str:
    """A text of the program's in a question of ours, in which nothing can pass for more of the question."""
    said = json.dumps(text)
    return said if len(said) <= 600 else f"{said[:300]} … {len(said) - 600:,} more characters … {said[-300:]}"
