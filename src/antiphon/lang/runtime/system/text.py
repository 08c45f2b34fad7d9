"""`system/text`: regular expressions of Python, and templates."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.system import SystemFunction
from antiphon.lang.runtime.values import to_text as shown
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.constants import MATCH_TYPE

#: An interpolation of a template, as in strings of the language.
_INTERPOLATION = re.compile(r"\{([^\W\d]\w*(?:\.\w+|\[\d+\])*)\}")
_PATH_STEP = re.compile(r"\w+")


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        message = f"{pattern!r:.80} is not a regular expression: {error}"
        raise VibeError("V0944", message, "`\\\\d` in a string is `\\d` in the pattern") from None


def _matches(text: str, pattern: str) -> bool:
    return _compile_pattern(pattern).search(text) is not None


def _find(text: str, pattern: str) -> dict[str, Any] | None:
    found = _compile_pattern(pattern).search(text)
    return None if found is None else _match_to_object(found)


def _find_all(text: str, pattern: str) -> list[dict[str, Any]]:
    return [_match_to_object(found) for found in _compile_pattern(pattern).finditer(text)]


def _match_to_object(found: re.Match[str]) -> dict[str, Any]:
    start, end = found.span()
    return {"text": found[0], "groups": list(found.groups()), "names": found.groupdict(), "start": start, "end": end}


def _replace(text: str, pattern: str, by: str) -> str:
    try:
        return _compile_pattern(pattern).sub(by, text)
    except (re.error, IndexError) as error:
        hint = "`\\\\1` stands for the first group, `\\\\g<name>` for one that has a name"
        raise VibeError("V0944", f"{by!r:.80} is not a replacement: {error}", hint) from None


def _split(text: str, pattern: str) -> list[str]:
    return [each for each in re.split(_compile_without_groups(pattern), text) if each is not None]


def _compile_without_groups(pattern: str) -> re.Pattern[str]:
    compiled = _compile_pattern(pattern)
    if not compiled.groups:
        return compiled
    raise VibeError("V0944", "a pattern to split at has no groups", "write `(?:…)` in place of `(…)`")


def _fill(template: str, values: Any) -> str:
    return _INTERPOLATION.sub(lambda hole: shown(_resolve_path(hole[1], values)), template)


def _resolve_path(path: str, values: Any) -> Any:
    value = values
    for step in _PATH_STEP.findall(path):
        if isinstance(value, dict) and step in value:
            value = cast(dict[str, Any], value)[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(cast(list[Any], value)):
            value = cast(list[Any], value)[int(step)]
        else:
            raise VibeError("V0944", f"the template has the interpolation {{{path}}}, and there is no value for it")
    return value


_MATCHED = {"text": t.TEXT, "pattern": t.TEXT}
FUNCTIONS = {
    "matches": SystemFunction("Whether a regular expression is found in a text.", _matches, _MATCHED, t.BOOLEAN),
    "find": SystemFunction(
        "Where it is found first, with its groups, or null.",
        _find,
        _MATCHED,
        t.make_nullable(MATCH_TYPE),
        gives="found",
    ),
    "findAll": SystemFunction("All places where it is found.", _find_all, _MATCHED, t.Array(MATCH_TYPE), gives="found"),
    "replace": SystemFunction(
        "The text with each place replaced; `\\1` stands for a group.", _replace, {**_MATCHED, "by": t.TEXT}, t.TEXT
    ),
    "split": SystemFunction("The parts between the places where it is found.", _split, _MATCHED, t.Array(t.TEXT)),
    "escape": SystemFunction("A pattern that finds just this text.", re.escape, {"text": t.TEXT}, t.TEXT),
    "fill": SystemFunction(
        "A template with values in its holes, `{name}` or `{user.name}`.",
        _fill,
        {"template": t.TEXT, "values": t.JSON},
        t.TEXT,
    ),
}
