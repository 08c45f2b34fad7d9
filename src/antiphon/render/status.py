"""The last lines of a terminal while a session runs: what it does now, for how long, and what was used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

from antiphon.render.blocks import Blocks
from antiphon.render.lines import call_head, duration, fit, indentation, one_line, spent
from antiphon.render.scroll import Indented, markdown
from antiphon.render.style import ACCENT
from antiphon.session import UsageChanged
from antiphon.views.run import RunningCall, RunView
from antiphon.wire import Usage

#: So many running calls have a line of their own.
CALLS = 4
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "-\\|/"


@dataclass(frozen=True, slots=True)
class Now:
    """What is going on at one moment. `speech` is what is being said so far, and `depth` that of the run that says it;
    `is_apart` if something stands above it.
    """

    time: float
    began: float
    activity: str
    running: list[RunningCall]
    speech: Blocks | None
    is_apart: bool
    depth: int
    thought: str
    usage: Usage
    cost: float | None


def now_of(active: list[RunView], time: float, speech: Blocks | None, *, is_apart: bool = False) -> Now:
    """The moment of runs that are not over, the outermost first; the innermost is what is looked at."""
    outermost, deepest = (active[0], active[-1]) if active else (RunView("", began=time),) * 2
    running = [call for run in active for call in list(run.calls.values())]
    calls = "1 call" if len(running) == 1 else f"{len(running)} calls"
    return Now(
        time,
        outermost.began,
        calls if running and not deepest.questions else deepest.activity,
        running,
        speech,
        is_apart,
        deepest.depth,
        "".join(deepest.thoughts[-50:]),
        outermost.usage,
        outermost.cost,
    )


class Status:
    """Draws a moment; asked anew for every refresh, so that what is shown is never older than that."""

    def __init__(self, now: Callable[[], Now]) -> None:
        self._now = now
        #: What was drawn of the text last, and what that was: much of the time, only the spinner moves.
        self._text: tuple[object, list[list[Segment]]] = (None, [])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        now = self._now()
        width = options.max_width
        # Room for the lines about calls, the last line with one above it, and one of the scrollback.
        calls = min(CALLS, max(options.size.height - 2, 0))
        tail = max(options.size.height - 3 - min(len(now.running), calls + 1), 0)
        frames = _PLAIN_FRAMES if options.ascii_only else _FRAMES
        frame = frames[int(now.time * 10) % len(frames)]
        yield from self._unfinished(now, tail, console, options)
        for running in now.running[:calls]:
            yield _running_line(running, now, frame, options)
        if len(now.running) > calls:
            yield _faint(f"  and {len(now.running) - calls} more", width)
        used = spent(now.usage, now.cost)
        told = " · ".join([now.activity, duration(now.time - now.began), *used])
        yield _faint(f"{frame} {one_line(told, options.encoding)}", width, options)

    def _unfinished(self, now: Now, count: int, console: Console, options: ConsoleOptions) -> RenderResult:
        """The end of the text that is being written, or of the thought."""
        if not count:
            return
        if now.thought:
            thought = next((line for line in reversed(now.thought.splitlines()) if line.strip()), "")
            yield _faint(one_line(thought[-options.max_width :], options.encoding), options.max_width, options)
        elif now.speech is not None and (rest := now.speech.rest(count, options.max_width)).strip():
            rows = self._drawn(rest, now.depth, console, options)
            for row in [*([[]] if now.is_apart else []), *rows, []][-count - 1 :]:
                yield from row
                yield Segment.line()

    def _drawn(self, text: str, depth: int, console: Console, options: ConsoleOptions) -> list[list[Segment]]:
        if self._text[0] != (text, depth, options.max_width):
            rows = console.render_lines(Indented(markdown(text), 2 * depth), options, pad=False)
            self._text = (text, depth, options.max_width), rows
        return self._text[1]


def total(used: Iterable[UsageChanged]) -> tuple[Usage, float | None]:
    """What several runs used together; a cost is known only if all are."""
    each = list(used)
    incoming = [u.usage.input_tokens for u in each if u.usage.input_tokens is not None]
    outgoing = [u.usage.output_tokens for u in each if u.usage.output_tokens is not None]
    costs = [u.cost for u in each if u.cost is not None]
    usage = Usage(sum(incoming) if incoming else None, sum(outgoing) if outgoing else None)
    return usage, sum(costs) if costs and len(costs) == len(each) else None


def _running_line(running: RunningCall, now: Now, frame: str, options: ConsoleOptions) -> Text:
    indent = indentation(2 * running.depth, options.max_width)
    note = duration(now.time - running.since)
    room = max(options.max_width - indent - 4 - len(note), 1)
    head = fit(one_line(call_head(running.call), options.encoding), room, _more(options))
    return Text.assemble(" " * indent, (frame, ACCENT), f" {head}", (f"  {note}", "dim"), no_wrap=True, overflow="crop")


def _faint(text: str, width: int, options: ConsoleOptions | None = None) -> Text:
    return Text(fit(text, width, _more(options)), "dim", no_wrap=True, overflow="crop")


def _more(options: ConsoleOptions | None) -> str:
    return "..." if options is not None and options.ascii_only else "…"
