"""The execution of a program: its modules at work, their history, and the one way to the world outside."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from antiphon.effects.door import Node, Place, Step, at, below, perform, place
from antiphon.effects.values import CallTool
from antiphon.errors import Halted, Unsettled
from antiphon.lang.compile.code import Site
from antiphon.lang.run import context
from antiphon.lang.run.errors import Stopped, VibeError
from antiphon.lang.run.host import Host
from antiphon.lang.run.models import ModelValue
from antiphon.lang.run.questions import Asleep, NobodyThere, halted, waits
from antiphon.lang.run.threads import Pending, Round, State
from antiphon.lang.run.tooling import LEFT_OUT, VibeTool, python_type
from antiphon.lang.run.traces import translated
from antiphon.lang.run.values import plain, text
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from random import Random

    from antiphon.conversation import Conversation
    from antiphon.effects import Effect
    from antiphon.session import Run
    from antiphon.session.portal import CancelScope

_SUMMARY = "Sum up what happened in this part of a conversation, in a few sentences that keep every fact needed later."


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
        self._states: ContextVar[State] = ContextVar("antiphon_lang_state")
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

    def _seed_below(self) -> str:
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

    def _run_of(self, state: State) -> Run[Any]:
        """The run that an ask is part of: that of the round, of the model whose tool this is, or of the program."""
        if state.round is not None:
            with self._making:
                if state.round.run is None:
                    from antiphon.session import Run

                    outside = self._run_of(state.round.outside)
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

    # Asking

    def ask(self, site: Site, prompt: str, model: ModelValue | None, depth: int) -> AIResult:
        """Ask a model from a place of the program; `depth` frames up is the program's own."""
        from antiphon.lang.run.history import ends_open, with_turns, without_private

        state = self.state
        chosen = model or (self.default_model() if site.says_model else state.model or self.default_model())
        history = self._shown_history(site, state)
        conversation = history.fork()
        conversation.system = str(chosen.settings.get("system", ""))
        shown = "" if site.context == "none" else self._variables(site, depth + 1)
        if shown:
            conversation.add_user(shown)
        place_ = len(conversation.turns) - 1 if shown else -1
        returns = None if site.wanted is None else python_type(site.wanted)
        tools = [_as_tool(each) for each in _flat(chosen.settings.get("tools", ()))]
        session = self.host.session(chosen, conversation, tools)
        result = self._answer(session, prompt, "do" if site.kind == "do" else "vibe", returns)
        if site.context != "none":
            happened: Iterable[Any] = conversation.turns[max(0, len(history.turns) - (ends_open(history))) :]
            before = history.turns[-1] if ends_open(history) else None
            if site.hidden:
                happened, before = without_private(site.hidden, prompt, result), None
            kept = {} if site.hidden else conversation.kept
            state.history = with_turns(state.history, happened, before, shown if place_ >= 0 else "", kept)
        if model is not None:
            state.model = model
        return result

    def _answer(self, session: Any, prompt: str, mode: Any, returns: Any) -> AIResult:
        """What the model answers. Streamed even where nobody looks: a recording fits wherever it is played."""
        from antiphon.session import Cancelled, LimitReached, NoAnswer, ReturnError, Waiting
        from antiphon.session.portal import current_scope

        scope = current_scope()
        if scope is not None and scope.cancelled:
            raise _stopped()
        with self._run_of(self.state).active():
            run = session.start(prompt, mode=mode, returns=returns)
        if scope is not None:
            scope.add(run.cancel)
        try:
            return run.wait()
        except KeyboardInterrupt:
            run.cancel()
            run.wait(raises=False)
            raise
        except Cancelled:
            raise _stopped() from None
        except Halted as error:
            raise halted(error) from error
        except Waiting as error:
            raise waits(str(error), "run it in a terminal, or allow it: `--yes`") from error
        except LimitReached as error:
            if _is_over_budget(error):
                raise Stopped(VibeError("V0922", str(error))) from error
            raise VibeError("V0922", f"the model gave no answer: {error}") from error
        except ReturnError:
            raise
        except NoAnswer as error:
            raise VibeError("V0922", f"the model gave no answer: {error}") from error
        finally:
            if scope is not None:
                scope.remove(run.cancel)

    def _shown_history(self, site: Site, state: State) -> Conversation:
        from antiphon.conversation import Conversation
        from antiphon.lang.run.history import since, with_turns

        if site.context == "none":
            return Conversation()
        if site.context == "default":
            return state.history
        local = Conversation()
        return with_turns(local, since(state.history, state.base), None, "", state.history.kept)

    def _variables(self, site: Site, depth: int) -> str:
        found = context.variables(depth + 1, site.context == "local")
        if site.context == "default":
            found = [*self.state.around, *found]
        return context.bounded(found)

    def compress(self, mark: Conversation, how: str | None, model: ModelValue | None) -> None:
        """Replace what happened since the mark by a summary of it."""
        from antiphon.conversation import Conversation
        from antiphon.conversation.transcript import transcript
        from antiphon.lang.run.history import since

        state = self.state
        turns = since(state.history, mark)
        if not turns:
            return
        chosen = model or state.model or self.default_model()
        told = Conversation(str(how) if how else _SUMMARY)
        result = self._answer(self.host.session(chosen, told, []), transcript(turns), "do", None)
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

        own = replace(self.state.fork(around), seed=self._seed_below())
        before = own.history
        pending = self._spawn(inside, own, _numbered("."))
        pending.scope, pending.join = scope, lambda: self._join(pending, own, before)
        pending.is_known = lambda: pending in self.state.joined
        self.pending.append(pending)
        return pending

    def _join(self, pending: Pending, other: State, before: Conversation) -> None:
        """What happened in work that was begun with `async`, and is first used here now, happened here too."""
        from antiphon.lang.run.history import since, with_turns

        state = self.state
        if pending in state.joined:
            return
        state.joined |= {pending}
        state.history = with_turns(state.history, since(other.history, before), None, "", other.history.kept)

    def _spawn(self, work: Callable[[], Any], own: State, where: Place) -> Pending:
        """Do work in a thread of its own, which sees the history as it is now."""
        pending, inside = Pending(), copy_context()

        def run() -> None:
            self._states.set(own)
            try:
                with at(where):
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

        todo, path = list(items), place().node.next() if place().performers else ""
        results: list[list[Any]] = [[] for _ in todo]
        errors: list[BaseException] = []
        scope = CancelScope(current_scope())
        lock, places = threading.Lock(), iter(range(len(todo)))

        def work() -> None:
            while not scope.cancelled:
                with lock:
                    number = next(places, None)
                if number is None:
                    return
                try:
                    results[number] = copy_context().run(self._isolated, scope, body, todo[number], number, path)
                except BaseException as error:
                    with lock:
                        errors.append(translated(error) if isinstance(error, Exception) else error)
                    if not is_waiting(error):
                        # While one waits for somebody, the others get as far as they can.
                        scope.cancel()

        here, seed = place(), self._seed_below()
        workers = [
            self._spawn(work, replace(self.state.fork(around), seed=seed), here)
            for _ in range(min(self.host.max_parallel, len(todo)))
        ]
        try:
            for each in workers:
                each.result()
        except BaseException:
            scope.cancel()
            raise
        finally:
            scope.close()
        if errors:
            raise min(errors, key=lambda each: isinstance(each, RoundStopped) + 2 * is_waiting(each))
        return [value for each in results for value in each]

    def _isolated(self, scope: CancelScope, body: Callable[[Any], list[Any]], item: Any, number: int, path: str) -> Any:
        state = self.state
        own = Round(number, state)
        seed = state.seed and f"{state.seed}[{number}]"
        self._states.set(replace(state.fork(state.around), round=own, seed=seed))
        try:
            with scope.active(), at(below(f"{path}[{number}].")) if path else at(place()):
                values = body(item)
        except BaseException as error:
            if own.run is not None:
                own.run.fail(error)
            raise
        if own.run is not None:
            own.run.finish(AIResult(plain(values)))
        return values

    def run_tool(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Run a tool of the program for a model: with a history of its own."""
        from antiphon.tools import ToolFailure

        self._states.set(State(model=self.state.model))
        try:
            # A default that the model left out is worked out by the tool itself.
            return plain(function(**{name: each for name, each in arguments.items() if each is not LEFT_OUT}))
        except Exception as error:
            raise ToolFailure(translated(error).message) from error


def _numbered(mark: str) -> Place:
    """Where work of its own is numbered, under the place in which it is begun."""
    where = place()
    return Place(Node(f"{where.node.next()}{mark}"), where.performers) if where.performers else where


def _is_over_budget(error: BaseException) -> bool:
    from antiphon.effects import OverBudget

    return isinstance(error.__cause__, OverBudget)


def is_waiting(error: BaseException | None) -> bool:
    """Whether an error is none, but says that the program can be gone on with when somebody has answered."""
    return isinstance(error, Stopped) and isinstance(error.error, NobodyThere)


class RoundStopped(Stopped):
    """Part of the program that was stopped because another part failed."""


def _stopped() -> RoundStopped:
    return RoundStopped(VibeError("V0927", "stopped because another round failed"))


def _uncancelled(do: Callable[[], Any]) -> Any:
    """What comes of it. To be cancelled is no outcome: it is not known how far it got, and nothing is to catch that."""
    try:
        return do()
    except Exception as error:
        from concurrent.futures import CancelledError

        if isinstance(error, CancelledError):
            raise _stopped() from None
        raise


def _as_tool(value: Any) -> Any:
    return value.tool() if isinstance(value, VibeTool) else value


def _flat(tools: Any) -> list[Any]:
    """Tools, with those of bundles among them; each once."""
    out: dict[str, Any] = {}
    for each in tools:
        for tool in cast(list[Any], each) if isinstance(each, list | tuple) else [each]:
            out.setdefault(tool.name, tool)
    return list(out.values())
