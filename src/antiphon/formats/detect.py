"""Detection of a file's format by the parts in it, never by what is missing.

Each format has signs: fields and kinds of parts that only it has. All messages must be of the same
format, so that a few foreign messages cannot change the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_list, as_object, as_string
from antiphon.conversation.serialization import FORMAT
from antiphon.errors import FormatError
from antiphon.formats.document import HistoryDocument
from antiphon.formats.langchain import expand_short_message
from antiphon.wire import APIS, detect_api
from antiphon.wire.apis import PLAIN_API

_LANGCHAIN_TYPES = frozenset(("human", "ai", "system", "tool", "function", "chat", "remove", "developer", "generic"))
_CLAUDE_CODE_TYPES = frozenset(("user", "assistant", "summary", "system"))
_CODEX_TYPES = frozenset(("session_meta", "response_item", "event_msg", "turn_context", "compacted"))
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


def detect_document(document: HistoryDocument) -> tuple[str, HistoryDocument]:
    """Return the format of a file and where in it the history is. Raise FormatError if there is none."""
    waiting = [document]
    while waiting:
        found = waiting.pop(0)
        if name := detect_format(found.body):
            return name, found
        waiting += found.inner()
    raise FormatError(
        "unknown history format: expected messages of Anthropic, OpenAI Chat, OpenAI Responses,"
        " Gemini, pydantic-ai, LangChain and the Vercel AI SDK, for sessions of Claude Code and Codex and for saved"
        f" conversations of its own; found {_describe_body(document.body)}"
    )


def detect_format(body: Any) -> str:
    """Return the name of a body's format, or ""."""
    if as_object(body).get("format") == FORMAT:
        return "antiphon"
    messages = _get_messages(body)
    for name, is_sign in _SIGNS.items():
        if messages and all(map(is_sign, messages)):
            return name
    if messages and any(map(_is_session_line, messages)):
        return _detect_session(messages)
    # A body with a framework's sign belongs to no API, even if another message is not understood.
    if any(is_sign(message) for message in messages for is_sign in (_is_pydantic_ai, _is_langchain)):
        return ""
    if any(map(_is_vercel, messages)) and all(as_string(message.get("role")) for message in messages):
        return "vercel"
    try:
        found = detect_api(body)
    except FormatError:
        return ""
    top = as_object(body)
    if found != PLAIN_API or APIS[PLAIN_API].history.field in top:
        return found
    # Messages of Chat Completions in the field of another API are still meant for that one.
    forms = {spec.name: spec.history for spec in APIS.values()}
    return next((name for name, form in forms.items() if form.allows_plain and as_array(top.get(form.field))), found)


def _get_messages(body: Any) -> list[dict[str, Any]]:
    top = as_object(body)
    given = as_array(top.get("messages")) if "messages" in top else as_array(body) or [top]
    return [as_object(message) for message in map(expand_short_message, given) if as_object(message)]


def _is_pydantic_ai(message: dict[str, Any]) -> bool:
    if message.get("kind") not in ("request", "response"):
        return False
    parts = as_array(message.get("parts"))
    return isinstance(message.get("parts"), list) and all(
        "part_kind" in as_object(p) or "partKind" in as_object(p) for p in parts
    )


def _is_langchain(message: dict[str, Any]) -> bool:
    if "lc_kwargs" in message:
        return True
    if message.get("lc") == 1:
        names = as_array(message.get("id"))
        return message.get("type") == "constructor" and bool(names) and "Message" in as_string(names[-1])
    kind = as_string(message.get("type"))
    if not (kind in _LANGCHAIN_TYPES or kind.endswith("MessageChunk")):
        return False
    inner = message.get("data") if isinstance(message.get("data"), dict) else message
    return "content" in as_object(inner) and not ("role" in message and "data" not in message)


def _is_vercel(message: dict[str, Any]) -> bool:
    """Return whether this is a UI message (parts with a type), or a model message with parts only the SDK
    has.
    """
    if message.get("role") not in ("user", "assistant", "system", "tool", "data"):
        return False
    parts = as_array(message.get("parts"))
    if parts:
        return all(_is_ui_part(as_string(as_object(part).get("type"))) for part in parts)
    if "toolInvocations" in message or "experimental_attachments" in message:
        return True
    kinds = [as_string(as_object(part).get("type")) for part in as_array(message.get("content"))]
    return any(kind in _MODEL_PARTS for kind in kinds)


def _is_ui_part(kind: str) -> bool:
    return kind in _UI_PARTS or kind.startswith(("tool-", "data-"))


def _is_claude_code(message: dict[str, Any]) -> bool:
    return (
        message.get("type") in ("user", "assistant")
        and "role" in as_object(message.get("message"))
        and any(key in message for key in ("uuid", "parentUuid", "sessionId", "isSidechain"))
    )


def _is_codex(line: dict[str, Any]) -> bool:
    return as_string(line.get("type")) in _CODEX_TYPES and isinstance(line.get("payload"), dict)


def _is_old_codex_head(line: dict[str, Any]) -> bool:
    return "type" not in line and "role" not in line and {"id", "timestamp"} <= line.keys()


def _is_session_line(line: dict[str, Any]) -> bool:
    return _is_claude_code(line) or _is_codex(line) or _is_old_codex_head(line)


def _detect_session(lines: list[dict[str, Any]]) -> str:
    """Return the program of a session. Unknown lines are ignored; one known message decides."""
    if any(map(_is_claude_code, lines)):
        return "claude-code"
    if any(map(_is_codex, lines)):
        return "codex"
    items = [line for line in lines[1:] if as_string(line.get("type")) in _CODEX_ITEMS]
    return "codex" if _is_old_codex_head(lines[0]) and items else ""


_SIGNS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "pydantic-ai": _is_pydantic_ai,
    "langchain": _is_langchain,
    "vercel": _is_vercel,
}


def _describe_body(body: Any) -> str:
    if isinstance(body, list):
        items = as_list(cast(object, body))
        first = as_object(items[0]) if items else {}
        what = f", the first with {_describe_fields(first)}" if first else ""
        return f"a list of {len(items)} {'thing' if len(items) == 1 else 'things'}{what}"
    if as_object(body):
        return f"an object with {_describe_fields(as_object(body))}"
    return dump_json(body)[:40]


def _describe_fields(data: dict[str, Any]) -> str:
    names = [f"`{name[:40]}`" for name in list(data)[:8]]
    return ", ".join(names) + (" and more" if len(data) > 8 else "")
