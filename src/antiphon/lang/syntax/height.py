"""How high a tree is, found without walking into it step by step."""

from __future__ import annotations

from typing import Any, cast

from antiphon.lang.syntax import nodes as n


def part_beyond(node: n.Node, limit: int) -> n.Node | None:
    """A part that more than `limit` others stand around, if there is one. Blocks in the node do not count."""
    level = [node]
    for _ in range(limit):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return None
    return level[0]


def _parts(node: n.Node) -> list[n.Node]:
    parts: list[n.Node] = []
    for name in type(node).__slots__:
        value: Any = getattr(node, name)
        values: list[Any] = cast(list[Any], value) if isinstance(value, list) else [value]
        parts += [each for each in values if isinstance(each, n.Node) and not isinstance(each, n.Block)]
    return parts
