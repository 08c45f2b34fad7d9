"""What all nodes are, and going through a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, cast, get_args


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """Anything in a tree: from `start` up to `end`, as offsets."""

    start: int = field(compare=False)
    end: int = field(compare=False)

    # Written once for all nodes: made anew for each of fifty classes they would slow down every start.
    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(self) if each.compare)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__name__}({', '.join(shown)})"


def children(node: Node) -> list[Node]:
    """The nodes that a node is made of, in the order of the text."""
    out: list[Node] = []
    for name in parts_of(node.__class__):
        value: Any = getattr(node, name)
        if value.__class__ is list:
            out += [each for each in cast("list[Any]", value) if isinstance(each, Node)]
        elif isinstance(value, Node):
            out.append(value)
    return out


#: What is no node, in the annotations of the fields.
_PLAIN = frozenset(("int", "str", "bool", "float", "Type", "Symbol", "Context", "None"))


@cache
def parts_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that can hold nodes, in the order of the text."""
    annotations = kind.__annotations__
    return tuple(name for name in kind.__slots__ if not _PLAIN.issuperset(annotations[name].split(" | ")))


def walk(root: Node, parts: Callable[[Node], Iterable[Node]] = children) -> Iterator[Node]:
    """A node and all that is in it, each before its parts. No recursion: a program's writer chooses how deep it is."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        inner = parts(node)
        pending += reversed(inner if isinstance(inner, list) else [*inner])


def require_all(table: Mapping[type, object], kinds: Any) -> None:
    """Raise unless a table has an entry for each kind: a node that was forgotten is found when its room is imported."""
    missing = [each.__name__ for each in get_args(kinds) if each not in table]
    if missing:
        raise NotImplementedError(f"nothing is said of {', '.join(missing)}")
