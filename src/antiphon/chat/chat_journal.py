"""Talks in the user's journal: an answer that was interrupted, or waits for somebody, is gone on with."""

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

#: How often the journal is looked at for what somebody has said, in seconds.
_POLL_SECONDS = 0.2
#: So many runs are looked through at once, the newest of them.
_MAX_RUNS = 200


class ChatJournal(Journal):
    """The journal of one talk. `about` is what it takes to open the talk again."""

    def __init__(self, command: str, about: Callable[[], dict[str, Any]], place: str | None = None) -> None:
        super().__init__(place)
        self._command = command
        self._about = about
        self._is_off = place is None and is_saving_off()
        #: What was begun or gone on with last.
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
        """A run for each message; none, where nothing is to be saved."""
        if self._is_off:
            return None
        about = {**self._about(), **(about or {}), "directory": os.getcwd()}
        try:
            self.running = super().begin_request(conversation, mode, prompt, title, kind or self._command, about)
        except StoreError as error:
            raise JournalFailed(
                f"nothing was asked, because what is done for the answer cannot be written down: {error};"
                " `--no-journal` asks all the same"
            ) from error
        return self.running

    def resume(self, id: str, *, by_force: bool = False, other_model: bool = False) -> ActiveRun:
        """Take a run that is there; a fork may have asked another model before."""
        other_model = other_model or bool(self.find(id).begun_as.get("every_model"))
        self.running = super().resume(id, by_force=by_force, other_model=other_model)
        return self.running

    def find_unfinished_run(self, conversation: str) -> str:
        """The last run of a saved conversation, if it is not over; its name."""
        rows = self.query("SELECT id FROM runs WHERE kind IN ('ask', 'chat') ORDER BY created DESC LIMIT 50", ())
        for entry in (self.find(id) for (id,) in rows):
            if entry.begun_as.get("conversation") == conversation:
                return entry.id if entry.state in ("running", "waiting", "ready", "interrupted") else ""
        return ""

    def iterate_chat_runs(self, after: str = "") -> Generator[RunEntry]:
        """Runs of talks that came after one, the oldest first: the newest of those that there are."""
        rows = self.query(
            f"SELECT id FROM runs WHERE kind IN ('ask', 'chat') AND id > ? ORDER BY id DESC LIMIT {_MAX_RUNS}",
            (after,),
        )
        return (self.find(id) for (id,) in reversed(rows))

    async def wait_for_answer(self, question: Question) -> HumanAnswer | None:
        """What somebody says to a question of the run that goes on, wherever he does."""
        while True:
            is_open, said = await asyncio.to_thread(self._find_answer, question)
            if not is_open:
                return said
            await asyncio.sleep(_POLL_SECONDS)

    def _find_answer(self, question: Question) -> tuple[bool, HumanAnswer | None]:
        """Whether a question is open still, and what was said to it."""
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
        """The conversation has this name in the store."""
        if self.running is not None:
            self.running.update_launch_data(conversation=id)

    def on_interrupted(self, said: str) -> None:
        """Note what was said of an answer. The conversation has it: the run is not gone on with."""
        if self.running is not None:
            with suppress(AntiphonError):
                self.running.update_launch_data(interrupted=said)
            with suppress(AntiphonError):
                self.cancel(self.running.id)

    def on_used(self, spent: UsageChanged) -> None:
        """This is what the answer took. What of it is not written down is only not known later."""
        usage = spent.usage
        if self.running is not None:
            with suppress(AntiphonError):
                self.running.update_launch_data(used=[usage.input_tokens, usage.output_tokens, spent.cost])


def get_journal_location(journal: Journal) -> str | None:
    """Where a journal is, if that is not the user's own file."""
    if journal.is_shared:
        return journal.url
    return None if journal.file.path == get_store_path() else str(journal.file.path)
