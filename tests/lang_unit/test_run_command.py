"""`antiphon run`, as people and programs use it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.fakes import Answer, Fail, Fake, call
from tests import forks
from tests.lang_unit.commands import antiphon

MAIN = "import sys; sys.argv[0] = 'antiphon'; from antiphon.cli import main; main()"
MODEL = 'model m = { name: "openai-chat/gpt-5" }\n'


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with Fake() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        yield fake


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def written(text: str, name: str = "program.vibe") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return written


def test_prints_go_to_standard_output_and_warnings_to_standard_error(write: Any):
    ran = antiphon(
        "run", write('print("hello", args)\nfunction f() {\n  let unused = 1\n}\nf()\n'), "--", "a", "--json"
    )
    assert (ran.code, ran.out) == (0, 'hello ["a","--json"]\n')
    assert "warning[V0702]" in ran.err
    assert "--> program.vibe:3:" in ran.err


def test_a_program_comes_through_a_pipe():
    assert antiphon("run", "-", input="print(1 + 1)").out == "2\n"
    assert "<stdin>:1:1" in antiphon("run", "-", input="prnt(1)").err


def test_json_is_one_object_with_everything_in_it(write: Any):
    program = write('let n = 2\nprivate let key = "s3cret"\nprint("a {n}")\nlet data = { xs: [n, key.length] }\ndata')
    ran = antiphon("run", program, "--json", "--set", "n=3")
    assert ran.err == ""
    report = json.loads(ran.out)
    assert report["outcome"] == "done"
    assert report["value"] == {"xs": [3, 6]}
    assert report["variables"] == {"n": 3, "data": {"xs": [3, 6]}}
    assert report["prints"] == ["a 3"]
    assert report["usage"] == {"inputTokens": 0, "outputTokens": 0, "cost": 0.0, "requests": 0}
    assert "s3cret" not in ran.out


@pytest.mark.parametrize(
    ("text", "outcome", "code", "diagnostic"),
    [
        ('throw "x"', "failed", 1, "V0901"),
        ("prnt(1)", "invalid", 2, "V0201"),
        ('print(ask "name?")', "waiting", 3, "V0923"),
        ("let a: json = []\na.push(a)\na", "failed", 1, "V0906"),
    ],
)
def test_how_it_ended_is_in_the_exit_code_and_in_the_object(text: str, outcome: str, code: int, diagnostic: str):
    ran = antiphon("run", "-", "--json", input=text)
    report = json.loads(ran.out)
    assert (ran.code, report["outcome"], report["diagnostics"][-1]["code"]) == (code, outcome, diagnostic)
    told = antiphon("run", "-", input=text)
    assert told.code == code
    assert f"[{diagnostic}]" in told.err


def test_inputs_are_read_as_the_types_of_their_variables(write: Any):
    program = write(
        'let n = 1\nlet on = false\nlet tags: text[] = []\nlet any: json = null\nlet t = ""\nprint(n, on, tags, any, t)'
    )
    sets = ["n=2.5", "on=true", 'tags=["a", "b"]', 'any={"k": [1]}', "t=5"]
    ran = antiphon("run", program, *(part for each in sets for part in ("--set", each)))
    assert ran.out == '2.5 true ["a","b"] {"k":[1]} 5\n'


@pytest.mark.parametrize("wrong", ["n=x", "nope=1", "n", "=1"])
def test_a_wrong_input_is_a_mistake_of_whoever_runs_it(write: Any, wrong: str):
    ran = antiphon("run", write("let n = 1\nprint(n)"), "--set", wrong)
    assert (ran.code, ran.out) == (2, "")
    assert wrong.partition("=")[0] in ran.err


def test_a_recording_is_played_without_key_and_network(write: Any, fake: Fake, monkeypatch: pytest.MonkeyPatch):
    fake.play("four", Answer("five"))
    program = write(MODEL + 'print(do "2+2?" m)\nprint(do "2+3?" m)')
    assert antiphon("run", program, "--record", "r.jsonl").out == "four\nfive\n"
    assert "sk-secret-key" not in Path("r.jsonl").read_text()
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ran = antiphon("run", program, "--replay", "r.jsonl", "--json")
    report = json.loads(ran.out)
    assert report["prints"] == ["four", "five"]
    assert report["usage"]["requests"] == 2


def test_recordings_that_cannot_be_are_told_before_anything_runs(write: Any):
    program = write('print("ran")')
    for options in (
        ["--replay", "nosuch.jsonl"],
        ["--record", "no/such/dir.jsonl"],
        ["--record", "a", "--replay", "b"],
    ):
        ran = antiphon("run", program, *options)
        assert (ran.code, ran.out) == (2, "")


def test_the_option_model_serves_where_the_program_names_none(write: Any, fake: Fake):
    fake.play("one", "two")
    program = write('print(do "a")\nmodel m = { name: "openai-chat/other" }\nprint(do "b" m)')
    assert antiphon("run", program, "--model", "openai-chat/flagged").out == "one\ntwo\n"
    assert [each.model for each in fake.requests] == ["flagged", "other"]


def test_limits_end_the_run_whatever_the_program_catches(write: Any, fake: Fake):
    fake.play("one")
    program = write(MODEL + 'try {\n  print(do "a" m)\n  print(do "b" m)\n} catch e {\n  print("caught")\n}')
    ran = antiphon("run", program, "--max-turns", "1")
    assert (ran.code, ran.out) == (4, "one\n")
    assert "limit of 1 requests" in ran.err
    assert antiphon("run", program, "--max-cost", "nan").code == 2


DANGER = 'import { runShell } from "system/tools"\nmodel m = { name: "openai-chat/gpt-5", tools: [runShell] }\n'


def test_calls_that_need_a_human_block_unless_all_are_allowed(write: Any, fake: Fake):
    program = write(DANGER + 'print(vibe "go" m)')
    fake.play(call("run_shell", command="touch made"))
    ran = antiphon("run", program)
    assert (ran.code, Path("made").exists()) == (3, False)
    assert "--yes" in ran.err
    fake.play(call("run_shell", command="touch made"), "done")
    assert antiphon("run", program, "--yes").out == "done\n"
    assert Path("made").exists()


def test_a_program_that_is_not_trusted_has_no_python_and_asks_before_it_changes_things(write: Any):
    assert "Python" in antiphon("run", write("print(py() { return 1 })"), "--untrusted").err
    ran = antiphon(
        "run", write('import { runShell } from "system/tools"\nprint(runShell("touch made"))'), "--untrusted"
    )
    assert (ran.code, Path("made").exists()) == (3, False)


SECRETS = {
    "the environment": 'print(env("SECRET"))',
    "an address of its own": 'model m = { name: "openai-chat/x", url: "http://localhost:1/v1" }\nprint(do "x" m)',
    "a page": 'import { fetchUrl } from "system/tools"\nprint(fetchUrl("http://localhost:1/?all"))',
    "a server": 'import { find } from "mcp:docs"\nprint(find("x"))',
}


@pytest.mark.parametrize("way", SECRETS)
def test_a_program_that_is_not_trusted_asks_before_it_could_give_secrets_away(
    way: str, write: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SECRET", "hunter2")
    write('{"mcpServers": {"docs": {"command": "sh", "args": ["-c", "touch made-${SECRET}"]}}}', "mcp.json")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("config").resolve()))
    assert antiphon("trust", "--yes").code == 0
    ran = antiphon("run", write(SECRETS[way]), "--untrusted")
    assert (ran.code, ran.out, list(Path().glob("made*"))) == (3, "", [])
    assert "hunter2" not in ran.err
    assert "V0923" not in antiphon("run", "program.vibe").err
    assert antiphon("run", "program.vibe", "--untrusted", "--yes").code == 2


def test_show_prompt_sends_nothing_and_needs_no_key(write: Any, fake: Fake, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    text = 'print("before")\nlet age = 3\nconst n: number = do "How old is {age}?" m\nprint("after")'
    ran = antiphon("run", write(MODEL + text), "--show", "prompt", "--json")
    shown = json.loads(ran.out)
    assert (ran.code, shown["provider"], shown["model"], ran.err) == (0, "openai-chat", "gpt-5", "before\n")
    assert "How old is 3?" in json.dumps(shown["body"])
    assert shown["body"]["response_format"]["json_schema"]["schema"]["required"] == ["value"]
    assert fake.requests == []
    assert "sends no request" in antiphon("run", write("print(1)"), "--show", "prompt").err


def test_what_is_shown_is_what_is_sent(write: Any, fake: Fake):
    fake.play('{"value": 4}')
    program = write(MODEL + 'let x = 1\nconst n: number = do "?" m\nprint(n, x)')
    shown = json.loads(antiphon("run", program, "--show", "prompt", "--json").out)
    antiphon("run", program)
    assert fake.requests[0].body == shown["body"]


def test_a_failing_provider_is_told_in_the_program(write: Any, fake: Fake):
    fake.play(Fail(401, "wrong key"))
    ran = antiphon("run", write(MODEL + 'print(do "x" m)'))
    assert ran.code == 1
    assert "program.vibe:2:7" in ran.err
    assert "sk-secret-key" not in ran.err


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b"\x00" * 100, b"print(" * 5000, b'"' + b"${" * 3000, b"}" * 4000]
)
def test_any_bytes_get_a_message(content: bytes, tmp_path: Path):
    (tmp_path / "p.vibe").write_bytes(content)
    for command in ("run", "check", "fmt", "test"):
        ran = antiphon(command, str(tmp_path / "p.vibe"))
        assert ran.code == (1 if command == "check" and "is not UTF-8" not in ran.out else 2)
        assert "error[V" in ran.out + ran.err


@given(st.binary(max_size=60))
def test_no_bytes_make_a_traceback(content: bytes):
    ran = antiphon("run", "-", "--max-turns", "1", input=b"let q = 1\nlet " + content)
    # A few of them are programs: `let A=0`.
    assert ran.code in (0, 1, 2)
    assert "Traceback" not in ran.err


def test_files_that_cannot_be_read_get_a_message(tmp_path: Path):
    for path in (str(tmp_path), str(tmp_path / "nosuch.vibe"), "/dev/zero"):
        ran = antiphon("run", path)
        assert ran.code == 2
        # The second line says what to write instead of a directory.
        assert len(ran.err.splitlines()) == (2 if path == str(tmp_path) else 1)


def test_whole_numbers_are_written_as_such_in_the_report(write: Any):
    ran = antiphon("run", write("const x = 4.8 * 100\nprint(x)\n[x, 0.5]\n"), "--json")
    assert json.loads(ran.out, parse_float=str)["value"] == [480, "0.5"]


def run_process(*arguments: str, **settings: Any) -> subprocess.Popen[bytes]:
    return forks.Forked(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)


def test_ctrl_c_ends_a_busy_loop_with_one_line(write: Any):
    process = run_process("run", write('print("begun")\nwhile true { }'))
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")


def test_ctrl_c_while_a_model_is_asked_keeps_what_was_recorded(write: Any, fake: Fake):
    fake.play("first", Answer("late", delay=30))
    process = run_process("run", write(MODEL + 'print(do "a" m)\nprint(do "b" m)'), "--record", "r.jsonl", "--json")
    deadline = time.monotonic() + 60
    while len(fake.requests) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    report = json.loads(out)
    assert (process.returncode, err, report["outcome"], report["prints"]) == (130, b"", "interrupted", ["first"])
    assert [json.loads(line)["status"] for line in Path("r.jsonl").read_text().splitlines()] == [200]


def test_a_closed_pipe_ends_it_quietly(write: Any):
    process = run_process("run", write("for i in 1..1000000 { print(i) }"))
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.wait(timeout=60), process.stderr.read()) == (141, b"")
    process.stderr.close()


def test_a_terminal_sees_no_escape_of_a_model_and_a_pipe_sees_all(write: Any):
    program = write('print("\\u{1b}[31mred\\u{7}")')
    assert antiphon("run", program).out == "\x1b[31mred\x07\n"
    leader, follower = pty.openpty()
    done = forks.run("run", program, stdout=follower)
    os.close(follower)
    shown = os.read(leader, 1000)
    os.close(leader)
    assert (done.returncode, shown) == (0, b"\\x1b[31mred\\x07\r\n")


def test_a_question_is_answered_in_the_terminal(write: Any):
    program = write('const n: number = ask "How many?"\nprint(n + 1)')
    leader, follower = pty.openpty()
    process = forks.Forked("run", program, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    for said in (b"many", b"4"):
        while shown.count(b"> ") < (1 if said == b"many" else 2):
            shown += os.read(leader, 1000)
        os.write(leader, said + b"\n")
    while b"5\r\n" not in shown:
        shown += os.read(leader, 1000)
    os.close(leader)
    assert process.wait(timeout=60) == 0
    assert b"expected a number" in shown


def test_a_program_without_models_loads_nothing_heavy(write: Any):
    code = f"import sys, atexit; atexit.register(lambda: print(*sys.modules))\n{MAIN}"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", write("print(1)")], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"pydantic", "httpx2", "rich", "asyncio", "starlette", "ssl", "sqlite3"}
    # Of our own rooms, nothing that talks, calls tools, serves or formats.
    ours = {name for name in loaded if name.startswith("antiphon.")}
    assert "antiphon.lang.runtime.execution" in ours
    assert not ours & {f"antiphon.providers.{name}" for name in ("model", "client", "exchange", "decompression")}
    assert not ours & {f"antiphon.session.{name}" for name in ("session", "loop", "portal")}
    assert not ours & {
        "antiphon.terminal",
        "antiphon.storage",
        "antiphon.fakes",
        "antiphon.formats",
        "antiphon.tools.mcp",
    }


def test_a_configured_server_is_started_when_it_is_imported_from(write: Any, monkeypatch: pytest.MonkeyPatch):
    serve = "from antiphon.cli.mcp import mcp; mcp()"
    server = {"command": sys.executable, "args": ["-c", serve], "env": {"PYTHONPATH": os.environ["PYTHONPATH"]}}
    write(json.dumps({"mcpServers": {"files": server}}), ".mcp.json")
    write("what is in it", "a.txt")
    refused = antiphon("run", write('import { read_file } from "mcp:files"\nprint(read_file("a.txt"))'))
    assert (refused.code, "`antiphon setup trust`" in refused.err) == (1, True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("config").resolve()))
    assert antiphon("trust", "--yes").code == 0
    ran = antiphon("run", write('import { read_file } from "mcp:files"\nprint(read_file("a.txt"))'))
    assert (ran.code, ran.err) == (0, "")
    assert "what is in it" in ran.out
    ran = antiphon("run", write('import { x } from "mcp:nosuch"\nprint(x())'))
    assert ran.code == 1
    assert "MCP server `nosuch` is not configured" in ran.err
    assert "there are: files" in ran.err
    assert "no tool `nosuch`" in antiphon("run", write('import { nosuch } from "mcp:files"\nprint(nosuch())')).err


def test_a_program_that_only_prints_loads_nothing_that_models_need(tmp_path: Path):
    (tmp_path / "hello.vibe").write_text('print("hello")', encoding="utf-8")
    code = (
        "import sys; sys.argv = ['antiphon', 'run', 'hello.vibe']\n"
        "from antiphon.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('antiphon.')}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    said, loaded = ran.stdout.splitlines()
    assert said == "hello"
    heavy = {"agents", "conversation", "formats", "journal", "providers", "render", "store", "tools", "views", "wire"}
    assert heavy & set(eval(loaded)) == set()
