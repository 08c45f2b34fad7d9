"""A parser for `.env` files."""

from __future__ import annotations

import re

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def parse_dotenv(text: str) -> tuple[dict[str, str], list[int]]:
    """Parse a `.env` file. Return its variables, and the numbers of invalid lines.

    Single quotes keep a value as it is, double quotes allow backslash escapes, and ` #` begins a comment.
    Variables inside values are not expanded.
    """
    values: dict[str, str] = {}
    bad: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = _parse_value(match[2]) if match else None
        if match is None or value is None or "\0" in value:
            bad.append(number)
        else:
            values[match[1]] = value
    return values, bad


def _parse_value(text: str) -> str | None:
    if text[:1] in ("'", '"'):
        quoted = _QUOTED.fullmatch(text)
        if quoted is None:
            return None
        if quoted[1] is not None:
            return quoted[1]
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), quoted[2])
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
