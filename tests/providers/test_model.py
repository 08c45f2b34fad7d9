"""Asking models over real HTTP: replies, streams, retries, cancellation, errors."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Iterator

import httpx2
import pytest

from antiphon import Conversation, ToolResult, ToolSpec, connect
from antiphon.errors import (
    AntiphonError,
    AuthenticationFailed,
    BadReply,
    ConnectionFailed,
    ContentError,
    NotFound,
    NotReadyError,
    OptionError,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StreamCut,
    TimedOut,
)
from antiphon.fakes import Answer, Fail, Fake, call, echo
from antiphon.providers import NO_RETRY, Model, Retry
from antiphon.wire import CallDelta, ReasoningDelta, RetryDelta, TextDelta

MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "openai-chat": "openai-chat/gpt-4o",
    "openai-responses": "openai/gpt-5",
    "gemini": "google/gemini-3-pro",
}
every_api = pytest.mark.parametrize("api", MODELS)
KEY = "sk-ant-secret-0123456789"
QUICK = Retry(attempts=4, first_wait=0.01, deadline=5.0)
WEATHER = ToolSpec("weather", "The weather", {"type": "object", "properties": {"city": {"type": "string"}}})


@pytest.fixture(scope="module")
def shared() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def fake(shared: Fake) -> Fake:
    shared.reset()
    return shared


def model(fake: Fake, api: str = "anthropic", **settings) -> Model:
    return connect(MODELS[api], url=fake.base_url(api), key=KEY, **{"retry": QUICK, **settings})


def asking(text: str = "Weather in Oslo?") -> Conversation:
    conversation = Conversation("Be brief.", [WEATHER])
    conversation.add_user(text)
    return conversation


@every_api
def test_a_tool_conversation(fake: Fake, api: str):
    fake.play(Answer("Let me look.", [call("weather", city="Oslo"), call("weather", city="Bergen")]), "Rain in both.")
    conversation = asking()
    with model(fake, api) as there:
        reply = there.chat(conversation)
        assert reply.stop == "tool_calls"
        assert [c.arguments for c in reply.tool_calls] == [{"city": "Oslo"}, {"city": "Bergen"}]
        reply.add_tool_results([ToolResult(c.id, "Rain") for c in reply.tool_calls])
        last = there.chat(conversation)
    assert (last.text, last.stop) == ("Rain in both.", "end")
    assert conversation.turns[-1].text == "Rain in both."
    assert last.conversation is conversation
    assert last.usage.input_tokens
    assert last.usage.output_tokens
    assert [received.rejected for received in fake.requests] == ["", ""]


@every_api
def test_the_seeds_helpers_work_on_the_result_of_a_chat(fake: Fake, api: str):
    fake.play(call("weather", city="Oslo"), "Rain.")
    there = model(fake, api)
    result = there.chat(asking())
    result.add_tool_calls_and_results(result.tool_calls, [ToolResult(c.id, "Rain") for c in result.tool_calls])
    assert there.chat(result.conversation).text == "Rain."


@every_api
def test_a_stream_gives_the_same_reply_in_pieces(fake: Fake, api: str):
    answer = Answer("It will rain — ✓ soon.", [call("weather", city="Oslo")], reasoning="Let me think.")
    fake.play(answer, answer, "Rain.")
    there = model(fake, api)
    whole, conversation = there.chat(asking()), asking()
    with there.stream(conversation) as stream:
        with pytest.raises(NotReadyError, match="the reply is not complete"):
            _ = stream.reply
        deltas = list(stream)
    reply = stream.reply
    assert (reply.text, reply.reasoning, reply.stop) == (whole.text, whole.reasoning, whole.stop)
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("weather", {"city": "Oslo"})]
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == reply.text
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == reply.reasoning
    arguments = "".join(d.arguments for d in deltas if isinstance(d, CallDelta))
    assert json.loads(arguments) == {"city": "Oslo"}
    reply.add_assistant_tool_calls(reply.tool_calls)
    reply.add_tool_results([ToolResult(c.id, "Rain") for c in reply.tool_calls])
    assert there.chat(conversation).text == "Rain.", "reasoning and its signature went back unchanged"


@every_api
def test_the_asynchronous_face_does_the_same(fake: Fake, api: str):
    fake.play(call("weather", city="Oslo"), Answer("Rain.", reasoning="Hm."))

    async def talk() -> tuple[str, str]:
        conversation = asking()
        async with model(fake, api) as there:
            reply = await there.achat(conversation)
            reply.add_tool_result(reply.tool_calls[0].id, "Rain")
            async with there.astream(conversation) as stream:
                text = "".join([d.text async for d in stream if isinstance(d, TextDelta)])
            return text, stream.reply.text

    assert asyncio.run(talk()) == ("Rain.", "Rain.")


def test_one_model_serves_several_event_loops(fake: Fake):
    fake.play(echo, echo)
    there = model(fake)
    for _ in range(2):
        assert asyncio.run(there.achat(asking("hi"))).text == "You said: hi"


def test_many_conversations_at_once(fake: Fake):
    fake.play(*[echo] * 50)

    async def talk() -> list[str]:
        async with model(fake) as there:
            replies = await asyncio.gather(*(there.achat(asking(f"n{n}")) for n in range(50)))
            return [reply.text for reply in replies]

    assert asyncio.run(talk()) == [f"You said: n{n}" for n in range(50)]


class TestRetries:
    @every_api
    @pytest.mark.parametrize("status", [429, 500, 503, 529])
    def test_what_passes_is_tried_again(self, fake: Fake, api: str, status: int):
        fake.play(Fail(status), Fail(status), "At last.")
        assert model(fake, api).chat(asking()).text == "At last."
        assert len(fake.requests) == 3

    @pytest.mark.parametrize(("status", "error"), [(429, RateLimited), (500, ServerFailed), (529, ServerFailed)])
    def test_until_the_tries_are_used_up(self, fake: Fake, status: int, error: type[ProviderError]):
        fake.play(*[Fail(status)] * 4)
        conversation = asking()
        with pytest.raises(error) as caught:
            model(fake).chat(conversation)
        assert caught.value.status == status  # type: ignore[attr-defined]
        assert len(conversation.turns) == 1
        assert conversation.ready()

    @pytest.mark.parametrize(
        ("status", "error"),
        [(400, RequestRejected), (401, AuthenticationFailed), (404, NotFound), (413, RequestRejected)],
    )
    def test_what_does_not_pass_is_not(self, fake: Fake, status: int, error: type[ProviderError]):
        fake.play(Fail(status, "no"))
        with pytest.raises(error, match=f"anthropic answered {status}: no"):
            model(fake).chat(asking())
        assert len(fake.requests) == 1

    @every_api
    def test_retry_after_is_honoured(self, fake: Fake, api: str):
        fake.play(Fail(429, retry_after=0.4), "Now.")
        began = time.monotonic()
        assert model(fake, api).chat(asking()).text == "Now."
        assert time.monotonic() - began >= 0.4

    def test_a_retry_after_past_the_deadline_ends_the_tries_at_once(self, fake: Fake):
        fake.play(Fail(429, retry_after=3600))
        with pytest.raises(RateLimited) as caught:
            model(fake).chat(asking())
        assert caught.value.retry_after == 3600
        assert len(fake.requests) == 1

    def test_a_stream_is_tried_again_only_before_anything_came(self, fake: Fake):
        fake.play(Fail(529), Answer("one two three four five six", cut_after=0), "Whole.")
        with model(fake).stream(asking()) as stream:
            assert "".join(d.text for d in stream if isinstance(d, TextDelta)) == "Whole."
        assert len(fake.requests) == 3

    @every_api
    def test_a_stream_cut_in_the_middle_says_what_had_come(self, fake: Fake, api: str):
        cut = {"openai-chat": 4, "gemini": 1}.get(api, 8)
        fake.play(Answer("one two three four five six seven eight", cut_after=cut))
        conversation = asking()
        seen: list[str] = []
        with model(fake, api).stream(conversation) as stream, pytest.raises(StreamCut) as caught:
            seen.extend(delta.text for delta in stream if isinstance(delta, TextDelta))
        assert caught.value.partial == "".join(seen) != ""
        assert len(fake.requests) == 1
        assert conversation.ready()

    def test_no_connection(self):
        conversation = asking()
        there = connect(
            "anthropic/claude-x", url="http://127.0.0.1:9", key=KEY, retry=Retry(attempts=2, first_wait=0.01)
        )
        with pytest.raises(ConnectionFailed, match=r"the connection to anthropic at http://127\.0\.0\.1:9 failed"):
            there.chat(conversation)

    def test_a_silent_server(self, fake: Fake):
        fake.play(Answer("late", delay=60))
        with pytest.raises(TimedOut, match="did not answer in time; raise `timeout`"):
            model(fake, timeout=0.2).chat(asking())


class TestCancellation:
    @every_api
    @pytest.mark.parametrize("after", range(6))
    def test_a_stream_left_early_changes_nothing(self, fake: Fake, api: str, after: int):
        fake.play(Answer("one two three", [call("weather", city="Oslo")]), "Again.")
        conversation = asking()
        there = model(fake, api)
        with there.stream(conversation) as stream:
            for n, _ in enumerate(stream):
                if n >= after:
                    break
        if len(conversation.turns) == 1:
            assert conversation.ready()
            assert there.chat(conversation).text == "Again."
        else:
            assert conversation.open_calls, "the stream was over by then"
            fake.play()
            conversation.repair()[0].ready()
            there.chat(asking())

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("moment", [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3])
    def test_a_task_cancelled_at_any_moment_leaves_a_sendable_conversation(
        self, fake: Fake, moment: float, stream: bool
    ):
        fake.play(Answer("one two three four", delay=0.1), "Now.")

        async def talk() -> None:
            conversation = asking()
            async with model(fake) as there:
                task = asyncio.create_task(self.ask(there, conversation, stream))
                await asyncio.sleep(moment)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                ready = conversation.ready()
                assert ready or ready.reason == "the model has answered; add a user turn"
                conversation.add_user("and now?")
                assert (await there.achat(conversation)).parts

        asyncio.run(talk())
        fake.play()

    async def ask(self, there: Model, conversation: Conversation, stream: bool) -> None:
        if not stream:
            await there.achat(conversation)
            return
        async with there.astream(conversation) as deltas:
            async for _ in deltas:
                pass

    @every_api
    @pytest.mark.parametrize("stream", [False, True])
    def test_cancelled_at_every_await_point_it_is_as_it_was_or_complete(self, api: str, stream: bool):
        steps = 0
        while asyncio.run(self.cancelled_after(steps, api, stream)):
            steps += 1
        assert steps > 5

    async def cancelled_after(self, steps: int, api: str, stream: bool) -> bool:
        """Cancel after so many turns of the event loop, all in this thread; tells whether the answer was still out."""
        fake = Fake([Answer("Hm.", [call("weather", city="Oslo")], reasoning="Well."), "Now."])
        transport = _Hesitant(fake)
        there = connect(
            MODELS[api], url="http://fake" + ("/v1" if "openai" in api else ""), key=KEY, transport=transport
        )
        conversation = asking("hello")
        before = conversation.turns
        async with there:
            task = asyncio.create_task(self.ask(there, conversation, stream))
            for _ in range(steps):
                await asyncio.sleep(0)
            under_way = task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if conversation.turns == before:
                assert conversation.ready()
            else:
                assert [c.name for c in conversation.ready().open_calls] == ["weather"]
            repaired, _ = conversation.repair()
            repaired.add_user("and now?")
            assert (await there.achat(repaired)).parts
        return under_way


class _Hesitant(httpx2.AsyncBaseTransport):
    """Gives the fake's answers in small pieces, and lets others run before each."""

    def __init__(self, fake: Fake) -> None:
        self.inner = httpx2.ASGITransport(app=fake.app)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await asyncio.sleep(0)
        response = await self.inner.handle_async_request(request)
        content = await response.aread()

        async def pieces():
            for start in range(0, len(content), 100):
                await asyncio.sleep(0)
                yield content[start : start + 100]

        return httpx2.Response(response.status_code, headers=response.headers, content=pieces())


