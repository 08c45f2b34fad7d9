"""Keys from functions: called when they are needed, once for all, and never shown."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from antiphon import Conversation, Credential, Session, connect, embed
from antiphon.errors import AuthenticationFailed, CredentialsFailed, OptionError
from antiphon.fakes import Fake, echo
from antiphon.providers import NO_RETRY, Model

NAMES = ["anthropic/claude-sonnet-5", "openai/gpt-5", "openai-chat/gpt-4o", "google/gemini-3-pro"]
FIRST, SECOND = "f1rst-k3y-0123456789", "s3cond-k3y-0123456789"


class Rotating:
    """Returns keys one after the other, and counts the calls."""

    def __init__(self, *keys: str | Credential, wait: float = 0.0) -> None:
        self.keys, self.calls, self.wait = list(keys), 0, wait

    def __call__(self) -> str | Credential:
        self.calls += 1
        time.sleep(self.wait)
        return self.keys.pop(0) if len(self.keys) > 1 else self.keys[0]

    async def later(self) -> str | Credential:
        await asyncio.sleep(0)
        return self()

    def awaited(self) -> Awaitable[str | Credential]:
        return self.later()


def asking() -> Conversation:
    conversation = Conversation()
    conversation.add_user("Hello.")
    return conversation


def connect_to(fake: Fake, name: str, key: Any, **settings: Any) -> Model:
    return connect(name, url=fake.connect(name).url, key=key, retry=NO_RETRY, **settings)


def run_stream(model: Model) -> str:
    with model.stream(asking()) as stream:
        for _ in stream:
            pass
    return stream.reply.text


async def run_async_stream(model: Model) -> str:
    async with model.astream(asking()) as stream:
        async for _ in stream:
            pass
    return stream.reply.text


WAYS: dict[str, Callable[[Model], str]] = {
    "chat": lambda model: model.chat(asking()).text,
    "stream": run_stream,
    "achat": lambda model: asyncio.run(model.achat(asking())).text,
    "astream": lambda model: asyncio.run(run_async_stream(model)),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", ["__call__", "later", "awaited"])
def test_each_api_takes_a_function_and_calls_it_once(name: str, way: str, form: str) -> None:
    key = Rotating(FIRST)
    with Fake(echo, keys=[FIRST]) as fake:
        model = connect_to(fake, name, getattr(key, form))
        assert WAYS[way](model) == WAYS[way](model) == "You said: Hello."
        assert [got.rejected for got in fake.requests] == ["", ""]
    assert key.calls == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_rejected_key_is_fetched_again_and_the_request_repeated_once(way: str) -> None:
    key = Rotating(FIRST, SECOND)
    with Fake(echo, keys=[SECOND]) as fake:
        model = connect_to(fake, "anthropic/claude-sonnet-5", key)
        assert WAYS[way](model) == "You said: Hello."
        assert [bool(got.rejected) for got in fake.requests] == [True, False]
        fake.keys.clear()
        fake.keys.add("a third one")
        with pytest.raises(AuthenticationFailed, match="answered 401: invalid x-api-key"):
            WAYS[way](model)
    assert (len(fake.requests), key.calls) == (4, 3)


def test_a_text_is_not_sent_twice() -> None:
    with Fake(echo, keys=[SECOND]) as fake:
        with pytest.raises(AuthenticationFailed):
            connect_to(fake, "anthropic/claude-sonnet-5", FIRST).chat(asking())
        assert len(fake.requests) == 1


@pytest.mark.parametrize("as_number", [True, False])
def test_an_expired_key_is_fetched_again_before_it_is_used(as_number: bool) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=2)
    key = Rotating(Credential(FIRST, soon.timestamp() if as_number else soon), Credential(SECOND))
    with Fake(echo, keys=[FIRST, SECOND]) as fake:
        model = connect_to(fake, "openai/gpt-5", key)
        model.chat(asking())
        model.chat(asking())
        assert key.calls == 1
        fake.keys.discard(FIRST)
        while datetime.now(UTC) < soon:
            time.sleep(0.05)
        model.chat(asking())
        model.chat(asking())
        assert [got.rejected for got in fake.requests] == [""] * 4
    assert key.calls == 2


def test_concurrent_requests_call_a_function_once() -> None:
    async def ask_all(model: Model) -> None:
        await asyncio.gather(*(model.achat(asking()) for _ in range(8)))

    with Fake(echo, keys=[FIRST]) as fake:
        for form in ("__call__", "later", "awaited"):
            key = Rotating(FIRST, wait=0.05)
            asyncio.run(ask_all(connect_to(fake, "anthropic/claude-sonnet-5", getattr(key, form))))
            assert key.calls == 1
            key = Rotating(FIRST, wait=0.05)
            model = connect_to(fake, "anthropic/claude-sonnet-5", getattr(key, form))
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda _, model=model: model.chat(asking()), range(8)))
            assert key.calls == 1


def test_concurrent_rejections_fetch_one_new_key() -> None:
    async def ask_all(model: Model) -> None:
        await asyncio.gather(*(model.achat(asking()) for _ in range(8)))

    key = Rotating(FIRST, SECOND)
    with Fake(echo, keys=[FIRST]) as fake:
        model = connect_to(fake, "anthropic/claude-sonnet-5", key)
        model.chat(asking())
        fake.keys.clear()
        fake.keys.add(SECOND)
        asyncio.run(ask_all(model))
        asyncio.run(ask_all(model))
    assert key.calls == 2


def test_a_function_that_blocks_does_not_stop_the_event_loop() -> None:
    began, ended = threading.Event(), threading.Event()

    def blocking() -> str:
        began.set()
        assert ended.wait(30)
        return FIRST

    async def main(model: Model) -> str:
        asked = asyncio.create_task(model.achat(asking()))
        while not began.is_set():
            await asyncio.sleep(0.01)
        ended.set()
        return (await asked).text

    with Fake(echo) as fake:
        assert asyncio.run(main(connect_to(fake, "openai/gpt-5", blocking))) == "You said: Hello."


def test_a_request_that_is_cancelled_leaves_the_function_to_the_others() -> None:
    calls = 0

    async def slow_at_first() -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            await asyncio.Event().wait()
        return FIRST

    async def main(model: Model) -> str:
        first = asyncio.create_task(model.achat(asking()))
        while not calls:
            await asyncio.sleep(0)
        second = asyncio.create_task(model.achat(asking()))
        await asyncio.sleep(0)
        first.cancel()
        return (await second).text

    with Fake(echo, keys=[FIRST]) as fake:
        assert asyncio.run(main(connect_to(fake, "openai/gpt-5", slow_at_first))) == "You said: Hello."
    assert calls == 2


def test_sync_code_inside_of_an_event_loop_may_use_an_async_function() -> None:
    async def main(model: Model) -> str:
        return model.chat(asking()).text

    with Fake(echo, keys=[FIRST]) as fake:
        model = connect_to(fake, "openai/gpt-5", Rotating(FIRST).later)
        assert asyncio.run(main(model)) == "You said: Hello."


@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_raises_is_an_error_with_its_cause(way: str) -> None:
    problem = LookupError("the vault is sealed")

    def failing() -> str:
        raise problem

    with Fake(echo) as fake:
        model = connect_to(fake, "anthropic/claude-sonnet-5", failing)
        words = "the function for the key of anthropic failed, so nothing was sent: LookupError: the vault is sealed"
        with pytest.raises(CredentialsFailed, match=words) as caught:
            WAYS[way](model)
        assert caught.value.__cause__ is problem
        assert caught.value.provider == "anthropic"
        assert fake.requests == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (None, "it returned NoneType; return a text or an `antiphon.Credential`"),
        (b"key", "it returned bytes"),
        ("", "it returned an empty text"),
        (Credential(" "), "it returned an empty text"),
        ("k\u00e9y-of-mine", "characters that no HTTP header takes"),
        ("key\r\nx-evil: 1", "characters that no HTTP header takes"),
        (Credential("k", 1.0), r"it returned a credential that expired \d+ s ago; check the clock"),
    ],
)
def test_what_a_function_returns_is_checked(said: Any, words: str) -> None:
    with Fake(echo) as fake:
        with pytest.raises(CredentialsFailed, match=words) as caught:
            connect_to(fake, "openai/gpt-5", lambda: said).chat(asking())
        assert fake.requests == []
    assert "evil" not in str(caught.value)


def test_a_credential_and_a_key_are_checked_when_given() -> None:
    with pytest.raises(OptionError, match="`expires_at` has no time zone"):
        Credential("k", datetime(2030, 1, 1))
    with pytest.raises(OptionError, match="`expires_at` is a datetime or seconds since 1970, not str"):
        Credential("k", "tomorrow")  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match="the value of a Credential is a text, not NoneType"):
        Credential(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match="`key` is a text or a function that returns one, not int"):
        connect("openai/gpt-5", key=7)  # pyright: ignore[reportArgumentType]


def test_a_key_of_a_function_is_never_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = Credential(FIRST, time.time() + 900)
    file = tmp_path / "recording"
    with Fake([f"It is {FIRST}."], keys=[FIRST]) as fake:
        model = connect_to(fake, "anthropic/claude-sonnet-5", lambda: said, record=file)
        model.chat(asking())
        fake.keys.clear()
        fake.keys.add("another")
        with pytest.raises(AuthenticationFailed) as caught:
            model.chat(asking())
    told = [said, model, vars(model), vars(caught.value), caplog.text, file.read_text()]
    told += traceback.format_exception(caught.value)
    assert FIRST not in "".join(f"{each!r} {each}" for each in told)


def test_what_a_server_echoes_of_a_fetched_key_is_taken_out() -> None:
    from antiphon.fakes import Fail

    with Fake([Fail(400, f"bad key {FIRST}")]) as fake, pytest.raises(Exception, match=r"bad key \[redacted\]"):
        connect_to(fake, "openai/gpt-5", lambda: FIRST).chat(asking())


def test_a_recording_with_a_repeated_request_is_replayed_without_the_function(tmp_path: Path) -> None:
    file = tmp_path / "recording"
    with Fake(echo, keys=[SECOND]) as fake:
        connect_to(fake, "openai/gpt-5", Rotating(FIRST, SECOND), record=file).chat(asking())

    def unwanted() -> str:
        raise AssertionError("a replay needs no key")

    assert connect("openai/gpt-5", key=unwanted, replay=file).chat(asking()).text == "You said: Hello."


def test_sessions_and_embeddings_take_a_function() -> None:
    key = Rotating(FIRST, SECOND)
    with Fake(echo, keys=[SECOND]) as fake:
        session = Session(connect_to(fake, "anthropic/claude-sonnet-5", key))
        assert session.vibe("Hello.").value == "You said: Hello."
        model = "openai/text-embedding-3-small"
        assert len(embed(["a"], model, url=fake.connect(model).url, key=Rotating(FIRST, SECOND).later)) == 1


def test_a_header_of_the_users_takes_the_place_of_the_function() -> None:
    def unwanted() -> str:
        raise AssertionError("the header is the key")

    with Fake(echo, keys=["mine"]) as fake:
        model = connect_to(fake, "anthropic/claude-sonnet-5", unwanted, headers={"X-Api-Key": "mine"})
        assert model.chat(asking()).text == "You said: Hello."
