"""Parsing of types of other languages, such as `Array<number>` and `List[str]`, with a hint for each."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_TYPES, GENERIC_TYPE_FORMS
from antiphon.lang.syntax.parser.cursor import Cursor
from antiphon.lang.syntax.parser.types import parse_type

#: Types whose parameters are the options of a union.
_UNION_TYPES = frozenset(("union", "literal"))


def parse_generic_type(c: Cursor, at: int, opener: str) -> n.TypeNode:
    """Report and parse a generic type, such as `Array<number>` or `List[str]`; its name is already consumed."""
    closer = ">" if opener == "<" else "]"
    wrong = len(c.diagnostics)
    c.enter_nesting(at)
    c.at += 1
    inner = [_to_own_type(parse_type(c))]
    while c.kinds[c.at] == ",":
        c.at += 1
        inner.append(_to_own_type(parse_type(c)))
    c.expect(closer)
    c.depth -= 1
    texts = [c.text[each.start : each.end] for each in inner]
    name = c.values[at].lower()
    del c.diagnostics[wrong:]
    end = c.ends[c.at - 1]
    written = c.text[c.starts[at] : end]
    known = [_format_equivalent_type(each, text) for each, text in zip(inner, texts, strict=True)]
    right = GENERIC_TYPE_FORMS.get(name, "").format(*known, *known) if name not in _UNION_TYPES else " | ".join(known)
    right = f"{' | '.join(known)}[]" if name == "tuple" and len(known) > 1 else right
    right = right if not right.endswith("[]") or " | " not in right else f"({right[:-2]})[]"
    hint = f"write `{right}`" if right else "types have no parameters; declare a `type` for each use"
    hint = "declare a type whose fields may be missing: `name?: text`" if name == "partial" else hint
    c.report_span("V0206", f"there is no type `{written}`", c.starts[at], end, hint)
    return _make_generic_node(name, c.starts[at], end, inner)


def parse_bracketed_type(c: Cursor) -> n.TypeNode:
    """Report and parse `[text]`, `[]text` and `[text, number]`, which are arrays and tuples of other languages."""
    at, wrong = c.at, len(c.diagnostics)
    is_before = c.kinds[at + 1] == "]"
    c.at += 2 if is_before else 0
    inner = [_to_own_type(parse_type(c))] if is_before else c.listed("]", lambda d: _to_own_type(parse_type(d)))
    del c.diagnostics[wrong:]
    if c.kinds[c.at] == ":" and not is_before:
        c.at = at
        c.fail_unexpected("a type", "a map stands in braces: `{ [text]: number }`")
    start, end = c.starts[at], c.ends[c.at - 1]
    known = dict.fromkeys(_format_equivalent_type(each, c.text[each.start : each.end]) for each in inner)
    item = " | ".join(known) or "json"
    right = f"({item})[]" if len(known) > 1 else f"{item}[]"
    hint = f"write `{right}`" + ("; the items of an array have one type" if len(known) > 1 else "")
    c.report_span("V0206", f"there is no type `{c.text[start:end]}`", start, end, hint)
    return n.ArrayType(start, end, inner[0] if len(inner) == 1 else n.TypeName(start, end, "json"))


def _format_equivalent_type(node: n.TypeNode, text: str) -> str:
    """Return how a type that may have a foreign name is written here."""
    if isinstance(node, n.TypeName):
        return node.name
    if isinstance(node, n.ArrayType):
        return f"{_format_equivalent_type(node.item, text.removesuffix('[]'))}[]"
    if isinstance(node, n.MapType):
        return f"{{ [text]: {_format_equivalent_type(node.value, 'json')} }}"
    if isinstance(node, n.UnionType):
        return " | ".join(_format_equivalent_type(each, text) for each in node.options)
    if isinstance(node, n.LiteralType):
        return f'"{node.value}"' if isinstance(node.value, str) else str(node.value).lower()
    return text


def _to_own_type(node: n.TypeNode) -> n.TypeNode:
    """Return a type with foreign names replaced by ours; the caller reports the whole type."""
    if isinstance(node, n.TypeName):
        name = FOREIGN_TYPES.get(node.name.lower(), node.name)
        return n.TypeName(node.start, node.end, name if name.isidentifier() else "json")
    if isinstance(node, n.ArrayType):
        return n.ArrayType(node.start, node.end, _to_own_type(node.item))
    if isinstance(node, n.UnionType):
        return n.UnionType(node.start, node.end, [_to_own_type(each) for each in node.options])
    return node


def _make_generic_node(name: str, start: int, end: int, inner: list[n.TypeNode]) -> n.TypeNode:
    right = GENERIC_TYPE_FORMS.get(name)
    if name in _UNION_TYPES:
        return n.UnionType(start, end, inner)
    if right == "{0}[]":
        return n.ArrayType(start, end, inner[0])
    if right == "{0}":
        return inner[0]
    if right == "{0} | null":
        return n.UnionType(start, end, [inner[0], n.TypeName(start, end, "null")])
    if right is not None:
        return n.MapType(start, end, n.TypeName(start, end, "text"), inner[-1], start)
    return n.TypeName(start, end, "json")
