"""`antiphon runs`: programs that are left, looked at and gone on with, through the commands alone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Journal
from antiphon.fakes import Fake, call
from antiphon.storage.database import LeasedWrite
from tests import forks
from tests.lang_unit.commands import Ran, antiphon

MAIN = "import sys; sys.argv[0] = 'antiphon'; from antiphon.cli import main; main()"
TIDY = 'import { runShell } from "system/tools"\nmodel m = { name: "openai-chat/gpt-5", tools: [runShell] }\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with Fake() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        yield fake


def program(text: str, name: str = "p.vibe") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def last() -> dict[str, Any]:
    return json.loads(antiphon("list", "--json").out)[0]


def killed(*arguments: str, at: str) -> None:
    """Run a command that is killed as soon as it has printed a line."""
    child = forks.Forked(*arguments, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if line.strip() == at:
            child.send_signal(signal.SIGKILL)
            break
    assert child.wait() == -signal.SIGKILL


class TestQuestions:
    def test_a_question_ends_the_process_and_is_answered_later(self):
        ran = antiphon("run", program('print("hello")\nconst who = ask "Who?"\nprint("hi {who}")\nwho\n'))
        assert (ran.code, ran.out) == (3, "hello\n")
        id = last()["id"]
        assert f"antiphon answer {id}:2 TEXT" in ran.err
        assert [last()[name] for name in ("state", "title", "steps")] == ["waiting", "p.vibe", 2]
        assert "waiting" in antiphon("list").out
        assert "p.vibe: Who?" in antiphon("list").out
        assert antiphon("resume", "last").code == 3
        assert antiphon("answer", f"{id}:2", "Ada", "Lovelace").code == 0
        assert last()["state"] == "ready"
        ran = antiphon("resume", "last")
        assert (ran.code, ran.out) == (0, "hi Ada Lovelace\n")
        assert last()["result"]["value"] == "Ada Lovelace"
        again = antiphon("answer", id, "x")
        assert (again.code, "has no open question" in again.err) == (2, True)
        done = antiphon("resume", id[:6])
        assert (done.code, done.out, "is already done" in done.err) == (0, "", True)

    def test_several_are_open_at_once_and_answered_in_any_order(self):
        text = 'const got = async for n in 1..3 {\n  print("asking {n}")\n  yield ask "Number {n}?"\n}\nprint(got)\n'
        ran = antiphon("run", program(text))
        assert (ran.code, sorted(ran.out.split("\n"))) == (3, ["", "asking 1", "asking 2", "asking 3"])
        questions = {each["text"]: each["step"] for each in last()["waiting"]}
        assert sorted(questions) == ["Number 1?", "Number 2?", "Number 3?"]
        several = antiphon("answer", "last", "x")
        assert (several.code, "several questions are open" in several.err) == (2, True)
        for number in (3, 1):
            assert antiphon("answer", f"last:{questions[f'Number {number}?']}", f"n{number}").code == 0
        ran = antiphon("resume")
        assert (ran.code, ran.out) == (3, "")
        assert [each["text"] for each in last()["waiting"]] == ["Number 2?"]
        assert antiphon("answer", "last", "n2").code == 0
        assert antiphon("resume").out == '["n1","n2","n3"]\n'

    def test_what_goes_on_beside_a_question_gets_as_far_as_it_can(self):
        text = 'async let slow = f()\nfunction f() {\n  sleep(0.2)\n  print("slept")\n  return 1\n}\n'
        ran = antiphon("run", program(f'{text}const a = ask "A?"\nprint(slow + 1, a)\n'))
        assert (ran.code, ran.out) == (3, "slept\n")
        antiphon("answer", "last", "yes")
        assert antiphon("resume").out == "2 yes\n"

    def test_rounds_go_on_beside_one_that_asks(self):
        choice = 'if i == 1 { yield ask "A?" } else { print(i)\n yield "b" }'
        text = f"const all: text[] = async for i in 1..3 {{\n  {choice}\n}}\nprint(all)\n"
        ran = antiphon("run", "--max-parallel", "1", program(text))
        assert (ran.code, ran.out) == (3, "2\n3\n")
        antiphon("answer", "last", "yes")
        assert antiphon("resume").out == '["yes","b","b"]\n'

    def test_waiting_with_the_run_goes_on_at_once(self):
        ran: list[Ran] = []
        file = program('print(ask "A?")\nprint(ask "B?")\n')
        thread = threading.Thread(target=lambda: ran.append(antiphon("run", "--wait", file)))
        thread.start()
        for word in ("one", "two"):
            journal = Journal()
            while not (found := journal.list_runs()) or found[0].state != "waiting":
                time.sleep(0.05)
            from antiphon.effects import HumanAnswer

            journal.answer(found[0].id, found[0].waiting[0].path, HumanAnswer(word))
        thread.join()
        assert (ran[0].code, ran[0].out) == (0, "one\ntwo\n")

    def test_objects_keep_the_order_of_their_keys(self):
        made = 'const o = py() { return {"z": 1, "a": {"y": 2, "b": 3}} }\n'
        text = f'{made}print(o)\nconst who = ask "Who?"\nprint(o, who)\n'
        first = antiphon("run", program(text)).out
        antiphon("answer", "last", "me")
        ran = antiphon("resume")
        assert (ran.code, ran.out) == (0, f"{first.strip()} me\n")

    def test_an_answer_may_go_on_with_the_run_itself(self):
        antiphon("run", program('print(ask "A?")\n'))
        assert antiphon("answer", "last", "one", "--resume").out == "one\n"

    def test_a_program_from_a_pipe_is_kept(self):
        assert antiphon("run", "-", input='print(ask "A?")').code == 3
        antiphon("answer", "last", "one")
        assert antiphon("resume").out == "one\n"


class TestApprovals:
    def test_a_call_waits_and_is_allowed(self, fake: Fake):
        fake.play(call("run_shell", command="touch made"), "done")
        ran = antiphon("run", program(f'{TIDY}print(vibe "tidy" m)\n'))
        assert (ran.code, Path("made").exists()) == (3, False)
        assert " yes` or `no`, then `antiphon resume" in ran.err
        wrong = antiphon("answer", f"last:{last()['waiting'][0]['step']}", "maybe")
        assert (wrong.code, "takes yes or no, not 'maybe'" in wrong.err) == (2, True)
        assert antiphon("answer", "last", "yes").code == 0
        ran = antiphon("resume")
        assert (ran.code, ran.out, Path("made").exists()) == (0, "done\n", True)
        assert len(fake.requests) == 2

    def test_or_denied_with_a_reason(self, fake: Fake):
        fake.play(call("run_shell", command="touch made"), "then not")
        antiphon("run", program(f'{TIDY}print(vibe "tidy" m)\n'))
        antiphon("answer", "last", "no", "--reason", "not on a Friday")
        assert antiphon("resume").out == "then not\n"
        assert not Path("made").exists()
        assert "not on a Friday" in json.dumps(fake.requests[-1].body)


class TestKilled:
    TEXT = (
        'print("one")\nconst a = py() {\n  open("log", "a").write("a")\n  return 1\n}\nprint("two")\n'
        'const b = py() {\n  import time, pathlib\n  open("log", "a").write("b")\n  print("inside", flush=True)\n'
        '  while not pathlib.Path("go").exists():\n    time.sleep(60)\n  return 2\n}\nprint(a + b)\n'
    )

    def test_what_is_done_is_not_done_again_and_what_is_not_known_is_an_error(self):
        killed("run", program(self.TEXT), at="inside")
        assert last()["state"] == "stopped"
        ran = antiphon("resume", "last")
        assert (ran.code, ran.out) == (1, "")
        assert "not known whether it took effect" in ran.err
        (path,) = set(re.findall(r"--retry (\S+)`", ran.err))
        assert f"--skip {path} VALUE" in ran.err
        Path("go").touch()
        assert antiphon("resume", "last", "--retry", path).out == "inside\n3\n"
        assert Path("log").read_text() == "abb"

    def test_a_person_says_what_came_of_it(self):
        killed("run", program(self.TEXT), at="inside")
        path = re.findall(r"--skip (\S+)", antiphon("resume").err)[0]
        ran = antiphon("resume", "--skip", path, "40")
        assert (ran.code, ran.out) == (0, "41\n")
        assert Path("log").read_text() == "ab"

    @pytest.mark.parametrize(
        ("module", "call", "value", "printed"),
        [
            ("process", 'run(["true"])', '{"stdout": "x", "stderr": "", "code": 7}', "x 7"),
            ("process", 'run(["true"])', '{"stdout": "x", "code": 7}', None),
            ("http", 'post("http://127.0.0.1:9/", "b")', '{"status": 201, "ok": true, "headers": {}, "text": "made",'
             ' "json": null, "url": "u"}', "201 made"),
            ("http", 'post("http://127.0.0.1:9/", "b")', "made", None),
            ("files", 'appendText("log", "b")', "null", "after"),
            ("files", 'writeText("log", "b")', "", "after"),
            ("files", 'remove("log")', "done", None),
            ("files", 'exists("log")', "false", "false"),
            ("files", 'readBytes("log")', "[1, 2]", "[1,2]"),
            ("files", 'readText("log")', "[1, 2]", "[1, 2]"),
        ],
    )  # fmt: skip
    def test_what_came_of_a_system_function_has_its_type(
        self, module: str, call: str, value: str, printed: str | None
    ) -> None:
        shown = {"process": "{r.stdout} {r.code}", "http": "{r.status} {r.text}"}.get(module, "{r}")
        name = call.partition("(")[0]
        rest = f'{call}\nprint("after")\n' if printed == "after" else f'const r = {call}\nprint("{shown}")\n'
        file = program(f'import {{ {name} }} from "system/{module}"\n{rest}')
        Path("log").write_text("a")
        forks.run("run", file)
        journal = Journal()
        running = journal.resume(last()["id"])
        # As if the process had died while it did it.
        for change in (
            "UPDATE steps SET state = 'begun', outcome = NULL WHERE session = (SELECT session FROM at) AND path = '1'",
            "DELETE FROM steps WHERE session = (SELECT session FROM at) AND seq > 0",
        ):
            journal.write_at_epoch(*running.fence, LeasedWrite(change, ()))
        running.finish("interrupted")
        forked = antiphon("resume", "--fork", "last", "--at", "1", "--set", value)
        resumed = antiphon("resume", running.id, "--skip", "1", value)
        for ran in (forked, resumed):
            if printed is None:
                assert (ran.code, f"step 1: `{module}.{name}`" in ran.err or "step 1: field" in ran.err) == (2, True)
            else:
                assert (ran.code, ran.out) == (0, f"{printed}\n"), ran.err

    def test_what_came_of_a_tool_that_gives_programs_a_value_is_one(self):
        antiphon("run", program('import { listFiles } from "system/tools"\nprint(listFiles(".").length)\n'))
        assert antiphon("resume", "--fork", "last", "--at", "1", "--set", '["a", "b", "c"]').out == "3\n"
        antiphon("run", program('import { readFile } from "system/tools"\nprint(readFile("p.vibe").length)\n'))
        assert antiphon("resume", "--fork", "last", "--at", "1", "--set", "[1, 2]").out == "6\n"

    def test_a_program_catches_what_is_not_known(self):
        slow = 'import time\n    print("in", flush=True)\n    time.sleep(600)\n    return 1\n'
        text = f'let x = 0\ntry {{\n  x = py() {{\n    {slow}  }}\n}} catch e {{\n  print("caught")\n}}\n'
        killed("run", program(text), at="in")
        assert antiphon("resume").out == "caught\n"

    def test_a_model_is_asked_again_only_where_it_had_not_answered(self, fake: Fake):
        fake.play("first", "second")
        text = (
            'model m = { name: "openai-chat/gpt-5" }\nprint(do "one" m)\nsleep(0.01)\nprint("now")\n'
            'py() {\n  import os, signal, pathlib\n  if not pathlib.Path("go").exists():\n'
            "    os.kill(os.getpid(), signal.SIGKILL)\n}\n"
            'print(do "two" m)\n'
        )
        child = forks.run("run", program(text), text=True)
        assert (child.returncode, child.stdout) == (-signal.SIGKILL, "first\nnow\n")
        Path("go").touch()
        assert antiphon("resume").code == 1
        ran = antiphon("resume", "--retry", "5")
        assert (ran.code, ran.out, len(fake.requests)) == (0, "second\n", 2)

    def test_interrupted_by_a_person(self):
        file = program(
            'print("in")\npy() {\n  import os, signal, time\n'
            "  os.kill(os.getpid(), signal.SIGINT)\n  time.sleep(5)\n}\n"
        )
        child = forks.run("run", file, text=True)
        assert child.returncode == 130
        assert f"antiphon resume {last()['id']}" in child.stderr
        assert last()["state"] == "stopped"


class TestTime:
    def test_a_long_sleep_holds_no_process(self, monkeypatch: pytest.MonkeyPatch):
        ran = antiphon("run", program('print("a")\nsleep(3600)\nprint("b")\n'))
        assert (ran.code, ran.out) == (3, "a\n")
        assert "sleeps until" in ran.err
        assert last()["wake_at"] is not None
        assert antiphon("resume").code == 3
        later = time.time() + 3601
        monkeypatch.setattr("time.time", lambda: later)
        assert antiphon("resume").out == "b\n"

    def test_short_ones_are_slept(self):
        assert antiphon("run", program('sleep(0.01)\nprint("b")\n')).out == "b\n"


class TestChangedPrograms:
    OLD = 'print("a")\nconst who = ask "Who?"\nprint("hi {who}")\nconst b = ask "More?"\nprint(b)\n'

    def test_the_first_step_that_differs_stops_it_and_shows_both(self):
        antiphon("run", program(self.OLD))
        antiphon("answer", "last", "Ada")
        program(self.OLD.replace('"Who?"', '"Which?"'))
        ran = antiphon("resume")
        assert (ran.code, ran.out) == (2, "")
        assert re.search(r"(?s)V0930.*step 2 of session.*then:.*Who\?.*now:.*Which\?", ran.err)
        program(self.OLD)
        assert antiphon("resume").out == "hi Ada\n"

    def test_a_program_cannot_catch_it(self):
        antiphon("run", program('print("a")\nconst who = ask "Who?"\n'))
        antiphon("answer", "last", "Ada")
        program('try {\n  print("b")\n} catch e {\n  print("caught")\n}\nconst who = ask "Who?"\n')
        ran = antiphon("resume")
        assert (ran.code, "caught" in ran.out) == (2, False)

    def test_edited_reuses_what_is_unchanged_and_says_so(self):
        antiphon("run", program(self.OLD))
        antiphon("answer", "last", "Ada")
        assert antiphon("resume").code == 3
        program('print("new")\nprint("a")\nconst who = ask "Who?"\nprint("bye {who}")\n')
        ran = antiphon("resume", "--edited")
        assert (ran.code, ran.out) == (0, "new\nbye Ada\n")
        assert "2 steps were reused, 2 ran, 2 were dropped" in ran.err

    def test_edited_asks_no_model_twice(self, fake: Fake):
        fake.play("first", "second")
        text = 'model m = { name: "openai-chat/gpt-5" }\nconst a = do "one" m\nconst b = ask "Go?"\nprint(a, b)\n'
        antiphon("run", program(text))
        antiphon("answer", "last", "yes")
        program(text.replace("const a", 'print("before")\nconst a').replace("print(a, b)", 'print(a, b, do "two" m)'))
        assert antiphon("resume", "--edited").out == "before\nfirst yes second\n"
        assert len(fake.requests) == 2

    def test_a_program_that_is_gone_is_kept_with_its_run(self):
        antiphon("run", program(self.OLD))
        Path("p.vibe").unlink()
        ran = antiphon("resume")
        assert (ran.code, "was deleted; restore it with" in ran.err) == (2, True)
        assert antiphon("show", "--source").out == self.OLD

    def test_it_is_gone_on_with_where_it_was_begun(self, tmp_path: Path):
        antiphon("run", program('print(ask "A?")\n'))
        antiphon("answer", "last", "one")
        os.chdir(tmp_path)
        assert antiphon("resume").out == "one\n"


class TestForks:
    TEXT = 'print("a")\nconst who = ask "Who?"\nprint("hi {who}")\nwho\n'

    def test_another_answer(self):
        antiphon("run", program(self.TEXT))
        antiphon("answer", "last", "Ada")
        first = last()["id"]
        antiphon("resume")
        ran = antiphon("resume", "--fork", first, "--at", "2", "--answer", "Bob")
        assert (ran.code, ran.out) == (0, "hi Bob\n")
        second = last()["id"]
        assert second != first
        compared = antiphon("show", first, "--compare", second)
        assert (compared.code, compared.out.splitlines()) == (
            1,
            ["2: outcome", "  < Who?  Ada", "  > Who?  Bob", "3: asked", '  < print "hi Ada"', '  > print "hi Bob"'],
        )
        assert antiphon("show", first, "--compare", first).code == 0

    def test_another_model(self, fake: Fake):
        fake.play("from the first", "from the other")
        text = 'model m = { name: "openai-chat/gpt-5" }\nprint(ask "A?")\nprint(do "one" m)\nprint(do "two" m)\n'
        antiphon("run", program(text))
        antiphon("answer", "last", "x")
        assert antiphon("resume").out == "x\nfrom the first\nfrom the other\n"
        fake.play("another")
        step = next(
            each["path"]
            for each in json.loads(antiphon("show", "--json").out)["steps"]
            if "from the other" in json.dumps(each["outcome"])
        )
        ran = antiphon("resume", "--fork", "--at", step, "--model", "openai-chat/gpt-5-mini")
        assert (ran.code, ran.out) == (0, "another\n")
        assert fake.requests[-1].body["model"] == "gpt-5-mini"

    def test_what_came_of_a_step_is_set(self):
        antiphon("run", program("const n = py() { return 1 }\nprint(n + 1)\n"))
        assert antiphon("resume", "--fork", "--at", "1", "--set", "41").out == "42\n"
        wrong = antiphon("resume", "--fork", "--at", "77")
        assert (wrong.code, "has no step '77'" in wrong.err) == (2, True)

    def test_a_step_inside_of_another_is_come_to_again(self, fake: Fake):
        fake.play(call("look"), "Seen.")
        text = (
            'model m = { name: "openai-chat/gpt-5", tools: [look] }\n'
            'tool look(): text @description "Look." { const seen = py() { return "a tree" }; return "{seen}" }\n'
            'print(do "Go." m)\n'
        )
        antiphon("run", program(text))
        first = last()["id"]
        inner = next(
            each["path"] for each in json.loads(antiphon("show", "--json").out)["steps"] if each["kind"] == "python"
        )
        fake.play("Seen anew.")
        ran = antiphon("resume", "--fork", "--at", inner, "--set", "a rock")
        assert (ran.code, ran.out) == (0, "Seen anew.\n")
        assert "a rock" in json.dumps(fake.requests[-1].body)
        assert (last()["fork_of"], last()["fork_at"]) == (first, inner)

    def test_a_row_of_a_batch(self, tmp_path: Path):
        (tmp_path / "rows.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
        text = "let n = 0\nconst m = py(n) { return n * 10 }\nm\n"
        antiphon("map", program(text), str(tmp_path / "rows.jsonl"))
        row = json.loads(antiphon("list", "--in", "last", "--json").out)[1]["id"]
        ran = antiphon("resume", "--fork", row, "--at", "1", "--set", "7", "--json")
        assert (ran.code, json.loads(ran.out)["value"]) == (0, 7)

    def test_what_has_no_forks_says_why(self, tmp_path: Path):
        (tmp_path / "rows.jsonl").write_text('{"n": 1}\n')
        antiphon("map", program("let n = 0\nprint(n)\n"), str(tmp_path / "rows.jsonl"))
        refused = antiphon("resume", "--fork", "--at", "1")
        assert (refused.code, "it is a batch; fork one of its rows" in refused.err) == (2, True)


class TestLooking:
    def test_show_has_a_line_for_each_step(self, fake: Fake, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("COLUMNS", "200")
        fake.play(call("run_shell", command="echo hello"), "It says hello.")
        antiphon("run", "--yes", program(f'{TIDY}print(vibe "look" m)\n'))
        shown = antiphon("show").out
        assert re.search(r"1/r1 +openai-chat/gpt-5 .*run_shell", shown)
        assert re.search(r"1/call\S+ run_shell\(command=\"echo hello\"\)", shown)
        assert "It says hello." in shown
        assert "hello" in antiphon("show", "--full").out
        whole = json.loads(antiphon("show", "--json").out)
        assert [each["kind"] for each in whole["steps"]] == ["request", "tool", "request", "print"]

    def test_what_was_exported_is_played_back(self, fake: Fake):
        fake.play("one")
        file = program('model m = { name: "openai-chat/gpt-5" }\nprint(do "say" m, now())\n')
        first = antiphon("run", file).out
        assert antiphon("export", "last", "steps.jsonl").code == 0
        assert antiphon("run", "--no-save", "--replay", "steps.jsonl", file).out == first
        program('model m = { name: "openai-chat/gpt-5" }\nprint(do "say more" m, now())\n')
        changed = antiphon("run", "--no-save", "--replay", "steps.jsonl", file)
        assert (changed.code, "is not the one that was recorded" in changed.err) == (1, True)
        assert len(fake.requests) == 1
        redacted = antiphon("export", "last", "--redact").out
        assert "one" not in redacted
        assert "gpt-5" in redacted

    def test_nothing_is_no_error(self):
        assert antiphon("list").code == 1
        assert antiphon("resume").code == 2
        assert antiphon("show", "abc").code == 2

    def test_the_object_has_the_name_of_the_run(self):
        ran = antiphon("run", "--json", program('print(ask "A?")\n'))
        assert json.loads(ran.out)["session"] == last()["id"]


class TestEnding:
    def test_a_run_is_cancelled(self):
        antiphon("run", program('print(ask "A?")\n'))
        assert antiphon("stop", "--final", "last").code == 0
        assert last()["final"] is True
        for arguments in (("resume",), ("stop", "--final", "last")):
            assert antiphon(*arguments).code == 2

    def test_while_it_runs_it_stops_at_its_next_step(self):
        text = 'py() { return 1 }\nprint("ready")\nlet n = 0\nwhile n < 6000 {\n  sleep(0.1)\n  n = n + 1\n}\n'
        child = forks.Forked("run", program(text), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert "ready\n" in iter(child.stdout.readline, "")
        busy = antiphon("resume")
        assert (busy.code, "is running in process" in busy.err) == (2, True)
        assert antiphon("stop", "--final", "last").code == 0
        _, err = child.communicate()
        assert (child.returncode, "was stopped for good" in err) == (130, True)

    def test_old_ones_are_removed(self):
        antiphon("run", program("py() { return 1 }\n"))
        antiphon("run", program('ask "A?"\n'))
        assert antiphon("delete", "--older", "30d", "--yes").code == 1
        assert antiphon("delete", "--older", "0h", "--yes").err == "deleted 1 session\n"
        assert [each["state"] for each in json.loads(antiphon("list", "--json").out)] == ["waiting"]

    def test_nothing_is_written_down_where_nothing_is_to_be(self, monkeypatch: pytest.MonkeyPatch):
        file = program("py() { return 1 }\n")
        assert antiphon("run", "--no-save", file).code == 0
        monkeypatch.setenv("ANTIPHON_DB", "off")
        assert antiphon("run", file).code == 0
        monkeypatch.undo()

    def test_a_program_that_only_prints_needs_no_journal(self, tmp_path: Path):
        assert antiphon("run", program('print("x")\n')).code == 0
        assert not (tmp_path / "logs.db").exists()

    @pytest.mark.parametrize("place", ["no.db", "postgresql://nobody@127.0.0.1:9/none", "read-only/j.db"])
    def test_what_cannot_be_written_down_is_not_done(self, place: str):
        Path("no.db").write_text("this is no database" * 100)
        Path("read-only").write_text("a file, where a directory would be")
        file = program('print("before")\npy() { open("done", "w").close() }\nprint("after")\n')
        ran = antiphon("--db", place, "run", file)
        assert (ran.code, ran.out, Path("done").exists()) == (2, "before\n", False)
        assert "the database cannot be written" in ran.err
        assert "run it without saving with `--no-save`" in ran.err
        assert antiphon("--db", place, "run", "--no-save", file).out == "before\nafter\n"
        assert Path("done").exists()
