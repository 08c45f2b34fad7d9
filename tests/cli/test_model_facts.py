"""`antiphon setup models show`, `learn`, `refresh` and `check` as a person runs them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antiphon.cli import cli
from antiphon.errors import ConfigurationError, ProviderError
from antiphon.facts import lookup_facts
from antiphon.facts.statements import forget_stated_facts

HAIKU = {
    "id": "claude-haiku-5-5",
    "max_input_tokens": 2_000_000,
    "max_tokens": 128_000,
    "lifecycle": "deprecated",
    "deprecated_at": "2027-01-02T00:00:00Z",
    "retires_at": "2099-06-01T00:00:00Z",
    "capabilities": {
        "thinking": {
            "supported": True,
            "types": {
                "adaptive": {"supported": True},
                "between_tools": {"supported": True},
                "disabled": {"supported": False},
                "enabled": {"supported": False},
            },
        },
        "effort": {"low": {"supported": True}, "high": {"supported": True}, "max": {"supported": False}},
        "structured_outputs": {"supported": True},
        "image_input": {"supported": True},
        "pdf_input": {"supported": False},
        "server_tools": {"web_search": {"supported": True}, "code_execution": {"supported": False}},
    },
}
GROK = {"id": "grok-4.7", "aliases": ["grok-new"], "input_modalities": ["text"], "context_length": 600_000}


class Vendor(BaseHTTPRequestHandler):
    """Both vendors on loopback; a key that is not `good` is refused."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        if key != "good":
            self.answer(401, {"error": {"message": f"no such key {key}"}})
        elif self.path == "/v1/models/claude-haiku-5-5":
            self.answer(200, HAIKU)
        elif self.path == "/v1/models?limit=100":
            self.answer(200, {"data": [HAIKU], "has_more": True, "last_id": "claude-haiku-5-5"})
        elif self.path == "/v1/models?limit=100&after_id=claude-haiku-5-5":
            dated = {"id": "claude-opus-5-5-20261001", "max_tokens": 5}
            self.answer(200, {"data": [dated], "has_more": False})
        elif self.path == "/v1/language-models":
            self.answer(200, {"models": [GROK]})
        else:
            self.answer(404, {"error": {"message": "not found"}})

    def answer(self, status: int, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    Vendor.asked = []
    server = HTTPServer(("127.0.0.1", 0), Vendor)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    monkeypatch.setenv("XAI_BASE_URL", f"{url}/v1")
    yield Vendor.asked
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("ANTHROPIC_API_KEY", "XAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTIPHON_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    forget_stated_facts()


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, ["models", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def invoke(*arguments: str) -> str:
    return run(*arguments).stdout


def line(text: str, field: str) -> str:
    return next(" ".join(each.split()) for each in text.splitlines() if each.startswith(f"{field} "))


class TestShow:
    def test_each_fact_has_its_layer_source_date_and_sureness(self) -> None:
        shown = invoke("show", "claude-sonnet-5-5")
        assert shown.startswith("anthropic/claude-sonnet-5-5: known as claude-sonnet-5-5\n")
        assert line(shown, "forced_choice") == "forced_choice no (family claude-bound, A-f51, 2026-11-18, D)"
        assert line(shown, "cache.min") == "cache.min 512 (model claude-sonnet-5-5, ll, 2026-11-18, L)"

    def test_as_json_and_on_a_platform(self) -> None:
        told = json.loads(invoke("show", "claude-opus-5", "--platform", "foundry", "--json"))
        facts = {each["field"]: each for each in told["facts"]}
        assert told["known_as"] == "claude-opus-5"
        assert (facts["mid_system"]["value"], facts["mid_system"]["layer"]) == ("no", "platform foundry")
        with pytest.raises(ConfigurationError, match="there is no platform 'moon'; there are claude-api"):
            invoke("show", "claude-opus-5", "--platform", "moon")

    def test_that_a_model_is_not_known_is_said(self) -> None:
        assert "unknown; treated as a new claude" in invoke("show", "claude-opus-7")
        assert "unknown; nothing is assumed" in invoke("show", "ollama/anything")


class TestOwnFacts:
    def test_a_project_and_a_user_state_facts(self, place: Path) -> None:
        own = place / "config" / "antiphon"
        own.mkdir(parents=True)
        (own / "config.toml").write_text('[models."ollama/small"]\ncontext = 4096\nparallel = "no"\n')
        assert line(invoke("show", "ollama/small"), "context") == f"context 4096 (user ({own / 'config.toml'}))"
        (place / "antiphon.toml").write_text('[models."ollama/small"]\ncontext = 8192\n')
        assert "4096" in line(invoke("show", "ollama/small"), "context"), "the project is not trusted yet"
        CliRunner().invoke(cli, ["trust", "--yes"])
        assert "8192" in line(invoke("show", "ollama/small"), "context")
        assert "no" in line(invoke("show", "ollama/small"), "parallel")

    def test_a_mistake_is_told_when_facts_are_wanted_and_not_before(self, place: Path) -> None:
        own = place / "config" / "antiphon"
        own.mkdir(parents=True)
        (own / "config.toml").write_text('[models."ollama/small"]\ncontxt = 4096\n')
        for _ in range(2):
            with pytest.raises(ConfigurationError, match=r"config\.toml: .*no fact `contxt`; did you mean `context`"):
                invoke("show", "ollama/small")
        assert CliRunner().invoke(cli, ["keys", "list"]).exit_code == 0

    def test_a_file_is_merged_and_what_changes_is_printed(self, place: Path) -> None:
        file = place / "new.toml"
        file.write_text('["ollama/small"]\ncontext = 4096\nthinking = { off = "none" }\ninputs = { images = false }\n')
        assert invoke("learn", str(file)).splitlines() == [
            "ollama/small: context = 4096",
            "ollama/small: thinking.off = none",
            "ollama/small: inputs.images = false",
            f"written to {place / 'config/antiphon/models.toml'}",
        ]
        assert invoke("learn", str(file)) == "nothing changed\n"
        file.write_text('[models."ollama/small"]\ncontext = 8192\n[models."ollama/other"]\nefforts = ["low"]\n')
        assert invoke("learn", str(file)).startswith("ollama/small: context = 4096 → 8192\nollama/other: efforts")
        shown = invoke("show", "ollama/small")
        assert "8192" in line(shown, "context")
        assert "none" in line(shown, "thinking.off")
        assert "false" in line(shown, "inputs.images")

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("a = [", "not valid TOML"),
            ("models = 5", "`models` is a table"),
            ('["ollama/a"]\nschema = 5', "`schema` is a text"),
        ],
    )
    def test_a_file_with_a_mistake_changes_nothing(self, place: Path, text: str, told: str) -> None:
        (place / "bad.toml").write_text(text)
        with pytest.raises(ConfigurationError, match=told):
            invoke("learn", "bad.toml")
        assert not (place / "config/antiphon/models.toml").exists()
        with pytest.raises(ConfigurationError, match=r"there is no file missing\.toml"):
            invoke("learn", "missing.toml")


class TestRefresh:
    def test_a_vendor_is_asked_and_its_answer_comes_before_older_facts(
        self, vendor: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "good")
        told = invoke("refresh", "claude-haiku-5-5")
        assert "context is 2000000, was 1000000" in told
        assert vendor == ["/v1/models/claude-haiku-5-5"]
        shown = invoke("show", "claude-haiku-5-5")
        assert line(shown, "context").startswith("context 2000000 (refreshed, vendor, ")
        facts = lookup_facts("anthropic", "claude-haiku-5-5")
        assert (facts.thinking.kinds, facts.thinking.off) == (("adaptive", "between_tools"), "between_tools")
        assert facts.efforts == ("low", "high")
        assert (facts.lifecycle.state, str(facts.lifecycle.retires)) == ("deprecated", "2099-06-01")
        assert facts.inputs is not None
        assert facts.inputs["pdf"] is None
        assert facts.inputs["images"] is not None
        assert facts.server_tools is not None
        assert facts.server_tools["code_execution"] == ()
        assert facts.server_tools["web_search"]
        assert facts.forced_choice == "yes"

    def test_without_a_name_all_are_asked_about(self, vendor: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "good")
        monkeypatch.setenv("XAI_API_KEY", "good")
        told = invoke("refresh")
        assert "anthropic/claude-opus-5-5: max_output is 5, was 128000" in told
        assert "xai/grok-4.7: context is 600000, was 500000; inputs.images is false" in told
        assert len(vendor) == 3
        assert "600000" in line(invoke("show", "grok-4.7"), "context")

    def test_what_goes_wrong_is_told_without_the_key(
        self, vendor: list[str], monkeypatch: pytest.MonkeyPatch, place: Path
    ) -> None:
        with pytest.raises(ConfigurationError, match="there is no key of anthropic or xai"):
            invoke("refresh")
        with pytest.raises(ConfigurationError, match="no key for anthropic"):
            invoke("refresh", "claude-haiku-5-5")
        with pytest.raises(ConfigurationError, match="openai tells nothing of its models"):
            invoke("refresh", "gpt-6-sol")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "s3cret-wrong-key")
        with pytest.raises(ProviderError, match="anthropic answered 401") as caught:
            invoke("refresh", "claude-haiku-5-5")
        assert "s3cret" not in str(caught.value)
        monkeypatch.setenv("XAI_API_KEY", "good")
        with pytest.raises(ConfigurationError, match="xai does not know a model 'grok-9'"):
            invoke("refresh", "grok-9")
        kept = place / "config/antiphon/models-refreshed.json"
        assert not kept.exists()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("{")
        with pytest.raises(ConfigurationError, match="`antiphon setup models refresh` wrote; delete it"):
            invoke("show", "grok-4.7")
        assert vendor


