"""Posts in the channels of teams as rows, and their deliveries. They exist in files only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from antiphon.storage.database import Database
from antiphon.storage.leases import check_epoch


class PostRow(NamedTuple):
    """A post; `data` is JSON. Posting again with the same `key` adds nothing. A new post has no `id` yet."""

    channel: str
    at: float
    author: str
    recipient: str
    kind: str
    text: str
    data: str
    reply_to: int | None
    task: str
    key: str | None
    id: int = 0


class TeamQuestionRow(NamedTuple):
    """A team and an open question of it."""

    team: str
    title: str
    post: PostRow


class DeliveryRow(NamedTuple):
    """A delivery to a reader: the posts of a channel after one number, up to another."""

    reader: str
    channel: str
    key: str
    after: int
    upto: int


_GIVEN = ", ".join(PostRow._fields[:-1])
_COLUMNS = f"{_GIVEN}, id"
_INSERT = f"INSERT INTO posts ({_GIVEN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING {_COLUMNS}"
#: The posts that a reader receives: broadcast or addressed to the reader, and not the reader's own.
#: An answer that belongs to a task goes only to whoever asked within that task.
_VISIBLE = (
    "channel = ? AND author <> ? AND recipient IN ('', ?) AND kind <> 'fact'"
    " AND CASE WHEN kind = 'answer' THEN task ELSE '' END = ?"
)
#: A question without an answer, in the channels of a team where people are asked.
_OPEN = (
    "channel IN (sessions.id || '/product', sessions.id || '/development') AND asked.kind = 'question'"
    " AND NOT EXISTS (SELECT 1 FROM posts AS said WHERE said.kind = 'answer' AND said.reply_to = asked.id)"
)


def add_post(database: Database, post: PostRow, fence: tuple[str, int] | None) -> PostRow:
    """Add a post, or return the one with its key. `fence` is a session and the epoch that it must have."""

    def add(connection: Any) -> Any:
        if fence is not None:
            check_epoch(database, connection, *fence)
        known = (
            post.key is not None
            and connection.execute(f"SELECT {_COLUMNS} FROM posts WHERE key = ?", (post.key,)).fetchone()
        )
        return known or connection.execute(_INSERT, post[:-1]).fetchone()

    return PostRow._make(database.transact(add))


def copy_posts(connection: Any, posts: Iterable[tuple[int, PostRow]]) -> dict[int, int]:
    """Insert copies of posts, and return the number of each copy by that of its original."""
    numbers: dict[int, int] = {}
    for old, post in posts:
        reply_to = numbers.get(post.reply_to or 0)
        numbers[old] = connection.execute(_INSERT, post._replace(reply_to=reply_to)[:-1]).fetchone()[-1]
    return numbers


def list_posts(database: Database, channels: Sequence[str], after: int = 0, limit: int | None = None) -> list[PostRow]:
    """Return posts of channels in order; with a `limit`, only the newest ones."""
    marks = ", ".join("?" * len(channels))
    rows = database.query(
        f"SELECT * FROM (SELECT {_COLUMNS} FROM posts WHERE channel IN ({marks}) AND id > ? ORDER BY id DESC"
        " LIMIT ?) ORDER BY id",
        (*channels, after, -1 if limit is None else limit),
    )
    return [PostRow._make(row) for row in rows]


def find_post(database: Database, channel: str, id: int) -> PostRow | None:
    """Return a post of a channel by its number."""
    rows = database.query(f"SELECT {_COLUMNS} FROM posts WHERE id = ? AND channel = ?", (id, channel))
    return PostRow._make(rows[0]) if rows else None


def find_last_post(database: Database) -> int | None:
    """Return the number of the last post of all channels."""
    rows = [] if database.is_shared else database.query("SELECT max(id) FROM posts", ())
    return rows[0][0] if rows else None


def count_posts(database: Database, channel: str, author: str, keys: str, but: str) -> int:
    """Return how many posts of an author have keys below `keys`, without the one with the key `but`."""
    rows = database.query(
        "SELECT count(*) FROM posts WHERE author = ? AND substr(key, 1, ?) = ? AND key <> ? AND channel = ?",
        (author, len(keys) + 1, f"{keys}/", but, channel),
    )
    return rows[0][0] if rows else 0


def map_post_keys(database: Database, team: str, upto: int) -> dict[int, str]:
    """Return the keys of a team's posts up to a number, by number."""
    rows = database.query(
        "SELECT id, key FROM posts WHERE substr(channel, 1, ?) = ? AND id <= ? AND key IS NOT NULL",
        (len(team) + 1, f"{team}/", upto),
    )
    return dict(rows)


