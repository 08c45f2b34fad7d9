"""Calls that a server did not pass on because it found them wrong (Groq): the model made them, and has to be told."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from antiphon._json import loads
from antiphon._shape import arr, obj, string
from antiphon.conversation import ToolCall, short_id
from antiphon.errors import MalformedJSONError

#: How Llama models write calls.
_TAGGED = r"(?s)<function=([^\s<>{}()]+)>((?:(?!<function=).)*?)</function>"


def refused_calls(error: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls in what an error says the model wrote, none of which may be run; none where it wrote something else."""
    wrote = string(error.get("failed_generation")).strip()
    if error.get("code") != "tool_use_failed" or not wrote:
        return ()
    problem = string(error.get("message")) or "the server refused it"
    calls = [ToolCall.read(short_id(f"{wrote} {n}"), *call) for n, call in enumerate(_tagged(wrote) or _written(wrote))]
    return tuple(replace(call, problem=problem) for call in calls)


def _tagged(wrote: str) -> list[tuple[str, object]]:
    calls: list[tuple[str, object]] = re.findall(_TAGGED, wrote)
    return [] if re.sub(_TAGGED, "", wrote).strip() else calls


def _written(wrote: str) -> list[tuple[str, object]]:
    try:
        value: object = loads(wrote)
    except MalformedJSONError:
        return []
    calls = [_call(obj(call)) for call in arr(value) or [value]]
    return [call for call in calls if call] if all(calls) else []


def _call(call: dict[str, Any]) -> tuple[str, object] | None:
    given = next((call[name] for name in ("arguments", "parameters") if name in call), None)
    return (string(call.get("name")), given) if string(call.get("name")) and given is not None else None
