"""Members of values by their names, where what they are is known only when the program runs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

from antiphon._suggestions import nearest
from antiphon.lang.check.types import AI_NAMES
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.values import from_python, is_python, kind_of, unwrap
from antiphon.results.plain import Whole
from antiphon.session.result import AIResult


def member(value: Any, name: str) -> Any:
    """`value.name` where nothing is known of the value."""
    if type(value) is AIResult:
        if name in AI_NAMES:
            return ai_member(value, name)
        value = value.value
    if isinstance(value, Whole):
        value = value.to_json()
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if name in fields:
            return fields[name]
        if name == "length":
            return len(fields)
        raise no_field(name, fields)
    if name == "length" and isinstance(value, str | list):
        return len(cast(list[Any], value))
    if value is None:
        raise VibeError("V0907", f"null has no `{name}`", f"`?? …` gives a default: `x.{name} ?? …`")
    if is_python(value) or isinstance(value, type):
        return _attribute(value, name)
    if name in AI_NAMES:
        raise VibeError("V0907", f"{kind_of(value)} has no `{name}`: it is not the answer of a model")
    raise VibeError("V0907", f"{kind_of(value)} has no `{name}`", _instead(value, name))


def _instead(value: Any, name: str) -> str:
    """What to write for a field of what has none."""
    if isinstance(value, list):
        return f"an array has items: `x[0].{name}`, or `x.map(y => y.{name})`"
    if isinstance(value, str):
        return f"it is text; an answer or JSON with fields is declared, `const x: {{ {name}: text }} = …`"
    return ""


def optional_member(value: Any, name: str) -> Any:
    """`value.name` before `??` or compared with null: what is missing is null."""
    if type(value) is AIResult and name not in AI_NAMES:
        value = value.value
    if isinstance(value, Whole):
        value = value.to_json()
    if isinstance(value, dict):
        return cast(dict[str, Any], value).get(name)
    return None if value is None else member(value, name)


def _attribute(value: Any, name: str) -> Any:
    found = python_attribute(value, name)
    if callable(found):
        raise VibeError("V0907", f"`{name}` is a method and must be called", f"write `.{name}(…)`")
    return from_python(found, f"`{name}`")


def python_attribute(value: Any, name: str) -> Any:
    """What an object of Python has under a name; what begins with `_` is its own."""
    if not name.startswith("_") and hasattr(value, name):
        return getattr(value, name)
    near = nearest(name, (each for each in dir(value) if not each.startswith("_")))
    raise VibeError("V0907", f"{kind_of(value)} has no `{name}`", f"did you mean `{near}`?" if near else "")


def ai_member(value: Any, name: str) -> Any:
    """A member of an AI result that is its own. A plain value has had no calls."""
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
    """`value.name = new`."""
    value = unwrap(value)
    if not isinstance(value, dict):
        raise VibeError("V0907", f"{kind_of(value)} has no fields to set")
    value[name] = new


def field_of(value: Any, name: str) -> Any:
    """A field that a pattern takes; an error if it is not there."""
    value = unwrap(value)
    if not isinstance(value, dict):
        raise VibeError("V0909", f"an object with the field `{name}` is wanted, not {kind_of(value)}")
    fields = cast(dict[str, Any], value)
    if name not in fields:
        raise VibeError("V0909", f"the field `{name}` is missing")
    return fields[name]


def no_field(name: str, fields: Iterable[str]) -> VibeError:
    """That an object has no such field."""
    near = nearest(name, islice(fields, 200))
    hint = f"did you mean `{near}`?" if near else f"its fields: {', '.join(islice(fields, 10))}" if fields else ""
    return VibeError("V0907", f"the object has no field `{name}`", hint or f"`?? …` gives a default: `x.{name} ?? …`")
