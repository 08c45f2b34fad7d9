"""Channels: what people and agents say to one another, kept, and delivered to each reader once."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon._json import loads
from antiphon.agents.scanning import known_secrets, secret_in
from antiphon.conversation.attribution import HUMAN
from antiphon.effects.written import as_text
from antiphon.errors import AntiphonError, ContentError, NotReadyError
from antiphon.store.database import Database
from antiphon.store.place import default_path

if TYPE_CHECKING:
    from antiphon.agents.seats import Seat
    from antiphon.session import Session

_NAME = re.compile(r"@[A-Za-z0-9_.-]{1,64}")
_COLUMNS = "id, channel, at, author, recipient, kind, text, data, reply_to, task"
#: What others are given of a channel: what was said to all, or to this reader, and not by himself. An answer that
#: belongs to a task is for whoever asked it there, whatever else he is at meanwhile.
_HEARD = (
    "channel = ? AND author <> ? AND recipient IN ('', ?) AND kind <> 'fact'"
    " AND CASE WHEN kind = 'answer' THEN task ELSE '' END = ?"
)


class SecretRefused(AntiphonError):
    """A message that is not posted, because it holds what looks like a secret."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said in a channel. Without a `to` it is said to all.

    `kind` is chat, question or answer; what happens in a team are facts, whose `data` says more than their text.
    `reply_to` is the number of the message that it answers.
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


def as_name(name: str) -> str:
    """The name of somebody in a channel: `coder-1` is `@coder-1`."""
    full = name if name.startswith("@") else f"@{name}"
    if not _NAME.fullmatch(full):
        raise ContentError(f"{name!r} is no name: letters, digits, `.`, `_` and `-`, at most 64 of them")
    return full


class Channel:
    """A place where people and agents talk, by its name. Without a `place` it is in the user's database.

    Every reader is given each message once, his own left out. A session that has joined hears what is new before each
    request, behind the results of its calls: `channel.join(session, "ada")`.
    """

    def __init__(self, name: str, place: str | PathLike[str] | Database | None = None) -> None:
        if not name.strip():
            raise ContentError("a channel needs a name")
        self.name = name
        self.database = place if isinstance(place, Database) else Database(Path(place) if place else default_path())

    def __repr__(self) -> str:
        return f"Channel({self.name!r})"

    def post(
        self,
        text: str,
        author: str = HUMAN,
        *,
        to: str = "",
        kind: str = "chat",
        reply_to: int | None = None,
        task: str = "",
        data: Mapping[str, Any] | None = None,
        key: str | None = None,
        fence: tuple[str, int] | None = None,
    ) -> Message:
        """Say something; with a `key` that was used before, it is what was said then, and nothing new.

        What holds a secret is refused. With a `fence`, a run and its epoch, nothing is said once somebody else has it.
        """
        author, to = as_name(author), as_name(to) if to else ""
        if not text.strip():
            raise ContentError("there is nothing in this message")
        if kind != "fact":
            check_secrets(text)
        row = (self.name, time.time(), author, to, kind, text, as_text(data or {}), reply_to, task, key)

        def add(connection: Any) -> Any:
            if fence is not None:
                _check_fence(connection, *fence)
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

        return message_of(self.database.write(add))

    def messages(self, after: int = 0, limit: int | None = None) -> list[Message]:
        """What was said, the oldest first; with a `limit`, the newest so many."""
        most = -1 if limit is None else limit
        rows = self.database.read(
            f"SELECT * FROM (SELECT {_COLUMNS} FROM messages WHERE channel = ? AND id > ? ORDER BY id DESC LIMIT ?)"
            " ORDER BY id",
            (self.name, after, most),
        )
        return [message_of(row) for row in rows]

    def find(self, id: int) -> Message:
        """The message with this number."""
        rows = self.database.read(f"SELECT {_COLUMNS} FROM messages WHERE id = ? AND channel = ?", (id, self.name))
        if not rows:
            raise NotReadyError(f"there is no message {id} in {self.name}")
        return message_of(rows[0])

    def count(self, author: str, keys: str, but: str = "") -> int:
        """How many messages somebody has posted with keys below this one, but for the one with a key."""
        rows = self.database.read(
            "SELECT count(*) FROM messages WHERE author = ? AND substr(key, 1, ?) = ? AND key <> ? AND channel = ?",
            (author, len(keys) + 1, f"{keys}/", but, self.name),
        )
        return rows[0][0] if rows else 0

    def unread(self, reader: str, task: str = "") -> list[Message]:
        """What a reader was not given yet; with a `task`, of the answers that belong to it."""
        reader = as_name(reader)
        rows = self.database.read(
            f"SELECT {_COLUMNS} FROM messages WHERE {_HEARD} AND id >"
            " (SELECT coalesce(max(upto), 0) FROM deliveries WHERE reader = ? AND channel = ?) ORDER BY id",
            (self.name, reader, reader, task, reader, _lane(self.name, task)),
        )
        return [message_of(row) for row in rows]

    def deliver(self, reader: str, key: str = "") -> list[Message]:
        """Give a reader what is new to him, and take note of it, both or neither.

        With a `key` that was used before, it is what he was given then.
        """
        return deliver([self], reader, key)

    def join(self, session: Session[Any], name: str) -> Seat:
        """Let a session hear this channel under a name, and post in it."""
        from antiphon.agents.seats import Seat

        return Seat(session, name, [self])


def deliver(channels: Sequence[Channel], reader: str, key: str = "", task: str = "") -> list[Message]:
    """What is new to a reader in several channels of one database, in the order in which it was said.

    Answers that belong to a task are given to who reads for that `task`.
    """
    reader = as_name(reader)
    lanes = ("", task) if task else ("",)

    def give(connection: Any) -> list[Any]:
        return [row for each in channels for lane in lanes for row in _given(connection, each.name, lane, reader, key)]

    return sorted(map(message_of, channels[0].database.write(give)), key=lambda each: each.id)


def _lane(channel: str, task: str) -> str:
    """What how far somebody has read is noted under: for answers of a task apart from the rest."""
    return f"{channel}#{task}" if task else channel


def _given(connection: Any, channel: str, task: str, reader: str, key: str) -> list[Any]:
    lane = _lane(channel, task)
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
            # Who names no delivery has one that moves on.
            connection.execute(
                "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET after = excluded.after,"
                " upto = excluded.upto",
                (reader, lane, key, *known),
            )
    return connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE {_HEARD} AND id > ? AND id <= ? ORDER BY id",
        (channel, reader, reader, task, *known),
    ).fetchall()


def check_secrets(text: str) -> None:
    """Refuse a text that holds a secret, and one that cannot be looked at."""
    try:
        found = secret_in(text, known_secrets())
    except Exception as error:
        raise SecretRefused(f"not posted: it could not be looked at for secrets ({error})") from error
    if found:
        raise SecretRefused(f"not posted: it holds {found}; say where it is kept instead of what it is")


def _check_fence(connection: Any, run: str, epoch: int) -> None:
    from antiphon.journal import TakenOver

    found = connection.execute("SELECT epoch FROM runs WHERE id = ?", (run,)).fetchone()
    if found is None or found[0] != epoch:
        raise TakenOver(f"run {run!r} is gone on with elsewhere")


def message_of(row: Any) -> Message:
    """A message from its columns."""
    id, channel, at, author, to, kind, text, data, reply_to, task = row
    given: Any = {}
    with suppress(AntiphonError):
        given = loads(data, "a message")
    known = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    return Message(id, channel, at, author, to, kind, text, known, reply_to, task)