# Deliveries


def list_unread(database: Database, channel: str, task: str, lane: str, reader: str) -> list[PostRow]:
    """Return the posts that were not delivered to a reader yet. `lane` is the key of the read position."""
    rows = database.query(
        f"SELECT {_COLUMNS} FROM posts WHERE {_VISIBLE} AND id >"
        " (SELECT coalesce(max(upto), 0) FROM deliveries WHERE reader = ? AND channel = ?) ORDER BY id",
        (channel, reader, reader, task, reader, lane),
    )
    return [PostRow._make(row) for row in rows]


def deliver_posts(database: Database, channels: Sequence[tuple[str, str, str]], reader: str, key: str) -> list[PostRow]:
    """Return the new posts for a reader from channels, and record their delivery under a key, in one transaction.

    Each channel has its name, the task to read for, and the key of its read position.
    """

    def give(connection: Any) -> list[PostRow]:
        return [row for each in channels for row in _deliver(connection, *each, reader, key)]

    return database.transact(give)


def _deliver(connection: Any, channel: str, task: str, lane: str, reader: str, key: str) -> list[PostRow]:
    known = connection.execute(
        "SELECT after, upto FROM deliveries WHERE reader = ? AND channel = ? AND key = ?", (reader, lane, key)
    ).fetchone()
    if known is None or not key:
        ((after,),) = connection.execute(
            "SELECT coalesce(max(upto), 0) FROM deliveries WHERE reader = ? AND channel = ?", (reader, lane)
        ).fetchall()
        ((upto,),) = connection.execute(
            "SELECT coalesce(max(id), 0) FROM posts WHERE channel = ?", (channel,)
        ).fetchall()
        known = after, max(after, upto)
        if upto > after:
            # A delivery without a key is one row that moves forward.
            connection.execute(
                "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET after = excluded.after,"
                " upto = excluded.upto",
                (reader, lane, key, *known),
            )
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM posts WHERE {_VISIBLE} AND id > ? AND id <= ? ORDER BY id",
        (channel, reader, reader, task, *known),
    ).fetchall()
    return [PostRow._make(row) for row in rows]


def list_deliveries(connection: Any, team: str) -> list[DeliveryRow]:
    """Return the deliveries of a team's channels."""
    rows = connection.execute(
        "SELECT reader, channel, key, after, upto FROM deliveries WHERE substr(channel, 1, ?) = ?",
        (len(team) + 1, f"{team}/"),
    ).fetchall()
    return [DeliveryRow._make(row) for row in rows]


def insert_deliveries(connection: Any, rows: Iterable[DeliveryRow]) -> None:
    """Insert deliveries."""
    connection.executemany("INSERT INTO deliveries VALUES (?, ?, ?, ?, ?)", list(rows))


# Teams


def list_team_questions(database: Database, limit: int) -> list[TeamQuestionRow]:
    """Return the open questions of all unfinished teams, oldest first."""
    if database.is_shared:
        return []
    rows = database.query(
        "SELECT sessions.id, sessions.title, channel, at, author, recipient, asked.kind, text, data, reply_to, task,"
        " key, asked.id"
        f" FROM sessions JOIN posts AS asked ON {_OPEN}"
        f" WHERE sessions.kind = 'team' AND sessions.state <> 'done' ORDER BY asked.id LIMIT {int(limit)}",
        (),
    )
    return [TeamQuestionRow(team, title, PostRow._make(row)) for team, title, *row in rows]


def count_team_questions(database: Database, id: str) -> int:
    """Return the number of open questions of a team."""
    rows = database.query(
        f"SELECT (SELECT count(*) FROM posts AS asked WHERE {_OPEN}) FROM sessions WHERE id = ?", (id,)
    )
    return rows[0][0] if rows else 0
