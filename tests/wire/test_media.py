"""Documents, audio, video and uploaded files: in the form of each API, read again, and refused where none fits."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import anthropic.types.message_create_params
import openai.types.chat.completion_create_params
import openai.types.responses.response_create_params
import pytest
from google.genai import types as google_types
from google.genai._gaos.types.interactions.createmodelinteraction import CreateModelInteraction
from hypothesis import given
from pydantic import TypeAdapter

from antiphon import Conversation, ToolCall, ToolSpec, connect
from antiphon.conversation import Audio, Document, File, Image, Media, MediaPart, UserTurn, Video
from antiphon.errors import ContentError
from antiphon.facts import Facts, register_model
from antiphon.facts.model_facts import InputLimits
from antiphon.fakes import Fake
from antiphon.wire import Options, wire
from tests.referees.sdk_types import judge
from tests.strategies import TARGETS, media

PDF = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\ntrailer <<>>\n%%EOF\n"
WAV = b"RIFF\x24\0\0\0WAVEfmt " + bytes(20)
MP4 = b"\0\0\0\x20ftypisom" + bytes(20)
DATA, TEXT_DATA = b64encode(PDF).decode(), b64encode(b"Rain at noon.").decode()
REPORT = Document.from_bytes(PDF, name="report.pdf")
NOTES = Document.from_bytes(b"Rain at noon.", name="notes.txt")
SOUND, FILM = Audio.from_bytes(WAV), Video.from_bytes(MP4)
MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "openai-chat": "openai-chat/gpt-audio-mini",
    "openai-responses": "openai/gpt-5.5",
    "gemini": "google/gemini-3.8-flash",
    "google-interactions": "google-interactions/gemini-3.8-flash",
}
every_api = pytest.mark.parametrize("api", MODELS)


def asked(*parts: Any) -> Conversation:
    conversation = Conversation()
    conversation.add_user(["What does this say?", *parts])
    return conversation


def with_result(*parts: Any) -> Conversation:
    conversation = Conversation(tools=[ToolSpec("look")])
    conversation.add_user("Look.")
    conversation.add_assistant(ToolCall("c1", "look"))
    conversation.add_tool_result("c1", list(parts))
    return conversation


def body_of(api: str, conversation: Conversation) -> dict[str, Any]:
    return json.loads(connect(MODELS[api], key="any").request(conversation))


def judged(api: str, body: dict[str, Any]) -> None:
    """Let the vendor's own types judge a body."""
    match api:
        case "anthropic":
            judge(anthropic.types.message_create_params.MessageCreateParamsNonStreaming, body)
        case "openai-chat":
            judge(openai.types.chat.completion_create_params.CompletionCreateParamsNonStreaming, body)
        case "openai-responses":
            judge(openai.types.responses.response_create_params.ResponseCreateParamsNonStreaming, body)
        case "gemini":
            for content in body["contents"]:
                google_types.Content.model_validate(content)
        case _:
            TypeAdapter(CreateModelInteraction).validate_python(body)


