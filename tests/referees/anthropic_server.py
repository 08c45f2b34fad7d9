"""A server of the Messages API that keeps to its documentation of November 2026 (sources in `anthropic_tables`)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

from tests.referees.anthropic_messages import check_messages, get_blocks
from tests.referees.anthropic_settings import check_settings
from tests.referees.anthropic_tables import MODELS, READS, VERSIONS, find_model
from tests.referees.forms import choose_form
from tests.referees.loopback import LoopbackServer, Reply
from tests.referees.prompts import render, strip_marks
from tests.referees.refusal import Refusal, refuse_unless
from tests.referees.script import Answer, Line
from tests.referees.sdk_types import judge

_SECRET = b"only this server can sign"
BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def check_request(
    body: Mapping[str, Any], betas: Collection[str] | None, version: str
) -> tuple[str, Mapping[str, Any]]:
    """Raise a Refusal for what the documentation refuses without looking at signatures; return the model."""
    found = find_model(body.get("model"))
    if found is None:
        raise Refusal(f"model: {body.get('model')}", status=404, kind="not_found_error")
    name, model = found
    check_settings(body, name, model, betas, version)
    check_messages(body, name, model, betas, version)
    return found


def check_types(body: Mapping[str, Any]) -> None:
    """Raise a Refusal unless the SDK's types accept the body."""
    judge(MessageCreateParamsStreaming if body.get("stream") else MessageCreateParamsNonStreaming, body)


