"""Encode effects and outcomes as JSON data, and decode them to equal values."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from datetime import date, datetime, timedelta
from datetime import time as daytime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from antiphon.conversation import DerivedKey, File, Turn
from antiphon.conversation.serialization import (
    parts_from_json,
    parts_to_json,
    result_from_json,
    result_to_json,
    tool_from_json,
    tool_to_json,
    turn_to_json,
    turns_from_json,
)
from antiphon.effects.error_codec import error_from_json, error_to_json
from antiphon.effects.types import (
    EFFECT_TYPES,
    AskModel,
    Effect,
    HumanAnswer,
    ModelReplied,
    Outcome,
    RunPython,
    ToolReturned,
    UnserializableValue,
)
from antiphon.errors import ContentError, FormatError
from antiphon.tools import ToolCallRecord
from antiphon.wire import CacheReport, Reply, ReplyState, Usage

#: The errors that malformed data raises while it is decoded.
_DECODE_ERRORS = (TypeError, KeyError, ValueError, AttributeError, IndexError)


def effect_json(effect: Effect) -> dict[str, Any]:
    """Return an effect as JSON data."""
    out = effect_to_json_without_turns(effect)
    if isinstance(effect, AskModel):
        out["turns"] = [turn_to_json(turn) for turn in effect.turns]
    return out


def effect_to_json_without_turns(effect: Effect) -> dict[str, Any]:
    """Return an effect as JSON data without its turns, because every request would repeat the entire history."""
    out: dict[str, Any] = {"kind": effect.kind}
    for name in _FIELD_NAMES[effect.kind]:
        out[name] = _FIELD_ENCODERS.get(name, encode_value)(getattr(effect, name))
    return out


def effect_from_json(data: Mapping[str, Any]) -> Effect:
    """Decode data of `effect_json`. Raise a FormatError if it is no effect."""
    made = EFFECT_TYPES.get(data.get("kind", ""))
    if made is None:
        raise FormatError(f"there is no effect of kind {data.get('kind')!r}; there are {', '.join(EFFECT_TYPES)}")
    try:
        return made(
            **{name: _FIELD_DECODERS.get(name, decode_value)(each) for name, each in data.items() if name != "kind"}
        )
    except _DECODE_ERRORS as error:
        raise FormatError(
            f"an effect of kind {data['kind']!r} cannot be read: {_describe_decode_error(error)}"
        ) from None


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON data. Raise a ContentError if its value has no JSON form."""
    if outcome.error is not None:
        return {"error": error_to_json(outcome.error)}
    value = outcome.value
    for tag, (kind, write, _) in _VALUE_CODECS.items():
        if isinstance(value, kind):
            return {tag: write(value)}
    return {"value": encode_value(value)}


def recorded_outcome_to_json(effect: Effect, outcome: Outcome) -> dict[str, Any]:
    """Like `outcome_to_json`, but encode a Python object without a JSON form as a placeholder."""
    try:
        return outcome_to_json(outcome)
    except ContentError:
        if not isinstance(effect, RunPython):
            raise
        return outcome_to_json(Outcome(UnserializableValue(type(outcome.value).__name__)))


def recorded_outcome_from_json(data: Mapping[str, Any]) -> Outcome | None:
    """Decode data of `recorded_outcome_to_json`. Return None for an object that must be created again."""
    came = outcome_from_json(data)
    return None if isinstance(came.value, UnserializableValue) else came


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    """Decode data of `outcome_to_json`. Raise a FormatError if it is no outcome."""
    try:
        if "error" in data:
            return Outcome(error=error_from_json(data["error"]))
        for tag, (_, _, read) in _VALUE_CODECS.items():
            if tag in data:
                return Outcome(read(data[tag]))
        if "value" in data:
            return Outcome(decode_value(data["value"]))
    except _DECODE_ERRORS as error:
        raise FormatError(f"an outcome cannot be read: {_describe_decode_error(error)}") from None
    raise FormatError(f"this is no outcome: {', '.join(data) or 'it is empty'}")


