"""Answers that are made in the background: fetched by their id, also by a run that is resumed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from antiphon import Conversation, Session, connect
from antiphon.durable import Journal
from antiphon.errors import OptionError
from antiphon.fakes import Fake
from antiphon.providers import Retry
from tests.providers.scripted import Scripted

GPT = "openai/gpt-6-sol"
QUICK = Retry(first_wait=0.01, longest_wait=0.02)
#: Waits so long for the answer that it is killed in between.
CHILD = """
import sys
from antiphon import Session, connect
from antiphon.durable import Journal
from antiphon.providers import Retry

model = connect("openai/gpt-6-sol", url=sys.argv[1], key="k", background=True, retry=Retry(first_wait=60))
with Journal(sys.argv[2]).run("late"):
    Session(model).chat("Hi.")
"""


def asked(text: str = "Hi.") -> Conversation:
    return Conversation().add_user(text)


def begun(place: str) -> bool:
    """Whether the id of the response is written down."""
    try:
        return bool(Journal(place).database.query("SELECT 1 FROM steps WHERE outcome LIKE '%resp_%'", ()))
    except Exception:
        return False


def killed_while_waiting(fake: Fake, place: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, fake.base_url("openai"), place])
    try:
        end = time.monotonic() + 60
        while not begun(place):
            assert child.poll() is None, "the child ended by itself"
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_made_in_the_background_is_fetched(stream: bool):
    with Fake(["At last."]) as fake:
        model = fake.connect(GPT, background=True, retry=QUICK)
        if stream:
            with model.stream(asked()) as pieces:
                assert list(pieces)
            assert pieces.reply.text == "At last."
        else:
            assert model.chat(asked()).text == "At last."
        (request,) = fake.requests
    assert (request.body["background"], request.body["store"]) == (True, True)
    assert "stream" not in request.body


def test_a_run_that_was_killed_fetches_the_answer_and_asks_once(tmp_path: Path):
    place = str(tmp_path / "journal.db")
    with Fake(["At last."]) as fake:
        killed_while_waiting(fake, place)
        model = fake.connect(GPT, background=True, retry=QUICK)
        for _ in range(2):
            with Journal(place).run("late"):
                assert Session(model).chat("Hi.").value == "At last."
        assert [each.path for each in fake.requests] == ["/v1/responses"]


def test_a_response_that_is_gone_is_asked_for_again(tmp_path: Path):
    place = str(tmp_path / "journal.db")
    with Fake(["At last."]) as fake:
        killed_while_waiting(fake, place)
    with Fake(["Once more."]) as other:
        model = other.connect(GPT, background=True, retry=QUICK)
        with Journal(place).run("late"):
            assert Session(model).chat("Hi.").value == "Once more."
        assert len(other.requests) == 1


def queued(**fields: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": "queued", "output": [], "usage": None, **fields}


def test_an_answer_that_nobody_will_fetch_is_cancelled():
    async def given_up(server: Scripted) -> None:
        model = server.connect(GPT, background=True, retry=Retry(first_wait=30))
        asking = asyncio.create_task(model.achat(asked()))
        while not server.requests:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with Scripted(queued(), queued(status="cancelled")) as server:
        asyncio.run(given_up(server))
        sent = [(got.method, got.path) for got in server.requests]
    assert sent == [("POST", "/v1/responses"), ("POST", "/v1/responses/resp_1/cancel")]


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-5-5", "google/gemini-4-argon", "openai-chat/gpt-5"])
def test_where_there_is_none_it_is_an_error(model: str):
    with pytest.raises(OptionError, match="does not answer in the background"):
        connect(model, key="k", background=True).chat(asked())
    with pytest.raises(OptionError, match="`background` is true or false"):
        connect(model, key="k", background=1)
