"""Work side by side: what `async let` begins, and the rounds of `async for`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.effects.door import Node, Place, at, below, place
from antiphon.lang.run.errors import RoundStopped
from antiphon.lang.run.execution import Execution
from antiphon.lang.run.questions import is_waiting
from antiphon.lang.run.threads import Pending, Round, State
from antiphon.lang.run.traces import translated
from antiphon.lang.run.values import plain
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.lang.run.history import History
    from antiphon.lang.run.variables import Frame
    from antiphon.session.portal import CancelScope


def start(execution: Execution, work: Callable[[], Any], around: Iterable[Frame]) -> Pending:
    """Begin work of which the value is wanted later, or never: the end of the run cancels it."""
    from antiphon.session.portal import CancelScope, current_scope

    scope = CancelScope(current_scope())

    def inside() -> Any:
        try:
            with scope.active():
                return work()
        finally:
            scope.close()

    own = replace(execution.state.fork(around), seed=execution.seed_below())
    before = own.history
    pending = _spawn(execution, inside, own, _numbered("."))
    pending.scope, pending.join = scope, lambda: _join(execution, pending, own, before)
    pending.is_known = lambda: pending in execution.state.joined
    execution.pending.append(pending)
    return pending


def _join(execution: Execution, pending: Pending, other: State, before: History) -> None:
    """What happened in work that was begun with `async`, and is first used here now, happened here too."""
    state = execution.state
    if pending in state.joined:
        return
    state.joined |= {pending}
    happened = [replace(entry, view="elsewhere") for entry in other.history.since(before)]
    state.history = state.history.with_entries(happened, other.history.kept)


def _spawn(execution: Execution, work: Callable[[], Any], own: State, where: Place) -> Pending:
    """Do work in a thread of its own, which sees the history as it is now."""
    pending, inside = Pending(), copy_context()

    def run() -> None:
        execution.states.set(own)
        try:
            with at(where):
                pending.value = work()
        except BaseException as error:
            # Known frames are kept: whoever waits has a stack of his own.
            pending.error = translated(error) if isinstance(error, Exception) else error
        pending.done.set()

    threading.Thread(target=inside.run, args=(run,), name="antiphon: async", daemon=True).start()
    return pending


def gather(
    execution: Execution, body: Callable[[Any], list[Any]], items: Iterable[Any], around: list[Frame]
) -> list[Any]:
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
                results[number] = copy_context().run(_isolated, execution, scope, body, todo[number], number, path)
            except BaseException as error:
                with lock:
                    errors.append(translated(error) if isinstance(error, Exception) else error)
                if not is_waiting(error):
                    # While one waits for somebody, the others get as far as they can.
                    scope.cancel()

    here, seed = place(), execution.seed_below()
    workers = [
        _spawn(execution, work, replace(execution.state.fork(around), seed=seed), here)
        for _ in range(min(execution.host.max_parallel, len(todo)))
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


def _isolated(
    execution: Execution, scope: CancelScope, body: Callable[[Any], list[Any]], item: Any, number: int, path: str
) -> Any:
    state = execution.state
    own = Round(number, state)
    seed = state.seed and f"{state.seed}[{number}]"
    execution.states.set(replace(state.fork(state.around), round=own, seed=seed))
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


def _numbered(mark: str) -> Place:
    """Where work of its own is numbered, under the place in which it is begun."""
    where = place()
    return Place(Node(f"{where.node.next()}{mark}"), where.performers) if where.performers else where
