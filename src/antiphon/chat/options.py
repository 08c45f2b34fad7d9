"""Options of requests as people write them: `temperature=0`, `stop=END`, `extra.seed=42`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.errors import OptionError

_EXTRA = "extra"


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return int(value) if value.is_integer() and text.strip().lstrip("-+").isdigit() else value


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


def _effort(text: str) -> str | int:
    return int(text) if text.strip().isdigit() else text.strip()


#: How the text of each option is read, and what it is said to be where it cannot be.
_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    "temperature": (_number, "a number, such as 0.2"),
    "top_p": (_number, "a number, such as 0.9"),
    "max_tokens": (int, "a whole number, such as 500"),
    "stop": (str, "a text"),
    "reasoning": (_effort, "a word such as low, or a number of tokens"),
    "tool_choice": (str, "auto, none, required, or the name of a tool"),
    "parallel_tool_calls": (_flag, "true or false"),
    "cache": (_flag, "true or false"),
}
#: How each begins.
NAMES = (*(f"{name}=" for name in _READ), f"{_EXTRA}.")
#: What people call some of them elsewhere, in other programs or for other providers.
_ELSEWHERE = {
    "max_output_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "num_predict": "max_tokens",
    "reasoning_effort": "reasoning",
    "thinking": "reasoning",
    "stop_sequences": "stop",
    "output_schema": "--schema",
    "json_schema": "--schema",
    "schema": "--schema",
}


def read_options(written: Iterable[str]) -> dict[str, Any]:
    """What `name=value` says, as often as it is given: of a name the last one counts, of `stop` all."""
    out: dict[str, Any] = {}
    for each in written:
        name, equals, text = each.partition("=")
        name = name.strip()
        if not equals or not name:
            raise OptionError(f"`-o` takes name=value, such as `-o temperature=0`, not {each!r:.60}")
        if name.startswith(f"{_EXTRA}."):
            _put(out.setdefault(_EXTRA, {}), name.removeprefix(f"{_EXTRA}.").split("."), _json(text), name)
            continue
        value = _read(name, text)
        if name == "stop":
            out.setdefault(name, []).append(value)
        else:
            out[name] = value
    check_options(out)
    return out


def check_options(options: Mapping[str, Any]) -> None:
    """Tell now of what no model takes."""
    if options:
        from antiphon.providers.model import merge_options
        from antiphon.wire import Options

        merge_options(Options(), options)


def _read(name: str, text: str) -> Any:
    if name not in _READ:
        raise OptionError(f"there is no option `{name}`; {_hint(name, text)}")
    read, wanted = _READ[name]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise OptionError(f"`-o {name}=…` is {wanted}, not {text!r:.60}") from None


def _hint(name: str, text: str) -> str:
    if meant := _ELSEWHERE.get(name, ""):
        return f"use `{meant}`" if meant.startswith("--") else f"it is `-o {meant}={text[:60]}`"
    own = f"a field of the provider's own is `-o {_EXTRA}.{name}={text[:60]}`"
    alike = name.replace("-", "_")
    near = alike if alike in _READ else suggest_name(alike, _READ)
    return f"did you mean `{near}`? ({own})" if near else f"there are {', '.join(_READ)}; {own}"


def _put(place: dict[str, Any], path: list[str], value: Any, name: str) -> None:
    """Put a value into a field, or into one inside of that."""
    *outer, last = path
    for step in outer:
        if not isinstance(place.setdefault(step, {}), dict):
            raise OptionError(f"`-o {name}=…` is inside of `{step}`, which was given a value of its own")
        place = place[step]
    if not all(path):
        raise OptionError(f"`-o {name}=…` names no field")
    place[last] = value


def _json(text: str) -> Any:
    """A value as JSON, or else a text."""
    try:
        return json.loads(text, parse_constant=str)
    except ValueError:
        return text
