"""Durable message channels for people and agents; each reader receives each message exactly once."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.json import load_json
from antiphon.conversation.attribution import HUMAN_AUTHOR
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import AntiphonError, ContentError, NotReadyError
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.storage.store_location import get_store_path
from antiphon.team.secret_scan import collect_known_secrets, find_secret

if TYPE_CHECKING:
    from antiphon.session import Session
    from antiphon.team.members import ChannelMember

_MEMBER_NAME = re.compile(r"@[A-Za-z0-9_.-]{1,64}")
_COLUMNS = "id, channel, at, author, recipient, kind, text, data, reply_to, task"
#: The messages that a reader receives: broadcast or addressed to the reader, and not the reader's own.
#: An answer that belongs to a task goes only to whoever asked within that task.
_VISIBLE_TO_READER = (
    "channel = ? AND author <> ? AND recipient IN ('', ?) AND kind <> 'fact'"
    " AND CASE WHEN kind = 'answer' THEN task ELSE '' END = ?"
)


class SecretRefused(AntiphonError):
    """Raised when a message is not posted because it appears to contain a secret."""


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """A message in a channel. An empty `to` addresses everyone.

    `kind` is chat, question, answer, notice or fact. A fact is a team event, and `data` holds its fields.
    `reply_to` is the id of the message that this one answers.
    """

    id: int
    channel: str
    at: float
    author: str
    to: str
    kind: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reply_to: int | None = None
    task: str = ""


def normalize_member_name(name: str) -> str:
    """Return a member name with its leading `@`: `coder-1` becomes `@coder-1`."""
    full = name if name.startswith("@") else f"@{name}"
    if not _MEMBER_NAME.fullmatch(full):
        raise ContentError(f"{name!r} is no name: letters, digits, `.`, `_` and `-`, at most 64 of them")
    return full


class Channel:
    """A named, durable message channel. Without a `place` it is stored in the user's database.

    Each reader receives each message once, except the reader's own. A session that joined receives new
    messages before each request, after its tool results: `channel.join(session, "ada")`.
    """

    def __init__(self, name: str, place: str | PathLike[str] | SqliteDatabase | None = None) -> None:
        if not name.strip():
            raise ContentError("a channel needs a name")
        self.name = name
        self.database = (
            place if isinstance(place, SqliteDatabase) else SqliteDatabase(Path(place) if place else get_store_path())
        )

    def __repr__(self) -> str:
        return f"Channel({self.name!r})"

    def post(
        self,
        text: str,
        author: str = HUMAN_AUTHOR,
        *,
        to: str = "",
        kind: str = "chat",
        reply_to: int | None = None,
        task: str = "",
        data: Mapping[str, Any] | None = None,
        key: str | None = None,
        fence: tuple[str, int] | None = None,
    ) -> ChannelMessage:
        """Post a message. Posting again with the same `key` returns the first message and adds nothing.

        Raise `SecretRefused` if the text contains a secret. `fence` is a run and its epoch: the post fails once
        another process holds the lease of that run.
        """
        author, to = normalize_member_name(author), normalize_member_name(to) if to else ""
        if not text.strip():
            raise ContentError("there is nothing in this message")
        if kind != "fact":
            reject_secrets(text)
        row = (self.name, time.time(), author, to, kind, text, dump_ascii_json(data or {}), reply_to, task, key)

        def add(connection: Any) -> Any:
            if fence is not None:
                _check_run_epoch(connection, *fence)
            known = (
                key is not None
                and connection.execute(f"SELECT {_COLUMNS} FROM messages WHERE key = ?", (key,)).fetchone()
            )
            return (
                known
                or connection.execute(
                    "INSERT INTO messages (channel, at, author, recipient, kind, text, data, reply_to, task, key)"
                    f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING {_COLUMNS}",
                    row,
                ).fetchone()
            )

        return message_from_row(self.database.transact(add))

    def messages(self, after: int = 0, limit: int | None = None) -> list[ChannelMessage]:
        """Return the messages, oldest first; with a `limit`, only the newest ones."""
        most = -1 if limit is None else limit
        rows = self.database.query(
            f"SELECT * FROM (SELECT {_COLUMNS} FROM messages WHERE channel = ? AND id > ? ORDER BY id DESC LIMIT ?)"
            " ORDER BY id",
            (self.name, after, most),
        )
        return [message_from_row(row) for row in rows]

    def find(self, id: int) -> ChannelMessage:
        """Return the message with this id."""
        rows = self.database.query(f"SELECT {_COLUMNS} FROM messages WHERE id = ? AND channel = ?", (id, self.name))
        if not rows:
            raise NotReadyError(f"there is no message {id} in {self.name}")
        return message_from_row(rows[0])

    def count(self, author: str, keys: str, but: str = "") -> int:
        """Return how many messages an author posted with keys below `keys`, not counting the key `but`."""
        rows = self.database.query(
            "SELECT count(*) FROM messages WHERE author = ? AND substr(key, 1, ?) = ? AND key <> ? AND channel = ?",
            (author, len(keys) + 1, f"{keys}/", but, self.name),
        )
        return rows[0][0] if rows else 0

    def unread(self, reader: str, task: str = "") -> list[ChannelMessage]:
        """Return the messages not yet delivered to a reader; with a `task`, the answers that belong to it."""
        reader = normalize_member_name(reader)
        rows = self.database.query(
            f"SELECT {_COLUMNS} FROM messages WHERE {_VISIBLE_TO_READER} AND id >"
            " (SELECT coalesce(max(upto), 0) FROM deliveries WHERE reader = ? AND channel = ?) ORDER BY id",
            (self.name, reader, reader, task, reader, _delivery_lane(self.name, task)),
        )
        return [message_from_row(row) for row in rows]

    def deliver(self, reader: str, key: str = "") -> list[ChannelMessage]:
        """Return the new messages for a reader and record their delivery, atomically.

        Repeating a `key` returns the messages of the first delivery again.
        """
        return deliver_messages([self], reader, key)

    def join(self, session: Session[Any], name: str) -> ChannelMember:
        """Connect a session to this channel under a name, so that it receives messages and can post."""
        from antiphon.team.members import ChannelMember

        return ChannelMember(session, name, [self])


def deliver_messages(channels: Sequence[Channel], reader: str, key: str = "", task: str = "") -> list[ChannelMessage]:
    """Return the new messages for a reader from several channels of one database, in order of posting.

    Answers that belong to a task are delivered only when reading for that `task`. The delivery is recorded
    under `key`.
    """
    reader = normalize_member_name(reader)
    lanes = ("", task) if task else ("",)

    def give(connection: Any) -> list[Any]:
        return [
            row
            for each in channels
            for lane in lanes
            for row in _deliver_rows(connection, each.name, lane, reader, key)
        ]

    return sorted(map(message_from_row, channels[0].database.transact(give)), key=lambda each: each.id)


def _delivery_lane(channel: str, task: str) -> str:
    """Return the key under which read positions are stored: answers of a task have their own."""
    return f"{channel}#{task}" if task else channel


def _deliver_rows(connection: Any, channel: str, task: str, reader: str, key: str) -> list[Any]:
    lane = _delivery_lane(channel, task)
    known = connection.execute(
        "SELECT after, upto FROM deliveries WHERE reader = ? AND channel = ? AND key = ?", (reader, lane, key)
    ).fetchone()
    if known is None or not key:
        ((after,),) = connection.execute(
            "SELECT coalesce(max(upto), 0) FROM deliveries WHERE reader = ? AND channel = ?", (reader, lane)
        ).fetchall()
        ((upto,),) = connection.execute(
            "SELECT coalesce(max(id), 0) FROM messages WHERE channel = ?", (channel,)
        ).fetchall()
        known = after, max(after, upto)
        if upto > after:
            # A delivery without a key is one row that moves forward.
            connection.execute(
                "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET after = excluded.after,"
                " upto = excluded.upto",
                (reader, lane, key, *known),
            )
    return connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE {_VISIBLE_TO_READER} AND id > ? AND id <= ? ORDER BY id",
        (channel, reader, reader, task, *known),
    ).fetchall()


def reject_secrets(text: str) -> None:
    """Raise `SecretRefused` if a text contains a secret or cannot be scanned."""
    try:
        found = find_secret(text, collect_known_secrets())
    except Exception as error:
        raise SecretRefused(f"not posted: it could not be looked at for secrets ({error})") from error
    if found:
        raise SecretRefused(f"not posted: it holds {found}; say where it is kept instead of what it is")


def _check_run_epoch(connection: Any, run: str, epoch: int) -> None:
    from antiphon.durable import LeaseLost

    found = connection.execute("SELECT epoch FROM runs WHERE id = ?", (run,)).fetchone()
    if found is None or found[0] != epoch:
        raise LeaseLost(f"session {run!r} is continued elsewhere")


def message_from_row(row: Any) -> ChannelMessage:
    """Build a `ChannelMessage` from its database columns."""
    id, channel, at, author, to, kind, text, data, reply_to, task = row
    given: Any = {}
    with suppress(AntiphonError):
        given = load_json(data, "a message")
    known = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    return ChannelMessage(id, channel, at, author, to, kind, text, known, reply_to, task)
