"""What the store knows of a conversation besides the conversation itself."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from antiphon._base.json import load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import Conversation, UserTurn
from antiphon.errors import MalformedJSONError
from antiphon.storage.search import Excerpt

#: The columns that `Entry.read` takes, in its order.
ENTRY_COLUMNS = (
    "id, title, models, command, created, updated, turns, input_tokens, output_tokens, cost,"
    " parent, parent_turns, tools"
)

_TITLE = 100
# Crockford's: no letter that is taken for a digit. Its order is that of ASCII, so ids sort by time.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TICKS = 64
#: The tables of a file whose ids are unique together, because commands take an id without saying of which.
ID_TABLES = ("conversations", "runs")
_YEAR_3000 = 32_503_680_000


@dataclass(frozen=True, slots=True)
class ConversationEntry:
    """One saved conversation in a list.

    `models` are those that took part, the one that spoke last at the end. Tokens and cost are sums of what is known,
    `None` if nothing is. A fork has the id of its `parent` and how many turns it took from there. `excerpt` is where a
    search found it. `tools` is how its tools were chosen last, where anybody said so.
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
        """An entry from its row; what is damaged in it is left out, so that the others can be listed."""
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
        """Tokens read and written, as far as they are known."""
        known = [count for count in (self.input_tokens, self.output_tokens) if count is not None]
        return sum(known) if known else None

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON data; times are in UTC."""
        return {
            "id": self.id,
            "title": self.title,
            "models": list(self.models),
            "command": self.command,
            "created": self.created.isoformat(timespec="seconds"),
            "updated": self.updated.isoformat(timespec="seconds"),
            "turns": self.turns,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost,
            "parent": self.parent,
            "parent_turns": self.parent_turns,
            **({"excerpt": self.excerpt.text} if self.excerpt else {}),
        }


def make_title(conversation: Conversation) -> str:
    """The first words that a user said, in one line: files and instructions come after a blank one."""
    for turn in conversation.turns:
        if isinstance(turn, UserTurn) and (words := turn.text[: 10 * _TITLE].strip().partition("\n\n")[0].split()):
            title = " ".join(words)
            return title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…"
    return ""


def parse_model_names(models: object) -> tuple[str, ...]:
    """The names in a row's `models`; none where it is damaged."""
    try:
        names: object = load_json(models) if isinstance(models, str) else None
    except MalformedJSONError:
        return ()
    return tuple(name for name in as_array(names) if isinstance(name, str))


def parse_tool_choice(stored: object) -> Mapping[str, Any] | None:
    """How tools were chosen, from a row; nothing where it is damaged or was never said."""
    try:
        return as_object(load_json(stored)) or None if isinstance(stored, str) else None
    except MalformedJSONError:
        return None


def format_time_id(ticks: int) -> str:
    """The id of a moment: eight letters and digits that sort as moments do."""
    return "".join(_ALPHABET[ticks >> shift & 31] for shift in range(35, -1, -5))


def count_ticks() -> int:
    """The present moment as ids count it."""
    return int(time.time() * _TICKS)


def find_unused_id(connection: Any, tables: Sequence[str]) -> str:
    """Return an id for the present moment, or for the next one at which none of these tables has a row."""
    ticks = count_ticks()
    while any(
        connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (format_time_id(ticks),)).fetchone()
        for table in tables
    ):
        ticks += 1
    return format_time_id(ticks)


def _finite_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _int_or_none(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _parse_time(value: object) -> datetime:
    seconds = _finite_or_none(value) or 0.0
    return datetime.fromtimestamp(seconds if 0 <= seconds < _YEAR_3000 else 0, UTC)
