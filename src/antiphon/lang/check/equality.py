"""What may be equal, and what `==` is told of."""

from __future__ import annotations

from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import (
    AI,
    BOOLEAN,
    ERROR,
    JSON,
    NEVER,
    NULL,
    NUMBER,
    TEXT,
    Array,
    Literal,
    Map,
    Object,
    Simple,
    Type,
    Union,
    base,
    has_function,
    has_literals,
    is_data,
    may_be_null,
    operand,
    plain,
)
from antiphon.lang.syntax.nodes import Binary, Index, Name

_BOTH = {NUMBER, TEXT}


def check_equal(c: Checker, node: Binary, left: Type, right: Type) -> None:
    """What `==` and `!=` compare: no functions, and nothing that is never equal."""
    for each, type_ in ((node.left, left), (node.right, right)):
        if type(type_) is not Simple and NULL not in (left, right) and not is_data(type_) and has_function(type_):
            c.report("V0342", "functions cannot be compared", each, "compare what they give, or their names")
            return
    _warn_of_answer(c, node, left, right)
    if not may_be_equal(left, right):
        literal = has_literals(left) or has_literals(right)
        show = shown if literal and operand(left) == operand(right) else general
        hint = nearest_literal(c, left, right) or made_alike(left, right) or _of_error(c, node, left, right)
        c.report("V0303", f"`{show(left)}` and `{show(right)}` are never equal", node, hint)
    elif right is NULL:
        _warn_never_null(c, node)


def made_alike(left: Type, right: Type) -> str:
    """How a number and a text are compared."""
    kinds = {operand(left), operand(right)}
    if any(isinstance(each, Array) for each in kinds):
        return "compare their items one by one, or their `length`"
    return "make them alike: `t.toNumber()`, or `n.toString()`" if kinds == _BOTH else ""


def _of_error(c: Checker, node: Binary, left: Type, right: Type) -> str:
    """What of a caught error is compared."""
    error = node.left if left is ERROR else node.right if right is ERROR else None
    return f"compare its text, `{c.text_of(error)}.message`, or its `.code`" if error is not None else ""


def _warn_of_answer(c: Checker, node: Binary, left: Type, right: Type) -> None:
    """An answer that was asked for without a type is text, or JSON in braces or brackets: no number, no boolean."""
    for each, type_, other in ((node.left, left, right), (node.right, right, left)):
        if type(type_) is AI and type_.inner is JSON and base(plain(other)) in (NUMBER, BOOLEAN):
            kind = general(base(plain(other)))
            name = c.text_of(each) if isinstance(each, Name) else "x"
            hint = f"say what is wanted: `const {name}: {kind} = do …`"
            c.warn("V0711", f"an answer that no type was declared for is text, and never a {kind}", each, hint)


def _warn_never_null(c: Checker, node: Binary) -> None:
    """Warn where null is looked for in vain: elsewhere a missing key or item is null, here reading it is an error."""
    match node.left:
        case Name(symbol=symbol) if symbol is not None and _is_never_null(symbol.type):
            is_read = symbol.kind in ("let", "const")
            hint = "of a map, `m.get(key)` is null where there is no such key; `m[key]` is an error" if is_read else ""
        case Index(object=of) if isinstance(kind := operand(of.type or JSON), Array) and _is_never_null(kind.item):
            hint = f"an item that is not there is an error: look at `{c.object_text_of(of)}.length` before"
        case _:
            return
    always = "false" if node.op == "==" else "true"
    message = f"this is always {always}: it is `{general(node.left.type or JSON)}`, and never null"
    c.warn("V0703", message, node, hint)


def _is_never_null(type_: Type) -> bool:
    return plain(type_) not in (JSON, NEVER, ERROR) and not may_be_null(type_)


def may_be_equal(left: Type, right: Type) -> bool:
    if left is right or left is NULL or right is NULL:
        return True
    if isinstance(left, Literal) and isinstance(right, Literal):
        # What a constant is called with may be changed one day: only kinds are compared.
        return base(left) == base(right)
    if isinstance(plain(left), Union) or isinstance(plain(right), Union):
        return any(_option_fits(a, b) for a in _options(left) for b in _options(right))
    return _option_fits(plain(left), plain(right))


def _option_fits(left: Type, right: Type) -> bool:
    if isinstance(left, Literal) and isinstance(right, Literal):
        return left.value == right.value and isinstance(left.value, bool) == isinstance(right.value, bool)
    first, second = base(left), base(right)
    if first == second or JSON in (first, second) or NEVER in (first, second):
        return True
    if isinstance(first, Array) and isinstance(second, Array):
        return True
    return isinstance(first, Object | Map) and isinstance(second, Object | Map)


def _options(type_: Type) -> tuple[Type, ...]:
    type_ = plain(type_)
    return tuple(each for each in type_.options if each is not NULL) if isinstance(type_, Union) else (type_,)


def nearest_literal(c: Checker, left: Type, right: Type) -> str:
    """For `level == "lo"`: the one that was meant."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Literal) and isinstance(one.value, str):
            known = (each.value for each in _options(other) if isinstance(each, Literal))
            return c.meant(one.value, (each for each in known if isinstance(each, str))).replace("`", '"')
    return ""
