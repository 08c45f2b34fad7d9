"""The store of conversations: nothing lost, nothing written twice, everything found again."""

import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon import Store
from antiphon._base.json import dump_json, load_json
from antiphon.conversation import (
    Chat,
    Conversation,
    DerivedKey,
    Image,
    OpenQuestion,
    Origin,
    ProviderPayload,
    Reasoning,
    Text,
    ToolCall,
)
from antiphon.conversation.serialization import conversation_from_json, conversation_to_json
from antiphon.conversation.turns import AssistantTurn
from antiphon.durable import Journal
from antiphon.errors import ContentError, FormatError, NotSavedError
from antiphon.storage import ConversationEntry
from antiphon.wire import Usage
from tests.strategies import any_text, conversations, operations, perform

A_FEW = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "logs.db") as store:
        yield store


def save(store: Store, conversation: Conversation, id: str | None = None, **more: Any) -> str:
    return store.save(conversation, **{"id": id, "model": "m", "command": "chat", **more})


def talk(*texts: str, system: str = "") -> Conversation:
    conversation = Conversation(system)
    for number, text in enumerate(texts):
        (conversation.add_assistant if number % 2 else conversation.add_user)(text)
    return conversation


def titles(found: Any) -> list[str]:
    return [entry.title for entry in found]


