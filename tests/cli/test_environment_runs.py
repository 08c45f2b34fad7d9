"""Values of the environment and keys of models: in no file of the journal, and there again when a run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.fakes import Fake, call
from tests.lang_unit.commands import antiphon

TOKEN = 'tök"en/4711 of mine'
KEY = "sk-the-key-of-the-model"
TEXT = """\
import { shout } from "./helper.py"
model m = { name: "openai-chat/gpt-5", tools: [look] }
tool look(place: text): text @description "Look." { return place + " holds " + env("TOKEN") }
const token = env("TOKEN")
const loud = shout(token)
const block = py(token) { return {"inside": [token], token: len(token)} }
print("printed {token}", block)
const said = do "Use {token}." m
const who = ask "Who may use {token}?"
print(who, token == env("TOKEN"), loud, said)
({ value: token, loud: loud })
"""
HELPER = """\
import json, urllib.parse
def shout(text):
    return json.dumps({"in json": text}) + urllib.parse.quote(text, safe="") + "!"
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "data" / "logs.db"))
    monkeypatch.setenv("TOKEN", TOKEN)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("helper.py").write_text(HELPER, encoding="utf-8")
    Path("p.vibe").write_text(TEXT, encoding="utf-8")
    with Fake() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield fake


def written(tmp_path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in (tmp_path / "data").iterdir() if each.suffix != ".key")


def forms(value: str) -> list[str]:
    from urllib.parse import quote

    return [value, json.dumps(value)[1:-1], json.dumps(json.dumps(value)[1:-1])[1:-1], quote(value, safe="")]


def looked_at() -> str:
    ways = ("list", "--json"), ("show",), ("show", "--full"), ("show", "--json"), ("export", "last")
    return "".join(antiphon(*each).out for each in ways)


def left(fake: Fake) -> None:
    fake.play(call("look", place="the box"), f"It is {TOKEN}, I am told.")
    ran = antiphon("run", "p.vibe")
    assert (ran.code, TOKEN in ran.out) == (3, True), ran.err


def test_a_value_is_in_no_file_and_no_listing_wherever_it_went(fake: Fake, tmp_path: Path) -> None:
    left(fake)
    assert antiphon("answer", "last", "Ada").code == 0
    assert antiphon("resume").code == 0
    out = looked_at()
    content = written(tmp_path)
    assert [each for each in forms(TOKEN) if each in out or each.encode() in content] == []
    assert "printed [$TOKEN]" in out
    assert "Who may use [$TOKEN]?" in out


def test_and_is_there_again_when_the_run_goes_on(fake: Fake) -> None:
    left(fake)
    antiphon("answer", "last", "Ada")
    ran = antiphon("resume", "--json")
    assert (ran.code, len(fake.requests)) == (0, 2)
    report = json.loads(ran.out)
    assert report["value"] == {"value": TOKEN, "loud": report["variables"]["loud"]}
    assert report["prints"][1].startswith("Ada true {")


