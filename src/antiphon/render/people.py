"""Answers from whoever sits at the terminal: for `Session(approve=approve_in_terminal, ask=answer_in_terminal)`.

Nobody approves what they were not shown: a call is shown whole, or head and tail with a count of what is between, and
then all of it before a yes counts.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable

from antiphon.conversation import ToolCall
from antiphon.render.safe import escaped, safe, safe_line
from antiphon.tools import ApprovalRequest, Decision

#: Lines of a call that are shown at once, and of each page of one that is longer.
MOST_LINES = 30
_PAGE = 100
_LONGEST_QUESTION = 8_000
_YES, _ALWAYS, _NO, _ALL = ("y", "yes"), ("a", "always"), ("", "n", "no"), ("s", "show")


def approve_in_terminal(request: ApprovalRequest) -> Decision:
    """Show the call and ask: yes, no, or always for this very call. No answer is a no."""
    # Each behind a bar: what the terminal would fold could pass for a line of ours.
    lines = [f"  | {each}" for each in call_lines(request.call, shutil.get_terminal_size().columns - 6)]
    short, hidden = shortened(lines)
    _print(f"\n{safe_line(request.call.name)} wants to run with", *short)
    said = settled(_line, _print, lines, hidden, "Allow it? [y]es, [n]o, [a]lways")
    if said.lower() in _ALWAYS:
        return Decision(True, remember=True)
    if said.lower() in _YES:
        return Decision(True)
    return Decision(False, "" if said.lower() in _NO else f"the user said: {said.lower()}")


def settled(line: Callable[[str], str], show: Callable[[str], None], lines: list[str], hidden: int, prompt: str) -> str:
    """What the person says in the end. A yes to something of which lines are hidden shows them, and asks again."""
    while True:
        said = line(f"{prompt}, [s]how all {len(lines):,} lines: " if hidden else f"{prompt}: ").strip()
        if said.lower() not in _ALL and not (hidden and said.lower() in (*_YES, *_ALWAYS)):
            return said
        if not _paged(line, show, lines):
            return "n"
        hidden = 0


def _paged(line: Callable[[str], str], show: Callable[[str], None], lines: list[str]) -> bool:
    """Show all, a page at a time; whether the person went through to the end."""
    for start in range(0, len(lines), _PAGE):
        show("\n".join(lines[start : start + _PAGE]))
        end = start + _PAGE
        if end < len(lines) and line(f"{end:,} of {len(lines):,} lines; Enter goes on, [n]o ends: ").strip():
            return False
    return True


def call_lines(call: ToolCall, width: int) -> list[str]:
    """The arguments of a call in lines that fit, with everything in them that an eye would miss written out."""
    lines: list[str] = []
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        name = safe_line(name)
        pieces = visible(text).split("\n")
        lines += [f"{name}: {pieces[0]}"] if len(pieces) == 1 else [f"{name}:", *(f"  {each}" for each in pieces)]
    return [piece for each in lines or ["(no arguments)"] for piece in _fitting(each, width)]


def visible(text: str) -> str:
    """The text with nothing in it that hides something: escapes, odd blanks, long gaps and empty lines are told."""
    text = safe(text.replace("\r\n", "\n"))
    if not text.isascii():
        text = "".join(escaped(each) if each != " " and unicodedata.category(each) == "Zs" else each for each in text)
    text = re.sub(r"(?:[ ]*\n){4,}", lambda found: f"\n[{found[0].count(chr(10)) - 1:,} empty lines]\n", text)
    # What stands at the beginning of a line is indentation, up to a point.
    return re.sub(r"(?<=[^ \n]) {8,}| {40,}", lambda found: f"[{len(found[0]):,} blanks]", text)


def shortened(lines: list[str]) -> tuple[list[str], int]:
    """The lines as they are shown at first, and how many of them are not."""
    if len(lines) <= MOST_LINES:
        return lines, 0
    half = MOST_LINES // 2
    hidden = lines[half:-half]
    characters = sum(map(len, hidden))
    note = f"  [{len(hidden):,} lines with {characters:,} characters are not shown here; `s` shows all]"
    return [*lines[:half], note, *lines[-half:]], len(hidden)


def _fitting(text: str, width: int) -> list[str]:
    # Half the width where a character may take two columns.
    width = min(max(8, width), 200) // (1 if text.isascii() else 2)
    return [text[start : start + width] for start in range(0, max(1, len(text)), width)]


def answer_in_terminal(question: str) -> str:
    """Put a tool's question to the user."""
    asked = safe(question)
    if len(asked) > _LONGEST_QUESTION:
        half = _LONGEST_QUESTION // 2
        asked = f"{asked[:half]}\n[{len(asked) - 2 * half:,} characters not shown]\n{asked[-half:]}"
    _print(f"\n{asked}")
    return _line("> ")


def _print(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr)


def _line(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
