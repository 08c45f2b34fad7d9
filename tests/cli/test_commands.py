"""The commands as a person runs them."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.conversation import Conversation, ToolCall, ToolResult
from antiphon.wire import read, rules
from tests import forks

HISTORIES: dict[str, Any] = {
    "anthropic": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": "never mind"},
    ],
    "openai-chat": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
        },
        {"role": "user", "content": "never mind"},
    ],
    "openai-responses": {
        "model": "gpt-5",
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "t1", "name": "f", "arguments": '{"a":1}'},
            {"role": "user", "content": "never mind"},
        ],
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"text": "never mind"}]},
        ]
    },
}
KEYS = {"openai-responses": "input", "gemini": "contents"}


def run(*arguments: str) -> tuple[int, str, str]:
    done = forks.run(*arguments, encoding="utf-8")
    return done.returncode, done.stdout, done.stderr


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture(params=HISTORIES)
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    path = tmp_path / "history.json"
    path.write_text(json.dumps(HISTORIES[request.param], indent=2) + "\n")
    return request.param, path


class TestDoctor:
    def test_it_says_what_is_wrong_and_what_repair_would_do(self, broken: tuple[str, Path]):
        name, path = broken
        before = path.read_bytes()
        code, output = invoke("check", str(path))
        assert code == 1
        assert f"{name}, 1 problem\n" in output
        assert "to `f` has no result\n    repair: it is answered as interrupted" in output
        assert path.read_bytes() == before

    def test_write_repairs_in_place_and_keeps_a_backup(self, broken: tuple[str, Path]):
        name, path = broken
        before = path.read_bytes()
        code, output = invoke("check", "--fix", str(path))
        assert code == 1
        assert "repaired; the old file was saved as" in output
        backup = path.with_name("history.json.bak")
        assert backup.read_bytes() == before
        data = json.loads(path.read_text())
        body = data if isinstance(data, dict) else {KEYS.get(name, "messages"): data}
        body = {"max_tokens": 1, "model": "some-model", **body}
        messages = body[KEYS.get(name, "messages")]
        messages.append({"role": "user", "content": "go on", "parts": [{"text": "go on"}]})
        for message in messages:
            message.pop("content" if name == "gemini" else "parts", None)
        assert rules.check(body, name) == []
        assert path.read_text().count("\n") > 5, "it stays as readable as it was"
        assert invoke("check", str(path))[0] == 0

    def test_a_second_backup_does_not_replace_the_first(self, tmp_path: Path):
        path = tmp_path / "h.json"
        for _ in range(2):
            path.write_text(json.dumps(HISTORIES["anthropic"]))
            invoke("check", "--fix", str(path))
        assert sorted(os.listdir(tmp_path)) == ["h.json", "h.json.bak", "h.json.bak2"]

    def test_a_clean_file_is_left_alone(self, tmp_path: Path):
        path = tmp_path / "h.json"
        path.write_bytes(b' [ {"role":"user","content":"hi"} ]')
        before = path.stat().st_mtime_ns, path.read_bytes()
        assert invoke("check", "--fix", str(path)) == (0, f"{path}: openai-chat, 1 turn, nothing to repair\n")
        assert (path.stat().st_mtime_ns, path.read_bytes()) == before
        assert os.listdir(tmp_path) == ["h.json"]

    def test_json(self, broken: tuple[str, Path]):
        name, path = broken
        code, output = invoke("check", "--json", str(path))
        (report,) = json.loads(output)["histories"]
        assert code == 1
        assert report["format"] == name
        (problem,) = report["problems"]
        assert problem["code"] == "unanswered-call"
        assert problem["call_id"]

    def test_our_own_files(self, tmp_path: Path):
        conversation = Conversation()
        conversation.add_user("hi")
        conversation.add_assistant_tool_calls([ToolCall("c1", "f")])
        conversation.save(tmp_path / "c.json")
        code, output = invoke("check", "--fix", str(tmp_path / "c.json"))
        assert code == 1
        assert "turn 2: call 'c1' to `f` has no result" in output
        assert Conversation.load(tmp_path / "c.json").ready()

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is not JSON"),
            (b'[{"role": "user", "cont', "is not JSON"),
            (b"\xff", "is not UTF-8"),
            (b"[" * 200_000, "is nested too deeply"),
            (b"3", "unknown history format"),
            (b'{"a": 1}', "unknown history format"),
            (
                b'{"format": "antiphon/conversation", "version": 9}',
                "version 9, and this release reads versions 1 and 2",
            ),
        ],
    )
    def test_what_cannot_be_read(self, tmp_path: Path, content: bytes, message: str):
        path = tmp_path / "h.json"
        path.write_bytes(content)
        code, output, errors = run("check", str(path))
        assert (code, output) == (2, "")
        assert errors.startswith("antiphon: ")
        assert message in errors
        assert "Traceback" not in errors

    def test_no_such_file(self, tmp_path: Path):
        code, _, errors = run("check", str(tmp_path / "none.json"))
        assert code == 2
        assert "No such file or directory" in errors

    def test_what_a_file_holds_is_shown_not_obeyed(self, tmp_path: Path):
        path = tmp_path / "h\x1b[31m.json"
        hostile = "\x1b]0;owned\x07\u202e"
        path.write_text(json.dumps([{"role": "tool", "tool_call_id": hostile, "content": hostile}]))
        code, output, _ = run("check", str(path))
        assert code == 1
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", output)
        assert "\\x1b]0;owned\\x07" in output


class TestConvert:
    @pytest.mark.parametrize("target", [*HISTORIES, "antiphon"])
    def test_every_shape_into_every_other(self, broken: tuple[str, Path], target: str, tmp_path: Path):
        _, path = broken
        code, output, errors = run("export", str(path), "--format", target)
        assert code == 0
        assert "has no result; it is answered as interrupted" in errors
        converted = tmp_path / "converted.json"
        converted.write_text(output)
        assert invoke("check", str(converted))[0] == 0
        if target != "antiphon":
            again = read(json.loads(output), target).conversation
            assert [turn.text for turn in again.turns][::2] == ["hi", "never mind"]
            (turn,) = (turn for turn in again.turns if getattr(turn, "results", ()))
            assert turn.results[0].text.removeprefix("Error: ").startswith("Interrupted:")

    def test_reasoning_comes_along_to_its_own_api(self, tmp_path: Path):
        block = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        history = [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [block, {"type": "text", "text": "x"}]},
        ]
        (tmp_path / "a.json").write_text(json.dumps({"model": "claude-sonnet-5", "messages": history}))
        _, saved, _ = run("export", str(tmp_path / "a.json"), "--format", "antiphon")
        (tmp_path / "b.json").write_text(saved)
        _, back, errors = run("export", str(tmp_path / "b.json"), "--format", "anthropic")
        assert errors == ""
        assert json.loads(back)["messages"][1]["content"][0] == block
        _, other, errors = run("export", str(tmp_path / "b.json"), "--format", "openai-chat")
        assert "c2ln" not in other
        assert errors == "antiphon: turn 2: reasoning that only claude-sonnet-5 can read; left out\n"

    def test_images_and_results_survive(self, tmp_path: Path):
        conversation = Conversation("Be brief.")
        conversation.add_user("hi")
        conversation.add_tool_calls_and_results([ToolCall("c1", "f", {"a": "é"})], [ToolResult("c1", "no", True)])
        conversation.save(tmp_path / "c.json")
        for target in HISTORIES:
            code, output, _ = run("export", str(tmp_path / "c.json"), "--format", target)
            assert code == 0
            assert "é" in output


class TestFake:
    def test_it_serves_a_script(self, tmp_path: Path):
        script = tmp_path / "script.json"
        script.write_text('["Hello from a script."]')
        command = [sys.executable, "-m", "antiphon", "fake", "--port", "0", "--script", str(script)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            body = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
            request = urllib.request.Request(
                f"{url}/v1/messages",
                json.dumps(body).encode(),
                {"content-type": "application/json", "x-api-key": "k", "anthropic-version": "2026-10-21"},
            )
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    said = [block for block in json.load(response)["content"] if block["type"] == "text"]
            finally:
                process.terminate()
        assert said == [{"type": "text", "text": "Hello from a script."}]

    def test_a_script_that_is_none(self, tmp_path: Path):
        code, _, errors = run("fake", "--script", str(tmp_path / "none.json"))
        assert code == 2
        assert "No such file" in errors
        (tmp_path / "bad.json").write_text('[{"txt": "x"}]')
        code, _, errors = run("fake", "--script", str(tmp_path / "bad.json"))
        assert code == 2
        assert "step 1" in errors

    def test_a_port_in_use(self):
        import socket

        with socket.create_server(("127.0.0.1", 0)) as taken:
            code, _, errors = run("fake", "--port", str(taken.getsockname()[1]))
        assert code == 2
        assert "cannot listen on 127.0.0.1" in errors


def test_help_and_version():
    code, output = invoke("--help")
    assert code == 0
    assert all(command in output for command in ("check", "export", "serve"))
    assert re.fullmatch(r"antiphon \d+\.\d+\.\d+\n", invoke("--version")[1])


def test_a_mistake_ends_the_process_with_two_and_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "antiphon", "--db", str(tmp_path / "s.db"), "show", "nothing"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"antiphon: .*\n", ended.stderr)
