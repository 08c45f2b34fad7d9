"""The circuit breaker: a server that keeps failing is not asked, until a probe succeeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from antiphon import Conversation, Fallback, Model, Session, connect
from antiphon.errors import CircuitOpen, ConnectionFailed, OptionError, RateLimited, RequestRejected, ServerFailed
from antiphon.fakes import Answer, Fail, Fake
from antiphon.providers import NO_RETRY, CircuitBreaker, Retry

CLAUDE, GPT = "anthropic/claude-sonnet-5", "openai/gpt-6"
LONG = 3600.0


@pytest.fixture
def fake() -> Generator[Fake]:
    with Fake() as served:
        yield served


def ask(model: Model) -> str:
    conversation = Conversation()
    conversation.add_user("Hello?")
    return model.chat(conversation).text


def fail(model: Model, error: type[Exception] = ServerFailed) -> None:
    with pytest.raises(error):
        ask(model)


def open_model(fake: Fake, failures: int = 2, **settings: Any) -> Model:
    """Return a model whose server has failed so often that it is not asked."""
    breaker = CircuitBreaker(failures, **{"within": LONG, "pause": LONG, **settings})
    model = fake.connect(CLAUDE, retry=NO_RETRY, breaker=breaker)
    fake.play(*[Fail(529)] * failures)
    for _ in range(failures):
        fail(model)
    return model


def wait_for(probe: Callable[[], Any]) -> Any:
    """Repeat a request until the breaker lets it pass."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            return probe()
        except CircuitOpen:
            time.sleep(0.005)
    raise AssertionError("no probe passed")


def test_after_so_many_failures_nothing_is_sent(fake: Fake):
    model = open_model(fake)
    began = time.time()
    with pytest.raises(
        CircuitOpen, match=r"anthropic is not asked until \d\d:\d\d:\d\d, .*: anthropic answered 529"
    ) as error:
        ask(model)
    assert began + LONG - 60 < error.value.until <= time.time() + LONG
    assert error.value.provider == "anthropic"
    assert len(fake.requests) == 2


@pytest.mark.parametrize(("status", "error"), [(429, RateLimited), (400, RequestRejected)])
def test_an_answer_of_a_working_server_is_no_failure(fake: Fake, status: int, error: type[Exception]):
    model = fake.connect(CLAUDE, retry=NO_RETRY, breaker=CircuitBreaker(2, within=LONG, pause=LONG))
    fake.play(Fail(529), Fail(status), Fail(529), "Hello.")
    fail(model)
    fail(model, error)
    fail(model)
    assert ask(model) == "Hello."


def test_failures_long_ago_do_not_count(fake: Fake):
    model = fake.connect(CLAUDE, retry=NO_RETRY, breaker=CircuitBreaker(2, within=0.01, pause=LONG))
    fake.play(Fail(529), Fail(529), "Hello.")
    fail(model)
    time.sleep(0.02)
    fail(model)
    assert ask(model) == "Hello."


def test_a_probe_that_succeeds_lets_all_pass(fake: Fake):
    model = open_model(fake, pause=0.05)
    fake.play("Back.", "Still.", Fail(529), "Here.")
    assert wait_for(lambda: ask(model)) == "Back."
    assert ask(model) == "Still."
    # One failure is not enough any more.
    fail(model)
    assert ask(model) == "Here."


def test_a_probe_that_fails_begins_the_pause_anew(fake: Fake):
    model = open_model(fake, pause=0.05)
    fake.play(Fail(500), "Back.")
    with pytest.raises(ServerFailed):
        wait_for(lambda: ask(model))
    assert wait_for(lambda: ask(model)) == "Back."
    assert len(fake.requests) == 4


def test_only_one_request_is_the_probe():
    breaker = CircuitBreaker(1, pause=0.5)
    circuit = breaker.get_circuit("anthropic", "http://server")
    circuit.record(ConnectionFailed("broke"))
    wait_for(circuit.check)
    since = time.monotonic()
    passed = 0
    for _ in range(3):
        try:
            circuit.check()
            passed += 1
        except CircuitOpen:
            pass
    # A machine that stood still for the pause may send the next probe.
    assert passed == 0 or time.monotonic() - since > 0.4


