"""A run: the modules of a program at work, their history, and the one way to the world outside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from antiphon.conversation import Conversation
from antiphon.conversation.parts import Text
from antiphon.conversation.turns import AssistantTurn, UserTurn
from antiphon.lang import context
from antiphon.lang.effects import (
    AskHuman,
    AskModel,
    CallTool,
    Effect,
    Host,
    ModelValue,
    Print,
    ReadClock,
    ReadEnvironment,
    Sleep,
)
from antiphon.lang.errors import Stopped, VibeError
from antiphon.lang.library import as_type
from antiphon.lang.module import Code, Site
from antiphon.lang.people import read_answer, wanted_words
from antiphon.lang.tooling import LEFT_OUT, VibeTool, python_type
from antiphon.lang.traces import translated
from antiphon.lang.types import JSON, TEXT, Type
from antiphon.lang.values import from_python, json_text, kind_of, plain, text, unwrap
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.session.portal import CancelScope

if TYPE_CHECKING:
    from antiphon.tools import Tool

_SUMMARY = "Sum up what happened in this part of a conversation, in a few sentences that keep every fact needed later."


@dataclass(slots=True)
class State:
    """Where a thread of the program is: what happened so far, and the model that is in force."""

    history: Conversation = field(default_factory=Conversation)
    #: What had happened when the current function was entered.
    base: Conversation = field(default_factory=Conversation)
    model: ModelValue | None = None
    #: The variables of the functions around, where this is a thread of its own.
    around: tuple[str, ...] = ()


class Pending:
    """The value of an `async let` that is still to come."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.seen = False

    def result(self) -> Any:
        """Wait for it."""
        self.done.wait()
        self.seen = True
        if self.error is not None:
            raise self.error
        return self.value


def wait(value: Any) -> Any:
    """The value of a variable declared with `async`."""
    return value.result() if type(value) is Pending else value


