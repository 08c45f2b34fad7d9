"""Members, items, methods and calls, compiled: a chain of any length, from its left end."""

from __future__ import annotations

import ast
from typing import Any, TypeGuard, cast

from antiphon.lang.check.aliases import parameter_of
from antiphon.lang.check.generic_methods import WITH_FUNCTION, is_generic
from antiphon.lang.check.members import field_function
from antiphon.lang.check.methods import kind_word, methods_of, signature_type
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    AI,
    AI_NAMES,
    JSON,
    NUMBER,
    TEXT,
    Array,
    Map,
    Object,
    Type,
    Union,
    base,
    is_mutable,
    without_null,
)
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place, at
from antiphon.lang.compile.function_values import array_method, method_arguments
from antiphon.lang.compile.guards import is_a, may_come_first, once
from antiphon.lang.compile.iteration import span
from antiphon.lang.compile.literals import number_text
from antiphon.lang.compile.state import Compiler, type_of
from antiphon.lang.compile.views import named_field, picked
from antiphon.lang.compile.wholes import is_whole
from antiphon.lang.syntax import nodes as n

_IN = ast.In()
#: Methods of objects that look at all fields.
_LOOKING = frozenset(("keys", "values", "entries", "has", "get", "len"))
#: Methods of text that are Python's own.
_TEXT_DIRECT = {
    "upper": "upper",
    "lower": "lower",
    "trim": "strip",
    "startsWith": "startswith",
    "endsWith": "endswith",
    "replace": "replace",
    "indexOf": "find",
}


def postfix(c: Compiler, node: n.Member | n.Index | n.Slice | n.Call, leniently: bool = False) -> ast.expr:
    """A chain of members, items and calls, from its left end."""
    steps: list[Any] = []
    here: Any = node
    while True:
        kind = here.__class__
        if kind is n.Call:
            if type(here.callee) is n.Name:
                break
            steps.append(here)
            here = here.callee.object if type(here.callee) is n.Member else here.callee
        elif kind in (n.Member, n.Index, n.Slice):
            steps.append(here)
            here = here.object
        else:
            break
    steps.reverse()
    first = n.is_optional(steps[0]) if steps else False
    if type(here) is n.Call:
        value = _call(c, here)
    elif type(here) is n.Range and _goes_through(steps[0]):
        value = span(c, here)
    else:
        value = lenient(c, here) if first else c.expr(here)
    return _stepped(c, steps, value, leniently)


def _goes_through(step: Any) -> bool:
    """Whether it is a method that goes through an array, and needs none for that."""
    return type(step) is n.Call and type(step.callee) is n.Member and step.callee.name in WITH_FUNCTION


def _stepped(c: Compiler, steps: list[Any], value: ast.expr, leniently: bool) -> ast.expr:
    """The steps from a value on. Where `?.` finds null, the rest is left out; what stands before it may be missing."""
    tests: list[tuple[ast.expr, Place]] = []
    for step, after in zip(steps, [*steps[1:], None], strict=False):
        optional = n.is_optional(step)
        if optional:
            place = c.place(step)
            test, value = _is_there(c, n.reached(step), value, place)
            tests.append((test, place))
        value = _step(c, step, value, leniently or optional or n.is_optional(after))
    for test, place in reversed(tests):
        value = emit.either(test, value, emit.constant(None, place), place)
    return value


def _is_there(c: Compiler, node: n.Expr, value: ast.expr, place: Place) -> tuple[ast.expr, ast.expr]:
    """A test whether a value is not null, which evaluates it, and the value as it is read after it."""
    first, again = once(c, value, place)
    if isinstance(first, ast.Constant):
        # Python would warn of it.
        return emit.constant(first.value is not None, place), again
    if isinstance(type_of(node), AI) or type_of(node) == JSON:
        first = emit.call("_vunwrap", [first], place)
    return emit.compare(first, ast.IsNot(), emit.constant(None, place), place), again


def lenient(c: Compiler, node: n.Expr) -> ast.expr:
    """An expression in which a missing field is null: before `??`, compared with null, as a condition."""
    if type(node) in (n.Member, n.Index):
        return postfix(c, cast(n.Member, node), leniently=True)
    return c.expr(node)


