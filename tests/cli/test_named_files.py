"""Commands that read a file which a person names: a pipe and a device without an end are refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")

COMMANDS = [
    ("check", "{}.json"),
    ("export", "{}.json", "--format", "anthropic"),
    ("show", "{}.json"),
    ("ask", "Look.", "-m", "fake", "-a", "{}.txt"),
    ("ask", "Look.", "-m", "fake", "--schema", "{}.json"),
    ("map", "p.vibe", "{}.csv"),
    ("map", "p.vibe", "{}.jsonl"),
    ("run", "p.vibe", "--replay", "{}.jsonl"),
    ("fake", "--script", "{}.json"),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    here = tmp_path / "here"
    here.mkdir()
    for ending in ("json", "txt", "csv", "jsonl"):
        os.mkfifo(here / f"pipe.{ending}")
        (here / f"zero.{ending}").symlink_to("/dev/zero")
    (here / "p.vibe").write_text("let n: number = 0\nprint(n)\n")
    return here


def antiphon(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "HOME": str(place.parent), "ANTIPHON_DB": "off"}
    return subprocess.run(
        [sys.executable, "-m", "antiphon", *words],
        cwd=place,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_pipe_is_refused(place: Path, command: tuple[str, ...]) -> None:
    done = antiphon(place, *(each.format("pipe") for each in command))
    assert (done.returncode, "it is a pipe, and not a file" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_device_without_an_end_is_refused(place: Path, command: tuple[str, ...]) -> None:
    done = antiphon(place, *(each.format("zero") for each in command))
    told = ("too large", "larger than", "more than", "it is a device")
    assert (done.returncode, any(each in done.stderr for each in told)) == (2, True), done.stderr


def test_a_recording_is_not_written_to_a_pipe(place: Path) -> None:
    done = antiphon(place, "run", "p.vibe", "--record", "pipe.jsonl")
    assert (done.returncode, "it is a pipe, and not a file" in done.stderr) == (2, True), done.stderr


def test_a_pipe_that_a_shell_makes_is_read(place: Path) -> None:
    command = f"""{sys.executable} -m antiphon check <(echo '[{{"role": "user", "content": "Hi"}}]')"""
    done = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "nothing to repair" in done.stdout) == (0, True), done.stderr
