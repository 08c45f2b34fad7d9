"""Hypothesis strategies: hostile text, JSON, parts of every provider, and conversations made by public operations."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from antiphon.conversation import (
    Audio,
    Conversation,
    Document,
    File,
    Image,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Video,
)
from antiphon.errors import AntiphonError
from antiphon.results import Display, Result
from antiphon.results.result import FIELD_TYPES, VIEWS
from antiphon.wire import Profile, Target
from tests.terminal.cases import CASES, HOSTILE

TARGETS = {
    "anthropic": Target("anthropic", "anthropic", "claude-sonnet-5", Profile(sampling=False)),
    "openai-chat": Target("openai", "openai-chat", "gpt-4o"),
    "openai-responses": Target("openai", "openai-responses", "gpt-5"),
    "gemini": Target("google", "gemini", "gemini-3-pro"),
    "google-interactions": Target("google-interactions", "google-interactions", "gemini-3.5-flash"),
}

TOOLS = (
    ToolSpec("read_file", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("now"),
    ToolSpec("search", "Search", {"anyOf": [{"properties": {"q": {"type": "string"}}}], "type": "object"}),
)

#: Everything a text may hold, lone surrogates, NUL and blanks included.
any_text = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=20),
    st.sampled_from(["", " ", "\n\t", "\0", "\ud800", "[Chat from @human]: hi", '{"a": 1}', "héllo ✓", "x" * 50]),
)
words = st.text("abc XYZ\n", min_size=1, max_size=12).filter(str.strip)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | any_text
#: JSON, and what json.loads may give beyond it (NaN, infinities, surrogates).
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3), max_leaves=8
)
arguments = st.dictionaries(any_text, st.none() | st.booleans() | st.integers() | any_text, max_size=3)
images = st.sampled_from([Image(data="iVBORw0KGgo=", media_type="image/png"), Image(url="https://example.com/a.png")])
_contents = {
    Document: [b"%PDF-1.4 x", b"Rain.", "naïve ```text```".encode(), b'{"a": 1}'],
    Audio: [b"RIFF0000WAVEfmt ", b"ID3\x04"],
    Video: [b"\0\0\0\x20ftypisom", b"\x1aE\xdf\xa3"],
}
_names = st.sampled_from(["", "a.pdf", "notes of\nrain", 'x"y/../z', "ünï.txt", "x" * 300])
_kept = st.builds(File, st.sampled_from(["file_1", "f"]), st.sampled_from(["anthropic", "openai", "google"]))
_files = st.lists(_kept, max_size=2).map(tuple)
_urls = st.sampled_from(["https://example.com/a", "https://example.com/a.mp4?x=1"])
#: Documents, audio, video and uploaded files.
media = st.one_of(
    *(
        st.builds(kind.from_bytes, st.sampled_from(contents), name=_names).flatmap(
            lambda part: _files.map(lambda files: replace(part, files=files))
        )
        for kind, contents in _contents.items()
    ),
    st.builds(Document, st.just("JVBERi0xLjQgeA=="), name=_names, title=_names, citations=st.booleans(), files=_files),
    *(st.builds(kind.from_url, _urls, name=_names) for kind in _contents),
    _kept,
    st.builds(File, st.just("f"), st.just("google"), st.sampled_from(["video/mp4", "image/png", "application/pdf"])),
    images,
)


def origin(api: str) -> Origin:
    """The origin of the standard target of an API."""
    return TARGETS[api].origin


_other_models = {api: Origin(o.provider, api, "some-other-model") for api in TARGETS for o in [origin(api)]}


@st.composite
def reasonings(draw: st.DrawFn) -> Reasoning:
    """Reasoning with the opaque data its provider would have sent, of the target's model or of another."""
    text = draw(words)
    api = draw(st.sampled_from(list(TARGETS)))
    where = draw(st.sampled_from([origin(api), _other_models[api]]))
    signature = base64.b64encode(text.encode()).decode()
    data: dict[str, dict[str, Any]] = {
        "anthropic": {"type": "thinking", "thinking": text, "signature": signature},
        "openai-chat": {"reasoning_content": text},
        "openai-responses": {
            "type": "reasoning",
            "id": f"rs_{draw(st.uuids()).hex}",
            "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": signature,
        },
        "gemini": {"text": text, "thought": True, "thoughtSignature": signature},
        "google-interactions": {"type": "thought", "signature": signature},
    }
    return Reasoning(text, draw(st.sampled_from([None, ProviderPayload(where, data[api])])))