def rows(path: Path, sql: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.commit()
        connection.close()


# Saving and loading


@given(conversations())
@A_FEW
def test_what_is_loaded_equals_what_was_saved(store: Store, conversation: Conversation):
    loaded, expected = store.load(save(store, conversation)), in_a_file(conversation)
    assert loaded == expected
    assert conversation_to_json(loaded) == conversation_to_json(expected)


def in_a_file(conversation: Conversation) -> Conversation:
    """What a file gives back: the same, but for lone surrogates in arguments that a program made."""
    return conversation_from_json(load_json(dump_json(conversation_to_json(conversation))))[0]


def contents(path: Path, id: str) -> list[list[Any]]:
    """Everything of a conversation in the file, but for its name and times."""
    return [
        rows(
            path,
            "SELECT position, body, text FROM transcript JOIN turns ON hash = turn JOIN turn_texts ON key = text_key"
            f" WHERE session = '{id}' ORDER BY position",
        ),
        rows(path, f"SELECT handle, blob FROM full_results WHERE session = '{id}' ORDER BY handle"),
        rows(path, f"SELECT title, turn_count, head FROM sessions WHERE id = '{id}'"),
    ]


@given(st.lists(st.tuples(operations, st.sampled_from(["save", "load", "fork", "other"])), max_size=12), any_text)
@A_FEW
def test_saving_step_by_step_equals_saving_once(steps: list[tuple[Any, str]], system: str):
    with tempfile.TemporaryDirectory() as directory, Store(Path(directory) / "a.db") as store:
        conversation = Conversation(system)
        id = save(store, conversation)
        for operation, how in steps:
            conversation = perform(conversation, operation)
            if how == "other":
                with Store(store.path) as other:
                    id = save(other, conversation, id)
            id = save(store, conversation, id)
            if how == "load":
                conversation = store.load(id)
            if how == "fork":
                id = store.fork(id)
        once = save(store, conversation.fork())
        assert contents(store.path, id) == contents(store.path, once)
        assert store.load(id) == in_a_file(conversation)
        # SQLite compares its index with the texts.
        rows(store.path, "INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")


def test_saving_costs_what_is_new(store: Store):
    conversation = talk(*(f"turn {number} {'word ' * 200}" for number in range(1010)), system="s" * 100_000)
    conversation.keep("result-1", "k" * 100_000)
    id = save(store, conversation)
    store.close()
    store.load(id)
    log = store.path.with_name("logs.db-wal")
    before = log.stat().st_size
    conversation.add_user("one more")
    save(store, conversation, id)
    assert log.stat().st_size - before < 64_000
    assert store.load(id) == conversation


def test_what_is_saved_is_the_newest_state_of_everything(store: Store):
    conversation = talk("hello")
    conversation.keep("result-1", "the whole")
    id = save(store, conversation)
    bare = talk("hello")
    bare.system = "Be brief."
    save(store, bare, id)
    assert store.load(id) == bare, "what was kept is gone"
    for spelling in ('{"a":1}', '{ "a": 1 }'):
        bare.add_assistant([ToolCall.read("c1", "f", spelling)])
        save(store, bare, id)
        saved = store.load(id).turns[-1]
        assert isinstance(saved, AssistantTurn)
        assert saved.calls[0].arguments_json == spelling, "equal calls may be spelled differently"
        bare.undo()


def test_a_conversation_that_somebody_else_changed_becomes_a_fork(store: Store):
    id = save(store, talk("hello", "hi"))
    here, there = store.load(id), store.load(id)
    here.add_user("from here")
    there.add_user("from there")
    assert save(store, here, id) == id
    other = save(store, there, id)
    assert other != id
    assert store.load(id) == here
    assert store.load(other) == there
    assert (store.find(other).parent, store.find(other).parent_turns) == (id, 2)
    there.add_assistant("and on")
    assert save(store, there, other) == other


def test_a_conversation_removed_while_it_goes_on_is_saved_again(store: Store):
    conversation = talk("hello")
    id = save(store, conversation)
    store.remove(id)
    conversation.add_assistant("hi")
    assert save(store, conversation, id) == id
    assert store.load(id) == conversation


def test_an_unknown_id_is_not_saved_under(store: Store):
    with pytest.raises(NotSavedError, match="there is no session 'nosuch'"):
        save(store, talk("hi"), "nosuch")
    assert list(store.list()) == []


def test_a_conversation_that_cannot_be_written_changes_nothing(store: Store):
    conversation = talk("hello")
    id = save(store, conversation)
    native = ProviderPayload(Origin("p", "a", "m"), {})
    conversation.add_assistant([Text("x", native)])
    native.data["bad"] = {1, 2}
    with pytest.raises(ContentError, match="no JSON form"):
        save(store, conversation, id)
    conversation.undo()
    assert store.load(id) == conversation


def test_ids_are_short_and_sort_by_time(store: Store):
    ids = [save(store, talk(str(number))) for number in range(100)]
    assert ids == sorted(set(ids))
    assert {len(id) for id in ids} == {8}


def test_an_id_names_a_conversation_or_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Commands take an id without saying of which, so at one moment both get ids of their own."""
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    journal = Journal(tmp_path / "one.db")
    with Store(tmp_path / "one.db") as store:
        ids = [save(store, talk("One.")), journal.begin("program", "p.vibe").id]
        ids += [save(store, talk("Two.")), journal.begin("program", "p.vibe").id]
    journal.close()
    assert len(set(ids)) == 4


def test_an_entry_says_what_is_known(store: Store):
    before = datetime.now(UTC)
    conversation = talk("  What is\nthe weather?  ")
    id = save(store, conversation, model="anthropic/claude", command="ask", usage=Usage(10, 5), cost=0.25)
    conversation.add_assistant("Rain.")
    save(store, conversation, id, model="openai/gpt", command="chat", usage=Usage(20, None), cost=None)
    save(store, conversation, id, model="anthropic/claude")
    entry = store.find(id)
    assert (entry.title, entry.models, entry.command) == (
        "What is the weather?",
        ("openai/gpt", "anthropic/claude"),
        "ask",
    )
    assert (entry.turns, entry.input_tokens, entry.output_tokens, entry.tokens, entry.cost) == (2, 30, 5, 35, 0.25)
    assert before <= entry.created <= entry.updated <= datetime.now(UTC)
    assert store.export(id)["conversation"] == conversation_to_json(conversation)


def test_what_nobody_said_is_unknown(store: Store):
    entry = store.find(save(store, Conversation(), usage=Usage(), cost=float("nan")))
    assert (entry.title, entry.tokens, entry.cost) == ("", None, None)
    entry = store.find(save(store, Conversation(), usage=Usage(10**30, 0)))
    assert entry.output_tokens == 0


def test_a_title_is_a_line(store: Store):
    assert len(store.find(save(store, talk("word " * 1000))).title) <= 100
    assert store.find(save(store, talk("\n\nIs this\nsafe?\n\n+ a line"))).title == "Is this safe?"
    conversation = Conversation()
    conversation.add_user([Image(url="https://example.com/a.png"), Chat("coder-2", "look")])
    assert store.find(save(store, conversation)).title == "[Chat from @coder-2]: look"


# Finding one


def test_a_conversation_is_named_by_its_id_or_its_beginning(store: Store):
    first, second = save(store, talk("one")), save(store, talk("two"))
    assert store.find(first.upper()).title == "one"
    rows(store.path, f"UPDATE sessions SET id = 'zz{second}' WHERE id = '{second}'")
    assert store.find("zz").title == "two"
    assert store.find("last").title == "two"
    save(store, store.load(first), first)
    assert store.find("last").title == "one"
    for missing in ("nosuch", "", " ", "%", "\0", "\ud800", "~"):
        with pytest.raises(NotSavedError, match="there is no session"):
            store.find(missing)


def test_a_beginning_that_several_have_is_refused(store: Store):
    ids = [save(store, talk(str(number))) for number in range(7)]
    with pytest.raises(NotSavedError, match=f"the ids of several begin with it: {ids[-1]}.* and others"):
        store.load(ids[0][:2])


def test_nothing_is_made_by_looking(tmp_path: Path):
    store = Store(tmp_path / "sub" / "logs.db")
    assert list(store.list(query="x")) == []
    for look in (store.load, store.find, store.fork, store.remove):
        with pytest.raises(NotSavedError, match="does not exist"):
            look("last")
    assert os.listdir(tmp_path) == []


def test_a_fork_goes_its_own_way(store: Store):
    conversation = talk("one", "two", "three", system="Be brief.")
    conversation.keep("result-1", "the whole")
    id = save(store, conversation, usage=Usage(5, 5), cost=1.0)
    fork = store.fork(id, 2)
    assert store.load(fork) == conversation.fork(2)
    entry = store.find(fork)
    assert (entry.parent, entry.parent_turns, entry.title, entry.models, entry.cost) == (id, 2, "one", ("m",), None)
    assert len(store.list(query="two")) == 2
    store.remove(id)
    assert store.load(fork) == conversation.fork(2)
    with pytest.raises(ContentError, match="there are 2 turns, so a fork cannot start with 3"):
        store.fork(fork, 3)


def test_what_is_removed_is_gone_from_the_file(store: Store):
    keep = save(store, talk("stay", "here"))
    conversation = talk("my", "plaintextsecret")
    conversation.keep("result-1", "anothersecret")
    id = save(store, conversation, model="secretmodel")
    store.remove(id, id[:8])
    files = b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    assert not any(word in files for word in (b"plaintext", b"another", b"secretmodel"))
    assert titles(store.list()) == ["stay"]
    with pytest.raises(NotSavedError):
        store.remove(keep, id)
    assert titles(store.list()) == ["stay"], "all or none"


# Listing and searching


def test_the_newest_come_first(store: Store):
    ids = [save(store, talk(text)) for text in ("one", "two", "three")]
    save(store, store.load(ids[0]), ids[0], model="other/gpt-5")
    assert titles(store.list()) == ["one", "three", "two"]
    assert titles(store.list(2)) == ["one", "three"]
    assert titles(store.list(model="GPT")) == ["one"]
    assert titles(store.list(model="%")) == []
    rows(store.path, f"UPDATE sessions SET updated = updated - 7200 WHERE id = '{ids[1]}'")
    assert titles(store.list(since=datetime.now(UTC) - timedelta(hours=1))) == ["one", "three"]


@pytest.fixture(params=["with the index", "without FTS5"])
def library(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    if request.param == "without FTS5":
        without_fts5(monkeypatch)
    with Store(tmp_path / "logs.db") as store:
        conversation = Conversation("systemword")
        conversation.add_user("How does the Deployment résumé?")
        conversation.add_assistant(
            [Reasoning("thoughtword"), Text("Let me look, in C++."), ToolCall("c1", "read_file", {"path": "a\nb.toml"})]
        )
        conversation.add_tool_result("c1", 'rain "and" wind 100%')
        conversation.add_assistant("数据库很慢 🎉")
        save(store, conversation)
        save(store, talk("something else", "the wind"))
        yield store


class WithoutFTS5(sqlite3.Connection):
    """A connection of an SQLite that was built without full-text search."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if "words" in sql and "sqlite_master" not in sql:
            raise sqlite3.OperationalError("no such module: fts5")
        return super().execute(sql, *values)


def without_fts5(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, **more, factory=WithoutFTS5))


