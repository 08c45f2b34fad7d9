"""Batches whose rows wait for the half-price batch API of a provider, without a process."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

from antiphon.effects import EffectCall, EffectContext, PathCounter, SendBatch, perform, use_context
from antiphon.errors import BatchRefused, NotReadyError, ProviderError, ServerFailed, StatusError, Suspended
from antiphon.programs.batch import Batch, RowResult, load_row_result
from antiphon.programs.deferred_requests import RequestCollector, RequestGroup, RowRequests
from antiphon.storage.schema import ENDED_STATES

if TYPE_CHECKING:
    from antiphon.durable import ActiveRun, RunEntry, SentBatch
    from antiphon.effects.pipeline import Middleware
    from antiphon.providers.batches import ProviderBatches
    from antiphon.wire.batches import BatchState

#: The first and the longest time between two questions for the state of batches, in seconds.
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
#: After this many seconds a provider lists every batch that it has taken.
_SETTLING = 10.0


class DeferredBatch(Batch):
    """Runs the rows of a batch until each has ended or waits for a batch of the provider.

    The requests at which rows wait are sent together. When they are answered, the rows go on, and their next requests
    are the next batch.
    """

    def __init__(self, *given: Any, is_strict: bool, is_waited_for: bool) -> None:
        super().__init__(*given)
        self._is_waited_for = is_waited_for
        self._collector = RequestCollector(is_strict=is_strict)
        self._fallbacks: dict[int, tuple[str, ...]] = {}

    def iterate_results(self, *, retry: bool = False) -> Generator[RowResult]:
        """Work on all rows, then yield the result of each in order; with `retry`, failed rows are retried.

        Unless it is to wait for the provider, rows that wait for it are among the results.
        """
        running = self._journal.resume(self._id)
        state, seen = "interrupted", set[str]()
        try:
            self._work(running, retry)
            for row in self._journal.iterate_rows(self._id):
                result = load_row_result(self._journal, row)
                seen.add(result.outcome)
                fallbacks = self._fallbacks.get(result.number, ())
                yield replace(result, is_sent=self._is_sent(row), fallbacks=fallbacks)
            if "waiting" in seen:
                state = "waiting"
            elif "limit" not in seen:
                state = "done" if seen <= {"done"} else "failed"
        finally:
            self._close()
            running.finish(state)

    def cancel(self) -> int:
        """Cancel the batches at the provider, and return their number. Rows that wait for them are sent again later."""
        running, count = self._journal.resume(self._id), 0
        try:
            for sent in self._load_open_batches():
                batches = self._connect(sent.effect.key)
                if batches is None:
                    continue
                id = sent.id or self._find(running, sent, batches)
                if id:
                    batches.cancel(id)
                    count += 1
        finally:
            self._close()
            running.finish("interrupted")
        return count

    # The rows

    def _work(self, running: ActiveRun, retry: bool) -> None:
        """Run rows and send their requests, until all wait or have ended."""
        self._load_open_batches()
        self._run_rows(lambda row, keys: self._is_runnable(row, keys, retry))
        pause = _FIRST_WAIT
        while True:
            self._send_groups(running)
            open_batches = self._load_open_batches()
            ended = [sent for sent in open_batches if self._poll(running, sent)]
            if ended or self._collector.has_requests:
                pause = _FIRST_WAIT
            elif open_batches and self._is_waited_for:
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_WAIT)
            else:
                return

    def _is_runnable(self, row: RunEntry, keys: list[str], retry: bool) -> bool:
        if row.state in ENDED_STATES:
            return retry and row.state == "failed"
        return not keys or not all(map(self._collector.is_waiting, keys))

    def _run_rows(self, is_chosen: Callable[[RunEntry, list[str]], bool]) -> None:
        """Run the rows that are chosen by themselves and the keys of the batches that they wait for."""
        with ThreadPoolExecutor(self._parallel, "antiphon: row") as pool:
            for page in _make_pages(self._journal.iterate_rows(self._id), 4 * self._parallel):
                chosen = [row for row in page if is_chosen(row, self._journal.list_noted_batches(row.id))]
                for _ in pool.map(self._process_row, chosen, repeat(True)):
                    pass

    def _make_performers(self, row: RunEntry, running: ActiveRun) -> tuple[Middleware, ...]:
        # An answer from a batch is paid for, so only requests that are collected or sent alone are checked.
        return running.middleware, RowRequests(self._collector, row.number or 0, running.middleware, self._budget)

    def _end_row(self, row: RunEntry, performers: tuple[Middleware, ...]) -> None:
        number, ended = row.number or 0, self._journal.find(row.id)
        if ended.state in ENDED_STATES:
            self._collector.drop_row(number)
        told = [each for one in performers if isinstance(one, RowRequests) for each in one.fallbacks]
        if told:
            self._fallbacks[number] = (*self._fallbacks.get(number, ()), *told)

    def _is_sent(self, row: RunEntry) -> bool:
        return row.state == "waiting" and not row.waiting and bool(self._journal.list_noted_batches(row.id))

    # The batches at the provider

    def _load_open_batches(self) -> list[SentBatch]:
        """Return the batches at the provider that were not read yet; rows may wait for them."""
        found = self._journal.list_open_batches(self._id)
        self._collector.open_keys = {sent.effect.key for sent in found}
        return found

    def _send_groups(self, running: ActiveRun) -> None:
        for group in self._collector.take_groups():
            items = group.list_items()
            if items:
                name = f"{group.batches.target.provider}/{group.batches.target.model}"
                effect = SendBatch(name, group.key, len(items))
                number = self._journal.find(self._id).effects + 1
                self._collector.known[group.key] = group.batches
                call = EffectCall(str(number), effect)
                _perform(running, call, lambda group=group, call=call, items=items: _send(running, call, group, items))
            group.close()

    def _poll(self, running: ActiveRun, sent: SentBatch) -> bool:
        """Ask for the state of a batch, and let its rows go on when it has ended. Return whether it has."""
        key = sent.effect.key
        batches = self._connect(key)
        is_over = _perform(running, EffectCall(sent.path, sent.effect), lambda: self._follow(running, sent, batches))
        if is_over:
            self._collector.open_keys.discard(key)
            if self._journal.find_effect(self._id, sent.path).state == "done":
                # Its rows collect their requests again where it was not sent.
                self._run_rows(lambda _, keys: key in keys)
        return is_over

    def _follow(self, running: ActiveRun, sent: SentBatch, batches: ProviderBatches | None) -> dict[str, int]:
        """Return how many requests of a batch were answered, when its rows have taken the answers."""
        if batches is None:
            return {"requests": sent.effect.requests, "answered": 0}
        id = sent.id or self._find(running, sent, batches)
        if not id:
            return {"requests": sent.effect.requests, "answered": 0}
        state = batches.load_state(id)
        if not state.is_ended:
            _note(running, sent.path, id, state)
            raise Suspended(f"{batches.target.provider} has not finished batch {id}")
        if state.failure:
            provider = batches.target.provider
            raise BatchRefused(f"{provider} did not process batch {id}: {state.failure}", provider=provider)
        key, results = sent.effect.key, batches.load_results(state)
        self._collector.open_results(key, results)
        try:
            count = sum(1 for _ in results)
            self._run_rows(lambda _, keys: key in keys)
        finally:
            self._collector.close_results(key)
        return {"requests": sent.effect.requests, "answered": count}

    def _find(self, running: ActiveRun, sent: SentBatch, batches: ProviderBatches) -> str:
        """Return the id of a batch that may have been sent; empty if it was not."""
        found = batches.find(sent.effect.key, sent.sent, sent.effect.requests)
        if found is None and self._journal.now() < sent.sent + _SETTLING:
            raise Suspended(f"it is not known yet whether {batches.target.provider} has a batch that was interrupted")
        if found is None:
            return ""
        if not found.is_sure:
            raise Suspended(
                f"it is not known whether {batches.target.provider} has a batch of {sent.effect.requests} requests;"
                f" batch {found.id} may be it, and shows that when it has ended"
            )
        running.middleware.note(sent.path, {"id": found.id}, is_durable=True)
        return found.id

    def _connect(self, key: str) -> ProviderBatches | None:
        """Return the provider's batches as a waiting row reaches them; None if no row waits for this one."""
        if key not in self._collector.known:
            self._collector.open_keys.add(key)
            for row in self._journal.iterate_rows(self._id):
                if row.state in ENDED_STATES or key not in self._journal.list_noted_batches(row.id):
                    continue
                result = self._process_row(row, retry=False)
                if key in self._collector.known:
                    break
                if result.outcome != "waiting":
                    raise NotReadyError(f"row {row.number} does not reach its request any more: {result.error}")
        return self._collector.known.get(key)

    def _close(self) -> None:
        for group in self._collector.take_groups():
            group.close()


