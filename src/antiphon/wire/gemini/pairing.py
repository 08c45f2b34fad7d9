"""Which response answers which call: this API pairs by id where there is one, and by name and order where not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from antiphon._shape import obj, string
from antiphon.conversation import legal_id


@dataclass(frozen=True, slots=True)
class _Call:
    id: str
    theirs: str
    name: str


@dataclass(slots=True)
class _Response:
    theirs: str
    name: str
    id: str = field(default="")


class Pairing:
    """Gives every call of a history an id of its own, and every response the id of its call."""

    def __init__(self, parts: Iterable[dict[str, Any]]) -> None:
        holders = [obj(part.get(kind)) for part in parts for kind in ("functionCall", "functionResponse")]
        self._given = {legal_id(string(holder["id"])) for holder in holders if holder.get("id")}
        self._used: set[str] = set()
        self._made_up = 0
        self._open: list[_Call] = []
        self._older: list[_Call] = []

    def next_turn(self) -> None:
        """The model speaks again: what it called before is only found by its id now."""
        self._older += self._open
        self._open = []

    def call(self, theirs: str, name: str) -> str:
        """The id of the next call: its own, unless it has none or another call has it already."""
        id = legal_id(theirs) if theirs else ""
        if not id or id in self._used:
            id = self._new_id()
        self._used.add(id)
        self._open.append(_Call(id, theirs, name))
        return id

    def answers(self, responses: list[dict[str, Any]]) -> list[str]:
        """The ids of the calls that the responses of one content answer."""
        found = [_Response(string(response.get("id")), string(response.get("name"))) for response in responses]
        self._match(found, self._open, lambda call, response: bool(call.theirs) and call.theirs == response.theirs)
        self._match(
            found,
            self._open,
            lambda call, response: call.name == response.name and not (call.theirs and response.theirs),
        )
        self._match(found, self._older, lambda call, response: bool(call.theirs) and call.theirs == response.theirs)
        # The API itself counts only: where the numbers agree, it takes what is left in order.
        if sum(not response.id for response in found) == len(self._open):
            self._match(found, self._open, lambda call, response: True)  # noqa: ARG005
        return [response.id or (legal_id(response.theirs) if response.theirs else self._new_id()) for response in found]

    def _match(self, responses: list[_Response], calls: list[_Call], fits: Callable[[_Call, _Response], bool]) -> None:
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
