"""Fetching: only from hosts that were allowed, at addresses that were checked."""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from antiphon.conversation import Conversation, ToolCall
from antiphon.results import Result
from antiphon.tools import ToolFailure, execute
from antiphon.tools.builtin import fetch_tool
from antiphon.tools.builtin.html_to_text import html_to_text
from antiphon.tools.builtin.network_policy import check_url, is_public_address
from tests.tools.calls import Failed, call


class Site(BaseHTTPRequestHandler):
    """A page for each thing that a server may do."""

    asked: list[str]

    def do_GET(self) -> None:
        type(self).asked.append(f"{self.headers['host']}{self.path}")
        kind, body = "text/plain; charset=utf-8", b"plain"
        if self.path == "/page":
            kind, body = "text/html", b"<title>T</title><p>Hello <a href='/x?a=1&amp;b=2'>there</a><script>no</script>"
        elif self.path == "/json":
            kind, body = "application/json", b'{"a": 1}'
        elif self.path == "/image":
            kind, body = "image/png", b"\x89PNG"
        elif self.path == "/big":
            body = b"x" * 100_000
        elif self.path == "/latin":
            kind, body = "text/plain; charset=latin-1", "café".encode("latin-1")
        elif self.path == "/bomb":
            body = gzip.compress(b"x" * 50_000_000)
        elif self.path == "/slow":
            time.sleep(60)
        elif self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("location", self.path.removeprefix("/to/"))
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if self.path == "/bomb":
            self.send_header("content-encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[ThreadingHTTPServer]:
    Site.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(
    server: ThreadingHTTPServer, path: str, allow: tuple[str, ...] = ("127.0.0.1", "localhost"), **more: float
) -> str:
    tool = fetch_tool(allow, **more)  # type: ignore[arg-type]
    return call([tool], "fetch_url", url=f"http://127.0.0.1:{server.server_port}{path}")


class TestShowing:
    def test_text_comes_with_its_address_and_status(self, site: ThreadingHTTPServer) -> None:
        assert fetch(site, "/a") == f"[http://127.0.0.1:{site.server_port}/a, status 200, text/plain]\nplain"
        assert "status 404" in fetch(site, "/none")
        assert fetch(site, "/json").endswith('application/json]\n{"a": 1}')
        assert fetch(site, "/latin").endswith("café")
        assert Site.asked[0] == f"127.0.0.1:{site.server_port}/a"

    def test_html_is_made_readable(self, site: ThreadingHTTPServer) -> None:
        text = fetch(site, "/page")
        assert text.endswith(f"T\n\nHello [there](http://127.0.0.1:{site.server_port}/x?a=1&b=2)")

    def test_what_is_no_text_is_described(self, site: ThreadingHTTPServer) -> None:
        assert "image/png]\nThis is no text; it is not shown (4 bytes)." in fetch(site, "/image")

    @pytest.mark.parametrize("path", ["/big", "/bomb"])
    def test_only_so_much_is_read(self, site: ThreadingHTTPServer, path: str) -> None:
        text = fetch(site, path, size_limit=1_000)
        assert "only the first 1,000 bytes]" in text
        assert len(text) < 1_200

    def test_it_does_not_wait_for_ever(self, site: ThreadingHTTPServer) -> None:
        with pytest.raises(Failed, match=r"did not answer within 0.2 seconds"):
            fetch(site, "/slow", timeout=0.2)


class TestAllowing:
    def test_it_is_off_by_itself(self, site: ThreadingHTTPServer) -> None:
        with pytest.raises(Failed, match="no host was allowed"):
            fetch(site, "/a", allow=())
        assert Site.asked == []

    @pytest.mark.parametrize(
        ("url", "allow", "fine"),
        [
            ("https://docs.python.org/3/", "docs.python.org", True),
            ("https://DOCS.python.org:8443/3/", "docs.python.org", True),
            ("https://docs.python.org/3/", "*.python.org", True),
            ("https://python.org.evil.com/", "*.python.org", False),
            ("https://evil.com/docs.python.org", "docs.python.org", False),
            ("https://docs.python.org@evil.com/", "docs.python.org", False),
            ("https://evil.com#@docs.python.org/", "docs.python.org", False),
            ("https://user:pw@docs.python.org/", "docs.python.org", False),
            ("http://localhost:8000/", "localhost:8000", True),
            ("http://localhost:9000/", "localhost:8000", False),
            ("http://[::1]:8000/", "[::1]:8000", True),
            ("http://[::1]/", "::1", True),
            ("file:///etc/passwd", "*", False),
            ("ftp://docs.python.org/", "*", False),
            ("docs.python.org", "*", False),
            ("http://", "*", False),
            ("http://a:x/", "*", False),
            ("http://[::1/", "*", False),
            ("http://a b/", "*", False),
        ],
    )
    def test_patterns(self, url: str, allow: str, fine: bool) -> None:
        if fine:
            check_url(url, [allow])
        else:
            with pytest.raises(ToolFailure):
                check_url(url, [allow])

    def test_a_pattern_does_not_open_this_machine(self, site: ThreadingHTTPServer) -> None:
        for allow in (("*",), ("127.*",), ("127.0.0.1:1", "*")):
            with pytest.raises(Failed, match="exact name"):
                fetch(site, "/a", allow=allow)
        for host in ("localhost", "2130706433", "0x7f.1", "0", "[::ffff:127.0.0.1]"):
            with pytest.raises(Failed, match=r"exact name|no host"):
                call([fetch_tool(["*"])], "fetch_url", url=f"http://{host}:{site.server_port}/a")
        assert Site.asked == []

    def test_a_name_that_leads_here_is_refused(
        self, site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import socket

        def lied(*_: object, **__: object) -> list[object]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", site.server_port))]

        monkeypatch.setattr(socket, "getaddrinfo", lied)
        with pytest.raises(Failed, match="exact name"):
            call([fetch_tool(["*.example.org"])], "fetch_url", url=f"http://a.example.org:{site.server_port}/a")
        url = f"http://a.example.org:{site.server_port}/a"
        assert call([fetch_tool(["a.example.org"])], "fetch_url", url=url).endswith("plain")
        assert Site.asked == [f"a.example.org:{site.server_port}/a"]

    @pytest.mark.parametrize(
        ("address", "public"),
        [
            ("8.8.8.8", True), ("10.0.0.1", False), ("169.254.169.254", False), ("0.0.0.0", False), ("::1", False),
            ("224.0.0.1", False), ("100.64.0.1", False), ("fe80::1%eth0", False), ("fd00::1", False),
            ("2606:4700::1", True), ("::ffff:8.8.8.8", True), ("::ffff:10.0.0.1", False), ("64:ff9b::7f00:1", False),
            ("2002:7f00:1::", False), ("64:ff9b:1::7f00:1", False), ("64:ff9b:1:ffff::1", False), ("fec0::1", False),
            ("192.0.0.192", False), ("192.88.99.1", False), ("3fff::1", False), ("5f00::1", False),
            ("feff::1", False), ("::7f00:1", False), ("::8.8.8.8", False), ("::ffff:0:7f00:1", False),
            ("64:ff9b::808:808", True),
        ],
    )  # fmt: skip
    def test_addresses(self, address: str, public: bool) -> None:
        assert is_public_address(address) is public


class TestRedirects:
    def test_they_are_followed_inside_the_allowed(self, site: ThreadingHTTPServer) -> None:
        assert fetch(site, "/to//a").endswith("/a, status 200, text/plain]\nplain")
        assert fetch(site, f"/to/http://localhost:{site.server_port}/a").startswith("[http://localhost")

    @pytest.mark.parametrize(
        "target",
        ["http://evil.example/", "//evil.example/x", "file:///etc/passwd", "http://[::1", "http://169.254.169.254/"],
    )
    def test_they_do_not_lead_out(self, site: ThreadingHTTPServer, target: str) -> None:
        with pytest.raises(Failed, match=r"not among|no URL|Invalid URL"):
            fetch(site, f"/to/{target}")

    def test_they_end(self, site: ThreadingHTTPServer) -> None:
        with pytest.raises(Failed, match="redirects"):
            fetch(site, "/to/" * 9 + "/a")


class TestReadable:
    def test_structure_is_kept(self) -> None:
        html = """<!doctype html><html><head><title>A &amp; B</title><style>x</style></head><body><!-- no -->
            <h2>Head</h2><p>One   two<br>three</p><ul><li>x<li><b>y</b></ul><pre>a\n  b</pre>
            <table><tr><td>1</td><td>2</td></tr></table><a href="#top">top</a> 3 < 4</body></html>"""
        assert html_to_text(html) == "A & B\n\n## Head\n\nOne two\nthree\n\n- x\n- y\n\na\n  b\n\n1 | 2 |\n\ntop 3 < 4"

    @pytest.mark.parametrize("piece", ["<!--", "<a ", "</", "<", "<![", "<script>", "<a href='x'>", "</a>x", "&#"])
    def test_no_page_takes_forever(self, piece: str) -> None:
        # Two seconds of work; with a square in it, minutes. What else the machine does is not counted.
        began = time.process_time()
        html_to_text(piece * 400_000)
        assert time.process_time() - began < 60


class TestSeen:
    """What people see of a page."""

    def seen(self, server: ThreadingHTTPServer, path: str, **more: int) -> Result:
        url = f"http://127.0.0.1:{server.server_port}{path}"
        made = fetch_tool(["127.0.0.1"], **more)
        result = asyncio.run(execute(made, ToolCall("c1", "fetch_url", {"url": url}), Conversation())).result
        assert result.semantic is not None
        return result.semantic

    def test_a_page_is_markdown_under_its_address(self, site: ThreadingHTTPServer) -> None:
        page = self.seen(site, "/to//page")
        assert (page.kind, page.mime_type) == ("text", "text/markdown")
        assert page.title == f"http://127.0.0.1:{site.server_port}/page"
        assert page.data["content"].startswith("T\n\nHello [there]")
        assert page.summary == f"status 200, text/html, {len(page.data['content'])} characters"

    def test_other_texts_are_what_they_are(self, site: ThreadingHTTPServer) -> None:
        plain, data = self.seen(site, "/a"), self.seen(site, "/json")
        assert (plain.mime_type, plain.data) == ("text/plain", {"content": "plain"})
        assert (data.display.preferred_view, data.display.language) == ("code", "json")
        assert "only the first 10 bytes" in self.seen(site, "/big", size_limit=10).summary
        assert "not shown" in self.seen(site, "/image").data["content"]
