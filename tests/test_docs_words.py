"""The prose of the documentation names saved work as sessions and steps, not by the words that those replace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT

#: Blocks, comments, code and the targets of links are no prose.
_OTHER = re.compile(r"^ *```.*?^ *```$|<!--.*?-->|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
_RETIRED = re.compile(
    r"\b(?:journals?|recordings?|(?<!side )effects|shelf|shelves|row-runs?|(?:saved|stored) conversations?"
    r"|resumable runs?"
    r"|(?:an?|the|each|every|another|whole|nested|suspended|interrupted|resumed|recorded) run)\b(?!-)",
    re.IGNORECASE,
)
_ALLOWED = {
    # A directory.
    "examples/README.md": {"recordings"},
    # What a benchmark does is no session.
    "docs/benchmarks.md": {"a run"},
    # The same numbers each time that a program is executed.
    "docs/language/data.md": {"every run"},
    "docs/chat.md": {"saved conversation", "saved conversations"},
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_prose_has_no_retired_word(page: Path):
    prose = _OTHER.sub(" ", page.read_text(encoding="utf-8"))
    found = {match[0].lower() for match in _RETIRED.finditer(prose)}
    assert found - _ALLOWED.get(page.relative_to(ROOT).as_posix(), set()) == set()
