"""Standing in the door for a program that is not trusted: it does nothing that its user was not asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.effects import CallTool, Outcome, Performer, ReadEnvironment, Step
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.questions import answered, named

if TYPE_CHECKING:
    from antiphon.effects import Said
    from antiphon.session.people import Once, People
    from antiphon.tools import CanonicalCall, Policy


class Distrust(Performer):
    """Asks about each variable, address, server and command; once for the same thing, whatever the answer."""

    def __init__(self, people: People | None, policy: Policy) -> None:
        self._people = people
        self._policy = policy
        self._decided: dict[str, bool] = {}

    def before(self, step: Step) -> None:
        """Ask, where the effect reaches out of the program."""
        match step.effect:
            case ReadEnvironment(name):
                self.allow(f"read the environment variable {named(name)}")
            case CallTool() if step.subject is not None:
                self._allow_call(step.path, step.subject)
            case _:
                pass

    def after(self, step: Step, outcome: Outcome) -> None:
        """What came of it is the program's."""

    def allow(self, what: str, details: str = "") -> None:
        """Ask whether the program may do this. The details are for the person: the program can catch the error."""
        if what not in self._decided:
            text = f"The program wants to {what}{details}. Allow it?"
            refused = f"a human must allow the program to {what}"
            answered(self._people, what, "approval", text, "", refused=refused, once=self._once(what))
        if not self._decided[what]:
            raise VibeError("V0923", f"the program was not allowed to {what}")

    def _once(self, what: str) -> Once:
        """Rounds side by side come to the same question at once."""
        from antiphon.effects import Said
        from antiphon.session.people import Once

        def known() -> Said | None:
            return Said(allowed=self._decided[what]) if what in self._decided else None

        return Once(known, lambda said: self._decided.setdefault(what, said.allowed))

    def _allow_call(self, path: str, call: CanonicalCall) -> None:
        """Whoever wrote a program may call what he likes; but one that is not trusted asks first."""
        from antiphon.session import Question
        from antiphon.session.people import decided, once
        from antiphon.tools.approval import standing

        name, always = call.tool.name, standing(call)
        if (said := decided(self._policy, call)) is None:
            if self._people is None:
                raise VibeError("V0923", f"`{name}` waits for a human to allow it", "run it in a terminal")
            question = Question(path, "approval", call.question, who="the program", call=call.call, always=always)
            said = self._people.ask_now(question, once(self._policy, call))
        if said is None or not said.allowed:
            raise VibeError("V0923", f"`{name}` was not allowed")
