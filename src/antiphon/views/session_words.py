"""The words for sessions that people read: five kinds and six states, from the stored ones."""

from __future__ import annotations

from typing import Literal, cast

from antiphon.storage.leases import PREPARING
from antiphon.storage.schema import CONVERSATION, SAVED

State = Literal["ready", "running", "waiting", "stopped", "failed", "done"]
Kind = Literal["chat", "script", "program", "batch", "team"]
STATES: tuple[State, ...] = ("ready", "running", "waiting", "stopped", "failed", "done")
KINDS: tuple[Kind, ...] = ("chat", "script", "program", "batch", "team")
#: Stored kinds of sessions that answer messages of a saved conversation.
MESSAGE_KINDS = ("ask", "chat", "agui")

_KINDS: dict[str, Kind] = {
    **dict.fromkeys((*MESSAGE_KINDS, "session", "turn", CONVERSATION), "chat"),
    **dict.fromkeys(("program", "row"), "program"),
    **{"python": "script", "map": "batch", "team": "team"},
}  # type: ignore[assignment]
_STATES = {"interrupted": "stopped", "cancelled": "stopped", "replaced": "done", "shelved": "done", SAVED: "done"}
_STORED_STATES = {
    "stopped": ("interrupted", "cancelled", PREPARING),
    "running": ("running", PREPARING),
    "done": ("done", "replaced", "shelved", SAVED),
}


def to_session_kind(kind: str) -> Kind:
    """Return the kind of a session that is stored as this one."""
    return _KINDS.get(kind, "script")


def to_session_state(state: str) -> State:
    """Return the state of a session that is stored in this one."""
    return cast(State, _STATES.get(state, state))


def list_stored_kinds(kind: str) -> tuple[str, ...]:
    """Return the stored kinds of sessions of a kind."""
    return tuple(stored for stored, name in _KINDS.items() if name == kind) or (kind,)


def list_stored_states(state: str) -> tuple[str, ...]:
    """Return the stored states that a session in this state may have."""
    return _STORED_STATES.get(state, (state,))
