"""Recovery of tool calls that a server rejected as invalid (Groq), so that the model can be told about
them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from antiphon._base.json import load_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import ToolCall, shorten_call_id
from antiphon.errors import MalformedJSONError

#: The form in which Llama models write calls.
_TAGGED_CALL = r"(?s)<function=([^\s<>{}()]+)>((?:(?!<function=).)*?)</function>"


def read_rejected_calls(error: dict[str, Any]) -> tuple[ToolCall, ...]:
    """Return the calls in the model output that an error quotes. They carry a problem and are never run."""
    wrote = as_string(error.get("failed_generation")).strip()
    if error.get("code") != "tool_use_failed" or not wrote:
        return ()
    problem = as_string(error.get("message")) or "the server refused it"
    calls = [
        ToolCall.read(shorten_call_id(f"{wrote} {n}"), *call)
        for n, call in enumerate(_parse_tagged_calls(wrote) or _parse_json_calls(wrote))
    ]
    return tuple(replace(call, problem=problem) for call in calls)


def _parse_tagged_calls(wrote: str) -> list[tuple[str, object]]:
    calls: list[tuple[str, object]] = re.findall(_TAGGED_CALL, wrote)
    return [] if re.sub(_TAGGED_CALL, "", wrote).strip() else calls


def _parse_json_calls(wrote: str) -> list[tuple[str, object]]:
    try:
        value: object = load_json(wrote)
    except MalformedJSONError:
        return []
    calls = [_parse_call(as_object(call)) for call in as_array(value) or [value]]
    return [call for call in calls if call] if all(calls) else []


def _parse_call(call: dict[str, Any]) -> tuple[str, object] | None:
    given = next((call[name] for name in ("arguments", "parameters") if name in call), None)
    return (as_string(call.get("name")), given) if as_string(call.get("name")) and given is not None else None
