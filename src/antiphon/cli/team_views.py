"""Display a running team: a line for each message, or live lines in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from antiphon.cli.team_told import describe_setbacks, format_message, format_usage
from antiphon.team.queries import describe_event
from antiphon.terminal import make_console
from antiphon.terminal.live_region import LiveRegion
from antiphon.terminal.scrollback import Scrollback
from antiphon.terminal.state_lines import first_safe_line, format_tool_call, truncate_cells
from antiphon.views.run_state import RunViews

if TYPE_CHECKING:
    from antiphon.session import Event
    from antiphon.team import ChannelMessage, Task, Team

#: The sign of each state of a task; the second is for terminals that have only ASCII.
_MARKS = {"merged": ("✓", "+"), "rejected": ("✗", "x"), "human": ("?", "?"), "planned": ("·", ".")}
_AT_WORK = ("▸", ">")
_ACTIVITIES = {"waiting": "asking its model"}
_ALONE = {"testing": "running the tests", "merging": "merging"}


class TeamLines:
    """Prints each message after the message `last`."""

    def __init__(self, last: int) -> None:
        self.last = last

    def take(self, message: ChannelMessage) -> None:
        """Display a new message."""
        self.last = message.id
        print_lines(format_message(message))

    def watch(self, agent: str, event: Event) -> None:
        """Ignore activities of agents."""

    @contextmanager
    def quiet(self) -> Generator[None]:
        """Do nothing: there is no live display."""
        yield

    def close(self) -> None:
        """Do nothing."""


class LiveTeamView:
    """Live lines: one for each task, the newest message, and the usage.

    `seen` is the team as read for display, `at_work` the running one.
    """

    def __init__(self, seen: Team, at_work: Team) -> None:
        self.last = seen.state.last
        self._seen, self._at_work = seen, at_work
        self._runs: dict[str, RunViews] = {}
        self._newest: ChannelMessage | None = None
        self._began = time.monotonic()
        self._moving = LiveRegion(make_console(), self)
        self._moving.start()

    def take(self, message: ChannelMessage) -> None:
        """Display a new message."""
        self.last = message.id
        if message.data.get("fact") not in ("turn", "turned"):
            self._newest = message

    def watch(self, agent: str, event: Event) -> None:
        """Display the activity of an agent."""
        self._runs.setdefault(agent, RunViews()).take(event)

    @contextmanager
    def quiet(self) -> Generator[None]:
        """Stop the live display while the user is asked."""
        self.close()
        try:
            yield
        finally:
            self._moving.start()

    def close(self) -> None:
        """Restore the terminal."""
        self._moving.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        state, width = self._seen.state, options.max_width
        tasks, turns = list(state.tasks.values()), [each for each in list(state.turns.values()) if not each.paused]
        room = max(options.size.height - 4 - len(turns), 1)
        shown = tasks if len(tasks) <= room else [each for each in tasks if not each.is_over][:room]
        for task in shown:
            agent = next((each.begun.agent for each in turns if each.begun.task == task.id), "")
            yield self._task(task, agent, options)
        for turn in turns:
            if turn.begun.task not in state.tasks:
                yield _make_row(_AT_WORK, turn.begun.agent, self._doing(turn.begun.agent), options)
        if self._newest is not None:
            yield Text(
                truncate_cells(first_safe_line(_format_newest(self._newest), options.encoding), width), "", no_wrap=True
            )
        spent = format_usage(self._at_work.budget.spent.requests, self._at_work.budget.spent.cost)
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        took = f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"
        about = " · ".join([f"team {self._seen.id}", spent, took, "Ctrl-C suspends it"])
        yield Text(truncate_cells(first_safe_line(about, options.encoding), width), "dim", no_wrap=True)

    def _task(self, task: Task, agent: str, options: ConsoleOptions) -> Text:
        doing = f"{agent}: {self._doing(agent)}" if agent else _ALONE.get(task.state, "")
        coder = task.coder if agent != task.coder and not task.is_over else ""
        note = " · ".join(filter(None, [task.state, coder, describe_setbacks(task), doing]))
        return _make_row(_MARKS.get(task.state, _AT_WORK), f"{task.id}. {task.title}", note, options)

    def _doing(self, agent: str) -> str:
        views = self._runs.get(agent)
        active = list(views.runs.values())[-1:] if views else []
        if not active or active[0].ended is not None:
            return "starting"
        calls = list(active[0].calls.values())
        return format_tool_call(calls[-1].call) if calls else _ACTIVITIES.get(active[0].activity, active[0].activity)


def _make_row(mark: tuple[str, str], head: str, note: str, options: ConsoleOptions) -> Text:
    sign = mark[1] if options.ascii_only else mark[0]
    width = options.max_width
    first = truncate_cells(first_safe_line(head, options.encoding), max(width // 2 - 2, 1))
    rest = truncate_cells(first_safe_line(note, options.encoding), max(width - cell_len(first) - 4, 1))
    return Text.assemble((sign, "cyan"), f" {first}", (f"  {rest}", "dim"), no_wrap=True, overflow="crop")


def _format_newest(message: ChannelMessage) -> str:
    return describe_event(message) if message.kind == "fact" else f"{message.author}: {message.text}"


def can_redraw() -> bool:
    """Return whether standard output is a terminal with cursor control."""
    return not Scrollback(make_console()).is_plain


def print_lines(text: str) -> None:
    """Print lines in one piece, with characters escaped that the encoding lacks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
