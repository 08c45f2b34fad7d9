"""Approval and questions at the terminal: `Session(people=TerminalApprover().answer)`.

Nobody approves what they were not shown: a call is displayed whole, or head and tail with a count of the
lines between. Then all of it must be displayed before a yes counts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from rich.text import Text

from antiphon._base.escape import escape_character
from antiphon._base.terminal import forget_typed
from antiphon.conversation import ToolCall
from antiphon.effects import HumanAnswer
from antiphon.session import Question
from antiphon.session.human_input import is_question_closed
from antiphon.terminal.render_context import make_console
from antiphon.terminal.sanitizer import sanitize_line, sanitize_text
from antiphon.tools import Before

#: Maximum lines of a call that are displayed at once; a longer one is displayed in pages.
MAX_CALL_LINES = 30
_PAGE_LINES = 100
_MAX_QUESTION_CHARACTERS = 8_000
#: Argument names of tools for a text and its replacement.
_EDIT_ARGUMENTS = (("old", "new"), ("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"))
#: Of a longer stretch of unchanged lines, only the first and the last are displayed.
_MAX_UNCHANGED_LINES = 8
_PREFIX_WORDS = ("p", "prefix")
_YES_WORDS, _ALWAYS_WORDS, _NO_WORDS, _SHOW_WORDS = ("y", "yes"), ("a", "always"), ("", "n", "no"), ("s", "show")


@dataclass(frozen=True, slots=True)
class Offer:
    """Another way to allow a call: what it covers, and the function that stores it."""

    text: str
    accept: Callable[[], object]


class Person:
    """Asks the person at the terminal.

    `line` maps a prompt to the text typed on the `keyboard`; `show` displays the question as styled text
    before that.
    """

    def __init__(
        self,
        line: Callable[[str], str] | None = None,
        show: Callable[[Text], None] | None = None,
        keyboard: IO[str] | None = None,
    ) -> None:
        self._line = line or _read_typed_line
        self._show = show or _print_to_stderr
        self._keyboard = keyboard

    def answer(
        self, question: Question, *, apart: bool = True, offer: Offer | None = None, warning: str = ""
    ) -> HumanAnswer:
        """Display the question and return the answer. Anything but a yes to an approval is a no, with its
        text as reason.

        With `apart`, an empty line precedes the question. `offer` is another way to allow a call, and `warning` a
        line below it.
        """
        forget_typed(self._keyboard)
        above = "\n" if apart else ""
        who = f"{above}{sanitize_line(question.who)[:120]}: " if question.who else above
        if question.kind != "approval":
            self._show(Text(f"{who}{truncate_question(sanitize_text(question.text))}"))
            return HumanAnswer(self._line("> "))
        if question.call is None:
            self._show(Text(f"{who}{truncate_question(sanitize_text(question.text, exact=True))}"))
            return HumanAnswer(allowed=self._line("[y]es, [n]o: ").strip().lower() in _YES_WORDS)
        return self._decision(question, question.call, above, offer, warning)

    def ask(self, prompt: str) -> str:
        """Return a short answer to a question of the program."""
        forget_typed(self._keyboard)
        return self._line(prompt)

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no question; no answer is a no."""
        forget_typed(self._keyboard)
        return self._line(f"{sanitize_line(question)} [y]es, [n]o: ").strip().lower() in _YES_WORDS

    def _decision(
        self, question: Question, call: ToolCall, above: str, offer: Offer | None, warning: str
    ) -> HumanAnswer:
        lines = format_call_lines(call, shutil.get_terminal_size().columns, question.before)
        short, hidden = shorten_lines(lines)
        for_whom = f" (for: {sanitize_line(question.who)[:120]})" if question.who else ""
        notes = [Text(sanitize_line(question.notes, exact=True)[:1_000], "yellow")] if question.notes else []
        head = Text(f"{above}May `{sanitize_line(call.name)}` run?{for_whom}", "bold")
        notes += [Text(f"  {warning}", "yellow")] if warning else []
        self._show(_join_lines([head, *short, *notes]))
        is_tool = question.always is not None and question.always.arguments is None
        always = sanitize_line(call.name) if is_tool else "this very call"
        prefix = f"[p]refix (always {sanitize_line(offer.text)}), " if offer is not None else ""
        said = read_final_answer(
            self._line,
            self._show,
            lines,
            hidden,
            f"[y]es, [n]o, {prefix}[a]lways ({always})",
            self._keyboard,
            _PREFIX_WORDS if offer is not None else (),
        )
        if offer is not None and said.lower() in _PREFIX_WORDS:
            offer.accept()
            return HumanAnswer(allowed=True)
        if said.lower() in (*_YES_WORDS, *_ALWAYS_WORDS):
            return HumanAnswer(allowed=True, always=said.lower() in _ALWAYS_WORDS)
        return HumanAnswer("" if said.lower() in _NO_WORDS else f"the user said: {said}", allowed=False)


