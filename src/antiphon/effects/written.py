"""Effects and outcomes as JSON data, which is read back as the same values."""

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

from antiphon.conversation import DerivedKey, Turn
from antiphon.conversation.storage import (
    parts_from_json,
    parts_json,
    result_from_json,
    result_json,
    tool_from_json,
    tool_json,
    turn_json,
    turns_from_json,
)
from antiphon.effects.failures import error_from_json, error_json
from antiphon.effects.values import KINDS, Answered, AskModel, Effect, Outcome, Returned, RunPython, Said, Unwritten
from antiphon.errors import ContentError, FormatError
from antiphon.tools import ToolCallRecord
from antiphon.wire import CacheReport, Reply, ReplyState, Usage

#: What reading data raises that is not made as it should be.
_MISMADE = (TypeError, KeyError, ValueError, AttributeError, IndexError)


def effect_json(effect: Effect) -> dict[str, Any]:
    """An effect as JSON data."""
    out = asked_json(effect)
    if isinstance(effect, AskModel):
        out["turns"] = [turn_json(turn) for turn in effect.turns]
    return out


def asked_json(effect: Effect) -> dict[str, Any]:
    """An effect as JSON data, without the turns that a model is shown: each request would hold the whole history."""
    out: dict[str, Any] = {"kind": effect.kind}
    for name in _NAMES[effect.kind]:
        out[name] = _OUT.get(name, encoded)(getattr(effect, name))
    return out


