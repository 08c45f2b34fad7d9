"""Fixes for bodies of Gemini's generateContent, in either spelling of the fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.conversation import RepairAction
from antiphon.formats.fixes import CONTINUE_TEXT, HistoryFixer
from antiphon.wire.gemini import SPEC
from antiphon.wire.gemini.contents import DUMMY_SIGNATURE
from antiphon.wire.rules import Violation, check

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_PART_PATH = re.compile(r"contents\[(\d+)\]\.parts\[(\d+)\]")


def _as_list(value: Any) -> list[Any]:
    return as_array(value) or ([value] if as_object(value) else [])


def _iter_parts(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for content in map(as_object, _as_list(body.get("contents"))):
        yield from map(as_object, _as_list(content.get("parts")))


def _add_placeholder_signatures(body: dict[str, Any]) -> bool:
    """Fix G4: add the signature that Google documents for calls its model did not sign."""
    changed = False
    for violation in check(body, SPEC.name, as_string(body.get("model")) or "gemini-3"):
        if violation.code == "G4" and (place := _PART_PATH.match(violation.param)):
            content = as_object(_as_list(body.get("contents"))[int(place[1])])
            part = as_object(_as_list(content.get("parts"))[int(place[2])])
            part["thoughtSignature"] = DUMMY_SIGNATURE
            changed = True
    return changed


def _drop_invalid_signatures(body: dict[str, Any]) -> bool:
    """Fix G7: drop signatures that are no Base64."""
    changed = False
    for part in _iter_parts(body):
        for key in ("thoughtSignature", "thought_signature"):
            text = part.get(key)
            if isinstance(text, str) and not (_BASE64.fullmatch(text) and len(text.rstrip("=")) % 4 != 1):
                del part[key]
                changed = True
    return changed


def _append_continue(body: dict[str, Any]) -> bool:
    """Fix G10: append a user content that asks to continue."""
    body["contents"] = [*_as_list(body.get("contents")), {"role": "user", "parts": [{"text": CONTINUE_TEXT}]}]
    return True


def _iter_functions(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in map(as_object, _as_list(body.get("tools"))):
        for key in ("functionDeclarations", "function_declarations"):
            yield from map(as_object, _as_list(tool.get(key)))


def _move_to_json_schema(body: dict[str, Any]) -> bool:
    """Fix G11 and G12: move schemas to the fields that take any JSON Schema."""
    changed = False
    for function in _iter_functions(body):
        for key in ("parameters", "response"):
            if key in function:
                function[f"{key}JsonSchema"] = _lower_types(function.pop(key))
                changed = True
    for key in ("generationConfig", "generation_config"):
        config = as_object(body.get(key))
        for old in ("responseSchema", "response_schema"):
            if old in config:
                config["responseJsonSchema"] = _lower_types(config.pop(old))
                changed = True
    return changed


def _lower_types(schema: Any) -> Any:
    """Return the schema with type names in lower case. Gemini's own schema has them in capitals."""
    if isinstance(schema, list):
        return [_lower_types(item) for item in cast(list[Any], schema)]
    data = {key: _lower_types(value) for key, value in as_object(schema).items()}
    if not data:
        return schema
    if isinstance(data.get("type"), str):
        data["type"] = data["type"].lower()
    return data


def _drop_unnamed_functions(body: dict[str, Any]) -> bool:
    """Fix G14 for declarations without a name."""
    changed = False
    for tool in map(as_object, _as_list(body.get("tools"))):
        for key in ("functionDeclarations", "function_declarations"):
            given = _as_list(tool.get(key))
            kept = [function for function in given if as_object(function).get("name")]
            if len(kept) < len(given):
                tool[key] = kept
                changed = True
    return changed


def _drop_empty_text_parts(contents: list[Any]) -> list[str]:
    """Drop empty text parts in place and return their locations. A signed one is kept."""
    found: list[str] = []
    for index, content in enumerate(map(as_object, contents)):
        parts = _as_list(content.get("parts"))
        kept = [part for part in parts if as_object(part) != {"text": ""}]
        if len(kept) < len(parts):
            content["parts"] = kept
            found.append(f"content {index}")
    return found


def _find_split_calls(body: dict[str, Any]) -> list[str]:
    """Return where the model speaks again before its calls are answered."""
    contents = [as_object(content) for content in _as_list(body.get("contents"))]
    return [
        f"content {index}"
        for index, (before, content) in enumerate(pairwise(contents), 1)
        if before.get("role") == content.get("role") == "model"
        and any({"functionCall", "function_call"} & as_object(part).keys() for part in _as_list(before.get("parts")))
    ]


def _find_split_results(body: dict[str, Any]) -> list[tuple[str, int]]:
    """Return where the results of one turn are in several contents, and in how many. The API requires one."""
    found: list[tuple[str, int]] = []
    start, count = 0, 0
    for index, content in enumerate([*map(as_object, _as_list(body.get("contents"))), {"role": "model"}]):
        if content.get("role") == "model":
            found += [(f"content {start}", count)] if count > 1 else []
            count = 0
        elif any(
            "functionResponse" in part or "function_response" in part
            for part in map(as_object, _as_list(content.get("parts")))
        ):
            start = start if count else index
            count += 1
    return found


def _iter_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    tools = body.get("tools")
    for index, tool in enumerate(map(as_object, as_array(tools) or [tools])):
        for key in ("functionDeclarations", "function_declarations"):
            for function in map(as_object, as_array(tool.get(key)) or [tool.get(key)]):
                yield f"tool {index}", function
    contents = body.get("contents", body.get("messages"))
    for index, content in enumerate(map(as_object, as_array(contents) or [contents])):
        for part in map(as_object, as_array(content.get("parts")) or [content.get("parts")]):
            for key in ("functionCall", "function_call", "functionResponse", "function_response"):
                yield f"content {index}", as_object(part.get(key))


def _clean_contents(contents: list[Any]) -> tuple[list[Any], list[RepairAction]]:
    places = _drop_empty_text_parts(contents)
    return contents, [RepairAction("empty-text", where, "a part with empty text", "it is dropped") for where in places]


def _check_strictly(body: dict[str, Any], provider: str | None) -> list[Violation]:
    """Return violations of G4 if signatures show that the model requires them."""
    if not any(part.get("thoughtSignature") or part.get("thought_signature") for part in _iter_parts(body)):
        return []
    found = check({"model": "unknown"} | body, SPEC.name, "gemini-3-pro-preview", provider=provider)
    return [each for each in found if each.code == "G4"]


_FIXES = {
    "G4": (_add_placeholder_signatures, "the documented stand-in for a signature is put there"),
    "G7": (_drop_invalid_signatures, "the signature is dropped"),
    "G10": (_append_continue, f"the user says {CONTINUE_TEXT!r} behind it"),
    "G11": (_move_to_json_schema, "the schema goes into the field that takes any JSON Schema"),
    "G12": (_move_to_json_schema, "the schema goes into the field that takes any JSON Schema"),
    "G14": (_drop_unnamed_functions, "a declaration without a name is dropped"),
}

FIXER = HistoryFixer(
    fixes=_FIXES,
    legal_name=re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"),
    iter_names=_iter_names,
    clean=_clean_contents,
    find_split_results=_find_split_results,
    find_split_calls=_find_split_calls,
    check_strictly=_check_strictly,
)
"""The fixes for histories of this API."""
