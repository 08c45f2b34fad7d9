"""What the commands tell people: what to do next, why something failed, and nothing that is secret or obeyed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from antiphon.cli.telling import iter_next_steps
from antiphon.durable import Journal
from antiphon.fakes import Fake
from tests.cli.test_runs import last, program
from tests.lang_unit.commands import antiphon
from tests.web.journals import DEAD, owned


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def test_an_answer_says_how_to_go_on_and_what_is_still_open() -> None:
    antiphon("run", program('print(async for n in 1..3 { yield ask "Number {n}?" })\n'))
    id = last()["id"]
    ran = antiphon("answer", "last:1[1].1", "b")
    assert f"session {id} is ready: `antiphon resume {id}`" in ran.err
    # Which one was asked first is a matter of timing.
    assert re.search(rf"2 questions are still open, the first at {id}:1\[[02]\]\.1: Number [13]\?", ran.err)
    antiphon("answer", "last:1[2].1", "c")
    assert "still open" not in antiphon("answer", "last", "a").err


def test_show_says_why_a_run_failed() -> None:
    antiphon("run", program('print(py() { return 1 })\nthrow "out of milk"\n'))
    shown = antiphon("show").out.splitlines()[-1]
    assert shown == f"session {last()['id']} failed: V0901: out of milk (line 2)"


def test_what_modules_of_the_system_do_is_shown_with_its_arguments() -> None:
    antiphon("run", program('import { writeText } from "system/files"\nwriteText("a.txt", "b")\nprint(1)\n'))
    for command in (("show",), ("show", "--full"), ("show", "--compare", "last")):
        ran = antiphon(*command)
        assert (ran.code, "tool name" in ran.err) == (0, False), command
    assert 'files.writeText(path="a.txt", text="b")' in antiphon("show").out


def test_a_run_of_rows_says_how_they_are() -> None:
    Path("rows.csv").write_text("city\nRome\nBad\nAsk\n")
    file = program(
        'let city = "Oslo"\nif city == "Bad" { throw "no" }\nif city == "Ask" { city = ask "Which?" }\ncity\n'
    )
    ran = antiphon("map", file, "rows.csv")
    id = last()["id"]
    assert (ran.code, f"`antiphon answer {id}.3 yes`, `no` or a text" in ran.err) == (1, True)
    shown = antiphon("show").out
    assert f"session {id} has rows: 1 done, 1 failed, 1 waiting; `antiphon list --in {id}` lists them" in shown
    assert f"`antiphon resume {id}` runs unfinished rows and retries failed ones" in shown


def test_a_run_that_goes_on_says_who_is_at_it(postgres: str) -> None:
    for place in (None, postgres):
        journal = Journal(place)
        running = journal.begin("program", "p.vibe")
        (told,) = iter_next_steps(journal, running.id)
        heard = ", last seen 0 s ago" if place else ""
        assert told == f"session {running.id} is running{heard} in process {os.getpid()}; wait for it, or end it"
        assert [each.id for each in journal.list_runs(state="running")] == [running.id]
        assert journal.list_runs(state="interrupted") == []
        if place:
            owned(journal, "elsewhere:7:1:0000", running.id)
            (told,) = iter_next_steps(journal, running.id)
            assert "is running, last seen 0 s ago in process 7 on elsewhere, which this machine cannot check" in told
        owned(journal, DEAD, running.id)
        (told,) = iter_next_steps(journal, running.id)
        assert f"`antiphon resume {running.id}`" in told
        assert ("is stopped" in told, "a worker will resume it" in told) == (not place, bool(place))
        journal.close()


HOSTILE = (
    'const who = ask "Who \\u{1b}[31m?"\nprint(py(who) { return "\\x1b]0;hi\\x07" + who })\nthrow "\\u{1b}[2J bad"\n'
)


def test_nothing_that_a_terminal_obeys_is_shown() -> None:
    antiphon("run", program(HOSTILE))
    first = last()["id"]
    antiphon("answer", first, "x\x1b[2J")
    antiphon("resume")
    antiphon("resume", "--fork", first, "--at", "1", "--answer", "y\x1b[1m\x9b")
    for command in (
        ("list",),
        ("show",),
        ("show", "--full"),
        ("show", "--json"),
        ("show", "--compare", first),
        ("export",),
    ):
        ran = antiphon(*command, *(["last"] if command[0] == "export" else []))
        assert not {"\x1b", "\x07", "\x9b"} & set(ran.out + ran.err), command


def test_keys_and_values_of_the_environment_are_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OF_MINE", "value-of-mine-1234")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key-1234")
    with Fake(["hello"]) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        text = 'model m = { name: "openai-chat/gpt-5" }\nprint(env("OF_MINE").length, do "hi" m)\n'
        assert antiphon("run", program(text)).out == "18 hello\n"
    said = antiphon("show", "--json").out + antiphon("export", "last").out
    written = b"".join(each.read_bytes() for each in tmp_path.glob("logs.db*"))
    for secret in ("value-of-mine-1234", "sk-secret-key-1234"):
        assert secret not in said
        assert secret.encode() not in written


def test_a_model_that_is_gone_is_told_of_and_asked_when_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with Fake(["one", "two"]) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        text = 'model m = { name: "openai-chat/gpt-5" }\nprint(do "a" m)\nprint(ask "Go?")\nprint(do "b" m)\n'
        assert antiphon("run", program(text)).out == "one\n"
        antiphon("answer", "last", "yes")
        monkeypatch.delenv("OPENAI_API_KEY")
        ran = antiphon("resume")
        assert (ran.code, ran.out, "OPENAI_API_KEY" in ran.err) == (1, "yes\n", True)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        again = antiphon("resume")
        assert (again.code, again.out, len(fake.requests)) == (0, "two\n", 2)


class TestAModelThatIsNotAsked:
    TEXT = (
        'model m = { name: "openai-chat/gpt-5" }\nconst said = do "Hi." m\nconst who = ask "Who?"\nprint(said, who)\n'
    )

    def test_needs_no_key_where_all_its_answers_are_known(self, monkeypatch: pytest.MonkeyPatch):
        with Fake(["Hello."]) as fake:
            monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
            monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
            assert antiphon("run", program(self.TEXT)).code == 3
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1")
        antiphon("answer", "last", "Ada")
        ran = antiphon("resume")
        assert (ran.code, ran.out) == (0, "Hello. Ada\n"), ran.err

    def test_is_asked_when_there_is_a_key_at_last(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        ran = antiphon("run", program(self.TEXT))
        assert (ran.code, "no key for openai" in ran.err) == (1, True)
        assert "`antiphon resume" in ran.err
        assert "runs step 1/r1" in ran.err
        with Fake(["Hello."]) as fake:
            monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
            monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
            assert antiphon("resume").code == 3
            assert len(fake.requests) == 1


def test_a_program_that_has_changed_is_told_what_helps() -> None:
    file = program('print("a")\nask "Who?"\n')
    antiphon("run", file)
    id = last()["id"]
    antiphon("answer", "last", "me")
    Path(file).write_text('print("b")\nask "Who?"\n')
    ran = antiphon("resume", "last")
    assert (ran.code, "V0930" in ran.err) == (2, True)
    assert f"`antiphon resume {id} --edited`" in ran.err
    assert f"resume {id}`" not in ran.err
    assert f"resume {id}`" not in antiphon("show").out
    assert antiphon("resume", "last", "--edited").code == 0


@pytest.mark.parametrize("words", [["yes"], ["red", "balloons"], ["99", "please"]])
def test_an_answer_at_a_step_where_nothing_is_open_is_none(words: list[str]) -> None:
    antiphon("run", program('print(ask "Who?")\n'))
    ran = antiphon("answer", "last:99", *words)
    assert (ran.code, "no question is open at step '99'" in ran.err) == (2, True)
    assert f"open: {last()['id']}:1 (Who?)" in ran.err
    assert last()["state"] == "waiting"
    assert antiphon("answer", "last", *words).code == 0
    assert antiphon("resume").out == f"{' '.join(words)}\n"


def test_a_process_that_cannot_let_go_of_its_run_does_not_say_that_it_has_it(tmp_path: Path) -> None:
    antiphon("run", program("py() { return 1 }\n"))
    with Journal(tmp_path / "logs.db").file.write_transaction() as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON sessions WHEN NEW.state = 'failed'"
            " BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    ran = antiphon("run", program('print(py() { return 1 })\nthrow "no"\n'))
    assert (ran.code, ran.out) == (1, "1\n")
    assert (
        f"the ending of session {last()['id']} was not saved: resume it with `antiphon resume {last()['id']}`"
        in ran.err
    )
    assert "is running" not in ran.err


def test_a_title_is_no_longer_in_a_pipe_than_a_reader_wants(tmp_path: Path) -> None:
    Journal(tmp_path / "logs.db").begin("program", "word " * 10_000, {}, state="ready")
    for command in ("list", "show"):
        assert max(map(len, antiphon(command).out.splitlines())) < 300
    assert last()["title"] == "word " * 10_000


def test_a_long_question_is_no_longer_in_a_line_than_a_title() -> None:
    ran = antiphon("run", program('const words = "word ".repeat(12000)\nask "Is it {words}?"\n'))
    assert ran.code == 3
    antiphon("list")
    for told in (ran.err, antiphon("show").out, antiphon("list").out):
        assert max(map(len, told.splitlines())) < 400
