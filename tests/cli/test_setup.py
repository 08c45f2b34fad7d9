"""The first minutes: `antiphon setup`, the default model, servers that are found, and names that are mistyped."""

from __future__ import annotations

import json
import os
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antiphon import Session, connect
from antiphon.cli import cli
from antiphon.config.files import write_user_model
from antiphon.errors import ConfigurationError, NotFound
from antiphon.fakes import Answer, Fail, Fake
from antiphon.providers.local_servers import find_local_servers
from antiphon.providers.registry import PROVIDERS, Provider
from tests.cli.terminal import Terminal

KEYS = [name for each in PROVIDERS.values() for name in each.key_env]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*KEYS, "ANTIPHON_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config" / "antiphon" / "config.toml"


def models(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["models", *arguments], catch_exceptions=True)


def test_setup_stores_the_key_and_the_default_and_gets_an_answer(antiphon_fake: Fake, tmp_path: Path) -> None:
    antiphon_fake.play(Answer("Hello! I am *good* at sums."))
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": antiphon_fake.base_url("anthropic"),
    }  # fmt: skip
    with Terminal("setup", env=env, cwd=tmp_path) as terminal:
        terminal.expect("Which provider do you want to use?")
        terminal.expect("without a key (491 MB, downloaded once)")
        terminal.expect("another provider")
        terminal.send("antropic\r")
        terminal.expect("did you mean anthropic?")
        terminal.expect("another provider")
        terminal.send("anthropic\r")
        terminal.expect("Key for anthropic (not shown): ")
        terminal.send("sk-ant-of-the-tests-123456\r")
        terminal.expect("Default model")
        terminal.send("\r")
        terminal.expect("asking anthropic/claude-sonnet-5")
        terminal.expect("Hello! I am good at sums.")
        terminal.expect("Next: `antiphon chat`")
        assert terminal.ends() == 0
        assert "sk-ant" not in terminal.seen
    place = tmp_path / ".config" / "antiphon"
    assert tomllib.loads((place / "config.toml").read_text()) == {"model": "anthropic/claude-sonnet-5-5"}
    assert json.loads((place / "keys.json").read_text()) == {"ANTHROPIC_API_KEY": "sk-ant-of-the-tests-123456"}


def test_setup_stores_nothing_that_did_not_work(antiphon_fake: Fake, tmp_path: Path) -> None:
    antiphon_fake.play(Fail(401, "invalid x-api-key"))
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": antiphon_fake.base_url("anthropic"),
    }  # fmt: skip
    with Terminal("setup", env=env, cwd=tmp_path) as terminal:
        terminal.expect("another provider")
        terminal.send("anthropic\r")
        terminal.expect("Key for anthropic (not shown): ")
        terminal.send("sk-ant-of-the-tests-123456\r")
        terminal.expect("Default model")
        terminal.send("\r")
        terminal.expect("The test failed")
        terminal.expect("Nothing was stored")
        assert terminal.ends() == 1
        assert "sk-ant" not in terminal.seen
    assert len(antiphon_fake.requests) == 1
    place = tmp_path / ".config" / "antiphon"
    assert not (place / "config.toml").exists()
    assert not (place / "keys.json").exists()


def test_setup_needs_somebody_to_ask(config: Path) -> None:
    refused = CliRunner().invoke(cli, ["setup"], input="1\n")
    assert isinstance(refused.exception, ConfigurationError)
    assert "antiphon setup models default" in str(refused.exception)
    assert not config.exists()


def test_the_default_model_is_set_shown_and_unset(config: Path) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('# mine\nmodel = "openai/gpt-5"  # before\n\n[mcp.x]\ncommand = "model = no"\n')
    assert models("default", "ollama/qwen3").stdout == "ollama/qwen3 (user configuration)\n"
    assert config.read_text() == 'model = "ollama/qwen3"\n# mine\n\n[mcp.x]\ncommand = "model = no"\n'
    assert models("default").stdout == "ollama/qwen3 (user configuration)\n"
    assert models("default", "--unset").stdout == "local/0.5b (local)\n"
    assert config.read_text() == '# mine\n\n[mcp.x]\ncommand = "model = no"\n'


