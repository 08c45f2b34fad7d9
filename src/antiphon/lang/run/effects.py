"""The effects of a program: all it does to the world is one of these, and all of them go through one function.

A program without effects never comes here. Whoever wants to record, replay, limit or show what a program does stands in
for `Host.perform`.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.spending import Metered, Spending

if TYPE_CHECKING:
    from antiphon.conversation import Conversation
    from antiphon.session import AIResult, Asks, Event, Session
    from antiphon.tools import Approver, Policy, Tool


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask a model. `conversation` is all it is shown before the prompt; `returns` is the Python type that is wanted."""

    kind: Literal["do", "vibe"]
    prompt: str
    model: ModelValue
    conversation: Conversation
    tools: Sequence[Tool] = ()
    returns: Any = None


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call a tool from the program itself; a model's own calls are part of asking it."""

    tool: Any
    arguments: tuple[Any, ...]
    run: Callable[[], Any] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AskHuman:
    """Ask the human a question."""

    question: str


@dataclass(frozen=True, slots=True)
class Print:
    """Print a line."""

    text: str


@dataclass(frozen=True, slots=True)
class ReadClock:
    """What time it is."""


@dataclass(frozen=True, slots=True)
class ReadEnvironment:
    """The value of an environment variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    seconds: float


Effect = AskModel | CallTool | AskHuman | Print | ReadClock | ReadEnvironment | Sleep


class ModelValue:
    """A `model` of a program: what it is called there, and its settings as they were written.

    No dataclass, so that whoever writes down values writes its name, and not its key.
    """

    __slots__ = ("connected", "label", "settings")

    def __init__(self, label: str, settings: Mapping[str, Any]) -> None:
        self.label = label
        self.settings = settings
        self.connected: Any = None

    def __repr__(self) -> str:
        return f"model {self.name}"

    @property
    def name(self) -> str:
        """The model's own name."""
        return str(self.settings.get("name", ""))


class PromptShown(BaseException):
    """What would have been sent: raised instead of sending it, where only that is wanted."""

    def __init__(self, model: Asks, body: bytes) -> None:
        super().__init__()
        self.model = model
        self.body = body


#: Settings of a model that are options of its requests, by what the options are called.
_OPTIONS = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxTokens": "max_tokens",
    "stop": "stop",
    "reasoning": "reasoning",
    "extra": "extra",
}
_STRATEGIES = ("fields", "object", "native")


