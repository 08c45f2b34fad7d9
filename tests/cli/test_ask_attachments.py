"""`antiphon ask -a`: files, addresses and pipes, each known by how it begins."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from antiphon import Store
from antiphon.fakes import Fake
from tests.cli.asking import ask, said
from tests.lang_unit.commands import antiphon

pytestmark = pytest.mark.usefixtures("fake")

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer <<>>\n%%EOF\n"


class _Pages(BaseHTTPRequestHandler):
    """A small web server: what it serves is in `PAGES`, by path."""

    def do_GET(self) -> None:
        status, headers, body = PAGES.get(self.path, (404, {}, b"none"))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value.replace("PORT", str(self.server.server_address[1])))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


PAGES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/a.png": (200, {"content-type": "text/plain"}, PIXEL),
    "/page": (200, {"content-type": "text/html; charset=x"}, b"<title>T</title><script>x</script><p>Hello <b>you</b>"),
    "/notes.html": (200, {"content-type": "text/plain"}, b"<p>as it is"),
    "/moved": (302, {"location": "/a.png"}, b""),
    "/inside": (302, {"location": "http://127.0.0.2:PORT/a.png"}, b""),
    "/private": (302, {"location": "http://10.0.0.1/a.png"}, b""),
    "/round": (302, {"location": "/round"}, b""),
    "/file": (302, {"location": "file:///etc/passwd"}, b""),
    "/large": (200, {"content-length": "100000001"}, b"a"),
}  # fmt: skip


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    threading.Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.01}).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_what_is_attached_is_known_by_how_it_begins(fake: Fake) -> None:
    Path("a.txt").write_bytes(PIXEL)
    Path("b.png").write_text("No picture, ```code```.")
    fake.play("Seen.")
    assert ask("Look.", "-a", "a.txt", "-a", "b.png").code == 0
    assert said(fake) == "Look.\n\nb.png:\n````\nNo picture, ```code```.\n````"
    image, text = fake.requests[0].body["input"][-1]["content"]
    assert image["image_url"] == f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    assert text["type"] == "input_text"
    assert len(Store().load("last").turns) == 2


@pytest.mark.parametrize("data", [PIXEL, PDF, b"some text"])
def test_what_is_piped_in_goes_along(fake: Fake, data: bytes) -> None:
    fake.play("Seen.")
    assert ask("What is it?", "-a", "-", input=data).code == 0
    sent = json.dumps(fake.requests[0].body["input"])
    assert (base64.b64encode(data).decode() in sent) == (data != b"some text")
    assert ("standard input:\\n```\\nsome text" in sent) == (data == b"some text")
    assert ("input_image" in sent, "input_file" in sent) == (data is PIXEL, data is PDF)


def test_text_that_is_piped_in_is_still_the_question(fake: Fake) -> None:
    Path("a.txt").write_text("file")
    fake.play("Seen.")
    ask("Look.", "-a", "a.txt", input="piped\n")
    assert said(fake) == "Look.\n\npiped\n\na.txt:\n```\nfile\n```"


FORMS = {
    "anthropic/claude-sonnet-5": ("messages", ["content", 0, "source", "data"]),
    "openai/gpt-5": ("input", ["content", 0, "file_data"]),
    "openai-chat/gpt-5": ("messages", ["content", 0, "file", "file_data"]),
    "google/gemini-3.8-flash": ("contents", ["parts", 0, "inlineData", "data"]),
}


@pytest.mark.parametrize("model", FORMS)
def test_a_pdf_goes_to_whom_it_may_in_the_form_of_his_api(
    fake: Fake, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in (("ANTHROPIC", "ANTHROPIC_API_KEY"), ("GOOGLE_GEMINI", "GEMINI_API_KEY")):
        monkeypatch.setenv(f"{name}_BASE_URL", fake.url)
        monkeypatch.setenv(key, "any")
    Path("report.pdf").write_bytes(PDF)
    fake.play("Seen.", "Again.", "Elsewhere.")
    assert ask("Sum up.", "-m", model, "-a", "report.pdf").code == 0
    assert ask("And?", "-c").code == 0
    field, path = FORMS[model]
    for request in fake.requests:
        found = request.body[field][0]
        for step in path:
            found = found[step]
        assert found.endswith(base64.b64encode(PDF).decode())
    # Whoever else goes on gets it in the form of another API.
    other = "openai/gpt-5" if model.startswith("anthropic") else "anthropic/claude-sonnet-5"
    assert ask("And?", "-c", "-m", other).code == 0
    assert base64.b64encode(PDF).decode() in json.dumps(fake.requests[-1].body)
    assert "Sum up." in antiphon("show", "last").out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("report.pdf", "0.5b takes no PDFs; send its text, or ask a model that does"),
        ("a.png", "0.5b cannot see images; describe it, or ask a model that can"),
    ],
)
def test_a_model_that_cannot_be_given_it_is_not_asked(name: str, told: str) -> None:
    Path("report.pdf").write_bytes(PDF)
    Path("a.png").write_bytes(PIXEL)
    ran = ask("Look.", "-m", "local/0.5b", "-a", name)
    assert ran.code == 2
    assert f"'{name}' cannot be sent to local/0.5b: {told}" in ran.err


def test_what_cannot_be_sent_along_is_told(fake: Fake) -> None:
    Path("data.bin").write_bytes(b"\0\xff")
    Path("empty").write_bytes(b"")
    for name, told in (
        ("none.txt", "cannot read 'none.txt': No such file"),
        (".", "directory"),
        ("data.bin", "neither text (UTF-8) nor an image (PNG, JPEG, GIF, WebP) nor a PDF"),
        ("empty", "'empty' is empty"),
        ("/dev/zero", "has more than 100 MB"),
        ("ftp://example.org/x", "no URL that starts with http:// or https://"),
        ("file:///etc/passwd", "no URL that starts with http:// or https://"),
    ):
        ran = ask("Look.", "-a", name)
        assert (ran.code, told in ran.err) == (2, True), ran.err
    assert "can be attached only once" in ask("Look.", "-a", "-", "-a", "-", input=PIXEL).err
    assert not fake.requests


def test_an_address_is_fetched(fake: Fake, site: str) -> None:
    fake.play(*["Seen."] * 4)
    for path in ("/a.png", "/moved"):
        assert ask("Look.", "-a", site + path).code == 0
        assert "data:image/png" in json.dumps(fake.requests[-1].body)
    assert ask("Look.", "-a", f"{site}/page").code == 0
    assert said(fake) == f"Look.\n\n{site}/page:\n```\nT\n\nHello you\n```"
    ask("Look.", "-a", f"{site}/notes.html")
    assert "<p>as it is" in said(fake)


UNFETCHED = [
    ("/none", "the server answered 404"),
    ("/inside", "this machine or in a private network (`curl … | antiphon ask … -a -` sends it"),
    ("/private", "this machine or in a private network"),
    ("/round", "redirects"),
    ("/file", "no URL that starts with"),
    ("/large", "it has more than 100 MB"),
]


def test_an_address_that_may_not_or_cannot_be_fetched_is_told(fake: Fake, site: str) -> None:
    for path, told in UNFETCHED:
        ran = ask("Look.", "-a", site + path)
        assert (ran.code, fake.requests) == (2, [])
        assert told in ran.err


def test_no_private_network_is_reached(fake: Fake) -> None:
    for host in ("10.0.0.1", "169.254.169.254", "192.168.1.1", "[fd00::1]", "0.0.0.0"):
        ran = ask("Look.", "-a", f"http://{host}/a.png")
        assert (ran.code, fake.requests) == (2, [])
        assert "is this machine or in a private network" in ran.err
