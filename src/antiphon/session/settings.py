"""What holds for all runs of a session: the model, the tools, who allows what, and how much may be used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from antiphon._extras import price_hint
from antiphon.conversation import Conversation, ToolSpec, UserPart
from antiphon.effects.door import Performer
from antiphon.errors import OptionError
from antiphon.session.context import Context
from antiphon.session.people import People
from antiphon.session.returns import Strategy
from antiphon.tools import Policy, ProviderTool, Tool
from antiphon.tools.provider_tools import resolve_tools
from antiphon.wire import Reply, Usage


class Replies(Protocol):
    """An answer while it comes, as the providers' streams are."""

    @property
    def reply(self) -> Reply: ...
    def __aiter__(self) -> AsyncIterator[Any]: ...
    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, *_: Any) -> None: ...


class Asks(Protocol):
    """What a session needs of a model: `antiphon.connect` gives one; any object of this shape will do."""

    @property
    def name(self) -> str: ...
    async def achat(self, conversation: Conversation, **options: Any) -> Reply: ...
    def astream(self, conversation: Conversation, **options: Any) -> Replies: ...
    def cost(self, usage: Usage) -> float | None: ...


@runtime_checkable
class AnnouncesChanges(Protocol):
    """A model that can be told of changes of tools, system text, effort or form in the conversation."""

    def announce(self, conversation: Conversation, **options: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a run may use; `None` is without limit.

    `turns` are requests. Calls beyond `calls` are not run. When the `seconds` are over, whatever is under way is
    interrupted; the time in which people think does not count. `tokens` and `cost` count the runs inside too, and are
    looked at before each request.
    """

    turns: int | None = 50
    calls: int | None = 200
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("turns", "calls", "tokens", "cost", "seconds"):
            limit: object = getattr(self, name)
            if limit is not None and not (
                isinstance(limit, int | float) and not isinstance(limit, bool) and limit >= 0
            ):
                raise OptionError(f"the limit of {name} is a number from 0 on, or None, not {limit!r:.80}")

    def reached(self, turns: int, tokens: int, cost: float | None, seconds: float) -> str:
        """Which limit leaves no room for another request; nothing, where there is some. `None` is unknown."""
        used = (("turns", self.turns, turns), ("tokens", self.tokens, tokens), ("cost", self.cost, cost))
        for name, limit, value in (*used, ("seconds", self.seconds, seconds)):
            if limit is not None and value is None:
                return f"the {name} of this model is not known, so its limit cannot be kept{price_hint()}"
            if limit is not None and value is not None and value >= limit:
                return f"the limit of {limit:g} {name} is reached"
        return ""


class KeptRun(Protocol):
    """A run that is written down, and is ours until we leave it."""

    @property
    def id(self) -> str: ...
    @property
    def performer(self) -> Performer: ...
    def leave(self, state: str, ending: Mapping[str, Any] | None = None) -> None: ...


class Keeps(Protocol):
    """What a session needs of a journal, which `antiphon.journal.Journal` is."""

    def begin_ask(
        self, conversation: Conversation, mode: str, prompt: Sequence[UserPart] | None, title: str
    ) -> KeptRun | None: ...
    def go_on(self, id: str) -> KeptRun: ...
    def asked(self, id: str) -> tuple[Conversation, Any, Any]: ...


#: Called before each request with the conversation: the place to add to it or to cut it.
BeforeRequest = Callable[[Conversation], Awaitable[None] | None]


@dataclass(slots=True)
class Settings:
    """What holds for all runs of a session."""

    model: Asks
    tools: dict[str, Tool]
    policy: Policy
    people: People | None = None
    deps: Any = None
    limits: Limits = field(default_factory=Limits)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    strategy: Strategy | None = None
    attempts: int = 3
    raise_tool_bugs: bool = False
    context: Context | None = field(default_factory=Context)
    before_request: BeforeRequest | None = None
    name: str = ""
    journal: Keeps | None = None
    #: Tools that providers run, as they were given, and those of them that the present model's provider runs.
    provided: tuple[ProviderTool, ...] = ()
    hosted: tuple[ToolSpec, ...] = ()
    #: The names of the tools that stand in for them here.
    stand_ins: tuple[str, ...] = ()

    def resolve(self) -> None:
        """Choose where each tool of a provider is run, for the present model."""
        if not self.provided:
            self.hosted = self.stand_ins = ()
            return
        functions = [tool for name, tool in self.tools.items() if name not in self.stand_ins]
        resolved = resolve_tools(functions, self.provided, getattr(self.model, "target", None))
        known = {tool.name for tool in functions}
        self.tools, self.hosted = resolved.tools, resolved.hosted
        self.stand_ins = tuple(name for name in resolved.tools if name not in known)
