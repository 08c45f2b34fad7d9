"""`antiphon worker`: programs that one process starts in a shared journal and workers execute."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Dispatcher, Journal
from antiphon.fakes import Fake
from antiphon.programs.launch_spec import LaunchSpec
from tests.forks import Forked
from tests.lang_unit.commands import antiphon
from tests.postgres_server import PASSWORD

PATIENCE = 180


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def begin(url: str, id: str, text: str, **inputs: Any) -> None:
    file = f"{id}.vibe"
    Path(file).write_text(text, encoding="utf-8")
    begun = LaunchSpec(file, os.getcwd(), file, {file: text}, inputs=inputs)
    Journal(url).begin("program", file, begun.to_json(), id=id, state="ready")
    Dispatcher(url).make_ready([id])


@contextmanager
def working(url: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "ANTIPHON_DB": url}
    with Path("worker.txt").open("w") as said:
        worker = Forked("worker", *options, env=environment, text=True, stderr=said, stdout=said)
    try:
        yield worker
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(PATIENCE) == 0
    finally:
        worker.kill()
        worker.wait()


def until(found: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < end, Path("worker.txt").read_text()
        time.sleep(0.05)


def state(url: str, id: str) -> str:
    return Journal(url).find(id).state


def test_programs_are_executed_wait_for_an_answer_and_go_on(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Fake(["Cold."]) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        begin(postgres, "asks", 'const who = ask "Who?"\nprint("hi {who}")\n"hi {who}"\n')
        begin(postgres, "model", 'model m = { name: "openai-chat/gpt-5" }\ndo "One word about Oslo." m\n')
        begin(postgres, "fails", 'throw "no"\n')
        begin(postgres, "wrong", "const x: number = \n")
        with working(postgres, "--slots", "2", "--limit", "openai*=6000"):
            until(lambda: state(postgres, "asks") == "waiting")
            until(lambda: state(postgres, "model") != "ready" and state(postgres, "wrong") == "failed")
            assert antiphon("--db", postgres, "answer", "asks", "Ada").code == 0
            until(lambda: state(postgres, "asks") == "done")
            until(lambda: state(postgres, "fails") == "failed")
            until(lambda: state(postgres, "model") == "done")
    assert (Journal(postgres).find("asks").ending or {})["value"] == "hi Ada"
    assert "no" in json.dumps(Journal(postgres).find("fails").ending)
    assert "session wrong cannot be run here" in Path("worker.txt").read_text()
    assert PASSWORD not in Path("worker.txt").read_text()


def test_a_program_that_is_not_on_this_machine_is_run_as_it_was(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("parts").mkdir()
    Path("parts/one.vibe").write_text("export function twice(n: number) {\n  return n * 2\n}\n")
    Path("p.vibe").write_text('import { twice } from "./parts/one.vibe"\nsleep(0)\ntwice(21)\n')
    ran = antiphon("--db", postgres, "run", "--detach", "p.vibe")
    id = ran.out.strip()
    assert (ran.code, "no worker is running" in ran.err) == (0, True)
    Path("p.vibe").unlink()
    with working(postgres):
        until(lambda: state(postgres, id) == "done")
    assert (Journal(postgres).find(id).ending or {})["value"] == 42


def test_rows_are_run_by_workers_and_printed_in_order(postgres: str) -> None:
    Path("p.vibe").write_text('let n = 0\nsleep(0)\nif n == 7 {\n  throw "seven"\n}\nn * n\n')
    Path("rows.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(30)))
    with working(postgres, "--slots", "4"):
        ran = antiphon("--db", postgres, "map", "p.vibe", "rows.csv")
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 1
    until(lambda: state(postgres, Journal(postgres).find("last").id) in ("done", "failed"))
    assert [each.get("value") for each in found] == [n * n if n != 7 else None for n in range(30)]
    assert antiphon("--db", postgres, "list", "--in", "last", "--json", "-n", "99").out.count('"kind": "program"') == 30


ASKS = 'let n = 0\nmodel m = { name: "openai-chat/gpt-5" }\ndo "number {n}" m\n'


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with Fake() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        yield fake


def test_all_workers_together_spend_no_more_on_a_batch_than_they_may(postgres: str, fake: Fake) -> None:
    fake.play(*["word"] * 20)
    Path("p.vibe").write_text(ASKS)
    Path("rows.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(20)))
    with working(postgres, "--slots", "1"), working(postgres, "--slots", "1"):
        ran = antiphon("--db", postgres, "map", "--max-cost", "0.0003", "p.vibe", "rows.csv")
        found = [json.loads(line) for line in ran.out.splitlines()]
        assert (ran.code, len(found)) == (4, 20)
        asked = len(fake.requests)
        each = next(row["cost"] for row in found if row["outcome"] == "done")
        # Who has begun to ask when the last of it is spent is not stopped.
        assert 0.0003 / each <= asked <= 0.0003 / each + 2
        assert "not started: the limit of $0.0003 is reached" in ran.err
        assert "--max-cost USD` continues" in ran.err
        ran = antiphon("--db", postgres, "resume", "last")
        assert (ran.code, len(fake.requests)) == (4, asked)
        ran = antiphon("--db", postgres, "resume", "last", "--max-cost", "9")
        assert {json.loads(line)["outcome"] for line in ran.out.splitlines()} == {"done"}
        assert (ran.code, len(fake.requests)) == (0, 20)


def test_rows_that_failed_are_tried_again_and_what_was_answered_is_not(postgres: str, fake: Fake) -> None:
    fake.play("one", "two", "three")
    Path("p.vibe").write_text(
        ASKS + 'const ok = py(n) {\n  import os\n  if n == 2 and not os.path.exists("fixed"):\n'
        '    raise ValueError("not yet")\n  return n\n}\nok\n'
    )
    Path("rows.csv").write_text("n\n1\n2\n3\n")
    with working(postgres):
        ran = antiphon("--db", postgres, "map", "p.vibe", "rows.csv")
        assert [json.loads(line)["outcome"] for line in ran.out.splitlines()] == ["done", "failed", "done"]
        Path("fixed").touch()
        ran = antiphon("--db", postgres, "resume", "last")
    assert (ran.code, [json.loads(line)["value"] for line in ran.out.splitlines()]) == (0, [1, 2, 3])
    assert len(fake.requests) == 3


def test_a_row_whose_program_was_changed_meanwhile_is_told_of_and_not_waited_for(postgres: str) -> None:
    Path("p.vibe").write_text('let n = 0\nask "What of {n}?"\n')
    Path("rows.csv").write_text("n\n1\n")
    with working(postgres):
        ran = antiphon("--db", postgres, "map", "p.vibe", "rows.csv")
        row = json.loads(ran.out)
        assert row["outcome"] == "waiting"
        Path("p.vibe").write_text('let n = 0\nask "What now of {n}?"\n')
        assert antiphon("--db", postgres, "answer", row["session"], "x").code == 0
        ran = antiphon("--db", postgres, "resume", "last")
    assert "differs from the saved one" in json.loads(ran.out)["error"]


def test_only_a_shared_journal_has_workers() -> None:
    Path("p.vibe").write_text("1\n")
    assert "--db postgresql" in antiphon("run", "--detach", "p.vibe").err


def test_how_it_goes_is_told_and_served(postgres: str) -> None:
    begin(postgres, "r", 'sleep(0)\n"x"\n')
    before = antiphon("--db", postgres, "worker", "--status")
    assert (before.code, before.out.splitlines()[0]) == (0, "sessions 1 ready")
    assert "workers  0 with 0 slots" in before.out
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with working(postgres, "--slots", "3", "--metrics", str(port)):
        until(lambda: state(postgres, "r") == "done")
        told = json.loads(antiphon("--db", postgres, "worker", "--status", "--json").out)
        assert (told["sessions"], [each["slots"] for each in told["workers"]]) == ({"done": 1}, [3])
        assert "`--json` needs `--status`" in antiphon("--db", postgres, "worker", "--json").err
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert 'antiphon_runs{state="done"} 1' in answer.read().decode()


def test_a_worker_that_has_ended_is_not_told_of(postgres: str) -> None:
    with working(postgres):
        until(lambda: Dispatcher(postgres).metrics().workers)
    assert Dispatcher(postgres).metrics().workers == ()
    assert "no worker is running" in antiphon("--db", postgres, "map", "--detach", *rows_of("n\n1\n")).err


def rows_of(text: str) -> tuple[str, str]:
    Path("p.vibe").write_text("let n = 0\nsleep(0)\nn\n")
    Path("rows.csv").write_text(text)
    return "p.vibe", "rows.csv"


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_ends_a_worker_at_once_and_others_go_on(postgres: str, which: signal.Signals) -> None:
    waits = 'open("began", "a").close()\n  while not os.path.exists("go"):\n    time.sleep(0.05)'
    text = f"py() {{\n  import os, time\n  {waits}\n}}\n2\n"
    begin(postgres, "r", text)
    environment = {**os.environ, "ANTIPHON_DB": postgres}
    worker = Forked("worker", "--lease", "1", env=environment, text=True, stderr=subprocess.PIPE)
    assert worker.stderr is not None
    try:
        until(lambda: Path("began").exists())
        worker.send_signal(which)
        # It says so, and waits for what it runs.
        said = [worker.stderr.readline(), worker.stderr.readline()]
        assert "another signal stops at once" in said[1]
        assert worker.poll() is None
        worker.send_signal(which)
        assert worker.wait(PATIENCE) == -which
    finally:
        worker.kill()
        worker.wait()
    Path("go").touch()
    with working(postgres, "--lease", "1"):
        until(lambda: state(postgres, "r") in ("done", "failed"))
    # What it was at was interrupted, and somebody has to look.
    assert "was interrupted" in json.dumps(Journal(postgres).find("r").ending)


def test_what_is_wrong_with_the_options_is_told(postgres: str) -> None:
    assert "workers share a PostgreSQL database" in antiphon("worker").err
    assert "expected a model and a number" in antiphon("--db", postgres, "worker", "--limit", "x").err
    assert "is not a port" in antiphon("--db", postgres, "worker", "--metrics", "x").err
    bad = antiphon("--db", postgres.replace(PASSWORD, "other"), "worker", "--status")
    assert (bad.code, "check the URL" in bad.err, "other" in bad.err) == (2, True, False)