class Run:
    """One run of a program. Everything it does to the world goes through `perform`."""

    def __init__(self, host: Host, inputs: dict[str, Any] | None = None, arguments: Iterable[str] = ()) -> None:
        self.host = host
        self.perform: Callable[[Effect], Any] = host.perform
        self.inputs = inputs or {}
        #: All that was printed, in order.
        self.prints: list[str] = []
        self.arguments = list(arguments)
        self.pending: list[Pending] = []
        self._states: ContextVar[State] = ContextVar("antiphon_lang_state")
        self._first = State()
        self._default: ModelValue | None = None

    @property
    def state(self) -> State:
        """That of this thread."""
        return self._states.get(self._first)

    def reset(self) -> None:
        """Begin with an empty history and no model in force, as each test does."""
        self._states.set(State())

    def default_model(self) -> ModelValue:
        """The one that serves where a program names none."""
        if self._default is None:
            if self.host.default_model is None:
                raise VibeError("V0921", "no model is named", 'declare one: `model m = { name: "…" }`')
            self._default = ModelValue("model", {"name": self.host.default_model()})
        return self._default

    def finish(self) -> None:
        """Wait for what was started and never looked at; its failure is a failure of the program."""
        for each in self.pending:
            each.done.wait()
        for each in self.pending:
            if each.error is not None and not each.seen:
                raise each.error

    # Asking

    def ask(self, site: Site, prompt: str, model: ModelValue | None, depth: int) -> AIResult:
        """Ask a model from a place of the program; `depth` frames up is the program's own."""
        state = self.state
        chosen = model or (self.default_model() if site.says_model else state.model or self.default_model())
        history = self._shown_history(site, state)
        conversation = history.fork()
        conversation.system = str(chosen.settings.get("system", ""))
        shown = "" if site.context == "none" else self._variables(site, depth + 1)
        if shown:
            conversation.add_user(shown)
        place = len(conversation.turns) - 1 if shown else -1
        returns = None if site.wanted is None else python_type(site.wanted)
        tools = [_as_tool(each) for each in _flat(chosen.settings.get("tools", ()))]
        kind = "do" if site.kind == "do" else "vibe"
        result = self._performed(AskModel(kind, prompt, chosen, conversation, tools, returns))
        if site.context != "none":
            happened: Iterable[Any] = conversation.turns[max(0, len(history.turns) - (_ends_open(history))) :]
            before = history.turns[-1] if _ends_open(history) else None
            if site.hidden:
                happened, before = _without_private(site.hidden, prompt, result), None
            state.history = _with_turns(state.history, happened, before, shown if place >= 0 else "")
        if model is not None:
            state.model = model
        return result

    def _performed(self, effect: AskModel) -> AIResult:
        from concurrent.futures import CancelledError

        from antiphon.session.portal import current_scope

        scope = current_scope()
        if scope is not None and scope.cancelled:
            raise Cancelled(VibeError("V0927", "stopped because another round failed"))
        try:
            return self.perform(effect)
        except CancelledError:
            raise Cancelled(VibeError("V0927", "stopped because another round failed")) from None

    def _shown_history(self, site: Site, state: State) -> Conversation:
        if site.context == "none":
            return Conversation()
        if site.context == "default":
            return state.history
        local = Conversation()
        return _with_turns(local, _since(state.history, state.base), None, "")

    def _variables(self, site: Site, depth: int) -> str:
        found = context.variables(depth + 1, site.context == "local")
        if site.context == "default":
            found = [*self.state.around, *found]
        return context.bounded(found)

    def compress(self, mark: Conversation, how: str | None, model: ModelValue | None) -> None:
        """Replace what happened since the mark by a summary of it."""
        state = self.state
        turns = _since(state.history, mark)
        if not turns:
            return
        chosen = model or state.model or self.default_model()
        told = Conversation(str(how) if how else _SUMMARY)
        result = self._performed(AskModel("do", context.transcript(turns), chosen, told))
        state.history = mark.fork()
        state.history.add_user(f"Summary of what happened: {text(result)}")

    # Concurrency

    def spawn(self, work: Callable[[], Any], around: Iterable[str]) -> Pending:
        """Do work in a thread of its own, which sees the history as it is now."""
        pending, state = Pending(), self.state
        own = State(state.history.fork(), state.base, state.model, tuple(around))
        inside = copy_context()

        def run() -> None:
            self._states.set(own)
            try:
                pending.value = work()
            except BaseException as error:
                # Known frames are kept: whoever waits has a stack of his own.
                pending.error = translated(error) if isinstance(error, Exception) else error
            pending.done.set()

        threading.Thread(target=inside.run, args=(run,), name="antiphon: async", daemon=True).start()
        return pending

    def gather(self, body: Callable[[Any], list[Any]], items: Iterable[Any], around: list[str]) -> list[Any]:
        """Run a body for each item, some at a time; the values in order. When one fails, the rest is cancelled."""
        from antiphon.session.portal import CancelScope, current_scope

        todo = list(items)
        results: list[list[Any]] = [[] for _ in todo]
        errors: list[BaseException] = []
        scope = CancelScope(current_scope())
        lock, places = threading.Lock(), iter(range(len(todo)))

        def work() -> None:
            while not scope.cancelled:
                with lock:
                    place = next(places, None)
                if place is None:
                    return
                try:
                    results[place] = copy_context().run(self._isolated, scope, body, todo[place], around)
                except BaseException as error:
                    with lock:
                        errors.append(translated(error) if isinstance(error, Exception) else error)
                    scope.cancel()

        workers = [self.spawn(work, around) for _ in range(min(self.host.max_parallel, len(todo)))]
        try:
            for each in workers:
                each.result()
        except BaseException:
            scope.cancel()
            raise
        finally:
            scope.close()
        if errors:
            raise next((each for each in errors if not isinstance(each, Cancelled)), errors[0])
        return [value for each in results for value in each]

    def _isolated(
        self, scope: CancelScope, body: Callable[[Any], list[Any]], item: Any, around: list[str]
    ) -> list[Any]:
        state = self.state
        self._states.set(State(state.history.fork(), state.base, state.model, tuple(around)))
        with scope.active():
            return body(item)

    def run_tool(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Run a tool of the program for a model: with a history of its own."""
        from antiphon.tools import ToolFailure

        self._states.set(State(model=self.state.model))
        try:
            # A default that the model left out is worked out by the tool itself.
            return plain_result(function(**{name: each for name, each in arguments.items() if each is not LEFT_OUT}))
        except Exception as error:
            raise ToolFailure(translated(error).message) from error


class Cancelled(Stopped):
    """Part of the program that was stopped because another part failed."""


@dataclass(slots=True)
class Module:
    """A module of a run: what its code calls `_vrt`."""

    run: Run
    code: Code
    importer: Callable[[str, str], Any]
    #: What whoever runs the program gives for variables of its top level.
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])

    def ask(self, site: int, prompt: str, model: ModelValue | None) -> AIResult:
        """`do`, `vibe`."""
        return self.run.ask(self.code.sites[site], prompt, model, 2)

    def ask_human(self, site: int, prompt: str) -> Any:
        """`ask`: the answer as the type that is wanted, asked for again if it does not fit."""
        wanted: Type = self.code.sites[site].wanted or TEXT
        question = prompt
        for _ in range(5):
            answer: str = self.run.perform(AskHuman(question))
            value, fault = read_answer(answer, wanted)
            if not fault:
                return value
            question = f"{prompt}\n({fault})"
        raise VibeError("V0924", f"no usable answer to {prompt[:80]!r}: {wanted_words(wanted)} is wanted")

    def start_ask(self, site: int, prompt: str, model: ModelValue | None) -> Pending:
        """`async let x = do …`."""
        around = [*self.run.state.around, *context.variables(2, False)]
        chosen = self.code.sites[site]
        return self._started(lambda: self.run.ask(chosen, prompt, model, 2), around)

    def start(self, wanted: Type, function: Callable[..., Any], *arguments: Any) -> Pending:
        """`async let x = f(…)`."""
        around = [*self.run.state.around, *context.variables(2, False)]
        return self._started(lambda: as_type(function(*arguments), wanted), around)

    def _started(self, work: Callable[[], Any], around: list[str]) -> Pending:
        pending = self.run.spawn(work, around)
        self.run.pending.append(pending)
        return pending

    def gather(self, body: Callable[[Any], list[Any]], items: Iterable[Any]) -> list[Any]:
        """`async for`."""
        return self.run.gather(body, items, [*self.run.state.around, *context.variables(2, False)])

    # History

    def enter(self) -> tuple[Conversation, Conversation, ModelValue | None]:
        """A function that asks begins."""
        state = self.run.state
        mark = state.history, state.base, state.model
        state.base = state.history
        return mark

    def leave(self, mark: tuple[Conversation, Conversation, ModelValue | None]) -> None:
        """It ends, and its history with it."""
        state = self.run.state
        state.history, state.base, _ = mark

    def mark(self) -> Conversation:
        """What has happened up to now."""
        return self.run.state.history

    def forget(self, mark: Conversation) -> None:
        """Drop what happened since."""
        self.run.state.history = mark

    def compress(self, mark: Conversation, how: str | None, model: ModelValue | None) -> None:
        """Sum up what happened since."""
        self.run.compress(mark, how, model)

    # Declarations

    def model(self, label: str, settings: dict[str, Any]) -> ModelValue:
        """`model m = { … }`: from now on it is in force."""
        value = ModelValue(label, plain_settings(settings))
        self.run.state.model = value
        return value

    def tool(self, number: int, function: Callable[..., Any]) -> VibeTool:
        """`tool name(…) { … }`."""
        return VibeTool(self.code.tools[number], function, self.run.run_tool)

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a tool, or a function that is not of the language."""
        if isinstance(function, VibeTool):
            return self.run.perform(CallTool(function, arguments, lambda: function.function(*arguments)))
        return self.run.perform(CallTool(function, arguments, lambda: self._call_foreign(function, arguments)))

    def _call_foreign(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        from antiphon.tools import Tool

        given = [plain(each) for each in arguments]
        if isinstance(function, Tool):
            return self._call_tool(function, given)
        if not callable(function):
            raise VibeError("V0902", f"{kind_of(function)} cannot be called")
        called = cast(Callable[..., Any], function)
        return from_python(called(*given), f"`{getattr(function, '__name__', 'the function')}`")

    def _call_tool(self, tool: Tool, given: list[Any]) -> str:
        """The text that a model would see of a tool's result."""
        from antiphon.conversation import ToolCall
        from antiphon.session.portal import portal
        from antiphon.tools import HumanNeeded, execute

        names = list(tool.spec.parameters.get("properties", {}))
        if len(given) > len(names):
            raise VibeError("V0912", f"`{tool.name}` expects at most {len(names)} arguments, got {len(given)}")
        call = ToolCall.read("call", tool.name, dict(zip(names, given, strict=False)))
        try:
            result, _ = portal().run(execute(tool, call, Conversation()))
        except HumanNeeded as needed:
            return self.run.perform(AskHuman(str(needed)))
        if result.is_error:
            raise VibeError("V0917", f"the tool `{tool.name}` failed: {result.text}")
        return result.text

    def imported(self, number: int) -> Any:
        """A name from another module."""
        each = self.code.imports[number]
        return self.importer(each.path, each.name)

    def input(self, name: str, wanted: Type) -> Any:
        """What whoever runs the program gives for a variable."""
        value = self.inputs[name]
        if isinstance(value, str) and wanted not in (TEXT, JSON):
            value, fault = read_answer(value, wanted)
            if fault:
                raise VibeError("V0925", f"`{name}` is given as {value!r}: {fault}")
            return value
        return as_type(from_python(value, "the input"), wanted)

    # What programs call by name

    def print(self, *values: Any) -> None:
        """`print`."""
        self._print(" ".join(map(text, values)))

    def _print(self, said: str) -> None:
        self.run.prints.append(said)
        self.run.perform(Print(said))

    def note(self, *values: Any) -> None:
        """`note`: printed, and shown to the models asked from here on."""
        said = " ".join(map(text, values))
        self._print(said)
        state = self.run.state
        state.history = state.history.fork()
        state.history.add_user(said if said.strip() else "(an empty line)")

    def answers(self, script: list[Any]) -> None:
        """`answers`, in tests: what the models will say."""
        if self.run.host.play is None:
            raise VibeError("V0929", "`answers` works in tests only", "run it with `antiphon test`")
        self.run.host.play(plain(script))

    def env(self, name: str, default: str | None = None) -> str:
        """`env`."""
        value = self.run.perform(ReadEnvironment(name))
        if value is None:
            value = default
        if value is None:
            raise VibeError(
                "V0926", f"the environment variable `{name}` is not set", f'`env("{name}", "")` has a default'
            )
        return value

    def now(self) -> str:
        """`now`."""
        return self.run.perform(ReadClock())

    def sleep(self, seconds: float) -> None:
        """`sleep`."""
        self.run.perform(Sleep(max(0, unwrap(seconds))))


def plain_result(value: Any) -> Any:
    """What a tool gives a session: semantic results as they are, values without their histories."""
    from antiphon.results import Result

    return value if isinstance(value, Result) else plain(value)


def plain_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """A model's settings; its tools stay what they are."""
    return {name: value if name == "tools" else plain(value) for name, value in settings.items()}


def _as_tool(value: Any) -> Any:
    return value.tool() if isinstance(value, VibeTool) else value


def _flat(tools: Any) -> list[Any]:
    """Tools, with those of bundles among them; each once."""
    out: dict[str, Any] = {}
    for each in tools:
        for tool in cast(list[Any], each) if isinstance(each, list | tuple) else [each]:
            out.setdefault(tool.name, tool)
    return list(out.values())


def _ends_open(history: Conversation) -> int:
    """Whether the last turn is the user's, to which the next words are added."""
    return int(bool(history.turns) and isinstance(history.turns[-1], UserTurn))


def _since(history: Conversation, mark: Conversation) -> list[Any]:
    """The turns since a mark; of a user's turn that has grown, what was added."""
    place = len(mark.turns)
    last = mark.turns[-1] if mark.turns else None
    if isinstance(last, UserTurn) and len(history.turns) >= place:
        now = history.turns[place - 1]
        if isinstance(now, UserTurn) and len(now.parts) > len(last.parts):
            return [UserTurn(now.parts[len(last.parts) :]), *history.turns[place:]]
    return list(history.turns[place:])


def _with_turns(history: Conversation, turns: Iterable[Any], before: Any, left_out: str) -> Conversation:
    """A history with turns added; without what was said in them of variables, and without what it has already."""
    out = history.fork()
    done = len(before.parts) if isinstance(before, UserTurn) else 0
    for turn in turns:
        if isinstance(turn, UserTurn):
            parts = [
                each
                for each in turn.parts[done:]
                if not (isinstance(each, Text) and each.text == left_out and left_out)
            ]
            if parts:
                out.add_user(parts)
            done = 0
            continue
        # Where only a part of the history was shown, its calls may have been numbered as others were.
        added = out.add_reply(turn.parts)
        ids = {old.id: new.id for old, new in zip(turn.calls, added.calls, strict=True)}
        if turn.results:
            out.add_tool_results([replace(each, call_id=ids[each.call_id]) for each in turn.results])
    return out


def _without_private(hidden: Iterable[str], prompt: str, result: AIResult) -> list[Any]:
    """What is remembered of an answer that is private: what was asked, and the part of the answer that is not."""
    value = result.value
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    public = {name: each for name, each in fields.items() if name not in hidden}
    told = json_text(public) if public and "" not in hidden else "(private)"
    return [UserTurn((Text(prompt),)), AssistantTurn((Text(told),))]
