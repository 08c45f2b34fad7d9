"""Middleware for untrusted programs: their effects need the user's permission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.effects import CallTool, EffectCall, Middleware, Outcome, ReadEnvironment
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.human_questions import ask_human_now, quote_for_question

if TYPE_CHECKING:
    from antiphon.effects import HumanAnswer
    from antiphon.session.human_input import ApprovalCache, HumanInput
    from antiphon.tools import CanonicalCall, Policy


class UntrustedPolicy(Middleware):
    """Middleware that asks about each environment variable, address, server and command, once for each."""

    def __init__(self, people: HumanInput | None, policy: Policy) -> None:
        self._human_input = people
        self._policy = policy
        self._decided: dict[str, bool] = {}

    def before(self, step: EffectCall) -> None:
        """Ask for permission if the effect reaches outside of the program."""
        match step.effect:
            case ReadEnvironment(name):
                self.allow(f"read the environment variable {quote_for_question(name)}")
            case CallTool() if step.subject is not None:
                self._require_call_permission(step.path, step.subject)
            case _:
                pass

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Do nothing: outcomes need no permission."""

    def allow(self, what: str, details: str = "") -> None:
        """Ask the user for permission, once for each action, and raise V0923 if it is denied.

        `details` are shown to the user only, because the program can catch the error.
        """
        if what not in self._decided:
            text = f"The program wants to {what}{details}. Allow it?"
            refused = f"a human must allow the program to {what}"
            ask_human_now(
                self._human_input, what, "approval", text, "", refused=refused, once=self._make_decision_cache(what)
            )
        if not self._decided[what]:
            raise VibeError("V0923", f"the program was not allowed to {what}")

    def _make_decision_cache(self, what: str) -> ApprovalCache:
        """Return a cache of the decision, because concurrent iterations may ask the same question at once."""
        from antiphon.effects import HumanAnswer
        from antiphon.session.human_input import ApprovalCache

        def known() -> HumanAnswer | None:
            return HumanAnswer(allowed=self._decided[what]) if what in self._decided else None

        return ApprovalCache(known, lambda said: self._decided.setdefault(what, said.allowed))

    def _require_call_permission(self, path: str, call: CanonicalCall) -> None:
        """Ask for permission to call a tool; only untrusted programs need it."""
        from antiphon.session import Question
        from antiphon.session.human_input import apply_policy, make_approval_cache
        from antiphon.tools.approval import make_standing_decision

        name, always = call.tool.name, make_standing_decision(call)
        if (said := apply_policy(self._policy, call)) is None:
            if self._human_input is None:
                raise VibeError("V0923", f"`{name}` waits for a human to allow it", "run it in a terminal")
            question = Question(path, "approval", call.question, who="the program", call=call.call, always=always)
            said = self._human_input.ask_now(question, make_approval_cache(self._policy, call))
        if said is None or not said.allowed:
            raise VibeError("V0923", f"`{name}` was not allowed")
