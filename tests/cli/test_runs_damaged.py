"""Journals that are damaged, full, newer or out of time: told in a line, and what is whole is there all the same."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from antiphon.durable import Journal
from antiphon.effects import HumanAnswer
from antiphon.errors import NotReadyError
from tests.cli.test_runs import MAIN, program
from tests.lang_unit.commands import antiphon


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def last_id() -> str:
    return json.loads(antiphon("list", "--json").out)[0]["id"]


def change(statement: str, *values: object) -> None:
    """Change the journal behind its back."""
    with sqlite3.connect(os.environ["ANTIPHON_DB"]) as connection:
        connection.execute(statement, values)
    connection.close()


TEXT = 'print("a")\nconst n = py() { return 1 }\nconst who = ask "Who?"\nprint(who)\n'
STEP = "UPDATE effects SET {} WHERE run = ? AND path = '2'"
QUESTION = "UPDATE effects SET {} WHERE run = ? AND path = '3'"
RUN = "UPDATE runs SET {} WHERE id = ?"
DAMAGES = {
    "an outcome that is no JSON": STEP.format("outcome = '{'"),
    "an outcome that is no object": STEP.format("outcome = '[]'"),
    "an outcome of no kind": STEP.format("""outcome = '{"zzz": 1}'"""),
    "something said that is not": STEP.format("""outcome = '{"said": {"zzz": 1}}'"""),
    "a reply that is none": STEP.format("""outcome = '{"reply": 3}'"""),
    "a result that is none": STEP.format("""outcome = '{"returned": {}}'"""),
    "an error that is none": STEP.format("""outcome = '{"error": {}}'"""),
    "a number that is none": STEP.format("""outcome = '{"value": {"$float": "x"}}'"""),
    "bytes for an outcome": STEP.format("outcome = x'ff00'"),
    "an outcome that is gone": STEP.format("outcome = '@abc'"),
    "no outcome": STEP.format("outcome = NULL"),
    "too deep": STEP.format(f"""outcome = '{{"value": {"[" * 50_000}{"]" * 50_000}}}'"""),
    "an effect that is no JSON": QUESTION.format("effect = '{'"),
    "an effect that is gone": QUESTION.format("effect = '@abc'"),
    "bytes for an effect": QUESTION.format("effect = x'ff'"),
    "an effect of no kind": QUESTION.format("""kind = 'zzz', effect = '{"kind": "zzz"}'"""),
    "a state that is none": QUESTION.format("state = 'zzz'"),
    "times that are none": QUESTION.format("began = 'x', ended = 'y', cost = 'z', attempt = 'q'"),
    "times of no era": QUESTION.format("began = 1e300, ended = -1e300"),
    "an ending that is no JSON": RUN.format("ending = '{'"),
    "a beginning that is no JSON": RUN.format("begun_as = '{'"),
    "a beginning that is gone": RUN.format("begun_as = '@abc'"),
    "a beginning of a newer release": RUN.format("begun_as = json_set(begun_as, '$.settings.zzz', 1)"),
    "a run of no time": RUN.format("created = 'x', updated = 'y', wake_at = 'z'"),
    "a run of no era": RUN.format("created = 1e300, updated = -1e300, wake_at = 1e300"),
    "a run of nobody": RUN.format("owner = 'zzz'"),
    "a run of a process that cannot be": RUN.format(f"owner = '{os.uname().nodename}:{10**30}:1:2'"),
    "an epoch that is none": RUN.format("epoch = 'x'"),
    "bytes for a title": RUN.format("title = x'ff'"),
}
COMMANDS = (
    *(("show",), ("show", "--json"), ("show", "--full"), ("show", "--source"), ("export",), ("answer", "x")),
    *(("fork", "--at", "2", "--set", "3"), ("resume",), ("resume", "--edited"), ("resume", "--retry", "2")),
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_told_of_and_the_others_are_there(damage: str) -> None:
    antiphon("run", program(TEXT))
    id = last_id()
    antiphon("run", program("print(py() { return 2 })\n", "whole.vibe"))
    change(DAMAGES[damage], id)
    for command, *more in COMMANDS:
        # A traceback would be raised.
        ran = antiphon(command, id, *more)
        assert "Python code failed" not in ran.err
        listed = antiphon("list")
        assert (listed.code, "whole.vibe" in listed.out) == (0, True)
        assert len(json.loads(antiphon("list", "--json").out)) >= 2
    antiphon("show", id, "--compare", "last")
    antiphon("stop", "--final", id)
    assert antiphon("delete", "--older", "0h", "--yes").code in (0, 1)


def test_a_damaged_outcome_is_no_error_that_a_program_catches_and_is_done_again() -> None:
    text = 'let n = 0\ntry { n = py() { return 1 } } catch e { print("caught") }\nprint(n, ask "Who?")\n'
    antiphon("run", program(text))
    change("UPDATE effects SET outcome = '{' WHERE path = '1'")
    antiphon("answer", "last", "me")
    ran = antiphon("resume")
    assert (ran.code, ran.out) == (2, "")
    assert "the database is damaged at its step 1" in ran.err
    assert f"antiphon resume {last_id()} --retry 1" in ran.err
    assert antiphon("resume", "--retry", "1").out == "1 me\n"


def test_what_is_damaged_is_listed_with_what_is_wrong() -> None:
    antiphon("run", program(TEXT))
    change("UPDATE runs SET begun_as = '{'")
    assert "the database is damaged: session" in antiphon("list").out
    (listed,) = json.loads(antiphon("list", "--json").out)
    assert "is not JSON" in listed["damage"]
    ran = antiphon("resume")
    assert (ran.code, "cannot be resumed" in ran.err) == (2, True)


def test_a_journal_of_a_newer_release_is_told_of_and_not_touched() -> None:
    antiphon("run", program(TEXT))
    change("INSERT INTO schema VALUES (99)")
    for command in (("list",), ("show",), ("resume",), ("answer", "last", "x"), ("delete", "--older", "0h", "--yes")):
        ran = antiphon(*command)
        assert (ran.code, "was written by a newer release" in ran.err) == (2, True)
    ran = antiphon("run", program("print(py() { return 1 })\n"))
    assert (ran.code, ran.out, "newer release" in ran.err) == (2, "", True)


def test_a_clock_that_jumps_changes_no_outcome() -> None:
    antiphon("run", program('sleep(3600)\nprint("b")\n'))
    # It began tomorrow, as it seems: it sleeps until then.
    change("UPDATE effects SET began = ?", time.time() + 86_400)
    assert antiphon("resume").code == 3
    change("UPDATE effects SET began = 0")
    assert antiphon("resume").out == "b\n"
    change("UPDATE effects SET ended = began - 1000")
    assert antiphon("show").code == 0


@pytest.mark.parametrize("seconds", ["1e11", "1e17", "1e30"])
def test_a_sleep_beyond_all_years_is_one(seconds: str) -> None:
    ran = antiphon("run", program(f'sleep({seconds})\nprint("b")\n'))
    assert (ran.code, "sleeps until" in ran.err) == (3, True)
    for command in (("list",), ("list", "--json"), ("show",), ("show", "--json")):
        assert antiphon(*command).code == 0


def test_a_directory_that_is_gone_is_told_of(tmp_path: Path) -> None:
    antiphon("run", program(TEXT))
    os.chdir(tmp_path)
    (tmp_path / "work").rename(tmp_path / "elsewhere")
    antiphon("answer", "last", "me")
    ran = antiphon("resume")
    assert (ran.code, "is not accessible: No such file" in ran.err) == (2, True)
    (tmp_path / "elsewhere").rename(tmp_path / "work")
    assert antiphon("resume").out == "me\n"


FULL = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)); {MAIN}"
LARGE = (
    'print("begun")\nlet n = 0\nwhile n < 200 {\n  const x = py(n) { return str(n) * 3000 }\n  n = n + 1\n}\n'
    'print("over")\n'
)


def test_a_full_disk_stops_a_run_that_can_be_gone_on_with() -> None:
    child = subprocess.run([sys.executable, "-c", FULL, "run", program(LARGE)], capture_output=True, text=True)
    assert (child.returncode, child.stdout) == (2, "begun\n")
    assert "its steps cannot be written to the database" in child.stderr
    assert "full" in child.stderr
    assert "Traceback" not in child.stderr
    ran = antiphon("resume")
    if ran.code == 1:
        # The step whose end could not be noted took effect, or did not.
        (path,) = re.findall(r"step (\S+) was interrupted", ran.err)
        ran = antiphon("resume", "--retry", path)
    assert (ran.code, ran.out) == (0, "over\n")


def test_of_very_many_open_questions_some_are_told() -> None:
    text = 'const got = async for n in 1..60 { yield ask "Number {n}?" }\nprint(got.length)\n'
    antiphon("run", program(text))
    # Which one was asked first is a matter of timing.
    assert re.search(r"Number \d+\? \(\+19 or more\)", antiphon("list").out)
    with pytest.raises(NotReadyError, match=r"open: 1\[\d+\]\.1, .*, …$") as told:
        Journal().answer(last_id(), "nope", HumanAnswer("x"))
    assert len(str(told.value)) < 250


class TestADamagedStep:
    TEXT = 'const n = py() { return 1 }\nconst m = py() { return 2 }\nprint(n, m, ask "Who?")\n'

    @pytest.fixture(autouse=True)
    def damaged(self) -> None:
        antiphon("run", program(self.TEXT))
        change("UPDATE effects SET outcome = '{' WHERE path = '1'")

    def test_is_named_among_those_that_are_whole(self) -> None:
        shown = antiphon("show")
        first, second, *_ = shown.out.splitlines()[1:]
        assert (shown.code, "the database is damaged: step 1 is not JSON" in first) == (0, True)
        assert first.startswith("✗")
        assert second.startswith("✓ 2 python return 2  2")
        told = json.loads(antiphon("show", "--json").out)["steps"]
        assert [bool(each["damage"]) for each in told] == [True, False, False]

    def test_is_left_out_of_an_export_which_says_so(self) -> None:
        ran = antiphon("export", "last")
        assert [json.loads(line)["path"] for line in ran.out.splitlines()] == ["2"]
        assert (ran.code, "step 1 is omitted" in ran.err) == (0, True)

    def test_can_be_said_what_came_of(self) -> None:
        antiphon("answer", "last", "me")
        assert antiphon("resume", "--skip", "1", "7").out == "7 2 me\n"

    def test_of_which_it_is_not_known_what_it_was_can_be_decided_about(self) -> None:
        change("UPDATE effects SET effect = '{' WHERE path = '1'")
        assert "step 1" in antiphon("show").out
        antiphon("answer", "last", "me")
        assert antiphon("resume", "--skip", "1", "7").out == "7 2 me\n"

    def test_without_an_outcome_is_damaged_too(self) -> None:
        change("UPDATE effects SET outcome = NULL WHERE path = '1'")
        assert "the database is damaged: step 1" in antiphon("show").out


def test_a_run_of_another_machine_is_taken_from_it_where_that_is_said() -> None:
    antiphon("run", program(TEXT))
    change("UPDATE runs SET state = 'running', owner = 'elsewhere:12:34:ab'")
    antiphon("answer", "last", "me")
    refused = antiphon("resume")
    assert (refused.code, "process 12 on elsewhere" in refused.err) == (2, True)
    assert f"`antiphon resume {last_id()} --force`" in refused.err
    ran = antiphon("resume", "--force")
    assert (ran.code, ran.out) == (0, "me\n")


def test_the_rows_of_another_machine_are_taken_with_their_batch() -> None:
    Path("rows.csv").write_text("city\nRome\nOslo\n", encoding="utf-8")
    antiphon("map", program('let city = ""\nprint(city)\ncity\n'), "rows.csv")
    change("UPDATE runs SET state = 'running', ending = NULL, owner = 'elsewhere:12:34:ab'")
    assert "--force" in antiphon("resume").err
    ran = antiphon("resume", "--force")
    assert [json.loads(line)["value"] for line in ran.out.splitlines()] == ["Rome", "Oslo"]


def test_a_call_that_has_a_number_for_its_id_is_still_a_models(monkeypatch: pytest.MonkeyPatch) -> None:
    from antiphon.fakes import Call, Fake

    text = (
        'model m = { name: "openai-chat/gpt-5", tools: [look] }\n'
        'tool look(): text @description "Look." { return ask "What?" }\nprint(do "Go." m)\n'
    )
    with Fake([Call("look", {}, id="7"), "Seen."]) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
        assert antiphon("run", program(text)).code == 3
        ran = antiphon("resume", "--fork", "last", "--at", "1/7", "--set", "a tree")
        assert (ran.code, ran.out) == (0, "Seen.\n"), ran.err
        assert "a tree" in json.dumps(fake.requests[-1].body)
