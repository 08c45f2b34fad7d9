"""The file `logs.db` of an earlier version: the first use migrates it to `antiphon.db`, whatever interrupts it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon import Conversation, Store
from antiphon.conversation.serialization import conversation_to_json
from antiphon.durable import Journal
from antiphon.errors import StoreError
from antiphon.storage.encryption import JournalCipher
from antiphon.storage.schema import MIGRATIONS
from antiphon.storage.sqlite import SqliteDatabase
from antiphon.team.channels import Channel
from tests.storage_versions import OLD, write_file

VERSIONS = (*OLD, len(MIGRATIONS))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data directory."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("ANTIPHON_DB", "ANTIPHON_JOURNAL_KEY"):
        monkeypatch.delenv(name, raising=False)
    place = tmp_path / "antiphon"
    place.mkdir(mode=0o700)
    return place


def write_old(place: Path, version: int = OLD[-1], secret: str = "") -> None:
    """Write `logs.db` with a schema, and its key if there is a secret, which is encrypted in `private.txt`."""
    conversation = Conversation("Be brief.")
    conversation.add_user("How does the deployment work?")
    conversation.add_assistant("Slowly.")
    data = conversation_to_json(conversation)
    turns = [json.dumps(each) for each in data.pop("turns")]
    if version in OLD:
        write_file(place / "logs.db", version, turns, json.dumps(data))
    else:
        with Store(place / "logs.db") as store:
            store.save(conversation, id="3abc0001", is_new=True, model="m", command="chat")
    if secret:
        (place / "private.txt").write_text(JournalCipher(place / "logs.key").encrypt(secret))


def read_file(path: Path | None) -> dict[str, Any]:
    """Return what public names read of a file; of the user's file without a path."""
    journal = Journal(path)
    with Store(path) as store:
        entries = {each.id: each.to_json() for each in store.list()}
        texts = {id: conversation_to_json(store.load(id)) for id in entries}
        found = sorted(each.id for each in store.list(query="slowly"))
    runs = [(each.id, each.kind, each.state) for each in journal.list_runs()]
    steps = {id: [(each.path, each.kind, each.state) for each in journal.iterate_effects(id)] for id, *_ in runs}
    journal.database.close()
    posts = [(each.id, each.text) for each in Channel("lab", path).messages()]
    return {"entries": entries, "texts": texts, "found": found, "runs": runs, "steps": steps, "posts": posts}


def read_copy(place: Path, elsewhere: Path) -> dict[str, Any]:
    """Return what a copy of `logs.db` contains, which is migrated where it is because it is named."""
    shutil.copy(place / "logs.db", elsewhere / "named.db")
    return read_file(elsewhere / "named.db")


