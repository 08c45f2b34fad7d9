"""`antiphon setup models` as a person runs it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.config.trust import find_project, record_trust_decision
from antiphon.errors import WeightsError
from antiphon.local import weights
from tests.providers.tiny_weights import TINY, WHOLE, Machine, machine

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    for name in (*KEYS, "DEEPSEEK_API_KEY", "GROQ_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with machine(tmp_path, monkeypatch) as found:
        monkeypatch.chdir(tmp_path)
        yield found


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.gguf"
    path.write_bytes(WHOLE)
    return path


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["models", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_a_model_is_pulled_listed_described_and_removed(here: Machine, own: Path) -> None:
    assert "not installed  MIT         Tiny, Q0" in invoke()
    assert invoke("pull", "tiny", "--from", str(own)) == f"{here.file}\n"
    assert "installed      MIT         Tiny, Q0" in invoke("list")
    assert invoke("path", "tiny") == f"{here.file}\n"
    described = invoke("info", "tiny")
    for fact in ("80001 (80 kB)", TINY.sha256, "MIT", str(here.file), str(own)):
        assert fact in described
    assert invoke("remove", "tiny").startswith("tiny: 8")
    assert invoke("remove", "tiny") == "tiny: nothing to remove\n"


def test_the_path_of_what_is_not_there_is_an_error_with_the_command() -> None:
    with pytest.raises(WeightsError, match=r"download it with `antiphon setup models pull tiny` \(80 kB\)"):
        invoke("path", "tiny")


def test_json_is_for_programs(here: Machine, own: Path) -> None:
    weights.pull("tiny", file=own)
    listed = json.loads(invoke("--json"))
    assert (listed["default"], listed["decided_by"]) == ("local/0.5b", "local")
    tiny = next(model for model in listed["models"] if model["name"] == "tiny")
    assert tiny == {**json.loads(invoke("info", "tiny", "--json")), "default": False}
    assert tiny["installed"] == str(here.file)
    assert [model["name"] for model in listed["models"] if model["default"]] == ["0.5b"]


def test_why_tells_which_step_decided_and_which_were_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = invoke("--why").splitlines()
    assert lines[4] == "5. ANTIPHON_MODEL: not set"
    assert lines[6:] == [
        "7. local: local/0.5b (the model on this machine)",
        "The model is local/0.5b.",
        "Requests go to this machine (it runs here), without a key.",
    ]
    monkeypatch.setenv("ANTIPHON_MODEL", "gpt-5")
    lines = invoke("--why").splitlines()
    assert lines[4:] == [
        "5. ANTIPHON_MODEL: gpt-5 (in the environment)",
        "6. a provider with a key: not checked",
        "7. local: not checked",
        "The model is gpt-5.",
        "Requests go to https://api.openai.com/v1 (the provider's own), without a key.",
    ]
    (tmp_path / "antiphon.toml").write_text('model = "claude-sonnet-5"')
    assert invoke("--why").splitlines()[2].endswith("antiphon.toml is not trusted (`antiphon setup trust`)")
    record_trust_decision(find_project(), True)
    explained = json.loads(invoke("--why", "--json"))
    assert (explained["model"], explained["source"], len(explained["steps"])) == ("claude-sonnet-5", "project", 3)


def test_a_mistake_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "antiphon.toml").write_text("modle = 1")
    record_trust_decision(find_project(), True)
    done = subprocess.run([sys.executable, "-m", "antiphon", "models"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        f"antiphon: {tmp_path / 'antiphon.toml'}: there is no setting `modle`; did you mean `model`?\n"
    )


@pytest.mark.parametrize("command", [["path", "0.5b"], []])
def test_nothing_heavy_is_imported(command: list[str]) -> None:
    code = (
        "import sys, atexit; heavy = ('httpx2', 'pydantic', 'rich', 'mcp', 'xllamacpp');"
        "atexit.register(lambda: print([name for name in heavy if name in sys.modules]));"
        "sys.argv[0] = 'antiphon'; from antiphon.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "models", *command], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
