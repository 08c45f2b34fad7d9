"""Answers that have no end, are no answer, or say far too much."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import repeat
from typing import Any

import httpx2
import pytest

from antiphon import Conversation, ToolSpec, connect
from antiphon.errors import (
    AnswerTooLong,
    BadReply,
    ConnectionFailed,
    OptionError,
    ProviderError,
    ServerFailed,
    StatusError,
    StreamCut,
)
from antiphon.fakes import Answer, Fail, Fake, call
from antiphon.providers import Model, Retry
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta

MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "openai-chat": "openai-chat/gpt-4o",
    "openai-responses": "openai/gpt-5",
    "gemini": "google/gemini-3-pro",
}
every_api = pytest.mark.parametrize("api", MODELS)
every_way = pytest.mark.parametrize("way", ["chat", "stream", "achat", "astream"])
QUICK = Retry(attempts=3, first_wait=0.001, deadline=5.0)
SSE = {"content-type": "text/event-stream"}


class Stream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body in pieces, which counts those that were taken."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.taken += 1
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class Server:
    """Answers every request with a body that `pieces` makes, and counts the requests."""

    def __init__(self, pieces: Callable[[], Any], status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.pieces, self.status, self.headers = pieces, status, headers or {}
        self.streams: list[Stream] = []

    def __call__(self, _: httpx2.Request) -> httpx2.Response:
        self.streams.append(Stream(iter(self.pieces())))
        return httpx2.Response(self.status, headers=self.headers, stream=self.streams[-1])

    def model(self, api: str = "anthropic", **settings: Any) -> Model:
        transport = httpx2.MockTransport(self)
        return connect(
            MODELS[api], url="http://fake/v1", key="any", transport=transport, **{"retry": QUICK, **settings}
        )


def asking() -> Conversation:
    conversation = Conversation()
    conversation.add_user("Hello.")
    return conversation


def ask(model: Model, way: str, conversation: Conversation | None = None) -> tuple[Any, list[Any]]:
    """The reply and what streamed of it."""
    conversation = conversation or asking()

    async def stream() -> tuple[Any, list[Any]]:
        async with model.astream(conversation) as pieces:
            return [piece async for piece in pieces], pieces.reply

    match way:
        case "chat":
            return model.chat(conversation), []
        case "achat":
            return asyncio.run(model.achat(conversation)), []
        case "stream":
            with model.stream(conversation) as pieces:
                deltas = list(pieces)
            return pieces.reply, deltas
        case _:
            deltas, reply = asyncio.run(stream())
            return reply, deltas


class TestSize:
    @every_way
    @pytest.mark.parametrize("piece", [b" ", b": ping\n\n", b"data: x", b"{", b'{"a": 1}', b"\n"])
    def test_an_endless_body_is_given_up(self, way: str, piece: bytes) -> None:
        server = Server(lambda: repeat(piece * 100))
        conversation = asking()
        with pytest.raises(AnswerTooLong, match=r"larger than 10,000 bytes .*`max_bytes` of `connect` allows more"):
            ask(server.model(max_bytes=10_000), way, conversation)
        assert len(server.streams) == 1, "it was not asked for again"
        assert server.streams[0].taken * len(piece) * 100 <= 10_000 + 100 * len(piece)
        assert conversation.ready(), "nothing was added"

    @every_way
    @pytest.mark.parametrize("encoding", ["gzip", "deflate"])
    def test_what_counts_is_what_a_compressed_body_holds(self, way: str, encoding: str) -> None:
        bomb = (gzip.compress if encoding == "gzip" else zlib.compress)(b" " * 50_000_000)
        server = Server(lambda: iter([bomb]), headers={"content-encoding": encoding})
        tracemalloc.start()
        try:
            with pytest.raises(AnswerTooLong, match="max_bytes"):
                ask(server.model(max_bytes=1_000_000), way)
            assert tracemalloc.get_traced_memory()[1] < 20_000_000, "it was never unpacked as a whole"
        finally:
            tracemalloc.stop()

    @every_way
    def test_a_compressed_body_is_read_in_any_pieces(self, way: str) -> None:
        reply = json.dumps({"content": [{"type": "text", "text": "ä" * 99_999}], "stop_reason": "end_turn"})
        packed = gzip.compress(reply[:70_000].encode()) + gzip.compress(reply[70_000:].encode())
        for size in (1, 7, 100_000):
            pieces = [packed[n : n + size] for n in range(0, len(packed), size)]
            server = Server(lambda pieces=pieces: iter(pieces), headers={"content-encoding": "gzip"})
            assert ask(server.model(), way)[0].text == "ä" * 99_999

    def test_a_compressed_body_that_is_broken_or_of_another_kind_is_an_error(self) -> None:
        server = Server(lambda: iter([b"no gzip"]), headers={"content-encoding": "gzip"})
        with pytest.raises(ConnectionFailed, match="cannot be unpacked"):
            server.model().chat(asking())
        server = Server(lambda: iter([b"?"]), headers={"content-encoding": "zstd"})
        with pytest.raises(BadReply, match="in the encoding 'zstd', which it was not asked for"):
            server.model().chat(asking())

    def test_as_much_as_the_bound_is_not_too_much(self, fake: Fake) -> None:
        sizes: list[int] = []
        transport = httpx2.HTTPTransport()

        def count(request: httpx2.Request) -> httpx2.Response:
            response = transport.handle_request(request)
            sizes.append(len(response.read()))
            return httpx2.Response(200, content=response.content)

        for most in (None, 0, -1):
            fake.play("Hello.")
            bound = None if most is None else sizes[0] + most
            model = fake.connect("openai/gpt-5", transport=httpx2.MockTransport(count), max_bytes=bound)
            if most == -1:
                with pytest.raises(AnswerTooLong):
                    model.chat(asking())
            else:
                assert model.chat(asking()).text == "Hello."

    def test_what_comes_after_the_end_of_a_reply_does_not_undo_it(self) -> None:
        said = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
        server = Server(lambda: (said if n == 0 else b": ping\n\n" for n in range(10**9)), headers=SSE)
        reply, deltas = ask(server.model("openai-chat", max_bytes=5_000), "stream")
        assert (reply.text, deltas) == ("Hi", [TextDelta("Hi")])


class TestTime:
    @every_way
    def test_a_body_that_drips_for_ever_is_given_up(self, way: str) -> None:
        server = Server(lambda: repeat(b": ping\n\n" if "stream" in way else b" "))
        with pytest.raises(AnswerTooLong, match=r"took longer than 0.05 s .*`max_seconds` of `connect` allows more"):
            ask(server.model(max_seconds=0.05, max_bytes=None), way)
        assert len(server.streams) == 1, "it was not asked for again"

    @pytest.mark.parametrize("way", ["chat", "achat"])
    def test_silence_counts_and_the_shorter_of_both_times_is_named(self, antiphon_fake: Fake, way: str) -> None:
        for settings, option in (({"max_seconds": 0.1}, "max_seconds"), ({"timeout": 0.1}, "timeout")):
            antiphon_fake.play(Answer("late", delay=2))
            with pytest.raises(ProviderError, match=f"`{option}`"):
                ask(antiphon_fake.connect("openai/gpt-5", **settings), way)

    def test_the_words_of_an_endless_error_are_those_that_came(self) -> None:
        server = Server(lambda: repeat(b"broken " * 10_000), status=400)
        with pytest.raises(StatusError, match="answered 400: broken broken") as caught:
            server.model().chat(asking())
        assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize("bound", [0, -1, "1", True, float("nan")])
@pytest.mark.parametrize("name", ["max_bytes", "max_seconds", "timeout"])
def test_a_bound_is_a_number_above_nothing(name: str, bound: Any) -> None:
    with pytest.raises(OptionError, match=f"`{name}` is a number of"):
        connect("openai/gpt-5", key="any", **{name: bound})


class TestOtherThanAStream:
    @every_api
    @pytest.mark.parametrize("way", ["stream", "astream"])
    @pytest.mark.parametrize("kind", ["application/json", "text/event-stream", ""])
    def test_a_whole_reply_is_taken_as_it_is(self, antiphon_fake: Fake, api: str, way: str, kind: str) -> None:
        antiphon_fake.play(Answer("Look.", reasoning="Hm.", calls=[call("weather", city="Oslo")]))
        plain = httpx2.HTTPTransport()
        bodies: list[bytes] = []

        def note(request: httpx2.Request) -> httpx2.Response:
            bodies.append(plain.handle_request(request).read())
            return httpx2.Response(200, content=bodies[-1])

        def told() -> Conversation:
            conversation = Conversation(tools=[ToolSpec("weather")])
            conversation.add_user("Hello.")
            return conversation

        wanted = antiphon_fake.connect(MODELS[api], transport=httpx2.MockTransport(note)).chat(told())
        pieces = [b" \n", *(bodies[0][n : n + 3] for n in range(0, len(bodies[0]), 3))]
        server = Server(lambda: iter(pieces), headers={"content-type": kind} if kind else {})
        conversation = told()
        reply, deltas = ask(server.model(api), way, conversation)
        assert len(server.streams) == 1
        assert (reply.parts, reply.stop, reply.usage) == (wanted.parts, wanted.stop, wanted.usage)
        assert conversation.turns[-1].parts == reply.parts
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == wanted.text
        assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == wanted.reasoning
        assert [delta for delta in deltas if isinstance(delta, CallDelta)] == [
            CallDelta(0, "weather", wanted.tool_calls[0].arguments_json)
        ]

    @every_api
    @every_way
    def test_an_error_is_the_providers(self, api: str, way: str) -> None:
        said = b'{"error": {"message": "no more credit", "type": "invalid_request_error", "code": 400}}'
        server = Server(lambda: iter([said]), headers={"content-type": "application/json"})
        with pytest.raises(ProviderError, match="no more credit") as caught:
            ask(server.model(api), way)
        assert not isinstance(caught.value, StreamCut)

    @every_api
    @every_way
    @pytest.mark.parametrize("kind", ["text/html", "text/event-stream", ""])
    def test_a_web_page_is_said_to_be_one(self, api: str, way: str, kind: str) -> None:
        page = b"\n<!DOCTYPE html><html><head><title>Sign in</title><style>p {}</style></head><p>to &lt;Acme&gt;</p>"
        server = Server(lambda: iter([page[:1], page[1:9], page[9:]]), headers={"content-type": kind} if kind else {})
        with pytest.raises(BadReply, match=r"answered a web page.*check the base URL \(it says: Sign in to <Acme>\)"):
            ask(server.model(api), way)
        assert len(server.streams) == 1, "it was not asked for again"

    @every_api
    def test_other_words_are_quoted(self, api: str) -> None:
        server = Server(lambda: iter([b"up", b"stream request timeout"]), headers={"content-type": "text/plain"})
        with pytest.raises(BadReply, match=r"is not JSON: .*\(it says: upstream request timeout\)"):
            ask(server.model(api), "stream")
        assert len(server.streams) == 1

    @pytest.mark.parametrize("first", [b": ping\n\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"id: 1\n", b"retry: 9\n", b"da"])
    def test_a_stream_without_its_name_is_one(self, first: bytes) -> None:
        said = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
        said = said.removeprefix(first)
        server = Server(lambda: iter([first, said]), headers={"content-type": "text/plain"})
        assert ask(server.model("openai-chat"), "stream")[0].text == "Hi"

    def test_nothing_at_all_is_a_stream_that_was_cut(self) -> None:
        server = Server(lambda: iter([]))
        with pytest.raises(StreamCut):
            ask(server.model(), "stream")
        assert len(server.streams) == 3


class TestShortWords:
    @every_api
    @pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
    @pytest.mark.parametrize("way", ["chat", "astream"])
    def test_a_long_error_is_told_in_short(self, api: str, status: int, way: str) -> None:
        long = "It begins. " + "x y " * 20_000 + " It ends."
        error = {"message": long, "type": long, "code": long, "status": long}
        body = json.dumps({"error": error, "message": long, "type": "error", "request_id": long}).encode()
        server = Server(lambda: iter([body]), status=status)
        with pytest.raises(ProviderError) as caught:
            ask(server.model(api, retry=Retry(attempts=1)), way)
        assert "It begins." in str(caught.value)
        assert "It ends." in str(caught.value)
        assert all(
            len(str(value)) < 3_000 for value in [caught.value, repr(caught.value), *vars(caught.value).values()]
        )

    @every_api
    def test_so_is_one_in_a_stream(self, api: str) -> None:
        long = json.dumps({"type": "error", "error": {"message": "It begins. " + "z" * 100_000, "code": 500}})
        server = Server(lambda: iter([f"event: error\ndata: {long}\n\n".encode()]), headers=SSE)
        with pytest.raises(ProviderError, match=r"It begins\.") as caught:
            ask(server.model(api, retry=Retry(attempts=1)), "stream")
        assert len(str(caught.value)) < 3_000

    def test_so_is_a_page_or_a_text(self) -> None:
        page = b"<html><script>" + b"var x = 1;" * 1000 + b"</script><h1>502 Bad&nbsp;Gateway</h1><p>" + b"no " * 10**5
        for body, words in ((page, "answered 502: 502 Bad Gateway no no"), (b"so " * 10**5, "answered 502: so so")):
            with pytest.raises(ServerFailed, match=words) as caught:
                Server(lambda body=body: iter([body]), status=502).model().chat(asking())
            assert len(str(caught.value)) < 2_000


@pytest.fixture
def fake(antiphon_fake: Fake) -> Fake:
    return antiphon_fake


@pytest.mark.parametrize(("status", "tries"), [(408, 3), (409, 3), (429, 3), (500, 3), (400, 1), (410, 1), (422, 1)])
def test_what_a_server_says_for_now_is_asked_again(fake: Fake, status: int, tries: int) -> None:
    fake.play(*[Fail(status), Fail(status), "At last."][:tries])
    model = fake.connect("openai/gpt-5", retry=QUICK)
    if tries == 1:
        with pytest.raises(StatusError):
            model.chat(asking())
    else:
        assert model.chat(asking()).text == "At last."
    assert len(fake.requests) == tries