def dump_ascii_json(data: Mapping[str, Any]) -> str:
    """Return JSON data as ASCII text, which preserves all characters and the order of keys."""
    return _encode(data)


def fingerprint(effect: Effect) -> str:
    """Return a hash that is equal for effects that ask for the same thing."""
    return serialize_effect(effect)[1]


def serialize_effect(effect: Effect) -> tuple[str, str]:
    """Return an effect as JSON text without its turns, and the fingerprint of all of it.

    The hashes of turns are cached, so that only new turns of a long history are hashed.
    """
    text = _encode_sorted(effect_to_json_without_turns(effect))
    whole = hashlib.sha256(text.encode())
    if isinstance(effect, AskModel):
        for turn in effect.turns:
            whole.update(_hash_turn(turn))
    return text, whole.hexdigest()


def _describe_decode_error(error: Exception) -> str:
    return f"{error} is not there" if isinstance(error, KeyError) else str(error)


_HASH = DerivedKey[bytes]("hash")


def _hash_turn(turn: Turn) -> bytes:
    known = turn.derived.get(_HASH)
    if known is None:
        known = turn.derived.set(_HASH, hashlib.sha256(_encode_sorted(turn_to_json(turn)).encode()).digest())
    return known


#: Tags of standard library types without a JSON form. Programs may use such values.
_TYPE_TAGS: dict[type, str] = {
    date: "$date",
    datetime: "$datetime",
    daytime: "$time",
    Decimal: "$decimal",
    Fraction: "$fraction",
    UUID: "$uuid",
    type(Path()): "$path",
}
_STRING_TAGS = ("$decimal", "$fraction", "$uuid", "$path")
_TAG_PARSERS: dict[str, Callable[[Any], Any]] = {
    "$date": date.fromisoformat,
    "$datetime": datetime.fromisoformat,
    "$time": daytime.fromisoformat,
    "$decimal": Decimal,
    "$fraction": Fraction,
    "$uuid": UUID,
    "$path": Path,
}


