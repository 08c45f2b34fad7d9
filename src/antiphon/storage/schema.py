"""The tables of the store, as numbered migrations: what was released never changes, changes are added at the end."""

from __future__ import annotations

#: Marks a database as ours ("Antp"), so that another program's file is never written to.
APPLICATION_ID = 0x416E7470

#: Migration 1, 2, …, each as the statements that make it.
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
        # All of a conversation but its turns and kept texts. Apart, because every save writes the row above.
        """CREATE TABLE heads (
            conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
            body TEXT NOT NULL
        )""",
        # Rows never change and keys are never used twice, so an index that is behind cannot name the wrong turn.
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
        # Turns written where SQLite has no full-text search; whoever opens the store with it adds them to the index.
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
        # What was said before a run: each turn once, however many runs come after it.
        "CREATE TABLE said (key TEXT PRIMARY KEY, before TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID",
        # What is large, once by its content.
        "CREATE TABLE texts (hash TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
    ),
    (
        # Numbers are never used twice, so whoever has read up to one never misses a message.
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
        # What a reader was given at once. How far he has read is the last of them, and kept nowhere else.
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
    # What a model was shown with a request: the key of its last turn among those that are kept once.
    ("ALTER TABLE effects ADD COLUMN said TEXT",),
    (
        # Whoever looks for teams and for what they ask does not go through all that was ever run and said.
        "CREATE INDEX runs_teams ON runs (created) WHERE kind = 'team'",
        "CREATE INDEX messages_questions ON messages (channel, id) WHERE kind = 'question'",
        "CREATE INDEX messages_answers ON messages (reply_to) WHERE kind = 'answer'",
    ),
    (
        # Which run another one has gone on from, and at which of its steps.
        "ALTER TABLE runs ADD COLUMN fork_of TEXT",
        "ALTER TABLE runs ADD COLUMN fork_at TEXT",
    ),
    (
        # The newest runs that are part of no other: PostgreSQL has another index for it.
        "CREATE INDEX runs_newest ON runs (parent, created, id)",
    ),
    # Which tools a conversation was last had with, as they were chosen: whoever goes on with it has them again.
    ("ALTER TABLE conversations ADD COLUMN tools TEXT",),
    (
        # How many steps a run has had, noted when it is left and when a step is removed: writing it at every step would
        # cost a sixth more. The rows of a run that is removed as a whole find none to note it in.
        "ALTER TABLE runs ADD COLUMN steps INTEGER",
        """CREATE TRIGGER effects_removed AFTER DELETE ON effects BEGIN
            UPDATE runs SET steps = max(coalesce(steps, 0), OLD.seq + 1) WHERE id = OLD.run;
        END""",
    ),
    (
        # What the provider's cache made of each request of a conversation.
        """CREATE TABLE cache_reports (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            model TEXT NOT NULL,
            report TEXT NOT NULL
        )""",
        "CREATE INDEX cache_reports_conversation ON cache_reports (conversation, key)",
    ),
)

#: The migrations of runs, which are made in PostgreSQL too. Channels are of one machine, as the trees of a team are.
RUN_MIGRATIONS = (MIGRATIONS[1], MIGRATIONS[3], MIGRATIONS[5])

#: A run in one of these has ended. What it did can be looked at, and forked.
ENDED_STATES = ("done", "failed", "cancelled")
#: Before a statement that is done only for a run that is still ours: the run, if it is at its epoch, is `at`.
AT_EPOCH = "WITH at (run) AS (SELECT id FROM runs WHERE id = ? AND epoch = ?)"
#: A statement that keeps something beside what names it, and the values of its row.
ExtraInsert = tuple[str, tuple[str, ...]]
#: Keep a large text by its hash.
INSERT_TEXT = "INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING"
#: Keep a turn by its key, with the key of what was said before it.
INSERT_TURN = "INSERT INTO said VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

#: The full-text index is made of the turns and can be made again, so it is no migration.
CREATE_INDEX = (
    "CREATE VIRTUAL TABLE words USING fts5"
    "(text, content='turns', content_rowid='key', tokenize='unicode61 remove_diacritics 2')"
)
