"""Tree views of any data: the first nodes in reading order, and for each branch how much is left out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.views.data_window import Window, iter_items, truncate_text
from antiphon.views.types import Branch, Leaf, Tree, TreeNode

#: A list of at most this many plain values may be rendered in one line, and counts as one row.
SHORT_LIST = 8
#: How many omitted rows are counted exactly; beyond that it is enough to know that there are more.
MAX_COUNTED_ROWS = 10_000


def build_tree_body(result: Result, part: Window) -> Tree:
    """Build a tree whose branches open and close."""
    return build_value_tree(result.data, part, result.display.field_types)


def build_value_tree(data: object, part: Window, formats: Mapping[str, str] | None = None) -> Tree:
    """Build a tree of any value; `formats` are field types by name."""
    reader = _TreeBuilder(part, formats or {})
    root = reader.node(None, data, part.start)
    return Tree(
        root, part.start, min(reader.left_out, MAX_COUNTED_ROWS), reader.left_out > MAX_COUNTED_ROWS or reader.guessed
    )


class _TreeBuilder:
    """Builds nodes until the rows are used up."""

    def __init__(self, part: Window, formats: Mapping[str, str]) -> None:
        self._part = part
        self._formats = formats
        self._room = part.rows + 1
        #: The number of omitted rows, and whether some of them may be rendered as several.
        self.left_out = 0
        self.guessed = False

    def node(self, key: str | int | None, value: object, start: int = 0) -> TreeNode:
        self._room -= 1
        name = truncate_text(key) if isinstance(key, str) else key
        if not isinstance(value, dict | list):
            return Leaf(name, self._part.scalar(value), self._formats.get(key, "") if isinstance(key, str) else "")
        compound = cast(dict[str, Any] | list[Any], value)
        room = self._room
        short = not start and _is_short_list(compound)
        nodes: list[TreeNode] = []
        for key, inner in islice(iter_items(compound), start, None):
            if short or self._room > 0:
                nodes.append(self.node(key, inner))
            elif self.left_out > MAX_COUNTED_ROWS:
                break
            else:
                self.left_out += self._rows(inner, MAX_COUNTED_ROWS - self.left_out)
        if short:
            self._room = room
        shape = "object" if isinstance(compound, dict) else "list"
        return Branch(name, shape, tuple(nodes), max(len(compound) - start - len(nodes), 0))

    def _rows(self, value: object, most: int) -> int:
        """Return how many rows a value takes, counted up to `most`."""
        if not isinstance(value, dict | list) or not value:
            return 1
        compound = cast(dict[str, Any] | list[Any], value)
        if _is_short_list(compound):
            self.guessed = True
            return 1
        rows = 1
        for _, inner in iter_items(compound):
            if rows > most:
                break
            rows += self._rows(inner, most - rows)
        return rows


def _is_short_list(compound: dict[str, Any] | list[Any]) -> bool:
    if isinstance(compound, dict) or len(compound) > SHORT_LIST:
        return False
    return not any(isinstance(item, dict | list) for item in compound)