FORMS: list[tuple[MediaPart, dict[str, dict[str, Any] | str | None]]] = [
    (
        REPORT,
        {
            "anthropic": {
                "type": "document",
                "title": "report.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
            },
            "openai-chat": {
                "type": "file",
                "file": {"filename": "report.pdf", "file_data": f"data:application/pdf;base64,{DATA}"},
            },
            "openai-responses": {
                "type": "input_file",
                "filename": "report.pdf",
                "file_data": f"data:application/pdf;base64,{DATA}",
            },
            "gemini": {"inlineData": {"mimeType": "application/pdf", "data": DATA}},
            "google-interactions": {"type": "document", "data": DATA, "mime_type": "application/pdf"},
        },
    ),
    (
        Document(data=DATA, title="Annual report", citations=True),
        {
            "anthropic": {
                "type": "document",
                "title": "Annual report",
                "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
                "citations": {"enabled": True},
            },
            "openai-responses": {
                "type": "input_file",
                "filename": "document.pdf",
                "file_data": f"data:application/pdf;base64,{DATA}",
            },
        },
    ),
    (
        NOTES,
        {
            "anthropic": {
                "type": "document",
                "title": "notes.txt",
                "source": {"type": "text", "media_type": "text/plain", "data": "Rain at noon."},
            },
            "openai-responses": {
                "type": "input_file",
                "filename": "notes.txt",
                "file_data": f"data:text/plain;base64,{TEXT_DATA}",
            },
            "gemini": {"text": "notes.txt:\n```\nRain at noon.\n```"},
            "google-interactions": {"type": "text", "text": "notes.txt:\n```\nRain at noon.\n```"},
        },
    ),
    (
        Document.from_url("https://example.com/a.pdf"),
        {
            "anthropic": {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
            "openai-chat": "takes no URLs of documents; send its bytes",
            "openai-responses": {"type": "input_file", "file_url": "https://example.com/a.pdf"},
            "gemini": {"fileData": {"fileUri": "https://example.com/a.pdf", "mimeType": "application/pdf"}},
            "google-interactions": {"type": "document", "uri": "https://example.com/a.pdf"},
        },
    ),
    (
        SOUND,
        {
            "anthropic": "Anthropic Messages takes no audio; ask a model that does, such as google/",
            "openai-chat": {"type": "input_audio", "input_audio": {"data": SOUND.data, "format": "wav"}},
            "openai-responses": "OpenAI Responses takes no audio",
            "gemini": {"inlineData": {"mimeType": "audio/wav", "data": SOUND.data}},
            "google-interactions": {"type": "audio", "data": SOUND.data, "mime_type": "audio/wav"},
        },
    ),
    (
        Audio.from_bytes(b"fLaC" + bytes(8)),
        {"openai-chat": "takes audio/wav and audio/mpeg, and not audio/flac; convert it"},
    ),
    (
        FILM,
        {
            "anthropic": "takes no video",
            "openai-chat": "takes no video",
            "openai-responses": "takes no video",
            "gemini": {"inlineData": {"mimeType": "video/mp4", "data": FILM.data}},
            "google-interactions": {"type": "video", "data": FILM.data, "mime_type": "video/mp4"},
        },
    ),
    (
        Document.from_bytes(
            b"PK\x03\x04...", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        ),
        {
            "anthropic": "takes PDFs and text, and no files of type application/vnd",
            "openai-chat": "takes PDFs and text",
        },
    ),
    (
        File("file_1", "anthropic", "application/pdf"),
        {
            "anthropic": {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            "openai-responses": "it is kept by anthropic, and openai cannot read it; send its bytes",
            "gemini": "it is kept by anthropic, and google cannot read it",
        },
    ),
    (
        File("file-1", "openai"),
        {
            "openai-chat": {"type": "file", "file": {"file_id": "file-1"}},
            "openai-responses": {"type": "input_file", "file_id": "file-1"},
        },
    ),
    (
        File("file-1", "openai", "image/png"),
        {
            "openai-chat": "takes no uploaded images; send its bytes",
            "openai-responses": {"type": "input_image", "file_id": "file-1", "detail": "auto"},
        },
    ),
    (
        File("https://generativelanguage.googleapis.com/v1beta/files/a", "google", "video/mp4"),
        {
            "gemini": {
                "fileData": {
                    "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a",
                    "mimeType": "video/mp4",
                }
            },
            "google-interactions": {
                "type": "video",
                "uri": "https://generativelanguage.googleapis.com/v1beta/files/a",
                "mime_type": "video/mp4",
            },
        },
    ),
]
CASES = [(part, api, form) for part, forms in FORMS for api, form in forms.items()]


@pytest.mark.parametrize(("part", "api", "form"), CASES)
def test_a_file_has_the_form_of_the_api_or_is_refused_before_anything_is_sent(
    part: MediaPart, api: str, form: dict[str, Any] | str
) -> None:
    if isinstance(form, str):
        with pytest.raises(ContentError, match="cannot be sent to ") as caught:
            body_of(api, asked(part))
        assert form in str(caught.value)
        return
    body = body_of(api, asked(part))
    assert json.dumps(form)[1:-1] in json.dumps(body)
    judged(api, body)


@pytest.mark.parametrize(("part", "api", "form"), [case for case in CASES if isinstance(case[2], str)])
def test_what_an_older_message_holds_becomes_a_line_that_stays_the_same(part: MediaPart, api: str, form: str) -> None:
    conversation = asked(part)
    conversation.add_assistant("I see.")
    conversation.add_user("And?")
    body = json.dumps(body_of(api, conversation))
    assert f"[{part.label} that is not shown: " in body
    assert form.partition(";")[0] in body
    assert "; " not in body.partition("that is not shown: ")[2].partition("]")[0]
    assert not isinstance(part, Media) or not part.data or part.data not in body


@every_api
@given(part=media)
def test_a_history_in_the_form_of_an_api_is_read_as_it_was(api: str, part: MediaPart) -> None:
    target, codec = TARGETS[api], wire(api)
    conversation = asked(part)
    conversation.add_assistant("I see.")
    shape = codec.history(conversation, target)
    read = codec.read(shape, target.origin).conversation
    assert codec.history(read, target) == shape
    again = Conversation.from_json(read.to_json())
    assert again == read
    assert codec.history(again, target) == shape


@every_api
def test_what_another_api_wrote_is_a_document_for_every_other(api: str) -> None:
    shape = wire(api).history(asked(REPORT), TARGETS[api])
    (turn,) = wire(api).read(shape, TARGETS[api].origin).conversation.turns
    assert isinstance(turn, UserTurn)
    (document,) = [part for part in turn.parts if isinstance(part, Document)]
    assert (document.content, document.native) == (PDF, None)


RESULTS: dict[str, tuple[str, ...]] = {
    "anthropic": ('"tool_use_id": "c1", "content": [{"type": "document"',),
    "openai-chat": ('"content": "(The files follow in the next message.)"', '"type": "file"'),
    "openai-responses": ('"output": [{"type": "input_file"',),
    "gemini": ('"parts": [{"inlineData": {"mimeType": "application/pdf"', "(see the file)"),
    "google-interactions": ('"result": [{"type": "document"',),
}


@every_api
def test_a_tools_document_is_in_its_result_or_behind_it(api: str, antiphon_fake: Fake) -> None:
    antiphon_fake.play("It rains.")
    conversation = with_result(REPORT)
    assert antiphon_fake.connect(MODELS[api]).chat(conversation).text == "It rains."
    body = json.dumps(antiphon_fake.requests[0].body)
    assert all(text in body for text in RESULTS[api])
    assert body.count(DATA) == 1
    judged(api, antiphon_fake.requests[0].body)


@pytest.mark.parametrize("name", ["google/gemini-3.8-flash", "google/gemini-2.5-flash", MODELS["google-interactions"]])
def test_what_a_result_cannot_hold_follows_as_the_users(name: str, antiphon_fake: Fake) -> None:
    antiphon_fake.play("It rains.")
    assert antiphon_fake.connect(name).chat(with_result("Heard:", SOUND, REPORT)).text
    body = json.dumps(antiphon_fake.requests[0].body)
    assert 0 < body.index("Heard:") < body.index("[What `look` returned:]") < body.index(SOUND.data)
    assert (body.index(DATA) < body.index("[What `look`")) == ("2.5" not in name)


def test_a_server_that_only_speaks_the_api_of_another_company_gets_documents_when_the_facts_say_so() -> None:
    with pytest.raises(ContentError, match="reader-1 takes no PDFs; send its text, or ask a model that does"):
        connect("groq/reader-1", key="any").request(asked(REPORT))
    assert "Rain at noon." in connect("groq/reader-1", key="any").request(asked(NOTES)).decode()
    register_model("groq/reader-2", Facts(inputs={"pdf": InputLimits(bytes=100), "audio": InputLimits()}))
    reader = connect("groq/reader-2", key="any")
    assert DATA in reader.request(asked(REPORT)).decode()
    assert SOUND.data in reader.request(asked(SOUND)).decode()
    with pytest.raises(ContentError, match="MB as base64, and groq takes"):
        reader.request(asked(Document.from_bytes(PDF * 4)))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Document.from_bytes(PDF, "text/plain"), "its bytes are application/pdf; give it that type"),
        (lambda: Document.from_bytes(b"<html>", "application/pdf"), "its bytes are none; was it read whole"),
        (lambda: Document.from_bytes(b"\xff\xfe", "text/csv"), "it is not text in UTF-8"),
        (lambda: Document.from_bytes(bytes(9)), "the bytes of a document tell no type; give it a `media_type`"),
        (lambda: Document.from_bytes(WAV), "`media_type` looks like 'application/pdf', not 'audio/wav'"),
        (lambda: Audio.from_bytes(WAV, "audio/flac"), "its bytes are audio/wav; give it that type"),
        (lambda: Audio.from_bytes(MP4), "`media_type` looks like 'audio/wav', not 'video/mp4'"),
        (lambda: Video.from_bytes(PDF), "`media_type` looks like 'video/mp4', not 'application/pdf'"),
        (lambda: Document(), "has either `data` .base64. or a `url`"),
        (lambda: Document(DATA, url="https://e.com"), "has either `data` .base64. or a `url`"),
        (lambda: Document(PDF), "`data` is base64 text, not bytes; see `Document.from_bytes`"),  # type: ignore[arg-type]
        (lambda: Document("%%%"), "`data` is base64: "),
        (lambda: Document(url="file:///etc/passwd"), "`Document.from_path` reads a file"),
        (lambda: Document.from_path("none.pdf"), "cannot read none.pdf: No such file"),
        (lambda: File(" ", "anthropic"), "a file has an `id` and an `origin`"),
    ],
)
def test_what_is_no_such_file_is_refused_when_it_is_made(make: Any, why: str) -> None:
    with pytest.raises(ContentError, match=why):
        make()


