"""The store's file in every bad state: damaged, foreign, locked, full, read-only, or in many hands at once."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon import Store
from antiphon.conversation import Conversation
from antiphon.errors import AntiphonError, StoreError
from antiphon.storage.schema import MIGRATIONS
from antiphon.storage.sqlite import SqliteDatabase


def talk(*texts: str) -> Conversation:
    conversation = Conversation()
    for number, text in enumerate(texts):
        (conversation.add_assistant if number % 2 else conversation.add_user)(text)
    return conversation


def save(store: Store, *texts: str) -> str:
    return store.save(talk(*texts), model="m", command="chat")


def use_all(path: Path) -> None:
    """Everything the store does, on a file that may be anything."""
    with Store(path, timeout=0.2) as store:
        for use in (
            lambda: store.list(),
            lambda: store.list(query="word"),
            lambda: [store.load(entry.id) for entry in store.list()],
            lambda: save(store, "word", "more"),
            lambda: store.fork("last"),
            lambda: store.remove("last"),
        ):
            with contextlib.suppress(AntiphonError):
                use()


def run(code: str, *arguments: object) -> subprocess.Popen[str]:
    prelude = (
        "import sys; from antiphon import Store; from antiphon.conversation import Conversation\n"
        "def talk(text): c = Conversation(); c.add_user(text); return c\n"
    )
    command = [sys.executable, "-c", prelude + code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(*processes: subprocess.Popen[str]) -> list[str]:
    outputs = [process.communicate(timeout=60) for process in processes]
    assert [error for _, error in outputs if error] == []
    return [output for output, _ in outputs]


def go(processes: list[subprocess.Popen[str]]) -> None:
    """Let those that wait for a line begin together."""
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"this is a text, and no database at all " * 100, "is not a database"),
        (b"SQLite format 3\0" + b"\xff" * 4096, "is not a database|is damaged"),
        (b"hi", "is not a database"),
    ],
)
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    for use in (lambda store: store.list(), lambda store: save(store, "hi"), lambda store: store.load("last")):
        with pytest.raises(StoreError, match=rf"notes\.txt ({message}).*--db"):
            use(Store(path))
    assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path: Path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE schema (version)")
    connection.execute("INSERT INTO schema VALUES (99)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is a database of another program"):
        save(Store(path), "hi")
    assert path.read_bytes() == before


def test_a_newer_store_is_left_alone(tmp_path: Path):
    path = tmp_path / "logs.db"
    newer = (*MIGRATIONS, ["CREATE TABLE novelty (x)"])
    with contextlib.closing(SqliteDatabase(path, migrations=newer)) as database, database.write_transaction():
        pass
    for use in (lambda store: store.list(), lambda store: save(store, "hi")):
        with pytest.raises(
            StoreError,
            match=rf"newer release \(schema {len(newer)}, this one knows {len(MIGRATIONS)}\); update antiphon",
        ):
            use(Store(path))


def test_an_older_store_is_brought_up_to_date(tmp_path: Path):
    path = tmp_path / "logs.db"
    with Store(path) as store:
        id = save(store, "hi")
    newer = (*MIGRATIONS, ["CREATE TABLE novelty (x)"], ["INSERT INTO novelty VALUES (7)"])
    for _ in range(2):
        with (
            contextlib.closing(SqliteDatabase(path, migrations=newer)) as database,
            database.read_transaction() as connection,
        ):
            assert connection.execute("SELECT x FROM novelty").fetchall() == [(7,)]
            assert connection.execute("SELECT version FROM schema").fetchall() == [
                (number,) for number in range(1, len(newer) + 1)
            ]
            assert connection.execute("SELECT id FROM sessions").fetchall() == [(id,)]


def test_a_migration_that_fails_changes_nothing(tmp_path: Path):
    path = tmp_path / "logs.db"
    with Store(path) as store:
        id = save(store, "hi")
    broken = (*MIGRATIONS, ["DELETE FROM sessions", "CREATE TABLE novelty (x)", "NONSENSE"])
    with (
        contextlib.closing(SqliteDatabase(path, migrations=broken)) as database,
        pytest.raises(StoreError, match="NONSENSE"),
        database.read_transaction(),
    ):
        pass
    assert Store(path).load(id) == talk("hi")


def test_a_path_that_can_be_no_file(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file" / "logs.db", tmp_path / ("x" * 300), tmp_path / "a\0b"):
        with pytest.raises(StoreError, match="cannot"):
            save(Store(path), "hi")


def test_a_locked_store_is_waited_for_and_then_given_up(tmp_path: Path):
    with Store(tmp_path / "logs.db", timeout=0.1) as store:
        id = save(store, "hi")
        other = sqlite3.connect(store.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        conversation = store.load(id)
        conversation.add_assistant("hello")
        with pytest.raises(StoreError, match=r"is in use: .* for 0\.1 s; try again"):
            store.save(conversation, id=id, model="m", command="chat")
        assert len(store.list(query="hi")) == 1, "reading does not wait"
        other.execute("COMMIT")
        other.close()
        store.save(conversation, id=id, model="m", command="chat")
        assert store.load(id) == conversation


def test_a_store_that_another_process_is_just_making_is_waited_for(tmp_path: Path):
    path = tmp_path / "logs.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, lambda: (other.execute("ROLLBACK"), other.close()))
    release.start()
    with Store(path) as store:
        assert store.load(save(store, "hi")) == talk("hi")
    release.join()


@pytest.fixture
def readable() -> Iterator[Path]:
    """A directory that everybody may read and only its owner may change."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@contextlib.contextmanager
def somebody_else(directory: Path) -> Iterator[None]:
    """Without the rights to change the directory; the superuser must become somebody else for that."""
    root = os.geteuid() == 0
    for path in (*directory.iterdir(), directory):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        directory.chmod(0o755)


