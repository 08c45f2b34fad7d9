"""No key in anything that is shown, logged or written."""

from __future__ import annotations

import html
import json
import logging
import os
import re
import stat
from base64 import b64decode, b64encode
from pathlib import Path
from urllib.parse import quote, quote_plus

import httpx2
import pytest

from antiphon import Conversation, connect
from antiphon.errors import AntiphonError, ProviderError
from antiphon.fakes import Fail, Fake
from antiphon.providers import NO_RETRY, Provider
from antiphon.providers.redaction import find_request_secrets
from antiphon.team.secret_scan import find_secret
from antiphon.tools.process_runner import is_secret_variable

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


KEYS = {
    "github": "ghp_" + "a1B2" * 9,
    "github-fine": "github_pat_11AA_" + "x1" * 20,
    "gitlab": "glpat-" + "x1Y2" * 6,
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "amazon": "AKIAIOSFODNN7EXAMPLE",
    "huggingface": "hf_" + "aB1" * 12,
    "npm": "npm_" + "aB1" * 12,
    "pypi": "pypi-AgEIcHlwaS5vcmc" + "x" * 20,
    "sendgrid": "SG." + "a1" * 11 + "." + "b2" * 20,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl",
    "replicate": "r8_" + "aB1" * 12,
    "perplexity": "pplx-" + "aB1" * 14,
    "nvidia": "nvapi-" + "a1" * 20,
    "databricks": "dapi" + "a1" * 16,
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEabcd\n-----END RSA PRIVATE KEY-----",
}
SECRET = 'a"b\\c/d e&ü€\U0001f511<x>-y'
FORMS = {
    "plain": SECRET,
    "json": json.dumps(SECRET)[1:-1],
    "json-unicode": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "json-twice": json.dumps(json.dumps(SECRET))[3:-3],
    "json-safe": json.dumps(SECRET)[1:-1].replace("<", r"\u003C").replace("&", r"\u0026").replace("/", r"\/"),
    "json-dash": json.dumps(SECRET)[1:-1].replace("-", r"\u002d"),
    "url": quote(SECRET, safe=""),
    "url-path": quote(SECRET),
    "url-form": quote_plus(SECRET),
    "url-small": re.sub("%..", lambda found: found[0].lower(), quote(SECRET, safe="")),
    "url-twice": quote(quote(SECRET, safe=""), safe=""),
    "html": html.escape(SECRET),
    "html-numbers": "".join(each if each.isalnum() else f"&#{ord(each)};" for each in SECRET),
    "xml": html.escape(SECRET, quote=False).replace('"', "&quot;"),
    "python": repr(SECRET)[1:-1],
    "bytes": repr(SECRET.encode())[2:-1],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_is_hidden_in_every_form_it_may_come_back_in(form: str) -> None:
    hidden = find_request_secrets({}, SECRET).hide(f"it was {form}!")
    assert hidden == "it was [redacted]!"


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_a_secret_is_hidden_inside_of_base64(before: str) -> None:
    key = "k3y-with/odd?bytes"
    coded = b64encode(f"{before}{key}{before}".encode())
    for form in (coded.decode(), coded.decode().replace("/", "_").replace("+", "-")):
        hidden = find_request_secrets({}, key).hide(f"got {form}")
        assert "[redacted]" in hidden
        assert key[4:10] not in b64decode(hidden.partition("]")[2] + "===").decode("latin-1")
        assert len(hidden) < len("got [redacted]") + 2 * len(before) + 8


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_of_other_services_are_known_by_their_form(key: str) -> None:
    hidden = find_request_secrets({}).hide(f"the server got '{key}' from us")
    assert key[-6:] not in hidden
    assert "[redacted]" in hidden
    assert is_secret_variable("FLAVOUR", key)
    assert find_secret(f"See: {key}")


@pytest.mark.parametrize(
    "text",
    [
        "sk-SK.UTF-8", "/usr/key-management/bin", "task-oriented", "http://host:80/a@b", "npm_config_cache",
        "disk-1234567890123456789", "https://a.example/b:c@d", "a hf_ b", "Basic English", "x_pypi-mirror",
    ],
)  # fmt: skip
def test_plain_words_are_no_keys(text: str) -> None:
    assert find_request_secrets({}).hide(text) == text.replace("key-management", "[redacted]")
    assert not is_secret_variable("FLAVOUR", text)


def test_of_secrets_that_begin_alike_nothing_is_left() -> None:
    secrets = find_request_secrets({}, "longsecret", "longsecret-and-more", "longsecret-and")
    assert secrets.hide("x longsecret-and-more y") == "x [redacted] y"
