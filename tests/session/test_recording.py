"""Recordings at their edges: bad files, odd characters, failures on the way, several event loops, keys."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon.conversation import Text
from antiphon.effects import EffectCall, EffectContext, Middleware, ModelReplied, Outcome, use_context
from antiphon.errors import FormatError
from antiphon.fakes import Fail, Fake, call, echo
from antiphon.providers import Model, Retry, connect
from antiphon.providers.recording import RecordingTransport, ReplayMismatch
from antiphon.session import Session
from antiphon.wire import Reply, ReplyState
from tests.session.scripted import within

MODEL = "anthropic/claude-sonnet-5"


@pytest.fixture(scope="module")
def served() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def fake(served: Fake) -> Fake:
    served.reset()
    return served


def recording(fake: Fake, path: Path) -> Model:
    return connect(MODEL, url=fake.url, key="sk-very-secret", record=path, retry=Retry(attempts=3, first_wait=0.01))


def replaying(path: Path) -> Model:
    return connect(MODEL, replay=path, retry=Retry(attempts=3, first_wait=600))


def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path):
    with pytest.raises(FormatError, match=r"cannot write .*nowhere"):
        Session(MODEL, record=tmp_path / "nowhere" / "run.jsonl")


@pytest.mark.parametrize(
    "line", ["[]", "{}", '{"path": "/", "request": {}, "status": "200", "response": ""}', "", "no"]
)
def test_a_file_that_is_no_recording(tmp_path: Path, line: str):
    path = tmp_path / "run.jsonl"
    path.write_text(line + "\n{}\n")
    with pytest.raises(FormatError, match=r"run\.jsonl: line 1"):
        Session(MODEL, replay=path)


def test_characters_that_look_like_line_ends(fake: Fake, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    text = "one\u2028two\u0085three\x0bfour"
    fake.play(text)
    Session(recording(fake, path)).chat(text)
    assert Session(replaying(path)).chat(text) == text


def test_failures_are_replayed_and_nobody_waits_for_them(fake: Fake, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    fake.play(Fail(529), Fail(429, retry_after=0.01), "At last.")
    assert Session(recording(fake, path)).chat("Hello") == "At last."
    assert within(60, lambda: Session(replaying(path)).chat("Hello")) == "At last."
    assert len(path.read_text().splitlines()) == 3


def test_a_recording_may_go_on_in_another_event_loop(fake: Fake, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    fake.play(*[echo] * 4)
    here = Session(recording(fake, path))
    for _ in range(3):
        asyncio.run(here.achat("Hello"))
    here.chat("Hello")
    assert len(path.read_text().splitlines()) == 4


def test_requests_side_by_side(fake: Fake, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    fake.play(*[echo] * 20)

    async def all_of(model: Model, order: range) -> list[str]:
        said = await asyncio.gather(*(Session(model).achat(f"n{n}") for n in order))
        return sorted(str(result) for result in said)

    first = asyncio.run(all_of(recording(fake, path), range(20)))
    assert asyncio.run(all_of(replaying(path), range(19, -1, -1))) == first


def test_keys_that_come_back_are_not_written(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    recorder = RecordingTransport(path)

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(401, json={"error": f"wrong key {request.headers['x-api-key']}"})

    recorder._sync = httpx2.MockTransport(answer)  # type: ignore[assignment]
    with httpx2.Client(transport=recorder) as client:
        response = client.post("http://x/v1", json={"a": 1}, headers={"x-api-key": "sk-very-secret"})
    assert "sk-very-secret" in response.text
    assert "sk-very-secret" not in path.read_text()


def test_a_secret_that_a_tool_returned_is_not_written(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, secret = tmp_path / "run.jsonl", "hunter2-supersecret-99"
    monkeypatch.setenv("SHOP_API_KEY", secret)

    def look(word: str) -> str:
        if word == "fail":
            raise RuntimeError(f"wrong key {secret}")
        return f"the key is {secret}"

    fake.play(call("look", word=secret), call("look", word="fail"), f"It is {secret}.")
    Session(recording(fake, path), [look]).vibe(f"Is it {secret}?")
    assert secret not in path.read_text()
    Session(replaying(path), [look]).vibe(f"Is it {secret}?")


def test_another_address_is_a_difference_too(fake: Fake, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    fake.play("Hi.")
    Session(recording(fake, path)).chat("Hello")
    entry: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps(entry | {"path": "/elsewhere"}) + "\n")
    with pytest.raises(ReplayMismatch, match=r"(?s)- .*/elsewhere.*\+ .*/v1/messages"):
        Session(replaying(path)).chat("Hello")


def test_a_replayed_reply_brings_the_state_of_the_provider_along():
    class Known(Middleware):
        def before(self, step: EffectCall) -> Outcome:
            del step
            state = ReplyState(container={"id": "box_1"})
            return Outcome(ModelReplied(Reply((Text("Done."),), "end", state=state), 0.0))

    model = connect("anthropic/claude-sonnet-5-5", key="k", url="http://localhost:9")
    session = Session(model)
    with use_context(EffectContext(performers=(Known(),))):
        assert asyncio.run(session.avibe("Go.")).value == "Done."
    assert session.conversation.state.get(model.target.origin) == {"container": {"id": "box_1"}}
