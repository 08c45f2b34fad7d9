"""One-line summaries: a call and its result, durations, and costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from antiphon._base.json import dump_json
from antiphon.conversation import Image, MediaPart, ToolCall, ToolResult
from antiphon.errors import ContentError
from antiphon.terminal.sanitizer import is_unicode_encoding, sanitize_text
from antiphon.views.cost_format import format_cost
from antiphon.wire import Usage

if TYPE_CHECKING:
    from antiphon.session import UsageChanged

#: The sign and the colour of each state; the second sign is for terminals that have only ASCII.
STATE_MARKS = {
    "done": ("✓", "+", "green"),
    "failed": ("✗", "x", "red"),
    "waiting": ("?", "?", "yellow"),
    "stopped": ("■", "#", "yellow"),
    "open": ("…", "~", "yellow"),
    "thought": ("∴", "*", "dim"),
}
#: Maximum characters that are read of any part of a line.
_MAX_SCAN = 400
_SMALL_ARGUMENTS = 2000


@dataclass(frozen=True, slots=True)
class StateLine:
    """One line for any width: a mark, the subject, its result, and a note such as the duration.

    If there is little room, the summary is dropped first, then the note.
    """

    state: str
    head: str
    summary: str = ""
    note: str = ""
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        sign, plain_sign, colour = STATE_MARKS[self.state]
        width, more = options.max_width, "..." if options.ascii_only else "…"
        indent = limit_indent(self.indent, width)
        room = max(width - indent - 2, 1)
        note = f"  {self.note}" if self.note and cell_len(self.note) + 2 <= room // 2 else ""
        room -= cell_len(note)
        summary = first_safe_line(self.summary, options.encoding)
        # The head gets the room that the summary does not need, and at least half.
        needed = cell_len(summary) + 2 if summary else 0
        head = truncate_cells(first_safe_line(self.head, options.encoding), max(room - needed, room // 2), more)
        left = room - cell_len(head) - 2
        tail = truncate_cells(summary, left, more) if summary and left >= 3 else ""
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


def limit_indent(indent: int, width: int) -> int:
    """Return an indentation that leaves most of the width to the content."""
    return min(indent, width // 3)


def truncate_cells(given: str, width: int, more: str = "…") -> str:
    """Return as much of a line as fits, with a sign where it is cut."""
    if cell_len(given) <= width:
        return given
    if width <= len(more):
        return set_cell_size(given, max(width, 0))
    return set_cell_size(given, width - len(more)).rstrip() + more


def first_safe_line(given: str, encoding: str = "utf-8") -> str:
    """Return the first non-empty line, sanitized, with single spaces."""
    start = given[: _MAX_SCAN * 4].lstrip()
    if not is_unicode_encoding(encoding):
        start = start.replace("…", "...").replace(" · ", " - ")
    return " ".join(sanitize_text(start.partition("\n")[0][:_MAX_SCAN], encoding).split())


def format_tool_call(call: ToolCall) -> str:
    """Return a call in source form: `weather(city="Oslo")`, with long values truncated."""
    return format_call(call.name, call.arguments, call.arguments_json)


def format_call(called: str, arguments: Mapping[str, object], arguments_json: str) -> str:
    """Return a call of any name in source form: `files.readText(path="a.txt")`."""
    small = len(arguments_json) <= _SMALL_ARGUMENTS
    shown: list[str] = []
    for name, value in arguments.items():
        shown.append(f"{name[:40] if name.isidentifier() else dump_json(name[:40])}={_format_argument(value, small)}")
        if sum(map(len, shown)) > _MAX_SCAN:
            break
    return f"{called}({', '.join(shown)})"


def _format_argument(value: object, small: bool) -> str:
    if isinstance(value, str):
        return dump_json(value if len(value) <= 60 else value[:59] + "…")
    if isinstance(value, dict | list) and not small:
        return "{…}" if isinstance(value, dict) else "[…]"
    try:
        return dump_json(cast(object, value))[:_MAX_SCAN]
    except ContentError:
        return "…"


def summarize_tool_result(result: ToolResult) -> str:
    """Return a result as one line: its own summary, or its first line and how many follow."""
    semantic = result.semantic
    if semantic is not None and (semantic.summary or semantic.display.hidden):
        return "" if semantic.display.hidden else semantic.summary
    said = result.text.strip()
    if not said:
        media = [part for part in result.parts if isinstance(part, MediaPart)]
        word = "image" if all(isinstance(part, Image) for part in media) else "file"
        return f"{len(media)} {word}{'s' if len(media) > 1 else ''}" if media else "(nothing)"
    more = said.count("\n")
    return f"{first_safe_line(said)} (+{more:,} line{'s' if more > 1 else ''})" if more else first_safe_line(said)


def has_failed_result(result: ToolResult) -> bool:
    """Return whether a result is a failure: an error, or a command with a non-zero exit code."""
    from antiphon.views import headline

    return headline(result).state == "failed"


def format_duration(seconds: float) -> str:
    """Return a duration in a suitable unit."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def sum_run_usage(used: Iterable[UsageChanged]) -> tuple[Usage, float | None]:
    """Return the combined usage of several runs; the cost is known only if all costs are."""
    each = list(used)
    incoming = [u.usage.input_tokens for u in each if u.usage.input_tokens is not None]
    outgoing = [u.usage.output_tokens for u in each if u.usage.output_tokens is not None]
    costs = [u.cost for u in each if u.cost is not None]
    usage = Usage(sum(incoming) if incoming else None, sum(outgoing) if outgoing else None)
    return usage, sum(costs) if costs and len(costs) == len(each) else None


def format_usage(usage: Usage, cost: float | None) -> list[str]:
    """Return tokens and cost, as far as known."""
    said: list[str] = []
    if usage.input_tokens is not None or usage.output_tokens is not None:
        said.append(f"{_abbreviate_number(usage.input_tokens)} in, {_abbreviate_number(usage.output_tokens)} out")
    return [*said, *filter(None, [format_cost(cost)])]


def _abbreviate_number(number: int | None) -> str:
    if number is None:
        return "?"
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1000:,.0f}k" if number < 10_000_000 else f"{number / 1_000_000:,.0f}M"