def test_another_value_is_told_of_and_not_used(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    left(fake)
    antiphon("answer", "last", "Ada")
    monkeypatch.setenv("TOKEN", "another one")
    ran = antiphon("resume")
    assert (ran.code, ran.out) == (2, "")
    assert "the environment variable 'TOKEN' has another value than when step 1" in ran.err
    assert "--edited" in ran.err
    monkeypatch.setenv("TOKEN", TOKEN)
    assert antiphon("resume").code == 0


def test_with_another_value_what_used_it_is_done_again_where_that_is_wanted(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(fake)
    monkeypatch.setenv("TOKEN", "another one")
    fake.play("Thanks.")
    ran = antiphon("resume", "--edited")
    assert (ran.code, "printed another one" in ran.out) == (3, True)
    assert "TOKEN has changed" in ran.err
    assert b"another one" not in written(tmp_path)


def test_a_variable_that_is_gone_is_another_value(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    left(fake)
    monkeypatch.delenv("TOKEN")
    ran = antiphon("resume")
    assert (ran.code, "'TOKEN' has another value" in ran.err) == (2, True)


def test_what_could_stand_anywhere_by_chance_is_not_looked_for(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    del fake
    for value in ("", "1", "on", "true", "text", "print"):
        monkeypatch.setenv("MODE", value)
        Path("m.vibe").write_text('print("text 1 print true", env("MODE"))\nask "on?"', encoding="utf-8")
        assert antiphon("run", "m.vibe").code == 3
        shown = antiphon("show").out
        assert "text 1 print true" in shown
        antiphon("answer", "last", "on")
        assert antiphon("resume").code == 0


def test_a_short_value_is_one_only_where_it_stands_by_itself(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    del fake
    monkeypatch.setenv("PIN", "4711")
    Path("m.vibe").write_text('const pin = env("PIN")\nprint("pin {pin}, not 47110")\nask "?"', encoding="utf-8")
    antiphon("run", "m.vibe")
    assert 'print "pin [$PIN], not 47110"' in antiphon("show").out


def test_where_something_runs_is_no_secret_and_is_as_it_was(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    del fake
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    Path("m.vibe").write_text('print(env("LANG"))\nask "?"\nprint(env("LANG"))', encoding="utf-8")
    antiphon("run", "m.vibe")
    assert "de_DE.UTF-8" in antiphon("show").out
    monkeypatch.setenv("LANG", "C")
    antiphon("answer", "last", "go")
    assert antiphon("resume").out == "C\n"


def test_the_key_of_a_model_is_in_no_file_though_nobody_read_it(fake: Fake, tmp_path: Path) -> None:
    del fake
    Path("k.vibe").write_text(
        'const found = py() { import os; return [os.environ["OPENAI_API_KEY"], 1] }\nask "Go on?"\nprint(found)\nfound',
        encoding="utf-8",
    )
    assert antiphon("run", "k.vibe").code == 3
    antiphon("answer", "last", "yes")
    ran = antiphon("resume")
    assert (ran.code, ran.out) == (0, f'["{KEY}",1]\n')
    assert KEY.encode() not in written(tmp_path)
    assert KEY not in looked_at()


def test_what_is_called_a_secret_is_one_though_nobody_read_it(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake
    monkeypatch.setenv("MY_DB_PASSWORD", "correct-horse")
    Path("k.vibe").write_text("py() { import os; return dict(os.environ) }.MY_DB_PASSWORD", encoding="utf-8")
    assert json.loads(antiphon("run", "k.vibe", "--json").out)["value"] == "correct-horse"
    assert b"correct-horse" not in written(tmp_path)


def test_what_was_written_down_without_a_value_that_is_gone_is_told_of(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake
    Path("k.vibe").write_text(
        'const found = py() { import os; return os.environ["OPENAI_API_KEY"] }\nask "Go on?"\nprint(found)',
        encoding="utf-8",
    )
    antiphon("run", "k.vibe")
    antiphon("answer", "last", "yes")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-next-key")
    ran = antiphon("resume")
    assert (
        ran.code,
        "'OPENAI_API_KEY' of the environment, which has another value" in ran.err,
        "--retry 1" in ran.err,
    ) == (2, True, True)
    assert antiphon("resume", "--retry", "1").out == "sk-the-next-key\n"


def test_an_exported_run_plays_without_the_value(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    del fake
    text = 'const token = env("TOKEN")\nconst made = py(token) { return token + "!" }\nprint(made)\n'
    Path("x.vibe").write_text(text, encoding="utf-8")
    assert antiphon("run", "x.vibe").out == f"{TOKEN}!\n"
    assert antiphon("export", "last", "x.jsonl").code == 0
    assert TOKEN not in Path("x.jsonl").read_text(encoding="utf-8")
    monkeypatch.setenv("TOKEN", "nothing")
    played = antiphon("run", "x.vibe", "--replay", "x.jsonl", "--no-save")
    assert (played.code, played.out) == (0, "[$TOKEN]!\n"), played.err


def test_two_runs_with_different_values_differ(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    del fake
    Path("x.vibe").write_text('print(env("TOKEN"), 1)', encoding="utf-8")
    ids = []
    for value in (TOKEN, TOKEN, "another one"):
        monkeypatch.setenv("TOKEN", value)
        antiphon("run", "x.vibe")
        ids.append(json.loads(antiphon("list", "--json").out)[0]["id"])
    assert antiphon("show", ids[0], "--compare", ids[1]).code == 0
    other = antiphon("show", ids[1], "--compare", ids[2])
    assert (other.code, TOKEN in other.out, "another one" in other.out) == (1, False, False)


def test_what_came_of_a_row_is_its_value(fake: Fake, tmp_path: Path) -> None:
    del fake
    Path("r.vibe").write_text('let name = ""\nname + " " + env("TOKEN")', encoding="utf-8")
    Path("rows.csv").write_text("name\nAda\n", encoding="utf-8")
    ran = antiphon("map", "r.vibe", "rows.csv")
    assert json.loads(ran.out)["value"] == f"Ada {TOKEN}"
    assert json.loads(antiphon("resume").out)["value"] == f"Ada {TOKEN}"
    assert [each for each in forms(TOKEN) if each.encode() in written(tmp_path)] == []


def test_a_row_that_is_tried_again_with_another_value_says_so(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake
    text = 'let name = ""\nconst token = env("TOKEN")\nif token.length < 12 { throw "no" }\nname + " " + token'
    Path("r.vibe").write_text(text, encoding="utf-8")
    Path("rows.csv").write_text("name\nAda\n", encoding="utf-8")
    monkeypatch.setenv("TOKEN", "too-short")
    assert antiphon("map", "r.vibe", "rows.csv").code == 1
    monkeypatch.setenv("TOKEN", TOKEN)
    ran = antiphon("resume")
    assert (ran.code, json.loads(ran.out)["value"]) == (0, f"Ada {TOKEN}"), ran.err
    assert "row 1: the environment variable TOKEN has changed" in ran.err
    assert b"too-short" not in written(tmp_path)


def test_with_another_key_of_the_journal_that_is_what_is_said(fake: Fake, tmp_path: Path) -> None:
    left(fake)
    (key,) = (tmp_path / "data").glob("*.key")
    key.unlink()
    ran = antiphon("resume")
    assert (ran.code, "was encrypted with another key" in ran.err) == (2, True)
