"""The tables of the store as numbered migrations. Released ones never change; new ones are added at the end."""

from __future__ import annotations

#: Identifies our databases ("Antp"), so that files of other programs are never written.
APPLICATION_ID = 0x416E7470

#: Migration 1, 2, …, each as a tuple of statements.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
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

#: The migrations that PostgreSQL shares. Channels of teams exist on one machine only.
RUN_MIGRATIONS = (MIGRATIONS[1], MIGRATIONS[3], MIGRATIONS[5])

#: The states of ended runs.
ENDED_STATES = ("done", "failed", "cancelled")
#: A prefix for fenced statements: the table `at` holds the run if it is at this epoch, else nothing.
AT_EPOCH = "WITH at (run) AS (SELECT id FROM runs WHERE id = ? AND epoch = ?)"
#: The full-text index is derived from the turns, so it is not a migration.
CREATE_INDEX = (
    "CREATE VIRTUAL TABLE words USING fts5"
    "(text, content='turns', content_rowid='key', tokenize='unicode61 remove_diacritics 2')"
)
