"""Requests of sessions and their histories, saved so that another process can resume them.

Each turn is stored once. Its key includes the turns before it, so a run needs one key, however long its history is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import Conversation, DerivedKey, Turn, UserPart
from antiphon.conversation.serialization import (
    conversation_from_json,
    conversation_to_json,
    parts_from_json,
    parts_to_json,
    turn_to_json,
    turns_from_json,
)
from antiphon.effects.codec import dump_ascii_json
from antiphon.effects.types import AskModel, Effect, SendMessage
from antiphon.storage.secret_refs import parse_redacted_json
from antiphon.storage.texts import TurnRow, hash_turn, iterate_turn_bodies

if TYPE_CHECKING:
    from antiphon.durable.journal_reader import JournalReader
    from antiphon.storage.secret_refs import SecretRefs


def session_request_to_json(conversation: Conversation, mode: str, prompt: Sequence[UserPart] | None) -> dict[str, Any]:
    """Return a request of a session as JSON data, without the turns."""
    head = {name: each for name, each in conversation_to_json(conversation).items() if name not in ("turns", "tools")}
    return {"mode": mode, "prompt": None if prompt is None else parts_to_json(prompt), "head": head}


def load_session_request(journal: JournalReader, data: Mapping[str, Any], said: str) -> tuple[Conversation, Any, Any]:
    """Return the conversation, the mode and the prompt of a saved request."""
    bodies = iterate_turn_bodies(journal.database, said)
    turns = [journal.secret_refs.parse_with_values(body, "a turn") for _, body in bodies][::-1]
    head = {**as_object(data.get("head")), "turns": turns}
    prompt = data.get("prompt")
    return (
        conversation_from_json(head)[0],
        as_string(data.get("mode")),
        None if prompt is None else parts_from_json(prompt),
    )


#: The journal that stores a turn, the key of the turn before it, and its own key.
_STORED_TURN = DerivedKey[tuple[str, str, str]]("stored")


def chain_turns(journal: JournalReader, turns: Sequence[Turn], withheld: SecretRefs) -> tuple[str, list[TurnRow]]:
    """Return the key of a history and the rows that this journal may not have yet."""
    before, new, name = "", list[TurnRow](), journal.name
    for turn in turns:
        known = turn.derived.get(_STORED_TURN)
        if known is None or known[1] != before or known[0] != name:
            body = withheld.insert_references(dump_ascii_json(turn_to_json(turn)))
            key = hash_turn(before, body)
            new.append((key, before, body))
            known = turn.derived.set(_STORED_TURN, (name, before, key))
        before = known[2]
    return before, new


def forget_stored_turns(effect: Effect) -> None:
    """Mark the turns of a request as not stored, because writing them failed."""
    for turn in effect.turns if isinstance(effect, AskModel | SendMessage) else ():
        turn.derived.pop(_STORED_TURN, None)


def load_last_turns(journal: JournalReader, key: str, most: int) -> tuple[list[Turn], str]:
    """Return the last `most` turns of a history, oldest first, and the key of the history before them.

    The turns have names of variables in place of secret values. The key is empty if there is no more.
    """
    found = list(islice(iterate_turn_bodies(journal.database, key), most))
    turns = [turns_from_json([parse_redacted_json(body, "a turn")])[0] for _, body in found]
    return turns[::-1], found[-1][0] if found else ""
