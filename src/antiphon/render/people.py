"""Whoever sits at the terminal: allows calls or forbids them, and answers questions. `Session(people=Person().answer)`.

Nobody approves what they were not shown: a call is shown whole, or head and tail with a count of what is between, and
then all of it before a yes counts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable
from typing import IO

from rich.text import Text

from antiphon._printable import escaped
from antiphon._terminal import forget_typed
from antiphon.conversation import ToolCall
from antiphon.effects import Said
from antiphon.render.context import console
from antiphon.render.safe import safe, safe_line
from antiphon.session import Question
from antiphon.session.people import is_asked_no_more
from antiphon.tools import Before
from antiphon.views.differences import AROUND, changes

#: Lines of a call that are shown at once, and of each page of one that is longer.
MOST_LINES = 30
_PAGE = 100
_LONGEST_QUESTION = 8_000
#: How tools call a text and what is to stand in its place.
_CHANGES = (("old", "new"), ("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"))
#: Of more lines of a file than this that stay as they are, only the first and the last are shown.
_STAY = 2 * AROUND + 2
_YES, _ALWAYS, _NO, _ALL = ("y", "yes"), ("a", "always"), ("", "n", "no"), ("s", "show")


class Person:
    """Asks with `line`, a function from a prompt to what is typed on the `keyboard`, after it was shown with `show`,
    which gets it with its colours.
    """

    def __init__(
        self,
        line: Callable[[str], str] | None = None,
        show: Callable[[Text], None] | None = None,
        keyboard: IO[str] | None = None,
    ) -> None:
        self._line = line or _typed
        self._show = show or _print
        self._keyboard = keyboard

    def answer(self, question: Question, *, apart: bool = True) -> Said:
        """Show the question, and take the answer. Anything but a yes to an approval is a no, and its words are told.

        Where nothing stands above it, it needs not to be `apart`.
        """
        forget_typed(self._keyboard)
        above = "\n" if apart else ""
        who = f"{above}{safe_line(question.who)[:120]}: " if question.who else above
        if question.kind == "question":
            self._show(Text(f"{who}{_bounded(safe(question.text))}"))
            return Said(self._line("> "))
        if question.call is None:
            self._show(Text(f"{who}{_bounded(safe(question.text, exact=True))}"))
            return Said(allowed=self._line("[y]es, [n]o: ").strip().lower() in _YES)
        return self._decision(question, question.call, above)

    def agrees(self, question: str) -> bool:
        """A yes to a question of ours; no answer is a no."""
        forget_typed(self._keyboard)
        return self._line(f"{safe_line(question)} [y]es, [n]o: ").strip().lower() in _YES

    def _decision(self, question: Question, call: ToolCall, above: str) -> Said:
        lines = call_lines(call, shutil.get_terminal_size().columns, question.before)
        short, hidden = shortened(lines)
        for_whom = f" (for: {safe_line(question.who)[:120]})" if question.who else ""
        self._show(_joined([Text(f"{above}May `{safe_line(call.name)}` run?{for_whom}", "bold"), *short]))
        is_tool = question.always is not None and question.always.arguments is None
        always = safe_line(call.name) if is_tool else "this very call"
        said = settled(self._line, self._show, lines, hidden, f"[y]es, [n]o, [a]lways ({always})", self._keyboard)
        if said.lower() in (*_YES, *_ALWAYS):
            return Said(allowed=True, always=said.lower() in _ALWAYS)
        return Said("" if said.lower() in _NO else f"the user said: {said}", allowed=False)


def settled(
    line: Callable[[str], str],
    show: Callable[[Text], None],
    lines: list[Text],
    hidden: int,
    prompt: str,
    keyboard: IO[str] | None = None,
) -> str:
    """What the person says in the end. A yes to something of which lines are hidden shows them, and asks again."""
    while True:
        said = line(f"{prompt}, [s]how all {len(lines):,} lines: " if hidden else f"{prompt}: ").strip()
        if said.lower() not in _ALL and not (hidden and said.lower() in (*_YES, *_ALWAYS)):
            return said
        if not _paged(line, show, lines, keyboard):
            return "n"
        hidden = 0


def _paged(
    line: Callable[[str], str], show: Callable[[Text], None], lines: list[Text], keyboard: IO[str] | None
) -> bool:
    """Show all, a page at a time; whether the person went through to the end."""
    for start in range(0, len(lines), _PAGE):
        forget_typed(keyboard)
        show(_joined(lines[start : start + _PAGE]))
        end = start + _PAGE
        if end < len(lines) and line(f"{end:,} of {len(lines):,} lines; Enter goes on, [n]o ends: ").strip():
            return False
    return True


def call_lines(call: ToolCall, width: int, standing: Before | None = None) -> list[Text]:
    """The arguments of a call in lines that fit, with everything in them that an eye would miss written out.

    Each is behind a bar: what the terminal would fold could pass for a line of ours. Of a text and what is to stand in
    its place, all lines are there, in order, as those of a change; of what is `standing` in a file, those that change.
    """
    lines: list[tuple[str, str]] = []
    before, after = next((pair for pair in _CHANGES if all(_is_text(call, name) for name in pair)), ("", ""))
    for name, value in call.arguments.items():
        if name == before:
            lines += [(f"{before} -> {after}:", ""), *_changed(str(value), str(call.arguments[after]))]
        elif standing is not None and name == standing.argument and isinstance(value, str):
            lines += [(f"{name} ({standing.note}):", ""), *_changed(standing.text, value, _STAY)]
        elif name != after:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            head, *more = visible(text).split("\n")
            said = [f"{safe_line(name, exact=True)}:", *(f"  {each}" for each in [head, *more])]
            lines += [(each, "") for each in (said if more else [f"{safe_line(name, exact=True)}: {head}"])]
    bar = Text("  | ", "dim")
    found = [(piece, style) for each, style in lines or [("(no arguments)", "")] for piece in _fitting(each, width - 6)]
    return [Text.assemble(bar, (piece, style)) for piece, style in found]


def _is_text(call: ToolCall, name: str) -> bool:
    return isinstance(call.arguments.get(name), str)


def _changed(before: str, after: str, most: int | None = None) -> list[tuple[str, str]]:
    """All lines of both, those that only one has with a sign; of more than `most` that stay, those near to changes."""
    if after.endswith("\n") and (not before or before.endswith("\n")):
        before, after = before.removesuffix("\n"), after.removesuffix("\n")
    old, new = (each.split("\n") if each else [] for each in (before, after))
    lines: list[tuple[str, str]] = []
    found = changes(old, new)
    for number, (same, start, end, first, last) in enumerate(found):
        if not same:
            lines += [(f"- {visible(each)}", "red") for each in old[start:end]]
            lines += [(f"+ {visible(each)}", "green") for each in new[first:last]]
            continue
        stay = [(f"  {visible(each)}", "") for each in old[start:end]]
        if most is not None and len(stay) > most:
            head, tail = (AROUND * (number > 0), AROUND * (number < len(found) - 1))
            stay[head : len(stay) - tail] = [(f"  [{len(stay) - head - tail:,} lines as they are]", "dim")]
        lines += stay
    return lines


def _joined(lines: list[Text]) -> Text:
    return Text("\n").join(lines)


def visible(text: str) -> str:
    """The text with nothing in it that hides something: escapes, odd blanks, long gaps and empty lines are told."""
    text = safe(text.replace("\r\n", "\n"), exact=True)
    if not text.isascii():
        text = "".join(escaped(each) if each != " " and unicodedata.category(each) == "Zs" else each for each in text)
    # Not from within a row of blanks: each of them would be followed to its end.
    text = re.sub(r"(?<! )(?:[ ]*\n){4,}", lambda found: f"\n[{found[0].count(chr(10)) - 1:,} empty lines]\n", text)
    # What stands at the beginning of a line is indentation, up to a point.
    return re.sub(r"(?<=[^ \n]) {8,}| {40,}", lambda found: f"[{len(found[0]):,} blanks]", text)


def shortened(lines: list[Text]) -> tuple[list[Text], int]:
    """The lines as they are shown at first, and how many of them are not."""
    if len(lines) <= MOST_LINES:
        return lines, 0
    half = MOST_LINES // 2
    hidden = lines[half:-half]
    characters = sum(map(len, hidden))
    note = f"  [{len(hidden):,} lines with {characters:,} characters are not shown here; `s` shows all]"
    return [*lines[:half], Text(note, "yellow"), *lines[-half:]], len(hidden)


def _fitting(text: str, width: int) -> list[str]:
    # Half the width where a character may take two columns.
    width = min(max(8, width), 200) // (1 if text.isascii() else 2)
    return [text[start : start + width] for start in range(0, max(1, len(text)), width)]


def _bounded(text: str) -> str:
    if len(text) <= _LONGEST_QUESTION:
        return text
    half = _LONGEST_QUESTION // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters not shown]\n{text[-half:]}"


def _print(text: Text) -> None:
    # A terminal folds lines by itself, and what is copied from it is then what was said.
    console(sys.stderr).print(text, soft_wrap=True)


def _typed(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() if _is_answered() else ""


def _is_answered() -> bool:
    """Wait for a line, but not for one that belongs to the next question; false where this one is asked no more."""
    if os.name != "posix" or not sys.stdin.isatty():
        return True
    import select

    is_typed = False
    while not is_typed and not is_asked_no_more():
        is_typed = bool(select.select([sys.stdin], [], [], 0.1)[0])
    # In this order: what was typed after it was given up is for the next.
    return not is_asked_no_more()
