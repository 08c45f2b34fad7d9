"""What all nodes are, and going through a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, field
from functools import cache
from typing import Any, ClassVar, dataclass_transform, get_args


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class _Kind(type):
    """A class is made of its annotations as a dataclass is; but that takes most of a start for fifty of them.

    So what makes a node is written when the first one is made: few programs have nodes of every kind.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> _Kind:
        own = tuple(space.get("__annotations__", ())) if bases else ("start", "end")
        given = {each: space.pop(each, MISSING) for each in own}
        inherited: dict[str, Any] = bases[0].given if bases else {}  # type: ignore[attr-defined]
        return super().__new__(
            cls,
            name,
            bases,
            space | {"__slots__": own, "__init__": _make_first, "own": own, "given": inherited | given},
        )


def _make_first(self: Any, *values: Any, **named: Any) -> None:
    make = self.__class__.__init__ = _maker(self.__class__)
    make(self, *values, **named)


def _maker(kind: Any) -> Any:
    """The `__init__` of a kind of node."""
    space: dict[str, Any] = {"missing": MISSING}
    parameters: list[str] = []
    lines: list[str] = []
    for name, given in kind.given.items():
        default: Any = getattr(given, "default", given)
        factory: Any = getattr(given, "default_factory", MISSING)
        space[f"_{name}"] = factory if factory is not MISSING else default
        is_needed = default is MISSING and factory is MISSING
        parameters.append(name if is_needed else f"{name}=_{name}" if factory is MISSING else f"{name}=missing")
        value = name if factory is MISSING else f"_{name}() if {name} is missing else {name}"
        lines.append(f"    self.{name} = {value}")
    exec(f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(lines), space)
    return space["__init__"]


class Node(metaclass=_Kind):
    """Anything in a tree: from `start` up to `end`, as offsets."""

    start: int = field(compare=False)
    end: int = field(compare=False)
    #: The fields of a kind itself; and what is said of each field besides its name: nothing, its default, or more.
    own: ClassVar[tuple[str, ...]]
    given: ClassVar[dict[str, Any]]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        names = [name for name, each in self.given.items() if not isinstance(each, Field) or each.compare]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = [name for name, each in self.given.items() if not isinstance(each, Field) or each.repr]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


class _Readers(dict[type, Callable[[Node], list[Node]]]):
    """What reads the parts of a node, by its kind; each is written when the first of its kind is looked into."""

    def __missing__(self, kind: type[Node]) -> Callable[[Node], list[Node]]:
        parts = ", ".join(_part(name, kind.__annotations__[name]) for name in parts_of(kind))
        read = self[kind] = eval(f"lambda node: [{parts}]")
        return read


def _part(name: str, said: str) -> str:
    """What reads a field, by its annotation."""
    if said.startswith("list["):
        is_mixed = not _PLAIN.isdisjoint(said[5:-1].split(" | "))
        return f"*[each for each in node.{name} if each.__class__ is not str]" if is_mixed else f"*node.{name}"
    return f"*(() if node.{name} is None else (node.{name},))" if said.endswith(" | None") else f"node.{name}"


_READERS = _Readers()


def children(node: Node) -> list[Node]:
    """The nodes that a node is made of, in the order of the text."""
    return _READERS[node.__class__](node)


#: What is no node, in the annotations of the fields.
_PLAIN = frozenset(("int", "str", "bool", "float", "Type", "Symbol", "Context", "None"))
_NO_NODES = ("Literal[", "set[", "list[tuple[")


@cache
def parts_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that can hold nodes, in the order of the text."""
    said = {name: kind.__annotations__[name] for name in kind.own}
    return tuple(
        name
        for name, each in said.items()
        if not each.startswith(_NO_NODES) and not _PLAIN.issuperset(each.split(" | "))
    )


def walk(root: Node, parts: Callable[[Node], Sequence[Node]] = children) -> Iterator[Node]:
    """A node and all that is in it, each before its parts. No recursion: a program's writer chooses how deep it is."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending += parts(node)[::-1]


def require_all(table: Mapping[type, object], kinds: Any) -> None:
    """Raise unless a table has an entry for each kind: a node that was forgotten is found when its room is imported."""
    missing = [each.__name__ for each in get_args(kinds) if each not in table]
    if missing:
        raise NotImplementedError(f"nothing is said of {', '.join(missing)}")