class TestCheck:
    def test_models_are_listed_with_their_end(self, place: Path) -> None:
        (place / "antiphon.toml").write_text('model = "anthropic/claude-opus-4-1"\n')
        (place / "program.vibe").write_text('model m = { name: "openai/gpt-6-sol" }\n')
        (place / "code.py").write_text('"""About gpt-6-sol."""\nx = connect("claude-sonnet-5-5")\nbad = "gpt-66"\n')
        (place / ".hidden").mkdir()
        (place / ".hidden" / "a.py").write_text('"openai/o1"')
        found = run("check")
        assert found.exit_code == 1
        assert found.stdout.splitlines() == [
            "antiphon.toml:1: anthropic/claude-opus-4-1: anthropic/claude-opus-4-1 is retired since 2026-08-05;"
            " use anthropic/claude-opus-5-5",
            "code.py:2: anthropic/claude-sonnet-5-5",
            "program.vibe:1: openai/gpt-6-sol",
        ]
        clean = run("check", "code.py")
        assert (clean.exit_code, clean.stdout) == (0, "code.py:2: anthropic/claude-sonnet-5-5\n")
        listed = json.loads(invoke("check", "--json"))
        assert listed[0]["line"] == 1
        assert listed[1]["ends"] is None

    def test_where_none_is_named(self, place: Path) -> None:
        (place / "empty").mkdir()
        assert invoke("check", "empty") == "no models found\n"
        with pytest.raises(ConfigurationError, match="there is no file or directory nowhere"):
            invoke("check", "nowhere")


def test_the_end_of_a_model_is_told_in_a_line(place: Path) -> None:
    script = "import sys; from antiphon.cli import main; sys.argv = ['antiphon', *sys.argv[1:]]; main()"
    arguments = ["ask", "hello", "--model", "openai/o1"]
    variables = {**os.environ, "OPENAI_API_KEY": "any", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "HOME": str(place)}
    variables.pop("PYTHONWARNINGS", None)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, env=variables, timeout=60
    )
    assert done.stderr.startswith("antiphon: openai/o1 is retired since 2026-10-23; use openai/gpt-6-sol\n")
    assert "Warning" not in done.stderr
