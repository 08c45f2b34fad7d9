"""Sessions of Python scripts: they continue by running the script again, and the commands say so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.fakes import Fake, call
from tests.lang_unit.commands import antiphon

REFUNDS = """
import sys
from antiphon import Session, Store, tool
from antiphon.session import NeedsHuman

@tool(needs_approval=True)
def refund(cents: int) -> str:
    return "refunded"

try:
    print(Session(tools=[refund], store=Store(), id="refunds-may").vibe("Refund it.").value)
except NeedsHuman as waiting:
    sys.exit(str(waiting))
"""


@pytest.fixture
def script(fake: Fake) -> Path:
    """A script that has begun, and waits for a person."""
    path = Path("refunds.py")
    path.write_text(REFUNDS)
    fake.play(call("refund", cents=4200))
    assert "May `refund` run" in run(path).stderr
    return path


def run(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60, encoding="utf-8")


def test_after_an_answer_the_script_is_run_again(fake: Fake, script: Path):
    answered = antiphon("answer", "refunds-may", "yes")
    assert answered.err == "antiphon: session refunds-may is ready: run refunds.py again\n"
    fake.play("Refunded.")
    assert run(script).stdout == "Refunded.\n"


@pytest.mark.usefixtures("script")
def test_resume_and_show_name_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    refused = antiphon("resume", "refunds-may")
    assert (refused.code, refused.err) == (
        2, "antiphon: session refunds-may is of a Python script: run refunds.py again\n"
    )  # fmt: skip
    assert antiphon("resume", "refunds-may", "And now?").err == refused.err
    assert "yes` or `no`, then run refunds.py again" in antiphon("show", "refunds-may").out.replace("\n", " ")
    refused = antiphon("answer", "refunds-may", "yes", "--resume")
    assert "answer without `--resume`, then run refunds.py again" in refused.err
    assert "waits at" in antiphon("show", "refunds-may").out
    monkeypatch.chdir(tmp_path)
    assert antiphon("answer", "refunds-may", "yes").err.endswith("ready: run work/refunds.py again\n")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert f"run {tmp_path / 'work' / 'refunds.py'} again" in antiphon("show", "refunds-may").out.replace("\n", "")


def test_a_script_of_steps_is_run_again_too(fake: Fake):
    path = Path("nightly.py")
    path.write_text("from antiphon import Store\nwith Store().session('nightly-7') as s:\n    s.step(int, 'x')\n")
    assert "ValueError" in run(path).stderr
    assert fake.requests == []
    refused = antiphon("resume", "nightly-7")
    assert refused.err == "antiphon: session nightly-7 is of a Python script: run nightly.py again\n"


def test_a_finished_session_of_a_script_takes_messages(fake: Fake, script: Path):
    antiphon("answer", "refunds-may", "yes")
    fake.play("Refunded.")
    run(script)
    fake.play("It was 42 euros.")
    assert antiphon("resume", "refunds-may", "How much was it?").out == "It was 42 euros.\n"
