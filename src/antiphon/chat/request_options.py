"""Options of requests on the command line: `temperature=0`, `stop=END`, `extra.seed=42`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.errors import OptionError

_EXTRA = "extra"


def _parse_number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return int(value) if value.is_integer() and text.strip().lstrip("-+").isdigit() else value


def _parse_flag(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


def _parse_effort(text: str) -> str | int:
    return int(text) if text.strip().isdigit() else text.strip()


#: The parser of each option, and the description for its error message.
_PARSERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "temperature": (_parse_number, "a number, such as 0.2"),
    "top_p": (_parse_number, "a number, such as 0.9"),
    "max_tokens": (int, "an integer, such as 500"),
    "stop": (str, "a text"),
    "reasoning": (_parse_effort, "a word such as low, or a number of tokens"),
    "tool_choice": (str, "auto, none, required, or the name of a tool"),
    "parallel_tool_calls": (_parse_flag, "true or false"),
    "cache": (_parse_flag, "true or false"),
}
#: The beginning of each option, for completion.
OPTION_PREFIXES = (*(f"{name}=" for name in _PARSERS), f"{_EXTRA}.")
#: Names of these options in other programs and APIs.
_FOREIGN_NAMES = {
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


def parse_options(written: Iterable[str]) -> dict[str, Any]:
    """Parse `name=value` options. If a name is repeated, the last value wins; values of `stop` are collected."""
    out: dict[str, Any] = {}
    for each in written:
        name, equals, text = each.partition("=")
        name = name.strip()
        if not equals or not name:
            raise OptionError(f"`-o` takes name=value, such as `-o temperature=0`, not {each!r:.60}")
        if name.startswith(f"{_EXTRA}."):
            _set_field(
                out.setdefault(_EXTRA, {}), name.removeprefix(f"{_EXTRA}.").split("."), _parse_json_or_text(text), name
            )
            continue
        value = _parse_option(name, text)
        if name == "stop":
            out.setdefault(name, []).append(value)
        else:
            out[name] = value
    check_options(out)
    return out


def check_options(options: Mapping[str, Any]) -> None:
    """Raise an OptionError for options that no model accepts."""
    if options:
        from antiphon.providers.model import merge_options
        from antiphon.wire import Options

        merge_options(Options(), options)


def _parse_option(name: str, text: str) -> Any:
    if name not in _PARSERS:
        raise OptionError(f"there is no option `{name}`; {_make_hint(name, text)}")
    read, wanted = _PARSERS[name]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise OptionError(f"`-o {name}=…` is {wanted}, not {text!r:.60}") from None


def _make_hint(name: str, text: str) -> str:
    if meant := _FOREIGN_NAMES.get(name, ""):
        return f"use `{meant}`" if meant.startswith("--") else f"it is `-o {meant}={text[:60]}`"
    own = f"a field of the provider's own is `-o {_EXTRA}.{name}={text[:60]}`"
    alike = name.replace("-", "_")
    near = alike if alike in _PARSERS else suggest_name(alike, _PARSERS)
    return f"did you mean `{near}`? ({own})" if near else f"there are {', '.join(_PARSERS)}; {own}"


def _set_field(place: dict[str, Any], path: list[str], value: Any, name: str) -> None:
    """Set a field, which may be nested."""
    *outer, last = path
    for step in outer:
        if not isinstance(place.setdefault(step, {}), dict):
            raise OptionError(f"`-o {name}=…` is a field of `{step}`, which already has a value")
        place = place[step]
    if not all(path):
        raise OptionError(f"`-o {name}=…` names no field")
    place[last] = value


def _parse_json_or_text(text: str) -> Any:
    """Parse a value as JSON; anything else is a text."""
    try:
        return json.loads(text, parse_constant=str)
    except ValueError:
        return text
