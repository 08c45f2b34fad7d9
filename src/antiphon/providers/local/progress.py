"""How far a pull has come, for a callback or for people: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from antiphon.providers.local.manifest import Weights, size


@dataclass(frozen=True, slots=True)
class Report:
    """How many bytes are there, of how many; `note` says what is being done."""

    weights: Weights
    done: int
    note: str


#: Told several times a second. What it raises ends the pull; what has come is kept for the next.
Progress = Callable[[Report], None]


@contextmanager
def shown() -> Generator[Progress]:
    """A callback that tells people on standard error; it says nothing until there is something to fetch."""
    with ExitStack() as stack:
        yield _Bar(stack) if sys.stderr.isatty() else _Lines()


def headline(weights: Weights) -> str:
    """What is about to be fetched: size, licence, and who published it."""
    return f"{weights.title}: {size(weights.bytes)}, licence {weights.licence}, published at {weights.origin}"


class _Lines:
    """A line when the work changes, and one for each tenth."""

    def __init__(self) -> None:
        self.note = ""
        self.tenth = 0

    def __call__(self, report: Report) -> None:
        if not self.note:
            self.tell(headline(report.weights))
        tenth = report.done * 10 // report.weights.bytes
        if report.note != self.note:
            self.tell(f"{report.weights.name}: {report.note}")
        elif tenth > self.tenth:
            self.tell(f"{report.weights.name}: {tenth * 10} % ({size(report.done)} of {size(report.weights.bytes)})")
        self.note, self.tenth = report.note, tenth

    def tell(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class _Bar:
    """A bar of `rich`, started by the first report."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.update: Callable[[Report], None] | None = None

    def __call__(self, report: Report) -> None:
        if self.update is None:
            self.update = self.start(report.weights)
        self.update(report)

    def start(self, weights: Weights) -> Callable[[Report], None]:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        console.print(headline(weights), markup=False, highlight=False)
        text = TextColumn("{task.description}", markup=False)
        bar = Progress(text, BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=console)
        self.stack.enter_context(bar)
        task = bar.add_task(weights.name, total=weights.bytes)
        return lambda report: bar.update(
            task, completed=report.done, description=f"{report.weights.name}: {report.note}"
        )
