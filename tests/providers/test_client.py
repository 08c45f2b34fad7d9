"""The HTTP client: proxies, credentials in the URL, headers, and transports that are given."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from antiphon import Conversation, connect

ANSWER = (
    b'{"id": "r1", "model": "m", "choices": [{"index": 0, "finish_reason": "stop",'
    b' "message": {"role": "assistant", "content": "Hello."}}]}'
)


class Server(ThreadingHTTPServer):
    """Answers every request alike, and keeps the request lines and headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def ask(url: str, **settings: object) -> str:
    conversation = Conversation()
    conversation.add_user("Hi.")
    with connect("openai-chat/m", url=url, key="k", **settings) as model:
        return model.chat(conversation).text


async def aask(url: str, **settings: object) -> str:
    conversation = Conversation()
    conversation.add_user("Hi.")
    async with connect("openai-chat/m", url=url, key="k", **settings) as model:
        return (await model.achat(conversation)).text


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_the_environment_names_a_proxy(server: Server, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, server.url)
    assert ask("http://models.invalid/v1") == "Hello."
    path, headers = server.requests[0]
    assert path == "http://models.invalid/v1/chat/completions"
    assert headers["host"] == "models.invalid"


def test_a_proxy_without_a_scheme_is_an_http_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"127.0.0.1:{server.server_port}")
    assert ask("http://models.invalid/v1") == "Hello."


@pytest.mark.parametrize("hosts", ["127.0.0.1", "*", "other.example, 127.0.0.1"])
def test_no_proxy_names_hosts_that_are_reached_directly(
    server: Server, monkeypatch: pytest.MonkeyPatch, hosts: str
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", hosts)
    assert ask(f"{server.url}/v1") == "Hello."
    assert server.requests[0][0] == "/v1/chat/completions"


def test_a_proxy_that_is_given_comes_before_the_environments(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert ask("http://models.invalid/v1", proxy=server.url) == "Hello."


def test_credentials_in_the_url_are_sent_as_a_header(server: Server) -> None:
    address = server.url.replace("http://", "http://me:s%3Acret@")
    assert ask(f"{address}/v1", headers={"x-more": "1"}) == "Hello."
    headers = server.requests[0][1]
    assert headers["authorization"] == f"Basic {base64.b64encode(b'me:s:cret').decode()}"
    assert headers["x-more"] == "1"
    assert headers["host"] == f"127.0.0.1:{server.server_port}"


def test_each_request_says_what_it_is(server: Server) -> None:
    ask(f"{server.url}/v1")
    headers = server.requests[0][1]
    assert headers["content-type"] == "application/json"
    assert headers["accept-encoding"] == "gzip, deflate"
    assert "antiphon" in headers["user-agent"]


async def _answer(request: httpx2.Request) -> httpx2.Response:
    return _respond(request)


def _respond(request: httpx2.Request) -> httpx2.Response:
    assert b"Hi." in request.content
    assert request.headers["content-length"] == str(len(request.content))
    return httpx2.Response(200, content=ANSWER)


def test_a_transport_that_is_given_sees_the_whole_request() -> None:
    assert ask("http://models.invalid/v1", transport=httpx2.MockTransport(_respond)) == "Hello."


def test_an_asynchronous_transport_that_is_given_sees_it_too() -> None:
    import asyncio

    assert asyncio.run(aask("http://models.invalid/v1", transport=httpx2.MockTransport(_answer))) == "Hello."
