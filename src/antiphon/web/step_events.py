"""Live events of the steps of one session for the page."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from antiphon.errors import NotSavedError
from antiphon.storage.sessions import count_children
from antiphon.storage.steps import StepRow, list_steps
from antiphon.views.markdown import MarkdownStream
from antiphon.web.steps import step_line_json
from antiphon.web.stored import session_json

if TYPE_CHECKING:
    from antiphon.durable import Journal
    from antiphon.durable.live_output import LiveSubscriber
    from antiphon.web.run_launcher import RunLauncher

#: The most steps in one event.
_MAX_STEPS = 1000
_OPEN_STATES = ("begun", "waiting")

#: The id of an event, its name and its data.
SseEvent = tuple[str, str, Any]


class StepTracker:
    """Tracks what a page has received of the steps of a session, and produces what is new."""

    def __init__(self, journal: Journal, going: RunLauncher, id: str, after: str = "") -> None:
        self.id = id
        self._journal = journal
        self._launcher = going
        before, _, seq = after.rpartition("/")
        #: How often the run was restarted from its beginning.
        self._generation = before or "0"
        self._last = int(seq) if seq.isdecimal() and seq.isascii() else -1
        self._open: dict[int, StepRow] = {}
        self._known: dict[str, Any] | None = None
        self._listener: LiveSubscriber | None = None
        #: Text that may be the beginning of a secret, by path.
        self._held: dict[str, tuple[int, str]] = {}
        self._markdown: dict[str, MarkdownStream] = {}

    # Stored steps

    def new(self) -> Generator[SseEvent]:
        """Yield the events since the last call."""
        try:
            known = {**session_json(self._journal, self.id), "stuck": self._launcher.failure(self.id)}
        except NotSavedError:
            if self._known != {}:
                self._known = {}
                yield "", "gone", self.id
            return
        yield from self._restart_events()
        if known != self._known:
            self._known = known
            yield "", "session", known
            return
        rows = self._changed()
        fresh = list_steps(self._journal.database, self.id, self._last, _MAX_STEPS)
        if not rows and not fresh:
            return
        for row in (*rows, *fresh):
            self._note(row)
        self._last = max([self._last, *(row.seq for row in fresh)])
        over = min(self._open, default=self._last + 1) - 1
        mark = str(over) if self._generation == "0" else f"{self._generation}/{over}"
        yield mark if over >= 0 else "", "steps", [step_line_json(self._journal, row) for row in (*rows, *fresh)]

    def _changed(self) -> list[StepRow]:
        """Return the steps that were sent unfinished and have changed since."""
        if not self._open:
            return []
        first, last = min(self._open), max(self._open)
        rows = list_steps(self._journal.database, self.id, first - 1, before=last + 1)
        return [row for row in rows if row.seq in self._open and row != self._open[row.seq]]

    def _note(self, row: StepRow) -> None:
        if row.state in _OPEN_STATES:
            self._open[row.seq] = row
        else:
            self._open.pop(row.seq, None)

    def _restart_events(self) -> Generator[SseEvent]:
        count = count_children(self._journal.database, self.id, "earlier")
        if str(count) != self._generation:
            self._generation, self._last, self._open = str(count), -1, {}
            yield "", "anew", self.id

    # Live output

    @property
    def has_live_output(self) -> bool:
        """True if a process of this machine may be producing model output."""
        return bool(self._known and self._known["isRun"]) and self._journal.live_output is not None

    def take_live_output(self) -> Generator[dict[str, Any]]:
        """Yield new output of unfinished model replies."""
        live = self._journal.live_output
        if live is None or not self.has_live_output:
            return
        if self._listener is None:
            live.remove_stale()
            self._listener = live.subscribe(self.id)
        for piece in self._listener.read_new():
            number, held = self._held[piece.path] if piece.before else (0, "")
            text = held + piece.text
            # A secret may be known to this process and not to the one that wrote the output.
            end = self._journal.secret_refs.find_safe_end(text)
            self._held[piece.path] = number + bool(end), text[end:]
            if end:
                if not number:
                    self._markdown[piece.path] = MarkdownStream()
                said = self._markdown[piece.path].feed(text[:end]).to_json()
                yield {"run": self.id, "path": piece.path, "number": number, "said": said}