def _send(running: ActiveRun, call: EffectCall, group: RequestGroup, items: list[Any]) -> None:
    """Send a batch and note its id. Raise Suspended, because its results are to come."""
    provider = group.batches.target.provider
    try:
        id = group.batches.send(group.key, items, group.headers)
    except ProviderError as error:
        if isinstance(error, StatusError) and not isinstance(error, ServerFailed):
            refused = f"{provider} refused a batch of {len(items)} requests: {error}"
            raise BatchRefused(refused, provider=provider) from error
        raise Suspended(f"it is not known whether {provider} has taken a batch: {error}") from error
    running.middleware.note(call.path, {"id": id}, is_durable=True)
    raise Suspended(f"{provider} has taken batch {id}")


def _note(running: ActiveRun, path: str, id: str, state: BatchState) -> None:
    running.middleware.note(path, {"id": id, "done": state.done or 0})


def _perform(running: ActiveRun, call: EffectCall, do: Callable[[], Any]) -> bool:
    """Perform the step of a batch. Return whether it has ended."""
    with use_context(EffectContext(PathCounter(), (running.middleware,))):
        try:
            perform(call, do)
        except Suspended:
            return False
    return True


def _make_pages(rows: Iterable[RunEntry], size: int) -> Generator[list[RunEntry]]:
    page: list[RunEntry] = []
    for row in rows:
        page.append(row)
        if len(page) == size:
            yield page
            page = []
    yield page