def _step(c: Compiler, node: Any, value: ast.expr, lenient: bool) -> ast.expr:
    place = c.place(node)
    kind = node.__class__
    if kind is n.Call:
        return (_method if type(node.callee) is n.Member else _call_value)(c, node, value, place)
    if kind is n.Member:
        return _member(c, node, value, lenient, place)
    if kind is n.Index:
        return _index(c, node, value, lenient, place)
    return _part(c, node, value, place)


def _part(c: Compiler, node: n.Slice, value: ast.expr, place: Place) -> ast.expr:
    bounds = [node.first, node.last, node.step]
    kind = type_of(node.object)
    kind = without_null(kind) if node.optional else kind
    if node.step is None and _is_sequence(kind) and all(map(_is_number, bounds)):
        found = [None if each is None else whole(c, each, c.expr(each), place) for each in bounds]
        return emit.part(value, found, place)
    return emit.call(
        "_vpart", [value, *(c.expr(each) if each else emit.constant(None, place) for each in bounds)], place
    )


def _is_sequence(type_: Type) -> bool:
    return isinstance(type_, Array) or (base(type_) == TEXT and not isinstance(type_, AI))


def _is_number(node: n.Expr | None) -> bool:
    return node is None or (base(type_of(node)) == NUMBER and not isinstance(type_of(node), AI))


def _member(c: Compiler, node: n.Member, value: ast.expr, lenient: bool, place: Place) -> ast.expr:
    type_, name = type_of(node.object), node.name
    key = emit.constant(name, place)
    if isinstance(type_, AI):
        if name in AI_NAMES:
            return emit.call("_vai", [value, key], place)
        value, type_ = emit.call("_vunwrap", [value], place), type_.inner
    kind = base(without_null(type_)) if node.optional else base(type_)
    if isinstance(kind, Union) and all(isinstance(each, Object) and _has(each, name) for each in kind.options):
        return emit.item(value, key, place)
    if isinstance(kind, Object) and name in kind.fields:
        if kind.fields[name].optional:
            return emit.method(value, "get", [key], place)
        return emit.item(value, key, place)
    if name == "length" and (kind == TEXT or isinstance(kind, Array | Object | Map)):
        return emit.call("_vpylen", [picked(value, kind, place)], place)
    if lenient:
        return emit.call("_voptional", [value, key], place)
    test, value = is_a(c, value, "_vdict", place)
    there = at(ast.BoolOp(ast.And(), [test, emit.compare(key, _IN, value, place)]), place)
    return emit.either(there, emit.item(value, key, place), emit.call("_vmember", [value, key], place), place)


def _has(type_: Type, name: str) -> bool:
    return isinstance(type_, Object) and name in type_.fields and not type_.fields[name].optional


def _index(c: Compiler, node: n.Index, value: ast.expr, lenient: bool, place: Place) -> ast.expr:
    key, type_ = c.expr(node.index), type_of(node.object)
    type_ = without_null(type_) if node.optional else type_
    if isinstance(type_, Map) and base(type_of(node.index)) == TEXT and not isinstance(type_of(node.index), AI):
        return emit.method(value, "get", [key], place) if lenient else emit.item(value, key, place)
    if _is_sequence(type_) and type_of(node.index) != JSON and base(type_of(node.index)) == NUMBER:
        return emit.item(value, whole(c, node.index, key, place), place)
    if isinstance(key, ast.Constant) and key.value.__class__ is int and not lenient:
        test, value = is_a(c, value, "_vlist", place)
        return emit.either(test, emit.item(value, key, place), emit.call("_vitem", [value, key], place), place)
    kind = base(type_)
    if isinstance(kind, Object) and not isinstance(key, ast.Constant):
        value = picked(value, kind, place)
    found = emit.call("_voptionalitem" if lenient else "_vitem", [value, key], place)
    return _of_fields(found, kind, type_of(node), place) if isinstance(kind, Object) else found


def whole(c: Compiler, node: n.Expr, key: ast.expr, place: Place) -> ast.expr:
    """A number as an index: one that is whole but was computed with fractions, such as 0.5 * 4, is one too."""
    if is_whole(c, node):
        return key
    test, key = is_a(c, key, "_vint", place)
    return emit.either(test, key, emit.call("_vwhole", [key], place), place)


