"""What a file is, told by the parts in it and never by what is missing.

Each format has signs: fields and kinds of parts that only it has. A file is recognised where every message is of the
same format, so that a few messages of somebody else's cannot turn a history into another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from antiphon._json import dumps
from antiphon._shape import arr, obj, several, string
from antiphon.conversation.storage import FORMAT
from antiphon.errors import FormatError
from antiphon.formats.document import Document
from antiphon.formats.langchain import untupled
from antiphon.wire import detect

_LANGCHAIN = frozenset(("human", "ai", "system", "tool", "function", "chat", "remove", "developer", "generic"))
_CLAUDE_CODE = frozenset(("user", "assistant", "summary", "system"))
_CODEX = frozenset(("session_meta", "response_item", "event_msg", "turn_context", "compacted"))
_CODEX_ITEMS = frozenset(
    (
        *("message", "reasoning", "function_call", "function_call_output", "local_shell_call"),
        *("custom_tool_call", "custom_tool_call_output", "web_search_call"),
    )
)
_UI_PARTS = frozenset(
    (
        *("text", "reasoning", "tool-invocation", "dynamic-tool", "file", "source", "source-url", "source-document"),
        *("step-start", "custom"),
    )
)
_MODEL_PARTS = frozenset(("tool-call", "tool-result", "tool-approval-request", "tool-approval-response"))


def recognise(document: Document) -> tuple[str, Document]:
    """The format of a file, and where in it the history is; a FormatError says what was found instead."""
    waiting = [document]
    while waiting:
        found = waiting.pop(0)
        if name := format_of(found.body):
            return name, found
        waiting += found.inner()
    raise FormatError(
        "this is no history that Antiphon knows: looked for messages of Anthropic, OpenAI Chat, OpenAI Responses,"
        " Gemini, pydantic-ai, LangChain and the Vercel AI SDK, for sessions of Claude Code and Codex and for saved"
        f" conversations of its own; found {_described(document.body)}"
    )


def format_of(body: Any) -> str:
    """The name of the format a body has, or ""."""
    if obj(body).get("format") == FORMAT:
        return "antiphon"
    messages = _messages(body)
    for name, is_sign in _SIGNS.items():
        if messages and all(map(is_sign, messages)):
            return name
    if messages and any(map(_is_session_line, messages)):
        return _session(messages)
    # What has a sign of a framework is not one of the APIs, even where another message is not understood.
    if any(is_sign(message) for message in messages for is_sign in (_is_pydantic_ai, _is_langchain)):
        return ""
    if any(map(_is_vercel, messages)) and all(string(message.get("role")) for message in messages):
        return "vercel"
    try:
        found = detect(body)
    except FormatError:
        return ""
    # Whoever puts messages of Chat Completions there sends them to Responses all the same.
    return "openai-responses" if found == "openai-chat" and "messages" not in obj(body) and arr(_input(body)) else found


def _input(body: Any) -> Any:
    return obj(body).get("input")


def _messages(body: Any) -> list[dict[str, Any]]:
    top = obj(body)
    given = arr(top.get("messages")) if "messages" in top else arr(body) or [top]
    return [obj(message) for message in map(untupled, given) if obj(message)]


def _is_pydantic_ai(message: dict[str, Any]) -> bool:
    if message.get("kind") not in ("request", "response"):
        return False
    parts = arr(message.get("parts"))
    return isinstance(message.get("parts"), list) and all("part_kind" in obj(p) or "partKind" in obj(p) for p in parts)


def _is_langchain(message: dict[str, Any]) -> bool:
    if "lc_kwargs" in message:
        return True
    if message.get("lc") == 1:
        names = arr(message.get("id"))
        return message.get("type") == "constructor" and bool(names) and "Message" in string(names[-1])
    kind = string(message.get("type"))
    if not (kind in _LANGCHAIN or kind.endswith("MessageChunk")):
        return False
    inner = message.get("data") if isinstance(message.get("data"), dict) else message
    return "content" in obj(inner) and not ("role" in message and "data" not in message)


def _is_vercel(message: dict[str, Any]) -> bool:
    """A message of the user interface (parts with a type), or one for the model with parts that only the SDK has."""
    if message.get("role") not in ("user", "assistant", "system", "tool", "data"):
        return False
    parts = arr(message.get("parts"))
    if parts:
        return all(_is_ui_part(string(obj(part).get("type"))) for part in parts)
    if "toolInvocations" in message or "experimental_attachments" in message:
        return True
    kinds = [string(obj(part).get("type")) for part in arr(message.get("content"))]
    return any(kind in _MODEL_PARTS for kind in kinds)


def _is_ui_part(kind: str) -> bool:
    return kind in _UI_PARTS or kind.startswith(("tool-", "data-"))


def _is_claude_code(message: dict[str, Any]) -> bool:
    return (
        message.get("type") in ("user", "assistant")
        and "role" in obj(message.get("message"))
        and any(key in message for key in ("uuid", "parentUuid", "sessionId", "isSidechain"))
    )


def _is_codex(line: dict[str, Any]) -> bool:
    return string(line.get("type")) in _CODEX and isinstance(line.get("payload"), dict)


def _is_old_codex_head(line: dict[str, Any]) -> bool:
    return "type" not in line and "role" not in line and {"id", "timestamp"} <= line.keys()


def _is_session_line(line: dict[str, Any]) -> bool:
    return _is_claude_code(line) or _is_codex(line) or _is_old_codex_head(line)


def _session(lines: list[dict[str, Any]]) -> str:
    """Sessions hold lines of many kinds, some of them newer than this code; one that speaks decides."""
    if any(map(_is_claude_code, lines)):
        return "claude-code"
    if any(map(_is_codex, lines)):
        return "codex"
    items = [line for line in lines[1:] if string(line.get("type")) in _CODEX_ITEMS]
    return "codex" if _is_old_codex_head(lines[0]) and items else ""


_SIGNS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "pydantic-ai": _is_pydantic_ai,
    "langchain": _is_langchain,
    "vercel": _is_vercel,
}


def _described(body: Any) -> str:
    if isinstance(body, list):
        items = several(cast(object, body))
        first = obj(items[0]) if items else {}
        what = f", the first with {_fields(first)}" if first else ""
        return f"a list of {len(items)} {'thing' if len(items) == 1 else 'things'}{what}"
    if obj(body):
        return f"an object with {_fields(obj(body))}"
    return dumps(body)[:40]


def _fields(data: dict[str, Any]) -> str:
    names = [f"`{name[:40]}`" for name in list(data)[:8]]
    return ", ".join(names) + (" and more" if len(data) > 8 else "")