@pytest.mark.parametrize(
    "query",
    [
        "deployment", "DEPLOY", "how rain", '"how does"', '"rain "and" wind', "read_file", "toml", "b.toml", "look,",
        "C++", "100%", "数据", "🎉", "wind deployment", '"', '"" ""', "  ",
    ],
)  # fmt: skip
def test_words_are_found_wherever_they_were_said(library: Store, query: str):
    assert "How does the Deployment résumé?" in titles(library.list(query=query))


@pytest.mark.parametrize("query", ["nothere", "deployment nothere", '"does how"', "thoughtword", "systemword", "r_in"])
def test_what_was_not_said_is_not_found(library: Store, query: str):
    assert titles(library.list(query=query)) == []


@pytest.mark.parametrize(
    "query", ["-lorem", "lorem*", "lorem -ipsum", "NEAR(lorem ipsum)", "(lorem)", "text:lorem^", "lorem:ipsum"]
)
def test_signs_mean_nothing_to_the_index(store: Store, query: str):
    save(store, talk("near the text lorem ipsum"))
    # What stands together is a phrase: nobody said "near lorem".
    assert len(store.list(query=query)) == (query != "NEAR(lorem ipsum)")


def test_accents_do_not_matter_to_the_index(store: Store):
    save(store, talk("résumé"))
    assert titles(store.list(query="Resume")) == ["résumé"]
    assert [e.excerpt and e.excerpt.found for e in store.list(query="resu")] == [((0, 4),)]


