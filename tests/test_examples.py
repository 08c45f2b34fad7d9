"""Every example of the language has a recording, is clean, and is on the page of examples."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.cli.scripted_models import list_offered_tools, make_scripted_step
from antiphon.fakes import Fake, Received, Step, load_script
from tests.pages import blocks

EXAMPLES = Path(__file__).parent.parent / "examples"
PAGE = EXAMPLES.parent / "docs" / "examples.md"
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.vibe"))


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("recordings_make", EXAMPLES / "recordings" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _loaded()


def test_every_example_has_a_recording():
    assert [case.name for case in make.CASES] == PROGRAMS


def test_a_recording_is_made_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (case,) = (case for case in make.CASES if case.name == "organise")
    for ending in ("answers.json", "jsonl"):
        (tmp_path / f"organise.{ending}").write_bytes(case.file(ending).read_bytes())
    monkeypatch.setattr(make.Case, "file", lambda self, ending: tmp_path / f"{self.name}.{ending}")
    kept = case.file("jsonl").read_text(encoding="utf-8")
    make.make(case)
    assert case.file("jsonl").read_text(encoding="utf-8") == kept


def test_the_organiser_moved_the_files(tmp_path: Path):
    (case,) = (case for case in make.CASES if case.name == "organise")
    make.run(case, tmp_path, replay=str(case.file("jsonl")))
    folder = tmp_path / "examples" / "mails"
    found = sorted(str(path.relative_to(folder).as_posix()) for path in folder.rglob("*.txt"))
    assert found == ["billing/1.txt", "support/2.txt", "support/3.txt"]


@pytest.mark.parametrize("command", [["check"], ["fmt", "--check"]], ids=" ".join)
def test_the_examples_are_clean(command: list[str]):
    result = CliRunner().invoke(cli, [*command, str(EXAMPLES)])
    assert result.exit_code == 0, result.output
    assert "warning" not in result.output


def test_the_page_of_the_examples_shows_them_all():
    # Its commands are run by `test_docs_commands.py`, which also compares the programs.
    shown = [block.notes["source"] for block in blocks(PAGE) if block.way == "source"]
    programs = (name for name in shown if name.endswith(".vibe") and "/instead/" not in name)
    assert sorted(programs) == [f"examples/{name}.vibe" for name in PROGRAMS]
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in PROGRAMS if f"/{name}.jsonl" not in page] == []


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The demonstration, with a home of its own."""
    monkeypatch.syspath_prepend(EXAMPLES)
    spec = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HOME", tmp_path)
    return module


def test_the_programs_of_the_demonstration_need_no_trust(demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    demo.copy_programs(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(demo.HOME / "config"))
    monkeypatch.chdir(tmp_path)
    for program in (demo.NOTES, demo.TRIAGE):
        before = program[1 : program.index("--model")]
        shown = CliRunner().invoke(cli, [*before, "--show", "prompt", "--model", "openai/gpt-5"])
        assert shown.exit_code == 0, shown.output


def test_the_demonstration_kills_a_program_and_resumes_it(
    demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    killed = threading.Event()

    def late(received: Received) -> Step:
        killed.wait(60)
        return _triaged(received)

    class Stage(demo.Stage):
        def show(self, *words: str, **settings: Any) -> None:
            killed.set()
            super().show(*words, **settings)

    demo.copy_programs(tmp_path)
    # The second request may or may not have been sent before the kill.
    with Fake([_triaged, late, _triaged, _triaged], strict=False) as fake:
        variables = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": fake.base_url("anthropic")}
        variables |= {"XDG_CONFIG_HOME": str(demo.HOME / "config")}
        monkeypatch.setattr(demo, "TRIAGE", (*demo.TRIAGE[:-1], "anthropic/claude-sonnet-5"))
        demo.kill_and_resume(Stage(tmp_path, demo.HOME / "demo.db", variables))
        mails = [re.findall(r"From: (\w+)", str(each.body)) for each in fake.requests]
    # The second request may or may not have been sent before the kill.
    assert mails in ([["Maria"], ["Sven"], ["Sven"], ["Aiko"]], [["Maria"], ["Sven"], ["Aiko"]])
    shown = capfd.readouterr().out
    assert shown.index("(killed with") < shown.index("$ antiphon resume last") < shown.index("Ada  ")
    assert "■" not in shown
    # Besides, the demonstration prints a typed answer, a tool loop, the page and what to do next.
    assert len(shown.splitlines()) <= 30


def _triaged(received: Received) -> Step:
    record = {"sender": "Ada", "request": "Help.", "topic": "bug", "when": "today"}
    return make_scripted_step(record, list_offered_tools(received.body))


def test_the_demonstration_tells_how_to_open_the_page(demo: Any):
    stage = demo.Stage(demo.ROOT, demo.ROOT / "build" / "demo" / "demo.db", {})
    assert demo.page_command(stage) == "antiphon --db build/demo/demo.db serve --open"


def test_the_demonstration_of_a_team_runs_from_a_failing_test_to_a_merge(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    program = [sys.executable, str(EXAMPLES / "team" / "demo.py")]
    done = subprocess.run(program, capture_output=True, encoding="utf-8", check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout
    assert "FAILED tests/test_prices.py::test_no_cent_is_lost" in shown
    assert "task 1: failed" in shown
    (block,) = (each for each in blocks(PAGE) if "python examples/team/demo.py" in each.body)
    for line in block.body.splitlines():
        assert line in ("…", "$ python examples/team/demo.py") or line in shown, line
    script = load_script(EXAMPLES / "team" / "script.json")
    assert isinstance(script, dict)
    assert f"in total  {sum(map(len, script.values()))} requests" in shown
    assert re.search(r"^9 passed", shown, re.MULTILINE)
