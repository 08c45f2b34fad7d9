"""Every Python that we start ignores the directory it is started in: a clone may hold an `antiphon.py` of its own."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import antiphon
from antiphon.durable import Journal
from antiphon.web import app
from tests.web.test_server import OURS, TOKEN, known, wait_until

SOURCES = Path(antiphon.__file__).parent
TRAP = "import os, pathlib\npathlib.Path(os.environ['TRAP']).write_text('ran')\nraise SystemExit(9)\n"


def interpreter_commands(source: str) -> Iterator[list[str | None]]:
    """Yield the words after `sys.executable` of each command line that a source builds."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.List | ast.Tuple) and any(map(_is_interpreter, node.elts)):
            at = [_is_interpreter(each) for each in node.elts].index(True)
            yield [each.value if isinstance(each, ast.Constant) else None for each in node.elts[at + 1 :]]


def _is_interpreter(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"


def test_every_interpreter_of_the_sources_is_started_safely():
    found = {
        str(path.relative_to(SOURCES)): words
        for path in SOURCES.rglob("*.py")
        for words in interpreter_commands(path.read_text())
    }
    assert len(found) >= 5
    assert {name: words[:1] for name, words in found.items() if words[:1] not in (["-P"], ["-I"])} == {}


def test_the_scan_sees_an_interpreter_that_is_started_unsafely():
    assert list(interpreter_commands("run([sys.executable, '-m', 'antiphon', id])")) == [["-m", "antiphon", None]]


@pytest.mark.parametrize("name", ["antiphon.py", "antiphon/__init__.py", "sitecustomize.py"])
def test_a_served_clone_runs_none_of_its_python(
    name: str, tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
):
    clone = tmp_path / "clone"
    (clone / name).parent.mkdir(parents=True)
    (clone / name).write_text(TRAP)
    (clone / "hello.vibe").write_text('print("hello")\n')
    monkeypatch.setenv("TRAP", str(tmp_path / "trap"))
    monkeypatch.chdir(clone)
    page = app(journal=journal, token=TOKEN, programs=clone)
    answer = known(page, ("POST", "/api/programs/start", OURS, {"json": {"file": "hello.vibe"}}))[0]
    id = answer.json()["session"]
    wait_until(lambda: (tmp_path / "trap").exists() or journal.find(id).state not in ("ready", "running"))
    assert not (tmp_path / "trap").exists()
    assert journal.find(id).state == "done"


def test_the_documented_way_to_start_a_module_is_safe_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`python -m antiphon` drops the directory before it imports anything but itself."""
    (tmp_path / "click.py").write_text(TRAP)
    monkeypatch.setenv("TRAP", str(tmp_path / "trap"))
    monkeypatch.chdir(tmp_path)
    assert os.system(f"{shlex.quote(sys.executable)} -m antiphon --version >/dev/null") == 0
    assert not (tmp_path / "trap").exists()