def test_attempts_end_when_it_opens(fake: Fake):
    breaker = CircuitBreaker(2, within=LONG, pause=LONG)
    model = fake.connect(CLAUDE, retry=Retry(attempts=5, first_wait=0.001), breaker=breaker)
    fake.play(*[Fail(529)] * 5)
    fail(model)
    assert len(fake.requests) == 2
    fail(model, CircuitOpen)
    fake.reset()


def test_models_with_the_same_breaker_and_server_share_it(fake: Fake):
    breaker = CircuitBreaker(1, within=LONG, pause=LONG)
    sonnet, opus, gpt = [
        fake.connect(name, retry=NO_RETRY, breaker=breaker) for name in (CLAUDE, "anthropic/claude-opus-4-5", GPT)
    ]
    fake.play(Fail(529), "Hello.")
    fail(sonnet)
    fail(opus, CircuitOpen)
    assert ask(gpt) == "Hello."
    fake.play("Hello.")
    assert ask(fake.connect(CLAUDE, breaker=CircuitBreaker(1))) == "Hello."


def test_no_connection_and_a_cut_stream_are_failures(fake: Fake):
    breaker = CircuitBreaker(1, within=LONG, pause=LONG)
    gone = connect(CLAUDE, url="http://127.0.0.1:9", key="x", retry=NO_RETRY, breaker=breaker)
    fail(gone, ConnectionFailed)
    fail(gone, CircuitOpen)
    model = fake.connect(CLAUDE, retry=NO_RETRY, breaker=breaker)
    fake.play(Answer("Once upon a time", cut_after=4))
    conversation = Conversation()
    conversation.add_user("A story?")
    with pytest.raises(ConnectionFailed), model.stream(conversation) as stream:
        list(stream)
    fail(model, CircuitOpen)


def test_embeddings_count_and_are_refused_too():
    breaker = CircuitBreaker(1, within=LONG, pause=LONG)
    model = connect("openai/text-embedding-3-small", url="http://127.0.0.1:9", key="x", breaker=breaker)
    with pytest.raises(ConnectionFailed):
        model.embed(["a"])
    with pytest.raises(CircuitOpen):
        model.embed(["a"])


def test_a_fallback_asks_the_next_model_at_once(fake: Fake):
    model = open_model(fake)
    fake.play("From another.")
    result = Session(Fallback(model, fake.connect(GPT))).vibe("Hello?")
    assert (result, result.run.model, len(fake.requests)) == ("From another.", GPT, 3)


def test_a_fallback_by_names_has_one(fake: Fake, monkeypatch: pytest.MonkeyPatch):
    for provider in ("anthropic", "openai"):
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "a")
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", fake.base_url(provider))
    with Session(Fallback(CLAUDE, GPT)) as session:
        for number in range(4):
            fake.play(*[Fail(529)] * (2 if number < 2 else 1 if number == 2 else 0), "Hello.")
            assert session.vibe(f"{number}?").run.model == GPT
    # The fifth failure opened it in the third ask, and the fourth did not ask the first model.
    assert [each.model for each in fake.requests].count("claude-sonnet-5") == 5


@pytest.mark.parametrize(
    "settings", [{"failures": 0}, {"failures": True}, {"failures": 1.5}, {"within": 0}, {"pause": -1}, {"pause": "1"}]
)
def test_wrong_settings_are_errors_at_once(settings: dict[str, Any]):
    with pytest.raises(OptionError, match="of a breaker"):
        CircuitBreaker(**settings)


def test_a_breaker_is_one(fake: Fake):
    with pytest.raises(OptionError, match="`breaker` is a CircuitBreaker"):
        fake.connect(CLAUDE, breaker=5)
