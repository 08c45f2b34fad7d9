"""Names of sessions: given in a chat or by a command, shown in lists, and found like ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from antiphon.fakes import Fake
from tests.lang_unit.commands import antiphon


def listed() -> list[tuple[str, str]]:
    return [(each["id"], each["title"]) for each in json.loads(antiphon("list", "--json").out)]


def test_a_chat_is_renamed_and_found_by_its_name(fake: Fake):
    fake.play("Rome.", "Three days.")
    chat = antiphon("chat", input="Where to?\n/rename Trip to Rome\n")
    assert "is now 'Trip to Rome'" in chat.out
    ((id, title),) = listed()
    assert title == "Trip to Rome"
    assert f"{id}  done" in antiphon("list").out
    assert "Trip to Rome" in antiphon("list").out
    assert antiphon("show", "Trip to Rome").out == antiphon("show", id).out
    assert antiphon("resume", "Trip to Rome", "How long?").out == "Three days.\n"
    # Later messages keep the name.
    assert listed() == [(id, "Trip to Rome")]
    assert f"{id}, " in antiphon("chat", "--resume", "Trip to Rome", input="").out


def test_a_program_is_renamed_and_loses_its_name(tmp_path: Path, fake: Fake):
    (tmp_path / "p.vibe").write_text('print(py() { return "1" })\n')
    antiphon("run", str(tmp_path / "p.vibe"))
    ((id, title),) = listed()
    assert antiphon("rename", id, "nightly", "run").err == f"antiphon: session {id} is now 'nightly run'\n"
    assert listed() == [(id, "nightly run")]
    assert antiphon("show", "nightly run:1").code == 0
    assert antiphon("rename", "nightly run", "--clear").err == f"antiphon: session {id} has no name now\n"
    assert listed() == [(id, title)]
    assert fake.requests == []


@pytest.mark.parametrize("name", ["last", "a:b", "-x", "n" * 81, "a\x1b[2J"])
def test_a_name_that_no_address_could_have_is_refused(fake: Fake, name: str):
    fake.play("Yes.")
    antiphon("ask", "Is it?")
    refused = antiphon("rename", "last", "--", name)
    assert refused.code == 2
    assert "a name begins with a letter or a digit" in refused.err


def test_two_sessions_cannot_have_one_name(fake: Fake):
    fake.play("One.", "Two.")
    antiphon("ask", "1?")
    antiphon("ask", "2?")
    (second, _), (first, _) = listed()
    antiphon("rename", first, "mine")
    assert f"session {first} has the name 'mine' already" in antiphon("rename", second, "mine").err
    assert f"session {first} has the name {first!r} already" in antiphon("rename", second, first).err


def test_a_chat_without_an_answer_has_no_name_yet(fake: Fake):
    assert "a chat has a name once it is saved" in antiphon("chat", input="/rename x\n").out
    assert fake.requests == []
