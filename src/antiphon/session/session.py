"""The session: a model, its tools and a conversation that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

from antiphon.conversation import Conversation
from antiphon.effects.values import Said
from antiphon.errors import NotReadyError, OptionError
from antiphon.session.answers import open_questions, take_said
from antiphon.session.context import Context
from antiphon.session.events import AsyncEvents, Events
from antiphon.session.goal import Mode
from antiphon.session.loop import Loop, Prompt
from antiphon.session.options import check_options, check_session
from antiphon.session.people import Answers, People, Question
from antiphon.session.portal import check_no_loop, portal, start_task
from antiphon.session.result import AIResult
from antiphon.session.returns import Strategy
from antiphon.session.run import Run
from antiphon.session.settings import Asks, BeforeRequest, Keeps, Limits, Settings
from antiphon.tools import Policy, ProviderTool, Tool
from antiphon.tools.provider_tools import split_tools
from antiphon.tools.tool import Deps

if TYPE_CHECKING:
    from antiphon.config import Configuration

T = TypeVar("T")


class Session(Generic[Deps]):
    """Asks a model, runs the tools it calls, and asks again, until there is an answer.

    `do` allows one set of tool calls, `vibe` as many as it takes within `limits`, `chat` is a turn of talk. Each goes
    on in the same conversation and returns an `AIResult`, or raises what ended the run without an answer; after that
    `go_on` continues. `start` returns at once, with a `Run` that can be watched; `stream` is `start` and watch. `ado`,
    `avibe`, `achat`, `ago_on`, `astart` and `astream` are the same asynchronously.

    `model` is a name, a model made by `connect`, or anything of that shape; without one, the model of the configuration
    is asked, as `antiphon ask` does. `tools` are functions, and tools of the provider such as `WebSearch`. `people`
    answers questions: about calls that `policy` says to ask about, and those of tools; a function, or a `People` that
    several sessions share. Without it `Waiting` is raised, and the answers are given by `allow`, `deny` and `answer`,
    before `go_on`. `deps` is handed to tools through their `ToolContext`. With `raise_tool_bugs`, an error in a tool's
    own code ends the run instead of being told to the model. `context` says when a long conversation is made shorter;
    `before_request` is called with the conversation before each request. `name` says whose questions are asked.
    `configuration` says where keys come from; without one it is that of the current directory. `record` and `replay`
    name a file of exchanges. `options` go along with every request.
    """

    def __init__(
        self,
        model: str | Asks | None = None,
        tools: Iterable[Callable[..., Any] | Tool | ProviderTool] = (),
        system: str = "",
        *,
        conversation: Conversation | None = None,
        policy: Policy | None = None,
        people: People | Answers | None = None,
        deps: Deps = cast(Any, None),  # noqa: B008
        limits: Limits | None = None,
        strategy: Strategy | None = None,
        attempts: int = 3,
        raise_tool_bugs: bool = False,
        context: Context | None = Context(),  # noqa: B008
        before_request: BeforeRequest | None = None,
        name: str = "",
        journal: Keeps | None = None,
        configuration: Configuration | None = None,
        record: str | PathLike[str] | None = None,
        replay: str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        check_session(
            {
                "system": system,
                "conversation": conversation,
                "policy": policy,
                "people": people,
                "limits": limits,
                "strategy": strategy,
                "attempts": attempts,
                "raise_tool_bugs": raise_tool_bugs,
                "context": context,
                "before_request": before_request,
                "name": name,
                "journal": journal,
                "record": record,
                "replay": replay,
            }
        )
        if conversation is not None and system:
            raise OptionError("a conversation has its own system text; set `conversation.system` instead of `system`")
        self.conversation = conversation if conversation is not None else Conversation(system)
        self._configuration = configuration
        check_options(options)
        asked = _connected(model, configuration, record, replay)
        #: Whether the model was made here, and so is closed here.
        self._owns_model = asked is not model
        functions, provided = split_tools(tools)
        given = {tool.name: tool for tool in functions}
        self._settings = Settings(
            asked,
            given,
            policy or Policy(),
            people if people is None or isinstance(people, People) else People(people),
            deps,
            limits or Limits(),
            options,
            strategy,
            attempts,
            raise_tool_bugs,
            context,
            before_request,
            name,
            journal,
            provided,
        )
        self._settings.resolve()

    @property
    def model(self) -> Asks:
        """The model that is asked; another one may take its place at any time."""
        return self._settings.model

    @model.setter
    def model(self, model: str | Asks) -> None:
        before, self._settings.model = self._settings.model, _connected(model, self._configuration, None, None)
        try:
            self._settings.resolve()
        except OptionError:
            self._settings.model = before
            raise
        self._owns_model = self._settings.model is not model

    @property
    def tools(self) -> list[Tool | ProviderTool]:
        """The tools the model may call, and those of the provider."""
        own = [tool for name, tool in self._settings.tools.items() if name not in self._settings.stand_ins]
        return [*own, *self._settings.provided]

    @tools.setter
    def tools(self, tools: Iterable[Callable[..., Any] | Tool | ProviderTool]) -> None:
        functions, provided = split_tools(tools)
        self._settings.tools = {tool.name: tool for tool in functions}
        self._settings.provided, self._settings.stand_ins = provided, ()
        self._settings.resolve()

    @property
    def before_request(self) -> BeforeRequest | None:
        """What is called with the conversation before each request."""
        return self._settings.before_request

    @before_request.setter
    def before_request(self, called: BeforeRequest | None) -> None:
        check_session({"before_request": called})
        self._settings.before_request = called

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
        return await self._begun("do", prompt, returns, stream=False).drive()

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
        return await self._begun("vibe", prompt, returns, stream=False).drive()

    async def achat(self, text: Prompt) -> AIResult[str]:
        """`chat`, asynchronously."""
        return await self._begun("chat", text, None, stream=False).drive()

    @overload
    def go_on(self) -> AIResult[Any]: ...
    @overload
    def go_on(self, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    def go_on(self, *, returns: Any = None) -> AIResult[Any]: ...
    def go_on(self, *, returns: Any = None) -> AIResult[Any]:
        """Continue without a new prompt, from whatever the conversation is: run open calls, then ask the model.

        After a failure, after the answers of people, or in another process after `Conversation.load`.
        """
        return _waited("go_on", self.ago_on(returns=returns))

    @overload
    async def ago_on(self) -> AIResult[Any]: ...
    @overload
    async def ago_on(self, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    async def ago_on(self, *, returns: Any = None) -> AIResult[Any]: ...
    async def ago_on(self, *, returns: Any = None) -> AIResult[Any]:
        """`go_on`, asynchronously."""
        return await self._begun("vibe", None, returns, stream=False).drive()

    @overload
    def resume(self, id: str) -> AIResult[Any]: ...
    @overload
    def resume(self, id: str, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    def resume(self, id: str, *, returns: Any = None) -> AIResult[Any]: ...
    def resume(self, id: str, *, returns: Any = None) -> AIResult[Any]:
        """Go on with a run of the session's journal that was left, in whatever process: nothing is done twice.

        The conversation is the one of then; the model, the tools and what is to be returned are those of now.
        """
        return _waited("resume", self.aresume(id, returns=returns))

    @overload
    async def aresume(self, id: str) -> AIResult[Any]: ...
    @overload
    async def aresume(self, id: str, *, returns: type[T]) -> AIResult[T]: ...
    @overload
    async def aresume(self, id: str, *, returns: Any = None) -> AIResult[Any]: ...
    async def aresume(self, id: str, *, returns: Any = None) -> AIResult[Any]:
        """`resume`, asynchronously."""
        return await self._resumed(id, returns, stream=False).drive()

    def start_again(self, id: str, *, returns: Any = None) -> Run[Any]:
        """`resume`, which returns at once, as `start` does."""
        loop = self._resumed(id, returns)
        loop.set_going(portal().start)
        return loop.run

    def _resumed(self, id: str, returns: Any, *, stream: bool = True) -> Loop:
        journal = self._settings.journal
        if journal is None:
            raise NotReadyError("only what is written down can be resumed: `Session(…, journal=Journal())`")
        self.conversation, mode, prompt = journal.asked(id)
        loop = Loop(self._settings, self.conversation, mode, prompt, returns, stream, journal.go_on(id))
        loop.begin()
        return loop

    # Watching

    @overload
    def start(self, prompt: Prompt | None = None, *, mode: Mode = "vibe") -> Run[Any]: ...
    @overload
    def start(self, prompt: Prompt | None = None, *, mode: Mode = "vibe", returns: type[T]) -> Run[T]: ...
    @overload
    def start(self, prompt: Prompt | None = None, *, mode: Mode = "vibe", returns: Any = None) -> Run[Any]: ...
    def start(self, prompt: Prompt | None = None, *, mode: Mode = "vibe", returns: Any = None) -> Run[Any]:
        """Begin, and return at once; without a prompt it is `go_on` that begins. The run needs nobody to watch it."""
        loop = self._begun(mode, prompt, returns)
        loop.set_going(portal().start)
        return loop.run

    @overload
    async def astart(self, prompt: Prompt | None = None, *, mode: Mode = "vibe") -> Run[Any]: ...
    @overload
    async def astart(self, prompt: Prompt | None = None, *, mode: Mode = "vibe", returns: type[T]) -> Run[T]: ...
    @overload
    async def astart(self, prompt: Prompt | None = None, *, mode: Mode = "vibe", returns: Any = None) -> Run[Any]: ...
    async def astart(self, prompt: Prompt | None = None, *, mode: Mode = "vibe", returns: Any = None) -> Run[Any]:
        """`start`, on the running event loop."""
        loop = self._begun(mode, prompt, returns)
        loop.set_going(partial(start_task, asyncio.get_running_loop()))
        return loop.run

    def _begun(self, mode: Mode, prompt: Prompt | None, returns: Any, *, stream: bool = True) -> Loop:
        loop = Loop(self._settings, self.conversation, mode, prompt, returns, stream)
        loop.begin()
        return loop

    def stream(
        self, prompt: Prompt | None = None, *, mode: Mode = "vibe", returns: Any = None, cancel: bool = False
    ) -> Events:
        """Begin, and iterate over what happens: `with session.stream("…") as events: for event in events: …`.

        Leaving does not end the run; with `cancel` it does.
        """
        check_no_loop("stream", "async with …astream(…)")
        loop = self._begun(mode, prompt, returns)
        events = Events(loop.run, cancel)
        loop.set_going(portal().start)
        return events

    def astream(
        self, prompt: Prompt | None = None, *, mode: Mode = "vibe", returns: Any = None, cancel: bool = False
    ) -> AsyncEvents:
        """`stream`, asynchronously: `async with session.astream("…") as events: async for event in events: …`."""
        return AsyncEvents(lambda: self.astart(prompt, mode=mode, returns=returns), cancel)

    # People

    @property
    def policy(self) -> Policy:
        """What may run unasked; `decided` lists what people decided once for all, and `revoke` takes it back."""
        return self._settings.policy

    @property
    def waiting(self) -> tuple[Question, ...]:
        """What people are asked about open calls of the conversation, and have not answered."""
        return open_questions(self.conversation, self._settings)

    def answer(self, id: str, text: str) -> None:
        """Answer a question that a run was left with; `go_on` goes on."""
        self._take(id, Said(text), "question")

    def allow(self, id: str, *, always: bool = False) -> None:
        """Let a call run that a run was left with; `always` holds for such calls from now on."""
        self._take(id, Said(allowed=True, always=always), "approval")

    def deny(self, id: str, why: str = "", *, always: bool = False) -> None:
        """Do not let it run; the model is told why."""
        self._take(id, Said(why, allowed=False, always=always), "approval")

    def _take(self, id: str, said: Said, kind: str) -> None:
        take_said(self.conversation, self._settings, id, said, kind)

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
        conversation, _ = self.conversation.repair()
        return Loop(self._settings, conversation, mode, prompt, returns, stream=True).request()


def _connected(
    model: str | Asks | None,
    configuration: Configuration | None,
    record: str | PathLike[str] | None,
    replay: str | PathLike[str] | None,
) -> Asks:
    if model is None or isinstance(model, str):
        from antiphon.config import default_model, load_configuration
        from antiphon.providers import connect

        configuration = configuration or load_configuration()
        name = default_model(configuration).model if model in (None, "default") else model
        return connect(name, record=record, replay=replay, environment=configuration.environment)
    if record is not None or replay is not None:
        raise OptionError("`record` and `replay` go with a model's name; for a model, give them to its `connect`")
    return model


def _waited(name: str, work: Coroutine[Any, Any, T]) -> T:
    try:
        check_no_loop(name)
    except NotReadyError:
        work.close()
        raise
    return portal().run(work)
