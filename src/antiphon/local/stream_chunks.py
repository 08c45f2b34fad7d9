"""Conversion of the runtime's output into chunks of the Chat Completions API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

from antiphon._base.json import load_json, sanitize_unicode
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.errors import BadReply, MalformedJSONError
from antiphon.local.optional_fields import restore_optional_fields
from antiphon.local.prompt_template import LocalPrompt

_ANSWER_START = re.compile(r'\{"answer": ')
_CALL_START = re.compile(r'\{"tool": ("(?:[^"\\]|\\.)*"), "arguments": ')
#: The decodable beginning of a JSON string: no partial escapes or surrogate pairs.
_DECODABLE = re.compile(
    r'(?:[^"\\]|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4})*'
)
#: A high surrogate without its low surrogate.
_LONE_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:[^\\]|\\[^u])")

ChatChunk = dict[str, Any]


class ChunkConverter:
    """Converter of one answer's pieces into chunks: text as text, a call as a call."""

    def __init__(self, prompt: LocalPrompt, model: str) -> None:
        self._prompt = prompt
        self._model = model
        self._said: list[str] = []
        self._head = ""
        self._value: _JsonValueReader | None = None
        self._call = prompt.name
        self._begun = False
        #: Pieces of a typed answer whose optional fields are still to be restored.
        self._typed: list[str] | None = [] if prompt.schema and prompt.form != "native" else None

    def chunks(self, piece: dict[str, Any]) -> Iterator[ChatChunk]:
        """Yield the chunks for one piece of the runtime's stream."""
        if progress := as_object(piece.get("prompt_progress")):
            yield {"model": self._model, "choices": [], "prompt_progress": progress}
            return
        base = {key: piece[key] for key in ("id", "object", "created", "usage") if key in piece}
        base["model"] = self._model
        choices = as_array(piece.get("choices"))
        if self._prompt.form == "native" or not choices:
            yield base | {"choices": choices}
            return
        for delta, finish in self._convert_choice(as_object(choices[0])):
            yield base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    def _convert_choice(self, choice: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
        delta = as_object(choice.get("delta"))
        if thought := as_string(delta.get("reasoning_content")):
            yield {"reasoning_content": thought}, None
        if text := as_string(delta.get("content")):
            self._said.append(text)
            if part := self._buffer_typed(self._part(text)):
                yield part, None
        if finish := as_string(choice.get("finish_reason")):
            self._check(finish)
            if self._typed and (read := self._restore_nulls("".join(self._typed), finish)):
                yield {"content": read}, None
            yield {}, "tool_calls" if self._begun and finish == "stop" else finish

    def _buffer_typed(self, part: dict[str, Any] | None) -> dict[str, Any] | None:
        if self._typed is None or part is None or "content" not in part:
            return part
        self._typed.append(part["content"])
        return None

    def _restore_nulls(self, text: str, finish: str) -> str:
        if finish != "stop":
            return text
        assert self._prompt.schema is not None
        return json.dumps(restore_optional_fields(load_json(text), self._prompt.schema), ensure_ascii=False)

    def _part(self, text: str) -> dict[str, Any] | None:
        """Return what a piece of the answer adds to the message, or None."""
        match self._prompt.form:
            case "call":
                return self._make_call_delta(text)
            case "choice":
                if self._value is None:
                    self._head += text
                    answer, call = _ANSWER_START.match(self._head), _CALL_START.match(self._head)
                    found = answer or call
                    if not found:
                        return None
                    self._call = as_string(load_json(call[1])) if call else ""
                    self._value, text = _JsonValueReader(), self._head[found.end() :]
                new = self._value.feed(text)
                if self._call:
                    return self._make_call_delta(new)
                return {"content": new} if new else None
            case _:
                return {"content": text}

    def _make_call_delta(self, text: str) -> dict[str, Any] | None:
        if self._begun:
            return {"tool_calls": [{"index": 0, "function": {"arguments": text}}]} if text else None
        self._begun = True
        function = {"name": self._call, "arguments": text}
        return {
            "tool_calls": [{"index": 0, "id": f"call_{uuid4().hex[:12]}", "type": "function", "function": function}]
        }

    def _check(self, finish: str) -> None:
        """Raise BadReply if the output is no JSON: the runtime does not report that it left its grammar."""
        if finish != "stop" or not self._prompt.json:
            return
        said = "".join(self._said)
        try:
            load_json(said)
        except MalformedJSONError:
            raise BadReply(f"the local model left its grammar: {said[:80]!r}", provider="local") from None


class _JsonValueReader:
    """Incremental reader of one JSON value: a string is decoded, anything else passed on as written."""

    def __init__(self) -> None:
        self._kind = ""
        self._rest = ""
        self._depth = 0
        self._quoted = self._escaped = self._over = False

    def feed(self, text: str) -> str:
        """Return what can be emitted now, without anything after the value."""
        if not self._kind and text:
            self._kind = "text" if text[0] == '"' else "raw"
            text = text[1:] if self._kind == "text" else text
        if self._over:
            return ""
        return self._read(text) if self._kind == "text" else self._pass_raw(text)

    def _read(self, text: str) -> str:
        self._rest += text
        out = ""
        while True:
            part = _DECODABLE.match(self._rest)
            assert part is not None
            out += sanitize_unicode(json.loads(f'"{part[0]}"', strict=False))
            self._rest = self._rest[part.end() :]
            if not _LONE_SURROGATE.match(self._rest):
                break
            out, self._rest = out + "\ufffd", self._rest[6:]
        self._over = self._rest.startswith('"')
        return out

    def _pass_raw(self, text: str) -> str:
        for place, sign in enumerate(text):
            if self._quoted:
                self._quoted = sign != '"' or self._escaped
                self._escaped = sign == "\\" and not self._escaped
            elif sign == '"':
                self._quoted = True
            elif sign in "{[":
                self._depth += 1
            elif sign in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    self._over = True
                    return text[: place + (self._depth == 0)]
        return text


def join_chunks(chunks: Iterable[ChatChunk]) -> dict[str, Any]:
    """Return all chunks of an answer as one unstreamed response."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    response: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    for chunk in chunks:
        response |= {key: value for key, value in chunk.items() if key not in ("choices", "prompt_progress")}
        for choice in map(as_object, as_array(chunk.get("choices"))):
            delta, finish = as_object(choice.get("delta")), choice.get("finish_reason") or finish
            for name in ("content", "reasoning_content"):
                if text := as_string(delta.get(name)):
                    message[name] = as_string(message.get(name)) + text
            for piece in map(as_object, as_array(delta.get("tool_calls"))):
                _extend_call(calls.setdefault(int(piece.get("index") or 0), {"function": {"arguments": ""}}), piece)
    if calls:
        message["tool_calls"] = list(calls.values())
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return response | {"object": "chat.completion", "choices": choices}


def _extend_call(call: dict[str, Any], piece: dict[str, Any]) -> None:
    function = as_object(piece.get("function"))
    call |= {key: piece[key] for key in ("id", "type") if piece.get(key)}
    if name := function.get("name"):
        call["function"]["name"] = name
    call["function"]["arguments"] += as_string(function.get("arguments"))
