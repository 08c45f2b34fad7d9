"""Small weights with an index of wheels and a hub of their own, so that pulls are real and need no network."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from antiphon.local import weights
from antiphon.local.weights import Weights, WeightsPart

PIECES = [random.Random(i).randbytes(40_000 + i) for i in range(2)]
WHOLE = b"".join(PIECES)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


TINY = Weights(
    name="tiny",
    title="Tiny, Q0",
    file="tiny.gguf",
    sha256=sha256(WHOLE),
    licence="MIT",
    parts=tuple(WeightsPart(f"tiny-part{i}==1.0", len(piece), sha256(piece)) for i, piece in enumerate(PIECES, 1)),
    repository="makers/tiny",
)
#: For another process: the weights, and the command line.
COMMAND = f"""
import sys
from antiphon.local.weights import Weights, WeightsPart
from antiphon.local.manifest import register_weights
register_weights({TINY!r})
from antiphon.cli import main
main()
"""


def write_wheel(directory: Path, number: int, data: bytes | None = None, extra: dict[str, bytes] | None = None) -> Path:
    """The wheel of a part; `data` is what it holds instead of the right bytes."""
    path = directory / f"tiny_part{number}-1.0-py3-none-any.whl"
    info = f"tiny_part{number}-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        # Importing or installing it would be seen.
        wheel.writestr(f"tiny_part{number}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"tiny_part{number}/data.bin", PIECES[number - 1] if data is None else data)
        for name, content in (extra or {}).items():
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@dataclass
class Machine:
    """A machine with an empty cache and an index that holds what a test puts there."""

    wheels: Path
    cache: Path

    @property
    def file(self) -> Path:
        return self.cache / "models" / "tiny.gguf"

    def files(self) -> list[str]:
        """What lies in the cache, but for the lock."""
        return sorted(path.name for path in self.file.parent.glob("*") if path.suffix != ".lock")


@contextmanager
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    found = Machine(tmp_path / "index", tmp_path / "cache")
    found.wheels.mkdir()
    for name in [name for name in os.environ if name.startswith(("PIP_", "ANTIPHON_", "HF_"))]:
        monkeypatch.delenv(name)
    for name, value in {
        "ANTIPHON_CACHE": str(found.cache),
        "HF_HUB_OFFLINE": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(found.wheels),
        "NO_PROXY": "127.0.0.1",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }.items():
        monkeypatch.setenv(name, value)
    weights.register_weights(TINY)
    try:
        yield found
    finally:
        del weights.known()["tiny"]


@dataclass
class Hub:
    """A server of the whole file that counts, and can be made slow, deaf or wrong."""

    url: str = ""
    content: bytes = WHOLE
    ranges: list[str] = field(default_factory=list)
    pause: float = 0
    honours_ranges: bool = True
    knows_the_end: bool = True
    fails_after: int | None = None

    def answer(self, request: Any) -> None:
        wanted = request.headers["Range"]
        if self.fails_after is not None and len(self.ranges) >= self.fails_after:
            request.send_error(503)
            return
        self.ranges.append(wanted)
        first, last = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
        body = self.content[first : last + 1 if self.knows_the_end else None] if self.honours_ranges else self.content
        request.send_response(206 if self.honours_ranges else 200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[:1000])
        request.wfile.flush()
        time.sleep(self.pause)
        request.wfile.write(body[1000:])


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(302)
            self.end_headers()

        def do_GET(self) -> None:
            assert self.path == "/makers/tiny/resolve/main/tiny.gguf"
            # Whoever stopped the pull has hung up.
            try:
                hub.answer(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        hub.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield hub
        finally:
            server.shutdown()
