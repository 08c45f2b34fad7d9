"""A result in the terminal: one line or expanded, always sanitized and no wider than the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import ControlType, Segment
from rich.text import Text

from antiphon.results import Result
from antiphon.results.nested import has_only_results
from antiphon.terminal import render_context as contexts
from antiphon.terminal.custom_renderers import RenderedBody, find_renderer
from antiphon.terminal.images import DrawnImage
from antiphon.terminal.layout import MAX_COUNTED_LINES, Lines, format_omitted_note
from antiphon.terminal.render_context import DEFAULT_HEIGHT, FULL_HEIGHT, SIDE_BY_SIDE_WIDTH, Context
from antiphon.terminal.sanitizer import is_sanitized, is_unicode_encoding, sanitize_line, sanitize_text
from antiphon.terminal.state_lines import StateLine, format_duration
from antiphon.terminal.view_renderers import render_body
from antiphon.views import InvalidField, headline
from antiphon.views.data_window import Window
from antiphon.views.select import build_body, get_changed_path, iter_inner_results, replace_inner_results

#: From this width on, an expanded body is indented below its line.
_MIN_INDENT_WIDTH = 40
_ASCII_REPLACEMENTS = str.maketrans(
    {"•": "*", "▌": "|", "─": "-", "━": "-", "│": "|", "┃": "|", "…": "~", "×": "x", "→": ">"}
)

SegmentLine = list[Segment]
#: The lines of an attempt to render, if it worked, and failure messages.
_Attempt = tuple[list[SegmentLine] | None, list[str]]


@dataclass(frozen=True, slots=True)
class ResultRenderable:
    """A result as a rich renderable. Its appearance depends on the console that prints it."""

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
    def is_expanded(self) -> bool:
        """Return whether more than one line is displayed."""
        if self.inside and self.result.display.collapsed is not True:
            return True
        return self.full or self.result.is_error or self.state == "failed" or self.result.display.collapsed is False

    def _lines(self, console: Console, width: int) -> Iterator[SegmentLine]:
        if self.result.display.hidden:
            hidden = Text(f"(hidden) {self._head()}: {sanitize_line(self.result.summary, 200)}".rstrip(": "), "dim")
            yield from _render_texts(console, [hidden], width) if self.full else ()
            return
        parts = self.result.summary, self.title, self.state, self._file, self.result.title
        headed = self.header and (not self.is_expanded or any(parts) or self.seconds is not None)
        if headed:
            yield from _render_with_rich(console, self._make_state_line(), width)
        if self.is_expanded:
            indent = 2 if headed and width >= _MIN_INDENT_WIDTH else 0
            lines = chain(
                self._body(console, width - indent, width, headed), self._render_nested(console, width - indent)
            )
            for line in lines:
                yield [Segment(" " * indent), *line] if indent else line

    def _head(self) -> str:
        return self.title or self.result.title or self._file or self.result.kind

    @property
    def _file(self) -> str:
        """The path of the file that a diff changes, as one line."""
        return sanitize_line(get_changed_path(self.result), 200)

    def _make_state_line(self) -> StateLine:
        line = headline(self.result)
        state, gist = self.state or line.state, line.gist
        told = f"{gist} (+{line.gist_lines:,} lines)" if line.gist_lines else gist
        about, summary = self._head(), self.result.summary or ("" if self.is_expanded else told)
        # Do not repeat text that is already in the line or directly below it.
        if self.is_expanded and self.result.kind in ("error", "question") and gist.startswith(summary):
            summary = ""
        if self._file not in about:
            summary = f"{self._file}  {summary}".rstrip()
        if summary == about or summary.startswith(f"{about},"):
            about, summary = summary, ""
        return StateLine(state, about, summary, "" if self.seconds is None else format_duration(self.seconds))

    def _render_nested(self, console: Console, width: int) -> Iterator[SegmentLine]:
        """Yield the lines of nested results, each rendered by itself."""
        for label, each in iter_inner_results(self.result):
            drawing = ResultRenderable(
                each, self.full, sanitize_line(label, 200), side_by_side=self.side_by_side, inside=True
            )
            yield from drawing._lines(console, width)

    def _body(self, console: Console, width: int, terminal: int, headed: bool) -> Iterator[SegmentLine]:
        """Yield the lines of a custom renderer, else of the view; a failure is reported in its own line."""
        if has_only_results(self.result.data):
            return
        context = self._context(console, width, terminal)
        lines, failures = self._try_custom_renderer(context)
        if lines is None:
            lines, more = self._try_view(context)
            failures += more
        notes = [Text(sanitize_line(said, 300, context.encoding), "dim") for said in failures]
        if lines is None and not headed and self.result.summary and not any(iter_inner_results(self.result)):
            # If nothing could be rendered, there is always the summary.
            notes.append(Text(sanitize_line(self.result.summary, 300, context.encoding)))
        for note in notes:
            yield from _render_texts(console, Lines([note], words=True).fit(console, width, 3), width)
        yield from lines or ()

    def _try_custom_renderer(self, context: Context) -> _Attempt:
        kind = self.result.kind
        renderer = find_renderer(kind)
        if renderer is None:
            return None, []
        return _try_render(
            f"the renderer of {kind}", lambda: renderer(replace_inner_results(self.result), context), context
        )

    def _try_view(self, context: Context) -> _Attempt:
        view, unfit = build_body(self.result, Window(rows=context.height + 1, characters=context.line_limit))
        failures = [f"(the renderer of {self.result.kind} failed: {unfit})"] if unfit else []
        if view is None:
            return None, failures
        lines, more = _try_render(f"the renderer of {view.type}", lambda: render_body(view, context), context)
        return lines, failures + more

    def _context(self, console: Console, width: int, terminal: int) -> Context:
        display = self.result.display
        height = FULL_HEIGHT if self.full else min(display.max_height or DEFAULT_HEIGHT, FULL_HEIGHT)
        pairs = terminal >= SIDE_BY_SIDE_WIDTH if self.side_by_side is None else self.side_by_side
        return Context(console, width, height, self.full, pairs)


def make_renderable(
    result: Result,
    *,
    full: bool = False,
    title: str = "",
    state: str = "",
    seconds: float | None = None,
    header: bool = True,
    side_by_side: bool | None = None,
) -> ResultRenderable:
    """Return a result as something rich can print: one line by default.

    It is expanded with `full` (which ignores `max_height` and names hidden results), if it is an error, or if
    its hints say that it is not collapsed. `title` is the subject of the line, such as the call; `state` is
    one of `done`, `failed`, `waiting`, `stopped`, `open`. Without `header` an expanded result is its body
    alone. Diffs are side by side on a wide terminal, unless `side_by_side` is set.
    """
    return ResultRenderable(result, full, title, state, seconds, header, side_by_side)


def print_result(result: Result, console: Console | None = None, *, full: bool = False) -> None:
    """Print a result, by default to the terminal."""
    console = console if console is not None else contexts.make_console()
    if not result.display.hidden or full:
        console.print(make_renderable(result, full=full), end="", soft_wrap=False)


def sort_results(results: Iterable[Result]) -> list[Result]:
    """Return results by priority, the highest first; the order of equals is kept."""
    return sorted(results, key=lambda result: -(result.display.priority or 0))


def _try_render(name: str, make: Callable[[], RenderedBody], context: Context) -> _Attempt:
    # Renderers and highlighters may be third-party code: whatever they raise must not keep the rest from being
    # displayed.
    try:
        return _layout_rendered(make(), context), []
    except Exception as error:
        return None, [f"({name} failed: {_format_render_error(error)})"]


def _format_render_error(error: Exception) -> str:
    try:
        return f"{error}" if isinstance(error, InvalidField) else f"{type(error).__name__}: {error}"
    except Exception:
        # The `__str__` of a custom error may raise, too.
        return type(error).__name__


def _layout_rendered(body: RenderedBody, context: Context) -> list[SegmentLine]:
    """Return the output of a renderer as lines. Nothing is printed before all of it is known to work."""
    if isinstance(body, Lines):
        lines = body.fit(context.console, context.width, context.height)
        drawn = body.sequence if isinstance(body, DrawnImage) else ""
        # Rich neither measures nor changes control segments, and does not write them to files.
        image = [[Segment(drawn, None, [(ControlType.CARRIAGE_RETURN,)])]] if drawn else []
        return [*image, *_render_texts(context.console, lines, context.width)]
    if isinstance(body, str):
        body = Text(sanitize_text(body, context.encoding))
    from antiphon.terminal.markdown import SafeMarkdown

    rendered = _render_with_rich(context.console, body, context.width)
    lines = list(islice(rendered, context.height))
    more = sum(1 for _ in islice(rendered, MAX_COUNTED_LINES)) + (
        body.left_out if isinstance(body, SafeMarkdown) else 0
    )
    note = [Text(format_omitted_note(more, "line", more >= MAX_COUNTED_LINES), "dim italic")] if more else []
    return [*lines, *_render_texts(context.console, note, context.width)]


def _render_with_rich(console: Console, body: RenderableType, width: int) -> Iterator[SegmentLine]:
    options = console.options.update(width=width, height=None, highlight=False, markup=False)
    for line in Segment.split_and_crop_lines(console.render(body, options), width, pad=False, include_new_lines=False):
        yield _sanitize_line(line, width, console.encoding)


def _render_texts(console: Console, lines: Iterable[Text], width: int) -> Iterator[SegmentLine]:
    for line in lines:
        # `Text.render` ignores the text's own style unless it is part of another text.
        yield _sanitize_line(list(Text.assemble(line).render(console)), width, console.encoding)


def _sanitize_line(line: SegmentLine, width: int, encoding: str) -> SegmentLine:
    """Remove control sequences, links, and characters that the terminal cannot print, as the last step."""
    kept: SegmentLine = []
    for text, style, control in line:
        if control:
            continue
        if not is_sanitized(text) or "\t" in text:
            text = sanitize_text(text, encoding)
        if not is_unicode_encoding(encoding) and not text.isascii():
            text = text.translate(_ASCII_REPLACEMENTS).encode(encoding, "replace").decode(encoding)
        if style is not None and (style.link or style.meta):
            style = style.clear_meta_and_links()
        kept.append(Segment(text.replace("\n", " "), style))
    return _strip_trailing_spaces(Segment.adjust_line_length(kept, width, pad=False))


def _strip_trailing_spaces(line: SegmentLine) -> SegmentLine:
    """Return the line without trailing spaces, which matter only if they have a background colour."""
    while line and not (line[-1].style and line[-1].style.bgcolor):
        text, style, _ = line.pop()
        if text := text.rstrip(" "):
            return [*line, Segment(text, style)]
    return line
