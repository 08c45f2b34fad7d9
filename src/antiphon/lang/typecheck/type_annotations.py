"""Resolution of type annotations to types."""

from __future__ import annotations

from itertools import chain
from typing import Any

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_TYPES
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.reporter import Reporter
from antiphon.lang.typecheck.scopes import ScopeStack
from antiphon.lang.typecheck.symbols import Symbol

#: The maximum number of array dimensions.
MAX_DIMENSIONS = 16
#: The maximum length of a chain of type names.
MAX_ALIAS_STEPS = 40
_KIND_DESCRIPTIONS = {"let": "variable", "const": "constant", "loop": "loop variable", "caught": "caught error"}


class TypeResolver:
    """Resolves annotations. Declared types may refer to each other, and to themselves inside arrays and objects."""

    __slots__ = ("_current", "_depth", "_incomplete", "_reporter", "_scopes", "_unresolved")

    def __init__(self, reporter: Reporter, scopes: ScopeStack) -> None:
        self._reporter = reporter
        self._scopes = scopes
        #: Declared types that are not resolved yet; True while one is being resolved.
        self._unresolved: dict[Symbol, bool] = {}
        self._depth = 0
        #: The declared type that is being resolved.
        self._current: Symbol | None = None
        #: Object types and references whose contents are still to be resolved.
        self._incomplete: list[tuple[t.Object | t.TypeReference, Any]] = []

    def resolve(self, node: n.TypeNode) -> t.Type:
        """Return the type that an annotation means, with the fields of object types filled in."""
        if type(node) is n.TypeName and (known := t.TYPES_BY_NAME.get(node.name)) is not None:
            node.type = known
            return known
        type_ = self._resolve_node(node)
        self._complete_types()
        return type_

    def resolve_declared(self, symbols: list[Symbol]) -> None:
        """Resolve the declared types of a scope, which may refer to each other."""
        self._unresolved |= dict.fromkeys(symbols, False)
        for symbol in symbols:
            self._resolve_declaration(symbol)
        self._complete_types()

    def _complete_types(self) -> None:
        while self._incomplete:
            found, node = self._incomplete.pop()
            if isinstance(found, t.TypeReference):
                found.target = self._resolve_node(node)
                continue
            seen: set[str] = set()
            for each in node.fields:
                if each.name in seen:
                    where = each.start, each.name_end or each.end
                    self._reporter.report(
                        "V0318", f"the field `{each.name}` is there twice", where, "leave one of them out"
                    )
                seen.add(each.name)
                found.fields[each.name] = t.ObjectField(
                    self._resolve_node(each.declared), each.optional, each.description
                )

    def _resolve_node(self, node: n.TypeNode, name: str = "") -> t.Type:
        type_ = node.type = self._resolve_by_class(node, name)
        return type_

    def _resolve_by_class(self, node: n.TypeNode, name: str) -> t.Type:
        match node:
            case n.TypeName():
                return t.TYPES_BY_NAME.get(node.name) or self._resolve_type_name(node)
            case n.ArrayType():
                return self._resolve_array(node)
            case n.LiteralType():
                return t.Literal(node.value)
            case n.UnionType():
                return _flatten_union([self._resolve_node(each, name) for each in node.options])
            case n.MapType():
                if self._resolve_node(node.key) != t.TEXT:
                    self._reporter.report(
                        "V0340",
                        "the keys of a map are text",
                        node.key,
                        "write `{ [text]: … }`; `n.toString()` makes a key",
                    )
                return t.Map(self._resolve_inner(node.value))
            case n.FunctionType():
                parameters = tuple(self._resolve_node(each) for each in node.parameters)
                return t.CallableType(parameters, len(parameters), self._resolve_node(node.returns))
            case n.ObjectType():
                found = t.Object({}, name)
                self._incomplete.append((found, node))
                return found

    def _resolve_type_name(self, node: n.TypeName) -> t.Type:
        symbol = self._scopes.find(node.name)
        other = FOREIGN_TYPES.get(node.name.lower())
        if symbol is None or (other and symbol.is_unreadable):
            known = chain(
                t.TYPES_BY_NAME, (each for each in self._scopes.current.iterate_names() if self._is_type_symbol(each))
            )
            near = "" if other else self._reporter.hint_similar(node.name, known)
            hint = f"write `{other}`" if other else near or self._hint_unknown_type(node)
            self._reporter.report(
                "V0206", f"there is no type `{node.name}`", node, hint, is_habit=bool(hint) and not near
            )
            return t.JSON
        symbol.used = True
        if symbol.kind == "type":
            return self._resolve_declaration(symbol, node)
        if symbol.type != t.JSON or not (symbol.kind == "import" or symbol.is_unreadable):
            self._reporter.report(
                "V0207", f"`{node.name}` is not a type but a {_KIND_DESCRIPTIONS.get(symbol.kind, symbol.kind)}", node
            )
        return t.JSON

    def _hint_unknown_type(self, node: n.TypeName) -> str:
        """Return a hint what to declare; for names separated by `|`, literal texts."""
        text = self._reporter.source.text
        if len(node.name) < 2:
            return ""
        if text[: node.start].rstrip()[-1:] == "|" or text[node.end :].lstrip()[:1] == "|":
            return f'a type of texts is `"{node.name}" | "…"`'
        return f"declare it: `type {node.name} {{ name: text }}`, or import it"

    def _is_type_symbol(self, name: str) -> bool:
        symbol = self._scopes.find(name)
        return symbol is not None and symbol.kind == "type"

    def _resolve_declaration(self, symbol: Symbol, used: n.TypeName | None = None) -> t.Type:
        is_open = self._unresolved.get(symbol)
        if is_open is None:
            return symbol.type
        if is_open or self._depth >= MAX_ALIAS_STEPS:
            hint = f"only what is in it may be of it: `type {symbol.name} {{ next: {symbol.name} | null }}`"
            own = f"the type `{symbol.name}` is defined by itself"
            message = own if is_open else "these types name each other in too long a chain"
            self._reporter.report("V0316", message, used or symbol, hint if is_open else "")
            return t.JSON
        self._unresolved[symbol] = True
        self._depth += 1
        outer, self._current = self._current, symbol
        symbol.type = self._resolve_node(symbol.node.declared, symbol.name)
        self._current = outer
        self._depth -= 1
        del self._unresolved[symbol]
        return symbol.type

    def _resolve_inner(self, node: n.TypeNode) -> t.Type | t.TypeReference:
        """Return the type inside an array or a map, or a reference to be resolved later in a recursive definition."""
        if self._current is None or not self._refers_to(node, self._current):
            return self._resolve_node(node)
        found = t.TypeReference(node.name if isinstance(node, n.TypeName) else "")
        self._incomplete.append((found, node))
        return found

    def _refers_to(self, node: n.TypeNode, goal: Symbol) -> bool:
        """Return True if an annotation refers to a type, directly or through other names. Fields do not count."""
        todo: list[n.TypeNode] = [node]
        seen: set[Symbol] = set()
        while todo:
            each = todo.pop()
            if isinstance(each, n.ArrayType):
                todo.append(each.item)
            elif isinstance(each, n.MapType):
                todo.append(each.value)
            elif isinstance(each, n.UnionType):
                todo += each.options
            elif (
                isinstance(each, n.TypeName)
                and (symbol := self._scopes.find(each.name)) is not None
                and symbol not in seen
            ):
                seen.add(symbol)
                if symbol is goal:
                    return True
                if symbol in self._unresolved:
                    todo.append(symbol.node.declared)
        return False

    def _resolve_array(self, node: n.ArrayType) -> t.Type:
        written = [node]
        while isinstance(written[-1].item, n.ArrayType):
            written.append(written[-1].item)
        type_ = self._resolve_inner(written[-1].item)
        found: t.Type = t.JSON
        depth = _count_dimensions(type_)
        for i, each in enumerate(reversed(written), 1):
            if depth + i == MAX_DIMENSIONS + 1:
                self._reporter.report("V0317", f"more than {MAX_DIMENSIONS} dimensions are too many", node)
            found = each.type = t.Array(type_) if depth + i <= MAX_DIMENSIONS else t.JSON
            type_ = found
        return found


def _count_dimensions(type_: t.Type | t.TypeReference) -> int:
    if isinstance(type_, t.Array):
        return 1 + _count_dimensions(type_.inner)
    return max(map(_count_dimensions, type_.options)) if isinstance(type_, t.Union) else 0


def _flatten_union(options: list[t.Type]) -> t.Type:
    flat: dict[t.Type, None] = {}
    for each in options:
        flat |= dict.fromkeys(t.union_options(each))
    if t.JSON in flat:
        return t.JSON
    if len(flat) > 1 and t.NULL in flat:
        del flat[t.NULL]
        flat[t.NULL] = None
    return t.Union(tuple(flat)) if len(flat) > 1 else next(iter(flat), t.JSON)