@st.composite
def foreign_parts(draw: st.DrawFn, side: str) -> OpaquePart:
    """Blocks that only one API knows, as that API would have them on this side."""
    blocks: dict[str, dict[str, dict[str, Any]]] = {
        "user": {
            "anthropic": {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "doc"}},
            "openai-chat": {"type": "input_audio", "input_audio": {"data": "iVBORw0KGgo=", "format": "wav"}},
            "openai-responses": {"type": "input_file", "file_id": "file-1"},
            "gemini": {"fileData": {"fileUri": "https://example.com/f", "mimeType": "application/pdf"}},
            "google-interactions": {"type": "document", "uri": "https://example.com/f"},
        },
        "assistant": {
            "anthropic": {"type": "container_upload", "file_id": "file_1"},
            "openai-chat": {"refusal": "no"},
            "openai-responses": {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            "gemini": {"executableCode": {"language": "PYTHON", "code": "1"}},
            "google-interactions": {"type": "google_search_call", "id": "s", "arguments": {"queries": ["x"]}},
        },
    }
    api = draw(st.sampled_from(list(TARGETS)))
    return OpaquePart(ProviderPayload(origin(api), blocks[side][api]), draw(st.sampled_from(["", "[something]"])))


ids = st.sampled_from(["a", "b", "call_1", "toolu_01", "x" * 40]) | st.text("abc-_", min_size=1, max_size=5)
calls = st.builds(ToolCall, ids, st.sampled_from(["read_file", "now", "gone"]), arguments)
read_calls = st.builds(
    ToolCall.read,
    st.text(max_size=50) | ids,
    st.sampled_from(["read_file", "", "a.b", "x" * 80]),
    st.sampled_from(["", "{", "[1]", '{"a": 1}', '{"a": "\\ud800"}', "null"]) | json_values,
    truncated=st.booleans(),
)
contents = any_text | st.lists(any_text.map(Text) | images | media, max_size=3).map(tuple)
user_parts = words.map(Text) | images | media | foreign_parts("user")
assistant_parts = any_text.map(Text) | reasonings() | calls | read_calls | foreign_parts("assistant")

operations = st.one_of(
    st.tuples(st.just("add_user"), any_text, st.sampled_from([None, "@coder-2", "human", "bad name!"])),
    st.tuples(st.just("add_user"), st.lists(user_parts | any_text, max_size=3)),
    st.tuples(st.just("add_assistant"), st.lists(assistant_parts, max_size=4)),
    st.tuples(st.just("add_reply"), st.lists(assistant_parts, max_size=4)),
    st.tuples(st.just("add_assistant_tool_calls"), st.lists(calls, max_size=3), any_text),
    st.tuples(st.just("add_tool_result"), ids, contents, st.booleans()),
    st.tuples(st.just("answer"), contents, st.booleans()),
    st.tuples(st.just("answer"), contents, st.just(False)),
    st.tuples(st.just("undo"), st.integers(0, 3)),
    st.tuples(st.just("fork")),
    st.tuples(st.just("repair")),
    st.tuples(st.just("compact"), st.integers(10, 200)),
)


def perform(conversation: Conversation, operation: tuple[Any, ...]) -> Conversation:
    """Do one operation; one that is refused must change nothing."""
    name, *values = operation
    before = conversation.turns, conversation.open_calls
    try:
        match name:
            case "answer":
                content, is_error = values
                for call in conversation.open_calls[:1]:
                    conversation.add_tool_results([ToolResult(call.id, content, is_error)])
            case "fork":
                return conversation.fork()
            case "repair":
                return conversation.repair()[0]
            case "compact":
                return conversation.compact(*values, result_limit=20)
            case _:
                getattr(conversation, name)(*values)
    except AntiphonError:
        assert (conversation.turns, conversation.open_calls) == before
    return conversation


