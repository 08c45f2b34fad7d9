"""The status lines of a running session: its activity, duration and usage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

from antiphon.terminal.markdown_blocks import MarkdownBlocks
from antiphon.terminal.scrollback import IndentedRenderable, make_markdown
from antiphon.terminal.state_lines import (
    first_safe_line,
    format_duration,
    format_tool_call,
    format_usage,
    limit_indent,
    truncate_cells,
)
from antiphon.terminal.theme import ACCENT
from antiphon.views.run_state import RunningCall, RunView
from antiphon.wire import Usage

#: Maximum number of running calls with a line of their own.
MAX_CALL_LINES = 4
#: Maximum number of lines of a running command.
MAX_OUTPUT_LINES = 5
MAX_TYPED_LINES = 4
_SPINNER_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_SPINNER_FRAMES = "-\\|/"


@dataclass(frozen=True, slots=True)
class StatusSnapshot:
    """The activity at one moment: the active runs, the outermost first; the innermost one determines the activity.

    `speech` is the text so far, and `is_apart` says that there is output above it. A person was waited for so many
    seconds, which do not count.
    """

    active: list[RunView]
    time: float
    speech: MarkdownBlocks | None
    is_apart: bool = False
    waited: float = 0.0
    #: The end of what a running command has printed.
    output: str = ""
    #: What the person types meanwhile, a line for each message.
    typed: tuple[str, ...] = ()

    @property
    def outermost(self) -> RunView:
        """The outermost run."""
        return self.active[0] if self.active else RunView("", began=self.time)

    @property
    def usage(self) -> Usage:
        """The usage of the outermost run, which includes that of the inner ones."""
        return self.outermost.usage

    @property
    def cost(self) -> float | None:
        """The cost of the outermost run, which includes that of the inner ones."""
        return self.outermost.cost


class StatusRenderable:
    """Renders a snapshot; a new one is requested for every refresh."""

    def __init__(self, now: Callable[[], StatusSnapshot]) -> None:
        self._now = now
        #: The last rendered text with its inputs: most of the time only the spinner changes.
        self._text: tuple[object, list[list[Segment]]] = (None, [])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        now = self._now()
        width = options.max_width
        deepest = now.active[-1] if now.active else now.outermost
        calls_now = [call for run in now.active for call in list(run.calls.values())]
        activity = deepest.activity
        if calls_now and not deepest.questions:
            activity = "1 call" if len(calls_now) == 1 else f"{len(calls_now)} calls"
        # Leave room for the call lines, the status line with one above it, and one line of scrollback.
        calls = min(MAX_CALL_LINES, max(options.size.height - 2, 0))
        output = _last_output_lines(now.output if calls_now else "", max(options.size.height - 6, 0), options)
        typed = [first_safe_line(line, options.encoding) for line in now.typed][-MAX_TYPED_LINES:]
        tail = max(options.size.height - 3 - min(len(calls_now), calls + 1) - len(output) - len(typed), 0)
        frames = _ASCII_SPINNER_FRAMES if options.ascii_only else _SPINNER_FRAMES
        frame = frames[int(now.time * 10) % len(frames)]
        yield from self._render_unfinished(now, deepest, tail, console, options)
        for running in calls_now[:calls]:
            yield _render_running_call(running, now, frame, options)
        for line in output:
            yield _make_dim_line(f"    {line}", width, options)
        if len(calls_now) > calls:
            yield _make_dim_line(f"  and {len(calls_now) - calls} more", width)
        used = format_usage(now.usage, now.cost)
        told = " · ".join([activity, format_duration(now.time - now.outermost.began - now.waited), *used])
        yield _make_dim_line(f"{frame} {first_safe_line(told, options.encoding)}", width, options)
        for line in typed:
            # The end of what is being typed is what one looks at.
            room = max(width - 1, 1)
            yield Text(line if len(line) <= room else line[-room:], no_wrap=True, overflow="crop")

    def _render_unfinished(
        self, now: StatusSnapshot, deepest: RunView, count: int, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        """Yield the end of the text that is being written, or of the reasoning."""
        if not count:
            return
        if thoughts := "".join(deepest.thoughts[-50:]):
            thought = next((line for line in reversed(thoughts.splitlines()) if line.strip()), "")
            yield _make_dim_line(
                first_safe_line(thought[-options.max_width :], options.encoding), options.max_width, options
            )
        elif now.speech is not None and (rest := now.speech.rest(count, options.max_width)).strip():
            rows = self._drawn(rest, deepest.depth, console, options)
            for row in [*([[]] if now.is_apart else []), *rows, []][-count - 1 :]:
                yield from row
                yield Segment.line()

    def _drawn(self, text: str, depth: int, console: Console, options: ConsoleOptions) -> list[list[Segment]]:
        if self._text[0] != (text, depth, options.max_width):
            rows = console.render_lines(IndentedRenderable(make_markdown(text), 2 * depth), options, pad=False)
            self._text = (text, depth, options.max_width), rows
        return self._text[1]


def _render_running_call(running: RunningCall, now: StatusSnapshot, frame: str, options: ConsoleOptions) -> Text:
    indent = limit_indent(2 * running.depth, options.max_width)
    note = format_duration(now.time - running.since)
    if running.progress:
        told = first_safe_line(running.progress, options.encoding)
        note = f"{truncate_cells(told, options.max_width // 2, _ellipsis(options))}  {note}"
    room = max(options.max_width - indent - 4 - len(note), 1)
    head = truncate_cells(first_safe_line(format_tool_call(running.call), options.encoding), room, _ellipsis(options))
    return Text.assemble(" " * indent, (frame, ACCENT), f" {head}", (f"  {note}", "dim"), no_wrap=True, overflow="crop")


def _make_dim_line(text: str, width: int, options: ConsoleOptions | None = None) -> Text:
    return Text(truncate_cells(text, width, _ellipsis(options)), "dim", no_wrap=True, overflow="crop")


def _last_output_lines(output: str, room: int, options: ConsoleOptions) -> list[str]:
    """Return the last lines that a running command has printed."""
    # A carriage return begins a line anew, as progress bars do.
    found = [line.rstrip().rpartition("\r")[2] for line in output.split("\n")]
    shown = [first_safe_line(line, options.encoding) for line in found if line.strip()]
    return shown[-min(MAX_OUTPUT_LINES, room) :] if room else []


def _ellipsis(options: ConsoleOptions | None) -> str:
    return "..." if options is not None and options.ascii_only else "…"
