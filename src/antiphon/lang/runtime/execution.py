"""The execution of a program: the state of its threads, its run, and `perform`, through which all effects go."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any

from antiphon.effects import instrumentation
from antiphon.effects.instrumentation import observe_session
from antiphon.effects.pipeline import EffectCall, EffectContext, PathCounter, current_context, perform, use_context
from antiphon.effects.types import CallTool
from antiphon.errors import SessionAborted, Suspended
from antiphon.lang.runtime.errors import IterationAborted
from antiphon.lang.runtime.host import Host
from antiphon.lang.runtime.human_questions import (
    ProgramSleeping,
    ProgramSuspended,
    make_aborted_error,
    make_suspended_error,
)
from antiphon.lang.runtime.models import ModelValue
from antiphon.lang.runtime.tools_and_types import OMITTED_ARGUMENT
from antiphon.lang.runtime.tracebacks import translate_error
from antiphon.lang.runtime.values import to_plain_value
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from random import Random

    from antiphon.effects import Effect
    from antiphon.lang.runtime.history import ProgramHistory
    from antiphon.lang.runtime.visible_variables import VariableFrame
    from antiphon.session import Run
    from antiphon.session.sync_bridge import CancelScope


def _make_empty_history() -> ProgramHistory:
    # Imported late: a program that asks nobody need not load the history's dependencies.
    from antiphon.lang.runtime.history import ProgramHistory

    return ProgramHistory()


@dataclass(slots=True)
class ThreadState:
    """The state of a thread of the program: its history and its current model."""

    history: ProgramHistory = field(default_factory=_make_empty_history)
    #: The history when the current function was entered.
    base: ProgramHistory = field(default_factory=_make_empty_history)
    model: ModelValue | None = None
    #: The variables of the enclosing functions, if this is a thread of its own.
    around: tuple[VariableFrame, ...] = ()
    #: The iteration of `async for` that this thread runs.
    iteration: LoopIteration | None = None
    #: The `async let` values used here: models see them and the history that led to them.
    joined: frozenset[PendingValue] = frozenset()
    #: The random generator of this thread, once it is needed.
    random_generator: Random | None = None
    #: The seed of the generator, if the parent thread had one.
    seed: str = ""

    def fork(self, around: Iterable[VariableFrame]) -> ThreadState:
        """Return a copy of the state for another thread."""
        return ThreadState(self.history.fork(), self.base, self.model, tuple(around), self.iteration, self.joined)


@dataclass(slots=True)
class LoopIteration:
    """An iteration of an `async for`; it becomes a run of its own with its first model call."""

    number: int
    outside: ThreadState
    run: Run[Any] | None = None


class PendingValue:
    """The future value of an `async let`."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.seen = False
        #: The scope by which its work can be cancelled.
        self.scope: CancelScope | None = None
        #: `join` adds its history to the thread that uses its value; `is_joined` tells if that has happened here.
        self.join: Callable[[], None] | None = None
        self.is_known: Callable[[], bool] = lambda: False

    def result(self) -> Any:
        """Wait for the value and return it; from its first use on, models are shown it."""
        self.done.wait()
        self.seen = True
        if self.error is not None:
            raise self.error
        if self.join is not None:
            self.join()
        return self.value


def wait_for_value(value: Any) -> Any:
    """Return the value of a variable declared with `async`, and wait for it if necessary."""
    return value.result() if type(value) is PendingValue else value


