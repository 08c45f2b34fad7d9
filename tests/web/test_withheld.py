"""A secret that a tool returned stands in nothing that is stored, exported or served."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from urllib.parse import quote

import pytest

from antiphon import Conversation, Session, Store
from antiphon.durable import Journal
from antiphon.fakes import Fake, call
from antiphon.web import app
from tests.lang_unit.commands import antiphon
from tests.web.test_server import TOKEN, known

SECRET = 'hunter2-"é/+ value'


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A saved conversation in which a tool returned a secret, in words, in JSON and in a URL."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    monkeypatch.setenv("SHOP_API_KEY", SECRET)

    def look() -> str:
        return f"key={SECRET} {json.dumps({'key': SECRET})} https://x/?k={quote(SECRET, safe='')}"

    def dump() -> str:
        return f"{SECRET}\n" * 5_000

    answers = [call("look"), call("dump"), f"It is {SECRET}."]
    with Fake(answers) as fake, Store() as store:
        session = Session(fake.connect("openai/gpt-5.4"), [look, dump])
        session.vibe(f"What is {SECRET}?")
        assert any(SECRET in text for text in session.conversation.kept.values())
        return store.save(session.conversation, model="m", command="ask")


def test_it_is_in_no_file_and_in_no_answer(saved: str, tmp_path: Path):
    assert _is_free(b"".join(each.read_bytes() for each in tmp_path.glob("logs.db*")).decode(errors="replace"))
    for shown in (antiphon("show", saved).out, antiphon("export", saved).out, antiphon("logs").out):
        assert _is_free(shown)
    assert "[$SHOP_API_KEY]" in antiphon("export", saved).out
    page = app(journal=Journal(tmp_path / "logs.db"), token=TOKEN)
    served = known(page, ("GET", f"/api/sessions/{saved}/transcript", {}))[0]
    assert served.status_code == 200
    assert _is_free(served.text)
    assert "[$SHOP_API_KEY]" in served.text


def test_it_is_not_served_from_a_file_that_holds_it(saved: str, tmp_path: Path):
    with sqlite3.connect(tmp_path / "logs.db") as connection:
        plain = json.dumps(SECRET)[1:-1]
        named = re.compile(r"\[\$SHOP_API_KEY\]|\\u001a[a-z][0-9a-f]{16}SHOP_API_KEY\\u001a")
        connection.create_function("reveal", 1, lambda text: text and named.sub(lambda _: plain, text).lstrip("~"))
        for table, column in (("turns", "body"), ("blobs", "body"), ("sessions", "head")):
            connection.execute(f"UPDATE {table} SET {column} = reveal({column})")
        assert connection.execute("SELECT count(*) FROM turns WHERE instr(body, ?)", (plain,)).fetchone()[0] > 0
    assert _is_free(antiphon("show", saved).out)
    assert _is_free(antiphon("export", saved).out)


def test_what_was_saved_can_be_gone_on_with(saved: str):
    with Store() as store:
        conversation = store.load(saved)
        conversation.add_user("And now?")
        assert store.save(conversation, id=saved, model="m", command="ask") == saved
        assert store.load(saved) == conversation


def test_what_is_no_secret_is_saved_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    conversation = Conversation()
    conversation.add_user("hunter2 and value")
    with Store(tmp_path / "other.db") as store:
        id = store.save(conversation, model="m", command="ask")
        assert store.load(id) == conversation


def _is_free(text: str) -> bool:
    forms = (SECRET, json.dumps(SECRET)[1:-1], json.dumps(SECRET, ensure_ascii=False)[1:-1], quote(SECRET, safe=""))
    return "hunter2" not in text and not any(form in text for form in forms)
