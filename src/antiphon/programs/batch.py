"""Batches: a program run for each row, concurrently, with results in order and no effect repeated."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from typing import Any, Literal

from antiphon._base.json_access import as_array, as_object
from antiphon.durable import ActiveRun, Journal, RunEntry
from antiphon.durable.replay_cache import set_aside_run
from antiphon.effects.budget import NO_LIMITS, Budget, BudgetExceeded, Counter, Spending
from antiphon.effects.codec import decode_value, encode_value
from antiphon.effects.pipeline import Middleware
from antiphon.errors import ConfigurationError, LeaseLost, NotReadyError, OptionError, StoreError
from antiphon.lang.runtime import Host, Program, load
from antiphon.programs.launch_spec import LaunchSpec, collect_program_sources
from antiphon.programs.row_sources import NumberedRow, enumerate_rows, has_private_input, read_rows, select_inputs
from antiphon.programs.run_ending import finish_run
from antiphon.providers.prewarming import Prewarming
from antiphon.storage.leases import PREPARING
from antiphon.storage.schema import ENDED_STATES
from antiphon.storage.steps import sum_row_costs

#: Creates the host of a row with this middleware.
HostFactory = Callable[[tuple[Middleware, ...]], Host]
#: The endings of rows that are retried.
_RETRIED = ("failed", "invalid", "limit", "lost")
_PAGE_SIZE = 500
#: How the launch data call what happens to requests that a batch of the provider does not answer.
_FALLBACKS = {True: "alone", "only": "only"}


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result of a row: a `value`, or an `error`.

    `outcome` is `done`, `failed`, `invalid`, `waiting`, `limit`, `cancelled` or `lost` (its workers died). `run` is
    the id of its run. `changed` lists environment variables whose value had changed when it was retried. A row that
    `is_sent` waits for a batch of the provider; `fallbacks` tell of requests that such a batch did not answer.
    """

    number: int
    outcome: str
    value: Any
    error: str
    cost: float | None
    run: str
    changed: tuple[str, ...] = ()
    is_sent: bool = False
    fallbacks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        told = {"value": self.value} if self.outcome == "done" else {"error": self.error}
        return {"row": self.number, "outcome": self.outcome, **told, "cost": self.cost, "session": self.run}


def map(
    program: str | PathLike[str] | Program,
    rows: str | PathLike[str] | Iterable[Mapping[str, Any]],
    *,
    parallel: int = 8,
    sample: int | None = None,
    max_cost: float | None = None,
    journal: Journal | None = None,
    id: str = "",
    hosts: HostFactory | None = None,
    batch: bool | Literal["only"] = False,
    wait: bool = True,
) -> Generator[RowResult]:
    """Run a program for each row, and yield the results in order; an error becomes the result of its row.

    `rows` are mappings, or a file of them; they set variables of the program's top level. With the `id` of an existing
    batch, finished effects are replayed. `max_cost` limits the cost of all rows in US dollars, including earlier cost;
    rows that have not started by then stay as they are.

    With `batch`, requests to models are collected for the batch API of the provider, which takes up to a day and costs
    half as much. A request that it does not answer is sent alone, unless `batch` is "only". Without `wait`, rows that
    wait for the provider are yielded with the outcome `waiting`; another call with the same `id` goes on.
    """
    if batch not in (False, True, "only"):
        raise OptionError(f'`batch` is True, False or "only", not {batch!r:.60}')
    journal = journal or Journal()
    loaded = program if isinstance(program, Program) else load(program)
    given = select_inputs(
        loaded, enumerate_rows(read_rows(str(rows)) if isinstance(rows, str | PathLike) else rows, sample)
    )
    if not id or not journal.has_run(id):
        settings = {"batch": _FALLBACKS[batch]} if batch else {}
        sources = collect_program_sources(loaded)
        begun = LaunchSpec(loaded.source.name, "", loaded.source.name, sources, settings=settings)
        if batch:
            check_deferrable(journal, loaded)
        id = begin_batch(journal, loaded, begun, given, id=id)
    elif journal.find(id).state == PREPARING:
        finish_batch(journal, id, loaded, given)
    fallback = as_object(journal.load_launch(id).get("settings")).get("batch")
    opened = open_batch(journal, id, loaded, hosts or _make_silent_host, parallel, max_cost, fallback, wait=wait)
    return opened.iterate_results()


