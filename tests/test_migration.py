"""The page for those who come from other libraries: each claim of ours has a test, and what we lack is said."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "migration.md"


def _rows() -> list[list[str]]:
    table = PAGE.read_text(encoding="utf-8").partition("\n## What each can do\n")[2]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return rows[1:]


def test_each_row_has_four_cells():
    assert len(_rows()) >= 20
    assert {len(row) for row in _rows()} == {4}


def test_each_cell_of_ours_names_a_test_or_says_no():
    for capability, *_, ours in _rows():
        named = re.search(r": `([\w/]+\.py)::(test_\w+)`$", ours)
        assert named or ours == "no", capability
        if named:
            text = (ROOT / "tests" / named[1]).read_text(encoding="utf-8")
            assert re.search(rf"^ *(async )?def {named[2]}\(", text, re.MULTILINE), named[0]


def test_what_we_lack_is_said():
    assert len([row for row in _rows() if row[-1] == "no"]) >= 3


def test_each_library_has_a_section():
    heads = re.findall(r"^## From (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert heads == ["pydantic-ai", "LangChain", "LiteLLM", "the OpenAI and Anthropic SDKs"]
