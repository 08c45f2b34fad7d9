"""Resolution of type annotations to types."""

from __future__ import annotations

from itertools import chain

from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_TYPES
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
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.types import (
    JSON,
    NULL,
    TEXT,
    TYPES_BY_NAME,
    Array,
    CallableType,
    Literal,
    Map,
    Object,
    ObjectField,
    Type,
    TypeReference,
    Union,
    union_options,
)

#: The maximum number of array dimensions.
MAX_DIMENSIONS = 16
#: The maximum length of a chain of type names.
MAX_ALIAS_STEPS = 40


def resolve_annotation(c: Checker, node: TypeNode) -> Type:
    """Return the type that an annotation means, with the fields of object types filled in."""
    if type(node) is TypeName and (known := TYPES_BY_NAME.get(node.name)) is not None:
        node.type = known
        return known
    type_ = _resolve_node(c, node)
    _complete_types(c)
    return type_


def resolve_declared_types(c: Checker, symbols: list[Symbol]) -> None:
    """Resolve the declared types of a scope, which may refer to each other."""
    for symbol in symbols:
        c.aliases[symbol] = False
    for symbol in symbols:
        _resolve_alias(c, symbol)
    _complete_types(c)


def _complete_types(c: Checker) -> None:
    while c.incomplete_types:
        found, node = c.incomplete_types.pop()
        if isinstance(found, TypeReference):
            found.target = _resolve_node(c, node)
            continue
        seen: set[str] = set()
        for each in node.fields:
            if each.name in seen:
                where = each.start, each.name_end or each.end
                c.report("V0318", f"the field `{each.name}` is there twice", where, "leave one of them out")
            seen.add(each.name)
            found.fields[each.name] = ObjectField(_resolve_node(c, each.declared), each.optional, each.description)


def _resolve_node(c: Checker, node: TypeNode, name: str = "") -> Type:
    type_ = node.type = _resolve_by_class(c, node, name)
    return type_


def _resolve_by_class(c: Checker, node: TypeNode, name: str) -> Type:
    match node:
        case TypeName():
            return TYPES_BY_NAME.get(node.name) or _resolve_type_name(c, node)
        case ArrayType():
            return _resolve_array(c, node)
        case LiteralType():
            return Literal(node.value)
        case UnionType():
            return _flatten_union([_resolve_node(c, each, name) for each in node.options])
        case MapType():
            return _resolve_map(c, node)
        case FunctionType():
            parameters = tuple(_resolve_node(c, each) for each in node.parameters)
            return CallableType(parameters, len(parameters), _resolve_node(c, node.returns))
        case ObjectType():
            found = Object({}, name)
            c.incomplete_types.append((found, node))
            return found


def _resolve_type_name(c: Checker, node: TypeName) -> Type:
    symbol = c.scope.find(node.name)
    other = FOREIGN_TYPES.get(node.name.lower())
    if symbol is None or (other and symbol.is_unreadable):
        known = chain(TYPES_BY_NAME, (each for each in c.scope.iterate_names() if _is_type_symbol(c, each)))
        near = "" if other else c.meant(node.name, known)
        hint = f"write `{other}`" if other else near or _hint_unknown_type(c, node)
        c.report("V0206", f"there is no type `{node.name}`", node, hint, is_habit=bool(hint) and not near)
        return JSON
    symbol.used = True
    if symbol.kind == "type":
        return _resolve_alias(c, symbol, node)
    if symbol.type != JSON or not (symbol.kind == "import" or symbol.is_unreadable):
        c.report("V0207", f"`{node.name}` is not a type but a {_KIND_DESCRIPTIONS.get(symbol.kind, symbol.kind)}", node)
    return JSON


def _hint_unknown_type(c: Checker, node: TypeName) -> str:
    """Return a hint what to declare; for names separated by `|`, literal texts."""
    text = c.source.text
    if len(node.name) < 2:
        return ""
    if text[: node.start].rstrip()[-1:] == "|" or text[node.end :].lstrip()[:1] == "|":
        return f'a type of texts is `"{node.name}" | "…"`'
    return f"declare it: `type {node.name} {{ name: text }}`, or import it"


_KIND_DESCRIPTIONS = {"let": "variable", "const": "constant", "loop": "loop variable", "caught": "caught error"}


def _is_type_symbol(c: Checker, name: str) -> bool:
    symbol = c.scope.find(name)
    return symbol is not None and symbol.kind == "type"


def _resolve_alias(c: Checker, symbol: Symbol, used: TypeName | None = None) -> Type:
    is_open = c.aliases.get(symbol)
    if is_open is None:
        return symbol.type
    if is_open or c.resolution_depth >= MAX_ALIAS_STEPS:
        hint = f"only what is in it may be of it: `type {symbol.name} {{ next: {symbol.name} | null }}`"
        own = f"the type `{symbol.name}` is defined by itself"
        message = own if is_open else "these types name each other in too long a chain"
        c.report("V0316", message, used or symbol, hint if is_open else "")
        return JSON
    c.aliases[symbol] = True
    c.resolution_depth += 1
    outer, c.defined = c.defined, symbol
    symbol.type = _resolve_node(c, symbol.node.declared, symbol.name)
    c.defined = outer
    c.resolution_depth -= 1
    del c.aliases[symbol]
    return symbol.type


def _resolve_inner(c: Checker, node: TypeNode) -> Type | TypeReference:
    """Return the type inside an array or a map, or a reference to be resolved later in a recursive definition."""
    if c.defined is None or not _refers_to(c, node, c.defined):
        return _resolve_node(c, node)
    found = TypeReference(node.name if isinstance(node, TypeName) else "")
    c.incomplete_types.append((found, node))
    return found


def _refers_to(c: Checker, node: TypeNode, goal: Symbol) -> bool:
    """Return True if an annotation refers to a type, directly or through other names. Fields do not count."""
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


def _resolve_array(c: Checker, node: ArrayType) -> Type:
    written = [node]
    while isinstance(written[-1].item, ArrayType):
        written.append(written[-1].item)
    type_ = _resolve_inner(c, written[-1].item)
    found: Type = JSON
    depth = _count_dimensions(type_)
    for i, each in enumerate(reversed(written), 1):
        if depth + i == MAX_DIMENSIONS + 1:
            c.report("V0317", f"more than {MAX_DIMENSIONS} dimensions are too many", node)
        found = each.type = Array(type_) if depth + i <= MAX_DIMENSIONS else JSON
        type_ = found
    return found


def _resolve_map(c: Checker, node: MapType) -> Type:
    if _resolve_node(c, node.key) != TEXT:
        c.report("V0340", "the keys of a map are text", node.key, "write `{ [text]: … }`; `n.toString()` makes a key")
    return Map(_resolve_inner(c, node.value))


def _count_dimensions(type_: Type | TypeReference) -> int:
    if isinstance(type_, Array):
        return 1 + _count_dimensions(type_.inner)
    return max(map(_count_dimensions, type_.options)) if isinstance(type_, Union) else 0


def _flatten_union(options: list[Type]) -> Type:
    flat: dict[Type, None] = {}
    for each in options:
        flat |= dict.fromkeys(union_options(each))
    if JSON in flat:
        return JSON
    if len(flat) > 1 and NULL in flat:
        del flat[NULL]
        flat[NULL] = None
    return Union(tuple(flat)) if len(flat) > 1 else next(iter(flat), JSON)