def open_batch(
    journal: Journal,
    id: str,
    program: Program,
    hosts: HostFactory,
    parallel: int,
    max_cost: float | None,
    fallback: str | None,
    *,
    wait: bool,
) -> Batch:
    """Return an existing batch. With a `fallback`, its requests wait for the batch API of the provider."""
    if fallback is None:
        return Batch(journal, id, program, hosts, parallel, max_cost)
    from antiphon.programs.provider_batch import DeferredBatch

    return DeferredBatch(
        journal, id, program, hosts, parallel, max_cost, is_strict=fallback == "only", is_waited_for=wait
    )


def check_deferrable(journal: Journal, program: Program, model: str | None = None) -> None:
    """Raise an error if the requests of a program cannot wait for the batch API of a provider.

    `model` is the name of its model, where the program names none; without it, the configured one is used.
    """
    from antiphon.config import default_model, load_configuration
    from antiphon.lang.capabilities import list_model_settings
    from antiphon.providers.batches import check_batch_provider
    from antiphon.providers.registry import resolve

    if journal.is_shared:
        raise ConfigurationError("batches of a provider need a database file; workers that share one send rows alone")
    modules = program.modules.compiled.values()
    declared = [each for module in modules for each in list_model_settings(module.source) if "name" in each]
    for each in declared or [{"name": "default"}]:
        name = each["name"]
        if name == "default":
            name = model or default_model(load_configuration()).model
        place, _ = resolve(name, each.get("provider"), each.get("url"))
        check_batch_provider(place)


def begin_batch(
    journal: Journal,
    program: Program,
    begun: LaunchSpec,
    rows: Iterable[NumberedRow],
    *,
    id: str = "",
    is_private: bool = False,
) -> str:
    """Create a run for the batch and one for each row, and return the id of the batch.

    Until all rows are written, the batch is `preparing` and no row runs. `is_private` encrypts the launch data.
    """
    batch = journal.begin("map", begun.file, begun.to_json(), id=id, state=PREPARING, is_private=is_private)
    try:
        _write_rows(journal, batch, program, rows)
    except LeaseLost:
        raise
    except StoreError:
        # Keep the written rows; `finish_batch` can write the others.
        with suppress(StoreError):
            batch.finish(PREPARING)
        raise
    except BaseException:
        journal.remove(batch.id)
        raise
    return batch.id


def finish_batch(journal: Journal, id: str, program: Program, rows: Iterable[NumberedRow]) -> None:
    """Write the missing rows of a batch. The existing ones must be the first of `rows`."""
    batch, rest = journal.resume_preparing(id), iter(rows)
    try:
        for there in journal.iterate_rows(id):
            given = next(rest, None)
            if given is None or given[0] != there.number or encode_value(given[1]) != there.begun_as.get("inputs"):
                raise NotReadyError(
                    f"session {id} cannot be finished: its row {there.number} is no longer among the rows;"
                    f" cancel it with `antiphon stop --final {id}`, then start another with `antiphon run --rows`"
                )
        _write_rows(journal, batch, program, rest)
    except LeaseLost:
        raise
    except BaseException:
        batch.finish(PREPARING)
        raise


def _write_rows(journal: Journal, batch: ActiveRun, program: Program, rows: Iterable[NumberedRow]) -> None:
    rest, (id, epoch) = iter(rows), batch.fence
    while page := list(islice(rest, _PAGE_SIZE)):
        names = {name for _, row in page for name in row}
        journal.add_rows(id, epoch, page, has_private_input(program, names))
    journal.complete_batch(id, epoch)


