"""Stored keys: found when needed, readable by nobody else, never shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.config import keys, load_configuration
from antiphon.errors import ConfigurationError
from antiphon.providers.registry import PROVIDERS
from tests import forks

SECRET = "sk-very-secret-1234"

KEYRING = '''
"""A keyring that keeps its passwords in a file of the test."""
import json, os, pathlib
file = pathlib.Path(os.environ["KEYRING_FILE"])
class Backend:
    priority = float(os.environ.get("KEYRING_PRIORITY", 5))
def get_keyring(): return Backend()
def _all(): return json.loads(file.read_text()) if file.exists() else {}
def set_password(service, name, value):
    if os.environ.get("KEYRING_LOCKED"): raise RuntimeError("locked")
    file.write_text(json.dumps({**_all(), f"{service}:{name}": value}))
def get_password(service, name): return _all().get(f"{service}:{name}")
def delete_password(service, name):
    left = _all(); del left[f"{service}:{name}"]; file.write_text(json.dumps(left))
'''


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for provider in PROVIDERS.values():
        for name in provider.key_env:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "antiphon"


def run(*arguments: str, given: str = "") -> tuple[int, str]:
    done = forks.run("keys", *arguments, input=given, text=True)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_stored_key_is_found_by_its_provider_and_never_printed(directory: Path) -> None:
    said = [run("set", "openai", "--no-try", given=f"{SECRET}\n"), run("list"), run("list", "--json")]
    assert [code for code, _ in said] == [0, 0, 0]
    assert all(SECRET not in text and SECRET[:6] not in text for _, text in said)
    assert f"openai       stored in {directory / 'keys.json'}" in said[1][1]
    variables = load_configuration().environment
    assert PROVIDERS["openai"].key(variables) == SECRET
    assert PROVIDERS["openai-chat"].key(variables) == SECRET
    assert PROVIDERS["openai"].key() == ""
    assert run("remove", "openai") == (0, "removed\n")
    assert run("remove", "openai") == (0, "no key of openai was stored; nothing was changed\n")
    assert PROVIDERS["openai"].key(load_configuration().environment) == ""


def test_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    keys.store_key("anthropic", SECRET)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "real")
    variables = load_configuration().environment
    assert PROVIDERS["anthropic"].key(variables) == "real"
    assert variables.describe_key_source(PROVIDERS["anthropic"]) == "ANTHROPIC_API_KEY in the environment"


def test_only_the_owner_can_read_the_file(directory: Path) -> None:
    before = os.umask(0)
    try:
        keys.store_key("groq", SECRET)
    finally:
        os.umask(before)
    assert (mode(directory), mode(directory / "keys.json")) == (0o700, 0o600)
    assert [path.name for path in directory.iterdir()] == ["keys.json"]


@pytest.mark.parametrize("bits", [0o644, 0o640, 0o604, 0o620])
def test_a_file_that_others_could_read_is_taken_away_from_them_and_told(directory: Path, bits: int) -> None:
    keys.store_key("groq", SECRET)
    (directory / "keys.json").chmod(bits)
    code, text = run("list")
    assert (code, mode(directory / "keys.json")) == (0, 0o600)
    assert "others could read" in text
    assert f"(mode {bits:o}); the mode is now 600" in text
    assert "others could read" not in run("list")[1]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["set", "anthropic", SECRET], ""),
        (["set", SECRET], SECRET),
        (["set", SECRET, "anthropic"], ""),
        (["remove", SECRET], ""),
        (["set", "anthropic"], f"{SECRET} {SECRET}"),
        (["set", "anthropic"], f"{SECRET}é"),
    ],
)
def test_a_key_in_the_wrong_place_is_refused_and_not_repeated(
    directory: Path, arguments: list[str], given: str
) -> None:
    code, text = run(*arguments, given=given)
    assert code == 2
    assert SECRET not in text
    assert not directory.exists()


@pytest.mark.parametrize(
    ("provider", "key", "said"),
    [
        ("antropic", "k", "did you mean `anthropic`"),
        ("openai", "", "that is not a key"),
        ("openai", "a\nb", "not a key"),
    ],
)
def test_mistakes_are_told(provider: str, key: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        keys.store_key(provider, key)


@pytest.mark.parametrize("content", ["{", "[]", '{"OPENAI_API_KEY": 1}', "\x00\xff"])
def test_a_broken_file_is_told_without_its_content(directory: Path, content: str) -> None:
    directory.mkdir()
    (directory / "keys.json").write_text(f"{content}{SECRET}" if content == "{" else content)
    code, text = run("list")
    assert code == 2
    assert "is not the JSON that `setup keys` writes" in text
    assert SECRET not in text


class TestKeyring:
    @pytest.fixture(autouse=True)
    def keyring(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "lib").mkdir()
        (tmp_path / "lib" / "keyring.py").write_text(KEYRING)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"), prepend=os.pathsep)
        monkeypatch.setenv("KEYRING_FILE", str(tmp_path / "ring.json"))
        return tmp_path / "ring.json"

    def test_it_is_used_where_there_is_one(self, directory: Path, keyring: Path) -> None:
        assert run("set", "mistral", "--no-try", given=SECRET) == (0, "not tried; stored in the system's keyring\n")
        assert json.loads(keyring.read_text()) == {"antiphon:MISTRAL_API_KEY": SECRET}
        assert SECRET not in (directory / "keys.json").read_text()
        assert run("list") == (0, "mistral      stored in the system's keyring\n")
        code = (
            "from antiphon.config import load_configuration; from antiphon.providers import PROVIDERS;"
            "print(PROVIDERS['mistral'].key(load_configuration().environment))"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout == f"{SECRET}\n"
        assert run("remove", "mistral") == (0, "removed\n")
        assert json.loads(keyring.read_text()) == {}

    @pytest.mark.parametrize("variable", ["KEYRING_LOCKED", "KEYRING_PRIORITY"])
    def test_the_file_is_used_where_it_fails_or_is_not_safe(
        self, directory: Path, keyring: Path, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        monkeypatch.setenv(variable, "0.5")
        stored = f"not tried; stored in {directory / 'keys.json'}\n"
        assert run("set", "mistral", "--no-try", given=SECRET) == (0, stored)
        assert mode(directory / "keys.json") == 0o600
        assert not keyring.exists()
