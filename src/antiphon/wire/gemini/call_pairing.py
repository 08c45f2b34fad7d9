"""Pairing of Gemini's responses with calls: by id if there is one, otherwise by name and order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from antiphon._base.json_access import as_object, as_string
from antiphon.conversation import normalize_call_id


@dataclass(frozen=True, slots=True)
class _PendingCall:
    id: str
    theirs: str
    name: str


@dataclass(slots=True)
class _UnpairedResponse:
    theirs: str
    name: str
    id: str = field(default="")


class CallPairing:
    """Assigns a unique id to every call of a history, and to every response the id of its call."""

    def __init__(self, parts: Iterable[dict[str, Any]]) -> None:
        holders = [as_object(part.get(kind)) for part in parts for kind in ("functionCall", "functionResponse")]
        self._given = {normalize_call_id(as_string(holder["id"])) for holder in holders if holder.get("id")}
        self._used: set[str] = set()
        self._made_up = 0
        self._open: list[_PendingCall] = []
        self._older: list[_PendingCall] = []

    def next_turn(self) -> None:
        """Begin the model's next turn. From now on, earlier calls are matched only by id."""
        self._older += self._open
        self._open = []

    def call(self, theirs: str, name: str) -> str:
        """Return the id of the next call: its own, or a new one if it is missing or already used."""
        id = normalize_call_id(theirs) if theirs else ""
        if not id or id in self._used:
            id = self._new_id()
        self._used.add(id)
        self._open.append(_PendingCall(id, theirs, name))
        return id

    def answers(self, responses: list[dict[str, Any]]) -> list[str]:
        """Return the ids of the calls that the responses of one content answer."""
        found = [
            _UnpairedResponse(as_string(response.get("id")), as_string(response.get("name"))) for response in responses
        ]
        self._match(found, self._open, lambda call, response: bool(call.theirs) and call.theirs == response.theirs)
        self._match(
            found,
            self._open,
            lambda call, response: call.name == response.name and not (call.theirs and response.theirs),
        )
        self._match(found, self._older, lambda call, response: bool(call.theirs) and call.theirs == response.theirs)
        # The API only counts: if the numbers agree, it pairs the remainder in order.
        if sum(not response.id for response in found) == len(self._open):
            self._match(found, self._open, lambda call, response: True)  # noqa: ARG005
        return [
            response.id or (normalize_call_id(response.theirs) if response.theirs else self._new_id())
            for response in found
        ]

    def _match(
        self,
        responses: list[_UnpairedResponse],
        calls: list[_PendingCall],
        fits: Callable[[_PendingCall, _UnpairedResponse], bool],
    ) -> None:
        for response in responses:
            call = next((call for call in calls if not response.id and fits(call, response)), None)
            if call:
                response.id = call.id
                calls.remove(call)

    def _new_id(self) -> str:
        while True:
            self._made_up += 1
            id = f"call{self._made_up:05d}"
            if id not in self._given and id not in self._used:
                return id
