"""The host of a program: its models, output, people and middleware, and the permissions of untrusted programs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from antiphon.effects.pipeline import EffectCall, Middleware
from antiphon.effects.types import CallTool, ReadEnvironment
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.human_questions import ask_human_now, quote_for_question
from antiphon.lang.runtime.models import ModelConnections, ModelValue

if TYPE_CHECKING:
    from antiphon.config import Configuration
    from antiphon.conversation import Conversation
    from antiphon.effects import Budget, HumanAnswer
    from antiphon.providers.prewarming import Prewarming
    from antiphon.session import Answers, Event, ModelProtocol, Session
    from antiphon.session.human_input import ApprovalCache, HumanInput
    from antiphon.tools import CanonicalCall, Policy, Tool


class PromptShown(BaseException):
    """The first request of a dry run, raised instead of being sent."""

    def __init__(self, model: str, body: bytes) -> None:
        super().__init__()
        self.model = model
        self.body = body


class DryRunMiddleware(Middleware):
    """Middleware that raises the first request as `PromptShown` instead of sending it."""

    def before(self, step: EffectCall) -> None:
        """Raise `PromptShown` if a model is about to be asked."""
        from antiphon.effects import AskModel

        if isinstance(step.effect, AskModel) and step.preview is not None:
            raise PromptShown(step.effect.model, step.preview())


@dataclass(slots=True)
class Host:
    """The environment that a caller gives a program. Every field has a default.

    `connect` returns a model for a name, as `antiphon.connect` does. `default_model` names the model for
    programs that name none or `"default"`; without it, the configured one is used. `watch` receives every
    event of the run. `people` answers questions; without it they are errors. `performers` are middleware for
    the program's effects. `max_cost` (US dollars) and `max_turns` (requests) limit all runs of the host
    together.
    """

    write: Callable[[str], None] = print
    connect: Callable[..., ModelProtocol] | None = None
    default_model: Callable[[], str] | None = None
    watch: Callable[[Event], object] | None = None
    people: HumanInput | Answers | None = None
    policy: Policy | None = None
    performers: tuple[Middleware, ...] = ()
    max_cost: float | None = None
    max_turns: int | None = None
    max_parallel: int = 8
    show_prompt: bool = False
    #: The program is untrusted: it needs permission for each address, file and process.
    untrusted: bool = False
    #: The directory of the program; an untrusted program may read files there without permission.
    directory: str | None = None
    environment: Mapping[str, str] | None = None
    #: Receives the replies that a test scripts with `answers`.
    play: Callable[[list[Any]], None] | None = None
    record: str | None = None
    replay: str | None = None
    #: The source of keys and default model; None loads the current directory's configuration on demand.
    configuration: Configuration | None = None
    distrust: UntrustedPolicy | None = field(default=None, init=False)
    _connections: ModelConnections = field(init=False)
    _budget: Budget | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.people is not None and not hasattr(self.people, "ask_now"):
            from antiphon.session import HumanInput

            self.people = HumanInput(self.people)  # type: ignore[arg-type]
        if self.untrusted:
            self.distrust = UntrustedPolicy(self.port, self._policy())
        if self.max_cost is not None or self.max_turns is not None:
            from antiphon.effects import Budget, Limits

            limits = Limits(requests=self.max_turns, tool_calls=None, cost=self.max_cost)
            self._budget = Budget(limits, scope="program")
        self.default_model = self.default_model or self._configured_model
        self._connections = ModelConnections(
            self.configured, self.default_model, self.connect, self.record, self.replay, self.distrust
        )

    def prewarm_with(self, prewarming: Prewarming) -> None:
        """Let the first requests of this program wait for those of others that begin alike."""
        self._connections.prewarming = prewarming

    def _configured_model(self) -> str:
        from antiphon.config import default_model

        return default_model(self.configured()).model

    @property
    def port(self) -> HumanInput | None:
        """Return the channel to the people who answer questions."""
        people: Any = self.people
        return people

    def compose_middleware(self, outside: tuple[Middleware, ...]) -> tuple[Middleware, ...]:
        """Return all middleware of a run, outermost first, including that of the enclosing run.

        The budget also counts replayed effects; the untrusted policy asks only about effects that really happen.
        """
        budget = (self._budget,) if self._budget is not None else ()
        distrust = (self.distrust,) if self.distrust is not None else ()
        return (*budget, *outside, *self.performers, *((DryRunMiddleware(),) if self.show_prompt else ()), *distrust)

    def configured(self) -> Configuration:
        """Return the configuration by which models are chosen and connected; it is loaded at the first use."""
        if self.configuration is None:
            from antiphon.config import load_configuration

            self.configuration = load_configuration()
        return self.configuration

    # Implementations of the language's effects

    def clock(self) -> str:
        """Return the current time in UTC."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    def variable(self, name: str) -> str | None:
        """Return an environment variable, or None."""
        return (os.environ if self.environment is None else self.environment).get(name)

    def sleep(self, seconds: float) -> None:
        """Sleep for some seconds."""
        time.sleep(seconds)

    def session(self, value: ModelValue, conversation: Conversation, tools: list[Tool]) -> Session:
        """Create a session in which a model of the program is asked."""
        from antiphon.effects import Limits
        from antiphon.session import Session

        model = self._connections.connect_model(value, is_sent=not self.show_prompt)
        settings = value.settings
        return Session(
            model,
            tools,
            conversation=conversation,
            policy=self._policy(),
            people=self.people,
            limits=Limits(requests=int(settings.get("maxTurns", 50)), cost=settings.get("maxCost")),
            strategy=settings.get("strategy"),
            attempts=int(settings.get("attempts", 3)),
            **value.options(model),
        )

    def _policy(self) -> Policy:
        """Return the policy that all model calls share, so that a standing decision applies to later ones."""
        if self.policy is None:
            from antiphon.tools import Policy

            self.policy = Policy()
        return self.policy


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
