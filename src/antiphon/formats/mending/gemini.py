"""Mends for bodies of Gemini's generateContent, in either spelling of the fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

from antiphon._shape import arr, obj, string
from antiphon.formats.mending.anthropic import CONTINUE
from antiphon.wire.gemini.contents import DUMMY_SIGNATURE
from antiphon.wire.rules import check

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_PLACE = re.compile(r"contents\[(\d+)\]\.parts\[(\d+)\]")


def _several(value: Any) -> list[Any]:
    return arr(value) or ([value] if obj(value) else [])


def _parts(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for content in map(obj, _several(body.get("contents"))):
        yield from map(obj, _several(content.get("parts")))


def is_signed(body: dict[str, Any]) -> bool:
    """Whether any part has a signature, as parts of models have that want them back."""
    return any(part.get("thoughtSignature") or part.get("thought_signature") for part in _parts(body))


def _sign(body: dict[str, Any]) -> bool:
    """G4: the word that Google documents for calls its model did not sign."""
    changed = False
    for violation in check(body, "gemini", string(body.get("model")) or "gemini-3"):
        if violation.code == "G4" and (place := _PLACE.match(violation.param)):
            content = obj(_several(body.get("contents"))[int(place[1])])
            part = obj(_several(content.get("parts"))[int(place[2])])
            part["thoughtSignature"] = DUMMY_SIGNATURE
            changed = True
    return changed


def _drop_signatures(body: dict[str, Any]) -> bool:
    """G7."""
    changed = False
    for part in _parts(body):
        for key in ("thoughtSignature", "thought_signature"):
            text = part.get(key)
            if isinstance(text, str) and not (_BASE64.fullmatch(text) and len(text.rstrip("=")) % 4 != 1):
                del part[key]
                changed = True
    return changed


def _ask_to_go_on(body: dict[str, Any]) -> bool:
    """G10."""
    body["contents"] = [*_several(body.get("contents")), {"role": "user", "parts": [{"text": CONTINUE}]}]
    return True


def _functions(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in map(obj, _several(body.get("tools"))):
        for key in ("functionDeclarations", "function_declarations"):
            yield from map(obj, _several(tool.get(key)))


def _widen_schemas(body: dict[str, Any]) -> bool:
    """G11 and G12: the fields for JSON Schema take what Gemini's own schema does not."""
    changed = False
    for function in _functions(body):
        for key in ("parameters", "response"):
            if key in function:
                function[f"{key}JsonSchema"] = _lower(function.pop(key))
                changed = True
    for key in ("generationConfig", "generation_config"):
        config = obj(body.get(key))
        for old in ("responseSchema", "response_schema"):
            if old in config:
                config["responseJsonSchema"] = _lower(config.pop(old))
                changed = True
    return changed


def _lower(schema: Any) -> Any:
    """Gemini's own schema has its types in capitals."""
    if isinstance(schema, list):
        return [_lower(item) for item in cast(list[Any], schema)]
    data = {key: _lower(value) for key, value in obj(schema).items()}
    if not data:
        return schema
    if isinstance(data.get("type"), str):
        data["type"] = data["type"].lower()
    return data


def _drop_nameless(body: dict[str, Any]) -> bool:
    """G14, as far as it is about declarations without any name."""
    changed = False
    for tool in map(obj, _several(body.get("tools"))):
        for key in ("functionDeclarations", "function_declarations"):
            given = _several(tool.get(key))
            kept = [function for function in given if obj(function).get("name")]
            if len(kept) < len(given):
                tool[key] = kept
                changed = True
    return changed


def drop_empty_text(contents: list[Any]) -> list[str]:
    """Drop text parts with nothing in them, in place, and return where they stood. A signature on one is kept."""
    found: list[str] = []
    for index, content in enumerate(map(obj, contents)):
        parts = _several(content.get("parts"))
        kept = [part for part in parts if obj(part) != {"text": ""}]
        if len(kept) < len(parts):
            content["parts"] = kept
            found.append(f"content {index}")
    return found


def split_calls(body: dict[str, Any]) -> list[str]:
    """Return where the model speaks again before its calls are answered."""
    contents = [obj(content) for content in _several(body.get("contents"))]
    return [
        f"content {index}"
        for index, (before, content) in enumerate(pairwise(contents), 1)
        if before.get("role") == content.get("role") == "model"
        and any({"functionCall", "function_call"} & obj(part).keys() for part in _several(before.get("parts")))
    ]


def split_results(body: dict[str, Any]) -> list[tuple[str, int]]:
    """Where the results of one turn are in more than one content, and in how many: the API wants them in one."""
    found: list[tuple[str, int]] = []
    start, count = 0, 0
    for index, content in enumerate([*map(obj, _several(body.get("contents"))), {"role": "model"}]):
        if content.get("role") == "model":
            found += [(f"content {start}", count)] if count > 1 else []
            count = 0
        elif any(
            "functionResponse" in part or "function_response" in part
            for part in map(obj, _several(content.get("parts")))
        ):
            start = start if count else index
            count += 1
    return found


MENDS = {
    "G4": (_sign, "the documented stand-in for a signature is put there"),
    "G7": (_drop_signatures, "the signature is dropped"),
    "G10": (_ask_to_go_on, f"the user says {CONTINUE!r} behind it"),
    "G11": (_widen_schemas, "the schema goes into the field that takes any JSON Schema"),
    "G12": (_widen_schemas, "the schema goes into the field that takes any JSON Schema"),
    "G14": (_drop_nameless, "a declaration without a name is dropped"),
}
