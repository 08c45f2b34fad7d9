"""A chat in a process that dies at a write of its choice."""

from __future__ import annotations

import os
import signal
import sqlite3
from typing import Any

from antiphon import Conversation, Store, connect
from antiphon.chat.service import ChatOptions, ChatService


class Killing(sqlite3.Connection):
    """Dies before one of the transactions that follow is committed."""

    left = -1

    def execute(self, statement: str, *given: Any) -> Any:
        is_alone = not self.in_transaction and statement.split()[0] not in ("SELECT", "PRAGMA", "BEGIN")
        Killing.left -= is_alone or statement == "COMMIT"
        if Killing.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(statement, *given)


def send_twice(words: list[str]) -> None:
    """Send two messages in the chat `kept`, and die before one of its transactions."""
    # A new file has many before those of the chat.
    with Store() as store:
        store.save(Conversation("Another chat."), model="openai/gpt-5", command="chat")
    begin = sqlite3.connect
    sqlite3.connect = lambda *given, **named: begin(*given, **{**named, "factory": Killing})  # type: ignore[assignment]
    Killing.left = int(words[1])
    with ChatService().open(ChatOptions(model=connect("openai/gpt-5"), id="kept", is_held=True)) as chat:
        chat.send("One").result()
        chat.send("Two").result()
