"""No key in anything that is shown, logged or written."""

from __future__ import annotations

import json
import logging
import os
import stat
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from antiphon import Conversation, connect
from antiphon.errors import AntiphonError, ProviderError
from antiphon.fakes import Fail, Fake
from antiphon.providers import NO_RETRY, Provider
from antiphon.providers.redaction import find_request_secrets

KEY, HEADER, PASSWORD = "k3y-0f-mine", "Header-Value-0123456789", "pa55word"
MODELS = ["anthropic/claude-sonnet-5", "openai-chat/gpt-4o", "openai/gpt-5", "google/gemini-3-pro"]


def asking() -> Conversation:
    conversation = Conversation()
    conversation.add_user("Hello.")
    return conversation


@pytest.mark.parametrize("name", MODELS)
def test_no_object_message_log_or_recording_holds_a_key(
    antiphon_fake: Fake, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "antiphon")
    # What stands in the address takes the place of a key in the same header, which then reaches nobody.
    sent = HEADER if name.startswith("openai") else KEY
    antiphon_fake.play(Fail(400, f"bad {sent} and {HEADER} and {PASSWORD}"), f"You are {sent}.")
    url = antiphon_fake.connect(name).url.replace("://", f"://me:{PASSWORD}@")
    file = tmp_path / "recording"
    model = connect(name, url=url, key=KEY, headers={"x-team": HEADER}, retry=NO_RETRY, record=file)
    exchange = model.stream(asking())
    with pytest.raises(ProviderError) as caught:
        model.chat(asking())
    model.chat(asking())
    told = [
        model,
        model.provider,
        model.url,
        vars(model),
        vars(exchange),
        caught.value,
        vars(caught.value),
        caplog.text,
    ]
    told += [Provider("x", "openai-chat", url, headers={"x-key": KEY}), file.read_text()]
    for secret in (KEY, HEADER, PASSWORD):
        assert secret not in "".join(f"{each!r} {each}" for each in told)
    assert str(caught.value).count("[redacted]") >= 2


@pytest.mark.parametrize("key", ["k3y" * 60, "ab/c+d%" * 150, "a.b-c_d:e!" * 400])
@pytest.mark.parametrize("before", [0, 100, 600, 690, 699, 19_000, 19_900])
@pytest.mark.parametrize(
    ("status", "kind"), [(400, "json"), (200, "json"), (400, "text"), (200, "text"), (400, "page"), (200, "page")]
)
def test_no_part_of_a_key_is_left_where_a_text_is_made_short(key: str, before: int, status: int, kind: str) -> None:
    said = f"{'x y ' * (before // 4)}{key} {'z ' * 90}"
    forms = {"json": json.dumps({"error": {"message": said}}), "text": said, "page": f"<html><p>{said}</p></html>"}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, text=forms[kind]))
    model = connect("openai-chat/m", url="http://fake/v1", key=key, retry=NO_RETRY, transport=transport)
    with model, pytest.raises(ProviderError) as caught:
        model.chat(asking())
    told = f"{caught.value} {vars(caught.value)}"
    assert not any(key[at : at + 10] in told for at in range(0, len(key) - 10, 5))
    assert len(told) < 8_000


@pytest.mark.parametrize("settings", [{"proxy": f"me:{PASSWORD}@host:1"}, {"url": f"http://host/v1?key={PASSWORD}"}])
def test_a_refused_setting_is_not_quoted(settings: dict[str, str]) -> None:
    with pytest.raises(AntiphonError) as caught:
        connect("google/gemini-3-pro", key=KEY, **settings)
    assert PASSWORD not in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_a_recording_is_its_owners_alone(antiphon_fake: Fake, tmp_path: Path, before: int | None) -> None:
    antiphon_fake.play("Hello.")
    file = tmp_path / "recording"
    if before is not None:
        file.touch()
        file.chmod(before)
    mask = os.umask(0)
    try:
        antiphon_fake.connect("openai/gpt-5", record=file).chat(asking())
    finally:
        os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


SECRET = 'a"b\\c/d e&ü'


@pytest.mark.parametrize("form", [SECRET, json.dumps(SECRET, ensure_ascii=False), quote(SECRET, safe="")])
def test_a_secret_is_hidden_in_every_form_it_may_come_back_in(form: str) -> None:
    hidden = find_request_secrets({}, SECRET).hide(f"it was {form}!")
    assert hidden.replace('"', "") == "it was [redacted]!"


def test_of_secrets_that_begin_alike_nothing_is_left() -> None:
    secrets = find_request_secrets({}, "longsecret", "longsecret-and-more", "longsecret-and")
    assert secrets.hide("x longsecret-and-more y") == "x [redacted] y"
