"""The journal of a chat: interrupted answers and open questions can be resumed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from antiphon.conversation import Conversation, UserPart
from antiphon.durable import ActiveRun, Journal, JournalFailed, RunEntry
from antiphon.effects import HumanAnswer, outcome_from_json
from antiphon.errors import AntiphonError, StoreError
from antiphon.session import Question, UsageChanged
from antiphon.session.tool_calls import QUESTION_SUFFIXES
from antiphon.storage.store_location import get_store_path, is_saving_off

#: Seconds between checks for answers in the journal.
_POLL_SECONDS = 0.2
#: The number of newest runs that are listed.
_MAX_RUNS = 200


class ChatJournal(Journal):
    """The journal of one chat. `about` returns the launch data to open the chat again."""

    def __init__(self, command: str, about: Callable[[], dict[str, Any]], place: str | None = None) -> None:
        super().__init__(place)
        self._command = command
        self._about = about
        self._is_off = place is None and is_saving_off()
        #: The run that was started or resumed last.
        self.running: ActiveRun | None = None

    def begin_request(
        self,
        conversation: Conversation,
        mode: str,
        prompt: Sequence[UserPart] | None,
        title: str,
        kind: str = "",
        about: Mapping[str, Any] | None = None,
    ) -> ActiveRun | None:
        """Create a run for a message, or return None if saving is off."""
        if self._is_off:
            return None
        about = {**self._about(), **(about or {}), "directory": os.getcwd()}
        try:
            self.running = super().begin_request(conversation, mode, prompt, title, kind or self._command, about)
        except StoreError as error:
            raise JournalFailed(
                f"no request was sent, because the database cannot be written: {error};"
                " ask without saving with `--no-save`"
            ) from error
        return self.running

    def resume(self, id: str, *, by_force: bool = False, other_model: bool = False) -> ActiveRun:
        """Acquire an existing run. A fork may have asked another model before."""
        other_model = other_model or bool(self.find(id).begun_as.get("every_model"))
        self.running = super().resume(id, by_force=by_force, other_model=other_model)
        return self.running

    def find_unfinished_run(self, conversation: str) -> str:
        """Return the id of a conversation's last run if it has not ended, or an empty string."""
        rows = self.query("SELECT id FROM runs WHERE kind IN ('ask', 'chat') ORDER BY created DESC LIMIT 50", ())
        for entry in (self.find(id) for (id,) in rows):
            if entry.begun_as.get("conversation") == conversation:
                return entry.id if entry.state in ("running", "waiting", "ready", "interrupted") else ""
        return ""

    def iterate_chat_runs(self, after: str = "") -> Generator[RunEntry]:
        """Yield the newest chat runs after the run `after`, oldest first."""
        rows = self.query(
            f"SELECT id FROM runs WHERE kind IN ('ask', 'chat') AND id > ? ORDER BY id DESC LIMIT {_MAX_RUNS}",
            (after,),
        )
        return (self.find(id) for (id,) in reversed(rows))

    async def wait_for_answer(self, question: Question) -> HumanAnswer | None:
        """Wait until the question of the current run is answered in the journal, from any process."""
        while True:
            is_open, said = await asyncio.to_thread(self._find_answer, question)
            if not is_open:
                return said
            await asyncio.sleep(_POLL_SECONDS)

    def _find_answer(self, question: Question) -> tuple[bool, HumanAnswer | None]:
        """Return whether a question is still open, and its answer."""
        rows = self.query(
            "SELECT path, effects.state, outcome, runs.state FROM effects JOIN runs ON id = run"
            " WHERE run = ? AND effects.kind = 'person' ORDER BY seq DESC",
            (self.running.id if self.running is not None else "",),
        )
        ends = f"/{question.id}{QUESTION_SUFFIXES[question.kind]}"
        for path, state, outcome, run_state in rows:
            if path.endswith(ends):
                if state == "done":
                    came = outcome_from_json(
                        self.secret_refs.parse_with_values(self.load_text(outcome), f"step {path}")
                    )
                    return False, came.value
                return run_state == "running", None
        return False, None

    def on_saved(self, id: str) -> None:
        """Save the id of the conversation with the run."""
        if self.running is not None:
            self.running.update_launch_data(conversation=id)

    def on_interrupted(self, said: str) -> None:
        """Save the partial answer, and cancel the run, because the conversation contains the text."""
        if self.running is not None:
            with suppress(AntiphonError):
                self.running.update_launch_data(interrupted=said)
            with suppress(AntiphonError):
                self.cancel(self.running.id)

    def on_used(self, spent: UsageChanged) -> None:
        """Save the usage of the answer. A failure only loses the numbers."""
        usage = spent.usage
        if self.running is not None:
            with suppress(AntiphonError):
                self.running.update_launch_data(used=[usage.input_tokens, usage.output_tokens, spent.cost])


def get_journal_location(journal: Journal) -> str | None:
    """Return the location of a journal, or None for the default file."""
    if journal.is_shared:
        return journal.url
    return None if is_saving_off() or journal.file.path == get_store_path() else str(journal.file.path)
