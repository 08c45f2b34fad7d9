"""Concurrent work: values of `async let` and iterations of `async for`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.effects.pipeline import EffectContext, PathCounter, child_context, current_context, use_context
from antiphon.lang.runtime.errors import IterationAborted
from antiphon.lang.runtime.execution import LoopIteration, PendingValue, ProgramExecution, ThreadState
from antiphon.lang.runtime.human_questions import is_suspended_error
from antiphon.lang.runtime.tracebacks import translate_error
from antiphon.lang.runtime.values import to_plain_value
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.lang.runtime.history import ProgramHistory
    from antiphon.lang.runtime.visible_variables import VariableFrame
    from antiphon.session.sync_bridge import CancelScope


def start_async(execution: ProgramExecution, work: Callable[[], Any], around: Iterable[VariableFrame]) -> PendingValue:
    """Start work in a thread and return its pending value; the end of the run cancels it."""
    from antiphon.session.sync_bridge import CancelScope, current_cancel_scope

    scope = CancelScope(current_cancel_scope())

    def inside() -> Any:
        try:
            with scope.active():
                return work()
        finally:
            scope.close()

    own = replace(execution.state.fork(around), seed=execution.derive_child_seed())
    before = own.history
    pending = _spawn_thread(execution, inside, own, _make_child_context("."))
    pending.scope, pending.join = scope, lambda: _join_history(execution, pending, own, before)
    pending.is_known = lambda: pending in execution.state.joined
    execution.pending.append(pending)
    return pending


def _join_history(
    execution: ProgramExecution, pending: PendingValue, other: ThreadState, before: ProgramHistory
) -> None:
    """Add the history of concurrent work to this thread's, at the first use of its value here."""
    state = execution.state
    if pending in state.joined:
        return
    state.joined |= {pending}
    happened = [replace(entry, view="elsewhere") for entry in other.history.since(before)]
    state.history = state.history.with_entries(happened, other.history.kept)


def _spawn_thread(
    execution: ProgramExecution, work: Callable[[], Any], own: ThreadState, where: EffectContext
) -> PendingValue:
    """Run work in a thread of its own, which starts with the current history."""
    pending, inside = PendingValue(), copy_context()

    def run() -> None:
        execution.states.set(own)
        try:
            with use_context(where):
                pending.value = work()
        except BaseException as error:
            # Keep the frames of this thread's stack: the waiting thread has another.
            pending.error = translate_error(error) if isinstance(error, Exception) else error
        pending.done.set()

    threading.Thread(target=inside.run, args=(run,), name="antiphon: async", daemon=True).start()
    return pending


def gather_iterations(
    execution: ProgramExecution, body: Callable[[Any], list[Any]], items: Iterable[Any], around: list[VariableFrame]
) -> list[Any]:
    """Run a body for each item, several at a time, and return the values in order.

    If an iteration fails, the others are cancelled.
    """
    from antiphon.session.sync_bridge import CancelScope, current_cancel_scope

    todo, path = list(items), current_context().node.next() if current_context().performers else ""
    results: list[list[Any]] = [[] for _ in todo]
    errors: list[BaseException] = []
    scope = CancelScope(current_cancel_scope())
    lock, places = threading.Lock(), iter(range(len(todo)))

    def work() -> None:
        while not scope.cancelled:
            with lock:
                number = next(places, None)
            if number is None:
                return
            try:
                results[number] = copy_context().run(_run_iteration, execution, scope, body, todo[number], number, path)
            except BaseException as error:
                with lock:
                    errors.append(translate_error(error) if isinstance(error, Exception) else error)
                if not is_suspended_error(error):
                    # If an iteration only waits for a human, the others continue as far as they can.
                    scope.cancel()

    here, seed = current_context(), execution.derive_child_seed()
    workers = [
        _spawn_thread(execution, work, replace(execution.state.fork(around), seed=seed), here)
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
        raise min(errors, key=lambda each: isinstance(each, IterationAborted) + 2 * is_suspended_error(each))
    return [value for each in results for value in each]


def _run_iteration(
    execution: ProgramExecution, scope: CancelScope, body: Callable[[Any], list[Any]], item: Any, number: int, path: str
) -> Any:
    state = execution.state
    own = LoopIteration(number, state)
    seed = state.seed and f"{state.seed}[{number}]"
    execution.states.set(replace(state.fork(state.around), iteration=own, seed=seed))
    try:
        with (
            scope.active(),
            use_context(child_context(f"{path}[{number}].")) if path else use_context(current_context()),
        ):
            values = body(item)
    except BaseException as error:
        if own.run is not None:
            own.run.fail(error)
        raise
    if own.run is not None:
        own.run.finish(AIResult(to_plain_value(values)))
    return values


def _make_child_context(mark: str) -> EffectContext:
    """Return the effect context for concurrent work, numbered below the current one."""
    where = current_context()
    return EffectContext(PathCounter(f"{where.node.next()}{mark}"), where.performers) if where.performers else where
