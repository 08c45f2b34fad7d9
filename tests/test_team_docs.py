"""The commands of the guide to teams print what it says, one after the other, and its Python runs.

The models are played. Names of teams and commits and the place are any. With UPDATE_GOLDEN set, what the commands print
is written instead of compared.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.cli.team_roles import MODEL, make_repository, serving

PAGE = Path(__file__).parent.parent / "docs" / "team.md"
_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r"^<!-- team -->\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"(?<!-->\n)^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    files = dict(_FILE.findall(PAGE.read_text(encoding="utf-8")))
    made = make_repository(tmp_path / "calc", files)
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs" / "logs.db"))
    monkeypatch.setenv("ANTIPHON_MODEL", MODEL)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    with serving({"a cook": lambda _, __: "Potatoes, and cream."}) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        yield made


def test_the_commands_of_the_guide_print_what_it_says(place: Path):
    text = PAGE.read_text(encoding="utf-8")
    known: dict[str, str] = {str(place): "/home/ada/calc", "python3 -m pytest": "python -m pytest"}
    for block in _SHOWN.findall(text):
        printed = "".join(_printed(line, place, known) for line in block.splitlines() if line.startswith("$ "))
        if os.environ.get("UPDATE_GOLDEN"):
            text = text.replace(f"```text\n{block}```", f"```text\n{printed}```")
        else:
            assert printed == block
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(text, encoding="utf-8")


def _printed(line: str, place: Path, known: dict[str, str]) -> str:
    """A command and what it prints, with names that are the same each time."""
    streams: Any = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "text": True}
    real = {shown: there for there, shown in known.items()}
    typed = re.sub(r"\b3azg\d{4}\b", lambda found: real.get(found[0], found[0]), line.removeprefix("$ "))
    done = forks.run(typed, work="tests.shell:obey", cwd=place, **streams)
    for found in re.findall(r"\b3[0-9a-z]{7}\b", done.stdout):
        known.setdefault(found, f"3azg{sum(each.startswith('3azg') for each in known.values()) + 1:04}")
    for found in re.findall(r"\b[0-9a-f]{12}\b|\b[0-9a-f]{7}\b", done.stdout):
        known.setdefault(found, _hash(found, known))
    out = done.stdout
    for there, shown in sorted(known.items(), key=lambda each: -len(each[0])):
        out = out.replace(there, shown)
    return f"{line}\n{re.sub(r'[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5}', '2026-11-17 09:30', out)}"


def _hash(found: str, known: dict[str, str]) -> str:
    """The same commit has the same name, long or short."""
    same = next((shown for there, shown in known.items() if there[:7] == found[:7]), "")
    return (same or f"{len(known):x}c0ffee".rjust(7, "0") + "00000")[: len(found)]


@pytest.mark.parametrize("code", _PYTHON.findall(PAGE.read_text(encoding="utf-8")))
def test_the_python_of_the_guide_runs(code: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.chdir(place.parent)
    exec(compile(code, str(PAGE), "exec"), {"__name__": "example"})
    assert "Traceback" not in capsys.readouterr().out
