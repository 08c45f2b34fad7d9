"""Known test runners: the command that starts one, and the summary that it prints last."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from antiphon.tools.file_sandbox import SandboxRoots
from antiphon.tools.process_runner import find_program
from antiphon.tools.tool import ToolFailure

_MAX_FILE_BYTES = 1_000_000
_NPM_PLACEHOLDER = "no test specified"
_PYTEST_CONFIGS = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pytest.toml": "",
    ".pytest.toml": "",
    "pyproject.toml": r"^\[tool\.pytest",
    "setup.cfg": r"^\[tool:pytest\]",
    "tox.ini": r"^\[pytest\]",
}
_ANSI_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
#: The line that a runner prints after all its tests have run, with their counts.
_SUMMARY_PATTERNS = {
    "pytest": re.compile(r"^(?:=+ )?(?P<counts>(?:\d{1,9} [a-z]+(?:, )?)+) in [\d.]+s\b.*$", re.MULTILINE),
    "unittest": re.compile(
        r"^Ran (?P<tests>\d{1,9}) tests? in [\d.]+s\n\n(?P<end>OK|FAILED)\b(?P<counts>.*)$", re.MULTILINE
    ),
    "jest": re.compile(r"^Tests: +(?P<counts>(?:\d{1,9} [a-z]+, )*)\d{1,9} total$", re.MULTILINE),
    "vitest": re.compile(r"^ *Tests +(?P<counts>\d[\d a-z|]{0,200})\(\d{1,9}\)$", re.MULTILINE),
    "mocha": re.compile(r"^ *(?P<counts>\d{1,9} passing) \([\dms.h ]+\)$", re.MULTILINE),
    "node": re.compile(r"^[#ℹ] (?P<counts>pass \d{1,9}\n[#ℹ] fail \d{1,9})$", re.MULTILINE),
    "cargo": re.compile(r"^test result: \w+\. (?P<counts>\d{1,9} passed; \d{1,9} failed)", re.MULTILINE),
    "go": re.compile(r"^(?P<end>ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))", re.MULTILINE),
}
_PASSED_WORDS, _FAILED_WORDS = ("passed", "passing", "pass"), ("failed", "fail", "failures", "error", "errors")
#: Commands that call a runner by its name.
_RUNNER_COMMANDS = {
    "pytest": r"\b(?:pytest|py\.test)\b",
    "unittest": r"-m unittest\b",
    "jest": r"\bjest\b",
    "vitest": r"\bvitest\b",
    "mocha": r"\bmocha\b",
    "node": r"\bnode\b.* --test\b",
    "cargo": r"\bcargo test\b",
    "go": r"\bgo test\b",
}


@dataclass(frozen=True, slots=True)
class RunnerSummary:
    """The closing summary of a test runner: how many tests ran and how many failed."""

    runner: str
    count: int
    failed: int


def detect_test_command(tree: str | os.PathLike[str]) -> str | None:
    """Return the command that runs the tests of a directory; `None` if it is not obvious."""
    files = SandboxRoots([tree])
    if any(_has_test_target(_read_text(files, name)) for name in ("GNUmakefile", "makefile", "Makefile")):
        return "make test"
    if any(_has_config(files, name, pattern) for name, pattern in _PYTEST_CONFIGS.items()) or _has_pytest_files(files):
        return f"{'python' if find_program('python') else 'python3'} -m pytest"
    return "npm test" if _has_test_script(_read_text(files, "package.json")) else None


def find_named_runner(command: str) -> str:
    """Return the test runner that a command names; empty if it calls one through another program."""
    return next((runner for runner, pattern in _RUNNER_COMMANDS.items() if re.search(pattern, command)), "")


def parse_runner_summary(output: str, runner: str = "") -> RunnerSummary | None:
    """Return the closing summary in a test output: of one runner, or of the first one found."""
    plain = _ANSI_COLOURS.sub("", output)
    for name in [runner] if runner else _SUMMARY_PATTERNS:
        if found := list(_SUMMARY_PATTERNS[name].finditer(plain)):
            counts = [_parse_counts(match) for match in found]
            return RunnerSummary(name, sum(count for count, _ in counts), sum(failed for _, failed in counts))
    return None


def _parse_counts(found: re.Match[str]) -> tuple[int, int]:
    """Return how many tests a summary reports as run, without skipped ones, and how many failed."""
    given = found.groupdict()
    pairs = re.findall(r"(\d{1,9}) ([a-z]+)|(?<![a-z])([a-z]+)[ =](\d{1,9})", given.get("counts") or "")
    told = [(word or late, int(number or last)) for number, word, late, last in pairs]
    failed = sum(number for word, number in told if word in _FAILED_WORDS) or int(
        given.get("end") in ("FAILED", "FAIL")
    )
    if given.get("tests") is not None:
        return int(given["tests"]) - sum(number for word, number in told if word == "skipped"), failed
    return (sum(number for word, number in told if word in _PASSED_WORDS) + failed) if told else 1, failed


def _has_test_target(text: str) -> bool:
    return any("test" in names for names in map(_parse_targets, text.splitlines()))


def _parse_targets(line: str) -> Iterable[str]:
    names, colon, rest = line.partition(":")
    is_rule = colon and not line[:1].isspace() and not rest.removeprefix(":").startswith((":", "="))
    return names.split() if is_rule and "=" not in names and "#" not in names else ()


def _read_text(files: SandboxRoots, name: str) -> str:
    try:
        with files.locate(name) as place, place.open() as file:
            return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
    except ToolFailure:
        return ""


def _has_config(files: SandboxRoots, name: str, pattern: str) -> bool:
    if pattern:
        return bool(re.search(pattern, _read_text(files, name), re.MULTILINE))
    return os.path.isfile(os.path.join(files.paths[0], name))


def _has_pytest_files(files: SandboxRoots) -> bool:
    top = Path(files.paths[0])
    return any(
        True
        for pattern in ("test_*.py", "tests/test_*.py", "tests/*/test_*.py", "test/test_*.py")
        for _ in top.glob(pattern)
    )


def _has_test_script(package: str) -> bool:
    try:
        script = json.loads(package)["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(script, str) and bool(script.strip()) and _NPM_PLACEHOLDER not in script
