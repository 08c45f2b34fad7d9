"""Members of values by name, where the type is known only at run time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

from antiphon._base.did_you_mean import suggest_name
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.values import from_python, get_kind_name, is_python_object, unwrap_answer
from antiphon.lang.typecheck.types import AI_MEMBER_NAMES
from antiphon.results.plain_json import NestableResult
from antiphon.session.result import AIResult


def get_member(value: Any, name: str) -> Any:
    """Return `value.name` of a value of unknown type."""
    if type(value) is AIResult:
        if name in AI_MEMBER_NAMES:
            return get_answer_member(value, name)
        value = value.value
    if isinstance(value, NestableResult):
        value = value.to_json()
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if name in fields:
            return fields[name]
        if name == "length":
            return len(fields)
        raise make_missing_field_error(name, fields)
    if name == "length" and isinstance(value, str | list):
        return len(cast(list[Any], value))
    if value is None:
        raise VibeError("V0907", f"null has no `{name}`", f"`?? …` gives a default: `x.{name} ?? …`")
    if is_python_object(value) or isinstance(value, type):
        return _read_python_attribute(value, name)
    if name in AI_MEMBER_NAMES:
        raise VibeError("V0907", f"{get_kind_name(value)} has no `{name}`: it is not the answer of a model")
    raise VibeError("V0907", f"{get_kind_name(value)} has no `{name}`", _hint_missing_member(value, name))


def _hint_missing_member(value: Any, name: str) -> str:
    """Return a hint what to write instead of a missing member."""
    if isinstance(value, list):
        return f"an array has items: `x[0].{name}`, or `x.map(y => y.{name})`"
    if isinstance(value, str):
        return f"it is text; an answer or JSON with fields is declared, `const x: {{ {name}: text }} = …`"
    return ""


def get_optional_member(value: Any, name: str) -> Any:
    """Return `value.name` before `??` or in a comparison with null: a missing field is null."""
    if type(value) is AIResult and name not in AI_MEMBER_NAMES:
        value = value.value
    if isinstance(value, NestableResult):
        value = value.to_json()
    if isinstance(value, dict):
        return cast(dict[str, Any], value).get(name)
    return None if value is None else get_member(value, name)


def _read_python_attribute(value: Any, name: str) -> Any:
    found = get_python_attribute(value, name)
    if callable(found):
        raise VibeError("V0907", f"`{name}` is a method and must be called", f"write `.{name}(…)`")
    return from_python(found, f"`{name}`")


def get_python_attribute(value: Any, name: str) -> Any:
    """Return an attribute of a Python object; names that begin with `_` are private."""
    if not name.startswith("_") and hasattr(value, name):
        return getattr(value, name)
    near = suggest_name(name, (each for each in dir(value) if not each.startswith("_")))
    raise VibeError("V0907", f"{get_kind_name(value)} has no `{name}`", f"did you mean `{near}`?" if near else "")


def get_answer_member(value: Any, name: str) -> Any:
    """Return `value`, `toolCalls` or `run` of an AI result; a plain value has no tool calls."""
    if type(value) is not AIResult:
        value = AIResult(value)
    if name == "value":
        return value.value
    if name == "toolCalls":
        return [
            {"tool": c.tool, "args": c.args, "result": c.result, "error": c.error, "duration": c.duration}
            for c in value.tool_calls
        ]
    run = value.run
    usage = {"inputTokens": run.usage.input_tokens, "outputTokens": run.usage.output_tokens}
    return {"usage": usage, "cost": run.cost, "model": run.model, "id": run.id}


def set_member(value: Any, name: str, new: Any) -> None:
    """Run `value.name = new`."""
    value = unwrap_answer(value)
    if not isinstance(value, dict):
        raise VibeError("V0907", f"{get_kind_name(value)} has no fields to set")
    value[name] = new


def get_required_field(value: Any, name: str) -> Any:
    """Return a field that a pattern takes; raise V0909 if it is missing."""
    value = unwrap_answer(value)
    if not isinstance(value, dict):
        raise VibeError("V0909", f"an object with the field `{name}` is wanted, not {get_kind_name(value)}")
    fields = cast(dict[str, Any], value)
    if name not in fields:
        raise VibeError("V0909", f"the field `{name}` is missing")
    return fields[name]


def make_missing_field_error(name: str, fields: Iterable[str]) -> VibeError:
    """Return the error that an object has no such field, with a hint."""
    near = suggest_name(name, islice(fields, 200))
    hint = f"did you mean `{near}`?" if near else f"its fields: {', '.join(islice(fields, 10))}" if fields else ""
    return VibeError("V0907", f"the object has no field `{name}`", hint or f"`?? …` gives a default: `x.{name} ?? …`")
