"""What all nodes are, and going through a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, field
from functools import cache
from typing import Any, ClassVar, cast, dataclass_transform, get_args


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
    return tuple(name for name in kind.own if not _PLAIN.issuperset(annotations[name].split(" | ")))


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
