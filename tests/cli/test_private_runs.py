"""What goes into private variables: sealed in the journal, and shown to nobody."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.fakes import Fake, call
from tests.lang_unit.commands import antiphon

TEXT = """\
import { readFile } from "system/tools"
import { deep, shout } from "./helper.py"
model m = { name: "openai-chat/gpt-5", tools: [look] }
tool look(): text @description "Look." { return shout("tool-" + "55") }
function twice(text: text): text {
    const inner = shout(text)
    return shout(inner) + py(inner) { return "nested-" + "6" * 5 }
}
private let start = ""
private const pin = ask "Your PIN?"
private const code = do "Give me the code." m
private const made = py() { return "made-" + "1" * 5 }
private const ran = readFile("given-22.txt")
private const called = shout("called-33")
private let later = ""
later = shout("later-44") + twice("through-77")
private let held = { at: "" }
held.at = shout("held-88")
async let beside = shout("open-99")
private async let apart = shout("apart-11")
const { private secret: text, public: text } = deep("pattern-12")
private const rounds = async for n in 2 { yield shout("round-13") }
const open = ask "Go on?"
print(pin == "pin-4711", code == "code-0815", start == "start-1234", open, beside, ran.trim().split("\\n").length)
"""
END = "true true true yes OPEN-99-loud 2\n"
HELPER = """\
def shout(text: str) -> str:
    return text.upper() + "-loud"
def deep(text: str):
    return {"secret": text + "-deep", "public": "said-14"}
"""
SECRETS = (
    *("pin-4711", "code-0815", "start-1234", "made-11111", "given-22", "file-22222", "called-33", "CALLED-33"),
    *("later-44", "LATER-44", "through-77", "THROUGH-77", "nested-66666", "held-88", "HELD-88", "apart-11", "APART-11"),
    *("TOOL-55", "round-13", "ROUND-13", "pattern-12"),
)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "data" / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with Fake() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        yield fake


def left(fake: Fake) -> None:
    """A run that has used all its secrets, and waits."""
    Path("p.vibe").write_text(TEXT, encoding="utf-8")
    Path("given-22.txt").write_text("file-22222\nof mine", encoding="utf-8")
    Path("helper.py").write_text(HELPER, encoding="utf-8")
    fake.play(call("look"), "code-0815")
    assert antiphon("run", "p.vibe", "--set", "start=start-1234").code == 3
    assert antiphon("answer", "last", "pin-4711").code == 0
    assert antiphon("resume").code == 3


def test_what_is_private_is_in_no_file_and_no_output(fake: Fake, tmp_path: Path):
    left(fake)
    shown = "".join(
        antiphon(*arguments).out
        for arguments in (("list", "--json"), ("show",), ("show", "--full"), ("show", "--json"), ("export", "last"))
    )
    written = b"".join(each.read_bytes() for each in (tmp_path / "data").iterdir())
    assert [secret for secret in SECRETS if secret in shown or secret.encode() in written] == []
    assert "(private)" in shown
    assert "Go on?" in shown


def test_and_is_there_when_the_run_goes_on(fake: Fake, tmp_path: Path):
    left(fake)
    antiphon("answer", "last", "yes")
    ran = antiphon("resume")
    assert (ran.code, ran.out, len(fake.requests)) == (0, END, 2)
    (key,) = (tmp_path / "data").glob("*.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_without_its_key_nothing_of_it_is_read(fake: Fake, tmp_path: Path):
    left(fake)
    antiphon("answer", "last", "yes")
    (key,) = (tmp_path / "data").glob("*.key")
    key.unlink()
    ran = antiphon("resume")
    assert (ran.code, "was encrypted with another key" in ran.err) == (2, True)
    assert antiphon("list").code == 0
    assert json.loads(antiphon("list", "--json").out)[0]["state"] in ("ready", "stopped")


def test_a_key_of_the_environment_is_for_journals_that_are_shared(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from cryptography.fernet import Fernet

    monkeypatch.setenv("ANTIPHON_JOURNAL_KEY", Fernet.generate_key().decode())
    left(fake)
    antiphon("answer", "last", "yes")
    assert antiphon("resume").out == END
    assert list((tmp_path / "data").glob("*.key")) == []
    monkeypatch.setenv("ANTIPHON_JOURNAL_KEY", "short")
    assert "has no valid key" in antiphon("run", "p.vibe", "--set", "start=x").err