def encode_value(value: Any) -> Any:
    """Return a value as JSON data. NaN, infinities, bytes and objects with `$` keys are tagged."""
    kind: type[Any] = value.__class__
    if value is None or issubclass(kind, (str, int)):
        return value
    if issubclass(kind, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if issubclass(kind, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if issubclass(kind, (list, tuple)):
        return [encode_value(each) for each in value]
    if issubclass(kind, (dict, Mapping)) and all(isinstance(key, str) for key in value):
        inside = {key: encode_value(each) for key, each in value.items()}
        return {"$object": inside} if any(key.startswith("$") for key in inside) else inside
    if (mark := _TYPE_TAGS.get(cast(Any, kind))) is not None:
        return {mark: str(value) if mark in _STRING_TAGS else value.isoformat()}
    if kind is timedelta:
        return {"$timedelta": [value.days, value.seconds, value.microseconds]}
    raise ContentError(f"a {kind.__name__} has no JSON form, so it cannot be written down: take out what is needed")


def decode_value(data: Any) -> Any:
    """Decode data of `encode_value`. Tuples have become lists."""
    if isinstance(data, list):
        return [decode_value(each) for each in cast(list[Any], data)]
    if not isinstance(data, dict):
        return data
    given = cast(dict[str, Any], data)
    match given:
        case {"$float": str(text)}:
            return float(text)
        case {"$bytes": str(text)}:
            return base64.b64decode(text)
        case {"$timedelta": [int(days), int(seconds), int(micros)]}:
            return timedelta(days, seconds, micros)
        case {"$object": inside}:
            return {key: decode_value(each) for key, each in cast(dict[str, Any], inside).items()}
        case _:
            mark = next(iter(given), "")
            return (
                _TAG_PARSERS[mark](given[mark])
                if mark in _TAG_PARSERS
                else {key: decode_value(each) for key, each in given.items()}
            )


def _model_reply_to_json(answered: ModelReplied) -> dict[str, Any]:
    reply = answered.reply
    words = {name: getattr(reply, name) for name in ("stop", "stop_reason", "model", "id", "request_id")}
    state = reply.state.to_json()
    told = {"hops": reply.hops, "window": reply.window, **({"state": state} if state else {})}
    told |= {"cache": asdict(reply.cache)} if reply.cache else {}
    return {"parts": parts_to_json(reply.parts), "usage": asdict(reply.usage), "cost": answered.cost, **words, **told}


def _model_reply_from_json(data: Mapping[str, Any]) -> ModelReplied:
    words = {name: data[name] for name in ("stop", "stop_reason", "model", "id", "request_id")}
    parts: Any = parts_from_json(data["parts"])
    told: dict[str, Any] = {"hops": data.get("hops", 1), "window": data.get("window")}
    if cache := data.get("cache"):
        told["cache"] = CacheReport.from_json(cache)
    state = ReplyState.from_json(data.get("state", {}))
    return ModelReplied(Reply(parts, usage=Usage(**data["usage"]), state=state, **words, **told), data["cost"])


def _tool_return_to_json(returned: ToolReturned) -> dict[str, Any]:
    record = returned.record
    return {
        "result": None if returned.result is None else result_to_json(returned.result),
        "record": None if record is None else encode_value(asdict(record)),
        "kept": dict(returned.kept),
        "asks": returned.asks,
        "finish": None if returned.finish is None else [encode_value(returned.finish[0])],
        "usage": None if returned.usage is None else asdict(returned.usage),
        "cost": returned.cost,
        "requests": returned.requests,
    }


def _tool_return_from_json(data: Mapping[str, Any]) -> ToolReturned:
    return ToolReturned(
        None if data["result"] is None else result_from_json(data["result"]),
        None if data["record"] is None else ToolCallRecord(**decode_value(data["record"])),
        data["kept"],
        data["asks"],
        None if data["finish"] is None else (decode_value(data["finish"][0]),),
        None if data["usage"] is None else Usage(**data["usage"]),
        data["cost"],
        data["requests"],
    )


def _answer_to_json(said: HumanAnswer) -> dict[str, Any]:
    """Return a person's answer as JSON data."""
    out: dict[str, Any] = {"text": said.text, "allowed": said.allowed, "always": said.always}
    return out if said.result is None else {**out, "result": result_to_json(said.result)}


def _answer_from_json(data: Mapping[str, Any]) -> HumanAnswer:
    fields: dict[str, Any] = dict(data)
    if fields.get("result") is not None:
        fields["result"] = result_from_json(fields["result"])
    return HumanAnswer(**fields)


#: Codecs of the special outcome values, by their key in the JSON form.
_VALUE_CODECS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "reply": (ModelReplied, _model_reply_to_json, _model_reply_from_json),
    "returned": (ToolReturned, _tool_return_to_json, _tool_return_from_json),
    "said": (HumanAnswer, _answer_to_json, _answer_from_json),
    "file": (File, lambda file: parts_to_json([file])[0], lambda data: parts_from_json([data])[0]),
    "unwritten": (UnserializableValue, lambda made: made.kind, UnserializableValue),
}
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
#: Independent of the order of keys, for comparisons.
_encode_sorted = json.JSONEncoder(separators=(",", ":"), sort_keys=True, allow_nan=False).encode
#: The encoded fields of each kind of effect.
_FIELD_NAMES = {
    kind: tuple(each.name for each in fields(made) if each.name != "turns") for kind, made in EFFECT_TYPES.items()
}
_FIELD_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "tools": lambda tools: [tool_to_json(tool) for tool in tools],
    "call": lambda call: None if call is None else parts_to_json([call])[0],
    "prompt": lambda parts: parts,
    "head": lambda head: head,
}
_FIELD_DECODERS: dict[str, Callable[[Any], Any]] = {
    "turns": turns_from_json,
    "tools": lambda tools: tuple(tool_from_json(tool) for tool in tools),
    "call": lambda call: None if call is None else parts_from_json([call])[0],
    "prompt": lambda parts: parts,
    "head": lambda head: head,
}
