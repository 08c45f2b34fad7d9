"""`.env` files, as people write them."""

from __future__ import annotations

import re

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def parse(text: str) -> tuple[dict[str, str], list[int]]:
    """The variables of such a file, and the numbers of the lines that are none.

    Single quotes keep a value as it is, double quotes know backslashes, and ` #` begins a comment. Nothing is
    replaced inside of values.
    """
    values: dict[str, str] = {}
    bad: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = _value(match[2]) if match else None
        if match is None or value is None or "\0" in value:
            bad.append(number)
        else:
            values[match[1]] = value
    return values, bad


def _value(text: str) -> str | None:
    if text[:1] in ("'", '"'):
        quoted = _QUOTED.fullmatch(text)
        if quoted is None:
            return None
        if quoted[1] is not None:
            return quoted[1]
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), quoted[2])
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
