"""The world of a program: who serves its models, where its output goes, who answers for people, and what it may use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from antiphon.effects.door import Performer, Step
from antiphon.lang.run.distrust import Distrust
from antiphon.lang.run.models import Connections, ModelValue

if TYPE_CHECKING:
    from antiphon.config import Configuration
    from antiphon.conversation import Conversation
    from antiphon.effects import Budget, Outcome
    from antiphon.providers.prewarming import Prewarming
    from antiphon.session import Answers, Asks, Event, People, Session
    from antiphon.tools import Policy, Tool


class PromptShown(BaseException):
    """What would have been sent: raised instead of sending it, where only that is wanted."""

    def __init__(self, model: str, body: bytes) -> None:
        super().__init__()
        self.model = model
        self.body = body


class DryRun(Performer):
    """Stands in the door and shows the first request instead of sending it."""

    def before(self, step: Step) -> None:
        """The end, where a model is about to be asked."""
        from antiphon.effects import AskModel

        if isinstance(step.effect, AskModel) and step.preview is not None:
            raise PromptShown(step.effect.model, step.preview())

    def after(self, step: Step, outcome: Outcome) -> None:
        """Whatever else happens, happens."""


@dataclass(slots=True)
class Host:
    """Whoever runs a program gives this. Each part of it has a default that serves a program on its own.

    `connect` gives a model for a name, as `antiphon.connect` does. `default_model` says which one serves where the
    program names none or `"default"`; without it, the configured one does. `watch` is told every event of the run.
    `people` answers its questions; without it they are errors. `performers` stand in the door for its effects.
    `max_cost` (US dollars) and `max_turns` (requests) bound all runs of the host together.
    """

    write: Callable[[str], None] = print
    connect: Callable[..., Asks] | None = None
    default_model: Callable[[], str] | None = None
    watch: Callable[[Event], object] | None = None
    people: People | Answers | None = None
    policy: Policy | None = None
    performers: tuple[Performer, ...] = ()
    max_cost: float | None = None
    max_turns: int | None = None
    max_parallel: int = 8
    show_prompt: bool = False
    #: The program is somebody else's: it reaches no address, file or process that the human was not asked about.
    untrusted: bool = False
    #: Where the program is; the only files that one that is not trusted may read unasked.
    directory: str | None = None
    environment: Mapping[str, str] | None = None
    #: Takes the answers that a test gives to its models.
    play: Callable[[list[Any]], None] | None = None
    record: str | None = None
    replay: str | None = None
    #: Where keys and the default model come from; without one, what holds in the current directory when it is needed.
    configuration: Configuration | None = None
    distrust: Distrust | None = field(default=None, init=False)
    _connections: Connections = field(init=False)
    _budget: Budget | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.people is not None and not hasattr(self.people, "ask_now"):
            from antiphon.session import People

            self.people = People(self.people)  # type: ignore[arg-type]
        if self.untrusted:
            self.distrust = Distrust(self.port, self._policy())
        if self.max_cost is not None or self.max_turns is not None:
            from antiphon.effects import Budget

            self._budget = Budget(self.max_cost, self.max_turns)
        self.default_model = self.default_model or self._configured_model
        self._connections = Connections(
            self.configured, self.default_model, self.connect, self.record, self.replay, self.distrust
        )

    def prewarm_with(self, prewarming: Prewarming) -> None:
        """Let the first requests of this program wait for those of others that begin alike."""
        self._connections.prewarming = prewarming

    def _configured_model(self) -> str:
        from antiphon.config import default_model

        return default_model(self.configured()).model

    @property
    def port(self) -> People | None:
        """The port to whoever answers."""
        people: Any = self.people
        return people

    def in_the_door(self, outside: tuple[Performer, ...]) -> tuple[Performer, ...]:
        """Who stands in the door for a run that is begun where these stand already, from the outside in.

        The budget counts what others answer for too; who distrusts is asked only about what is really done.
        """
        budget = (self._budget,) if self._budget is not None else ()
        distrust = (self.distrust,) if self.distrust is not None else ()
        return (*budget, *outside, *self.performers, *((DryRun(),) if self.show_prompt else ()), *distrust)

    def configured(self) -> Configuration:
        """What models are chosen and connected by."""
        if self.configuration is None:
            from antiphon.config import load_configuration

            self.configuration = load_configuration()
        return self.configuration

    # Doing: what the effects of the language come to

    def clock(self) -> str:
        """The time, in UTC."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    def variable(self, name: str) -> str | None:
        """An environment variable."""
        return (os.environ if self.environment is None else self.environment).get(name)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def session(self, value: ModelValue, conversation: Conversation, tools: list[Tool]) -> Session:
        """A session in which a model of the program is asked."""
        from antiphon.session import Limits, Session

        model = self._connections.of(value, is_sent=not self.show_prompt)
        settings = value.settings
        return Session(
            model,
            tools,
            conversation=conversation,
            policy=self._policy(),
            people=self.people,
            limits=Limits(turns=int(settings.get("maxTurns", 50)), cost=settings.get("maxCost")),
            strategy=settings.get("strategy"),
            attempts=int(settings.get("attempts", 3)),
            **value.options(model),
        )

    def _policy(self) -> Policy:
        """The one of all asks: what is decided once for all outlives them."""
        if self.policy is None:
            from antiphon.tools import Policy

            self.policy = Policy()
        return self.policy
