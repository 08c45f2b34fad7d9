"""Reading types as other languages write them: `Array<number>`, `List[str]`, told with how they are written here."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import Cursor
from antiphon.lang.syntax.habits import GENERICS, TYPES
from antiphon.lang.syntax.type_parser import read_type

#: Types whose parameters are what a value may be.
_ONE_OF = frozenset(("union", "literal"))


def read_generic(c: Cursor, at: int, opener: str) -> n.TypeNode:
    """`Array<number>`, `List[str]`: a type with others in brackets; its name is taken already."""
    closer = ">" if opener == "<" else "]"
    wrong = len(c.diagnostics)
    c.deepen(at)
    c.at += 1
    inner = [_ours(read_type(c))]
    while c.kinds[c.at] == ",":
        c.at += 1
        inner.append(_ours(read_type(c)))
    c.expect(closer)
    c.depth -= 1
    texts = [c.text[each.start : each.end] for each in inner]
    name = c.values[at].lower()
    del c.diagnostics[wrong:]
    end = c.ends[c.at - 1]
    written = c.text[c.starts[at] : end]
    known = [_written_here(each, text) for each, text in zip(inner, texts, strict=True)]
    right = GENERICS.get(name, "").format(*known, *known) if name not in _ONE_OF else " | ".join(known)
    right = f"{' | '.join(known)}[]" if name == "tuple" and len(known) > 1 else right
    right = right if not right.endswith("[]") or " | " not in right else f"({right[:-2]})[]"
    hint = f"write `{right}`" if right else "types have no parameters; declare a `type` for each use"
    hint = "declare a type whose fields may be missing: `name?: text`" if name == "partial" else hint
    c.report_span("V0206", f"there is no type `{written}`", c.starts[at], end, hint)
    return _generic_node(name, c.starts[at], end, inner)


def read_bracketed(c: Cursor) -> n.TypeNode:
    """`[text]`, `[]text` and `[text, number]`, as other languages write arrays and tuples; the bracket stands here."""
    at, wrong = c.at, len(c.diagnostics)
    is_before = c.kinds[at + 1] == "]"
    c.at += 2 if is_before else 0
    inner = [_ours(read_type(c))] if is_before else c.listed("]", lambda d: _ours(read_type(d)))
    del c.diagnostics[wrong:]
    if c.kinds[c.at] == ":" and not is_before:
        c.at = at
        c.unexpected("a type", "a map stands in braces: `{ [text]: number }`")
    start, end = c.starts[at], c.ends[c.at - 1]
    known = dict.fromkeys(_written_here(each, c.text[each.start : each.end]) for each in inner)
    item = " | ".join(known) or "json"
    right = f"({item})[]" if len(known) > 1 else f"{item}[]"
    hint = f"write `{right}`" + ("; the items of an array have one type" if len(known) > 1 else "")
    c.report_span("V0206", f"there is no type `{c.text[start:end]}`", start, end, hint)
    return n.ArrayType(start, end, inner[0] if len(inner) == 1 else n.TypeName(start, end, "json"))


def _written_here(node: n.TypeNode, text: str) -> str:
    """How a type that may have a foreign name is written here."""
    if isinstance(node, n.TypeName):
        return node.name
    if isinstance(node, n.ArrayType):
        return f"{_written_here(node.item, text.removesuffix('[]'))}[]"
    if isinstance(node, n.MapType):
        return f"{{ [text]: {_written_here(node.value, 'json')} }}"
    if isinstance(node, n.UnionType):
        return " | ".join(_written_here(each, text) for each in node.options)
    if isinstance(node, n.LiteralType):
        return f'"{node.value}"' if isinstance(node.value, str) else str(node.value).lower()
    return text


def _ours(node: n.TypeNode) -> n.TypeNode:
    """A type in brackets, with our names: what is wrong with the whole is told already."""
    if isinstance(node, n.TypeName):
        name = TYPES.get(node.name.lower(), node.name)
        return n.TypeName(node.start, node.end, name if name.isidentifier() else "json")
    if isinstance(node, n.ArrayType):
        return n.ArrayType(node.start, node.end, _ours(node.item))
    if isinstance(node, n.UnionType):
        return n.UnionType(node.start, node.end, [_ours(each) for each in node.options])
    return node


def _generic_node(name: str, start: int, end: int, inner: list[n.TypeNode]) -> n.TypeNode:
    right = GENERICS.get(name)
    if name in _ONE_OF:
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