queries = st.one_of(
    any_text,
    st.lists(st.sampled_from([*"\"*-^:(){}+%_\\';aé数\0\ud800 ", "NEAR(", "AND", "OR", "NOT", "text:"])).map("".join),
)


@given(queries)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_query_is_an_error(library: Store, query: str):
    for entry in library.list(query=query):
        assert entry.excerpt is None or "".join(text for text, _ in entry.excerpt.split_pieces()) == entry.excerpt.text


def test_a_query_may_be_long(library: Store):
    assert titles(library.list(query="word" * 50_000)) == []
    assert titles(library.list(query=" ".join(f"w{number}" for number in range(3000)))) == []
    assert len(library.list(query='"' + "wind " * 20_000)) == 0


@given(any_text, conversations())
@A_FEW
def test_every_word_of_a_title_finds_it(store: Store, extra: str, conversation: Conversation):
    conversation.add_user(f"Hello {extra}")
    id = save(store, conversation)
    for word in store.find(id).title.rstrip("…").replace('"', " ").split()[:-1]:
        assert id in [entry.id for entry in store.list(query=word)], word
    store.remove(id)


def test_an_excerpt_shows_what_was_found(store: Store):
    save(store, talk("begin " * 100 + "the  NEEDLE\n\nin it, needles " + "end " * 100))
    (entry,) = store.list(query="needle")
    assert entry.excerpt is not None
    shown = entry.excerpt.text
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "the NEEDLE in it, needles end" in shown
    assert [text for text, found in entry.excerpt.split_pieces() if found] == ["NEEDLE", "needle"]


def test_an_index_that_is_behind_catches_up(tmp_path: Path):
    path = tmp_path / "logs.db"
    with Store(path) as store:
        save(store, talk("first"))
    with pytest.MonkeyPatch.context() as patch, Store(path) as store:
        without_fts5(patch)
        save(store, talk("second"))
        conversation = store.load("last")
        conversation.undo()
        conversation.add_user("third")
        save(store, conversation, store.find("last").id)
        assert titles(store.list(query="third")) == ["third"]
        store.remove(store.list(query="first")[0].id)
    with Store(path) as store:
        assert titles(store.list(query="third")) == ["third"]
        assert titles(store.list(query="second")) == titles(store.list(query="first")) == []


