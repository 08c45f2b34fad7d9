"""The base class of all nodes, and traversal of trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, field
from functools import cache
from typing import Any, ClassVar, dataclass_transform, get_args


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class _NodeMeta(type):
    """The metaclass of nodes: a class is built from its annotations as a dataclass is, but much faster.

    The `__init__` of a class is generated when its first node is created: few programs have nodes of every class.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> _NodeMeta:
        own = tuple(space.get("__annotations__", ())) if bases else ("start", "end")
        given = {each: space.pop(each, MISSING) for each in own}
        inherited: dict[str, Any] = bases[0].given if bases else {}  # type: ignore[attr-defined]
        return super().__new__(
            cls,
            name,
            bases,
            space | {"__slots__": own, "__init__": _init_first_node, "own": own, "given": inherited | given},
        )


def _init_first_node(self: Any, *values: Any, **named: Any) -> None:
    make = self.__class__.__init__ = _build_init(self.__class__)
    make(self, *values, **named)


def _build_init(kind: Any) -> Any:
    """Generate the `__init__` of a node class."""
    space: dict[str, Any] = {"missing": MISSING}
    parameters: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for name, given in kind.given.items():
        default: Any = getattr(given, "default", given)
        factory: Any = getattr(given, "default_factory", MISSING)
        space[f"_{name}"] = factory if factory is not MISSING else default
        is_needed = default is MISSING and factory is MISSING
        said = name if is_needed else f"{name}=_{name}" if factory is MISSING else f"{name}=missing"
        (by_name if getattr(given, "kw_only", False) is True else parameters).append(said)
        value = name if factory is MISSING else f"_{name}() if {name} is missing else {name}"
        lines.append(f"    self.{name} = {value}")
    written = ", ".join([*parameters, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__(self, {written}):\n" + "\n".join(lines), space)
    return space["__init__"]


class Node(metaclass=_NodeMeta):
    """Base class of all nodes: a span from `start` to `end`, as offsets."""

    start: int = field(compare=False)
    end: int = field(compare=False)
    #: The fields that a class itself declares; and for each field MISSING, its default, or a dataclass `Field`.
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


class _ChildReaders(dict[type, Callable[[Node], list[Node]]]):
    """Functions that return the children of a node, by its class; each is generated on first use."""

    def __missing__(self, kind: type[Node]) -> Callable[[Node], list[Node]]:
        parts = ", ".join(_child_expression(name, kind.__annotations__[name]) for name in child_fields(kind))
        read = self[kind] = eval(f"lambda node: [{parts}]")
        return read


def _child_expression(name: str, said: str) -> str:
    """Return the Python expression that reads a field's nodes, by its annotation."""
    if said.startswith("list["):
        is_mixed = not _NON_NODE_TYPES.isdisjoint(said[5:-1].split(" | "))
        return f"*[each for each in node.{name} if each.__class__ is not str]" if is_mixed else f"*node.{name}"
    return f"*(() if node.{name} is None else (node.{name},))" if said.endswith(" | None") else f"node.{name}"


_CHILD_READERS = _ChildReaders()


def children(node: Node) -> list[Node]:
    """Return the child nodes of a node, in the order of the text."""
    return _CHILD_READERS[node.__class__](node)


#: Annotations of fields that hold no nodes.
_NON_NODE_TYPES = frozenset(("int", "str", "bool", "float", "Type", "Symbol", "Context", "None"))
_NON_NODE_PREFIXES = ("Literal[", "set[", "list[tuple[")


@cache
def child_fields(kind: type[Node]) -> tuple[str, ...]:
    """Return the fields of a node class that can hold nodes, in the order of the text."""
    said = {name: kind.__annotations__[name] for name in kind.own}
    return tuple(
        name
        for name, each in said.items()
        if not each.startswith(_NON_NODE_PREFIXES) and not _NON_NODE_TYPES.issuperset(each.split(" | "))
    )


def walk(root: Node, parts: Callable[[Node], Sequence[Node]] = children) -> Iterator[Node]:
    """Yield a node and all its descendants in preorder. Iterative, since a program may be nested arbitrarily deep."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending += parts(node)[::-1]


def require_all(table: Mapping[type, object], kinds: Any) -> None:
    """Raise NotImplementedError unless a table has an entry for each class; called when its module is imported."""
    missing = [each.__name__ for each in get_args(kinds) if each not in table]
    if missing:
        raise NotImplementedError(f"nothing is said of {', '.join(missing)}")
