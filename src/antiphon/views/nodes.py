"""Data of any shape as a tree: the first of it in reading order, and of each branch how much is left out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.views.data import Branch, Leaf, Node, Piece, Tree
from antiphon.views.part import Part, items_of, piece

#: A list of so few plain values may be drawn in a line: it takes the room of one row.
SHORT = 8
#: Rows that are counted though nobody sees them; beyond, it is enough to know that there are more.
COUNTED = 10_000


def tree(result: Result, part: Part) -> Tree:
    """A tree whose branches open and close."""
    return any_tree(result.data, part, result.display.field_types)


def any_tree(data: object, part: Part, formats: Mapping[str, str] | None = None) -> Tree:
    """Any value as a tree; `formats` are the field types of what is in it, by name."""
    reader = _Reader(part, formats or {})
    root = reader.node(None, data, part.start)
    return Tree(root, part.start, min(reader.left_out, COUNTED), reader.left_out > COUNTED or reader.guessed)


class _Reader:
    """Takes nodes until there is no room for more."""

    def __init__(self, part: Part, formats: Mapping[str, str]) -> None:
        self._part = part
        self._formats = formats
        self._room = part.rows + 1
        #: Rows that were counted instead, and whether some of them may be drawn as several.
        self.left_out = 0
        self.guessed = False

    def node(self, key: str | int | None, value: object, start: int = 0) -> Node:
        self._room -= 1
        name = piece(key) if isinstance(key, str) else key
        if not isinstance(value, dict | list):
            return Leaf(name, self._part.scalar(value), self._formats.get(key, "") if isinstance(key, str) else "")
        return self._branch(name, cast(dict[str, Any] | list[Any], value), start)

    def _branch(self, name: Piece | int | None, compound: dict[str, Any] | list[Any], start: int) -> Branch:
        room = self._room
        short = not start and _is_short(compound)
        nodes: list[Node] = []
        for key, inner in islice(items_of(compound), start, None):
            if short or self._room > 0:
                nodes.append(self.node(key, inner))
            elif self.left_out > COUNTED:
                break
            else:
                self.left_out += self._rows(inner, COUNTED - self.left_out)
        if short:
            self._room = room
        shape = "object" if isinstance(compound, dict) else "list"
        return Branch(name, shape, tuple(nodes), max(len(compound) - start - len(nodes), 0))

    def _rows(self, value: object, most: int) -> int:
        """How many rows a value takes, counted until there are more than so many."""
        if not isinstance(value, dict | list) or not value:
            return 1
        compound = cast(dict[str, Any] | list[Any], value)
        if _is_short(compound):
            self.guessed = True
            return 1
        rows = 1
        for _, inner in items_of(compound):
            if rows > most:
                break
            rows += self._rows(inner, most - rows)
        return rows


def _is_short(compound: dict[str, Any] | list[Any]) -> bool:
    if isinstance(compound, dict) or len(compound) > SHORT:
        return False
    return not any(isinstance(item, dict | list) for item in compound)
