"""Files that do not fit into a request: kept by the provider, once, and found again by a resumed session."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai

from antiphon import Conversation, Session, Store
from antiphon.conversation import Document, File, Media, UserTurn, Video
from antiphon.errors import AntiphonError, ContentError, OptionError
from antiphon.facts import Facts, register_model
from antiphon.facts.statements import forget_stated_facts
from antiphon.fakes import Call, Fail, Fake
from antiphon.session import FilesOmitted

PDF = b"%PDF-1.4\n" + b"x" * 3_000
REPORT = Document.from_bytes(PDF, name="report.pdf")
FILM = Video.from_bytes(b"\0\0\0\x20ftypisom" + bytes(20), name="film.mp4")
MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "openai": "openai/gpt-5.5",
    "openai-chat": "openai-chat/gpt-5.5",
    "google": "google/gemini-3.8-flash",
    "google-interactions": "google-interactions/gemini-3.8-flash",
}
every_model = pytest.mark.parametrize("name", MODELS.values(), ids=MODELS)


@pytest.fixture
def small_requests() -> Iterator[None]:
    """Let requests be so small that a file of 3 kB does not fit."""
    for name in MODELS.values():
        register_model(name, Facts(max_request_bytes=4_000, max_file_bytes=50_000))
    yield
    forget_stated_facts()


def uploads(fake: Fake) -> list[dict[str, Any]]:
    return [each.body for each in fake.requests if "/files" in each.path and not each.rejected]


def asked(*parts: Any) -> Conversation:
    conversation = Conversation()
    conversation.add_user(["What does this say?", *parts])
    return conversation


@every_model
def test_an_uploaded_file_is_sent_by_its_id(name: str, antiphon_fake: Fake) -> None:
    antiphon_fake.play("Rain.")
    with antiphon_fake.connect(name) as model:
        file = model.upload(REPORT)
        assert model.chat(asked(file)).text == "Rain."
    assert (file.media_type, file.name) == ("application/pdf", "report.pdf")
    assert any("report.pdf" in each.values() for each in uploads(antiphon_fake))
    body = json.dumps(antiphon_fake.requests[-1].body)
    assert file.id in body
    assert REPORT.data not in body


def test_a_video_is_sent_once_it_is_processed(antiphon_fake: Fake) -> None:
    antiphon_fake.play("Rain.")

    async def send() -> File:
        async with antiphon_fake.connect(MODELS["google"]) as model:
            kept = await model.aupload(FILM)
            assert (await model.achat(asked(kept))).text == "Rain."
            return kept

    file = asyncio.run(send())
    assert file.id.startswith("https://generativelanguage.googleapis.com/v1beta/files/")
    assert file.expires


@every_model
def test_a_file_of_nobody_is_refused_as_the_real_servers_do(name: str, antiphon_fake: Fake) -> None:
    origin = "google" if "google" in name else "openai" if "openai" in name else "anthropic"
    id = "https://generativelanguage.googleapis.com/v1beta/files/none" if origin == "google" else "file-none"
    with pytest.raises(AntiphonError, match=r"not found|or it may not exist"):
        antiphon_fake.connect(name).chat(asked(File(id, origin, "application/pdf")))


@pytest.mark.usefixtures("small_requests")
def test_what_cannot_be_uploaded_is_told_before_it_is_sent(antiphon_fake: Fake) -> None:
    model = antiphon_fake.connect(MODELS["anthropic"])
    for part, why in (
        (Document.from_url("https://e.com/a.pdf"), "is at a URL, so there are no bytes to upload"),
        (FILM, "is not uploaded to anthropic: Anthropic Messages takes no video"),
        (Document.from_bytes(PDF * 20), "anthropic keeps files of .* MB at most"),
        (File("f", "openai"), "`upload` takes an Image, Document, Audio or Video, not File"),
    ):
        with pytest.raises(ContentError, match=why):
            model.upload(part)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="groq keeps no files; anthropic, openai and google do"):
        antiphon_fake.connect("groq/llama").upload(REPORT)
    with pytest.raises(
        ContentError, match=r"a session uploads it by itself, and `model.upload\(part\)` returns a `File`"
    ):
        model.chat(asked(REPORT))
    assert antiphon_fake.requests == []


def test_an_upload_is_tried_again_and_an_error_is_told(antiphon_fake: Fake) -> None:
    antiphon_fake.play(Fail(529, retry_after=0.01))
    model = antiphon_fake.connect(MODELS["anthropic"])
    assert model.upload(REPORT).origin == "anthropic"
    antiphon_fake.reset()
    antiphon_fake.play(Fail(400, "no room"))
    with pytest.raises(AntiphonError, match="no room"):
        model.upload(REPORT)


@every_model
@pytest.mark.usefixtures("small_requests")
def test_a_session_uploads_what_does_not_fit_and_only_once(name: str, antiphon_fake: Fake) -> None:
    antiphon_fake.play("Rain.", "At noon.", "Yes.")
    session = Session(antiphon_fake.connect(name, prefix="error"))
    small = Document.from_bytes(PDF[:900], name="small.pdf")
    assert str(session.vibe(["What does this say?", small, REPORT])) == "Rain."
    assert str(session.vibe("When?")) == "At noon."
    assert str(session.vibe(["The same?", REPORT])) == "Yes."
    assert len([each for each in uploads(antiphon_fake) if "upload_id" not in each]) == 1
    bodies = [json.dumps(each.body) for each in antiphon_fake.requests if "/files" not in each.path]
    assert all(small.data in body and REPORT.data not in body for body in bodies)
    (file,) = {
        file for turn in session.conversation.turns for part in turn.parts for file in getattr(part, "files", ())
    }
    assert [body.count(file.id) for body in bodies] == [1, 1, 2]


@pytest.mark.usefixtures("small_requests")
def test_a_tools_large_file_is_uploaded_too(antiphon_fake: Fake) -> None:
    def scan() -> Document:
        """Scan the paper."""
        return REPORT

    antiphon_fake.play(Call("scan"), "Rain.")
    session = Session(antiphon_fake.connect(MODELS["anthropic"]), tools=[scan])
    assert str(session.vibe("What does the paper say?")) == "Rain."
    assert len(uploads(antiphon_fake)) == 1
    assert '"type": "file"' in json.dumps(antiphon_fake.requests[-1].body)


@pytest.mark.usefixtures("small_requests")
def test_a_resumed_session_does_not_upload_again(antiphon_fake: Fake, tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.db"))

    def open_session() -> Session[None, str]:
        return Session(antiphon_fake.connect(MODELS["anthropic"]), store=store, id="scan")

    antiphon_fake.play(lambda received: Fail(401))  # noqa: ARG005
    with open_session() as session, pytest.raises(AntiphonError):
        session.vibe(["What does this say?", REPORT])
    assert len(uploads(antiphon_fake)) == 1
    antiphon_fake.play("Rain.")
    with open_session() as session:
        assert str(session.vibe(["What does this say?", REPORT])) == "Rain."
    assert len(uploads(antiphon_fake)) == 1
    with Session.open("scan", store=store) as session:
        assert session.conversation.turns[-1].text == "Rain."


@pytest.mark.usefixtures("small_requests")
def test_what_the_next_provider_cannot_be_given_is_told_and_what_it_can_is_uploaded_there(antiphon_fake: Fake) -> None:
    antiphon_fake.play("Rain.", "Noon.", "Yes.")
    session = Session(antiphon_fake.connect(MODELS["google"]))
    session.vibe(["What is this?", FILM, REPORT])
    session.model = antiphon_fake.connect(MODELS["anthropic"])
    with session.stream("When?") as events:
        told = [event.body for event in events]
    assert [body for body in told if isinstance(body, FilesOmitted)] == [
        FilesOmitted(MODELS["anthropic"], ("the video film.mp4",))
    ]
    body = json.dumps(antiphon_fake.requests[-1].body)
    assert "[the video film.mp4 that is not shown: Anthropic Messages takes no video]" in body
    assert '"type": "file"' in body
    before = len(uploads(antiphon_fake))
    session.vibe("Sure?")
    assert len(uploads(antiphon_fake)) == before


@pytest.mark.usefixtures("small_requests")
def test_a_copy_that_expires_is_replaced(antiphon_fake: Fake) -> None:
    antiphon_fake.play("Rain.")
    old = File("https://generativelanguage.googleapis.com/v1beta/files/old", "google", "application/pdf", "", 1.0)
    session = Session(antiphon_fake.connect(MODELS["google"]))
    assert str(session.vibe(["What does this say?", replace(REPORT, files=(old,))])) == "Rain."
    (turn, _) = session.conversation.turns
    assert isinstance(turn, UserTurn)
    (part,) = [part for part in turn.parts if isinstance(part, Media)]
    assert part.files[0].id == old.id
    assert part.files[-1].id != old.id
    assert "files/old" not in json.dumps(antiphon_fake.requests[-1].body)


def test_the_vendors_clients_can_use_the_files_of_the_fake(antiphon_fake: Fake) -> None:
    antiphon_fake.play("Rain.", "Rain.", "Rain.")
    claude = anthropic.Anthropic(base_url=antiphon_fake.url, api_key="any")
    kept = claude.files.upload(file=("report.pdf", PDF, "application/pdf"))
    block: Any = {"type": "document", "source": {"type": "file", "file_id": kept.id}}
    message = claude.messages.create(
        model="claude-sonnet-5", max_tokens=99, messages=[{"role": "user", "content": [block]}]
    )
    assert message.content
    gpt = openai.OpenAI(base_url=f"{antiphon_fake.url}/v1", api_key="any")
    uploaded = gpt.files.create(file=("report.pdf", PDF, "application/pdf"), purpose="user_data")
    content: Any = [{"role": "user", "content": [{"type": "input_file", "file_id": uploaded.id}]}]
    assert gpt.responses.create(model="gpt-5.5", input=content).output_text == "Rain."
    gemini = genai.Client(api_key="any", http_options={"base_url": antiphon_fake.url})
    named = gemini.files.upload(file=io.BytesIO(PDF), config={"mime_type": "application/pdf"})
    assert gemini.files.get(name=named.name or "").state == "ACTIVE"
    assert gemini.models.generate_content(model="gemini-3.8-flash", contents=[named]).text == "Rain."
    with pytest.raises(openai.BadRequestError, match="purpose"):
        gpt.files.create(file=("a.pdf", PDF), purpose="none")  # type: ignore[arg-type]