@dataclass(slots=True)
class Host:
    """Performs effects for real. Each part of it can be given by whoever runs the program.

    `connect` gives a model for a name, as `antiphon.connect` does. `default_model` says which one serves where the
    program names none. `on_event` is told what happens while a model is asked. `approve` and `human` answer for people.
    `max_cost` (US dollars) and `max_turns` (requests) bound the whole run.
    """

    write: Callable[[str], None] = print
    connect: Callable[..., Asks] | None = None
    default_model: Callable[[], str] | None = None
    on_event: Callable[[Event], None] | None = None
    on_ask: Callable[[AskModel], None] | None = None
    approve: Approver | None = None
    human: Callable[[str], str] | None = None
    policy: Policy | None = None
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
    spending: Spending = field(init=False)
    _decided: dict[str, bool] = field(default_factory=dict[str, bool], init=False)
    _transport: Any = field(default=None, init=False)
    _lock: Any = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.spending = Spending(self.max_cost, self.max_turns)

    def perform(self, effect: Effect) -> Any:
        """Do it, and give what comes of it."""
        match effect:
            case AskModel():
                return self._ask(effect)
            case CallTool():
                self._check_allowed(effect)
                return effect.run()
            case Print():
                return self.write(effect.text)
            case AskHuman():
                return self._human(effect.question)
            case ReadClock():
                return datetime.now(UTC).isoformat(timespec="seconds")
            case ReadEnvironment():
                self.allow(f"read the environment variable {_named(effect.name)}")
                return (os.environ if self.environment is None else self.environment).get(effect.name)
            case Sleep():
                return time.sleep(effect.seconds)

    def usage(self) -> dict[str, Any]:
        """What the models have used in all; a cost that is not known is null."""
        return self.spending.to_json()

    def allow(self, what: str, details: str = "") -> None:
        """Ask whether a program that is not trusted may do this; once for the same thing, whatever the answer.

        The details are for the human alone: the program can catch the error.
        """
        if not self.untrusted or self._decided.get(what):
            return
        if what not in self._decided:
            if self.human is None:
                raise VibeError("V0923", f"a human must allow the program to {what}", "run it in a terminal")
            said = self.human(f"The program wants to {what}{details}. Allow it? [y]es, [n]o:")
            self._decided[what] = said.strip().lower() in ("y", "yes")
        if not self._decided[what]:
            raise VibeError("V0923", f"the program was not allowed to {what}")

    def _check_allowed(self, effect: CallTool) -> None:
        """Whoever wrote a program may call what he likes; but one that is not trusted asks first."""
        from antiphon.tools import ApprovalRequest, Policy, Tool

        is_tool = isinstance(effect.tool, Tool)
        if not self.untrusted or not is_tool:
            return
        tool: Tool = effect.tool
        from antiphon.conversation import ToolCall
        from antiphon.lang.run.values import plain
        from antiphon.session.portal import portal
        from antiphon.tools.threads import called

        names = list(tool.spec.parameters.get("properties", {}))
        given = map(plain, effect.arguments)
        call = ToolCall.read("call", tool.name, dict(zip(names, given, strict=False)))
        if (self.policy or Policy()).decide(call, tool) == "allow":
            return
        if self.approve is None:
            raise VibeError("V0923", f"`{tool.name}` waits for a human to allow it", "run it in a terminal")
        decision = portal().run(called(self.approve, ApprovalRequest(call, tool)))
        if not (decision if isinstance(decision, bool) else decision.allowed):
            raise VibeError("V0923", f"`{tool.name}` was not allowed")

    def _human(self, question: str) -> str:
        if self.human is None:
            raise VibeError("V0923", f"nobody is here to answer: {question}", "run it in a terminal")
        return self.human(question)

    # Models

    def _ask(self, effect: AskModel) -> AIResult:
        model = self._connected(effect.model)
        if self.show_prompt:
            session = self._session(model, effect)
            raise PromptShown(model, session.request(effect.prompt, mode=effect.kind, returns=effect.returns))
        if self.on_ask is not None:
            self.on_ask(effect)
        from antiphon.session import ReturnError

        try:
            result = self._run(model, effect)
        except ReturnError as error:
            # What ended the run for another reason than the type of its answer is told as that.
            if error.run.outcome in ("blocked", "limit", "refused"):
                raise _no_answer(error.run.outcome, error.run.detail) from None
            raise
        if result.run.outcome != "done":
            raise _no_answer(result.run.outcome, result.run.detail)
        return result

    def _session(self, model: Asks, effect: AskModel) -> Session:
        from antiphon.session import Limits, Session

        settings = effect.model.settings
        return Session(
            model,
            effect.tools,
            conversation=effect.conversation,
            policy=self.policy,
            approve=self.approve,
            ask=self.human,
            limits=Limits(turns=int(settings.get("maxTurns", 50)), cost=settings.get("maxCost")),
            strategy=settings.get("strategy"),
            attempts=int(settings.get("attempts", 3)),
            **_options(model, settings),
        )

    def _run(self, model: Asks, effect: AskModel) -> AIResult:
        from antiphon.session import Done, UsageChanged

        session = self._session(cast(Any, Metered(model, self.spending)), effect)
        # Streamed even where nobody looks: a recording fits wherever it is played, and every request is counted.
        used: UsageChanged | None = None
        with session.stream(effect.prompt, mode=effect.kind, returns=effect.returns) as events:
            for event in events:
                if isinstance(event, UsageChanged):
                    self.spending.count(event, used)
                    used = event
                if self.on_event is not None:
                    self.on_event(event)
                if isinstance(event, Done):
                    return event.result
        raise AssertionError("a run ends with Done or with an error")

    def _connected(self, value: ModelValue) -> Asks:
        if self.show_prompt:
            return self._connect(value)
        with self._lock:
            if value.connected is None:
                value.connected = self._connect(value)
            return value.connected

    def _connect(self, value: ModelValue) -> Asks:
        settings = value.settings
        strategy = settings.get("strategy")
        if strategy is not None and strategy not in _STRATEGIES:
            raise VibeError("V0921", f"`strategy` is one of {', '.join(_STRATEGIES)}, not {strategy!r}")
        given: dict[str, Any] = {
            key: settings[name]
            for name, key in (("provider", "provider"), ("url", "url"), ("apiKey", "key"), ("timeout", "timeout"))
            if settings.get(name) not in (None, "")
        }
        if self.show_prompt:
            # What is not sent needs no key.
            given.setdefault("key", "none")
        name = value.name
        if name == "default" and self.default_model is not None:
            # A program may say which tools and settings the configured model gets without naming it.
            name = self.default_model()
        if self.untrusted and not self.show_prompt and self.replay is None:
            self._allow_model(name, given)
        if self.connect is not None:
            return self.connect(name, **given)
        from antiphon.providers import connect

        if self.record is not None or self.replay is not None:
            # All models of a program share one recording.
            given |= self._recorded(given)
        return connect(name, **given)

    def _allow_model(self, name: str, given: Mapping[str, Any]) -> None:
        """Ask before prompts go anywhere but to a provider the user has a key of, with that key, or stay here."""
        from antiphon.providers import resolve

        provider, own = resolve(name, given.get("provider"), given.get("url"))
        if provider.name == "local" and own.lower().endswith(".gguf"):
            self.allow(f"load a model from the file {_named(own)}")
        named = given.get("provider", "")
        address = given.get("url") or (named if "://" in named else provider.address())
        is_elsewhere = "url" in given or "://" in named
        if not is_elsewhere and "key" not in given and (provider.name == "local" or provider.key()):
            return
        key = "a key of its own" if "key" in given else "your key" if provider.key() else "no key"
        self.allow(f"send prompts to {_named(address)} with {key}")

    def _recorded(self, given: dict[str, Any]) -> dict[str, Any]:
        from antiphon.providers.recording import Recorder, Replayer

        if self._transport is None:
            self._transport = Replayer(self.replay) if self.replay is not None else Recorder(self.record or "")
        return {"transport": self._transport, **({"key": "replay"} if self.replay and not given.get("key") else {})}


def _no_answer(outcome: str, detail: str) -> VibeError:
    if outcome == "blocked":
        return VibeError("V0923", detail, "run it in a terminal, or allow it: `--yes`")
    return VibeError("V0922", f"the model gave no answer: {detail or outcome}")


def _named(text: str) -> str:
    """A text of the program's in a question of ours, in which nothing can pass for more of the question."""
    said = json.dumps(text)
    return said if len(said) <= 600 else f"{said[:300]} … {len(said) - 600:,} more characters … {said[-300:]}"


def _options(model: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options of requests. A program runs with any model: one that chooses its words itself is not told how."""
    target = getattr(model, "target", None)
    unknown = ("temperature", "topP") if target is not None and not target.profile.sampling else ()
    return {option: settings[name] for name, option in _OPTIONS.items() if name in settings and name not in unknown}
