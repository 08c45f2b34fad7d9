"""What the runtime says, piece by piece, as chunks of the Chat Completions API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

from antiphon._json import clean, loads
from antiphon._shape import arr, obj, string
from antiphon.errors import BadReply, MalformedJSONError
from antiphon.providers.local.nulls import read_nulls
from antiphon.providers.local.prompting import Prompt

_ANSWER = re.compile(r'\{"answer": ')
_CALL = re.compile(r'\{"tool": ("(?:[^"\\]|\\.)*"), "arguments": ')
#: What of a JSON string can be read by itself: no half escapes, no half pairs.
_READABLE = re.compile(
    r'(?:[^"\\]|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4})*'
)
#: Half of a pair whose other half does not follow.
_ALONE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:[^\\]|\\[^u])")

Chunk = dict[str, Any]


class Speech:
    """Turns the pieces of one answer into chunks: text as text, a call as a call."""

    def __init__(self, prompt: Prompt, model: str) -> None:
        self._prompt = prompt
        self._model = model
        self._said: list[str] = []
        self._head = ""
        self._value: _Value | None = None
        self._call = prompt.name
        self._begun = False
        #: A typed answer whose nulls are yet to be read.
        self._typed: list[str] | None = [] if prompt.schema and prompt.form != "native" else None

    def chunks(self, piece: dict[str, Any]) -> Iterator[Chunk]:
        """The chunks that a piece of the runtime's stream makes."""
        if progress := obj(piece.get("prompt_progress")):
            yield {"model": self._model, "choices": [], "prompt_progress": progress}
            return
        base = {key: piece[key] for key in ("id", "object", "created", "usage") if key in piece}
        base["model"] = self._model
        choices = arr(piece.get("choices"))
        if self._prompt.form == "native" or not choices:
            yield base | {"choices": choices}
            return
        for delta, finish in self._spoken(obj(choices[0])):
            yield base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    def _spoken(self, choice: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
        delta = obj(choice.get("delta"))
        if thought := string(delta.get("reasoning_content")):
            yield {"reasoning_content": thought}, None
        if text := string(delta.get("content")):
            self._said.append(text)
            if part := self._held_back(self._part(text)):
                yield part, None
        if finish := string(choice.get("finish_reason")):
            self._check(finish)
            if self._typed and (read := self._read_nulls("".join(self._typed), finish)):
                yield {"content": read}, None
            yield {}, "tool_calls" if self._begun and finish == "stop" else finish

    def _held_back(self, part: dict[str, Any] | None) -> dict[str, Any] | None:
        if self._typed is None or part is None or "content" not in part:
            return part
        self._typed.append(part["content"])
        return None

    def _read_nulls(self, text: str, finish: str) -> str:
        if finish != "stop":
            return text
        assert self._prompt.schema is not None
        return json.dumps(read_nulls(loads(text), self._prompt.schema), ensure_ascii=False)

    def _part(self, text: str) -> dict[str, Any] | None:
        """What a piece of the answer adds to the message."""
        match self._prompt.form:
            case "call":
                return self._arguments(text)
            case "choice":
                return self._chosen(text)
            case _:
                return {"content": text}

    def _chosen(self, text: str) -> dict[str, Any] | None:
        if self._value is None:
            self._head += text
            answer, call = _ANSWER.match(self._head), _CALL.match(self._head)
            found = answer or call
            if not found:
                return None
            self._call = string(loads(call[1])) if call else ""
            self._value, text = _Value(), self._head[found.end() :]
        new = self._value.feed(text)
        if self._call:
            return self._arguments(new)
        return {"content": new} if new else None

    def _arguments(self, text: str) -> dict[str, Any] | None:
        if self._begun:
            return {"tool_calls": [{"index": 0, "function": {"arguments": text}}]} if text else None
        self._begun = True
        function = {"name": self._call, "arguments": text}
        return {
            "tool_calls": [{"index": 0, "id": f"call_{uuid4().hex[:12]}", "type": "function", "function": function}]
        }

    def _check(self, finish: str) -> None:
        """See that the grammar was kept: the runtime does not tell when it was not."""
        if finish != "stop" or not self._prompt.json:
            return
        said = "".join(self._said)
        try:
            loads(said)
        except MalformedJSONError:
            raise BadReply(f"the local model left its grammar: {said[:80]!r}", provider="local") from None


class _Value:
    """Reads one JSON value as it comes: a text as what it says, anything else as it is written."""

    def __init__(self) -> None:
        self._kind = ""
        self._rest = ""
        self._depth = 0
        self._quoted = self._escaped = self._over = False

    def feed(self, text: str) -> str:
        """What can be handed on now; nothing of what follows the value."""
        if not self._kind and text:
            self._kind = "text" if text[0] == '"' else "raw"
            text = text[1:] if self._kind == "text" else text
        if self._over:
            return ""
        return self._read(text) if self._kind == "text" else self._raw(text)

    def _read(self, text: str) -> str:
        self._rest += text
        out = ""
        while True:
            part = _READABLE.match(self._rest)
            assert part is not None
            out += clean(json.loads(f'"{part[0]}"', strict=False))
            self._rest = self._rest[part.end() :]
            if not _ALONE.match(self._rest):
                break
            out, self._rest = out + "\ufffd", self._rest[6:]
        self._over = self._rest.startswith('"')
        return out

    def _raw(self, text: str) -> str:
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


def whole(chunks: Iterable[Chunk]) -> dict[str, Any]:
    """All chunks of an answer as the response that comes at once."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    response: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    for chunk in chunks:
        response |= {key: value for key, value in chunk.items() if key not in ("choices", "prompt_progress")}
        for choice in map(obj, arr(chunk.get("choices"))):
            delta, finish = obj(choice.get("delta")), choice.get("finish_reason") or finish
            for name in ("content", "reasoning_content"):
                if text := string(delta.get(name)):
                    message[name] = string(message.get(name)) + text
            for piece in map(obj, arr(delta.get("tool_calls"))):
                _grow(calls.setdefault(int(piece.get("index") or 0), {"function": {"arguments": ""}}), piece)
    if calls:
        message["tool_calls"] = list(calls.values())
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return response | {"object": "chat.completion", "choices": choices}


def _grow(call: dict[str, Any], piece: dict[str, Any]) -> None:
    function = obj(piece.get("function"))
    call |= {key: piece[key] for key in ("id", "type") if piece.get(key)}
    if name := function.get("name"):
        call["function"]["name"] = name
    call["function"]["arguments"] += string(function.get("arguments"))