@pytest.mark.parametrize(
    ("content", "name", "kind", "media_type"),
    [
        (PDF, "x", Document, "application/pdf"),
        (b"\n\n" + PDF, "", Document, "application/pdf"),
        (b"# Rain", "a.md", Document, "text/markdown"),
        (b"Rain", "", Document, "text/plain"),
        (b"a,b", "a.csv", Document, "text/csv"),
        (b"fLaC" + bytes(4), "", Audio, "audio/flac"),
        (b"ID3" + bytes(4), "", Audio, "audio/mpeg"),
        (b"\0\0\0\x20ftypM4A " + bytes(4), "", Audio, "audio/mp4"),
        (b"\x1aE\xdf\xa3" + bytes(4), "", Video, "video/webm"),
        (b"\0\0\0\x14ftypqt  ", "", Video, "video/quicktime"),
    ],
)
def test_the_bytes_tell_the_type_and_else_the_name(
    content: bytes, name: str, kind: type[Document | Audio | Video], media_type: str
) -> None:
    made = kind.from_bytes(content, name=name)
    assert (made.media_type, made.content, made.size) == (media_type, content, len(content))


def test_a_file_of_one_container_may_have_each_of_its_names() -> None:
    for name in ("audio/mp4", "audio/m4a"):
        assert Audio.from_bytes(MP4, name).media_type == name
    assert Video.from_bytes(b"OggS" + bytes(4), "video/ogg")


@every_api
def test_the_prompt_extends_the_one_before_it(api: str, antiphon_fake: Fake) -> None:
    antiphon_fake.play("Rain.", "Noon.")
    model = antiphon_fake.connect(MODELS[api], prefix="error")
    conversation = asked(REPORT, NOTES, Image.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(9), "image/png"))
    model.chat(conversation)
    first = wire(api).history(conversation.fork(), TARGETS[api])
    conversation.add_user("When?")
    assert model.chat(conversation).text == "Noon."
    key = next(name for name in ("messages", "input", "contents") if name in first)
    assert wire(api).history(conversation, TARGETS[api])[key][: len(first[key])] == first[key]
    assert Options().prefix == "tell"
