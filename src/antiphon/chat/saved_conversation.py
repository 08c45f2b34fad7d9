"""The saved form of a chat's conversation: it is written as it grows, and read again if another process changed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Conversation, UserTurn
from antiphon.errors import NotReadyError, StoreError

if TYPE_CHECKING:
    from datetime import datetime

    from antiphon.durable import Store
    from antiphon.session import UsageChanged
    from antiphon.storage import ConversationEntry
    from antiphon.wire import CacheReport


@dataclass(frozen=True, slots=True)
class SavedChange:
    """A save that this process did not know, with the conversation if another process made it."""

    entry: ConversationEntry
    conversation: Conversation | None


class SavedConversation:
    """A conversation in a store. Without a store, or after that has failed, nothing is saved."""

    def __init__(self, store: Store | None, command: str, entry: ConversationEntry | None) -> None:
        self.store = store
        self.id = entry.id if entry is not None and store is not None else ""
        self.title = entry.title if entry is not None else ""
        #: Cache reports that are not saved yet.
        self.reports: list[tuple[str, CacheReport]] = []
        self._command = command
        #: The conversation before it was compacted, and the number of turns after that, if a front keeps the history.
        self._whole: tuple[Conversation, int] | None = None
        #: The time of the last save that is known.
        self._known: datetime | None = None

    def look(self) -> SavedChange | None:
        """Return what was saved since this was last asked, or None."""
        entry = self.store.find(self.id) if self.store is not None and self.id else None
        if entry is None or self.store is None or entry.updated == self._known:
            return None
        conversation = self.store.load(entry.id) if self._known is not None else None
        self._known, self.title = entry.updated, entry.title
        return SavedChange(entry, conversation)

    def note_saved(self) -> None:
        """Take the last save as known."""
        if self.store is not None and self.id:
            entry = self.store.find(self.id)
            self._known, self.title = entry.updated, entry.title

    def save(
        self,
        conversation: Conversation,
        new_id: str,
        model: str,
        tools: Mapping[str, Any] | None,
        spent: UsageChanged | None,
    ) -> None:
        """Save a conversation; a new one under the id `new_id`, if that is free. After an error, nothing is saved."""
        if self.store is None:
            return
        try:
            self.id = self.store.save(
                self._join_whole(conversation),
                id=self.id or new_id or None,
                is_new=not self.id,
                model=model,
                command=self._command,
                usage=spent.usage if spent else None,
                cost=spent.cost if spent else None,
                tools=tools,
                reports=self.reports,
            )
        except StoreError:
            self.store = None
            raise
        self.reports.clear()

    def save_copy(self, conversation: Conversation, model: str) -> str:
        """Save another conversation as a copy of this one, and return its id; it is empty if nothing is saved."""
        if self.store is None or not self.id:
            return ""
        copy = self.store.fork(self.id)
        return self.store.save(conversation, id=copy, model=model, command=self._command)

    def fork(self, turns: int | None) -> bool:
        """Continue in a copy with the first turns. Return whether anything is saved."""
        if self.store is None or not self.id:
            return False
        self.id, self._known = self.store.fork(self.id, turns), None
        return True

    def begin_new(self) -> None:
        """Save from now on as a new conversation."""
        self.id, self._known = "", None

    def rename(self, name: str) -> None:
        """Give the conversation a name. An empty one takes its name away."""
        if self.store is None or not self.id:
            raise NotReadyError("a chat has a name once it is saved, with its first answer")
        self.store.rename(self.id, name)
        self.note_saved()

    def keep_turns(self, before: Conversation, count: int) -> None:
        """Save the turns before a compaction too, which has left `count` turns."""
        self._whole = self._join_whole(before), count

    def _join_whole(self, shorter: Conversation) -> Conversation:
        """Return the conversation with the turns that were left out for the model."""
        if self._whole is None:
            return shorter
        whole, count = self._whole[0].fork(), self._whole[1]
        for turn in shorter.turns[count:]:
            if isinstance(turn, UserTurn):
                whole.add_user(turn.parts)
            else:
                whole.add_reply(turn.parts)
                whole.add_tool_results(turn.results)
        for id, question in shorter.questions.items():
            whole.ask(id, question)
        return whole
