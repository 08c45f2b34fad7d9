"""What compiled programs call where Python's own operators would do something else than the language says.

Types known before the program runs need few of these: a sum of numbers is Python's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

from antiphon._json import decode_unique
from antiphon._suggestions import nearest
from antiphon.lang.check.notation import show
from antiphon.lang.check.types import AI, AI_NAMES, Array, Literal, Map, Object, Simple, Type, Union
from antiphon.lang.run.errors import Thrown, VibeError
from antiphon.lang.run.values import (
    ErrorValue,
    FrozenDict,
    FrozenList,
    from_python,
    is_python,
    json_text,
    kind_of,
    text,
    thaw,
    unwrap,
)
from antiphon.results.plain import Whole
from antiphon.session.result import AIResult

# Operators


def add(left: Any, right: Any) -> Any:
    """`left + right`: numbers add, text joins whatever is beside it, arrays follow one another."""
    one, two = left.__class__, right.__class__
    if (one is int or one is float) and (two is int or two is float):
        return left + right
    if one is str and two is str:
        return left + right
    left, right = unwrap(left), unwrap(right)
    if isinstance(left, str) or isinstance(right, str):
        return text(left) + text(right)
    if _is_number(left) and _is_number(right):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return [*cast(list[Any], left), *cast(list[Any], right)]
    raise _operands("+", left, right)


def subtract(left: Any, right: Any) -> Any:
    """`left - right`."""
    return _number(left, "-", right) - _number(right, "-", left)


def multiply(left: Any, right: Any) -> Any:
    """`left * right`."""
    return _number(left, "*", right) * _number(right, "*", left)


def divide(left: Any, right: Any) -> Any:
    """`left / right`; a quotient of integers that is whole stays an integer."""
    left, right = _number(left, "/", right), _number(right, "/", left)
    if not right:
        raise VibeError("V0904", "division by zero")
    if type(left) is int and type(right) is int:
        whole, rest = divmod(left, right)
        if not rest:
            return whole
    return _float(lambda: left / right)


def modulo(left: Any, right: Any) -> Any:
    """`left % right`, with the sign of the dividend."""
    left, right = _number(left, "%", right), _number(right, "%", left)
    if not right:
        raise VibeError("V0904", "division by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def power(left: Any, right: Any) -> Any:
    """`left ** right`."""
    left, right = _number(left, "**", right), _number(right, "**", left)
    if left == 0 and right < 0:
        raise VibeError("V0904", "division by zero")
    if type(left) is int and type(right) is int and abs(left) > 1 and right > 100_000:
        raise VibeError("V0904", f"{text(left)} ** {text(right)} is too large")
    value = _float(lambda: left**right)
    if isinstance(value, complex):
        raise VibeError("V0904", f"{text(left)} ** {text(right)} is no real number")
    return value


def negate(value: Any) -> Any:
    """`-value`."""
    value = unwrap(value)
    if not _is_number(value):
        raise VibeError("V0902", f"`-` wants a number, not {kind_of(value)}")
    return -value


def equal(left: Any, right: Any) -> bool:
    """`left == right`, to any depth; true is not 1."""
    left, right = unwrap(left), unwrap(right)
    if type(left) is type(right) and type(left) in (str, int, float, bool):
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        one, two = cast(list[Any], left), cast(list[Any], right)
        return one is two or (len(one) == len(two) and all(map(equal, one, two)))
    if isinstance(left, dict) and isinstance(right, dict):
        first, second = cast(dict[str, Any], left), cast(dict[str, Any], right)
        return first.keys() == second.keys() and all(equal(first[key], second[key]) for key in first)
    return bool(left == right)


def less(left: Any, right: Any) -> bool:
    """`left < right`, of numbers or of texts."""
    left, right = _ordered(left, right, "<")
    return left < right


def less_or_equal(left: Any, right: Any) -> bool:
    """`left <= right`."""
    left, right = _ordered(left, right, "<=")
    return left <= right


def greater(left: Any, right: Any) -> bool:
    """`left > right`."""
    left, right = _ordered(left, right, ">")
    return left > right


def greater_or_equal(left: Any, right: Any) -> bool:
    """`left >= right`."""
    left, right = _ordered(left, right, ">=")
    return left >= right


def condition(value: Any) -> bool:
    """A condition: true or false; null is false, so that an optional value can be asked for."""
    if value is True or value is False:
        return value
    value = unwrap(value)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise VibeError(
        "V0902", f"a condition is true or false, not {kind_of(value)}", 'compare it with something: `x != ""`, `n > 0`'
    )


def present(value: Any) -> bool:
    """Whether an optional value is there."""
    return unwrap(value) is not None


def _number(value: Any, operator: str, other: Any) -> Any:
    kind = value.__class__
    if kind is int or kind is float:
        return value
    value = unwrap(value)
    if _is_number(value):
        return value
    raise _operands(operator, value, other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ordered(left: Any, right: Any, operator: str) -> tuple[Any, Any]:
    left, right = unwrap(left), unwrap(right)
    if (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return left, right
    raise _operands(operator, left, right)


def _operands(operator: str, left: Any, right: Any) -> VibeError:
    return VibeError("V0902", f"`{operator}` does not work with {kind_of(left)} and {kind_of(right)}")


def _float(compute: Any) -> Any:
    try:
        return compute()
    except OverflowError:
        raise VibeError("V0904", "the result is too large for a number") from None


# Members and items


def member(value: Any, name: str) -> Any:
    """`value.name` where nothing is known of the value."""
    if value.__class__ is FrozenDict and name in value:
        return value[name]
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
    if is_python(value):
        return _attribute(value, name)
    if name in AI_NAMES:
        raise VibeError("V0907", f"{kind_of(value)} has no `{name}`: it is not the answer of a model")
    raise VibeError("V0907", f"{kind_of(value)} has no `{name}`")


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


def optional_member(value: Any, name: str) -> Any:
    """`value.name` before `??` or compared with null: what is missing is null."""
    if type(value) is AIResult:
        if name in AI_NAMES:
            return ai_member(value, name)
        value = value.value
    if isinstance(value, Whole):
        value = value.to_json()
    if isinstance(value, dict):
        return cast(dict[str, Any], value).get(name)
    return None if value is None else member(value, name)


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


def no_field(name: str, fields: Iterable[str]) -> VibeError:
    """That an object has no such field."""
    near = nearest(name, islice(fields, 200))
    hint = f"did you mean `{near}`?" if near else f"its fields: {', '.join(islice(fields, 10))}" if fields else ""
    return VibeError("V0907", f"the object has no field `{name}`", hint or f"`?? …` gives a default: `x.{name} ?? …`")


def item(value: Any, key: Any) -> Any:
    """`value[key]`."""
    value, key = unwrap(value), unwrap(key)
    if isinstance(value, list | str):
        items = cast(list[Any], value)
        return items[_place(key, items)]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if not isinstance(key, str):
            raise VibeError("V0902", f"an object is indexed by text, not by {kind_of(key)}")
        if key not in fields:
            raise no_field(key, fields)
        return fields[key]
    raise VibeError("V0902", f"{kind_of(value)} cannot be indexed")


def optional_item(value: Any, key: Any) -> Any:
    """`value[key]` before `??` or compared with null: a missing field is null."""
    value, key = unwrap(value), unwrap(key)
    if isinstance(value, dict) and isinstance(key, str):
        return cast(dict[str, Any], value).get(key)
    return None if value is None else item(value, key)


def set_item(value: Any, key: Any, new: Any) -> None:
    """`value[key] = new`."""
    value, key = unwrap(value), unwrap(key)
    if isinstance(value, list):
        items = cast(list[Any], value)
        items[_place(key, items)] = new
    elif isinstance(value, dict) and isinstance(key, str):
        value[key] = new
    elif isinstance(value, dict):
        raise VibeError("V0902", f"an object is indexed by text, not by {kind_of(key)}")
    else:
        raise VibeError("V0902", f"an item of {kind_of(value)} cannot be set")


def set_member(value: Any, name: str, new: Any) -> None:
    """`value.name = new`."""
    value = unwrap(value)
    if not isinstance(value, dict):
        raise VibeError("V0907", f"{kind_of(value)} has no fields to set")
    value[name] = new


def _place(key: Any, items: list[Any] | str) -> int:
    place = whole(key, "an index")
    if not -len(items) <= place < len(items):
        what = "text" if isinstance(items, str) else "array"
        raise VibeError("V0903", f"index {place} is out of bounds: the {what} has {len(items)}")
    return place


def index(value: Any) -> int:
    """A number as an index."""
    return whole(value, "an index")


def whole(value: Any, what: str) -> int:
    """A number that must be whole."""
    value = unwrap(value)
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise VibeError("V0902", f"{what} is a whole number, not {text(value) if _is_number(value) else kind_of(value)}")


def part(value: Any, first: Any, last: Any = None, step: Any = None) -> Any:
    """`value[first:last:step]`."""
    value = unwrap(value)
    if not isinstance(value, str | list):
        raise VibeError("V0902", f"{kind_of(value)} cannot be sliced")
    bounds = [None if bound is None else whole(bound, "a slice's bound") for bound in (first, last, step)]
    if bounds[2] == 0:
        raise VibeError("V0902", "a slice's step cannot be 0")
    return cast(Any, value)[slice(*bounds)]


def iterate(value: Any) -> Any:
    """What `for` goes through."""
    kind = value.__class__
    if kind is list:
        return value
    if kind is int:
        return range(value)
    if kind is AIResult:
        raise VibeError("V0908", "Cannot iterate over AIResult directly. Use .toolCalls or .value")
    if isinstance(value, (list, range)):
        return cast(Any, value)
    if _is_number(value):
        return range(whole(value, "the number of rounds"))
    hints = {str: "`.split()` gives its words, `.lines()` its lines", dict: "`.keys()` gives its names"}
    raise VibeError("V0908", f"`for` cannot go through {kind_of(value)}", hints.get(value.__class__, ""))


def entries(value: Any) -> Any:
    """What `for key, value in …` goes through."""
    value = unwrap(value)
    if isinstance(value, dict):
        return cast(dict[str, Any], value).items()
    raise VibeError("V0908", f"`for key, value in …` goes through a map or an object, not {kind_of(value)}")


def span(first: Any, last: Any) -> range:
    """`first..last`, both included."""
    return range(whole(first, "a range's end"), whole(last, "a range's end") + 1)


def span_array(first: Any, last: Any) -> list[int]:
    """A range as a value."""
    numbers = span(first, last)
    if numbers and numbers[-1] - numbers[0] > 50_000_000:
        raise VibeError("V0904", "the array would be too long", "a `for` loop goes through a range without making one")
    return list(numbers)


# Types at the border between what is known and what is not


def as_type(value: Any, wanted: Type) -> Any:
    """The value, taken out of an AI result, if it fits the type; an error that says what does not.

    It is a copy: whoever has the value under a name without types cannot change what has one.
    """
    value = fits(unwrap(value), wanted)
    return _copied(value, wanted) if isinstance(value, list | dict) else value


def fits(value: Any, wanted: Type) -> Any:
    """The value itself, if it fits the type; an error that says what does not."""
    fault = misfit(value, wanted, "")
    if fault:
        raise VibeError("V0902", fault)
    return value


def _copied(value: Any, wanted: Type) -> Any:
    """A value that fits, with arrays and objects of its own, as far as the type knows of them."""
    value = unwrap(value)
    if value is None:
        # A field that may be missing may be null, too.
        return None
    match wanted:
        case Array(item=inner):
            return [_copied(each, inner) for each in value]
        case Object():
            fields = wanted.fields
            return {key: _copied(each, fields[key].type) if key in fields else each for key, each in value.items()}
        case Map(value=inner):
            return {key: _copied(each, inner) for key, each in value.items()}
        case Union(options):
            fitting = next((each for each in options if not misfit(value, each, "")), None)
            return value if fitting is None else _copied(value, fitting)
        case AI(inner):
            return _copied(value, inner)
        case _:
            # What is json in it stays as it is, but for what belongs to a constant.
            return thaw(value) if isinstance(value, FrozenList | FrozenDict) else value


def misfit(value: Any, wanted: Type, path: str) -> str:
    """Why a value does not fit a type; nothing if it does."""
    value = unwrap(value)
    match wanted:
        case Simple(name):
            fits = {"text": str, "prompt": str, "boolean": bool, "null": type(None), "number": int | float}
            if name not in fits or (
                isinstance(value, fits[name]) and not (name == "number" and isinstance(value, bool))
            ):
                return ""
        case Array(item=inner):
            if isinstance(value, list):
                items = enumerate(cast(list[Any], value))
                return next((fault for at, each in items if (fault := misfit(each, inner, f"{path}[{at}]"))), "")
        case Literal():
            if Literal(value) == wanted if isinstance(value, str | int | float) else False:
                return ""
        case Union(options):
            if any(not misfit(value, option, path) for option in options):
                return ""
        case Object():
            if isinstance(value, dict):
                return _misfit_fields(cast(dict[str, Any], value), wanted, path)
        case Map(value=inner):
            if isinstance(value, dict):
                pairs = cast(dict[Any, Any], value).items()
                return next((fault for key, each in pairs if (fault := _misfit_entry(key, each, inner, path))), "")
        case AI(inner):
            return misfit(value, inner, path)
        case _:
            return ""
    return f"{_at(path)}{show(wanted)} is wanted, not {_shown(value)}"


def _at(path: str) -> str:
    inside = path.lstrip(".")
    return f"`{inside}`: " if inside else ""


def _misfit_entry(key: Any, value: Any, inner: Type, path: str) -> str:
    if not isinstance(key, str):
        return f"{_at(path)}the keys of a map are text, not {kind_of(key)}"
    return misfit(value, inner, f"{path}[{json_text(key)}]")


def _misfit_fields(value: dict[str, Any], wanted: Object, path: str) -> str:
    for name, each in wanted.fields.items():
        if name not in value or (value[name] is None and each.optional):
            if not each.optional:
                return f"{_at(path)}the field `{name}` is missing"
            continue
        if fault := misfit(value[name], each.type, f"{path}.{name}"):
            return fault
    return ""


def _shown(value: Any) -> str:
    kind = kind_of(value)
    if kind in ("null",) or not isinstance(value, str | int | float | bool):
        return kind
    shown = json_text(value)
    return f"{kind} {shown if len(shown) <= 60 else shown[:60] + '…'}"


def field_of(value: Any, name: str) -> Any:
    """A field that a pattern takes; an error if it is not there."""
    value = unwrap(value)
    if not isinstance(value, dict):
        raise VibeError("V0909", f"an object with the field `{name}` is wanted, not {kind_of(value)}")
    fields = cast(dict[str, Any], value)
    if name not in fields:
        raise VibeError("V0909", f"the field `{name}` is missing")
    return fields[name]


# Errors


def thrown(value: Any) -> VibeError:
    """What `throw` raises: a text is the message, an object's `message` is, and a caught error is thrown on."""
    value = unwrap(value)
    message = value.get("message") if isinstance(value, dict) else None  # type: ignore[reportUnknownVariableType]
    error = Thrown(value, text(cast(Any, message if isinstance(message, str) else value)))
    if isinstance(value, ErrorValue):
        error.code = value["code"]
    return error


def _in_our_words(error: BaseException) -> VibeError:
    from antiphon.lang.run.traces import in_our_words

    return in_our_words(error, error.__traceback__)


def caught(error: BaseException) -> ErrorValue:
    """What `catch` gives for an error. Where it came from is of no use any more, nor what else had gone wrong before:

    Python looks through all of that whenever something is thrown on.
    """
    known = error if isinstance(error, VibeError) else _in_our_words(error)
    error.__context__ = error.__cause__ = None
    value = known.value
    if isinstance(value, ErrorValue):
        return value
    return ErrorValue(message=known.message, code=known.code, value=value)


def parse_json(source: str) -> Any:
    """`parseJson(text)`. A field that is there twice is an error."""
    try:
        return decode_unique(unwrap(source).removeprefix("\ufeff"))
    except RecursionError:
        raise VibeError("V0910", "this JSON is nested too deeply") from None
    except ValueError as error:
        raise VibeError("V0910", f"this is no JSON: {error}") from None