class TestErrors:
    @every_api
    def test_they_carry_status_request_id_and_the_providers_text(self, fake: Fake, api: str):
        fake.play(Fail(400, "max_tokens is too large"))
        with pytest.raises(RequestRejected, match="max_tokens is too large") as caught:
            model(fake, api).chat(asking())
        assert caught.value.status == 400
        assert caught.value.text == "max_tokens is too large"
        if api != "gemini":
            assert caught.value.request_id
            assert caught.value.request_id in str(caught.value)

    def test_a_key_never_shows(self, fake: Fake, caplog: pytest.LogCaptureFixture):
        fake.play(Fail(401, f"invalid x-api-key {KEY} or sk-proj-abcdefghijklmnop"))
        caplog.set_level(logging.DEBUG)
        there = model(fake)
        with pytest.raises(AuthenticationFailed) as caught:
            there.chat(asking(f"my key is {KEY}"))
        for text in (str(caught.value), repr(caught.value), caught.value.text, repr(there), caplog.text):
            assert KEY not in text
            assert "sk-proj" not in text
        assert "[redacted]" in str(caught.value)
        assert "Weather" in caplog.text or "my key is [redacted]" in caplog.text

    @pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"\xff", b'{"a": NaN}'])
    def test_a_200_that_is_no_reply(self, content: bytes):
        def answer(_: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, content=content)

        there = connect(
            "anthropic/claude-x", url="http://fake", key=KEY, transport=httpx2.MockTransport(answer), retry=NO_RETRY
        )
        conversation = asking()
        with pytest.raises(BadReply):
            there.chat(conversation)
        assert conversation.ready()

    def test_an_error_page_that_is_no_json(self):
        def answer(_: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(502, content=b"<html>Bad gateway \xff</html>")

        there = connect(
            "openai/gpt-5", url="http://fake/v1", key=KEY, transport=httpx2.MockTransport(answer), retry=NO_RETRY
        )
        with pytest.raises(ServerFailed, match="openai answered 502: Bad gateway"):
            there.chat(asking())

    def test_not_ready(self, fake: Fake):
        with pytest.raises(NotReadyError, match="the conversation is empty"):
            model(fake).chat(Conversation())

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"max_tokens": "x"}, "`max_tokens` is a number of tokens, not 'x'"),
            ({"max_tokens": -3}, "`max_tokens` is at least 1, not -3"),
            ({"max_tokens": True}, "`max_tokens` is a number of tokens, not True"),
            ({"temperature": "hot"}, "`temperature` is a number, not 'hot'"),
            ({"reasoning": "lots"}, "`reasoning` is one of none, minimal, low"),
            ({"tool_choice": "any"}, "`tool_choice` is .* or a tool in force, not 'any'; tools: weather"),
            ({"extra": [1]}, "`extra` is an object"),
            ({"stop": 3}, "`stop` is a text or a list of texts"),
        ],
    )
    @every_api
    def test_options_of_the_wrong_kind(self, fake: Fake, api: str, options: dict, message: str):
        with pytest.raises(OptionError, match=message):
            model(fake, api).chat(asking(), **options)
        assert fake.requests == []

    @pytest.mark.parametrize(
        "settings",
        [
            {"key": "ключ"},
            {"key": "a\nb"},
            {"retry": 3},
            {"headers": ["x"]},
            {"timeout": "soon"},
            {"proxy": "localhost"},
            {"model": None},
            {"model": 3},
        ],
    )
    def test_settings_of_the_wrong_kind(self, settings: dict):
        with pytest.raises(AntiphonError):
            connect(**{"model": "anthropic/claude-x", "key": KEY, **settings})

    def test_something_else_than_a_conversation(self, fake: Fake):
        with pytest.raises(ContentError, match="a model is asked with a Conversation, not str"):
            model(fake).chat("hello")  # type: ignore[arg-type]

    def test_an_option_that_does_not_exist(self, fake: Fake):
        with pytest.raises(OptionError, match=r"there is no option `max_token`; did you mean `max_tokens`\?"):
            model(fake).chat(asking(), max_token=3)