def test_a_default_that_cannot_work_is_refused_or_told(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(models("default", "nonsense").exception, ConfigurationError)
    assert not config.exists()
    told = models("default", "claude-sonet-5")
    assert "anthropic has no key; store one with `antiphon setup keys set anthropic`" in told.stderr
    assert "did you mean 'claude-sonnet-5'?" in told.stderr
    monkeypatch.setenv("ANTIPHON_MODEL", "local/1.5b")
    (config.parent.parent.parent / "antiphon.toml").write_text("")
    assert models("default", "gpt-5").stdout == "gpt-5 (user configuration)\n"


def test_a_file_that_only_its_owner_can_change_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('model = """\nopenai/gpt-5"""\n')
    with pytest.raises(ConfigurationError, match="cannot be changed automatically"):
        write_user_model(path, "local/0.5b")
    assert path.read_text() == 'model = """\nopenai/gpt-5"""\n'


@pytest.mark.usefixtures("config")
def test_sessions_take_the_default_by_its_name_and_keys_that_are_stored() -> None:
    assert str(Session("default").model.name) == "local/0.5b"
    CliRunner().invoke(cli, ["keys", "set", "anthropic", "--no-try"], input="sk-ant-of-the-tests-123456\n")
    assert Session().model.name == Session("default").model.name == "anthropic/claude-sonnet-5-5"
    assert Session("anthropic/claude-sonnet-5").model.name == "anthropic/claude-sonnet-5"
    with pytest.raises(ConfigurationError, match="no model was named"):
        Session("")


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("anthropic/claude-sonnet-5", "`antiphon setup keys set anthropic` stores one; or set ANTHROPIC_API_KEY"),
        ("gpt-nonsense", "openai is not known to have 'gpt-nonsense'"),
        ("claude-sonet-5", "is not known to have 'claude-sonet-5', did you mean 'claude-sonnet-5'?"),
    ],
)
def test_a_missing_key_names_the_next_command_and_doubts_the_name(name: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect(name)
    assert told in str(caught.value)
    assert ("is not known to have" in str(caught.value)) == ("known" in told)


def test_a_model_that_the_provider_does_not_know_is_suggested(antiphon_fake: Fake) -> None:
    antiphon_fake.play(Fail(404, "model: claude-sonet-5"))
    with pytest.raises(NotFound, match="did you mean 'claude-sonnet-5'"):
        Session(antiphon_fake.connect("anthropic/claude-sonet-5")).do("Hi")


# Servers of this machine


class _Lists(BaseHTTPRequestHandler):
    answer: Any = None

    def do_GET(self) -> None:
        body = json.dumps(self.answer).encode()
        self.send_response(200 if self.path == "/v1/models" else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[Provider]:
    http = HTTPServer(("127.0.0.1", 0), _Lists)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield Provider("ollama", "openai-chat", f"http://127.0.0.1:{http.server_port}/v1")
    http.shutdown()
    http.server_close()


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ({"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "llama4"}]}, ("ollama/qwen3:8b", "ollama/llama4")),
        ({"object": "list", "data": []}, ()),
        ({"object": "list", "data": [{"id": 5}, {"id": "a\x1b[2J"}, 7, {"id": "b"}]}, ("ollama/b",)),
        ({"hello": "world"}, None),
        ([1, 2], None),
    ],
)
def test_servers_are_found_by_what_they_say(server: Provider, answer: Any, names: tuple[str, ...] | None) -> None:
    _Lists.answer = answer
    nobody = Provider("vllm", "openai-chat", "http://127.0.0.1:1/v1")
    found = find_local_servers([nobody, server])
    assert [each.models for each in found] == ([] if names is None else [names])


@pytest.mark.usefixtures("config")
def test_models_of_servers_are_listed(server: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    _Lists.answer = {"object": "list", "data": [{"id": "qwen3:8b"}]}
    monkeypatch.setitem(PROVIDERS, "ollama", server)
    assert f"  ollama/qwen3:8b  at {server.url}\n" in models().stdout
    listed = json.loads(models("--json").stdout)["servers"]
    assert {"name": "ollama", "url": server.url, "models": ["ollama/qwen3:8b"]} in listed


def set_key(fake: Fake | None, monkeypatch: pytest.MonkeyPatch, *options: str) -> Result:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.base_url("anthropic") if fake else "http://127.0.0.1:1")
    return CliRunner().invoke(cli, ["setup", "keys", "set", "anthropic", *options], input="sk-ant-of-the-tests-1234\n")


def test_a_key_is_tried_before_it_is_stored(config: Path, antiphon_fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = config.with_name("keys.json")
    antiphon_fake.play(Fail(401, "invalid x-api-key"))
    refused = set_key(antiphon_fake, monkeypatch)
    assert isinstance(refused.exception, ConfigurationError)
    assert str(refused.exception) == "anthropic rejects this key: invalid x-api-key; nothing was stored"
    assert not stored.exists()
    assert set_key(antiphon_fake, monkeypatch).stdout == f"anthropic accepts the key; stored in {stored}\n"
    assert json.loads(stored.read_text()) == {"ANTHROPIC_API_KEY": "sk-ant-of-the-tests-1234"}


def test_a_key_that_cannot_be_tried_is_stored_only_if_the_user_says_so(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = config.with_name("keys.json")
    refused = set_key(None, monkeypatch)
    assert isinstance(refused.exception, ConfigurationError)
    assert "could not be tried, so nothing was stored" in str(refused.exception)
    assert "`--no-try` stores it untried" in str(refused.exception)
    assert not stored.exists()
    assert set_key(None, monkeypatch, "--no-try").stdout == f"not tried; stored in {stored}\n"
    assert stored.exists()


@pytest.mark.parametrize(("said", "code"), [("n", 1), ("y", 0)])
def test_the_terminal_asks_whether_an_untried_key_is_stored(tmp_path: Path, said: str, code: int) -> None:
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
    }  # fmt: skip
    with Terminal("setup", "keys", "set", "anthropic", env=env, cwd=tmp_path) as terminal:
        terminal.expect("Key for anthropic: ")
        terminal.send("sk-ant-of-the-tests-123456\r")
        terminal.expect("the key could not be tried: the connection to anthropic")
        terminal.expect("Store it untried? [y/N]: ")
        terminal.send(f"{said}\r")
        assert terminal.ends() == code
        assert "sk-ant" not in terminal.seen
    assert (tmp_path / ".config" / "antiphon" / "keys.json").exists() == (code == 0)
