"""A run that a page looks at: what it was told of it, and what is new."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from antiphon.errors import NotSavedError
from antiphon.views.markdown import MarkdownStream
from antiphon.web.steps import line
from antiphon.web.stored import STEP, rows_after, run

if TYPE_CHECKING:
    from antiphon.journal import Journal
    from antiphon.journal.live import Hearing
    from antiphon.web.going import Going

#: Steps in one event.
_BATCH = 1000
_OPEN = ("begun", "waiting")

#: The id of an event, its name and its data.
Event = tuple[str, str, Any]


class RunWatch:
    """Knows what a page was told of a run, and what is new for it."""

    def __init__(self, journal: Journal, going: Going, id: str, after: str = "") -> None:
        self.id = id
        self._journal = journal
        self._going = going
        before, _, seq = after.rpartition("/")
        #: How often what the run did was set aside: then it began anew.
        self._generation = before or "0"
        self._last = int(seq) if seq.isdecimal() and seq.isascii() else -1
        self._open: dict[int, tuple[Any, ...]] = {}
        self._known: dict[str, Any] | None = None
        self._hearing: Hearing | None = None
        #: What may be the beginning of a key, by path.
        self._held: dict[str, tuple[int, str]] = {}
        self._markdown: dict[str, MarkdownStream] = {}

    # What is written down

    def new(self) -> Generator[Event]:
        """What has happened since the last time."""
        try:
            known = {**run(self._journal, self.id), "stuck": self._going.failure(self.id)}
        except NotSavedError:
            if self._known != {}:
                self._known = {}
                yield "", "gone", self.id
            return
        yield from self._begun_anew()
        if known != self._known:
            self._known = known
            yield "", "run", known
            return
        rows = self._changed()
        fresh = rows_after(self._journal, self.id, self._last, _BATCH)
        if not rows and not fresh:
            return
        for row in (*rows, *fresh):
            self._note(row)
        self._last = max([self._last, *(row[0] for row in fresh)])
        over = min(self._open, default=self._last + 1) - 1
        mark = str(over) if self._generation == "0" else f"{self._generation}/{over}"
        yield mark if over >= 0 else "", "steps", [line(self._journal, row) for row in (*rows, *fresh)]

    def _changed(self) -> list[tuple[Any, ...]]:
        """Steps that were not over when they were sent, and are not what they were."""
        if not self._open:
            return []
        first, last = min(self._open), max(self._open)
        rows = self._journal.read(
            f"SELECT {STEP} FROM effects WHERE run = ? AND seq >= ? AND seq <= ? ORDER BY seq", (self.id, first, last)
        )
        return [row for row in map(tuple, rows) if row[0] in self._open and row != self._open[row[0]]]

    def _note(self, row: tuple[Any, ...]) -> None:
        if row[5] in _OPEN:
            self._open[row[0]] = tuple(row)
        else:
            self._open.pop(row[0], None)

    def _begun_anew(self) -> Generator[Event]:
        ((count,),) = self._journal.read(
            "SELECT count(*) FROM runs WHERE parent = ? AND kind = 'earlier'", (self.id,)
        ) or [(0,)]
        if str(count) != self._generation:
            self._generation, self._last, self._open = str(count), -1, {}
            yield "", "anew", self.id

    # What is being said

    @property
    def listens(self) -> bool:
        """Whether a process of this machine may say something that is not over."""
        return bool(self._known and self._known["isRun"]) and self._journal.live is not None

    def heard(self) -> Generator[dict[str, Any]]:
        """What models say and have not said to the end, as far as it is new."""
        live = self._journal.live
        if live is None or not self.listens:
            return
        if self._hearing is None:
            live.sweep()
            self._hearing = live.hear(self.id)
        for piece in self._hearing.new():
            number, held = self._held[piece.path] if piece.before else (0, "")
            text = held + piece.text
            # What one process does not know as a key another one may.
            end = self._journal.withheld.sure(text)
            self._held[piece.path] = number + bool(end), text[end:]
            if end:
                if not number:
                    self._markdown[piece.path] = MarkdownStream()
                said = self._markdown[piece.path].feed(text[:end]).to_json()
                yield {"run": self.id, "path": piece.path, "number": number, "said": said}