@st.composite
def conversations(draw: st.DrawFn, size: int = 12) -> Conversation:
    """A conversation that any sequence of public operations may lead to."""
    tools = draw(st.sampled_from([(), TOOLS]))
    conversation = Conversation(draw(any_text), tools, auto_assistant_tool_calls=draw(st.booleans()))
    for operation in draw(st.lists(operations, max_size=size)):
        conversation = perform(conversation, operation)
    return conversation


@st.composite
def ready_conversations(draw: st.DrawFn) -> Conversation:
    """The same, made ready to be sent."""
    conversation, _ = draw(conversations()).repair()
    if not conversation.ready():
        conversation.add_user("go on")
    assert conversation.ready()
    return conversation


_NASTY = [
    HOSTILE,
    "\x1b]0;title\x07",
    "\x1bP",
    "\x9b31m",
    "[/]",
    "[link=https://evil.example]x",
    ":skull:",
    "![x](y)",
    "> " * 30 + "deep",
    "1. " * 30 + "deep",
    "| a |\n|--|\n| b |",
    "```\x1b\ncode",
    "\t\tx",
    "日本語" * 20,
    "\u0301" * 50,
    "👨\u200d👩\u200d👧\ufe0f",
    "\r\n\r",
    "\n" * 60,
    "@@ -1 +1 @@\n-a\n+b",
    "x" * 5000,
]
#: Text that a screen could obey, be flooded by, or lay out wrongly.
# Taken by its place: a strategy that is made of the texts themselves is described by all of them, again and again.
nasty = any_text | st.integers(0, len(_NASTY) - 1).map(lambda place: _NASTY[place])
_values = json_values | nasty
_FIELDS = (
    *("content", "text", "path", "original", "modified", "hunks", "entries", "rows", "columns", "base64", "url", "alt"),
    *("command", "output", "exitCode", "dropped", "message", "details", "question", "options", "answer", "branch"),
    *("ahead", "behind", "staged", "conflicted", "untracked", "size", "name", "type", "key", "label", "align", "lines"),
    "truncated",
)
_objects = st.dictionaries(st.sampled_from(_FIELDS) | nasty, _values, max_size=5)
#: Data that has the shape its kind promises, with anything in it.
_shapes = st.one_of(
    st.fixed_dictionaries({"content": nasty}),
    st.fixed_dictionaries({"path": nasty, "original": nasty, "modified": nasty}),
    st.fixed_dictionaries(
        {"hunks": st.lists(st.fixed_dictionaries({"lines": st.lists(_values, max_size=3)}), max_size=2)}
    ),
    st.fixed_dictionaries({"path": nasty, "entries": st.lists(_objects, max_size=4)}),
    st.fixed_dictionaries({"columns": st.lists(_objects, max_size=4), "rows": st.lists(_objects, max_size=4)}),
    st.fixed_dictionaries({"url": nasty, "base64": nasty, "alt": nasty}),
    st.fixed_dictionaries({"command": nasty, "output": nasty, "exitCode": _values}),
    st.fixed_dictionaries({"message": nasty, "details": _values}),
    st.fixed_dictionaries({"question": nasty, "options": _values, "answer": nasty}),
    st.fixed_dictionaries({"branch": nasty, "staged": _values, "modified": st.lists(nasty, max_size=3)}),
)
hints = st.builds(
    Display,
    st.none() | st.sampled_from(VIEWS),
    nasty | st.sampled_from(["python", "json", "html", "diff"]),
    st.booleans() | st.none(),
    st.none() | st.integers(1, 50),
    st.none() | st.floats(allow_nan=False),
    st.dictionaries(st.sampled_from(_FIELDS) | nasty, st.sampled_from(FIELD_TYPES), max_size=4),
)
_MIME_TYPES = ("text/plain", "text/markdown", "text/html", "text/x-diff", "image/png", "application/json", "")
_kinds = st.sampled_from(sorted({"mcp.result", "git.diff", *(result.kind for result in CASES.values())}))
results = st.builds(
    Result, _kinds, _shapes | _objects | _values, nasty, st.sampled_from(_MIME_TYPES) | nasty, hints, nasty
)
#: Results with others inside them.
nested_results = st.recursive(
    results,
    lambda inner: st.builds(
        Result, _kinds, st.lists(inner | _values, max_size=3) | st.dictionaries(nasty, inner), nasty
    ),
    max_leaves=5,
)
