"""Settings that apply to all runs of a session: the model, the tools, the approval policy and the limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from antiphon.conversation import Conversation, ToolSpec, UserPart
from antiphon.effects.budget import Limits, Spending
from antiphon.effects.pipeline import Middleware, PathCounter
from antiphon.session.context_window import Context
from antiphon.session.human_input import HumanInput
from antiphon.session.typed_output import OutputStrategy
from antiphon.tools import Policy, ProviderTool, Tool
from antiphon.tools.provider_tools import resolve_tools
from antiphon.wire import Reply, Usage


class ReplyStream(Protocol):
    """A streaming answer, such as a provider's stream."""

    @property
    def reply(self) -> Reply: ...
    def __aiter__(self) -> AsyncIterator[Any]: ...
    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, *_: Any) -> None: ...


class ModelProtocol(Protocol):
    """The interface that a session requires of a model. `antiphon.connect` returns one."""

    @property
    def name(self) -> str: ...
    async def achat(self, conversation: Conversation, **options: Any) -> Reply: ...
    def astream(self, conversation: Conversation, **options: Any) -> ReplyStream: ...
    def cost(self, usage: Usage) -> float | None: ...


@runtime_checkable
class ChangeAnnouncer(Protocol):
    """A model that can be told about changes of tools, system text, effort or form within the conversation."""

    def announce(self, conversation: Conversation, **options: Any) -> None: ...


class RunHandle(Protocol):
    """A run in a journal that this process owns until `finish`."""

    @property
    def id(self) -> str: ...
    @property
    def middleware(self) -> Middleware: ...
    @property
    def counter(self) -> PathCounter: ...
    def finish(self, state: str, ending: Mapping[str, Any] | None = None, *, spent: Spending | None = None) -> None: ...


class JournalProtocol(Protocol):
    """The interface that a session requires of a journal. `antiphon.durable.Journal` implements it."""

    def begin_request(
        self, conversation: Conversation, mode: str, prompt: Sequence[UserPart] | None, title: str
    ) -> RunHandle | None: ...
    def resume(self, id: str) -> RunHandle: ...
    def load_request(self, id: str) -> tuple[Conversation, Any, Any]: ...


class StoredMessages(JournalProtocol, Protocol):
    """The saved messages of one session."""

    @property
    def id(self) -> str: ...
    def load_conversation(self) -> Conversation: ...
    def close(self) -> None: ...


class StoreProtocol(Protocol):
    """The interface that a session requires of a store. `antiphon.Store` implements it."""

    def open_session(self, id: str, model: Callable[[], str], *, appends: bool = False) -> StoredMessages: ...


#: Called with the conversation before each request; it may add to the conversation or shorten it.
BeforeRequestHook = Callable[[Conversation], Awaitable[None] | None]


@dataclass(slots=True)
class SessionSettings:
    """The settings that apply to all runs of a session."""

    model: ModelProtocol
    tools: dict[str, Tool]
    policy: Policy
    people: HumanInput | None = None
    deps: Any = None
    limits: Limits = field(default_factory=Limits)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    strategy: OutputStrategy | None = None
    attempts: int = 3
    raise_tool_bugs: bool = False
    context: Context | None = field(default_factory=Context)
    before_request: BeforeRequestHook | None = None
    name: str = ""
    journal: JournalProtocol | None = None
    #: Provider tools as they were given, and the specs of those that the current model's provider runs.
    provided: tuple[ProviderTool, ...] = ()
    hosted: tuple[ToolSpec, ...] = ()
    #: The names of local tools that substitute for provider tools.
    substitute_names: tuple[str, ...] = ()

    def resolve(self) -> None:
        """Choose for each provider tool whether the provider of the current model or a local substitute runs it."""
        if not self.provided:
            self.hosted = self.substitute_names = ()
            return
        functions = [tool for name, tool in self.tools.items() if name not in self.substitute_names]
        resolved = resolve_tools(functions, self.provided, getattr(self.model, "target", None))
        known = {tool.name for tool in functions}
        self.tools, self.hosted = resolved.tools, resolved.hosted
        self.substitute_names = tuple(name for name in resolved.tools if name not in known)
