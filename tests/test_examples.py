"""Every example of the language has a recording, is clean, and is on the page of examples."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.fakes import load_script

EXAMPLES = Path(__file__).parent.parent / "examples"
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
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(\w+)\.vibe\]\(\1\.vibe\)$", page, re.MULTILINE) == PROGRAMS
    for name in PROGRAMS:
        # The commands of the page are run by `test_docs_commands.py`.
        section = page.partition(f"## [{name}.vibe]")[2].partition("\n## ")[0]
        assert f"recordings/{name}.jsonl" in section or f"../{name}.jsonl" in section, name


def test_what_the_demonstration_runs_is_allowed_in_a_new_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spec = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    clone = tmp_path / "clone"
    shutil.copytree(EXAMPLES, clone / "examples")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    for arguments in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "Add examples")):
        subprocess.run(["git", *arguments], cwd=clone, check=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(clone)
    for _, (command, *arguments) in demo.STEPS:
        if command == "trust":
            assert CliRunner().invoke(cli, ["trust", *arguments]).exit_code == 0
        elif command == "run":
            shown = CliRunner().invoke(cli, ["run", arguments[0], "--show", "prompt", "--model", "openai/gpt-5"])
            assert "is not trusted" not in shown.output
            assert shown.exit_code == 0, shown.output


def test_the_demonstration_of_a_team_runs_from_a_failing_test_to_a_merge(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    program = [sys.executable, str(EXAMPLES / "team" / "demo.py")]
    done = subprocess.run(program, capture_output=True, encoding="utf-8", check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout
    assert "FAILED tests/test_prices.py::test_no_cent_is_lost" in shown
    assert "task 1: failed" in shown
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8").partition("## [team/demo.py]")[2]
    (status,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert status in shown
    script = load_script(EXAMPLES / "team" / "script.json")
    assert isinstance(script, dict)
    assert f"in all  {sum(map(len, script.values()))} requests" in shown
    assert re.search(r"^9 passed", shown, re.MULTILINE)
