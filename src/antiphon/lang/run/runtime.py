"""A run: the modules of a program at work, their history, and the one way to the world outside."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from antiphon.conversation import Conversation
from antiphon.lang.compile.code import Site
from antiphon.lang.run import context
from antiphon.lang.run.effects import (
    AskModel,
    Effect,
    Host,
    ModelValue,
)
from antiphon.lang.run.errors import Stopped, VibeError
from antiphon.lang.run.tooling import LEFT_OUT, VibeTool, python_type
from antiphon.lang.run.traces import translated
from antiphon.lang.run.values import plain, text
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.session.portal import CancelScope

if TYPE_CHECKING:
    pass

from antiphon.lang.run.history import ends_open, since, with_turns, without_private

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
        #: What it waits for belongs to this, where it can be given up.
        self.scope: CancelScope | None = None

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
        #: What was started with `async` and not yet waited for at the end.
        self.pending: deque[Pending] = deque()
        self._states: ContextVar[State] = ContextVar("antiphon_lang_state")
        self._first = State()
        self._default: ModelValue | None = None

    @property
    def state(self) -> State:
        """That of this thread."""
        return self._states.get(self._first)

    def default_model(self) -> ModelValue:
        """The one that serves where a program names none."""
        if self._default is None:
            if self.host.default_model is None:
                raise VibeError("V0921", "no model is named", 'declare one: `model m = { name: "…" }`')
            self._default = ModelValue("model", {"name": self.host.default_model()})
        return self._default

    def finish(self) -> None:
        """Wait for what was started and never looked at; its failure is a failure of the program."""
        errors: list[BaseException] = []
        while self.pending:
            each = self.pending[0]
            each.done.wait()
            self.pending.popleft()
            if each.error is not None and not each.seen:
                errors.append(each.error)
        if errors:
            raise errors[0]

    def abandon(self) -> None:
        """It is over: whatever was started and still waits for a model is cancelled."""
        while self.pending:
            scope = self.pending.popleft().scope
            if scope is not None:
                scope.cancel()

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
            happened: Iterable[Any] = conversation.turns[max(0, len(history.turns) - (ends_open(history))) :]
            before = history.turns[-1] if ends_open(history) else None
            if site.hidden:
                happened, before = without_private(site.hidden, prompt, result), None
            state.history = with_turns(state.history, happened, before, shown if place >= 0 else "")
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
        return with_turns(local, since(state.history, state.base), None, "")

    def _variables(self, site: Site, depth: int) -> str:
        found = context.variables(depth + 1, site.context == "local")
        if site.context == "default":
            found = [*self.state.around, *found]
        return context.bounded(found)

    def compress(self, mark: Conversation, how: str | None, model: ModelValue | None) -> None:
        """Replace what happened since the mark by a summary of it."""
        state = self.state
        turns = since(state.history, mark)
        if not turns:
            return
        chosen = model or state.model or self.default_model()
        told = Conversation(str(how) if how else _SUMMARY)
        result = self._performed(AskModel("do", context.transcript(turns), chosen, told))
        state.history = mark.fork()
        state.history.add_user(f"Summary of what happened: {text(result)}")

    # Concurrency

    def start(self, work: Callable[[], Any], around: Iterable[str]) -> Pending:
        """Begin work of which the value is wanted later, or never: the end of the run cancels it."""
        from antiphon.session.portal import CancelScope, current_scope

        scope = CancelScope(current_scope())

        def inside() -> Any:
            try:
                with scope.active():
                    return work()
            finally:
                scope.close()

        pending = self.spawn(inside, around)
        pending.scope = scope
        self.pending.append(pending)
        return pending

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

    def apart(self, work: Callable[[], Any]) -> Any:
        """Do work for a caller from outside: after what the top level said, and with nothing of other such calls."""
        own = State(self._first.history, self._first.base, self._first.model)

        def run() -> Any:
            self._states.set(own)
            return work()

        return copy_context().run(run)

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
            return plain(function(**{name: each for name, each in arguments.items() if each is not LEFT_OUT}))
        except Exception as error:
            raise ToolFailure(translated(error).message) from error


class Cancelled(Stopped):
    """Part of the program that was stopped because another part failed."""


def _as_tool(value: Any) -> Any:
    return value.tool() if isinstance(value, VibeTool) else value


def _flat(tools: Any) -> list[Any]:
    """Tools, with those of bundles among them; each once."""
    out: dict[str, Any] = {}
    for each in tools:
        for tool in cast(list[Any], each) if isinstance(each, list | tuple) else [each]:
            out.setdefault(tool.name, tool)
    return list(out.values())