def names(place: Path) -> list[str]:
    """Return the names of the files, without those of SQLite beside a file that is open."""
    return sorted(
        each.name for each in place.iterdir() if not each.name.endswith(("antiphon.db-shm", "antiphon.db-wal"))
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_use_migrates_a_file_of_every_schema(place: Path, tmp_path: Path, version: int) -> None:
    write_old(place, version)
    before = (place / "logs.db").read_bytes()
    expected = read_copy(place, tmp_path)
    assert expected["entries"]
    assert read_file(None) == expected
    assert names(place) == ["antiphon.db", "logs.db.bak"]
    assert (place / "antiphon.db").stat().st_mode & 0o777 == 0o600
    assert len(before) == (place / "logs.db.bak").stat().st_size
    with closing(sqlite3.connect(place / "antiphon.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with closing(sqlite3.connect(place / "logs.db.bak")) as connection:
        assert connection.execute("SELECT max(version) FROM schema").fetchone() == (version,)
    assert read_file(None) == expected


def test_a_write_is_enough_to_migrate_it(place: Path, tmp_path: Path) -> None:
    write_old(place)
    expected = read_copy(place, tmp_path)
    Journal().check_writable()
    assert names(place) == ["antiphon.db", "logs.db.bak"]
    assert read_file(None) == expected


def test_the_key_and_the_typed_messages_come_along(place: Path) -> None:
    write_old(place, secret="hush")
    (place / "logs.history").write_text("what I typed\n")
    assert Store().list()
    assert names(place) == [
        "antiphon.db", "antiphon.history", "antiphon.key", "logs.db.bak", "logs.key", "private.txt",
    ]  # fmt: skip
    assert Journal().cipher.decrypt((place / "private.txt").read_text()) == "hush"
    assert (place / "antiphon.key").read_bytes() == (place / "logs.key").read_bytes()
    assert (place / "antiphon.key").stat().st_mode & 0o777 == 0o600


def test_the_key_comes_along_for_another_database(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_old(place, secret="hush")
    monkeypatch.setenv("ANTIPHON_DB", "postgresql://nobody@127.0.0.1:1/none")
    assert Journal().cipher.decrypt((place / "private.txt").read_text()) == "hush"
    assert (place / "logs.db").exists()


def test_two_different_keys_are_refused(place: Path) -> None:
    write_old(place, secret="hush")
    assert JournalCipher(place / "other.key").key_id
    (place / "other.key").rename(place / "antiphon.key")
    with pytest.raises(StoreError, match=r"logs\.key and .*antiphon\.key hold different keys"):
        Store().list()
    assert names(place) == ["antiphon.db.lock", "antiphon.key", "logs.db", "logs.key", "private.txt"]


def test_a_named_file_keeps_its_name(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_old(place)
    (place / "logs.db").rename(tmp_path / "logs.db")
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    assert Store().list()
    assert Store(tmp_path / "antiphon.db").list() == []
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "antiphon.db"))
    assert Store().list() == []
    assert (tmp_path / "logs.db").exists()
    assert names(place) == []


def test_a_file_that_an_earlier_version_makes_later_is_left_alone(place: Path) -> None:
    write_old(place)
    expected = read_file(None)
    write_old(place, 4)
    before = (place / "logs.db").read_bytes()
    assert read_file(None) == expected
    assert (place / "logs.db").read_bytes() == before
    (place / "antiphon.db").unlink()
    with pytest.raises(StoreError, match=r"logs\.db of an earlier version was not migrated: .*logs\.db\.bak exists"):
        Store().list()


@pytest.mark.parametrize("version", [4, len(MIGRATIONS)])
def test_a_file_in_use_is_refused_and_then_migrated(place: Path, tmp_path: Path, version: int) -> None:
    write_old(place, version)
    expected = read_copy(place, tmp_path)
    with closing(sqlite3.connect(place / "logs.db")) as other:
        other.execute("SELECT count(*) FROM sqlite_master").fetchone()
        with pytest.raises(StoreError, match="while another process uses it; stop that process and try again"):
            Store(timeout=0.1).list()
        assert (place / "logs.db").exists()
        assert not (place / "antiphon.db").exists()
    assert read_file(None) == expected


def test_a_log_that_a_killed_process_left_is_migrated_too(place: Path, tmp_path: Path) -> None:
    live = tmp_path / "live"
    live.mkdir()
    write_old(live, 6)
    with closing(sqlite3.connect(live / "logs.db")) as connection:
        connection.execute("UPDATE conversations SET title = 'Late' WHERE id = '3abc0001'")
        connection.commit()
        for name in ("logs.db", "logs.db-wal"):
            shutil.copy(live / name, place / name)
    assert (place / "logs.db-wal").stat().st_size
    assert Store().find("3abc0001").title == "Late"
    assert names(place) == ["antiphon.db", "logs.db.bak"]


@pytest.mark.parametrize("damage", ["text", "newer", "other"])
def test_a_file_that_cannot_be_migrated_stays_as_it_is(place: Path, damage: str) -> None:
    path = place / "logs.db"
    if damage == "text":
        path.write_text("This is no database. " * 100)
    elif damage == "newer":
        newer = (*MIGRATIONS, ("CREATE TABLE more (x)",))
        with closing(SqliteDatabase(path, migrations=newer)) as database, database.write_transaction():
            pass
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE theirs (x)")
    expected = {"text": "is not a database", "newer": "written by a newer release", "other": "of another program"}
    for _ in range(2):
        with pytest.raises(StoreError, match=rf"logs\.db .*{expected[damage]}"):
            Store().list()
    assert names(place) == ["antiphon.db.lock", "logs.db"]


def test_a_read_only_place_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    root = os.geteuid() == 0
    # Other users can reach this directory.
    with tempfile.TemporaryDirectory() as name:
        monkeypatch.setenv("XDG_DATA_HOME", name)
        monkeypatch.delenv("ANTIPHON_DB", raising=False)
        place = Path(name, "antiphon")
        place.mkdir()
        write_old(place)
        with Store(place / "other.db") as store:
            assert store.list() == [], "what is imported on first use is imported"
        (place / "logs.db").chmod(0o444)
        for each in (place, Path(name)):
            each.chmod(0o555)
        # The superuser could write it.
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(StoreError) as found:
                Store().list()
            with pytest.raises(StoreError, match="is read-only"):
                Store().check_writable()
            if root:
                os.seteuid(0)
            assert names(place) == ["logs.db"]
            # The file alone is read-only.
            for each in (place, Path(name)):
                each.chmod(0o777)
            if root:
                os.seteuid(65534)
            with pytest.raises(StoreError, match="is read-only"):
                Store().list()
        finally:
            if root:
                os.seteuid(0)
            (place / "logs.db").chmod(0o644)
        assert str(found.value) == (
            f"{place}/logs.db of an earlier version cannot be migrated to antiphon.db: it or its directory is"
            " read-only; make both writable, or copy it to a directory where you can write and name the copy with"
            " `--db FILE`"
        )
        assert Store().list()


#: Runs with a directory and a count: kills a process before or after each call of the file system and of SQLite.
KILLS = """
    import os, shutil, signal, sys
    from pathlib import Path

    from antiphon import Store
    from antiphon.durable import Journal

    CALLS = {"execute", "backup", "close", "rename", "replace", "unlink", "fsync", "link", "connect", "open", "write"}
    old, place = Path(sys.argv[1]), Path(sys.argv[2])

    def in_child(action):
        if not (child := os.fork()):
            action()
            os._exit(0)
        return os.waitpid(child, 0)[1]

    def read():
        store, journal = Store(), Journal()
        entries = [each.to_json() for each in store.list()]
        runs = [(each.id, each.kind, each.state) for each in journal.list_runs()]
        if (place / "private.txt").exists():
            assert journal.cipher.decrypt((place / "private.txt").read_text()) == "hush"
        (place / "read.txt").write_text(repr((entries, runs)))

    def migrate(number):
        left, statements = number, 0

        def count(frame, event, called):
            nonlocal left, statements
            name = getattr(called, "__name__", "")
            if event not in ("c_call", "c_return") or name not in CALLS:
                return
            # Most statements are in the one transaction of the schema, so some of them suffice.
            statements += name == "execute"
            if name != "execute" or statements % 30 == 1:
                left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        Store().list()
        sys.setprofile(None)

    def find_state():
        return tuple(each.name for each in sorted(place.iterdir()) if each.name in STATES)

    STATES = ("antiphon.db", "antiphon.db.new", "antiphon.key", "logs.db", "logs.db.bak")
    seen, states, number = set(), [], 0
    while True:
        number += 1
        shutil.rmtree(place)
        shutil.copytree(old, place)
        status = in_child(lambda: migrate(number))
        state = find_state()
        if state not in states:
            states.append(state)
        assert status in (0, signal.SIGKILL), status
        whole = [each for each in state if each in ("antiphon.db", "logs.db")] or state[:1] == ("antiphon.db.new",)
        assert whole, state
        assert in_child(read) == 0, (number, state)
        assert not (place / "logs.db").exists() and not (place / "antiphon.db.new").exists(), (number, state)
        seen.add((place / "read.txt").read_text())
        if status == 0:
            break
    assert len(seen) == 1, seen
    print(number, states)
"""


@pytest.mark.parametrize("secret", ["", "hush"])
def test_after_a_kill_at_any_step_the_next_start_finishes(place: Path, tmp_path: Path, secret: str) -> None:
    write_old(place, 9, secret)
    shutil.copytree(place, tmp_path / "old")
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLS), str(tmp_path / "old"), str(place)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    number, _, states = process.stdout.partition(" ")
    assert int(number) > 50
    key = ("antiphon.key",) if secret else ()
    for state in (
        ("logs.db",),
        ("antiphon.db.new", *key, "logs.db"),
        ("antiphon.db.new", *key, "logs.db.bak"),
        ("antiphon.db", *key, "logs.db.bak"),
    ):
        assert str(state) in states, process.stdout


def test_several_processes_migrate_it_once(place: Path, tmp_path: Path) -> None:
    write_old(place, 4, secret="hush")
    expected = read_copy(place, tmp_path)
    code = """
        import sys
        from antiphon import Conversation, Store
        conversation = Conversation()
        conversation.add_user("from " + sys.argv[1])
        sys.stdin.readline()
        with Store() as store:
            count, id = len(store.list()), "own" + sys.argv[1]
            print(count, store.save(conversation, id=id, is_new=True, model="m", command="chat"))
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(4)
    ]  # fmt: skip
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    for number, process in enumerate(processes):
        output, errors = process.communicate(timeout=120)
        assert not errors
        assert output.endswith(f" own{number}\n")
    found = read_file(None)
    assert set(found["entries"]) == set(expected["entries"]) | {f"own{number}" for number in range(4)}
    assert found["texts"].items() >= expected["texts"].items()
    assert names(place) == ["antiphon.db", "antiphon.key", "logs.db.bak", "logs.key", "private.txt"]