def test_headers_and_options_reach_the_server(fake: Fake):
    fake.play("Rain.")
    there = model(fake, headers={"x-team": "blue"}, max_tokens=77)
    there.chat(asking(), stop="END")
    (received,) = fake.requests
    assert received.headers["x-team"] == "blue"
    assert received.headers["anthropic-version"]
    assert received.body["max_tokens"] == 77
    assert received.body["stop_sequences"] == ["END"]
    assert there.request(asking())


def test_a_reply_that_no_longer_fits_is_not_lost(fake: Fake):
    async def talk() -> NotReadyError:
        done = threading.Event()
        fake.play(lambda _: "One." if done.wait(60) else "Too late.")
        conversation = asking("first")
        async with model(fake) as there:
            task = asyncio.create_task(there.achat(conversation))
            while not fake.requests:
                await asyncio.sleep(0.01)
            conversation.undo()
            done.set()
            with pytest.raises(NotReadyError) as caught:
                await task
        assert conversation.turns == ()
        return caught.value

    assert asyncio.run(talk()).reply.text == "One."  # type: ignore[attr-defined]


def test_what_users_say_meanwhile_comes_after_the_reply(fake: Fake):
    async def talk() -> list[str]:
        done = threading.Event()
        fake.play(lambda _: "One." if done.wait(60) else "Too late.")
        conversation = asking("first")
        async with model(fake) as there:
            task = asyncio.create_task(there.achat(conversation))
            while not fake.requests:
                await asyncio.sleep(0.01)
            conversation.add_user("second", author="@coder-2")
            done.set()
            await task
        return [turn.text for turn in conversation.turns]

    assert asyncio.run(talk()) == ["first", "One.", "[Chat from @coder-2]: second"]