class ProgramExecution:
    """One execution of a program. All its effects go through `perform`."""

    def __init__(
        self, host: Host, inputs: dict[str, Any] | None = None, arguments: Iterable[str] = (), title: str = ""
    ) -> None:
        self.host = host
        self.title = title
        self.inputs = inputs or {}
        #: All printed lines, in order.
        self.prints: list[str] = []
        self.arguments = list(arguments)
        #: The values started with `async` that were not waited for yet.
        self.pending: deque[PendingValue] = deque()
        #: The state of each thread.
        self.states: ContextVar[ThreadState] = ContextVar("antiphon_lang_state")
        self._default: ModelValue | None = None
        self._run: Run[Any] | None = None
        #: Concurrent iterations may create runs at the same time.
        self._run_lock = threading.RLock()
        self._node: PathCounter | None = None

    @cached_property
    def _first(self) -> ThreadState:
        return ThreadState()

    @contextmanager
    def active(self) -> Generator[None]:
        """Number the program's effects and pass them through the middleware while the block runs."""
        outside = current_context()
        if self._node is None:
            # A program that runs inside another numbered run counts as one step of it.
            self._node = PathCounter(f"{outside.node.next()}/") if outside.performers else PathCounter()
        place = EffectContext(self._node, self.host.compose_middleware(outside.performers))
        with use_context(place), observe_session("invoke_workflow", self.title, place):
            yield

    def perform(self, effect: Effect, do: Callable[[], Any], subject: Any = None) -> Any:
        """Perform an effect and return its result.

        Errors are translated to the program's own, so that a replay raises the same ones.
        """
        where = current_context()
        if not where.performers and instrumentation.installed is None:
            return _translate_cancellation(do)

        def done() -> Any:
            try:
                return _translate_cancellation(do)
            except Exception as error:
                raise translate_error(error) from error

        try:
            return perform(EffectCall(where.node.next(), effect, subject=subject), done)
        except SessionAborted as error:
            raise make_aborted_error(error) from error
        except ProgramSuspended:
            raise
        except Suspended as error:
            raise make_suspended_error(
                str(error), kind=ProgramSleeping if effect.kind == "sleep" else ProgramSuspended
            ) from error

    def get_random_generator(self) -> Random:
        """Return this thread's random generator; its seed is an effect, so that a replay draws the same numbers."""
        state = self.state
        if state.random_generator is None:
            from random import Random, SystemRandom

            effect = CallTool("random.seed", {}, "harmless")
            state.random_generator = Random(state.seed or self.perform(effect, lambda: SystemRandom().getrandbits(64)))
        return state.random_generator

    def derive_child_seed(self) -> str:
        """Return a seed for a new thread that does not depend on timing; empty if no seed was drawn yet."""
        state = self.state
        return (
            str(self.get_random_generator().getrandbits(64)) if state.random_generator is not None or state.seed else ""
        )

    # The run, which is created with its first event

    @property
    def run(self) -> Run[Any]:
        """Return the run of the program; it is created at the first use."""
        with self._run_lock:
            if self._run is None:
                from antiphon.session import Run

                self._run = Run("program", self.title, people=self.host.port)
                if self.host.watch is not None:
                    self._run.subscribe(self.host.watch)
            return self._run

    def get_parent_run(self, state: ThreadState) -> Run[Any]:
        """Return the run a model call belongs to: of its iteration, of the tool's model, or the program's."""
        if state.iteration is not None:
            with self._run_lock:
                if state.iteration.run is None:
                    from antiphon.session import Run

                    outside = self.get_parent_run(state.iteration.outside)
                    state.iteration.run = Run("round", str(state.iteration.number), parent=outside)
                return state.iteration.run
        from antiphon.session import current_run

        return current_run() or self.run

    def end(self, value: Any, error: BaseException | None, outcome: str) -> None:
        """Finish the run of the program, if there is one, and notify its subscribers."""
        if self._run is None:
            return
        if outcome == "interrupted":
            from antiphon.session import Cancelled, RunRecord

            run = self._run
            record = RunRecord(run.usage, run.cost, outcome="cancelled", detail="interrupted", id=run.id)
            error = Cancelled("interrupted", record)
        if error is not None:
            self._run.fail(error)
        else:
            self._run.finish(AIResult(value))

    def usage(self) -> dict[str, Any]:
        """Return the total usage of all models; an unknown cost is None."""
        run = self._run
        if run is None:
            return {"inputTokens": 0, "outputTokens": 0, "cost": 0.0, "requests": 0}
        used = run.usage
        return {
            "inputTokens": used.input_tokens or 0,
            "outputTokens": used.output_tokens or 0,
            "cost": run.cost,
            "requests": run.requests,
        }

    @property
    def state(self) -> ThreadState:
        """Return the state of this thread."""
        return self.states.get(self._first)

    def default_model(self) -> ModelValue:
        """Return the model used where a program names none."""
        if self._default is None:
            assert self.host.default_model is not None
            self._default = ModelValue("model", {"name": self.host.default_model()})
        return self._default

    def finish(self) -> None:
        """Wait for all started values, and raise the first error that no one has seen."""
        errors: list[BaseException] = []
        while self.pending:
            each = self.pending[0]
            each.done.wait()
            self.pending.popleft()
            if each.error is not None and not each.seen:
                errors.append(each.error)
        if errors:
            raise errors[0]

    def settle(self) -> None:
        """Wait until all started work has ended or is suspended."""
        for each in self.pending:
            each.done.wait()

    def abandon(self) -> None:
        """Cancel all started work that still waits for a model."""
        while self.pending:
            scope = self.pending.popleft().scope
            if scope is not None:
                scope.cancel()

    def run_separately(self, work: Callable[[], Any]) -> Any:
        """Run work for a caller from outside, with the top level's history and none of other such calls."""
        own = ThreadState(self._first.history.fork(), self._first.base, self._first.model)

        def run() -> Any:
            self.states.set(own)
            return work()

        return copy_context().run(run)

    def run_tool(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Run a tool of the program for a model, with a history of its own."""
        from antiphon.tools import ToolFailure

        self.states.set(ThreadState(model=self.state.model))
        try:
            # The tool itself computes the default of an omitted argument.
            return to_plain_value(
                function(**{name: each for name, each in arguments.items() if each is not OMITTED_ARGUMENT})
            )
        except Exception as error:
            raise ToolFailure(translate_error(error).message) from error


def _translate_cancellation(do: Callable[[], Any]) -> Any:
    """Run `do`, and turn a cancellation into an uncatchable abort: it is not known how far the effect got."""
    try:
        return do()
    except Exception as error:
        from concurrent.futures import CancelledError

        if isinstance(error, CancelledError):
            raise IterationAborted() from None
        raise