def test_a_read_only_directory_can_be_read(readable: Path):
    path = readable / "logs.db"
    with Store(path) as store:
        save(store, "hi")
    with somebody_else(readable), Store(path) as store:
        assert store.load("last") == talk("hi")
        assert len(store.list(query="hi")) == 1
        with pytest.raises(StoreError, match=r"logs\.db cannot be .*(Permission denied|read-only).*--db"):
            save(store, "more")
        for write in (store.fork, store.remove):
            with pytest.raises(StoreError, match="cannot be"):
                write("last")
        with pytest.raises(StoreError, match="Permission denied"):
            save(Store(readable / "sub" / "logs.db"), "hi")
    assert [entry.title for entry in Store(path).list()] == ["hi"]


def test_a_full_disk_loses_nothing_that_was_saved(tmp_path: Path):
    code = """
import resource, signal
from antiphon.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store(sys.argv[1])
conversation = talk("first")
id = store.save(conversation, model="m", command="chat")
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
conversation.add_assistant("x" * 3_000_000)
try:
    store.save(conversation, id=id, model="m", command="chat")
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(len(store.load(id).turns))
store.save(conversation, id=id, model="m", command="chat")
print(store.load(id) == conversation)
"""
    (output,) = finished(run(code, tmp_path / "logs.db"))
    error, before, after = output.splitlines()
    assert "nothing was changed" in error
    assert (before, after) == ("1", "True")


def test_a_log_of_changes_that_was_cut_off_loses_the_last_ones_only(tmp_path: Path):
    (tmp_path / "live").mkdir()
    with Store(tmp_path / "live" / "logs.db") as store:
        for number in range(10):
            save(store, f"number {number}")
        shutil.copytree(tmp_path / "live", tmp_path / "copy")
    log = tmp_path / "copy" / "logs.db-wal"
    whole = log.read_bytes()
    assert whole, "nothing was moved into the database yet"
    for size in (0, 10, 32, 1000, *range(4096, len(whole), len(whole) // 12), len(whole) - 1, len(whole)):
        shutil.rmtree(tmp_path / "cut", ignore_errors=True)
        shutil.copytree(tmp_path / "copy", tmp_path / "cut")
        (tmp_path / "cut" / "logs.db-shm").unlink()
        (tmp_path / "cut" / "logs.db-wal").write_bytes(whole[:size])
        with Store(tmp_path / "cut" / "logs.db") as store:
            titles = [entry.title for entry in store.list()]
            assert titles == [f"number {number}" for number in reversed(range(len(titles)))]
            save(store, "goes on")
    assert len(titles) == 10


def test_damage_anywhere_is_told_and_never_a_crash(tmp_path: Path):
    with Store(tmp_path / "whole.db") as store:
        for number in range(20):
            save(store, f"word {number} " * 50, "answer")
    whole = (tmp_path / "whole.db").read_bytes()
    dice = random.Random(7)
    for _ in range(60):
        path = tmp_path / "damaged.db"
        for old in tmp_path.glob("damaged.db*"):
            old.unlink()
        content = bytearray(whole)
        for _ in range(dice.choice([1, 5, 50])):
            start = dice.randrange(len(content))
            content[start : start + 8] = dice.randbytes(len(content[start : start + 8]))
        path.write_bytes(content[: dice.choice([len(content), dice.randrange(len(content))])])
        use_all(path)


def test_processes_begin_a_store_together(tmp_path: Path):
    code = """
sys.stdin.readline()
store = Store(sys.argv[1])
print(*(store.save(talk(f"{sys.argv[2]} {number}"), model="m", command="chat") for number in range(10)))
"""
    processes = [run(code, tmp_path / "new" / "logs.db", number) for number in range(6)]
    go(processes)
    ids = " ".join(finished(*processes)).split()
    assert len(set(ids)) == 60
    with Store(tmp_path / "new" / "logs.db") as store:
        assert {entry.title for entry in store.list()} == {f"{one} {two}" for one in range(6) for two in range(10)}
        assert len(store.list(query="3")) == 15


def test_processes_that_go_on_with_one_conversation_lose_nothing(tmp_path: Path):
    with Store(tmp_path / "logs.db") as store:
        id = save(store, "begin", "yes")
    code = """
store = Store(sys.argv[1])
conversation, id = store.load(sys.argv[2]), sys.argv[2]
print("loaded", flush=True)
sys.stdin.readline()
for number in range(10):
    conversation.add_user(f"{sys.argv[3]}-{number}")
    conversation.add_assistant("ok")
    id = store.save(conversation, id=id, model="m", command="chat")
print(id)
"""
    processes = [run(code, store.path, id, name) for name in "abc"]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "loaded\n"
    go(processes)
    ids = [line.strip() for line in finished(*processes)]
    assert len(set(ids)) == 3
    for name, each in zip("abc", ids, strict=True):
        said = [turn.text for turn in store.load(each).turns]
        assert [text for text in said if text.startswith(f"{name}-")] == [f"{name}-{number}" for number in range(10)]


def test_a_process_killed_in_the_middle_leaves_whole_conversations(tmp_path: Path):
    code = """
store = Store(sys.argv[1])
conversation, id = talk("begin"), None
while True:
    id = store.save(conversation, id=id, model="m", command="chat")
    print(len(conversation.turns), flush=True)
    conversation.add_assistant("answer " * 500)
    conversation.add_user("question " * 500)
"""
    process = run(code, tmp_path / "logs.db")
    assert process.stdout
    for _ in range(30):
        told = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with Store(tmp_path / "logs.db") as store:
        assert len(store.load("last").turns) >= told
        save(store, "and on")