def read_final_answer(
    line: Callable[[str], str],
    show: Callable[[Text], None],
    lines: list[Text],
    hidden: int,
    prompt: str,
    keyboard: IO[str] | None = None,
    more_yes_words: tuple[str, ...] = (),
) -> str:
    """Return the final answer. A yes while lines are hidden displays them first, and asks again."""
    yes_words = (*_YES_WORDS, *_ALWAYS_WORDS, *more_yes_words)
    while True:
        said = line(f"{prompt}, [s]how all {len(lines):,} lines: " if hidden else f"{prompt}: ").strip()
        if said.lower() not in _SHOW_WORDS and not (hidden and said.lower() in yes_words):
            return said
        if not _show_pages(line, show, lines, keyboard):
            return "n"
        hidden = 0


def _show_pages(
    line: Callable[[str], str], show: Callable[[Text], None], lines: list[Text], keyboard: IO[str] | None
) -> bool:
    """Display all lines, a page at a time. Return whether the person reached the end."""
    for start in range(0, len(lines), _PAGE_LINES):
        forget_typed(keyboard)
        show(_join_lines(lines[start : start + _PAGE_LINES]))
        end = start + _PAGE_LINES
        if end < len(lines) and line(f"{end:,} of {len(lines):,} lines; Enter goes on, [n]o ends: ").strip():
            return False
    return True


def format_call_lines(call: ToolCall, width: int, standing: Before | None = None) -> list[Text]:
    """Return the arguments of a call as lines that fit, with invisible characters written out.

    Each line begins with a bar, so that a wrapped line cannot imitate one of ours. An edit is displayed as a
    diff with all lines of both texts. `standing` is the current text of a file, of which only changes are
    displayed.
    """
    lines: list[Text] = []
    texts = {name for name, value in call.arguments.items() if isinstance(value, str)}
    before, after = next((pair for pair in _EDIT_ARGUMENTS if texts.issuperset(pair)), ("", ""))
    for name, value in call.arguments.items():
        if name == before:
            lines += [Text(f"{before} -> {after}:"), *_format_changes(str(value), str(call.arguments[after]))]
        elif standing is not None and name == standing.argument and isinstance(value, str):
            lines += [Text(f"{name} ({standing.note}):"), *_format_changes(standing.text, value, _MAX_UNCHANGED_LINES)]
        elif name != after:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            head, *more = make_visible(text).split("\n")
            said = [f"{sanitize_line(name, exact=True)}:", *(f"  {each}" for each in [head, *more])]
            lines += map(Text, said if more else [f"{sanitize_line(name, exact=True)}: {head}"])
    bar = Text("  | ", "dim")
    return [
        Text.assemble(bar, piece) for each in lines or [Text("(no arguments)")] for piece in _wrap_text(each, width - 6)
    ]


