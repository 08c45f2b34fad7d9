"""The tables of the store as numbered migrations. Released ones never change; new ones are added at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from antiphon.storage.old_conversations import move_conversations
from antiphon.storage.old_messages import move_message_runs

#: Identifies our databases ("Antp"), so that files of other programs are never written.
APPLICATION_ID = 0x416E7470

#: A migration: statements, and functions that move rows.
Migration = Sequence[str | Callable[[Any], None]]

#: The kind of a session that is a saved conversation and nothing else.
CONVERSATION = "conversation"
#: The state of such a session, which nobody runs.
SAVED = "saved"
#: The name that a user gave a session, or else its title.
SHOWN_TITLE = "coalesce(name, title)"
#: The condition for sessions that are more than a saved conversation.
IS_RUN = f"kind <> '{CONVERSATION}'"
#: The states of sessions that may still change; a query repeats the condition to use its index.
ACTIVE = "state IN ('ready', 'running', 'waiting')"
#: Reports of the provider's prompt cache for each request of a conversation.
CREATE_CACHE_REPORTS = """CREATE TABLE cache_reports (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    report TEXT NOT NULL
)"""

#: The migrations of the releases that had tables for conversations and for runs.
_SEPARATE_TABLES: tuple[tuple[str, ...], ...] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        "CREATE TABLE schema (version INTEGER PRIMARY KEY)",
        """CREATE TABLE conversations (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            models TEXT NOT NULL,
            command TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            turns INTEGER NOT NULL,
            input_tokens INTEGER,
            output_tokens INTEGER,
            cost REAL,
            parent TEXT,
            parent_turns INTEGER,
            revision INTEGER NOT NULL
        )""",
        "CREATE INDEX conversations_updated ON conversations (updated)",
        # A conversation without its turns and kept texts. It is separate, because every save writes the row above.
        """CREATE TABLE heads (
            conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
            body TEXT NOT NULL
        )""",
        # Rows never change and keys are never reused, so an outdated index cannot name the wrong turn.
        """CREATE TABLE turns (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            body TEXT NOT NULL,
            text TEXT NOT NULL,
            UNIQUE (conversation, number)
        )""",
        """CREATE TABLE kept (
            conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            handle TEXT NOT NULL,
            text TEXT NOT NULL,
            PRIMARY KEY (conversation, handle)
        )""",
        # Turns written without full-text search; they are indexed when the store is next opened with it.
        "CREATE TABLE unindexed (key INTEGER PRIMARY KEY)",
    ),
    (
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY,
            state TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            epoch INTEGER NOT NULL,
            owner TEXT NOT NULL,
            kind TEXT NOT NULL,
            title TEXT NOT NULL,
            begun_as TEXT NOT NULL,
            parent TEXT,
            number INTEGER,
            wake_at REAL,
            ending TEXT,
            said TEXT
        )""",
        "CREATE INDEX runs_created ON runs (created)",
        "CREATE INDEX runs_parent ON runs (parent, number)",
        """CREATE TABLE effects (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            path TEXT NOT NULL,
            seq INTEGER NOT NULL,
            kind TEXT NOT NULL,
            hash TEXT NOT NULL,
            effect TEXT NOT NULL,
            state TEXT NOT NULL,
            outcome TEXT,
            began REAL NOT NULL,
            ended REAL,
            cost REAL,
            attempt INTEGER NOT NULL,
            PRIMARY KEY (run, path)
        ) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX effects_seq ON effects (run, seq)",
        "CREATE INDEX effects_waiting ON effects (run, state) WHERE state = 'waiting'",
        # Histories before requests: each turn once, however many runs share it.
        "CREATE TABLE said (key TEXT PRIMARY KEY, before TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID",
        # Large texts, once per hash.
        "CREATE TABLE texts (hash TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
    ),
    (
        # Numbers are never reused, so a reader who knows the last one misses no message.
        """CREATE TABLE messages (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            channel TEXT NOT NULL,
            at REAL NOT NULL,
            author TEXT NOT NULL,
            recipient TEXT NOT NULL,
            kind TEXT NOT NULL,
            text TEXT NOT NULL,
            data TEXT NOT NULL,
            reply_to INTEGER,
            task TEXT NOT NULL,
            key TEXT UNIQUE
        )""",
        "CREATE INDEX messages_channel ON messages (channel, id)",
        # The deliveries to a reader. The last one says how far the channel was read.
        """CREATE TABLE deliveries (
            reader TEXT NOT NULL,
            channel TEXT NOT NULL,
            key TEXT NOT NULL,
            after INTEGER NOT NULL,
            upto INTEGER NOT NULL,
            PRIMARY KEY (reader, channel, key)
        ) WITHOUT ROWID""",
        "CREATE INDEX deliveries_upto ON deliveries (reader, channel, upto)",
    ),
    # The key of the last turn of a model request.
    ("ALTER TABLE effects ADD COLUMN said TEXT",),
    (
        # Indexes for the lists of teams and their questions.
        "CREATE INDEX runs_teams ON runs (created) WHERE kind = 'team'",
        "CREATE INDEX messages_questions ON messages (channel, id) WHERE kind = 'question'",
        "CREATE INDEX messages_answers ON messages (reply_to) WHERE kind = 'answer'",
    ),
    (
        # The run and the step that a run was forked from.
        "ALTER TABLE runs ADD COLUMN fork_of TEXT",
        "ALTER TABLE runs ADD COLUMN fork_at TEXT",
    ),
    (
        # The newest runs without a parent; PostgreSQL has another index for this.
        "CREATE INDEX runs_newest ON runs (parent, created, id)",
    ),
    # The last selection of tools, for when the conversation is continued.
    ("ALTER TABLE conversations ADD COLUMN tools TEXT",),
    (
        # The number of steps of a run, written on release and when a step is removed, because writing it at every step
        # would cost a sixth more. When a whole run is removed, its row is gone before the trigger runs.
        "ALTER TABLE runs ADD COLUMN steps INTEGER",
        """CREATE TRIGGER effects_removed AFTER DELETE ON effects BEGIN
            UPDATE runs SET steps = max(coalesce(steps, 0), OLD.seq + 1) WHERE id = OLD.run;
        END""",
    ),
    (
        # Reports of the provider's prompt cache for each request of a conversation.
        """CREATE TABLE cache_reports (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            model TEXT NOT NULL,
            report TEXT NOT NULL
        )""",
        "CREATE INDEX cache_reports_conversation ON cache_reports (conversation, key)",
    ),
)

#: The first migrations that PostgreSQL shares. Channels of teams exist on one machine only.
RUN_MIGRATIONS = (_SEPARATE_TABLES[1], _SEPARATE_TABLES[3], _SEPARATE_TABLES[5])

#: One table for conversations and runs, and each distinct turn once. Valid for SQLite and PostgreSQL.
UNIFY_SESSIONS: tuple[str, ...] = (
    "ALTER TABLE runs RENAME TO sessions",
    "ALTER TABLE sessions RENAME COLUMN begun_as TO launch",
    "ALTER TABLE sessions RENAME COLUMN ending TO result",
    # The last turn before the request of the session.
    "ALTER TABLE sessions RENAME COLUMN said TO last_turn",
    "ALTER TABLE sessions RENAME COLUMN fork_of TO forked_from",
    "ALTER TABLE sessions RENAME COLUMN fork_at TO forked_at",
    "ALTER TABLE sessions RENAME COLUMN steps TO step_count",
    # What the session's conversation is now. Without a revision there is none.
    "ALTER TABLE sessions ADD COLUMN revision INTEGER",
    "ALTER TABLE sessions ADD COLUMN turn_count INTEGER",
    "ALTER TABLE sessions ADD COLUMN shared_turns INTEGER",
    "ALTER TABLE sessions ADD COLUMN command TEXT",
    "ALTER TABLE sessions ADD COLUMN models TEXT",
    "ALTER TABLE sessions ADD COLUMN tools TEXT",
    # The conversation without its turns and full results; a reference if it is large, for every save writes the row.
    "ALTER TABLE sessions ADD COLUMN head TEXT",
    "ALTER TABLE sessions ADD COLUMN input_tokens INTEGER",
    "ALTER TABLE sessions ADD COLUMN output_tokens INTEGER",
    "ALTER TABLE sessions ADD COLUMN cost REAL",
    "ALTER TABLE effects RENAME TO steps",
    "ALTER TABLE steps RENAME COLUMN run TO session",
    "ALTER TABLE steps RENAME COLUMN effect TO request",
    "ALTER TABLE steps RENAME COLUMN said TO turn",
    "ALTER TABLE texts RENAME TO blobs",
    "ALTER TABLE said RENAME TO turns",
    "ALTER TABLE turns RENAME COLUMN key TO hash",
    "ALTER TABLE turns RENAME COLUMN before TO previous",
    """CREATE TABLE transcript (
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        turn TEXT NOT NULL,
        text_key INTEGER NOT NULL,
        PRIMARY KEY (session, position)
    ) WITHOUT ROWID""",
    "CREATE INDEX transcript_text ON transcript (text_key)",
    # The searchable texts of the turns in transcripts; forks share them. Rows never change and keys are never reused,
    # so an outdated index cannot name the wrong turn.
    "CREATE TABLE turn_texts (key INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)",
    """CREATE TABLE full_results (
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        handle TEXT NOT NULL,
        blob TEXT NOT NULL,
        PRIMARY KEY (session, handle)
    ) WITHOUT ROWID""",
    "DROP INDEX effects_waiting",
    "CREATE INDEX steps_waiting ON steps (session) WHERE state = 'waiting'",
    "CREATE INDEX steps_open ON steps (began, session, seq) WHERE kind = 'person' AND state = 'waiting'",
    "DROP INDEX runs_created",
    "CREATE INDEX sessions_updated ON sessions (updated, id) WHERE revision IS NOT NULL",
    "DROP INDEX runs_parent",
    "CREATE INDEX sessions_children ON sessions (parent, number)",
    f"CREATE INDEX sessions_active ON sessions (state, updated) WHERE {ACTIVE}",
)
_UNIFY_FILE: Migration = (
    "DROP TRIGGER effects_removed",
    "DROP INDEX runs_newest",
    "DROP INDEX runs_teams",
    "DROP INDEX effects_seq",
    "DROP INDEX cache_reports_conversation",
    "ALTER TABLE turns RENAME TO old_turns",
    "ALTER TABLE cache_reports RENAME TO old_cache_reports",
    *UNIFY_SESSIONS,
    # SQLite prefers the index of children to one of the sessions without a parent.
    "CREATE INDEX sessions_newest ON sessions (parent, created, id) WHERE kind <> 'conversation'",
    "CREATE UNIQUE INDEX steps_seq ON steps (session, seq)",
    "CREATE INDEX sessions_teams ON sessions (created) WHERE kind = 'team'",
    """CREATE TRIGGER steps_removed AFTER DELETE ON steps BEGIN
        UPDATE sessions SET step_count = max(coalesce(step_count, 0), OLD.seq + 1) WHERE id = OLD.session;
    END""",
    # In a table without row ids, most turns would need a page of their own.
    "ALTER TABLE turns RENAME TO old_said",
    "CREATE TABLE turns (hash TEXT PRIMARY KEY NOT NULL, previous TEXT NOT NULL, body TEXT NOT NULL)",
    "INSERT INTO turns SELECT hash, previous, body FROM old_said",
    "DROP TABLE old_said",
    CREATE_CACHE_REPORTS,
    "CREATE INDEX cache_reports_session ON cache_reports (session, key)",
    move_conversations,
    "DROP TABLE unindexed",
    "DROP TABLE old_cache_reports",
    "DROP TABLE old_turns",
    "DROP TABLE kept",
    "DROP TABLE heads",
    "DROP TABLE conversations",
    # Turns written without full-text search; they are indexed when the file is next opened with it.
    "CREATE TABLE unindexed (key INTEGER PRIMARY KEY)",
    "ALTER TABLE messages RENAME TO posts",
    "DROP INDEX messages_channel",
    "DROP INDEX messages_questions",
    "DROP INDEX messages_answers",
    "CREATE INDEX posts_channel ON posts (channel, id)",
    "CREATE INDEX posts_questions ON posts (channel, id) WHERE kind = 'question'",
    "CREATE INDEX posts_answers ON posts (reply_to) WHERE kind = 'answer'",
)

#: All sessions in the order of lists, and names that users gave them. Valid for SQLite and PostgreSQL.
NAME_SESSIONS: tuple[str, ...] = (
    "DROP INDEX sessions_updated",
    "CREATE INDEX sessions_listed ON sessions (updated, id) WHERE parent IS NULL",
    "ALTER TABLE sessions ADD COLUMN name TEXT",
    "CREATE UNIQUE INDEX sessions_name ON sessions (name) WHERE name IS NOT NULL",
)

#: Migration 1, 2, …
MIGRATIONS: tuple[Migration, ...] = (
    *_SEPARATE_TABLES,
    _UNIFY_FILE,
    (move_message_runs, *NAME_SESSIONS),
    # When the next request may be sent, or when the tokens of the last ones are used up.
    ("CREATE TABLE rate_limits (name TEXT PRIMARY KEY, free_at REAL NOT NULL) WITHOUT ROWID",),
)

#: The states of ended runs.
ENDED_STATES = ("done", "failed", "cancelled")
#: A prefix for fenced statements: the table `at` holds the session if it is at this epoch, else nothing.
AT_EPOCH = "WITH at (session) AS (SELECT id FROM sessions WHERE id = ? AND epoch = ?)"
#: The full-text index is derived from the turns, so it is not a migration.
CREATE_INDEX = (
    "CREATE VIRTUAL TABLE words USING fts5"
    "(text, content='turn_texts', content_rowid='key', tokenize='unicode61 remove_diacritics 2')"
)
