"""Files of old schemas with conversations, runs, posts and caches, made with statements of their time."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from pathlib import Path
from typing import Any

from antiphon.conversation import Conversation
from antiphon.conversation.serialization import conversation_to_json
from antiphon.storage.schema import MIGRATIONS
from antiphon.storage.sqlite import SqliteDatabase

#: The schemas of releases with tables for conversations and for runs.
OLD = tuple(range(1, 11))


def write_file(path: Path, version: int, turns: list[str], head: str) -> None:
    """Write a file of a schema with one conversation, its fork and, where there were any, runs and posts."""
    with (
        closing(SqliteDatabase(path, migrations=MIGRATIONS[:version])) as database,
        database.write_transaction() as connection,
    ):
        _write_conversations(connection, version, turns, head)
        if version >= 2:
            _write_runs(connection, version, turns)
        if version >= 3:
            _write_posts(connection)
        if version >= 10:
            report = json.dumps({"outcome": "hit", "expected": 10, "read": 10, "written": 0})
            connection.execute(
                "INSERT INTO cache_reports (conversation, model, report) VALUES ('3abc0001', 'm', ?)", (report,)
            )


def _write_conversations(connection: Any, version: int, turns: list[str], head: str) -> None:
    for id, title, count, parent in (("3abc0001", "First", 2, None), ("3abc0002", "Fork", 1, "3abc0001")):
        connection.execute(
            "INSERT INTO conversations (id, title, models, command, created, updated, turns, input_tokens,"
            " output_tokens, cost, parent, parent_turns, revision)"
            " VALUES (?, ?, '[\"m\"]', 'chat', 100, 200, ?, 30, 5, 0.25, ?, ?, 4)",
            (id, title, count, parent, count if parent else None),
        )
        connection.execute("INSERT INTO heads VALUES (?, ?)", (id, head))
        connection.execute("INSERT INTO kept VALUES (?, 'result-1', ?)", (id, "@whole " + "x" * 9_000))
        for number, body in enumerate(turns[:count], 1):
            connection.execute(
                "INSERT INTO turns (conversation, number, body, text) VALUES (?, ?, ?, ?)",
                (id, number, body, json.loads(body)["parts"][0]["text"]),
            )
            connection.execute("INSERT INTO unindexed VALUES (last_insert_rowid())")
    if version >= 8:
        connection.execute("UPDATE conversations SET tools = '{\"shell\": true}'")


def _write_runs(connection: Any, version: int, turns: list[str]) -> None:
    large = json.dumps({"inputs": {"text": "y" * 9_000}})
    name = hashlib.sha256(large.encode()).hexdigest()
    connection.execute("INSERT INTO texts VALUES (?, ?)", (name, large))
    runs = (
        ("3abd0001", "waiting", "program", '{"file":"p.vibe"}', None, None, 700.0, None),
        ("3abd0002", "done", "map", "{}", None, None, None, '{"outcome":"done"}'),
        ("3abd0002.0", "done", "row", f"@{name}", "3abd0002", 0, None, '{"outcome":"done"}'),
        # A run with the name of a conversation.
        ("3abc0002", "done", "python", "{}", None, None, None, None),
    )
    for id, state, kind, begun_as, parent, number, wake_at, ending in runs:
        connection.execute(
            "INSERT INTO runs (id, state, created, updated, epoch, owner, kind, title, begun_as, parent, number,"
            " wake_at, ending) VALUES (?, ?, 150, 160, 3, '', ?, 'p.vibe', ?, ?, ?, ?, ?)",
            (id, state, kind, begun_as, parent, number, wake_at, ending),
        )
    steps = (
        ("1", 0, "python", '{"kind":"python","source":"f"}', "done", '{"value":3}', None),
        ("2", 1, "print", '{"kind":"print","text":"hello"}', "done", '{"value":null}', None),
        ("3", 2, "person", '{"kind":"person","about":"question","text":"Sure?"}', "waiting", None, None),
    )
    for path, seq, kind, effect, state, outcome, cost in steps:
        connection.execute(
            "INSERT INTO effects (run, path, seq, kind, hash, effect, state, outcome, began, ended, cost, attempt)"
            " VALUES ('3abd0001', ?, ?, ?, 'h', ?, ?, ?, 151, 152, ?, 1)",
            (path, seq, kind, effect, state, outcome, cost),
        )
    before = ""
    for body in turns:
        key = hashlib.sha256(f"{before} {body}".encode()).hexdigest()
        connection.execute("INSERT INTO said VALUES (?, ?, ?)", (key, before, body))
        before = key
    connection.execute("UPDATE runs SET said = ? WHERE id = '3abd0001'", (before,))
    _write_messages(connection, before)
    if version >= 6:
        connection.execute("UPDATE runs SET fork_of = '3abd0002', fork_at = '1' WHERE id = '3abd0001'")
    if version >= 9:
        connection.execute("UPDATE runs SET steps = 3 WHERE id = '3abd0001'")


def _write_messages(connection: Any, said: str) -> None:
    """Write runs of messages: two of the first conversation, of which one waits, and one without a conversation."""
    head = {name: each for name, each in conversation_to_json(Conversation("z" * 9_000)).items() if name != "turns"}
    for id, state, kind, conversation, turn, ending in (
        ("3abe0001", "done", "chat", "3abc0001", 0, '{"outcome":"done"}'),
        ("3abe0002", "waiting", "chat", "3abc0001", 2, None),
        ("3abe0003", "failed", "ask", "", 0, '{"outcome":"failed","error":"no key"}'),
    ):
        prompt = [{"type": "text", "text": f"message {id}"}]
        about = {"model": "m", "conversation": conversation, "turn": turn}
        launch = json.dumps({"mode": "chat", "prompt": prompt, "head": head, **about})
        name = hashlib.sha256(launch.encode()).hexdigest()
        connection.execute("INSERT INTO texts VALUES (?, ?)", (name, launch))
        connection.execute(
            "INSERT INTO runs (id, state, created, updated, epoch, owner, kind, title, begun_as, ending, said)"
            " VALUES (?, ?, ?, 170, 3, '', ?, ?, ?, ?, ?)",
            (id, state, 160 + turn, kind, f"message {id}", f"@{name}", ending, said),
        )
        is_open = state == "waiting"
        steps = (
            ("1/r1", "request", '{"kind":"request"}', '{"value":1}', "done"),
            ("1/call_a", "tool", '{"kind":"tool"}', None if is_open else '{"value":2}', "waiting"),
            (
                "1/call_a/approval",
                "person",
                '{"kind":"person","about":"approval","text":"May it?"}',
                None if is_open else '{"value":{"allowed":true}}',
                "waiting",
            ),
        )
        for seq, (path, step, effect, outcome, open_state) in enumerate(steps):
            connection.execute(
                "INSERT INTO effects (run, path, seq, kind, hash, effect, state, outcome, began, ended, attempt)"
                " VALUES (?, ?, ?, ?, 'h', ?, ?, ?, 161, 162, 1)",
                (id, path, seq, step, effect, open_state if is_open else "done", outcome),
            )


def _write_posts(connection: Any) -> None:
    connection.execute(
        "INSERT INTO messages (channel, at, author, recipient, kind, text, data, reply_to, task, key)"
        " VALUES ('lab', 5, '@ada', '', 'chat', 'hello all', '{}', NULL, '', 'k')"
    )
    connection.execute("INSERT INTO deliveries VALUES ('@bob', 'lab', '', 0, 0)")
