"""The pages of the documentation: their fenced blocks, and what is noted above each in a comment.

How a block is tested follows from its language and its first line; `blocks` names the way, and one that has none is an
error of `test_docs.py`. Notes, each a comment of its own in the lines above the block:

| note | |
|---|---|
| `file: NAME` | the block is a file of this name, for the commands further down the page |
| `command` | the file is run by these commands alone |
| `answers: [...]` | what models say, in the form of `answers` in tests of the language; they are Anthropic's then |
| `variables: {...}` | variables of the environment |
| `files: {...}` | files that are there, by name, and that the page does not show |
| `setup: [...]` | lines that are typed before those of the block, and not shown |
| `typed: [[PROMPT, TEXT]]` | what somebody types at the first command, where the screen does not show it |
| `source: PATH` | the block is this file of the repository, to the letter |
| `shown: WHY` | it is not run, and why |
| `tree` | classes of `antiphon.errors`, each under its base |
| `local` | the model that is played is the embedded one |
| `team`, `status`, `checked`, `fails`, `sent`, `inputs` | of pages with tests of their own |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
    ROOT / "examples" / "instead" / "README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
]
#: A line that tells the reader that a model said this.
MARK = "◇"
_FENCE = re.compile(
    r"(?P<notes>(?:^ *<!-- (?:(?!-->).)*? -->\n)*)"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$\n?",
    re.MULTILINE | re.DOTALL,
)
_NOTE = re.compile(r"<!-- (\w+)(?:: (.*?))? -->", re.DOTALL)
_DATA = {"json", "toml", "yaml", "ini", "js", "csv"}


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    language: str
    body: str
    notes: dict[str, str]
    #: What stands between it and the block before.
    between: str
    #: The paragraph behind it.
    behind: str
    before: Block | None

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"

    @property
    def way(self) -> str:
        """How it is tested; nothing where it is not."""
        for note in ("shown", "source", "tree"):
            if note in self.notes:
                return note
        if "file" in self.notes and ("command" in self.notes or self.language not in ("python", "vibe")):
            return "file"
        if self.language in ("python", "vibe"):
            return self.language
        if self.language == "sh" or (self.language == "text" and self.body.startswith("$ ")):
            return "commands"
        if self.language == "text" and self.body.startswith("antiphon "):
            return "synopsis"
        if self.language == "text" and self.before and self._is_output(self.before):
            return "output"
        return "data" if self.language in _DATA else ""

    def _is_output(self, before: Block) -> bool:
        told = "sent" in self.notes or not self.between.strip()
        return told and before.way in ("python", "vibe", "output")

    def note(self, name: str, default: Any) -> Any:
        return json.loads(self.notes[name]) if name in self.notes else default


@cache
def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in their order."""
    return list(_blocks(page, page.read_text(encoding="utf-8")))


def _blocks(page: Path, text: str) -> Iterator[Block]:
    before: Block | None = None
    at = 0
    for match in _FENCE.finditer(text):
        body = re.sub(f"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        yield (
            before := Block(
                page,
                text.count("\n", 0, match.start("language")) + 1,
                match["language"],
                body,
                dict(_NOTE.findall(match["notes"])),
                text[at : match.start()],
                text[match.end() :].lstrip("\n").partition("\n\n")[0],
                before,
            )
        )
        at = match.end()


def census() -> dict[str, list[str]]:
    """Which blocks are tested in which way."""
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for block in blocks(page):
            found.setdefault(block.way, []).append(f"{block.name} {block.language}: {block.body.partition(chr(10))[0]}")
    return found


if __name__ == "__main__":
    for way, names in census().items():
        print(f"{way or 'NOT TESTED'}: {len(names)}")
        if not way or way == "shown":
            print(*(f"  {name}" for name in names), sep="\n")
