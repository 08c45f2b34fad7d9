"""Assembly of call arguments that Vertex streams in pieces, each with the JSON path of its value."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from antiphon._base.json_access import as_string
from antiphon.wire.accumulate import TextAccumulator, append_text
from antiphon.wire.gemini.field_names import camelize_keys

_PATH_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\[(?:'([^']*)'|"([^"]*)")\]""")
_VALUE_FIELDS = ("stringValue", "numberValue", "boolValue")


def add_partial_argument(arguments: dict[str, Any], piece: object) -> None:
    """Add one streamed piece to the arguments. Text extends the text that is already there."""
    data = camelize_keys(piece)
    steps = [_parse_step(*found) for found in _PATH_STEP.findall(as_string(data.get("jsonPath")))]
    if not steps:
        return
    value = next((data[name] for name in _VALUE_FIELDS if name in data), None)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    holder: Any = arguments
    for step, following in pairwise(steps):
        inner: Any = _get_item(holder, step)
        if not isinstance(inner, dict | list):
            _set_item(holder, step, [] if isinstance(following, int) else {})
        holder = _get_item(holder, step)
    before = _get_item(holder, steps[-1])
    _set_item(
        holder,
        steps[-1],
        append_text(before, value) if isinstance(before, str | TextAccumulator) and isinstance(value, str) else value,
    )


def _parse_step(name: str, index: str, single: str, double: str) -> str | int:
    return int(index) if index else name or single or double


def _get_item(holder: Any, step: str | int) -> Any:
    if isinstance(holder, list):
        return holder[step] if isinstance(step, int) and step < len(holder) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return holder.get(str(step))


def _set_item(holder: Any, step: str | int, value: Any) -> None:
    if not isinstance(holder, list):
        holder[str(step)] = value
    elif isinstance(step, int) and step < len(holder):  # pyright: ignore[reportUnknownArgumentType]
        holder[step] = value
    else:
        # Treat an index beyond the end as the next one, so that a huge index cannot create a huge list.
        holder.append(value)  # pyright: ignore[reportUnknownMemberType]
