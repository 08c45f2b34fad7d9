"""A result in the terminal: one line, or opened; whatever is in it, no wider than the terminal and harmless."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import ControlType, Segment
from rich.text import Text

from antiphon.render import context as contexts
from antiphon.render.context import FULL_HEIGHT, HEIGHT, SIDE_BY_SIDE, Context
from antiphon.render.drawers import draw
from antiphon.render.images import Picture
from antiphon.render.layout import COUNTED, Lines, left_out
from antiphon.render.lines import StateLine, duration
from antiphon.render.registry import Drawn, renderer_for
from antiphon.render.safe import is_safe, is_utf8, safe, safe_line
from antiphon.results import Result
from antiphon.results.nested import is_all_results
from antiphon.views import Unfit, headline
from antiphon.views.choice import body_of, changed_file, labelled, without_inner
from antiphon.views.part import Part

#: From this width on, what is opened stands a little to the right of its line.
_INDENTED = 40
_ASCII = str.maketrans({"•": "*", "▌": "|", "─": "-", "━": "-", "│": "|", "┃": "|", "…": "~", "×": "x", "→": ">"})

Line = list[Segment]
#: The lines that came of an attempt, if it worked; and what is to be said about it.
_Tried = tuple[list[Line] | None, list[str]]


@dataclass(frozen=True, slots=True)
class Drawing:
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
        return (
            bool(self.result.summary or self.title or self.state or self._file or self.result.title)
            or self.seconds is not None
        )

    def _head(self) -> str:
        return self.title or self.result.title or self._file or self.result.kind

    @property
    def _file(self) -> str:
        """The file that a diff changes, in a line."""
        return safe_line(changed_file(self.result), 200)

    def _state_line(self) -> StateLine:
        line = headline(self.result)
        state, gist = self.state or line.state, line.gist
        told = f"{gist} (+{line.gist_lines:,} lines)" if line.gist_lines else gist
        about, summary = self._head(), self.result.summary or ("" if self.opened else told)
        # What stands in the line already, or right below it, is not said twice.
        if self.opened and self.result.kind in ("error", "question") and gist.startswith(summary):
            summary = ""
        if self._file not in about:
            summary = f"{self._file}  {summary}".rstrip()
        if summary == about or summary.startswith(f"{about},"):
            about, summary = summary, ""
        return StateLine(state, about, summary, "" if self.seconds is None else duration(self.seconds))

    def _nested(self, console: Console, width: int) -> Iterator[Line]:
        """The results in the data, each drawn as itself."""
        for label, each in labelled(self.result):
            drawing = Drawing(each, self.full, safe_line(label, 200), side_by_side=self.side_by_side, inside=True)
            yield from drawing._lines(console, width)

    def _body(self, console: Console, width: int, terminal: int, headed: bool) -> Iterator[Line]:
        """What a renderer of others draws, else the view; what fails is named in a line of its own."""
        if is_all_results(self.result.data):
            return
        context = self._context(console, width, terminal)
        lines, failures = self._by_renderer(context)
        if lines is None:
            lines, more = self._by_view(context)
            failures += more
        notes = [Text(safe_line(said, 300, context.encoding), "dim") for said in failures]
        if lines is None and not headed and self.result.summary and not any(labelled(self.result)):
            # Whatever could not be drawn, there is always the summary.
            notes.append(Text(safe_line(self.result.summary, 300, context.encoding)))
        for note in notes:
            yield from _printable(console, Lines([note], words=True).fit(console, width, 3), width)
        yield from lines or ()

    def _by_renderer(self, context: Context) -> _Tried:
        """What the renderer makes of the result that somebody registered for its kind."""
        kind = self.result.kind
        renderer = renderer_for(kind)
        if renderer is None:
            return None, []
        return _tried(f"the renderer of {kind}", lambda: renderer(without_inner(self.result), context), context)

    def _by_view(self, context: Context) -> _Tried:
        """What is to be seen of the result, drawn."""
        view, unfit = body_of(self.result, Part(rows=context.height + 1, characters=context.line_limit))
        failures = [f"(the renderer of {self.result.kind} failed: {unfit})"] if unfit else []
        if view is None:
            return None, failures
        lines, more = _tried(f"the drawer of {view.type}", lambda: draw(view, context), context)
        return lines, failures + more

    def _context(self, console: Console, width: int, terminal: int) -> Context:
        display = self.result.display
        height = FULL_HEIGHT if self.full else min(display.max_height or HEIGHT, FULL_HEIGHT)
        pairs = terminal >= SIDE_BY_SIDE if self.side_by_side is None else self.side_by_side
        return Context(console, width, height, self.full, pairs)


def renderable(
    result: Result,
    *,
    full: bool = False,
    title: str = "",
    state: str = "",
    seconds: float | None = None,
    header: bool = True,
    side_by_side: bool | None = None,
) -> Drawing:
    """A result as something rich can print: one line by default.

    It opens when `full` is asked for (then `max_height` is not heeded, and hidden results are named), when it is an
    error, and when its hints say that it is not to be collapsed. `title` is what the line is about, such as the call;
    `state` is one of `done`, `failed`, `waiting`, `stopped`, `open`. Without `header` an opened result is its body
    alone. Diffs are side by side where the terminal is wide, unless `side_by_side` says otherwise.
    """
    return Drawing(result, full, title, state, seconds, header, side_by_side)


def print_result(result: Result, console: Console | None = None, *, full: bool = False) -> None:
    """Print a result, by default to the terminal."""
    console = console if console is not None else contexts.console()
    if not result.display.hidden or full:
        console.print(renderable(result, full=full), end="", soft_wrap=False)


def ordered(results: Iterable[Result]) -> list[Result]:
    """Results by their priority, the highest first; among equals the order stays."""
    return sorted(results, key=lambda result: -(result.display.priority or 0))


def _tried(name: str, make: Callable[[], Drawn], context: Context) -> _Tried:
    # A renderer may be anybody's, and so may what colours code: whatever it raises must not keep the rest from being
    # shown.
    try:
        return _laid_out(make(), context), []
    except Exception as error:
        return None, [f"({name} failed: {_reason(error)})"]


def _reason(error: Exception) -> str:
    try:
        return f"{error}" if isinstance(error, Unfit) else f"{type(error).__name__}: {error}"
    except Exception:
        # An error of somebody's own may not even be able to say what it is.
        return type(error).__name__


def _laid_out(body: Drawn, context: Context) -> list[Line]:
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
