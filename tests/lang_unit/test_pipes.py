"""A pipe that is named like a program is none, and nobody waits for what may never be written into it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.terminal.approval_prompt import make_visible

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")


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


@pytest.fixture
def place(tmp_path: Path) -> Path:
    here = tmp_path / "here"
    here.mkdir()
    subprocess.run(["git", "init", "-q", str(here)], check=True)
    os.mkfifo(here / "x.vibe")
    os.mkfifo(here / "x.test.vibe")
    (here / "good.vibe").write_text("print(1)\n")
    return here


@pytest.mark.parametrize("command", ["check", "fmt", "test", "trust"])
def test_among_programs_it_is_passed_over(place: Path, command: str):
    assert antiphon(place, command, *([] if command == "trust" else ["."])).returncode in (0, 1, 2)


@pytest.mark.parametrize("command", ["check", "fmt", "test", "run"])
def test_named_it_is_refused(place: Path, command: str):
    done = antiphon(place, command, "x.test.vibe" if command == "test" else "x.vibe")
    assert done.returncode == 2
    assert "it is a pipe, and not a file" in done.stdout + done.stderr


def test_imported_it_is_refused(place: Path):
    (place / "main.vibe").write_text('import { a } from "./x.vibe"\nprint(a)\n')
    done = antiphon(place, "check", "main.vibe")
    assert "it is a pipe, and not a file" in done.stderr + done.stdout


def test_a_pipe_that_a_shell_makes_is_read(place: Path):
    command = f"{sys.executable} -m antiphon run <(echo 'print(40 + 2)')"
    done = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "42\n", done.stderr


def test_many_blanks_in_an_approval_are_told_at_once():
    blanks = " " * 1_000_000
    assert make_visible(f"a{blanks}b") == "a[1,000,000 blanks]b"
    assert make_visible(blanks) == "[1,000,000 blanks]"
    assert make_visible(f"a {chr(10) * 4}b") == "a\n[3 empty lines]\nb"
    assert make_visible("a  \n  \n \n\n\nb") == "a\n[4 empty lines]\nb"