def _method(c: Compiler, node: n.Call, value: ast.expr, place: Place) -> ast.expr:
    callee = cast(n.Member, node.callee)
    type_, name = type_of(callee.object), callee.name
    type_ = without_null(type_) if callee.optional else type_
    if (function := field_function(type_, name)) is not None:
        value = emit.call("_vunwrap", [value], place) if isinstance(type_, AI) else value
        called = emit.item(value, emit.constant(name, place), place)
        return emit.call_of(called, _arguments(c, node, function), place)
    known = methods_of(type_)
    if known is None and name in WITH_FUNCTION and is_generic(name, node):
        arguments = method_arguments(c, node, name, JSON)
        return emit.call("_vcall", [value, emit.constant(name, place), *arguments], place)
    if known is None or name not in known:
        return _dynamic_method(c, name, value, [c.cast(each, JSON) for each in node.arguments], place)
    if isinstance(type_, AI):
        value, type_ = emit.call("_vunwrap", [value], place), type_.inner
    kind = base(type_)
    if isinstance(kind, Array) and name in WITH_FUNCTION and is_generic(name, node):
        return array_method(c, node, name, value, kind.item, place)
    wanted = _parameter_types(known[name].parameters, kind)
    arguments = [c.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
    if name in _LOOKING:
        value = picked(value, kind, place)
    elif (named := _named_by(kind, name)) is not None:
        arguments = [named_field(each, named, place) for each in arguments]
    direct = _direct_method(c, node, kind, value, arguments, place)
    if direct is not None:
        return direct
    called = emit.call(f"_vm_{kind_word(kind)}_{name}", [value, *arguments], place)
    looks = isinstance(kind, Object) and name in ("values", "entries", "get")
    return _of_fields(called, cast(Object, kind), type_of(node), place) if looks else called


def _named_by(kind: Type, method: str) -> Object | None:
    """The object of which a method takes the name of a field."""
    if method == "sort" and isinstance(kind, Array):
        kind = base(kind.item)
    elif method != "remove":
        return None
    return kind if isinstance(kind, Object) else None


def _of_fields(value: ast.expr, kind: Object, type_: Type, place: Place) -> ast.expr:
    """What fields give that only the running program names; where that is json, it is a copy."""
    if any(is_mutable(each.type) for each in kind.fields.values()) and not _is_typed(type_):
        return emit.call("_vcopy", [value], place)
    return value


def _is_typed(type_: Type) -> bool:
    """Whether what a method gives of the fields is of a known type."""
    if isinstance(type_, Array):
        return _is_typed(type_.item)
    return _is_typed(type_.fields["value"].type) if _is_entry(type_) else type_ != JSON


def _is_entry(type_: Type) -> TypeGuard[Object]:
    return isinstance(type_, Object) and not type_.name and [*type_.fields] == ["key", "value"]


def _dynamic_method(c: Compiler, name: str, value: ast.expr, arguments: list[ast.expr], place: Place) -> ast.expr:
    key = emit.constant(name, place)
    if name != "push" or len(arguments) != 1:
        return emit.call("_vcall", [value, key, *arguments], place)
    test, value = is_a(c, value, "_vlist", place)
    push = emit.method(value, "append", arguments, place)
    return emit.either(test, push, emit.call("_vcall", [value, key, *arguments], place), place)


def _direct_method(
    c: Compiler, node: n.Call, kind: Type, value: ast.expr, arguments: list[ast.expr], place: Place
) -> ast.expr | None:
    """The same as Python's own method, where there is one."""
    name = cast(n.Member, node.callee).name
    if kind == NUMBER and name == "toString":
        return number_text(c, n.reached(node), value, place)
    if name == "len":
        return emit.call("_vpylen", [value], place)
    if name == "slice" and _is_sequence(kind) and all(map(_is_number, node.arguments)):
        bounds = [whole(c, each, given, place) for each, given in zip(node.arguments, arguments, strict=True)]
        return emit.part(value, [*bounds, *[None] * (2 - len(bounds))], place)
    if kind == TEXT:
        return _text_method(name, value, arguments, place)
    if isinstance(kind, Array):
        return _array_method(c, kind, name, value, arguments, place)
    if kind == NUMBER and name == "floor":
        return _floor(c, value, place)
    if isinstance(kind, Map) and name == "get":
        return emit.method(value, name, arguments, place)
    if isinstance(kind, Map | Object) and name == "has" and may_come_first(arguments[0], value):
        return emit.compare(arguments[0], _IN, value, place)
    return None


def _floor(c: Compiler, value: ast.expr, place: Place) -> ast.expr | None:
    """`(a / b).floor()` of whole numbers is Python's `a // b`, and exact."""
    match value:
        case ast.IfExp(test=ast.BinOp(left, ast.Mod(), right), body=quotient, orelse=ast.BinOp(op=ast.FloorDiv())):
            test, whole = is_a(c, emit.binary(left, ast.FloorDiv(), right, place), "_vint", place)
            return emit.either(test, whole, emit.call("_vm_number_floor", [quotient], place), place)
        case _:
            return None


def _text_method(name: str, value: ast.expr, arguments: list[ast.expr], place: Place) -> ast.expr | None:
    if name in _TEXT_DIRECT:
        return emit.method(value, _TEXT_DIRECT[name], arguments, place)
    if name == "includes" and may_come_first(arguments[0], value):
        return emit.compare(arguments[0], _IN, value, place)
    if name != "split" or not all(isinstance(each, ast.Constant) for each in arguments):
        return None
    if any(isinstance(each, ast.Constant) and each.value == "" for each in arguments):
        return emit.call("_vlist", [value], place)
    return emit.method(value, name, arguments, place)


def _array_method(
    c: Compiler, kind: Array, name: str, value: ast.expr, arguments: list[ast.expr], place: Place
) -> ast.expr | None:
    if name == "push":
        return emit.method(value, "append", arguments, place)
    if name == "pop":
        return emit.method(value, name, arguments, place)
    if name == "join" and kind.item == TEXT and len(arguments) == 1 and may_come_first(arguments[0], value):
        return emit.method(arguments[0], "join", [value], place)
    if name == "includes" and kind.item in (TEXT, NUMBER) and may_come_first(arguments[0], value):
        return emit.compare(arguments[0], _IN, value, place)
    if name == "indexOf" and kind.item in (TEXT, NUMBER):
        return emit.call("_vplaceof", [value, *arguments], place)
    if name == "sum" and kind.item == NUMBER:
        return emit.call("_vsum", [value], place)
    if name == "sort" and kind.item in (TEXT, NUMBER) and not arguments:
        return emit.call("_vsort", [value], place)
    if name == "unique" and kind.item in (TEXT, NUMBER):
        once_each = emit.method(emit.name("_vdict", place), "fromkeys", [value], place)
        return emit.call("_vlist", [once_each], place)
    if name in ("min", "max") and kind.item in (TEXT, NUMBER):
        return _extreme(c, name, value, place)
    return None


def _extreme(c: Compiler, name: str, value: ast.expr, place: Place) -> ast.expr:
    first, value = once(c, value, place)
    found, none = emit.call(f"_v{name}", [value], place), emit.call(f"_vm_array_{name}", [value], place)
    return emit.either(first, found, none, place)


def _call(c: Compiler, node: n.Call) -> ast.expr:
    """A call of a function or tool by its name."""
    place = c.place(node)
    callee = node.callee
    symbol = callee.symbol if isinstance(callee, n.Name) else None
    if symbol is None:
        return emit.constant(None, place)
    if symbol.kind == "builtin" and symbol.name == "assert" and _is_comparison(node.arguments[0]):
        return _assertion(c, node, place)
    if symbol.kind == "builtin" and symbol.name == "len" and _is_counted(node.arguments):
        return emit.call("_vpylen", [c.expr(node.arguments[0])], place)
    signature = type_of(callee)
    signature = signature if isinstance(signature, Signature) else None
    arguments = _arguments(c, node, signature, symbol)
    if symbol.kind == "builtin" and symbol.name == "len" and not isinstance(type_of(node.arguments[0]), AI):
        arguments = [picked(arguments[0], base(type_of(node.arguments[0])), place)]
    if node.named:
        value = _call_named(c, node, symbol, arguments, place)
    elif signature is not None and signature.gives == "wanted" and symbol.kind == "function":
        type_ = emit.name(c.code.type_name(type_of(node)), place)
        return emit.call("_vreadas", [emit.name(symbol.python, place), type_, *arguments], place)
    else:
        value = _call_symbol(c, symbol, arguments, place)
    if symbol.kind == "import" and signature is not None:
        # What a function of Python is annotated with is a promise, not a fact.
        value = c.fitted(value, JSON, signature.returns, place)
    return value


def _is_counted(arguments: list[n.Expr]) -> bool:
    return len(arguments) == 1 and (
        _is_sequence(type_of(arguments[0])) or isinstance(type_of(arguments[0]), Object | Map)
    )


def _call_value(c: Compiler, node: n.Call, value: ast.expr, place: Place) -> ast.expr:
    """A call of a function that some expression gives."""
    type_ = type_of(node.callee)
    if not isinstance(type_, Signature):
        return emit.runtime("call", [value, *_arguments(c, node, None)], place)
    return emit.call_of(value, _arguments(c, node, type_), place)


def _arguments(c: Compiler, node: n.Call, signature: Signature | None, symbol: Symbol | None = None) -> list[ast.expr]:
    wanted: list[Type | None] = []
    if signature is not None and not signature.unchecked:
        wanted = list(signature.parameters)
        if signature.variadic:
            wanted += [signature.parameters[-1]] * (len(node.arguments) - len(wanted))
    wanted += [None] * (len(node.arguments) - len(wanted))
    if symbol is not None and symbol.kind in ("builtin", "import"):
        # What is built in keeps nothing, and Python gets copies.
        return [c.lend(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
    pairs = enumerate(zip(node.arguments, wanted, strict=False))
    return [
        c.cast(each, type_, parameter_of(symbol, at) if symbol is not None else None) for at, (each, type_) in pairs
    ]


def _call_named(c: Compiler, node: n.Call, symbol: Symbol, arguments: list[ast.expr], place: Place) -> ast.expr:
    """A call with named arguments: of a function of the language they are put in their places."""
    signature = symbol.type if isinstance(symbol.type, Signature) else None
    known = signature is not None and not signature.unchecked
    types = dict(zip(signature.names, signature.parameters, strict=False)) if signature is not None and known else {}
    given = {each.name: c.cast(each.value, types.get(each.name)) for each in node.named}
    if symbol.kind in ("tool", "import"):
        names = at(ast.Dict([emit.constant(name, place) for name in given], list(given.values())), place)
        function = emit.name(symbol.python, place)
        return emit.runtime("call_named", [function, names, *arguments], place)
    before: list[ast.expr] = []
    if not all(isinstance(each, ast.Constant | ast.Name) for each in (*arguments, *given.values())):
        # They are evaluated as they are written, whatever their places are.
        pairs = [once(c, each, place, keep=True) for each in (*arguments, *given.values())]
        before = [first for first, _ in pairs]
        arguments = [again for _, again in pairs[: len(arguments)]]
        given = dict(zip(given, [again for _, again in pairs[len(arguments) :]], strict=True))
    names = [name for name in types if name in given]
    last = max(list(types).index(name) for name in names) + 1 if names else 0
    missing = emit.name("_vmissing", place)
    placed = [*arguments, *(given.get(name, missing) for name in list(types)[len(arguments) : last])]
    value = _call_symbol(c, symbol, placed, place)
    if not before:
        return value
    all_of_it = at(ast.Tuple([*before, value], ast.Load()), place)
    return emit.item(all_of_it, emit.constant(-1, place), place)


def _is_comparison(node: n.Expr) -> bool:
    return type(node) is n.Binary and node.op in ("==", "!=", "<", "<=", ">", ">=")


def _assertion(c: Compiler, node: n.Call, place: Place) -> ast.expr:
    """An assertion that compares: both sides are told where it does not hold."""
    compared, *message = node.arguments
    assert type(compared) is n.Binary
    sides = [lenient(c, compared.left), lenient(c, compared.right)]
    told = [c.cast(each, TEXT) for each in message]
    return emit.call("_vb_assertThat", [emit.constant(compared.op, place), *sides, *told], place)


def _call_symbol(c: Compiler, symbol: Symbol, arguments: list[ast.expr], place: Place) -> ast.expr:
    """A call of what a name stands for."""
    if symbol.kind == "builtin":
        c.asked = c.asked or symbol.name == "note"
        return emit.call(f"_vb_{symbol.name}", arguments, place)
    function = c.read(symbol, place)
    if symbol.is_async:
        function = emit.call("_vwait", [function], place)
    if symbol.kind in ("tool", "import"):
        # What is not of the language is reached through the run: its calls are effects.
        return emit.runtime("call", [function, *arguments], place)
    return emit.call_of(function, arguments, place)


def _parameter_types(names: tuple[str, ...], receiver: Type) -> list[Type]:
    return [signature_type(each, receiver) for each in names]