class Batch:
    """Runs the rows of a batch in this process."""

    def __init__(
        self,
        journal: Journal,
        id: str,
        program: Program,
        hosts: HostFactory,
        parallel: int,
        max_cost: float | None = None,
    ) -> None:
        self._journal = journal
        self._id = id
        self._program = program
        self._hosts = hosts
        self._parallel = parallel
        self._prewarming = Prewarming()
        counter = Counter(Spending(cost=sum_row_costs(journal.database, id)))
        self._budget = Budget(replace(NO_LIMITS, cost=max_cost), f"batch:{id}", counter)

    def iterate_results(self, *, retry: bool = False) -> Generator[RowResult]:
        """Yield the result of each row in order; with `retry`, failed rows are retried."""
        running = self._journal.resume(self._id)
        state = "interrupted"
        seen: set[str] = set()
        try:
            with ThreadPoolExecutor(self._parallel, "antiphon: row") as pool:
                for result in self._iterate_in_order(pool, retry):
                    seen.add(result.outcome)
                    yield result
            if "waiting" in seen:
                state = "waiting"
            elif "limit" not in seen:
                state = "done" if seen <= {"done"} else "failed"
        finally:
            running.finish(state)

    def _iterate_in_order(self, pool: ThreadPoolExecutor, retry: bool) -> Generator[RowResult]:
        """Yield results in order. Rows are submitted gradually, to bound the memory."""
        under_way: deque[Future[RowResult]] = deque()
        try:
            for row in self._journal.iterate_rows(self._id):
                under_way.append(pool.submit(self._process_row, row, retry))
                while len(under_way) > 4 * self._parallel:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for each in under_way:
                each.cancel()

    def _make_performers(self, row: RunEntry, running: ActiveRun) -> tuple[Middleware, ...]:
        """Return the middleware of a row."""
        del row
        # The budget comes after the journal, because replayed requests are counted already.
        return (running.middleware, self._budget)

    def _end_row(self, row: RunEntry, performers: tuple[Middleware, ...]) -> None:
        """Handle the end of a row, whose state is saved."""
        del row, performers

    def _process_row(self, row: RunEntry, retry: bool) -> RowResult:
        if row.state in ENDED_STATES and not (retry and row.state == "failed"):
            return load_row_result(self._journal, row)
        if row.effects == 0:
            try:
                self._budget.check()
            except BudgetExceeded as exceeded:
                return _make_row_result(row, make_not_begun_ending(exceeded))
        return self._run_row(row)

    def _run_row(self, row: RunEntry) -> RowResult:
        running = self._journal.resume(row.id)
        prepare_retry(self._journal, row, running)
        performers = self._make_performers(row, running)
        host = self._hosts(performers)
        host.prewarm_with(self._prewarming)
        report = self._program.attempt(host, inputs=decode_value(row.begun_as.get("inputs", {})))
        finish_run(running, report)
        if report.outcome == "interrupted":
            raise KeyboardInterrupt
        self._end_row(row, performers)
        return load_row_result(self._journal, self._journal.find(row.id))


def follow_batch(journal: Journal, id: str, *, every: float = 0.5) -> Generator[RowResult]:
    """Yield the result of each row of a batch that other processes run, in order."""
    for row in journal.iterate_rows(id):
        while True:
            now = journal.find(row.id)
            # No worker continues a row that has ended, waits for a person, or was stopped.
            is_stopped = now.state in ENDED_STATES or (now.state == "interrupted" and now.ending is not None)
            if is_stopped or (now.state == "waiting" and (now.wake_at is None or now.waiting)):
                break
            time.sleep(every)
        yield load_row_result(journal, now)


def prepare_retry(journal: Journal, row: RunEntry, running: ActiveRun) -> None:
    """Restart a failed row, so that its failed steps are repeated."""
    # What it noted about requests that are in a batch of the provider must not be lost.
    is_sent = row.kind == "row" and bool(journal.list_noted_batches(row.id))
    if row.kind == "row" and row.effects and not is_sent and (row.ending or {}).get("outcome") in _RETRIED:
        set_aside_run(journal, running, without_failed=True)


def make_not_begun_ending(exceeded: BudgetExceeded) -> dict[str, Any]:
    """Return the ending of a row that was not started because of a limit."""
    return {"outcome": "limit", "value": None, "error": {"message": f"not started: {exceeded}"}}


def load_row_result(journal: Journal, row: RunEntry) -> RowResult:
    """Return the result of a row from the journal."""
    return _make_row_result(row, journal.load_ending(row.id) if row.ending else {})


def _make_row_result(row: RunEntry, ending: Mapping[str, Any]) -> RowResult:
    outcome = ending.get("outcome", row.state) if row.state != "cancelled" else "cancelled"
    error = as_object(ending.get("error"))
    said = f"{error['code']}: {error['message']}" if "code" in error else str(error.get("message", outcome))
    told = "" if outcome == "done" else said
    changed = tuple(str(each) for each in as_array(ending.get("changed")))
    return RowResult(row.number or 0, outcome, ending.get("value"), told, row.cost, row.id, changed)


def _make_silent_host(performers: tuple[Middleware, ...]) -> Host:
    from antiphon.lang.runtime.program import default_host

    made = default_host()
    # The journal has what is printed.
    made.write, made.performers = lambda _: None, performers
    return made
