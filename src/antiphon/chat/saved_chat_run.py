"""The saved run of a chat: interrupted answers and open questions can be resumed, from any process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from antiphon.conversation import Conversation, UserPart
from antiphon.durable import Journal, JournalFailed
from antiphon.durable.session_run import MessageStep, SessionRun
from antiphon.effects import HumanAnswer
from antiphon.errors import StoreError
from antiphon.session import Question
from antiphon.session.tool_calls import QUESTION_SUFFIXES
from antiphon.storage.steps import list_answers
from antiphon.storage.store_location import get_store_path, is_saving_off

#: Seconds between checks for answers in the journal.
_POLL_SECONDS = 0.2


class ChatRun(SessionRun):
    """The run of a chat. `about` returns the data that it takes to open the chat again."""

    def __init__(
        self, kind: str, about: Callable[[], Mapping[str, Any]], place: str | None = None, *, id: str = ""
    ) -> None:
        super().__init__(Journal(place), kind, lambda: {**about(), "directory": os.getcwd()}, id=id)
        self._is_off = place is None and is_saving_off()

    def begin_request(
        self, conversation: Conversation, mode: str, prompt: Sequence[UserPart] | None, title: str
    ) -> MessageStep | None:
        """Save that a message begins; return None if saving is off."""
        if self._is_off:
            return None
        try:
            return super().begin_request(conversation, mode, prompt, title)
        except StoreError as error:
            raise JournalFailed(
                f"no request was sent, because the database cannot be written: {error};"
                " ask without saving with `--no-save`"
            ) from error

    def close(self) -> None:
        """Release the run, and close the journal until it is needed again."""
        super().close()
        self.journal.close()

    async def wait_for_answer(self, question: Question) -> HumanAnswer | None:
        """Wait until a question of the last message is answered in the journal, from any process."""
        path = await asyncio.to_thread(self._find_question, question)
        while path and (said := await asyncio.to_thread(self._load_answer, path)) is not None:
            if isinstance(said, HumanAnswer):
                return said
            await asyncio.sleep(_POLL_SECONDS)
        return None

    def _find_question(self, question: Question) -> str:
        """Return the path of the newest question with this id, which may have its answer already."""
        ends = f"/{question.id}{QUESTION_SUFFIXES[question.kind]}"
        asked = list_answers(self.journal.database, self.id)
        return next((path for path, *_ in asked if path.endswith(ends)), "")

    def _load_answer(self, path: str) -> HumanAnswer | bool | None:
        """Return the answer to a question, True while it is open, or None if the run is not going on."""
        state = self.journal.find_effect(self.id, path).state
        if state == "done":
            return self.journal.load_outcome(self.id, path).value
        return True if state == "waiting" and self.journal.find(self.id).state == "running" else None


def get_journal_location(journal: Journal) -> str | None:
    """Return the location of a journal, or None for the default file."""
    return None if is_saving_off() or journal.location == str(get_store_path()) else journal.location