@every_api
def test_a_200_that_is_an_error_or_nothing_is_a_bad_reply(api: str):
    for content in (b'{"error": {"message": "it burns"}}', b'{"x": 1}', b"{}"):

        def answer(_: httpx2.Request, content: bytes = content) -> httpx2.Response:
            return httpx2.Response(200, content=content)

        transport = httpx2.MockTransport(answer)
        there = connect(MODELS[api], url="http://fake/v1", key=KEY, transport=transport, retry=NO_RETRY)
        conversation = asking()
        with pytest.raises(ProviderError) as caught:
            there.chat(conversation)
        if b"burns" in content:
            assert "it burns" in str(caught.value)
        assert conversation.ready(), "nothing was added"


@every_api
def test_structured_output_is_asked_for_in_each_apis_words(fake: Fake, api: str):
    fake.play('{"city": "Oslo"}')
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    conversation = Conversation()
    conversation.add_user("Where?")
    assert model(fake, api).chat(conversation, output_schema=schema).text == '{"city": "Oslo"}'
    body = fake.requests[0].body
    wanted = schema | {"additionalProperties": False}
    assert {
        "anthropic": lambda: body["output_config"]["format"]["schema"] == wanted,
        "openai-chat": lambda: (
            body["response_format"]["json_schema"] == {"name": "answer", "schema": wanted, "strict": True}
        ),
        "openai-responses": lambda: body["text"]["format"]["schema"] == wanted,
        "gemini": lambda: body["generationConfig"]["responseJsonSchema"] == schema,
    }[api]()
    assert fake.requests[0].rejected == ""


def test_a_stream_says_why_and_when_a_request_is_sent_again(fake: Fake):
    fake.play(Fail(429, "slow down", retry_after=0.01), "Whole.")
    with model(fake).stream(asking()) as stream:
        first, *others = list(stream)
    assert isinstance(first, RetryDelta)
    assert (first.attempt, first.attempts, "slow down" in first.reason) == (2, 4, True)
    assert 0 < first.seconds < 1
    assert not any(isinstance(each, RetryDelta) for each in others)


def test_a_copy_for_one_request_is_not_given_the_reply():
    with Fake(["Hello."]) as fake:
        asked = Conversation().add_user("Hi").fork_for_request()
        reply = fake.connect("openai/gpt-5").chat(asked)
    assert reply.text == "Hello."
    assert len(asked.turns) == 1
