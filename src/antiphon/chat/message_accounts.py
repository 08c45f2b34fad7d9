"""Model, usage, cost and time of each answer in a chat, by the turn of its message."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypedDict

from antiphon.conversation import Conversation, UserTurn
from antiphon.errors import NotSavedError

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry, Store
    from antiphon.durable.session_run import SessionRun
    from antiphon.session import UsageChanged

    #: The most originals of a copy whose answers are looked up.
    from antiphon.storage import ConversationEntry
_MAX_ORIGINALS = 20


class Account(TypedDict, total=False):
    """The account of an answer; unknown values are missing or None. `run` is its run, and `step` its message."""

    run: str
    step: str
    model: str
    inputTokens: int | None
    outputTokens: int | None
    cost: float | None
    seconds: float


class MessageAccounts:
    """The accounts of the answers in a conversation, from the runs of it and of its originals."""

    def __init__(self, store: Store | None, saved_run: SessionRun | None) -> None:
        self.by_turn: dict[int, Account] = {}
        self._store = store
        self._journal = None if saved_run is None else saved_run.journal
        self._began = 0.0

    def load(self, entry: ConversationEntry, conversation: Conversation) -> None:
        """Load the accounts of a saved conversation."""
        if self._journal is None:
            return
        found: dict[int, Account] = {}
        for id, count in self._iterate_originals(entry):
            for message in self._journal.list_messages(id):
                turn = message.asked.get("turn")
                if isinstance(turn, int) and 0 <= turn < min(count, len(conversation.turns)):
                    said = conversation.turns[turn]
                    # After a compaction, the number may belong to another turn.
                    if isinstance(said, UserTurn) and str(message.asked.get("text", "")) in said.text:
                        found[turn] = _read_account(id, message)
        self.by_turn = found

    def begin(self, turn: int, run: str, model: str) -> None:
        """Add the account of an answer that begins."""
        self._began = time.monotonic()
        self.by_turn = {**self.by_turn, turn: {"run": run, "model": model}}

    def end(self, turn: int, run: str, model: str, spent: UsageChanged) -> None:
        """Complete the account of an answer."""
        account: Account = {
            "run": run,
            "model": model,
            "inputTokens": spent.usage.input_tokens,
            "outputTokens": spent.usage.output_tokens,
            "cost": spent.cost,
            "seconds": time.monotonic() - self._began,
        }
        self.by_turn = {**self.by_turn, turn: account}

    def _iterate_originals(self, entry: ConversationEntry) -> Generator[tuple[str, int]]:
        """Yield the originals of a copy and then itself, with the number of turns that it has from each."""
        found, turns = [(entry.id, entry.turns)], entry.turns
        while self._store is not None and entry.parent and len(found) <= _MAX_ORIGINALS:
            turns = min(turns, entry.parent_turns or 0)
            try:
                entry = self._store.find(entry.parent)
            except NotSavedError:
                break
            found.append((entry.id, turns))
        yield from reversed(found)


def _read_account(run: str, message: EffectEntry) -> Account:
    account: Account = {"run": run, "step": message.path, "model": str(message.asked.get("model", ""))}
    value: Any = None if message.outcome is None else message.outcome.value
    match value:
        case {"used": [read, written, cost]}:
            account |= {"inputTokens": read, "outputTokens": written, "cost": cost}
        case _:
            pass
    if message.ended is not None:
        account["seconds"] = message.ended - message.began
    return account
