"""What every mistake looks like to the person who made it, and that every code is explained."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import antiphon.lang
from antiphon.lang.analysis import analyse
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source

GOLDEN = Path(__file__).parent.parent / "lang" / "golden"
PROGRAMS = sorted(GOLDEN.glob("*.vibe"))
ROOM = Path(antiphon.lang.__file__).parent
EXPLANATIONS = sorted((ROOM / "typecheck" / "explain").glob("V*.md"))
FENCE = re.compile(r"```vibe\n(.*?)```", re.DOTALL)


def rendered(path: Path) -> str:
    source = Source(path.name, path.read_bytes().decode("utf-8"))
    return "".join(each.render(source) + "\n" for each in analyse(source).diagnostics)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_mistake_is_told_as_in_its_golden_file(path: Path):
    golden, text = path.with_suffix(".txt"), rendered(path)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert f"[{path.stem.split('-')[0]}]" in text


def test_every_code_has_an_explanation_and_a_golden_program():
    files = [file.read_text("utf-8") for file in ROOM.rglob("*.py")]
    used = {code for text in files for code in re.findall(r'"(V0[1-7]\d\d)"', text)}
    assert used <= {path.stem for path in EXPLANATIONS}
    # What is wrong with modules takes other files or options of the run to show.
    of_modules = {path.stem for path in (GOLDEN.parent / "golden_modules").glob("V*.vibe")}
    assert used - of_modules <= {path.stem.split("-")[0] for path in PROGRAMS}


@pytest.mark.parametrize("path", EXPLANATIONS, ids=lambda path: path.stem)
def test_an_explanation_has_a_title_and_shows_wrong_and_right(path: Path):
    text = path.read_text(encoding="utf-8")
    wrong, right = FENCE.findall(text)
    assert text.startswith("# ")
    assert parse_source(Source("right", right))[1] == []
    if path.stem < "V0200" and path.stem != "V0116":
        assert path.stem in {each.code for each in parse_source(Source("wrong", wrong))[1]}
