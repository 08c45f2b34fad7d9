"""A result in the terminal: one line, or opened; whatever is in it, no wider than the terminal and harmless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, cast

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import ControlType, Segment
from rich.text import Text

from antiphon.render import context as contexts
from antiphon.render.chain import attempts
from antiphon.render.context import FULL_HEIGHT, HEIGHT, SIDE_BY_SIDE, Context
from antiphon.render.images import Picture
from antiphon.render.layout import COUNTED, Lines, left_out
from antiphon.render.lines import StateLine, duration
from antiphon.render.registry import Body, Unfit
from antiphon.render.safe import count_lines, head, is_safe, is_utf8, json_text, safe, safe_line
from antiphon.results import Result
from antiphon.results.nested import inside, is_all_results, label, replaced

#: From this width on, what is opened stands a little to the right of its line.
_INDENTED = 40
#: How much of the data is looked at to say what a result without a summary is about.
_GIST, _LOOKED_AT = 200, 4000
_ASCII = str.maketrans({"•": "*", "▌": "|", "─": "-", "━": "-", "│": "|", "┃": "|", "…": "~", "×": "x", "→": ">"})

Line = list[Segment]


@dataclass(frozen=True, slots=True)
class Shown:
    """Something rich can print. What it will look like is decided by the console that prints it."""

    result: Result
    full: bool = False
    title: str = ""
    state: str = ""
    seconds: float | None = None
    header: bool = True
    side_by_side: bool | None = None
    inside: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self._lines(console, max(options.max_width, 1)):
            yield from line
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)

    @property
    def opened(self) -> bool:
        """Whether more than one line is shown."""
        if self.inside and self.result.display.collapsed is not True:
            return True
        return self.full or self.result.is_error or self.state == "failed" or self.result.display.collapsed is False

    def _lines(self, console: Console, width: int) -> Iterator[Line]:
        if self.result.display.hidden:
            hidden = Text(f"(hidden) {self._head()}: {safe_line(self.result.summary, 200)}".rstrip(": "), "dim")
            yield from _printable(console, [hidden], width) if self.full else ()
            return
        headed = self.header and (not self.opened or self._says_something())
        if headed:
            yield from _rendered(console, self._state_line(), width)
        if self.opened:
            indent = 2 if headed and width >= _INDENTED else 0
            lines = chain(self._body(console, width - indent, width, headed), self._nested(console, width - indent))
            for line in lines:
                yield [Segment(" " * indent), *line] if indent else line

    def _says_something(self) -> bool:
        return bool(self.result.summary or self.title or self.state or self.result.title) or self.seconds is not None

    def _head(self) -> str:
        return self.title or self.result.title or self.result.kind

    def _state_line(self) -> StateLine:
        state = self.state or ("failed" if _failed(self.result) else "done")
        gist = _gist(_drawable(self.result).data)
        about, summary = self._head(), self.result.summary or ("" if self.opened else gist)
        # What stands in the line already, or right below it, is not said twice.
        if self.opened and self.result.kind in ("error", "question") and gist.startswith(summary):
            summary = ""
        if summary == about or summary.startswith(f"{about},"):
            about, summary = summary, ""
        return StateLine(state, about, summary, "" if self.seconds is None else duration(self.seconds))

    def _nested(self, console: Console, width: int) -> Iterator[Line]:
        """The results in the data, each drawn as itself."""
        for path, each in inside(self.result.data):
            title = safe_line(label(path), 200) if any(isinstance(key, str) for key in path) else ""
            yield from Shown(each, self.full, title, side_by_side=self.side_by_side, inside=True)._lines(console, width)

    def _body(self, console: Console, width: int, terminal: int, headed: bool) -> Iterator[Line]:
        """The first way of the chain that works; renderers that fail are named in a line of their own."""
        if is_all_results(self.result.data):
            return
        context = self._context(console, width, terminal)
        failures: list[Text] = []
        result = _drawable(self.result)
        for name, attempt in attempts(result):
            try:
                lines = _laid_out(attempt(result, context), context)
            except Exception as error:
                # A renderer may be anybody's: whatever it raises must not keep the rest from being shown.
                if not isinstance(error, Unfit) or name.startswith("the renderer"):
                    said = Text(safe_line(f"({name} failed: {_reason(error)})", 300, context.encoding), "dim")
                    failures += Lines([said], words=True).fit(console, width, 3)
                continue
            yield from _printable(console, failures, width)
            yield from lines
            return
        if not headed and self.result.summary:
            # Whatever could not be drawn, there is always the summary.
            said = Text(safe_line(self.result.summary, 300, context.encoding))
            failures += Lines([said], words=True).fit(console, width, 3)
        yield from _printable(console, failures, width)

    def _context(self, console: Console, width: int, terminal: int) -> Context:
        display = self.result.display
        height = FULL_HEIGHT if self.full else min(display.max_height or HEIGHT, FULL_HEIGHT)
        pairs = terminal >= SIDE_BY_SIDE if self.side_by_side is None else self.side_by_side
        return Context(console, width, height, self.full, pairs, dict(display.field_types))


def renderable(
    result: Result,
    *,
    full: bool = False,
    title: str = "",
    state: str = "",
    seconds: float | None = None,
    header: bool = True,
    side_by_side: bool | None = None,
) -> Shown:
    """A result as something rich can print: one line by default.

    It opens when `full` is asked for (then `max_height` is not heeded, and hidden results are named), when it is an
    error, and when its hints say that it is not to be collapsed. `title` is what the line is about, such as the call;
    `state` is one of `done`, `failed`, `waiting`, `stopped`, `open`. Without `header` an opened result is its body
    alone. Diffs are side by side where the terminal is wide, unless `side_by_side` says otherwise.
    """
    return Shown(result, full, title, state, seconds, header, side_by_side)


def print_result(result: Result, console: Console | None = None, *, full: bool = False) -> None:
    """Print a result, by default to the terminal."""
    console = console if console is not None else contexts.console()
    shown = renderable(result, full=full)
    if not result.display.hidden or full:
        console.print(shown, end="", soft_wrap=False)


def ordered(results: Iterable[Result]) -> list[Result]:
    """Results by their priority, the highest first; among equals the order stays."""
    return sorted(results, key=lambda result: -(result.display.priority or 0))


def _drawable(result: Result) -> Result:
    """The result with a word for each of those inside it, as renderers know only plain data."""
    nested = any(True for _ in inside(result.data))
    return replace(result, data=replaced(result.data, lambda each: each.brief)) if nested else result


def _failed(result: Result) -> bool:
    data: object = result.data
    if result.kind == "terminal" and isinstance(data, dict):
        return cast(dict[str, Any], data).get("exitCode") not in (None, 0)
    return result.is_error


def _reason(error: Exception) -> str:
    try:
        return f"{error}" if isinstance(error, Unfit) else f"{type(error).__name__}: {error}"
    except Exception:
        # An error of somebody's own may not even be able to say what it is.
        return type(error).__name__


def _gist(data: object) -> str:
    """What can be said in a line of a result that has no summary."""
    if isinstance(data, dict):
        fields = cast(dict[str, Any], data)
        data = next((fields[key] for key in ("message", "question", "content", "text") if key in fields), fields)
    if not isinstance(data, str):
        return "" if data is None else json_text(data, _GIST)
    lines, count = head(data[:_LOOKED_AT].strip(), 1)
    return f"{lines[0]} (+{count_lines(data) - 1:,} lines)" if count > 1 else "".join(lines)


def _laid_out(body: Body, context: Context) -> list[Line]:
    """What a renderer returned, as lines. Nothing is printed before all of it is known to work."""
    if isinstance(body, Lines):
        drawn = body.sequence if isinstance(body, Picture) else ""
        lines = body.fit(context.console, context.width, context.height)
        return [*_drawn(drawn), *_printable(context.console, lines, context.width)]
    if isinstance(body, str):
        body = Text(safe(body, context.encoding))
    from antiphon.render.markdown import Markdown

    rendered = _rendered(context.console, body, context.width)
    lines = list(islice(rendered, context.height))
    more = sum(1 for _ in islice(rendered, COUNTED)) + (body.left_out if isinstance(body, Markdown) else 0)
    note = [Text(left_out(more, "line", more >= COUNTED), "dim italic")] if more else []
    return [*lines, *_printable(context.console, note, context.width)]


def _drawn(sequence: str) -> Iterator[Line]:
    if sequence:
        # Rich neither measures nor changes what is marked as control, and keeps it from files.
        yield [Segment(sequence, None, [(ControlType.CARRIAGE_RETURN,)])]


def _rendered(console: Console, body: RenderableType, width: int) -> Iterator[Line]:
    options = console.options.update(width=width, height=None, highlight=False, markup=False)
    for line in Segment.split_and_crop_lines(console.render(body, options), width, pad=False, include_new_lines=False):
        yield _harmless(line, width, console.encoding)


def _printable(console: Console, lines: Iterable[Text], width: int) -> Iterator[Line]:
    for line in lines:
        # A text's own style is not part of what it renders; as a piece of another it is.
        yield _harmless(list(Text.assemble(line).render(console)), width, console.encoding)


def _harmless(line: Line, width: int, encoding: str) -> Line:
    """The last look before the terminal: no control sequences, no links, nothing that the terminal cannot write."""
    kept: Line = []
    for text, style, control in line:
        if control:
            continue
        if not is_safe(text) or "\t" in text:
            text = safe(text, encoding)
        if not is_utf8(encoding) and not text.isascii():
            text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
        if style is not None and (style.link or style.meta):
            style = style.clear_meta_and_links()
        kept.append(Segment(text.replace("\n", " "), style))
    return _trimmed(Segment.adjust_line_length(kept, width, pad=False))


def _trimmed(line: Line) -> Line:
    """The line without the blanks at its end, which only matter where they have a colour."""
    while line and not (line[-1].style and line[-1].style.bgcolor):
        text, style, _ = line.pop()
        if text := text.rstrip(" "):
            return [*line, Segment(text, style)]
    return line
