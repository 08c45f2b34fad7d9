"""Durable message channels for people and agents; each reader receives each message exactly once."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.json import load_json
from antiphon.conversation.attribution import HUMAN_AUTHOR
from antiphon.effects.codec import dump_ascii_json
from antiphon.errors import AntiphonError, ContentError, NotReadyError
from antiphon.storage import posts
from antiphon.storage.places import open_file
from antiphon.storage.posts import PostRow
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.team.secret_scan import collect_known_secrets, find_secret

if TYPE_CHECKING:
    from antiphon.session import Session
    from antiphon.team.members import ChannelMember

_MEMBER_NAME = re.compile(r"@[A-Za-z0-9_.-]{1,64}")


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
        self.database = place if isinstance(place, SqliteDatabase) else open_file(place or None)

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
        post = PostRow(self.name, time.time(), author, to, kind, text, dump_ascii_json(data or {}), reply_to, task, key)
        return message_from_row(posts.add_post(self.database, post, fence))

    def messages(self, after: int = 0, limit: int | None = None) -> list[ChannelMessage]:
        """Return the messages, oldest first; with a `limit`, only the newest ones."""
        return [message_from_row(row) for row in posts.list_posts(self.database, [self.name], after, limit)]

    def find(self, id: int) -> ChannelMessage:
        """Return the message with this id."""
        found = posts.find_post(self.database, self.name, id)
        if found is None:
            raise NotReadyError(f"there is no message {id} in {self.name}")
        return message_from_row(found)

    def count(self, author: str, keys: str, but: str = "") -> int:
        """Return how many messages an author posted with keys below `keys`, not counting the key `but`."""
        return posts.count_posts(self.database, self.name, author, keys, but)

    def unread(self, reader: str, task: str = "") -> list[ChannelMessage]:
        """Return the messages not yet delivered to a reader; with a `task`, the answers that belong to it."""
        reader = normalize_member_name(reader)
        rows = posts.list_unread(self.database, self.name, task, _delivery_lane(self.name, task), reader)
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
    tasks = ("", task) if task else ("",)
    lanes = [(each.name, lane, _delivery_lane(each.name, lane)) for each in channels for lane in tasks]
    rows = posts.deliver_posts(channels[0].database, lanes, reader, key)
    return sorted(map(message_from_row, rows), key=lambda each: each.id)


def _delivery_lane(channel: str, task: str) -> str:
    """Return the key under which read positions are stored: answers of a task have their own."""
    return f"{channel}#{task}" if task else channel


def reject_secrets(text: str) -> None:
    """Raise `SecretRefused` if a text contains a secret or cannot be scanned."""
    try:
        found = find_secret(text, collect_known_secrets())
    except Exception as error:
        raise SecretRefused(f"not posted: it could not be looked at for secrets ({error})") from error
    if found:
        raise SecretRefused(f"not posted: it holds {found}; say where it is kept instead of what it is")


def message_from_row(row: PostRow) -> ChannelMessage:
    """Build a `ChannelMessage` from its row."""
    channel, at, author, to, kind, text, data, reply_to, task, _, id = row
    given: Any = {}
    with suppress(AntiphonError):
        given = load_json(data, "a message")
    known = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    return ChannelMessage(id, channel, at, author, to, kind, text, known, reply_to, task)
