"""One set of states, exit codes and verbs for chats, programs and batches."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Journal
from antiphon.fakes import Fail, Fake, call
from tests import forks
from tests.lang_unit.commands import antiphon


@pytest.fixture(autouse=True)
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "sessions.db"))
    monkeypatch.setenv("ANTIPHON_MODEL", "openai/gpt-6-sol")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with Fake() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
        yield fake


def program(text: str, name: str = "p.vibe") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def listed(*words: str) -> list[dict[str, Any]]:
    return json.loads(antiphon("list", "--json", *words).out)


def test_a_stopped_program_ends_with_130_and_can_be_resumed() -> None:
    text = "print(py() { return 1 })\nlet n = 0\nwhile n < 6000 {\n  sleep(0.1)\n  n = n + 1\n}\n"
    child = forks.Forked("run", program(text), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert "1\n" in iter(child.stdout.readline, "")
    (running,) = listed()
    assert (running["state"], [each["id"] for each in listed("--state", "running")]) == ("running", [running["id"]])
    told = antiphon("stop", "last")
    assert (told.code, "stops at its next step" in told.err) == (0, True)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, "was stopped" in err) == (130, True), err
    assert listed()[0]["state"] == "stopped"
    again = antiphon("stop", "last")
    assert (again.code, "is not running" in again.err) == (0, True)
    Path("p.vibe").write_text("print(py() { return 1 })\n")
    assert antiphon("resume", "last", "--edited").code == 0


def test_a_batch_with_a_failed_row_is_failed_and_shows_its_cost(fake: Fake) -> None:
    fake.play("One.", Fail(400), "Two.")
    Path("rows.csv").write_text("n\n1\n2\n")
    file = program('input n: number\nmodel m = { name: "openai/gpt-6-sol" }\nreturn do "number {n}" m\n')
    ran = antiphon("run", file, "--rows", "rows.csv", "--parallel", "1")
    assert ran.code == 1
    (batch,) = listed()
    assert (batch["kind"], batch["state"]) == ("batch", "failed")
    assert batch["cost"] > 0
    assert "1 of 2 rows  $" in antiphon("list").out
    assert [each["state"] for each in listed("--in", "last")] == ["done", "failed"]
    assert [each["id"] for each in listed("--state", "failed")] == [batch["id"]]
    assert antiphon("resume", batch["id"]).code == 0
    assert [each["state"] for each in listed()] == ["done"]


def test_a_limited_session_ends_with_4_and_so_does_its_resume(fake: Fake) -> None:
    fake.play("One.")
    file = program('model m = { name: "openai/gpt-6-sol" }\nprint(do "a" m)\nprint(do "b" m)\n')
    assert antiphon("run", "--max-turns", "1", file).code == 4
    assert antiphon("resume").code == 4
    assert listed()[0]["state"] == "failed"


def test_a_limited_batch_resumes_with_4(fake: Fake) -> None:
    fake.play(*["Word."] * 3)
    Path("rows.csv").write_text("n\n1\n2\n3\n")
    file = program('input n: number\nmodel m = { name: "openai/gpt-6-sol" }\nreturn do "number {n}" m\n')
    assert antiphon("run", "--max-cost", "0.00000001", "--parallel", "1", file, "--rows", "rows.csv").code == 4
    assert (antiphon("resume").code, listed()[0]["state"]) == (4, "stopped")
    assert antiphon("resume", "last", "--max-cost", "5").code == 0


def test_an_ask_that_failed_is_listed_as_failed(fake: Fake) -> None:
    fake.play(Fail(400))
    assert antiphon("ask", "--tools", "read", "Hello?").code == 1
    (found,) = listed()
    assert (found["kind"], found["state"], found["title"]) == ("chat", "failed", "Hello?")


def test_a_refused_retry_changes_nothing() -> None:
    antiphon("run", program("print(py() { return 1 })\npy() { raise ValueError('no') }\n"))
    before = listed()
    for words in (("--retry", "99"), ("--skip", "99", "1"), ("--retry", "99", "--force")):
        assert antiphon("resume", "last", *words).code == 2
    assert listed() == before
    Path("p.vibe").unlink()
    assert antiphon("resume", "last", "--retry", "2").code == 2
    assert listed() == before


def test_off_finds_nothing_and_runs_batches_all_the_same() -> None:
    antiphon("run", program("print(py() { return 1 })\n"))
    nothing = antiphon("--db", "off", "list", "--json")
    assert (nothing.code, json.loads(nothing.out)) == (1, [])
    Path("rows.csv").write_text("n\n1\n2\n")
    for words in (("--db", "off", "run"), ("run", "--no-save")):
        ran = antiphon(*words, program("input n: number\nreturn n\n", "n.vibe"), "--rows", "rows.csv")
        assert (ran.code, [json.loads(line)["value"] for line in ran.out.splitlines()]) == (0, [1, 2])
        assert "resume" not in ran.err
    assert len(listed()) == 1


def test_waiting_sessions_are_listed_with_rows_and_questions() -> None:
    Path("rows.csv").write_text("n\n1\n2\n")
    antiphon("run", program('input n: number\nreturn ask "What of {n}?"\n'), "--rows", "rows.csv")
    (batch,) = listed()
    out = antiphon("list", "--state", "waiting").out
    assert [line.split()[0] for line in out.splitlines() if not line.startswith(" ")] == [
        batch["id"],
        f"{batch['id']}.1",
        f"{batch['id']}.2",
    ]
    assert f"    {batch['id']}.2:1  What of 2?" in out
    told = antiphon("answer", "last", "x")
    assert (told.code, f"answer one of its rows: {batch['id']}.1 (What of 1?)" in told.err) == (2, True)
    told = antiphon("answer", "last.1", "one")
    assert (told.code, f"`antiphon resume {batch['id']}` runs all open rows" in told.err) == (0, True)


class TestChats:
    def test_a_chat_is_one_session_with_numbered_messages(self, fake: Fake) -> None:
        fake.play("Ready.", call("now"), "It is noon.", "Bye.")
        antiphon("ask", "--tools", "read", "Be ready.")
        antiphon("ask", "-c", "When?")
        (chat,) = listed()
        assert (chat["kind"], chat["state"], chat["turns"]) == ("chat", "done", 5)
        steps = json.loads(antiphon("show", "last", "--json").out)["steps"]
        assert [each["path"] for each in steps][:4] == ["1", "1/r1", "2", "2/r1"]
        one = json.loads(antiphon("show", "last:2/r1", "--json").out)
        assert (one["path"], one["kind"]) == ("2/r1", "request")
        assert antiphon("show", "last:1").out.count("1/r1") == 1
        assert "1/r1" in antiphon("show", "--steps").out
        antiphon("ask", "-c", "Bye.")
        assert "3/r1" in antiphon("show", "--steps").out

    def test_a_message_is_sent_to_it_and_a_copy_is_made_at_a_message(self, fake: Fake) -> None:
        fake.play("One.", "Two.", "Three.")
        antiphon("ask", "First?")
        ran = antiphon("resume", "last", "Second?")
        assert (ran.code, ran.out) == (0, "Two.\n")
        (chat,) = listed()
        made = antiphon("resume", "last", "--fork", "--at", "2", "--no-run")
        name = made.out.strip()
        assert (made.code, f"session {name} is a fork of {chat['id']} at message 2" in made.err) == (0, True)
        assert antiphon("resume", name, "Third?").out == "Three.\n"
        assert [each["turns"] for each in listed()] == [4, 4]
        assert "Second?" not in json.dumps(fake.requests[-1].body)

    def test_a_question_is_answered_by_its_step(self, fake: Fake) -> None:
        fake.play("Ready.", call("run_shell", command="touch made"), "It is made.")
        antiphon("ask", "--tools", "all", "Be ready.")
        ran = antiphon("ask", "-c", "Make it.")
        (chat,) = listed()
        assert (ran.code, chat["state"]) == (3, "waiting")
        (question,) = chat["waiting"]
        assert question["step"].startswith("2/")
        assert antiphon("answer", f"{chat['id']}:1/r1", "yes").code == 2
        done = antiphon("answer", f"{chat['id']}:{question['step']}", "yes", "--resume")
        assert (done.code, done.out, Path("made").exists()) == (0, "It is made.\n", True)
        assert [each["state"] for each in listed()] == ["done"]

    def test_it_is_deleted_with_its_steps(self, fake: Fake) -> None:
        fake.play("Ready.")
        antiphon("ask", "--tools", "read", "Be ready.")
        assert antiphon("delete", "last", "--yes").err == "deleted 1 session\n"
        assert (listed(), Journal().list_runs()) == ([], [])

    def test_it_is_exported_and_its_results_are_shown(self, fake: Fake) -> None:
        fake.play(call("now"), "It is noon.")
        antiphon("ask", "--tools", "read", "When?")
        written = json.loads(antiphon("export", "last", "--format", "openai-chat").out)
        assert written["messages"][-1]["content"] == "It is noon."
        steps = [json.loads(line) for line in antiphon("export", "last", "--format", "replay").out.splitlines()]
        assert [each["kind"] for each in steps] == ["message", "request", "tool", "request"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sonnet", "anthropic/claude-sonnet-"),
        ("gpt", "openai/gpt-"),
        ("gemini", "google/gemini-"),
        ("opus", "claude-opus-"),
    ],
)
def test_the_name_of_a_family_is_its_current_model(name: str, meant: str) -> None:
    ran = antiphon("run", "--model", name, program("print(1)\n"))
    assert (ran.code, f"antiphon: {name} is " in ran.err, meant in ran.err) == (0, True, True)


def test_filters_are_exact_however_many_sessions_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "many.db"
    monkeypatch.setenv("ANTIPHON_DB", str(path))
    database = Journal(path).database
    columns = ("id", "state", "created", "updated", "epoch", "owner", "kind", "title", "launch")

    def write(connection: Any) -> None:
        rows = [
            (f"n{number:05}", "done", number, number, 1, "", "program", f"p{number}", '{"settings":{"model":"m/new"}}')
            for number in range(3_000)
        ]
        rows[0] = ("n00000", "failed", 0, 0, 1, "", "python", "oldest", '{"model":"m/OLD"}')
        database.insert_rows(connection, "sessions", columns, rows)

    database.transact(write)
    for filters in (
        ["--state", "failed"],
        ["--kind", "script"],
        ["--model", "m/old"],
        ["--state", "failed", "-n", "1"],
    ):
        found = json.loads(antiphon("list", "--json", *filters).out)
        assert [each["title"] for each in found] == ["oldest"], filters
    assert len(json.loads(antiphon("list", "--json", "--state", "done", "-n", "5000").out)) == 2_999
    assert len(json.loads(antiphon("list", "--json", "--model", "new", "-n", "2500").out)) == 2_500
    assert json.loads(antiphon("list", "--json", "-n", "1").out)[0]["title"] == "p2999"
