"""Data of any shape as a tree: the first of it in reading order, and of each branch how much is left out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.views.part import Part, items_of, piece
from antiphon.views.view import Branch, Leaf, Node, Piece, Tree

#: A list of so few plain values may be drawn in a line: it takes the room of one row.
SHORT = 8


def tree(result: Result, part: Part) -> Tree:
    """A tree whose branches open and close."""
    return any_tree(result.data, part, result.display.field_types)


def any_tree(data: object, part: Part, formats: Mapping[str, str] | None = None) -> Tree:
    """Any value as a tree; `formats` are the field types of what is in it, by name."""
    return Tree(_Reader(part, formats or {}).node(None, data, part.start), part.start)


class _Reader:
    """Takes nodes until there is no room for more."""

    def __init__(self, part: Part, formats: Mapping[str, str]) -> None:
        self._part = part
        self._formats = formats
        self._room = part.rows + 1

    def node(self, key: str | int | None, value: object, start: int = 0) -> Node:
        self._room -= 1
        name = piece(key) if isinstance(key, str) else key
        if not isinstance(value, dict | list):
            return Leaf(name, self._part.scalar(value), self._formats.get(key, "") if isinstance(key, str) else "")
        return self._branch(name, cast(dict[str, Any] | list[Any], value), start)

    def _branch(self, name: Piece | int | None, compound: dict[str, Any] | list[Any], start: int) -> Branch:
        room = self._room
        short = not start and isinstance(compound, list) and len(compound) <= SHORT and _is_flat(compound)
        nodes: list[Node] = []
        for key, inner in islice(items_of(compound), start, None):
            if not short and self._room <= 0:
                break
            nodes.append(self.node(key, inner))
        if short:
            self._room = room
        shape = "object" if isinstance(compound, dict) else "list"
        return Branch(name, shape, tuple(nodes), max(len(compound) - start - len(nodes), 0))


def _is_flat(items: list[Any]) -> bool:
    return not any(isinstance(item, dict | list) for item in items)
