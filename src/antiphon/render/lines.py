"""What is said in one line: a call and what came of it, how long it took, what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from antiphon._json import dumps
from antiphon.conversation import Image, ToolCall, ToolResult
from antiphon.errors import ContentError
from antiphon.render.safe import is_utf8, safe
from antiphon.views import headline
from antiphon.views.money import money
from antiphon.wire import Usage

#: The sign and the colour of each state; the second sign is for terminals that have only ASCII.
MARKS = {
    "done": ("✓", "+", "green"),
    "failed": ("✗", "x", "red"),
    "waiting": ("?", "?", "yellow"),
    "stopped": ("■", "#", "yellow"),
    "open": ("…", "~", "yellow"),
    "thought": ("∴", "*", "dim"),
}
#: Longer than this, no part of a line is looked at.
_LOOK = 400
_SMALL_ARGUMENTS = 2000


@dataclass(frozen=True, slots=True)
class StateLine:
    """One line whatever the width: a mark, what it is about, what came of it, and a note such as the duration.

    Where there is little room, the summary goes first, then the note.
    """

    state: str
    head: str
    summary: str = ""
    note: str = ""
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        sign, plain_sign, colour = MARKS[self.state]
        width, more = options.max_width, "..." if options.ascii_only else "…"
        indent = indentation(self.indent, width)
        room = max(width - indent - 2, 1)
        note = f"  {self.note}" if self.note and cell_len(self.note) + 2 <= room // 2 else ""
        room -= cell_len(note)
        summary = one_line(self.summary, options.encoding)
        # The head may take what the summary does not need, and at least half.
        needed = cell_len(summary) + 2 if summary else 0
        head = fit(one_line(self.head, options.encoding), max(room - needed, room // 2), more)
        left = room - cell_len(head) - 2
        tail = fit(summary, left, more) if summary and left >= 3 else ""
        faint = "dim" if self.state == "thought" else ""
        yield Text.assemble(
            (" " * indent, ""),
            (plain_sign if options.ascii_only else sign, colour),
            (f" {head}", faint),
            (f"  {tail}" if tail else "", "red" if self.state == "failed" else "dim"),
            (note, "dim"),
            no_wrap=True,
            overflow="crop",
        )


def indentation(indent: int, width: int) -> int:
    """The indentation that leaves most of the width to what is indented."""
    return min(indent, width // 3)


def fit(given: str, width: int, more: str = "…") -> str:
    """As much of a line as has room, with a sign where it is cut."""
    if cell_len(given) <= width:
        return given
    if width <= len(more):
        return set_cell_size(given, max(width, 0))
    return set_cell_size(given, width - len(more)).rstrip() + more


def one_line(given: str, encoding: str = "utf-8") -> str:
    """The first line that says something, made harmless; its blanks are single ones."""
    start = given[: _LOOK * 4].lstrip()
    if not is_utf8(encoding):
        start = start.replace("…", "...").replace(" · ", " - ")
    return " ".join(safe(start.partition("\n")[0][:_LOOK], encoding).split())


def call_head(call: ToolCall) -> str:
    """The call as people write calls: `weather(city="Oslo")`, with long values cut."""
    return written_call(call.name, call.arguments, call.arguments_json)


def written_call(called: str, arguments: Mapping[str, object], arguments_json: str) -> str:
    """The same of what no model calls, and so may have any name: `files.readText(path="a.txt")`."""
    small = len(arguments_json) <= _SMALL_ARGUMENTS
    shown: list[str] = []
    for name, value in arguments.items():
        shown.append(f"{name[:40] if name.isidentifier() else dumps(name[:40])}={_value(value, small)}")
        if sum(map(len, shown)) > _LOOK:
            break
    return f"{called}({', '.join(shown)})"


def _value(value: object, small: bool) -> str:
    if isinstance(value, str):
        return dumps(value if len(value) <= 60 else value[:59] + "…")
    if isinstance(value, dict | list) and not small:
        return "{…}" if isinstance(value, dict) else "[…]"
    try:
        return dumps(cast(object, value))[:_LOOK]
    except ContentError:
        return "…"


def summary(result: ToolResult) -> str:
    """A result in a line: its own summary, or its first line and how many follow."""
    semantic = result.semantic
    if semantic is not None and (semantic.summary or semantic.display.hidden):
        return "" if semantic.display.hidden else semantic.summary
    said = result.text.strip()
    if not said:
        images = sum(isinstance(part, Image) for part in result.parts)
        return f"{images} image{'s' if images > 1 else ''}" if images else "(nothing)"
    more = said.count("\n")
    return f"{one_line(said)} (+{more:,} line{'s' if more > 1 else ''})" if more else one_line(said)


def has_failed(result: ToolResult) -> bool:
    """Whether a result is marked as a failure: an error, or a command that ended with one."""
    return headline(result).state == "failed"


def duration(seconds: float) -> str:
    """A time in the unit that fits it."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def spent(usage: Usage, cost: float | None) -> list[str]:
    """Tokens and cost, as far as they are known."""
    said: list[str] = []
    if usage.input_tokens is not None or usage.output_tokens is not None:
        said.append(f"{_short(usage.input_tokens)} in, {_short(usage.output_tokens)} out")
    return [*said, *filter(None, [money(cost)])]


def _short(number: int | None) -> str:
    if number is None:
        return "?"
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1000:,.0f}k" if number < 10_000_000 else f"{number / 1_000_000:,.0f}M"