def effect_from_json(data: Mapping[str, Any]) -> Effect:
    """What `effect_json` made; a FormatError says what it is, where it is none."""
    made = KINDS.get(data.get("kind", ""))
    if made is None:
        raise FormatError(f"there is no effect of kind {data.get('kind')!r}; there are {', '.join(KINDS)}")
    try:
        return made(**{name: _IN.get(name, decoded)(each) for name, each in data.items() if name != "kind"})
    except _MISMADE as error:
        raise FormatError(f"an effect of kind {data['kind']!r} cannot be read: {_fault(error)}") from None


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON data; a ContentError says that a value has no such form."""
    if outcome.error is not None:
        return {"error": error_json(outcome.error)}
    value = outcome.value
    for tag, (kind, write, _) in _VALUES.items():
        if isinstance(value, kind):
            return {tag: write(value)}
    return {"value": encoded(value)}


def kept_json(effect: Effect, outcome: Outcome) -> dict[str, Any]:
    """The same of what was done: an object that Python made, and that has no such form, is named."""
    try:
        return outcome_json(outcome)
    except ContentError:
        if not isinstance(effect, RunPython):
            raise
        return outcome_json(Outcome(Unwritten(type(outcome.value).__name__)))


def kept_outcome(data: Mapping[str, Any]) -> Outcome | None:
    """What `kept_json` made; nothing of an object that has to be made again."""
    came = outcome_from_json(data)
    return None if isinstance(came.value, Unwritten) else came


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    """What `outcome_json` made; a FormatError says what it is, where it is none."""
    try:
        if "error" in data:
            return Outcome(error=error_from_json(data["error"]))
        for tag, (_, _, read) in _VALUES.items():
            if tag in data:
                return Outcome(read(data[tag]))
        if "value" in data:
            return Outcome(decoded(data["value"]))
    except _MISMADE as error:
        raise FormatError(f"an outcome cannot be read: {_fault(error)}") from None
    raise FormatError(f"this is no outcome: {', '.join(data) or 'it is empty'}")


def as_text(data: Mapping[str, Any]) -> str:
    """JSON data in ASCII: whatever characters a text is made of, and in whatever order keys are, it is read back so."""
    return _encode(data)


def fingerprint(effect: Effect) -> str:
    """What two effects have in common that ask for the same thing."""
    return asked_text(effect)[1]


def asked_text(effect: Effect) -> tuple[str, str]:
    """The text of `asked_json`, and the fingerprint of all of it: of a long history, only what is new is read."""
    text = _sorted(asked_json(effect))
    whole = hashlib.sha256(text.encode())
    if isinstance(effect, AskModel):
        for turn in effect.turns:
            whole.update(_turn_hash(turn))
    return text, whole.hexdigest()


def _fault(error: Exception) -> str:
    return f"{error} is not there" if isinstance(error, KeyError) else str(error)


_HASH = DerivedKey[bytes]("hash")


def _turn_hash(turn: Turn) -> bytes:
    known = turn.derived.get(_HASH)
    if known is None:
        known = turn.derived.set(_HASH, hashlib.sha256(_sorted(turn_json(turn)).encode()).digest())
    return known


#: Values of Python's own library that are no JSON, by their marks: a program may have them.
_MARKS: dict[type, str] = {
    date: "$date",
    datetime: "$datetime",
    daytime: "$time",
    Decimal: "$decimal",
    Fraction: "$fraction",
    UUID: "$uuid",
    type(Path()): "$path",
}
_AS_TEXT = ("$decimal", "$fraction", "$uuid", "$path")
_READ: dict[str, Callable[[Any], Any]] = {
    "$date": date.fromisoformat,
    "$datetime": datetime.fromisoformat,
    "$time": daytime.fromisoformat,
    "$decimal": Decimal,
    "$fraction": Fraction,
    "$uuid": UUID,
    "$path": Path,
}


def encoded(value: Any) -> Any:
    """A value as JSON data: numbers that are none, bytes and objects with keys of ours are marked."""
    kind: type[Any] = value.__class__
    if value is None or issubclass(kind, (str, int)):
        return value
    if issubclass(kind, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if issubclass(kind, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if issubclass(kind, (list, tuple)):
        return [encoded(each) for each in value]
    if issubclass(kind, (dict, Mapping)) and all(isinstance(key, str) for key in value):
        inside = {key: encoded(each) for key, each in value.items()}
        return {"$object": inside} if any(key.startswith("$") for key in inside) else inside
    if (mark := _MARKS.get(cast(Any, kind))) is not None:
        return {mark: str(value) if mark in _AS_TEXT else value.isoformat()}
    if kind is timedelta:
        return {"$timedelta": [value.days, value.seconds, value.microseconds]}
    raise ContentError(f"a {kind.__name__} has no JSON form, so it cannot be written down: take out what is needed")


def decoded(data: Any) -> Any:
    """The value that `encoded` was given; tuples have become lists."""
    if isinstance(data, list):
        return [decoded(each) for each in cast(list[Any], data)]
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
            return {key: decoded(each) for key, each in cast(dict[str, Any], inside).items()}
        case _:
            mark = next(iter(given), "")
            return _READ[mark](given[mark]) if mark in _READ else {key: decoded(each) for key, each in given.items()}


def _reply_json(answered: Answered) -> dict[str, Any]:
    reply = answered.reply
    words = {name: getattr(reply, name) for name in ("stop", "stop_reason", "model", "id", "request_id")}
    state = reply.state.to_json()
    told = {"hops": reply.hops, "window": reply.window, **({"state": state} if state else {})}
    told |= {"cache": asdict(reply.cache)} if reply.cache else {}
    return {"parts": parts_json(reply.parts), "usage": asdict(reply.usage), "cost": answered.cost, **words, **told}


def _reply(data: Mapping[str, Any]) -> Answered:
    words = {name: data[name] for name in ("stop", "stop_reason", "model", "id", "request_id")}
    parts: Any = parts_from_json(data["parts"])
    told: dict[str, Any] = {"hops": data.get("hops", 1), "window": data.get("window")}
    if cache := data.get("cache"):
        told["cache"] = CacheReport.from_json(cache)
    state = ReplyState.from_json(data.get("state", {}))
    return Answered(Reply(parts, usage=Usage(**data["usage"]), state=state, **words, **told), data["cost"])


def _returned_json(returned: Returned) -> dict[str, Any]:
    record = returned.record
    return {
        "result": None if returned.result is None else result_json(returned.result),
        "record": None if record is None else encoded(asdict(record)),
        "kept": dict(returned.kept),
        "asks": returned.asks,
        "finish": None if returned.finish is None else [encoded(returned.finish[0])],
        "usage": None if returned.usage is None else asdict(returned.usage),
        "cost": returned.cost,
        "requests": returned.requests,
    }


def _returned(data: Mapping[str, Any]) -> Returned:
    return Returned(
        None if data["result"] is None else result_from_json(data["result"]),
        None if data["record"] is None else ToolCallRecord(**decoded(data["record"])),
        data["kept"],
        data["asks"],
        None if data["finish"] is None else (decoded(data["finish"][0]),),
        None if data["usage"] is None else Usage(**data["usage"]),
        data["cost"],
        data["requests"],
    )


#: Values of a kind of their own, by their mark in the JSON form.
_VALUES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "reply": (Answered, _reply_json, _reply),
    "returned": (Returned, _returned_json, _returned),
    "said": (Said, asdict, lambda data: Said(**data)),
    "unwritten": (Unwritten, lambda made: made.kind, Unwritten),
}
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
#: The same whatever the order of keys is, for what is compared.
_sorted = json.JSONEncoder(separators=(",", ":"), sort_keys=True, allow_nan=False).encode
#: What an effect of each kind is asked with.
_NAMES = {kind: tuple(each.name for each in fields(made) if each.name != "turns") for kind, made in KINDS.items()}
_OUT: dict[str, Callable[[Any], Any]] = {
    "tools": lambda tools: [tool_json(tool) for tool in tools],
    "call": lambda call: None if call is None else parts_json([call])[0],
}
_IN: dict[str, Callable[[Any], Any]] = {
    "turns": turns_from_json,
    "tools": lambda tools: tuple(tool_from_json(tool) for tool in tools),
    "call": lambda call: None if call is None else parts_from_json([call])[0],
}
