"""Asks and chats that are left: gone on with, and nothing done twice."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Journal
from antiphon.durable.run_owner import make_owner_id
from antiphon.fakes import Fail, Fake, call
from tests import forks
from tests.lang_unit.commands import antiphon
from tests.web.journals import DEAD, owned


def runs() -> list[dict[str, Any]]:
    return json.loads(antiphon("list", "--json").out)


def test_an_ask_waits_for_leave_and_goes_on_by_its_run(fake: Fake):
    fake.play(call("run_shell", command="echo hi > made"), "It is made.")
    ran = antiphon("ask", "--tools", "all", "Make it.")
    (run,) = runs()
    assert (ran.code, run["kind"], run["state"], run["title"]) == (3, "chat", "waiting", "Make it.")
    assert run["id"] in ran.err
    assert antiphon("answer", "last", "yes").code == 0
    done = antiphon("resume", "last")
    assert (done.code, done.out, Path("made").read_text()) == (0, "It is made.\n", "hi\n")
    assert runs()[0]["state"] == "done"
    logged = json.loads(antiphon("list", "--json").out)
    assert [each["turns"] for each in logged] == [3]


def test_an_ask_without_tools_is_a_session_and_one_that_is_told_so_is_not_saved(fake: Fake):
    fake.play("one", "two")
    assert antiphon("ask", "Hello?").out == "one\n"
    assert antiphon("ask", "--tools", "read", "--no-save", "Hello?").out == "two\n"
    (found,) = runs()
    assert (found["state"], found["turns"]) == ("done", 2)
    assert [each["path"] for each in json.loads(antiphon("show", "last", "--json").out)["steps"]] == ["1", "1/r1"]


def test_a_failed_ask_without_tools_is_listed_with_its_question_and_asked_again(fake: Fake):
    fake.play(Fail(401), "Paris.")
    failed = antiphon("ask", "What is the capital of France?")
    assert failed.code == 2
    (found,) = runs()
    assert (found["kind"], found["state"]) == ("chat", "failed")
    assert found["title"] == "What is the capital of France?"
    line = antiphon("list", "--state", "failed").out
    assert "failed" in line
    assert "What is the capital of France?" in antiphon("show", "last").out.replace("\n", " ")
    assert "--retry 1/r1" in antiphon("show", "last").out
    assert antiphon("resume", "last", "--retry", "1/r1").out == "Paris.\n"
    assert [each["state"] for each in runs()] == ["done"]


def test_a_typed_ask_is_typed_again(fake: Fake):
    fake.play(call("run_shell", command="true"), '{"n": 3}')
    antiphon("ask", "--tools", "all", "--returns", "{n: number}", "Count.")
    antiphon("answer", "last", "yes")
    assert json.loads(antiphon("resume").out) == {"n": 3}


def test_a_chat_that_is_killed_goes_on_and_does_nothing_twice(fake: Fake):
    fake.play(
        call("run_shell", command="echo once >> log"),
        call("run_shell", command="kill -9 $PPID; sleep 60"),
        "All is done.",
    )
    chat = "chat", "--tools", "all", "--yes"
    child = forks.run(*chat, input="Do it.\n", text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    (run,) = runs()
    assert (run["kind"], run["state"]) == ("chat", "stopped")
    again = forks.run(*chat, "-c", input="/go\n", text=True)
    assert "/go resumes it" in again.stdout
    assert "All is done." in again.stdout
    assert Path("log").read_text() == "once\n"
    assert "not known whether it took effect" in json.dumps(fake.requests[-1].body)
    assert [each["state"] for each in runs()] == ["done"]


def test_a_fork_of_an_ask_asks_another_model_and_is_a_conversation_of_its_own(fake: Fake):
    fake.play(call("run_shell", command="echo hi"), "It says hi.")
    antiphon("ask", "--tools", "all", "--yes", "What does it say?")
    steps = json.loads(antiphon("show", "last", "--json").out)["steps"]
    second = [each["path"] for each in steps if each["kind"] == "request"][1]
    fake.play("It greets.")
    ran = antiphon("resume", "--fork", "last", "--at", second, "--model", "openai/gpt-5-mini")
    assert (ran.code, ran.out) == (0, "It greets.\n"), ran.err
    assert fake.requests[-1].body["model"] == "gpt-5-mini"
    assert "hi" in json.dumps(fake.requests[-1].body)
    logged = json.loads(antiphon("list", "--json").out)
    assert [each["turns"] for each in logged] == [3, 3]


def test_an_ask_that_keeps_its_tools_goes_on_by_its_run_too(fake: Fake):
    fake.play("Ready.", call("run_shell", command="echo hi > made"), "It is made.")
    assert antiphon("ask", "Be ready.", "--tools", "all").code == 0
    assert antiphon("ask", "Make it.", "--continue").code == 3
    assert antiphon("answer", "last", "yes").code == 0
    done = antiphon("resume", "last")
    assert (done.code, done.out, Path("made").read_text()) == (0, "It is made.\n", "hi\n")


def test_a_chat_that_another_process_uses_is_refused_and_an_ask_continues_in_a_copy(fake: Fake):
    fake.play("A.", "B.", "C.")
    antiphon("chat", input="a\n")
    (run,) = runs()
    owned(Journal(), make_owner_id(), run["id"])
    refused = antiphon("chat", "--continue", input="")
    assert (refused.code, f"{run['id']} is in use by process {os.getpid()}" in refused.err) == (2, True)
    assert "--fork" in refused.err
    copied = antiphon("chat", "--continue", "--fork", input="b\n")
    assert (copied.code, "B." in copied.out) == (0, True)
    asked = antiphon("ask", "--resume", run["id"], "c?")
    assert (asked.code, asked.out) == (0, "C.\n")
    assert f"{run['id']} is in use by another process, so this continues in the copy" in asked.err
    assert {each["turns"] for each in json.loads(antiphon("list", "--json").out)} == {2, 4}
    owned(Journal(), DEAD, run["id"])
    assert antiphon("chat", "--resume", run["id"], input="").code == 0


def test_nothing_is_asked_where_what_is_done_cannot_be_written_down(fake: Fake, monkeypatch: pytest.MonkeyPatch):
    Path("no.db").write_text("this is no database" * 100)
    monkeypatch.setenv("ANTIPHON_DB", "no.db")
    fake.play("Hello.")
    ran = antiphon("ask", "--tools", "read", "Hello?")
    assert (ran.code, ran.out, len(fake.requests)) == (2, "", 0)
    assert "no.db is not a database" in ran.err
    assert antiphon("ask", "--tools", "read", "--no-save", "Hello?").out == "Hello.\n"


def killed_in_shell(fake: Fake, command: str) -> str:
    """Kill an ask inside of a call, and return the path of that step."""
    fake.play(call("run_shell", command=f"{command} kill -9 $PPID; sleep 60"))
    child = forks.run("ask", "--tools", "all", "--yes", "Do it.", text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    steps = json.loads(antiphon("show", "last", "--json").out)["steps"]
    (path,) = [each["path"] for each in steps if each["kind"] == "tool"]
    return path


def test_a_call_of_an_ask_that_was_interrupted_is_decided_about(fake: Fake) -> None:
    path = killed_in_shell(fake, "[ -e again ] && touch twice && exit;")
    Path("again").touch()
    fake.play("It is done.")
    ran = antiphon("resume", "last", "--retry", path)
    assert (ran.code, ran.out) == (0, "It is done.\n"), ran.err
    assert (Path("twice").exists(), len(fake.requests)) == (True, 2)


def test_what_came_of_a_call_of_an_ask_is_what_the_model_is_told(fake: Fake) -> None:
    path = killed_in_shell(fake, "echo once >> log;")
    fake.play("It is done.")
    ran = antiphon("resume", "last", "--skip", path, "written by hand")
    assert (ran.code, ran.out, Path("log").read_text()) == (0, "It is done.\n", "once\n"), ran.err
    body = json.dumps(fake.requests[-1].body)
    assert ("written by hand" in body, "not known" in body) == (True, False)
    assert "has no step '9'" in antiphon("resume", "last", "--retry", "9").err


@pytest.mark.parametrize("options", [("--edited",), ("--retry", "1"), ("--skip", "1", "x")])
@pytest.mark.usefixtures("fake")
def test_a_batch_says_where_steps_are_decided_about(options: tuple[str, ...]) -> None:
    Path("p.vibe").write_text("input n: number\nn\n")
    Path("rows.csv").write_text("n\n1\n")
    assert antiphon("map", "p.vibe", "rows.csv").code == 0
    ran = antiphon("resume", "last", *options)
    assert (ran.code, "is a batch; use these options for one of its rows" in ran.err) == (2, True)


def test_a_cost_that_an_ask_does_not_keep_to_is_refused(fake: Fake) -> None:
    killed_in_shell(fake, "")
    ran = antiphon("resume", "last", "--max-cost", "1")
    assert (ran.code, "it has no `--max-cost`" in ran.err) == (2, True)
