"""Metadata of saved conversations."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from antiphon._base.json import load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import Conversation, UserTurn
from antiphon.errors import MalformedJSONError
from antiphon.storage.schema import SHOWN_TITLE
from antiphon.storage.search import Excerpt

#: The columns that `ConversationEntry.from_row` takes, in its order.
ENTRY_COLUMNS = (
    f"id, {SHOWN_TITLE}, models, command, created, updated, turn_count, input_tokens, output_tokens, cost,"
    " forked_from, shared_turns, tools"
)

#: The most characters of a title.
MAX_TITLE = 100
# Crockford's base 32, without letters that look like digits. It is in ASCII order, so ids sort by time.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TICKS = 64
_YEAR_3000 = 32_503_680_000


@dataclass(frozen=True, slots=True)
class ConversationEntry:
    """The metadata of one saved conversation.

    `models` are the models that answered, the latest last. Tokens and cost are sums of the known values, `None` if
    there are none. A fork has the id of its `parent` and the number of turns it shares. `excerpt` is the match of a
    search. `tools` is the last selection of tools, if there was one.
    """

    id: str
    title: str
    models: tuple[str, ...]
    command: str
    created: datetime
    updated: datetime
    turns: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    parent: str | None = None
    parent_turns: int | None = None
    excerpt: Excerpt | None = None
    tools: Mapping[str, Any] | None = None

    @classmethod
    def from_row(cls, row: tuple[Any, ...], excerpt: Excerpt | None = None) -> ConversationEntry:
        """Return an entry from its row. Damaged fields are left out, so that lists still work."""
        id, title, models, command, created, updated, turns, read, written, cost, parent, parent_turns, tools = row
        return cls(
            as_string(id),
            as_string(title),
            parse_model_names(models),
            as_string(command),
            _parse_time(created),
            _parse_time(updated),
            _int_or_none(turns) or 0,
            _int_or_none(read),
            _int_or_none(written),
            _finite_or_none(cost),
            as_string(parent) or None,
            _int_or_none(parent_turns),
            excerpt,
            parse_tool_choice(tools),
        )

    @property
    def tokens(self) -> int | None:
        """The sum of the known input and output tokens."""
        known = [count for count in (self.input_tokens, self.output_tokens) if count is not None]
        return sum(known) if known else None

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON data, with times in UTC."""
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("excerpt", "tools")}
        times = {name: told[name].isoformat(timespec="seconds") for name in ("created", "updated")}
        return {
            **told,
            "models": list(self.models),
            **times,
            **({"excerpt": self.excerpt.text} if self.excerpt else {}),
        }


def make_title(conversation: Conversation) -> str:
    """Return the first line of the first user message, without files and instructions."""
    for turn in conversation.turns:
        if isinstance(turn, UserTurn) and (words := turn.text[: 10 * MAX_TITLE].strip().partition("\n\n")[0].split()):
            title = " ".join(words)
            return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"
    return ""


def parse_model_names(models: object) -> tuple[str, ...]:
    """Return the names in the column `models`; none if it is damaged."""
    try:
        names: object = load_json(models) if isinstance(models, str) else None
    except MalformedJSONError:
        return ()
    return tuple(name for name in as_array(names) if isinstance(name, str))


def parse_tool_choice(stored: object) -> Mapping[str, Any] | None:
    """Return the selection in the column `tools`, or None if it is damaged or missing."""
    try:
        return as_object(load_json(stored)) or None if isinstance(stored, str) else None
    except MalformedJSONError:
        return None


def format_time_id(ticks: int) -> str:
    """Return the id for a moment: eight letters and digits that sort by time."""
    return "".join(_ALPHABET[ticks >> shift & 31] for shift in range(35, -1, -5))


def count_ticks() -> int:
    """Return the current moment in the unit of ids."""
    return int(time.time() * _TICKS)


def find_unused_id(connection: Any) -> str:
    """Return an id for the present moment, or for the next one that no session has."""
    ticks = count_ticks()
    while connection.execute("SELECT 1 FROM sessions WHERE id = ?", (format_time_id(ticks),)).fetchone():
        ticks += 1
    return format_time_id(ticks)


def _finite_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _int_or_none(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _parse_time(value: object) -> datetime:
    seconds = _finite_or_none(value) or 0.0
    return datetime.fromtimestamp(seconds if 0 <= seconds < _YEAR_3000 else 0, UTC)