def _format_changes(before: str, after: str, most: int | None = None) -> list[Text]:
    """Return all lines of both texts, with signs for changed ones and marks for changed words; of more than
    `most` unchanged lines only the nearest.
    """
    from antiphon.terminal.diffs import mark_changed_words
    from antiphon.views.line_diff import CONTEXT_LINES, diff_lines

    if after.endswith("\n") and (not before or before.endswith("\n")):
        before, after = before.removesuffix("\n"), after.removesuffix("\n")
    old, new = (each.split("\n") if each else [] for each in (before, after))
    rows: list[tuple[str, Text]] = []
    found = diff_lines(old, new)
    for number, (same, start, end, first, last) in enumerate(found):
        if not same:
            rows += [("-", Text(f"- {make_visible(each)}", "red")) for each in old[start:end]]
            rows += [("+", Text(f"+ {make_visible(each)}", "green")) for each in new[first:last]]
            continue
        stay = [(" ", Text(f"  {make_visible(each)}")) for each in old[start:end]]
        if most is not None and len(stay) > most:
            head, tail = (CONTEXT_LINES * (number > 0), CONTEXT_LINES * (number < len(found) - 1))
            stay[head : len(stay) - tail] = [(" ", Text(f"  [{len(stay) - head - tail:,} lines as they are]", "dim"))]
        rows += stay
    mark_changed_words(rows, lead=2)
    return [text for _, text in rows]


def _join_lines(lines: list[Text]) -> Text:
    return Text("\n").join(lines)


def make_visible(text: str) -> str:
    """Return the text with escapes, unusual spaces, long gaps and empty lines written out."""
    text = sanitize_text(text.replace("\r\n", "\n"), exact=True)
    if not text.isascii():
        text = "".join(
            escape_character(each) if each != " " and unicodedata.category(each) == "Zs" else each for each in text
        )
    # The lookbehind avoids a match attempt at each space of a run, which would take quadratic time.
    text = re.sub(r"(?<! )(?:[ ]*\n){4,}", lambda found: f"\n[{found[0].count(chr(10)) - 1:,} empty lines]\n", text)
    # Leading spaces are indentation, up to a limit.
    return re.sub(r"(?<=[^ \n]) {8,}| {40,}", lambda found: f"[{len(found[0]):,} blanks]", text)


def shorten_lines(lines: list[Text]) -> tuple[list[Text], int]:
    """Return the lines to display at first, and how many are hidden."""
    if len(lines) <= MAX_CALL_LINES:
        return lines, 0
    half = MAX_CALL_LINES // 2
    hidden = lines[half:-half]
    characters = sum(map(len, hidden))
    note = f"  [{len(hidden):,} lines with {characters:,} characters are not shown here; `s` shows all]"
    return [*lines[:half], Text(note, "yellow"), *lines[-half:]], len(hidden)


def _wrap_text(text: Text, width: int) -> list[Text]:
    # Use half the width if a character may take two columns.
    width = min(max(8, width), 200) // (1 if text.plain.isascii() else 2)
    return [*text.divide(range(width, len(text), width))] if len(text) > width else [text]


def truncate_question(text: str) -> str:
    """Return a question without its middle if it is very long."""
    if len(text) <= _MAX_QUESTION_CHARACTERS:
        return text
    half = _MAX_QUESTION_CHARACTERS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters not shown]\n{text[-half:]}"


def _print_to_stderr(text: Text) -> None:
    # Let the terminal wrap lines, so that copied text is unchanged.
    make_console(sys.stderr).print(text, soft_wrap=True)


def _read_typed_line(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() if _wait_for_line() else ""


def _wait_for_line() -> bool:
    """Wait for a typed line. Return False if the question was withdrawn meanwhile."""
    if os.name != "posix" or not sys.stdin.isatty():
        return True
    import select

    is_typed = False
    while not is_typed and not is_question_closed():
        is_typed = bool(select.select([sys.stdin], [], [], 0.1)[0])
    # Check this last: input typed after the question was withdrawn belongs to the next one.
    return not is_question_closed()