class AnthropicServer(LoopbackServer):
    """Serve `POST /v1/messages`, with signed thinking that is bound to its prefix."""

    def __init__(self, script: Iterable[Line] = ()) -> None:
        super().__init__(script)
        self._count = 0
        self._paused: dict[str, str] = {}
        self._containers: set[str] = set()
        self._compactions: set[str] = set()
        #: Thinking blocks that were dropped or unreadable, by request.
        self.transformations: list[list[Mapping[str, Any]]] = []

    @property
    def url(self) -> str:
        """Return the base address that clients take."""
        return self.root

    def count_dropped(self) -> int:
        return sum("prefix" in change["reason"] for changes in self.transformations for change in changes)

    def word_error(self, refusal: Refusal) -> Mapping[str, Any]:
        return {"type": "error", "error": {"type": refusal.kind, "message": refusal.message}, "request_id": "req_1"}

    def reply(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Reply:
        refuse_unless(path == "/v1/messages", f"no such path: {path}")
        authorized = headers.get("x-api-key") or headers.get("authorization", "").startswith("Bearer ")
        if not authorized:
            raise Refusal("invalid x-api-key", status=401, kind="authentication_error")
        version = headers.get("anthropic-version", "")
        refuse_unless(version in VERSIONS, f'anthropic-version: "{version}" is not a valid version')
        betas = [each.strip() for each in headers.get("anthropic-beta", "").split(",") if each.strip()]
        name, model = check_request(body, betas, version)
        check_types(body)
        self._check_pause(body)
        self._check_compactions(body)
        changes = self._check_thinking(body, name, model)
        self._note_prompt(body, model)
        answer = self.next_answer(body)
        self.transformations.append(changes)
        return self._write_reply(body, name, model, answer, changes)

    # What the server remembers: paused turns and containers.

    def _check_pause(self, body: Mapping[str, Any]) -> None:
        last = body["messages"][-1]
        container = body.get("container")
        identity = container.get("id") if isinstance(container, Mapping) else container
        if identity is not None and identity not in self._containers:
            raise Refusal("Container not found", status=404, kind="not_found_error")
        if last["role"] != "assistant" or find_model(body["model"])[1]["prefill"]:  # type: ignore[index]
            return
        blocks = _render_blocks(get_blocks(last["content"]))
        words = "This model does not support assistant message prefill. The conversation must end with a user message."
        refuse_unless(blocks in self._paused, words)
        words = "tools: a paused turn must be continued with the same tools"
        refuse_unless(self._paused[blocks] == render(body.get("tools")), words)

    def _check_compactions(self, body: Mapping[str, Any]) -> None:
        """Refuse compaction blocks that do not come back as they were sent."""
        for at, message in enumerate(body["messages"]):
            for number, block in enumerate(get_blocks(message.get("content"))):
                known = block.get("type") != "compaction" or _render_blocks([block]) in self._compactions
                refuse_unless(known, f"messages.{at}.content.{number}: compaction block: signature_invalid")

    # Thinking: each signature covers the text, the model, the prefix and the thinking block before it.

    def _check_thinking(self, body: Mapping[str, Any], name: str, model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        binding = (body.get("thinking") or {}).get("block_binding") or {}
        drops = binding.get("prefix_mismatch_behavior") == "drop_block"
        changes: list[Mapping[str, Any]] = []
        before, prefix = "", _Prefix(body)
        last = max((at for at, each in enumerate(body["messages"]) if each["role"] == "assistant"), default=-1)
        for at, message in enumerate(body["messages"]):
            for number, block in enumerate(get_blocks(message.get("content"))):
                where = f"messages.{at}.content.{number}"
                if block.get("type") == "thinking":
                    problem = self._judge_block(block, name, model, prefix, before, where, at == last)
                    if problem == "prefix_binding_mismatch":
                        refuse_unless(drops, f"{where}: {BOUND}")
                    if problem:
                        changes.append({"type": "thinking_dropped", "path": where, "reason": problem})
                    else:
                        before = block["signature"]
                prefix.add(message["role"], block)
        return changes

    def _judge_block(
        self,
        block: Mapping[str, Any],
        name: str,
        model: Mapping[str, Any],
        prefix: _Prefix,
        before: str,
        where: str,
        is_last: bool,
    ) -> str:
        signed = _read_signature(block["signature"])
        refuse_unless(signed, f"{where}: Invalid `signature` in `thinking` block")
        if signed["text"] != _hash(block["thinking"]):
            latest = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
            words = latest if is_last else "Invalid `signature` in `thinking` block"
            raise Refusal(f"{where}: {words}")
        if signed["model"] not in {name, *READS.get(name, ())}:
            return "model_binding_mismatch"
        moved = before and signed["before"] != _hash(before)
        if model["bound"] and (signed["prefix"] != prefix.digest or moved):
            return "prefix_binding_mismatch"
        return ""

    def _note_prompt(self, body: Mapping[str, Any], model: Mapping[str, Any]) -> None:
        config = body.get("output_config") or {}
        # A change of tool_choice or of thinking on/off loses the message level of the cache (A-skill, A-sdk).
        level = {"tool_choice": body.get("tool_choice") or {"type": "auto"}, "thinking": _is_thinking(body, model)}
        pieces = [render(tool) for tool in body.get("tools") or ()]
        pieces += [render(block) for block in get_blocks(body.get("system"))]
        pieces += [render({"format": config.get("format")}), render(level)]
        for message in body["messages"]:
            for block in get_blocks(message.get("content")) or [message.get("output_config")]:
                pieces.append(message["role"] + render(block))
        self.ledger.note(str(body["model"]), _find_first_words(body["messages"]), pieces)

    # Replies.

    def _write_reply(
        self,
        body: Mapping[str, Any],
        name: str,
        model: Mapping[str, Any],
        answer: Answer,
        changes: list[Mapping[str, Any]],
    ) -> Reply:
        self._count += 1
        content = self._write_content(body, name, model, answer)
        stop = answer.stop or ("tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn")
        size = len(render(body)) // 4
        message: dict[str, Any] = {
            "id": f"msg_{self._count:04}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "stop_details": None,
            "container": None,
            "input_transformations": changes,
            "usage": {
                "input_tokens": size,
                "output_tokens": 20,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 0,
                "service_tier": "standard",
            },
        }
        message.update(answer.extra)
        if message["container"]:
            self._containers.add(message["container"]["id"])
        self._compactions |= {_render_blocks([block]) for block in content if block["type"] == "compaction"}
        if stop == "pause_turn":
            self._paused[_render_blocks(content)] = render(body.get("tools"))
        if stop == "refusal" and not message["stop_details"]:
            message["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "This was declined."}
        return Reply(message, tuple(_stream(message)) if body.get("stream") else ())

    def _write_content(
        self, body: Mapping[str, Any], name: str, model: Mapping[str, Any], answer: Answer
    ) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = []
        if _is_thinking(body, model) and answer.stop != "compaction":
            content.append(self._think(body, name, model))
        content += [dict(block) for block in answer.blocks]
        text, calls = answer.text, [(call.name, call.args) for call in answer.calls]
        if answer.gives_value:
            tools = _list_tools(body)
            form = (body.get("output_config") or {}).get("format")
            text, calls = choose_form(answer.value, form and form["schema"], tools, _find_last_words(body["messages"]))
        if text:
            content.append({"type": "text", "text": text, "citations": None})
        for number, (called, args) in enumerate(calls):
            content.append(
                {"type": "tool_use", "id": f"toolu_{self._count:04}{number}", "name": called, "input": dict(args)}
            )
        return content

    def _think(self, body: Mapping[str, Any], name: str, model: Mapping[str, Any]) -> dict[str, Any]:
        thinking = body.get("thinking") or {}
        text = "" if thinking.get("display", model["display"]) == "omitted" else f"Thought {self._count}."
        prefix, before = _Prefix(body), ""
        for message in body["messages"]:
            for block in get_blocks(message.get("content")):
                prefix.add(message["role"], block)
                if block.get("type") == "thinking":
                    before = block["signature"]
        return {"type": "thinking", "thinking": text, "signature": _sign(name, text, prefix.digest, before)}


class _Prefix:
    """Hash system, tools and the blocks so far; thinking is left out, so that it may go from the front."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._start = render([get_blocks(body.get("system")), body.get("tools") or []])
        self.digest = _hash(self._start)

    def add(self, role: str, block: Any) -> None:
        kind = block.get("type")
        if kind == "compaction":  # A-pt: with a compaction block the prefix begins there.
            self.digest = _hash(self._start + render(block))
        elif kind not in ("thinking", "redacted_thinking"):
            self.digest = _hash(self.digest + role + render(_drop_nulls(block)))


def _render_blocks(blocks: list[Any]) -> str:
    return render([_drop_nulls(block) for block in blocks])


def _drop_nulls(block: Any) -> Any:
    return {key: value for key, value in strip_marks(block).items() if value is not None}


def _is_thinking(body: Mapping[str, Any], model: Mapping[str, Any]) -> bool:
    kind = (body.get("thinking") or {}).get("type")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool") or kind == "disabled":
        return False
    if kind == "between_tools":  # A-sdk: only updates between tool calls come as thinking.
        return any(block.get("type") == "tool_result" for block in get_blocks(body["messages"][-1].get("content")))
    return kind in ("adaptive", "enabled") or (kind is None and model["default"] != "off")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _sign(name: str, text: str, prefix: str, before: str) -> str:
    claims = json.dumps({"model": name, "text": _hash(text), "prefix": prefix, "before": _hash(before)})
    mark = hmac.new(_SECRET, claims.encode(), "sha256").hexdigest()
    return base64.b64encode(json.dumps([claims, mark]).encode()).decode()


def _read_signature(signature: str) -> dict[str, str]:
    try:
        claims, mark = json.loads(base64.b64decode(signature, validate=True))
    except (ValueError, TypeError):
        return {}
    genuine = hmac.compare_digest(hmac.new(_SECRET, claims.encode(), "sha256").hexdigest(), mark)
    return json.loads(claims) if genuine else {}


def _list_tools(body: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the schemas of the tools that were declared, at the top or in the conversation."""
    every = list(body.get("tools") or ())
    for message in body["messages"]:
        for block in get_blocks(message.get("content")):
            if block.get("type") == "tool_addition":
                every.append(block["tool"].get("definition") or {})
    return {tool["name"]: tool.get("input_schema", {}) for tool in every if "name" in tool}


def _find_first_words(messages: list[Any]) -> str:
    for message in messages:
        for block in get_blocks(message.get("content")):
            if message["role"] == "user" and block.get("type") == "text":
                return str(block["text"])
    return ""


def _find_last_words(messages: list[Any]) -> str:
    texts = [
        block["text"]
        for message in messages
        for block in get_blocks(message.get("content"))
        if block.get("type") == "text" and message["role"] != "assistant"
    ]
    return "\n".join(texts)


def _stream(message: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    start = {**message, "content": [], "stop_reason": None, "stop_details": None}
    yield "message_start", {"type": "message_start", "message": start}
    for at, block in enumerate(message["content"]):
        empty, deltas = _split_block(block)
        yield "content_block_start", {"type": "content_block_start", "index": at, "content_block": empty}
        yield "ping", {"type": "ping"}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": at, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": at}
    delta = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details", "container")}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield "message_stop", {"type": "message_stop"}


def _split_block(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    kind = block["type"]
    if kind == "text":
        half = len(block["text"]) // 2
        parts = [each for each in (block["text"][:half], block["text"][half:]) if each]
        cites = [{"type": "citations_delta", "citation": each} for each in block.get("citations") or ()]
        return {**block, "text": "", "citations": None}, cites + [
            {"type": "text_delta", "text": each} for each in parts
        ]
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}] if block["thinking"] else []
        return {**block, "thinking": "", "signature": ""}, [
            *deltas,
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    if kind in ("tool_use", "server_tool_use"):
        text = json.dumps(block["input"])
        parts = ["", text[: len(text) // 2], text[len(text) // 2 :]]
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": each} for each in parts]
    return dict(block), []


def list_models() -> list[str]:
    """Return the models that the server knows."""
    return list(MODELS)
