"""A server of OpenAI's Responses and Chat Completions that keeps to their documentation of November 2026."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from typing import Any

from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params

from tests.referees.forms import choose_form
from tests.referees.loopback import LoopbackServer, Reply
from tests.referees.openai_chat import check_chat
from tests.referees.openai_events import stream_chat, stream_response
from tests.referees.openai_responses import check_responses, get_items, get_type
from tests.referees.prompts import render
from tests.referees.refusal import Refusal, refuse_unless
from tests.referees.script import Answer, Line
from tests.referees.sdk_types import judge

_SECRET = b"only this server can read"


def check_types(path: str, body: Mapping[str, Any]) -> None:
    """Raise a Refusal unless the SDK's types accept the body."""
    params: Any = chat_params.CompletionCreateParamsNonStreaming
    streaming: Any = chat_params.CompletionCreateParamsStreaming
    if path.endswith("/responses"):
        params, streaming = (
            responses_params.ResponseCreateParamsNonStreaming,
            responses_params.ResponseCreateParamsStreaming,
        )
    judge(streaming if body.get("stream") else params, _complete_tools(body))


def _complete_tools(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the body with `strict` and `parameters` in its functions: the SDK requires what the API only defaults."""
    if "tools" not in body:
        return body
    defaults = {"strict": None, "parameters": None}
    tools = [
        {**defaults, **tool} if tool.get("type") == "function" and "name" in tool else tool for tool in body["tools"]
    ]
    return {**body, "tools": tools}


class OpenAIServer(LoopbackServer):
    """Serve `POST /v1/responses`, `GET /v1/responses/{id}` and `POST /v1/chat/completions`."""

    def __init__(self, script: Iterable[Line] = ()) -> None:
        super().__init__(script)
        self._count = 0
        self._stored: dict[str, tuple[list[Any], dict[str, Any]]] = {}
        self._polls: dict[str, list[dict[str, Any]]] = {}
        #: The item that each generated item needs before it when it is sent back with its id (R4).
        self._needs: dict[str, str] = {}
        self._unstored: set[str] = set()
        self.transformations: list[list[Mapping[str, Any]]] = []

    @property
    def url(self) -> str:
        """Return the base address that clients take."""
        return self.root + "/v1"

    def count_dropped(self) -> int:
        return sum("prefix" in change["reason"] for changes in self.transformations for change in changes)

    def word_error(self, refusal: Refusal) -> Mapping[str, Any]:
        kind = "rate_limit_exceeded" if refusal.status == 429 else refusal.kind
        code = refusal.code or ("context_length_exceeded" if "context_length_exceeded" in refusal.message else None)
        return {"error": {"message": refusal.message, "type": kind, "param": refusal.param or None, "code": code}}

    def reply(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Reply:
        if not headers.get("authorization", "").startswith("Bearer "):
            raise Refusal("You didn't provide an API key.", status=401, code="invalid_api_key")
        if path.startswith("/v1/responses/"):
            return self._poll(path.rsplit("/", 1)[1])
        if path == "/v1/responses":
            return self._reply_responses(path, body)
        refuse_unless(path == "/v1/chat/completions", f"Invalid URL (POST {path})")
        check_chat(body)
        check_types(path, body)
        self._note_chat(body)
        return self._write_chat(body, self.next_answer(body))

    # Responses.

    def _reply_responses(self, path: str, body: dict[str, Any]) -> Reply:
        before = body.get("previous_response_id")
        if before is not None and before not in self._stored:
            raise Refusal(f"Previous response with id '{before}' not found.", code="previous_response_not_found")
        earlier = [*self._stored[before][0], *self._stored[before][1]["output"]] if before else []
        items = earlier + get_items(body.get("input"))
        name, model = check_responses(body, items)
        check_types(path, body)
        self._check_neighbours(items)
        changes = self._check_reasoning(items, body, name, model)
        self._note_responses(body, items)
        answer = self.next_answer(body)
        self.transformations.append(changes)
        return self._write_response(body, items, name, model, answer, changes)

    def _check_neighbours(self, items: list[Any]) -> None:
        """Refuse a generated item that is sent with its id and without its reasoning (R4), and unstored ids (R11)."""
        present = {item.get("id") for item in items}
        for item in items:
            identity, kind = str(item.get("id")), get_type(item)
            bare = kind == "item_reference" or (kind == "reasoning" and not item.get("encrypted_content"))
            if bare and identity in self._unstored:
                raise Refusal(
                    f"Item with id '{identity}' not found. Items are not persisted when `store` is set to false. Try "
                    "again with `store` set to true, or remove this item from your input."
                )
            needed = self._needs.get(identity)
            kind = kind if kind == "message" else f"of type '{kind}'"
            words = f"Item '{identity}' {kind} was provided without its required 'reasoning' item: '{needed}'."
            refuse_unless(needed is None or needed in present, words, param="input")

    def _check_reasoning(
        self, items: list[Any], body: Mapping[str, Any], name: str, model: Mapping[str, Any]
    ) -> list[Mapping[str, Any]]:
        changes: list[Mapping[str, Any]] = []
        digest = _start_digest(body)
        for item in items:
            sealed = item.get("encrypted_content") if get_type(item) == "reasoning" else None
            if sealed is None:
                digest = digest if get_type(item) == "reasoning" else _hash(digest + _render_item(item))
                continue
            claims = _unseal(sealed)
            words = f"The encrypted content {str(sealed)[:8]}... could not be verified."
            refuse_unless(claims, words, code="invalid_encrypted_content")
            reason = "model_mismatch" if claims["model"] != name else ""
            if not reason and model["generation"] >= 6 and claims["prefix"] != digest:
                reason = "prefix_mismatch"
            if reason:
                changes.append({"id": item.get("id"), "action": "removed", "reason": reason})
        return changes

    def _note_responses(self, body: Mapping[str, Any], items: list[Any]) -> None:
        text, reasoning = body.get("text") or {}, body.get("reasoning") or {}
        settings = {
            "format": text.get("format"),
            "verbosity": text.get("verbosity"),
            "effort": reasoning.get("effort"),
            "parallel": body.get("parallel_tool_calls"),
            "tier": body.get("service_tier"),
            "key": body.get("prompt_cache_key"),
        }
        pieces = [render(tool) for tool in body.get("tools") or ()]
        pieces += [render(body["instructions"])] if body.get("instructions") else []
        pieces += [render(settings), *(piece for item in items for piece in _split_item(item))]
        self.ledger.note(str(body["model"]), _find_first_words(items), pieces)

    def _write_response(
        self,
        body: Mapping[str, Any],
        items: list[Any],
        name: str,
        model: Mapping[str, Any],
        answer: Answer,
        changes: list[Mapping[str, Any]],
    ) -> Reply:
        self._count += 1
        effort, form = _find_settings(body, items, model)
        output = self._write_output(body, items, name, effort, form, model, answer)
        status, details, error = _find_status(answer.stop)
        if status == "failed":
            output = []
        identity = f"resp_{self._count:04}"
        size = len(render(items)) // 4
        response: dict[str, Any] = {
            "id": identity,
            "object": "response",
            "created_at": 1_790_000_000,
            "status": status,
            "error": error,
            "incomplete_details": details,
            "instructions": body.get("instructions"),
            "model": body["model"],
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": body.get("previous_response_id"),
            "store": body.get("store", True),
            "reasoning": {"effort": effort, "summary": None},
            "text": body.get("text") or {"format": {"type": "text"}},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": body.get("tools") or [],
            "temperature": 1.0,
            "top_p": 1.0,
            "truncation": "disabled",
            "metadata": {},
            "background": bool(body.get("background")),
            "input_transformations": changes,
            "usage": {
                "input_tokens": size,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": size + 20,
            },
        }
        response.update(answer.extra)
        if body.get("store") is not False:
            self._stored[identity] = (items, response)
        else:
            self._unstored |= {each["id"] for each in output}
        if status == "queued" and not body.get("stream"):
            refuse_unless(body.get("background"), "scripted 'queued' without 'background'")
            done = {**response, "status": "completed"}
            self._polls[identity] = [{**response, "status": "in_progress", "output": []}, done]
            self._stored[identity] = (items, done)
            return Reply({**response, "output": []})
        if status == "queued":
            response["status"] = "completed"
        return Reply(response, tuple(stream_response(response)) if body.get("stream") else ())

    def _write_output(
        self,
        body: Mapping[str, Any],
        items: list[Any],
        name: str,
        effort: str,
        form: Mapping[str, Any] | None,
        model: Mapping[str, Any],
        answer: Answer,
    ) -> list[dict[str, Any]]:
        number = f"{self._count:04}"
        text, calls = answer.text, [(call.name, call.args) for call in answer.calls]
        if answer.gives_value:
            text, calls = choose_form(answer.value, form, _list_tools(body, items), _find_words(items))
        output: list[dict[str, Any]] = []
        if effort not in ("", "none"):
            digest = _start_digest(body)
            for item in items:
                digest = digest if get_type(item) == "reasoning" else _hash(digest + _render_item(item))
            sealed = _seal({"model": name, "prefix": digest})
            output.append({"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": sealed})
        for at, block in enumerate(answer.blocks):
            output.append({"id": f"msg_{number}b{at}", **block})
        if text:
            part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            message = {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
            phase = {"phase": "commentary" if calls else "final_answer"} if model["generation"] >= 5.4 else {}
            output.append({**message, **phase})
        status = "incomplete" if answer.stop == "max_output_tokens" else "completed"
        for at, (called, args) in enumerate(calls):
            call_id = f"call_{number}{at}"
            arguments = json.dumps(dict(args))
            arguments = arguments[:-1] if status == "incomplete" else arguments
            output.append(
                {
                    "type": "function_call",
                    "id": f"fc_{number}{at}",
                    "call_id": call_id,
                    "name": called,
                    "arguments": arguments,
                    "status": status,
                }
            )
        if output and output[0]["type"] == "reasoning":
            self._needs |= {each["id"]: output[0]["id"] for each in output[1:]}
        return output

    def _poll(self, identity: str) -> Reply:
        if identity not in self._stored:
            raise Refusal(f"Response with id '{identity}' not found.", status=404)
        waiting = self._polls.get(identity, [])
        return Reply(waiting.pop(0) if waiting else self._stored[identity][1])

    # Chat Completions.

    def _note_chat(self, body: Mapping[str, Any]) -> None:
        settings = {
            "format": body.get("response_format"),
            "effort": body.get("reasoning_effort"),
            "verbosity": body.get("verbosity"),
            "parallel": body.get("parallel_tool_calls"),
        }
        pieces = [render(tool) for tool in body.get("tools") or ()] + [render(settings)]
        pieces += [piece for message in body["messages"] for piece in _split_item(message)]
        self.ledger.note(str(body["model"]), _find_first_words(body["messages"]), pieces)

    def _write_chat(self, body: Mapping[str, Any], answer: Answer) -> Reply:
        self._count += 1
        text, calls = answer.text, [(call.name, call.args) for call in answer.calls]
        if answer.gives_value:
            form = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
            functions = [tool["function"] for tool in body.get("tools") or () if tool.get("type") == "function"]
            tools = {each["name"]: each.get("parameters") or {} for each in functions}
            text, calls = choose_form(answer.value, form, tools, _find_words(body["messages"]))
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": answer.extra.get("refusal")}
        if calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{self._count:04}{at}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(dict(args))},
                }
                for at, (name, args) in enumerate(calls)
            ]
        finish = answer.stop or ("tool_calls" if calls else "stop")
        size = len(render(body)) // 4
        completion: dict[str, Any] = {
            "id": f"chatcmpl-{self._count:04}",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": {"prompt_tokens": size, "completion_tokens": 20, "total_tokens": size + 20},
        }
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return Reply(completion, tuple(stream_chat(completion, with_usage)) if body.get("stream") else ())


def _find_status(stop: str) -> tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]:
    if stop == "queued":
        return "queued", None, None
    if stop.startswith("failed:"):
        return "failed", None, {"code": stop.split(":")[1], "message": "The server had an error."}
    return ("incomplete", {"reason": stop}, None) if stop else ("completed", None, None)


def _find_settings(
    body: Mapping[str, Any], items: list[Any], model: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any] | None]:
    """Return the effort and the schema in force; the last configuration update of each wins."""
    effort = (body.get("reasoning") or {}).get("effort") or model["default"]
    form = (body.get("text") or {}).get("format") or {}
    for item in items:
        if get_type(item) == "configuration_update":
            effort = (item.get("reasoning") or {}).get("effort") or effort
            form = (item.get("text") or {}).get("format") or form
    return effort, form.get("schema") if form.get("type") == "json_schema" else None


def _list_tools(body: Mapping[str, Any], items: list[Any]) -> dict[str, Mapping[str, Any]]:
    every = list(body.get("tools") or ())
    for item in items:
        if get_type(item) == "additional_tools":
            every += item["tools"]
    return {tool["name"]: tool.get("parameters") or {} for tool in every if "name" in tool}


def _render_item(item: Any) -> str:
    """Return the canonical text of an item; ids and status are no part of the prompt."""
    content = item.get("content")
    if get_type(item) == "message" and isinstance(content, str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        item = {**item, "content": [{"type": kind, "text": content}]}
    if get_type(item) == "message":
        parts = [{k: v for k, v in part.items() if k not in ("annotations", "logprobs")} for part in item["content"]]
        item = {**item, "content": parts}
    kept = {key: value for key, value in item.items() if key not in ("id", "status", "type") and value is not None}
    return get_type(item) + render(kept)


def _split_item(item: Any) -> list[str]:
    """Return one piece for each content part of a message, with all that stands beside it; else one for the item."""
    content = item.get("content")
    if get_type(item) != "message" or not isinstance(content, list) or item.get("tool_calls"):
        return [_render_item(item)] if "type" in item or "call_id" in item else [_render_message(item)]
    return [_render_item({**item, "content": [part]}) for part in content]


def _render_message(message: Any) -> str:
    """Return the canonical text of a message whose content is a string or absent."""
    text = message.get("content")
    if isinstance(text, str) and not message.get("tool_calls"):
        return _render_item(message)
    return render({key: value for key, value in message.items() if value is not None})


def _start_digest(body: Mapping[str, Any]) -> str:
    return _hash(render([body.get("tools") or [], body.get("instructions")]))


def _find_first_words(items: list[Any]) -> str:
    for item in items:
        if item.get("role") == "user":
            content = item["content"]
            return content if isinstance(content, str) else "".join(part.get("text", "") for part in content[:1])
    return ""


def _find_words(items: list[Any]) -> str:
    words: list[str] = []
    for item in items:
        if item.get("role") in ("user", "developer", "system"):
            content = item.get("content") or ""
            words += [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(words)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _seal(claims: Mapping[str, str]) -> str:
    text = json.dumps(claims)
    mark = hmac.new(_SECRET, text.encode(), "sha256").hexdigest()
    return "gAAA" + base64.b64encode(json.dumps([text, mark]).encode()).decode()


def _unseal(sealed: str) -> dict[str, str]:
    try:
        text, mark = json.loads(base64.b64decode(sealed.removeprefix("gAAA"), validate=True))
    except (ValueError, TypeError):
        return {}
    genuine = hmac.compare_digest(hmac.new(_SECRET, text.encode(), "sha256").hexdigest(), mark)
    return json.loads(text) if genuine else {}
