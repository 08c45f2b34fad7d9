"""How far a batch of rows is: a bar on standard error, where that alone is a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from antiphon.cli.talk.printing import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from antiphon.runs.mapping import RowResult


class Rowing:
    """Counts rows, what they cost and how many failed, with their rate and the time that is left."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._cost = 0.0
        self._failed = 0
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Rowing:
        # Where the rows themselves are seen, they tell how far it is, and would tear the bar.
        if is_terminal(sys.stderr) and not is_terminal(sys.stdout):
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            from antiphon.render import console

            self._progress = Progress(
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[said]}"),
                TimeRemainingColumn(),
                console=console(sys.stderr),
            )
            self._progress.start()
            self._task = self._progress.add_task("", total=self._count, said="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self, result: RowResult) -> None:
        """One row more is over."""
        self._cost += result.cost or 0.0
        self._failed += result.outcome != "done"
        if self._progress is not None and self._task is not None:
            task = self._progress.tasks[0]
            rate = f"{task.speed:.1f} rows/s" if task.speed else ""
            failed = f"{self._failed} not done" if self._failed else ""
            cost = f"${self._cost:.4f}" if self._cost else ""
            said = " · ".join(part for part in (rate, cost, failed) if part)
            self._progress.update(self._task, advance=1, said=said)