# Where it lies


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "home/.local/share/antiphon/antiphon.db"),
        ("linux", {"XDG_DATA_HOME": "{}/data"}, "data/antiphon/antiphon.db"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "home/.local/share/antiphon/antiphon.db"),
        ("darwin", {}, "home/Library/Application Support/antiphon/antiphon.db"),
        ("win32", {"LOCALAPPDATA": "{}/local"}, "local/antiphon/antiphon.db"),
        ("win32", {}, "home/AppData/Local/antiphon/antiphon.db"),
        ("linux", {"ANTIPHON_DB": "{}/my.db"}, "my.db"),
        ("linux", {"ANTIPHON_DB": "~/my.db"}, "home/my.db"),
        ("linux", {"ANTIPHON_DB": "off"}, "home/.local/share/antiphon/antiphon.db"),
    ],
)
def test_the_place_follows_platform_and_environment(
    platform: str, environment: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "ANTIPHON_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert Store().path == tmp_path / expected


def test_saving_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("ANTIPHON_DB", "Off")
    assert save(Store(), talk("hi")) == ""
    assert os.listdir(tmp_path) == []
    monkeypatch.delenv("ANTIPHON_DB")
    id = save(Store(), talk("hi"))
    monkeypatch.setenv("ANTIPHON_DB", "off")
    assert Store().list() == [], "what was saved before is not found"
    with pytest.raises(NotSavedError, match="is off"):
        Store().load(id)


def test_the_file_is_the_users_alone(tmp_path: Path):
    old = os.umask(0)
    try:
        with Store(tmp_path / "new" / "logs.db") as store:
            save(store, talk("hi"))
            modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()}
    finally:
        os.umask(old)
    assert modes == {0o600}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_nothing_but_the_conversation_and_its_description_is_stored(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    conversation = talk("hello")
    key = DerivedKey[str]("key")
    conversation.derived.set(key, "sk-very-secret")
    conversation.turns[0].derived.set(key, "sk-very-secret")
    save(store, conversation)
    store.close()
    assert b"sk-very-secret" not in store.path.read_bytes()


def test_a_damaged_row_does_not_hide_the_others(store: Store):
    good, bad = save(store, talk("good", "fine")), save(store, talk("bad", "worse"))
    for change in (
        "UPDATE sessions SET title = x'ff00', models = 'nonsense', created = 'x', turn_count = 'many', cost = 'x'",
        "UPDATE sessions SET updated = 1e300, input_tokens = 'x', command = 5",
        "UPDATE sessions SET title = cast(x'ff1b' AS TEXT), forked_from = x'00', shared_turns = 1.5",
    ):
        rows(store.path, f"{change} WHERE id = '{bad}'")
        listed = store.list()
        assert {entry.id for entry in listed} == {good, bad}
        assert all(isinstance(entry, ConversationEntry) and entry.to_json() for entry in listed)
    assert store.load(good) == talk("good", "fine")


#: The second turn of the only conversation.
SECOND = "WHERE previous <> ''"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (f"UPDATE turns SET body = '{{' {SECOND}", "turn 2 is not JSON"),
        (f"UPDATE turns SET body = 5 {SECOND}", "turn 2 is not a JSON object"),
        (f"UPDATE turns SET body = '[]' {SECOND}", "turn 2 is not a JSON object"),
        ("UPDATE turns SET body = x'00ff' WHERE previous = ''", "turn 1 is not a JSON object"),
        (f"DELETE FROM turns {SECOND}", "1 of 2 turns are there"),
        ("UPDATE sessions SET head = NULL", "the system text and the tools is not a JSON object"),
        ("UPDATE blobs SET body = x'00'", "`kept`: `result-1` is text"),
    ],
)
def test_a_damaged_conversation_says_what_is_wrong(store: Store, change: str, message: str):
    conversation = talk("good", "fine")
    conversation.keep("result-1", "x")
    id = save(store, conversation)
    rows(store.path, change)
    with pytest.raises(FormatError, match=rf"saved conversation '{id}' is damaged: .*{message}.*antiphon delete {id}"):
        store.load("last")
    assert titles(store.list()) == ["good"]
    assert save(store, conversation.fork(), id) == id, "it can be saved again"
    assert store.load(id) == conversation


def test_threads_share_a_store(store: Store):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: save(store, talk(f"number {number}")), range(40)))
    assert len(set(ids)) == 40
    assert {store.load(id).turns[0].text for id in ids} == {f"number {number}" for number in range(40)}


def test_what_people_are_asked_is_kept_and_so_is_what_they_allowed(store: Store):
    conversation = talk("Clean up.")
    conversation.add_reply([ToolCall("c1", "delete", {"path": "a"}), ToolCall("c2", "delete", {"path": "b"})])
    id = save(store, conversation)
    for allowed in (False, True):
        conversation.ask("c1", OpenQuestion("approval", "May it?", allowed=allowed))
        save(store, conversation, id)
        loaded = store.load(id)
        assert loaded == conversation
        assert loaded.questions == {"c1": OpenQuestion("approval", "May it?", allowed=allowed)}
    assert store.load(store.fork(id)).questions == conversation.questions
    assert store.load(store.fork(id, 1)).questions == {}
    conversation.add_tool_result("c1", "gone")
    save(store, conversation, id)
    assert store.load(id).questions == {}
