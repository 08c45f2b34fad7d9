"""The session: a model, its tools and a conversation that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import aclosing
from os import PathLike
from typing import Any, Generic, Self, TypeVar, cast, overload

from antiphon.conversation import Conversation
from antiphon.errors import NotReadyError, OptionError
from antiphon.session.events import Done, Event
from antiphon.session.loop import Mode, Prompt, Run
from antiphon.session.portal import portal
from antiphon.session.result import AIResult
from antiphon.session.returns import Strategy
from antiphon.session.settings import Asks, Limits, Settings
from antiphon.tools import Approver, Policy, Tool, as_tools
from antiphon.tools.tool import Deps

T = TypeVar("T")


class Session(Generic[Deps]):
    """Asks a model, runs the tools it calls, and asks again, until there is an answer.

    `do` allows one set of tool calls, `vibe` as many as it takes within `limits`, `chat` is a turn of talk. Each goes
    on in the same conversation and returns an `AIResult`; `ado`, `avibe` and `achat` are the same asynchronously,
    `stream` and `astream` tell what happens as it happens. Whatever ends a run, the conversation can be continued.

    `model` is a name, a model made by `connect`, or anything of that shape; without one, the model of the configuration
    is asked, as `antiphon ask` does. `tools` are functions. `approve` is asked about calls that `policy` says to ask
    about, `ask` answers the questions of tools that need a human. `deps` is handed to tools through their
    `ToolContext`. With `raise_tool_bugs`, an error in a tool's own code ends the run instead of being told to the
    model. `record` and `replay` name a file of exchanges. `options` go along with every request.
    """

    def __init__(
        self,
        model: str | Asks | None = None,
        tools: Iterable[Callable[..., Any] | Tool] = (),
        system: str = "",
        *,
        conversation: Conversation | None = None,
        policy: Policy | None = None,
        approve: Approver | None = None,
        ask: Callable[[str], str | Awaitable[str]] | None = None,
        deps: Deps = cast(Any, None),  # noqa: B008
        limits: Limits | None = None,
        strategy: Strategy | None = None,
        attempts: int = 3,
        raise_tool_bugs: bool = False,
        record: str | PathLike[str] | None = None,
        replay: str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        if conversation is not None and system:
            raise OptionError("a conversation has its own system text; set `conversation.system` instead of `system`")
        self.conversation = conversation if conversation is not None else Conversation(system)
        asked = _connected(model, record, replay)
        _check_options(options)
        #: Whether the model was made here, and so is closed here.
        self._owns_model = asked is not model
        given = {tool.name: tool for tool in as_tools(tools)}
        self._settings = Settings(
            asked,
            given,
            policy or Policy(),
            approve,
            ask,
            deps,
            limits or Limits(),
            options,
            strategy,
            attempts,
            raise_tool_bugs,
        )

    @property
    def model(self) -> Asks:
        """The model that is asked; another one may take its place at any time."""
        return self._settings.model

    @model.setter
    def model(self, model: str | Asks) -> None:
        self._settings.model = _connected(model, None, None)
        self._owns_model = self._settings.model is not model

    @property
    def tools(self) -> list[Tool]:
        """The tools the model may call."""
        return list(self._settings.tools.values())

    @tools.setter
    def tools(self, tools: Iterable[Callable[..., Any] | Tool]) -> None:
        self._settings.tools = {tool.name: tool for tool in as_tools(tools)}

    # Asking

    @overload
    def do(self, prompt: Prompt) -> AIResult[Any]: ...
    @overload
    def do(self, prompt: Prompt, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    def do(self, prompt: Prompt, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    @overload
    def do(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]: ...
    def do(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]:
        """Ask once: at most one set of tool calls, then the answer."""
        return _waited("do", self.ado(prompt, returns=returns))

    @overload
    def vibe(self, prompt: Prompt) -> AIResult[Any]: ...
    @overload
    def vibe(self, prompt: Prompt, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    def vibe(self, prompt: Prompt, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    @overload
    def vibe(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]: ...
    def vibe(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]:
        """Ask, and let the model work with its tools until it answers."""
        return _waited("vibe", self.avibe(prompt, returns=returns))

    def chat(self, text: Prompt) -> AIResult[str]:
        """A turn of talk: like `vibe`, and the value is always the text."""
        return _waited("chat", self.achat(text))

    @overload
    async def ado(self, prompt: Prompt) -> AIResult[Any]: ...
    @overload
    async def ado(self, prompt: Prompt, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    async def ado(self, prompt: Prompt, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    @overload
    async def ado(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]: ...
    async def ado(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]:
        """`do`, asynchronously."""
        return await self._finished("do", prompt, returns)

    @overload
    async def avibe(self, prompt: Prompt) -> AIResult[Any]: ...
    @overload
    async def avibe(self, prompt: Prompt, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    async def avibe(self, prompt: Prompt, *, returns: Mapping[str, Any]) -> AIResult[dict[str, Any]]: ...
    @overload
    async def avibe(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]: ...
    async def avibe(self, prompt: Prompt, *, returns: Any = None) -> AIResult[Any]:
        """`vibe`, asynchronously."""
        return await self._finished("vibe", prompt, returns)

    async def achat(self, text: Prompt) -> AIResult[str]:
        """`chat`, asynchronously."""
        return await self._finished("chat", text, None)

    def stream(self, prompt: Prompt, *, mode: Mode = "vibe", returns: Any = None) -> Events:
        """Ask, and iterate over what happens: `with session.stream("…") as events: for event in events: …`."""
        check_no_loop("stream")
        return Events(self._events(mode, prompt, returns))

    def astream(self, prompt: Prompt, *, mode: Mode = "vibe", returns: Any = None) -> AsyncEvents:
        """`stream`, asynchronously: `async with session.astream("…") as events: async for event in events: …`."""
        return AsyncEvents(self._events(mode, prompt, returns))

    # The end

    def close(self) -> None:
        """Close the connections of a model that this session made; one that was given stays open."""
        if self._owns_model and (close := getattr(self.model, "aclose", None)) is not None:
            _waited("close", close())

    async def aclose(self) -> None:
        """`close`, asynchronously: the connections that this event loop opened."""
        if self._owns_model and (close := getattr(self.model, "aclose", None)) is not None:
            await close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def request(self, prompt: Prompt, *, mode: Mode = "vibe", returns: Any = None) -> bytes:
        """The body of the request that asking would send first; nothing is sent, and nothing changes."""
        return Run(self._settings, self.conversation, mode, prompt, returns, stream=True).request()

    async def _finished(self, mode: Mode, prompt: Prompt, returns: Any) -> AIResult[Any]:
        run = Run(self._settings, self.conversation, mode, prompt, returns, stream=False)
        async with aclosing(run.events()) as events:
            async for event in events:
                if isinstance(event, Done):
                    return event.result
        raise AssertionError("a run ends with Done or with an error")

    def _events(self, mode: Mode, prompt: Prompt, returns: Any) -> AsyncGenerator[Event, None]:
        return Run(self._settings, self.conversation, mode, prompt, returns, stream=True).events()


class Events:
    """What happens in a run. Leaving early cancels it; calls under way are answered as interrupted."""

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self._events = portal().iterate(events)
        self._result: AIResult[Any] | None = None

    @property
    def result(self) -> AIResult[Any]:
        """The result, once the iteration has come to its end."""
        return _over(self._result)

    def __iter__(self) -> Iterator[Event]:
        for event in self._events:
            if isinstance(event, Done):
                self._result = event.result
            yield event

    def close(self) -> None:
        """End the run."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEvents:
    """The same, asynchronously."""

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self._events = events
        self._result: AIResult[Any] | None = None

    @property
    def result(self) -> AIResult[Any]:
        """The result, once the iteration has come to its end."""
        return _over(self._result)

    async def __aiter__(self) -> AsyncIterator[Event]:
        async for event in self._events:
            if isinstance(event, Done):
                self._result = event.result
            yield event

    async def aclose(self) -> None:
        """End the run."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _over(result: AIResult[Any] | None) -> AIResult[Any]:
    if result is None:
        raise NotReadyError("the run is not over; iterate to its end first")
    return result


def _connected(
    model: str | Asks | None, record: str | PathLike[str] | None, replay: str | PathLike[str] | None
) -> Asks:
    if model is None:
        from antiphon.config import default_model

        model = default_model().model
    if isinstance(model, str):
        from antiphon.providers import connect

        return connect(model, record=record, replay=replay)
    if record is not None or replay is not None:
        raise OptionError("`record` and `replay` go with a model's name; for a model, give them to its `connect`")
    return model


#: Names that people try for what `limits` holds.
_LIMITS = {"max_turns": "turns", "max_calls": "calls", "max_cost": "cost", "max_seconds": "seconds"}


def _check_options(options: Mapping[str, Any]) -> None:
    """Find a wrong option now, not at the first request."""
    for name in options:
        if name in _LIMITS:
            raise OptionError(f"there is no option `{name}`; write `limits=Limits({_LIMITS[name]}=…)`")
    if options:
        from antiphon.providers.model import changed
        from antiphon.wire.options import Options

        changed(Options(), options)


def check_no_loop(name: str) -> None:
    """Refuse to wait on a thread that an event loop runs on: nothing else would move there meanwhile."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise NotReadyError(f"`{name}` would block the running event loop; in asynchronous code it is `await …a{name}(…)`")


def _waited(name: str, work: Coroutine[Any, Any, T]) -> T:
    try:
        check_no_loop(name)
    except NotReadyError:
        work.close()
        raise
    return portal().run(work)
