"""Green means green: what would pass red tests off as passed is refused, or marked for whoever reviews it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.team import Team
from antiphon.team.diffs import classify_file, find_shadowed_module
from antiphon.team.known_test_runners import detect_test_command, find_named_runner, parse_runner_summary
from tests.team.teams import APPROVE, SPEC, SUBMIT, Script, accept, begin, calls, facts, git, repository, said, tasks

PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -p no:cacheprovider"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": (
        "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_one():\n    pass\n"
    ),
}
FIX = calls("write_file", path="calc.py", content="def add(a, b):\n    return a + b\n")
TRICKS = {
    "runner": ("pytest.py", "print('=== 2 passed in 0.01s ===')\n"),
    "package": ("pytest/__init__.py", "import os\nos._exit(0)\n"),
    "before-all": ("sitecustomize.py", "import os\nos._exit(0)\n"),
    "exit": ("calc.py", "import os\nos._exit(0)\n"),
    "hook": ("conftest.py", "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"),
}


def alone(where: Path, files: dict[str, str], *script: Any, **given: Any) -> Team:
    repo = repository(where / "repo", files)
    options: dict[str, Any] = {"solo": True, "command": PYTEST, "tries": 0, **given}
    return begin(where, repo, coder=Script(*script), **options)


@pytest.mark.parametrize(("name", "content"), TRICKS.values(), ids=TRICKS)
def test_red_tests_do_not_pass_whatever_ends_them(tmp_path: Path, name: str, content: str):
    team = alone(tmp_path, FILES, calls("write_file", path=name, content=content), SUBMIT)
    state = team.work()
    assert state.tasks["1"].state == "human", facts(team)
    assert state.tasks["1"].check is not None
    assert state.tasks["1"].check.why == ("cut short" if name == "calc.py" else "failed")


def test_an_exit_without_the_summary_that_was_there_before_does_not_pass(tmp_path: Path):
    files = {
        "package.json": '{"scripts": {"test": "node --test"}}',
        "a.test.js": "require('node:test')('a', () => { throw new Error('red') })\n",
    }
    team = alone(
        tmp_path,
        files,
        calls("write_file", path=".npmrc", content="script-shell=/bin/true\n"),
        SUBMIT,
        command="npm test",
    )
    state = team.work()
    assert state.tasks["1"].state == "human", facts(team)
    assert any(each.startswith("task 1: cut short; it changes tests: .npmrc") for each in facts(team))


def test_fewer_tests_than_before_are_told_to_the_reviewer_and_to_the_human(tmp_path: Path):
    change = calls("write_file", path="test_calc.py", content=FILES["test_calc.py"].partition("\n\n\ndef test_one")[0])
    models: dict[str, Any] = {"pm": Script(SPEC), "architect": Script(tasks("Mend"), APPROVE)}
    repo = repository(tmp_path / "repo", FILES)
    team = begin(tmp_path, repo, coder=Script("plan", FIX, change, SUBMIT), command=PYTEST, **models)
    assert accept(team).phase == "done"
    mark = "fewer tests ran than before: 1, not 2"
    assert any(mark in each for each in facts(team))
    told = "".join(models["architect"].told)
    assert f"Of the test run: {mark}." in told
    assert "1 passed in" in told
    assert f"Task 1: {mark}" in said(team)[-1][2]


def test_the_count_is_that_of_what_was_merged_before(tmp_path: Path):
    more = calls("write_file", path="test_more.py", content="def test_a():\n    pass\n")
    less = calls("write_file", path="test_more.py", content="")
    models: dict[str, Any] = {"pm": Script(SPEC), "architect": Script(tasks("Mend", "More"), APPROVE, APPROVE)}
    repo = repository(tmp_path / "repo", FILES)
    coder = Script("plan", FIX, more, SUBMIT, "plan", less, SUBMIT)
    team = begin(tmp_path, repo, coder=coder, command=PYTEST, coders=1, **models)
    state = accept(team)
    assert (state.phase, state.count) == ("done", 2)
    assert any("fewer tests ran than before: 2, not 3" in each for each in facts(team))


def test_a_name_of_pythons_own_is_marked(tmp_path: Path):
    team = alone(tmp_path, FILES, FIX, calls("write_file", path="colorsys.py", content=""), SUBMIT)
    assert team.work().phase == "done"
    assert any("named like modules of Python itself: colorsys.py" in each for each in facts(team))


#: What stands in for the summary of pytest, whose streams are among the first descriptors.
FORGED = (
    "import os\nfor number in range(1, 30):\n    try: os.write(number, b'\\n2 passed in 0.01s\\n')\n"
    "    except OSError: pass\nos._exit(0)\n"
)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("calc.py", FORGED, "2 passed"),
        ("test_new.py", FORGED, "2 passed"),
        ("calc.py", "import _pytest.python as p\np.Function.runtest = lambda _: None\nadd = max\n", "_pytest"),
        ("test_new.py", "import _pytest.python as p\np.Function.runtest = lambda _: None\n", "_pytest"),
        ("calc.py", "import pytest\ndef add(a, b): pytest.skip()\n", "pytest.skip"),
        ("calc.py", "import unittest\ndef add(a, b): raise unittest.SkipTest\n", "SkipTest"),
    ],
    ids=["forged", "forged-by-test", "patched", "patched-by-test", "skipped", "skipped-by-exception"],
)
def test_code_that_could_decide_how_its_tests_end_is_marked(tmp_path: Path, name: str, content: str, word: str):
    team = alone(tmp_path, FILES, calls("write_file", path=name, content=content), SUBMIT)
    team.work()
    mark = f"names what decides how tests end: {name} ({word})"
    assert any(mark in each for each in facts(team)), facts(team)


def test_ordinary_code_and_tests_are_not_marked(tmp_path: Path):
    new = "import pytest\n\n\n@pytest.mark.skipif(False, reason='x')\ndef test_b():\n    pytest.skip('not here')\n"
    team = alone(tmp_path, FILES, FIX, calls("write_file", path="test_b.py", content=new), SUBMIT)
    assert team.work().phase == "done"
    assert "task 1: passed" in facts(team)


def test_tests_run_on_what_is_committed(tmp_path: Path):
    files = {**FILES, ".gitignore": "helper.py\n"}
    ignored = calls("write_file", path="helper.py", content="def add(a, b):\n    return a + b\n")
    uses = calls("write_file", path="calc.py", content="from helper import add\n")
    team = alone(tmp_path, files, ignored, uses, SUBMIT, sandbox=True)
    state = team.work()
    assert state.tasks["1"].state == "human", facts(team)
    assert any("not in the commit: helper.py" in each for each in facts(team))


def test_a_file_in_a_submodule_is_not_left_out_in_silence(tmp_path: Path):
    inner = repository(tmp_path / "inner", {"x": "x\n"})
    repo = repository(tmp_path / "repo", FILES)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    git(repo, "-c", "user.name=n", "-c", "user.email=n@x", "commit", "-qm", "lib")
    written = calls("write_file", path="lib/new.py", content="x = 1\n")
    team = begin(tmp_path, repo, coder=Script(written, SUBMIT, FIX, SUBMIT), solo=True, command=PYTEST)
    assert team.work().phase == "done"
    assert any(each == "task 1: unchanged; not in the commit: lib" for each in facts(team))
    assert "in a submodule" in "".join(team._models["coder"].told)  # type: ignore[union-attr]
    assert "Not in the commit, because it is in a submodule" in said(team)[-1][2]


@pytest.mark.parametrize(
    ("runner", "output", "count", "failed"),
    [
        ("pytest", "..\n2 passed, 1 skipped in 0.01s\n", 2, 0),
        ("pytest", "\x1b[32m==== \x1b[1m3 passed\x1b[0m, 1 warning in 62.10s (0:01:02) ====\x1b[0m\n", 3, 0),
        ("pytest", "=== 1 failed, 2 passed, 1 error in 1s ===\n", 4, 2),
        ("unittest", "....\nRan 4 tests in 0.001s\n\nOK (skipped=1)\n", 3, 0),
        ("unittest", "Ran 2 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", 2, 2),
        ("jest", "Tests:       1 failed, 1 skipped, 4 passed, 6 total\n", 5, 1),
        ("vitest", "      Tests  1 failed | 4 passed (5)\n", 5, 1),
        ("mocha", "  3 passing (12ms)\n", 3, 0),
        ("node", "# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n", 3, 1),
        ("node", "\N{INFORMATION SOURCE} pass 2\n\N{INFORMATION SOURCE} fail 0\n", 2, 0),
        (
            "cargo",
            "test result: ok. 2 passed; 0 failed; 1 ignored;\ntest result: ok. 1 passed; 0 failed; 0 ignored\n",
            3,
            0,
        ),
        ("go", "ok  \texample.com/a\t0.01s\nok  \texample.com/b\t(cached)\n", 2, 0),
    ],
)
def test_summaries_of_runners_are_read(runner: str, output: str, count: int, failed: int):
    found = parse_runner_summary(output)
    assert found is not None
    assert (found.runner, found.count, found.failed) == (runner, count, failed)
    assert parse_runner_summary(f"nothing of {runner}\n") is None


def test_a_command_names_its_runner():
    assert find_named_runner("python -m pytest -q") == find_named_runner("uv run pytest") == "pytest"
    assert find_named_runner("cargo test --all") == "cargo"
    assert (
        find_named_runner("make test") == find_named_runner("npm test") == find_named_runner("sh pytest_like.sh") == ""
    )


@pytest.mark.parametrize(
    "name",
    [
        "sitecustomize.py",
        "usercustomize.py",
        "a/b/conftest.py",
        ".npmrc",
        "x.pth",
        "x.mk",
        "pytest.toml",
        ".pytest.toml",
        "x.dist-info/entry_points.txt",
        "vite.config.ts",
        "Cargo.toml",
    ],
)
def test_files_that_decide_how_tests_run_are_setup(name: str):
    assert classify_file(name) == "test setup"


def test_names_that_take_the_place_of_others():
    assert (
        find_shadowed_module("pytest.py")
        == find_shadowed_module("src/_pytest/__init__.py")
        == find_shadowed_module("tests/sitecustomize.py")
        == "runner"
    )
    assert (
        find_shadowed_module("json.py")
        == find_shadowed_module("src/types/__init__.py")
        == find_shadowed_module("json.cpython-311.so")
        == "library"
    )
    assert (
        find_shadowed_module("pkg/types.py")
        == find_shadowed_module("calc.py")
        == find_shadowed_module("docs/json.md")
        == find_shadowed_module("pytest/a.py")
        == ""
    )


def test_a_long_makefile_is_read_at_once(tmp_path: Path):
    (tmp_path / "Makefile").write_text("a " * 200_000 + "\n" + "test " * 100_000)
    code = "from antiphon.team.known_test_runners import detect_test_command as detect"
    code += f"; print(detect({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "None\n"
    assert detect_test_command(tmp_path) is None
