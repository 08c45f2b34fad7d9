"""Test runners: the command that starts one in a directory, and the summary with which it closes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from antiphon.tools.processes import program
from antiphon.tools.sandbox import Roots
from antiphon.tools.tool import ToolFailure

_MOST_READ = 1_000_000
_PLACEHOLDER = "no test specified"
_PYTEST = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pytest.toml": "",
    ".pytest.toml": "",
    "pyproject.toml": r"^\[tool\.pytest",
    "setup.cfg": r"^\[tool:pytest\]",
    "tox.ini": r"^\[pytest\]",
}
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
#: The line that a runner prints only after all its tests have run, with the counts by their words.
_SUMMARIES = {
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
_PASSED, _FAILED = ("passed", "passing", "pass"), ("failed", "fail", "failures", "error", "errors")
#: Commands by which a runner is called by its own name.
_NAMED = {
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
class RunSummary:
    """The closing summaries of a runner in an output: how many tests ran, and how many of them failed."""

    runner: str
    count: int
    failed: int


def find_command(tree: str | os.PathLike[str]) -> str | None:
    """Return the command that runs the tests of a directory, if it is plain what that would be."""
    files = Roots([tree])
    if any(_has_target(_read(files, name)) for name in ("GNUmakefile", "makefile", "Makefile")):
        return "make test"
    if any(_has(files, name, pattern) for name, pattern in _PYTEST.items()) or _has_tests(files):
        return f"{'python' if program('python') else 'python3'} -m pytest"
    return "npm test" if _has_script(_read(files, "package.json")) else None


def named_runner(command: str) -> str:
    """Return the runner that a command calls by its name; empty, where another program calls it."""
    return next((runner for runner, pattern in _NAMED.items() if re.search(pattern, command)), "")


def read_summary(output: str, runner: str = "") -> RunSummary | None:
    """Return what runners say at their end: that of one runner, or of the first that has said something."""
    plain = _COLOURS.sub("", output)
    for name in [runner] if runner else _SUMMARIES:
        if found := list(_SUMMARIES[name].finditer(plain)):
            counts = [_counts(match) for match in found]
            return RunSummary(name, sum(count for count, _ in counts), sum(failed for _, failed in counts))
    return None


def _counts(found: re.Match[str]) -> tuple[int, int]:
    """Return how many tests a summary says were run, and how many of them failed; skipped ones were not."""
    given = found.groupdict()
    pairs = re.findall(r"(\d{1,9}) ([a-z]+)|([a-z]+)[ =](\d{1,9})", given.get("counts") or "")
    told = [(word or late, int(number or last)) for number, word, late, last in pairs]
    failed = sum(number for word, number in told if word in _FAILED) or int(given.get("end") in ("FAILED", "FAIL"))
    if given.get("tests") is not None:
        return int(given["tests"]) - sum(number for word, number in told if word == "skipped"), failed
    return (sum(number for word, number in told if word in _PASSED) + failed) if told else 1, failed


def _has_target(text: str) -> bool:
    """Tell whether a Makefile has a rule for `test`."""
    return any("test" in names for names in map(_targets, text.splitlines()))


def _targets(line: str) -> Iterable[str]:
    names, colon, rest = line.partition(":")
    is_rule = colon and not line[:1].isspace() and not rest.removeprefix(":").startswith((":", "="))
    return names.split() if is_rule and "=" not in names and "#" not in names else ()


def _read(files: Roots, name: str) -> str:
    try:
        with files.locate(name) as place, place.open() as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except ToolFailure:
        return ""


def _has(files: Roots, name: str, pattern: str) -> bool:
    if pattern:
        return bool(re.search(pattern, _read(files, name), re.MULTILINE))
    return os.path.isfile(os.path.join(files.paths[0], name))


def _has_tests(files: Roots) -> bool:
    top = Path(files.paths[0])
    return any(
        True
        for pattern in ("test_*.py", "tests/test_*.py", "tests/*/test_*.py", "test/test_*.py")
        for _ in top.glob(pattern)
    )


def _has_script(package: str) -> bool:
    try:
        script = json.loads(package)["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(script, str) and bool(script.strip()) and _PLACEHOLDER not in script
