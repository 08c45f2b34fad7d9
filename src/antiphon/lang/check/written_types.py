"""What a written type means."""

from __future__ import annotations

from itertools import chain

from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    JSON,
    NAMED,
    NULL,
    TEXT,
    Alias,
    Array,
    Callable,
    Field,
    Literal,
    Map,
    Object,
    Type,
    Union,
    options_of,
)
from antiphon.lang.syntax.habits import TYPES
from antiphon.lang.syntax.nodes import (
    ArrayType,
    FunctionType,
    LiteralType,
    MapType,
    ObjectType,
    TypeName,
    TypeNode,
    UnionType,
)

#: More dimensions than this are nobody's intention.
MOST_DIMENSIONS = 16
#: How many names a type may go through before it is known what it is.
MOST_STEPS = 40


def meaning(c: Checker, node: TypeNode) -> Type:
    """What a written type means; the fields of object types are filled in too."""
    if type(node) is TypeName and (known := NAMED.get(node.name)) is not None:
        node.type = known
        return known
    type_ = _read(c, node)
    _fill(c)
    return type_


def declare_types(c: Checker, symbols: list[Symbol]) -> None:
    """Find out what the declared types of a scope stand for; they may refer to each other."""
    for symbol in symbols:
        c.aliases[symbol] = False
    for symbol in symbols:
        _alias(c, symbol)
    _fill(c)


def _fill(c: Checker) -> None:
    while c.unfilled:
        found, node = c.unfilled.pop()
        if isinstance(found, Alias):
            found.target = _read(c, node)
            continue
        seen: set[str] = set()
        for each in node.fields:
            if each.name in seen:
                where = each.start, each.name_end or each.end
                c.report("V0318", f"the field `{each.name}` is there twice", where, "leave one of them out")
            seen.add(each.name)
            found.fields[each.name] = Field(_read(c, each.declared), each.optional, each.description)


def _read(c: Checker, node: TypeNode, name: str = "") -> Type:
    type_ = node.type = _meaning(c, node, name)
    return type_


def _meaning(c: Checker, node: TypeNode, name: str) -> Type:
    match node:
        case TypeName():
            return NAMED.get(node.name) or _declared(c, node)
        case ArrayType():
            return _array(c, node)
        case LiteralType():
            return Literal(node.value)
        case UnionType():
            return _union([_read(c, each, name) for each in node.options])
        case MapType():
            return _map(c, node)
        case FunctionType():
            parameters = tuple(_read(c, each) for each in node.parameters)
            return Callable(parameters, len(parameters), _read(c, node.returns))
        case ObjectType():
            found = Object({}, name)
            c.unfilled.append((found, node))
            return found


def _declared(c: Checker, node: TypeName) -> Type:
    symbol = c.scope.find(node.name)
    other = TYPES.get(node.name.lower())
    if symbol is None or (other and symbol.is_lost):
        known = chain(NAMED, (each for each in c.scope.all_names() if _is_type(c, each)))
        near = "" if other else c.meant(node.name, known)
        hint = f"write `{other}`" if other else near or _unknown_hint(c, node)
        c.report("V0206", f"there is no type `{node.name}`", node, hint, is_habit=bool(hint) and not near)
        return JSON
    symbol.used = True
    if symbol.kind == "type":
        return _alias(c, symbol, node)
    if symbol.type != JSON or not (symbol.kind == "import" or symbol.is_lost):
        c.report("V0207", f"`{node.name}` is not a type but a {_KINDS.get(symbol.kind, symbol.kind)}", node)
    return JSON


def _unknown_hint(c: Checker, node: TypeName) -> str:
    """What to declare; of names with `|` between them, texts are meant."""
    text = c.source.text
    if len(node.name) < 2:
        return ""
    if text[: node.start].rstrip()[-1:] == "|" or text[node.end :].lstrip()[:1] == "|":
        return f'a type of texts is `"{node.name}" | "…"`'
    return f"declare it: `type {node.name} {{ name: text }}`, or import it"


_KINDS = {"let": "variable", "const": "constant", "loop": "loop variable", "caught": "caught error"}


def _is_type(c: Checker, name: str) -> bool:
    symbol = c.scope.find(name)
    return symbol is not None and symbol.kind == "type"


def _alias(c: Checker, symbol: Symbol, used: TypeName | None = None) -> Type:
    is_open = c.aliases.get(symbol)
    if is_open is None:
        return symbol.type
    if is_open or c.open_aliases >= MOST_STEPS:
        hint = f"only what is in it may be of it: `type {symbol.name} {{ next: {symbol.name} | null }}`"
        own = f"the type `{symbol.name}` is defined by itself"
        message = own if is_open else "these types name each other in too long a chain"
        c.report("V0316", message, used or symbol, hint if is_open else "")
        return JSON
    c.aliases[symbol] = True
    c.open_aliases += 1
    outer, c.defined = c.defined, symbol
    symbol.type = _read(c, symbol.node.declared, symbol.name)
    c.defined = outer
    c.open_aliases -= 1
    del c.aliases[symbol]
    return symbol.type


def _inner(c: Checker, node: TypeNode) -> Type | Alias:
    """What is in an array or a map: known later, if it is a type in whose definition this stands."""
    if c.defined is None or not _refers_to(c, node, c.defined):
        return _read(c, node)
    found = Alias(node.name if isinstance(node, TypeName) else "")
    c.unfilled.append((found, node))
    return found


def _refers_to(c: Checker, node: TypeNode, goal: Symbol) -> bool:
    """Whether a written type names another, itself or by what it names; fields may name anything."""
    todo: list[TypeNode] = [node]
    seen: set[Symbol] = set()
    while todo:
        each = todo.pop()
        if isinstance(each, ArrayType):
            todo.append(each.item)
        elif isinstance(each, MapType):
            todo.append(each.value)
        elif isinstance(each, UnionType):
            todo += each.options
        elif isinstance(each, TypeName) and (symbol := c.scope.find(each.name)) is not None and symbol not in seen:
            seen.add(symbol)
            if symbol is goal:
                return True
            if symbol in c.aliases:
                todo.append(symbol.node.declared)
    return False


def _array(c: Checker, node: ArrayType) -> Type:
    written = [node]
    while isinstance(written[-1].item, ArrayType):
        written.append(written[-1].item)
    type_ = _inner(c, written[-1].item)
    found: Type = JSON
    depth = _dimensions(type_)
    for i, each in enumerate(reversed(written), 1):
        if depth + i == MOST_DIMENSIONS + 1:
            c.report("V0317", f"more than {MOST_DIMENSIONS} dimensions are too many", node)
        found = each.type = Array(type_) if depth + i <= MOST_DIMENSIONS else JSON
        type_ = found
    return found


def _map(c: Checker, node: MapType) -> Type:
    if _read(c, node.key) != TEXT:
        c.report("V0340", "the keys of a map are text", node.key, "write `{ [text]: … }`; `n.toString()` makes a key")
    return Map(_inner(c, node.value))


def _dimensions(type_: Type | Alias) -> int:
    if isinstance(type_, Array):
        return 1 + _dimensions(type_.inner)
    return max(map(_dimensions, type_.options)) if isinstance(type_, Union) else 0


def _union(options: list[Type]) -> Type:
    flat: dict[Type, None] = {}
    for each in options:
        flat |= dict.fromkeys(options_of(each))
    if JSON in flat:
        return JSON
    if len(flat) > 1 and NULL in flat:
        del flat[NULL]
        flat[NULL] = None
    return Union(tuple(flat)) if len(flat) > 1 else next(iter(flat), JSON)
