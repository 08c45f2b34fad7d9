"""The commands of the guide to runs print what it says, one after the other; names, times and durations are any."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "journal.md"
MAIN = "import sys; sys.argv[0] = 'antiphon'; from antiphon.cli import main; main()"
_FILE = re.compile(r"^<!-- file: (\S+) -->\n(?:<!-- .*? -->\n)*```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
_RUNS = re.compile(r"^<!-- runs -->\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_TOOK = re.compile(r"  [\d.]+m?s$", re.MULTILINE)


def test_the_commands_of_the_guide_print_what_it_says(tmp_path: Path):
    text = PAGE.read_text(encoding="utf-8")
    for name, body in _FILE.findall(text):
        (tmp_path / name).write_text(body, encoding="utf-8")
    environment = os.environ | {"ANTIPHON_LOGS": str(tmp_path / "logs.db"), "PYTHONIOENCODING": "utf-8"}
    known: dict[str, str] = {}
    for block in _RUNS.findall(text):
        printed = ""
        for line in block.splitlines():
            if not line.startswith("$ antiphon "):
                continue
            words = [known.get(word, word) for word in shlex.split(line.removeprefix("$ antiphon "))]
            done = subprocess.run(
                [sys.executable, "-c", MAIN, *words],
                cwd=tmp_path,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for found in re.findall(r"\b3[0-9a-z]{7}\b", done.stdout):
                if found not in known.values():
                    known[f"3azf{len(known) + 1:04}"] = found
            printed += f"{line}\n{done.stdout}"
        for shown, there in known.items():
            printed = printed.replace(there, shown)
        assert _any(printed) == _any(block)


def _any(text: str) -> str:
    return _TOOK.sub("  1ms", _STAMP.sub("2026-11-17 09:30", text))
