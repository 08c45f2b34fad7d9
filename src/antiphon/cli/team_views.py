"""A team at work, as it is seen: lines as things happen, or a few that move in a terminal."""

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

from antiphon.cli.team_told import progress, told, used
from antiphon.team.queries import describe_event
from antiphon.terminal import console
from antiphon.terminal import live_region as moving
from antiphon.terminal.scrollback import Scrollback
from antiphon.terminal.state_lines import first_safe_line, format_tool_call, truncate_cells
from antiphon.views.run_state import RunViews

if TYPE_CHECKING:
    from antiphon.session import Event
    from antiphon.team import ChannelMessage, Task, Team

#: The sign of each state of a task; the second is for terminals that have only ASCII.
_MARKS = {"merged": ("✓", "+"), "rejected": ("✗", "x"), "human": ("?", "?"), "planned": ("·", ".")}
_AT_WORK = ("▸", ">")
_ACTIVITIES = {"waiting": "asks its model"}
_ALONE = {"testing": "the machine runs the tests", "merging": "is being merged"}


class Lines:
    """Prints each thing that happens after a message, once."""

    def __init__(self, last: int) -> None:
        self.last = last

    def take(self, message: ChannelMessage) -> None:
        """Something was said, or has happened."""
        self.last = message.id
        write(told(message))

    def watch(self, agent: str, event: Event) -> None:
        """What an agent does in between is not told."""

    @contextmanager
    def quiet(self) -> Generator[None]:
        """Nothing moves here."""
        yield

    def close(self) -> None:
        """Nothing is left to give back."""


class Moving:
    """One line for each task, the newest message, and what was used, at the end of a terminal.

    `seen` is the team as whoever looks on knows it, `at_work` the one that works.
    """

    def __init__(self, seen: Team, at_work: Team) -> None:
        self.last = seen.state.last
        self._seen, self._at_work = seen, at_work
        self._runs: dict[str, RunViews] = {}
        self._newest: ChannelMessage | None = None
        self._began = time.monotonic()
        self._moving = moving.LiveRegion(console(), self)
        self._moving.start()

    def take(self, message: ChannelMessage) -> None:
        """Something was said, or has happened."""
        self.last = message.id
        if message.data.get("fact") not in ("turn", "turned"):
            self._newest = message

    def watch(self, agent: str, event: Event) -> None:
        """What an agent does."""
        self._runs.setdefault(agent, RunViews()).take(event)

    @contextmanager
    def quiet(self) -> Generator[None]:
        """While a person is asked, nothing moves."""
        self.close()
        try:
            yield
        finally:
            self._moving.start()

    def close(self) -> None:
        """Give the terminal back."""
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
                yield _row(_AT_WORK, turn.begun.agent, self._doing(turn.begun.agent), options)
        if self._newest is not None:
            yield Text(
                truncate_cells(first_safe_line(_newest(self._newest), options.encoding), width), "", no_wrap=True
            )
        spent = used(self._at_work.budget.requests, self._at_work.budget.cost)
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        took = f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"
        about = " · ".join([f"team {self._seen.id}", spent, took, "Ctrl-C leaves it as it is"])
        yield Text(truncate_cells(first_safe_line(about, options.encoding), width), "dim", no_wrap=True)

    def _task(self, task: Task, agent: str, options: ConsoleOptions) -> Text:
        doing = f"{agent}: {self._doing(agent)}" if agent else _ALONE.get(task.state, "")
        coder = task.coder if agent != task.coder and not task.is_over else ""
        note = " · ".join(filter(None, [task.state, coder, progress(task), doing]))
        return _row(_MARKS.get(task.state, _AT_WORK), f"{task.id}. {task.title}", note, options)

    def _doing(self, agent: str) -> str:
        views = self._runs.get(agent)
        active = list(views.runs.values())[-1:] if views else []
        if not active or active[0].ended is not None:
            return "begins"
        calls = list(active[0].calls.values())
        return format_tool_call(calls[-1].call) if calls else _ACTIVITIES.get(active[0].activity, active[0].activity)


def _row(mark: tuple[str, str], head: str, note: str, options: ConsoleOptions) -> Text:
    sign = mark[1] if options.ascii_only else mark[0]
    width = options.max_width
    first = truncate_cells(first_safe_line(head, options.encoding), max(width // 2 - 2, 1))
    rest = truncate_cells(first_safe_line(note, options.encoding), max(width - cell_len(first) - 4, 1))
    return Text.assemble((sign, "cyan"), f" {first}", (f"  {rest}", "dim"), no_wrap=True, overflow="crop")


def _newest(message: ChannelMessage) -> str:
    return describe_event(message) if message.kind == "fact" else f"{message.author}: {message.text}"


def is_moving() -> bool:
    """Whether there is a terminal on which lines can move."""
    return not Scrollback(console()).is_plain


def write(text: str) -> None:
    """Print lines at once, and in one piece."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
