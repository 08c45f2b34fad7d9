"""The execution of a program: its modules at work, their history, and the one way to the world outside."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cached_property
from typing import TYPE_CHECKING, Any

from antiphon.effects.door import Node, Place, Step, at, perform, place
from antiphon.effects.values import CallTool
from antiphon.errors import Halted, Unsettled
from antiphon.lang.run.errors import RoundStopped
from antiphon.lang.run.host import Host
from antiphon.lang.run.models import ModelValue
from antiphon.lang.run.questions import Asleep, NobodyThere, halted, waits
from antiphon.lang.run.threads import Pending, State
from antiphon.lang.run.tooling import LEFT_OUT
from antiphon.lang.run.traces import translated
from antiphon.lang.run.values import plain
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from random import Random

    from antiphon.effects import Effect
    from antiphon.session import Run


class Execution:
    """One execution of a program. Everything it does to the world goes through `perform`."""

    def __init__(
        self, host: Host, inputs: dict[str, Any] | None = None, arguments: Iterable[str] = (), title: str = ""
    ) -> None:
        self.host = host
        self.title = title
        self.inputs = inputs or {}
        #: All that was printed, in order.
        self.prints: list[str] = []
        self.arguments = list(arguments)
        #: What was started with `async` and not yet waited for at the end.
        self.pending: deque[Pending] = deque()
        #: Where each thread is.
        self.states: ContextVar[State] = ContextVar("antiphon_lang_state")
        self._default: ModelValue | None = None
        self._run: Run[Any] | None = None
        #: Rounds side by side ask at once.
        self._making = threading.RLock()
        self._node: Node | None = None

    @cached_property
    def _first(self) -> State:
        return State()

    @contextmanager
    def active(self) -> Generator[None]:
        """While the program is at work, its effects are numbered and go past whoever stands in the door."""
        outside = place()
        if self._node is None:
            # A program inside something that is numbered is one thing there.
            self._node = Node(f"{outside.node.next()}/") if outside.performers else Node()
        with at(Place(self._node, self.host.in_the_door(outside.performers))):
            yield

    def perform(self, effect: Effect, do: Callable[[], Any], subject: Any = None) -> Any:
        """What comes of an effect. Errors are the program's own, and so the same when they are played back."""
        where = place()
        if not where.performers:
            return _uncancelled(do)

        def done() -> Any:
            try:
                return _uncancelled(do)
            except Exception as error:
                raise translated(error) from error

        try:
            return perform(Step(where.node.next(), effect, subject=subject), done)
        except Halted as error:
            raise halted(error) from error
        except NobodyThere:
            raise
        except Unsettled as error:
            raise waits(str(error), kind=Asleep if effect.kind == "sleep" else NobodyThere) from error

    def chance(self) -> Random:
        """Where chance comes from in this thread: of a seed that is an effect, so that it is drawn once for all."""
        state = self.state
        if state.chance is None:
            from random import Random, SystemRandom

            effect = CallTool("random.seed", {}, "harmless")
            state.chance = Random(state.seed or self.perform(effect, lambda: SystemRandom().getrandbits(64)))
        return state.chance

    def seed_below(self) -> str:
        """For a thread that is begun here: the same whatever the timing, where it is known what chance comes of."""
        state = self.state
        return str(self.chance().getrandbits(64)) if state.chance is not None or state.seed else ""

    # The run, which is made when there is something to tell of it

    @property
    def run(self) -> Run[Any]:
        """The run of the program."""
        with self._making:
            if self._run is None:
                from antiphon.session import Run

                self._run = Run("program", self.title, people=self.host.port)
                if self.host.watch is not None:
                    self._run.subscribe(self.host.watch)
            return self._run

    def run_of(self, state: State) -> Run[Any]:
        """The run that an ask is part of: that of the round, of the model whose tool this is, or of the program."""
        if state.round is not None:
            with self._making:
                if state.round.run is None:
                    from antiphon.session import Run

                    outside = self.run_of(state.round.outside)
                    state.round.run = Run("round", str(state.round.number), parent=outside)
                return state.round.run
        from antiphon.session import current_run

        return current_run() or self.run

    def end(self, value: Any, error: BaseException | None, outcome: str) -> None:
        """It is over; whoever watches is told."""
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
        """What the models have used in all; a cost that is not known is null."""
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
    def state(self) -> State:
        """That of this thread."""
        return self.states.get(self._first)

    def default_model(self) -> ModelValue:
        """The one that serves where a program names none."""
        if self._default is None:
            assert self.host.default_model is not None
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

    def settle(self) -> None:
        """It waits for somebody: what was started gets as far as it can."""
        for each in self.pending:
            each.done.wait()

    def abandon(self) -> None:
        """It is over: whatever was started and still waits for a model is cancelled."""
        while self.pending:
            scope = self.pending.popleft().scope
            if scope is not None:
                scope.cancel()

    def apart(self, work: Callable[[], Any]) -> Any:
        """Do work for a caller from outside: after what the top level said, and with nothing of other such calls."""
        own = State(self._first.history.apart(), self._first.base, self._first.model)

        def run() -> Any:
            self.states.set(own)
            return work()

        return copy_context().run(run)

    def run_tool(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Run a tool of the program for a model: with a history of its own."""
        from antiphon.tools import ToolFailure

        self.states.set(State(model=self.state.model))
        try:
            # A default that the model left out is worked out by the tool itself.
            return plain(function(**{name: each for name, each in arguments.items() if each is not LEFT_OUT}))
        except Exception as error:
            raise ToolFailure(translated(error).message) from error


def _uncancelled(do: Callable[[], Any]) -> Any:
    """What comes of it. To be cancelled is no outcome: it is not known how far it got, and nothing is to catch that."""
    try:
        return do()
    except Exception as error:
        from concurrent.futures import CancelledError

        if isinstance(error, CancelledError):
            raise RoundStopped() from None
        raise
