"""Channels: each reader is given each message once, whatever happens in between; secrets are refused."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import Session
from antiphon.durable import Journal
from antiphon.errors import ContentError
from antiphon.fakes import Answer, Fake, call
from antiphon.team import Channel, SecretRefused
from tests.session.scripted import Scripted


@pytest.fixture
def channel(tmp_path: Path) -> Channel:
    return Channel("lab", tmp_path / "store.db")


def texts(messages: list) -> list[str]:
    return [each.text for each in messages]


def test_every_reader_is_given_each_message_once(channel: Channel) -> None:
    channel.post("one")
    channel.post("two", "ada")
    assert texts(channel.deliver("bob")) == ["one", "two"]
    assert channel.deliver("bob") == []
    channel.post("three")
    assert texts(channel.deliver("bob")) == ["three"]
    assert texts(channel.deliver("cleo")) == ["one", "two", "three"]


def test_own_posts_are_not_read_back(channel: Channel) -> None:
    channel.post("mine", "ada")
    channel.post("yours", "bob")
    assert texts(channel.deliver("ada")) == ["yours"]


def test_what_is_said_to_somebody_is_not_given_to_others(channel: Channel) -> None:
    channel.post("for you", to="ada")
    assert channel.deliver("bob") == []
    assert texts(channel.deliver("ada")) == ["for you"]


def test_a_delivery_that_is_asked_for_again_is_the_same(channel: Channel) -> None:
    channel.post("one")
    first = channel.deliver("ada", "turn-1")
    channel.post("two")
    assert channel.deliver("ada", "turn-1") == first
    assert texts(channel.deliver("ada", "turn-2")) == ["two"]


def test_a_post_with_a_key_is_made_once(channel: Channel) -> None:
    first = channel.post("hello", "ada", key="run/call_1")
    assert channel.post("hello", "ada", key="run/call_1") == first
    assert len(channel.messages()) == 1


def test_long_texts_are_kept_whole(channel: Channel) -> None:
    text = "x" * 1_000_000
    channel.post(text)
    assert channel.messages()[0].text == text


@pytest.mark.parametrize(
    "text",
    [
        "the key is sk-" + "ant-a1B2" * 6,
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA",
        "clone https://me:hunter22@example.com/x.git",
        "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        "Authorization: Bearer abcdefghijklmnop",
    ],
)
def test_secrets_are_refused_and_not_repeated(channel: Channel, text: str) -> None:
    with pytest.raises(SecretRefused) as refused:
        channel.post(f"look:\n{text}")
    assert channel.messages() == []
    assert text.split()[-1] not in str(refused.value)


def test_a_secret_of_this_machine_is_refused(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_PASSWORD", "correct horse battery")
    with pytest.raises(SecretRefused, match="line 2"):
        channel.post("use\nthe correct horse battery here")


def test_what_cannot_be_scanned_is_refused(channel: Channel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "config"
    home.mkdir()
    (home / "keys.json").write_text("not json")
    monkeypatch.setenv("ANTIPHON_CONFIG_DIR", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "antiphon").mkdir()
    (tmp_path / "antiphon" / "keys.json").write_text("not json")
    with pytest.raises(SecretRefused, match="could not be looked at"):
        channel.post("hello")


def test_names_and_texts_are_checked(channel: Channel) -> None:
    with pytest.raises(ContentError, match="no name"):
        channel.post("hi", "two words")
    with pytest.raises(ContentError, match="nothing in this message"):
        channel.post("  ")
    with pytest.raises(ContentError, match="human's place"):
        channel.join(Session(Scripted("x")), "Human")


def _post_many(path: Path, author: str) -> None:
    channel = Channel("lab", path)
    for number in range(40):
        channel.post(f"{author} {number}", author, key=f"{author}/{number}")


def test_processes_that_post_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    reader, heard = Channel("lab", path), list[str]()
    reader.post("begin")
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_post_many, args=(path, f"w{n}")) for n in range(3)]
    for each in writers:
        each.start()
    while any(each.is_alive() for each in writers):
        heard += texts(reader.deliver("reader"))
    for each in writers:
        each.join()
    heard += texts(reader.deliver("reader"))
    assert sorted(heard) == sorted(["begin", *(f"w{n} {i}" for n in range(3) for i in range(40))])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("post"), st.sampled_from("abc"), st.sampled_from(["", "a", "b"])),
            st.tuples(st.just("read"), st.sampled_from("abc"), st.integers(0, 3)),
        ),
        max_size=30,
    )
)
@settings(max_examples=60, deadline=None)
def test_whatever_the_order_nothing_is_lost_or_doubled(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    channel = Channel("lab", tmp_path_factory.mktemp("c") / "store.db")
    expected: dict[str, list[str]] = {name: [] for name in "abc"}
    got: dict[str, dict[object, list[str]]] = {name: {} for name in "abc"}
    for number, step in enumerate(steps):
        if step[0] == "post":
            channel.post(str(number), step[1], to=step[2])
            for name in "abc":
                if name != step[1] and step[2] in ("", name):
                    expected[name].append(str(number))
        else:
            heard = texts(channel.deliver(step[1], f"d{step[2]}"))
            known = got[step[1]].setdefault(step[2], heard) or heard
            assert heard == known
            got[step[1]][step[2]] = known
    for name in "abc":
        heard = [text for each in got[name].values() for text in each] + texts(channel.deliver(name, "last"))
        assert sorted(heard, key=int) == expected[name]


# Sessions


def test_a_session_answers_what_is_said_to_it(channel: Channel, antiphon_fake: Fake) -> None:
    antiphon_fake.play("42")
    seat = channel.join(Session(antiphon_fake.connect("anthropic/claude-sonnet-5")), "ada")
    assert seat.turn() is None
    channel.post("What is 6 times 7?", to="ada")
    result = seat.turn()
    assert result is not None
    assert result.value == "42"
    last = channel.messages()[-1]
    assert (last.author, last.to, last.text) == ("@ada", "@human", "42")
    assert seat.turn() is None


def test_chat_of_others_comes_behind_the_results_in_one_message(channel: Channel, antiphon_fake: Fake) -> None:
    def look() -> str:
        """Look."""
        channel.post("I am done.", "coder-2", to="coder-1")
        return "seen"

    antiphon_fake.play(call("look"), "done")
    session = Session(antiphon_fake.connect("anthropic/claude-sonnet-5"), [look])
    channel.join(session, "coder-1")
    session.vibe("go")
    last = antiphon_fake.requests[1].body["messages"][-1]
    assert [part["type"] for part in last["content"]] == ["tool_result", "text"]
    assert last["content"][1]["text"] == "[Chat from @coder-2]: I am done."


def test_answers_to_several_questions_come_in_any_order(channel: Channel, antiphon_fake: Fake) -> None:
    both = [call("chat_ask_user", question="Which?"), call("chat_ask_user", question="When?")]
    antiphon_fake.play(Answer(calls=both), "thanks")
    seat = channel.join(Session(antiphon_fake.connect("openai-chat/gpt-5")), "pm")
    channel.post("hello", to="pm")
    seat.turn()
    which, when = [each for each in channel.messages() if each.kind == "question"]
    channel.post("tomorrow", to="pm", kind="answer", reply_to=when.id, data={"asked": when.text})
    channel.post("both", to="pm", kind="answer", reply_to=which.id, data={"asked": which.text})
    seat.turn()
    sent = antiphon_fake.requests[1].body["messages"]
    assert [each["role"] for each in sent][-4:] == ["assistant", "tool", "tool", "user"]
    assert sent[-2]["content"] == '{"success": true, "await_user": true}'
    assert "To the question 'When?': tomorrow" in str(sent[-1])
    assert "To the question 'Which?': both" in str(sent[-1])


def test_a_post_is_made_once_with_the_call_that_made_it(tmp_path: Path, antiphon_fake: Fake) -> None:
    journal, channel = Journal(tmp_path / "store.db"), Channel("lab", tmp_path / "store.db")
    antiphon_fake.play(call("chat_post", text="hello all"), "done")
    session = Session(antiphon_fake.connect("anthropic/claude-sonnet-5"), journal=journal)
    channel.join(session, "ada")
    session.vibe("say hello")
    run = journal.list_runs()[0]
    (post,) = [each for each in journal.iterate_effects(run.id) if each.kind == "tool"]
    # As after a crash between the post and the note that it was made.
    journal.database.query("SELECT 1", ())
    journal.database.transact(
        lambda c: c.execute(
            "UPDATE steps SET state='begun', outcome=NULL WHERE session=? AND path=?", (run.id, post.path)
        )
    )
    journal.database.transact(
        lambda c: c.execute("UPDATE sessions SET state='interrupted', owner='' WHERE id=?", (run.id,))
    )
    again = Session(antiphon_fake.connect("anthropic/claude-sonnet-5"), journal=journal)
    channel.join(again, "ada")
    again.resume_run(run.id)
    assert texts(channel.messages()) == ["hello all"]


def test_an_agent_that_floods_is_told_to_work(channel: Channel, antiphon_fake: Fake) -> None:
    calls = [call("chat_post", text=f"{n}") for n in range(14)]
    antiphon_fake.play(Answer(calls=calls), "done")
    session = Session(antiphon_fake.connect("anthropic/claude-sonnet-5"))
    channel.join(session, "ada")
    result = session.vibe("go")
    assert len(channel.messages()) == 10
    assert sum(bool(each.error) for each in result.tool_calls) == 4
