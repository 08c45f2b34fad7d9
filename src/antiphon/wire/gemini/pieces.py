"""Arguments that Vertex streams in pieces, each with the path of the value it belongs to."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from antiphon._shape import string
from antiphon.wire.gemini.keys import camel_keys
from antiphon.wire.growing import Growing, longer

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\[(?:'([^']*)'|"([^"]*)")\]""")
_VALUES = ("stringValue", "numberValue", "boolValue")


def put(arguments: dict[str, Any], piece: object) -> None:
    """Add one piece; text that is there already grows."""
    data = camel_keys(piece)
    steps = [_step(*found) for found in _STEP.findall(string(data.get("jsonPath")))]
    if not steps:
        return
    value = next((data[name] for name in _VALUES if name in data), None)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    holder: Any = arguments
    for step, following in pairwise(steps):
        inner: Any = _get(holder, step)
        if not isinstance(inner, dict | list):
            _set(holder, step, [] if isinstance(following, int) else {})
        holder = _get(holder, step)
    before = _get(holder, steps[-1])
    _set(
        holder,
        steps[-1],
        longer(before, value) if isinstance(before, str | Growing) and isinstance(value, str) else value,
    )


def _step(name: str, index: str, single: str, double: str) -> str | int:
    return int(index) if index else name or single or double


def _get(holder: Any, step: str | int) -> Any:
    if isinstance(holder, list):
        return holder[step] if isinstance(step, int) and step < len(holder) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return holder.get(str(step))


def _set(holder: Any, step: str | int, value: Any) -> None:
    if not isinstance(holder, list):
        holder[str(step)] = value
    elif isinstance(step, int) and step < len(holder):  # pyright: ignore[reportUnknownArgumentType]
        holder[step] = value
    else:
        # An index beyond the end is the next one: nobody leaves gaps, and a huge one must not make a huge list.
        holder.append(value)  # pyright: ignore[reportUnknownMemberType]
