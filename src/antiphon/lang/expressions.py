"""Expressions, compiled: Python's own operators where types are known, the library's where they are not."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, cast

from antiphon.lang import nodes as n
from antiphon.lang.emit import Emitter, Place, at
from antiphon.lang.methods import methods_of
from antiphon.lang.module import Code, Site
from antiphon.lang.source import Source
from antiphon.lang.symbols import Symbol
from antiphon.lang.types import (
    AI,
    AI_MEMBERS,
    BOOLEAN,
    JSON,
    NULL,
    NUMBER,
    TEXT,
    Array,
    Object,
    Simple,
    Type,
    Union,
    assignable,
    base,
    plain,
)

_OPERATORS = {"+": ast.Add(), "-": ast.Sub(), "*": ast.Mult()}
_COMPARISONS = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
_HELPERS = {
    "+": "_vadd",
    "-": "_vsub",
    "*": "_vmul",
    "/": "_vdiv",
    "%": "_vmod",
    "**": "_vpow",
    "<": "_vlt",
    "<=": "_vle",
    ">": "_vgt",
    ">=": "_vge",
}
_IS, _IS_NOT, _IN = ast.Is(), ast.IsNot(), ast.In()
#: Methods that are Python's own where the type is known: of text, and of arrays.
_TEXT_DIRECT = {"upper": "upper", "lower": "lower", "trim": "strip", "startsWith": "startswith", "endsWith": "endswith"}


class Expressions(Emitter):
    """Compiles expressions. `code` collects what the running module needs besides its Python code."""

    def __init__(self, source: Source, code: Code) -> None:
        super().__init__(source)
        self.code = code
        #: Definitions that must stand before the statement that is being compiled.
        self.before: list[ast.stmt] = []
        #: Whether the function that is being compiled asks a model, or changes what models are shown.
        self.asked = False
        #: The loop variables that count.
        self.counters: set[Symbol] = set()
        #: What of the answers of asks is private, by where the asks begin.
        self.hidden: dict[int, tuple[str, ...]] = {}
        self._temporaries = 0
        self._compilers: dict[type, Callable[[Any], ast.expr]] = {
            n.NumberLit: self._literal,
            n.BoolLit: self._literal,
            n.NullLit: self._null,
            n.TextLit: self._text,
            n.Name: self._name,
            n.ArrayLit: self._array,
            n.ObjectLit: self._object,
            n.Unary: self._unary,
            n.Binary: self._binary,
            n.Range: self._range,
            n.Member: self._postfix,
            n.Index: self._postfix,
            n.Slice: self._postfix,
            n.Call: self._postfix,
            n.Ask: self._ask,
            n.AskHuman: self._human,
            n.PyBlock: self._python,
            n.AsyncFor: self._async_for,
        }

    def expr(self, node: n.Expr) -> ast.expr:
        """Compile an expression."""
        return self._compilers[type(node)](node)

    def cast(self, node: n.Expr, wanted: Type | None) -> ast.expr:
        """An expression where a type is wanted; looked at when the program runs, unless it is known to fit."""
        value = self.expr(node)
        return self.fitted(value, type_of(node), wanted, self.place(node))

    def fitted(self, value: ast.expr, given: Type, wanted: Type | None, place: Place) -> ast.expr:
        """A value of one type where another is wanted."""
        if wanted is None or assignable(given, wanted, certain=True):
            return value
        if isinstance(wanted, AI):
            if isinstance(given, AI):
                return value
            wanted = wanted.inner
        if wanted == JSON:
            return value
        return self.call("_vas", [value, self.name(self.code.type_name(wanted), place)], place)

    def condition(self, node: n.Expr) -> ast.expr:
        """A condition of `if`, `while`, `and`, `or`, `not`."""
        type_ = type_of(node)
        if base(type_) == BOOLEAN:
            return self.expr(node)
        place = self.place(node)
        if type_ == JSON or isinstance(type_, AI):
            return self.call("_vcond", [self.lenient(node)], place)
        return self.call("_vcond" if BOOLEAN in _options(type_) else "_vpresent", [self.lenient(node)], place)

    def lenient(self, node: n.Expr) -> ast.expr:
        """An expression in which a missing field is null: before `??`, compared with null, as a condition."""
        if type(node) in (n.Member, n.Index):
            return self._postfix(cast(n.Member, node), lenient=True)
        return self.expr(node)

    def temporary(self) -> str:
        """A name that nothing else has."""
        self._temporaries += 1
        return f"_v{self._temporaries}"

    # Literals and names

    def _literal(self, node: n.NumberLit | n.BoolLit) -> ast.expr:
        return self.constant(node.value, self.place(node))

    def _null(self, node: n.NullLit) -> ast.expr:
        return self.constant(None, self.place(node))

    def _text(self, node: n.TextLit) -> ast.expr:
        place = self.place(node)
        parts = node.parts
        if not parts or (len(parts) == 1 and type(parts[0]) is str):
            return self.constant(parts[0] if parts else "", place)
        values: list[ast.expr] = []
        for part in parts:
            if isinstance(part, str):
                values.append(self.constant(part, place))
            else:
                values.append(at(ast.FormattedValue(self.as_text(part.value), -1, None), place))
        return at(ast.JoinedStr(values), place)

    def as_text(self, node: n.Expr) -> ast.expr:
        """An expression as `print` would show it."""
        value, type_ = self.expr(node), type_of(node)
        kind = base(type_)
        if kind == TEXT and not isinstance(type_, AI):
            return value
        place = self.place(node)
        if kind == NUMBER and isinstance(value, ast.Name) and not isinstance(type_, AI):
            # Whole numbers, by far the most, need no call.
            own = at(ast.Attribute(value, "__class__", ast.Load()), place)
            test = self.compare(own, _IS, self.name("_vint", place), place)
            return self.either(test, value, self.call("_vtext", [value], place), place)
        return self.call("_vtext", [value], place)

    def _name(self, node: n.Name) -> ast.expr:
        symbol, place = node.symbol, self.place(node)
        if symbol is None:
            return self.constant(None, place)
        value = self.name(self.python_name(symbol), place)
        return self.call("_vwait", [value], place) if symbol.is_async else value

    def python_name(self, symbol: Symbol) -> str:
        """What a symbol is called in Python."""
        if symbol.kind == "builtin":
            return f"_vb_{symbol.name}"
        return symbol.python

    def _array(self, node: n.ArrayLit) -> ast.expr:
        inner = node.type.item if isinstance(node.type, Array) else None
        return at(ast.List([self.cast(item, inner) for item in node.items], ast.Load()), self.place(node))

    def _object(self, node: n.ObjectLit) -> ast.expr:
        fields = node.type.fields if isinstance(node.type, Object) else {}
        keys = [self.constant(entry.key, self.place(entry)) for entry in node.entries]
        values = [
            self.cast(entry.value, fields[entry.key].type if entry.key in fields else None) for entry in node.entries
        ]
        return at(ast.Dict(list(keys), values), self.place(node))

    # Operators

    def _unary(self, node: n.Unary) -> ast.expr:
        place = self.place(node)
        if node.op == "not":
            return self.negation(self.condition(node.operand), place)
        value = self.expr(node.operand)
        if base(type_of(node.operand)) == NUMBER:
            return at(ast.UnaryOp(ast.USub(), value), place)
        return self.call("_vneg", [value], place)

    def _binary(self, node: n.Binary) -> ast.expr:
        spine: list[n.Binary] = [node]
        while type(spine[-1].left) is n.Binary:
            spine.append(spine[-1].left)
        value: ast.expr | None = None
        for each, outer in zip(reversed(spine), [*reversed(spine[:-1]), None], strict=True):
            if each.op == "??" and outer is not None and outer.op == "??":
                value = self._coalescing(each, value, self.place(each), self.lenient)
            else:
                value = self._operation(each, value)
        assert value is not None
        return value

    def _operation(self, node: n.Binary, left: ast.expr | None) -> ast.expr:
        """One operation; `left` is given where it is compiled already."""
        op, place = node.op, self.place(node)
        if op in ("and", "or"):
            return self._logical(node, left, place)
        if op == "??":
            return self._coalescing(node, left, place)
        if op in ("==", "!="):
            return self._equality(node, left, place)
        left = self.expr(node.left) if left is None else left
        one, two = base(type_of(node.left)), base(type_of(node.right))
        if op == "%" and one in (NUMBER, JSON) and two in (NUMBER, JSON):
            return self._modulo(node, left, place)
        if op == "+" and TEXT in (one, two) and one != two:
            left = left if one == TEXT else self.call("_vtext", [left], place)
            right = self.expr(node.right) if two == TEXT else self.as_text(node.right)
            return self.binary(left, _OPERATORS["+"], _text_of(self, right, two, place), place)
        right = self.expr(node.right)
        if one == two and op in _OPERATORS and (one == NUMBER or (op == "+" and one == TEXT)):
            return self.binary(left, _OPERATORS[op], right, place)
        if one == two and one in (NUMBER, TEXT) and op in _COMPARISONS:
            return self.compare(left, _COMPARISONS[op], right, place)
        return self._guarded(node, left, right, place)

    def _guarded(self, node: n.Binary, left: ast.expr, right: ast.expr, place: Place) -> ast.expr:
        """An operation on what may be anything: Python's own for whole numbers, the library's for all else."""
        op = node.op
        direct = _OPERATORS.get(op) or _COMPARISONS.get(op)
        known = {base(type_of(node.left)), base(type_of(node.right))} - {JSON, NUMBER}
        if direct is None or known:
            return self.call(_HELPERS[op], [left, right], place)
        test, left, right = self._both_whole(left, right, place)
        if isinstance(direct, ast.operator):
            quick = self.binary(left, direct, right, place)
        else:
            quick = self.compare(left, direct, right, place)
        return self.either(test, quick, self.call(_HELPERS[op], [left, right], place), place)

    def _both_whole(self, left: ast.expr, right: ast.expr, place: Place) -> tuple[ast.expr, ast.expr, ast.expr]:
        """A test whether both are whole numbers, which evaluates each once; and the two as they are read after it."""
        whole = self.name("_vint", place)
        if isinstance(right, ast.Constant):
            first, left = self._once(left, place)
            return self.compare(self._class(first, place), _IS, whole, place), left, right
        # What stands on the right may call a function that assigns what stands on the left.
        first, left = self._once(left, place, keep=not isinstance(right, ast.Name))
        second, right = self._once(right, place)
        test = ast.Compare(self._class(first, place), [_IS, _IS], [self._class(second, place), whole])
        return at(test, place), left, right

    def _once(self, value: ast.expr, place: Place, keep: bool = False) -> tuple[ast.expr, ast.expr]:
        """A value where it is evaluated, and where it is read again; a variable is read again unless `keep` is set."""
        if isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and not keep):
            return value, value
        name = self.temporary()
        return self.named(name, value, place), self.name(name, place)

    def _class(self, value: ast.expr, place: Place) -> ast.expr:
        return at(ast.Attribute(value, "__class__", ast.Load()), place)

    def _is_a(self, value: ast.expr, kind: str, place: Place) -> tuple[ast.expr, ast.expr]:
        """A test whether a value is just a list or dict of Python's, and the value as it is read after it."""
        first, value = self._once(value, place)
        return self.compare(self._class(first, place), _IS, self.name(kind, place), place), value

    def _modulo(self, node: n.Binary, left: ast.expr, place: Place) -> ast.expr:
        """`%` of numbers: Python's own where nothing is negative."""
        right = self.expr(node.right)
        if isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value > 0:
            first, left = self._once(left, place)
            test = self.compare(first, _COMPARISONS[">="], self.constant(0, place), place)
            if base(type_of(node.left)) != NUMBER:
                whole = self.compare(self._class(first, place), _IS, self.name("_vint", place), place)
                positive = self.compare(left, _COMPARISONS[">="], self.constant(0, place), place)
                test = at(ast.BoolOp(ast.And(), [whole, positive]), place)
            return self.either(
                test, self.binary(left, ast.Mod(), right, place), self.call("_vmod", [left, right], place), place
            )
        return self.call("_vmod", [left, right], place)

    def _logical(self, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
        operator = ast.And() if node.op == "and" else ast.Or()
        first = self.condition(node.left) if left is None else self._as_condition(left, node.left)
        if isinstance(first, ast.BoolOp) and type(first.op) is type(operator):
            # A long chain is one operation: it stays flat.
            first.values.append(self.condition(node.right))
            return at(first, place)
        return at(ast.BoolOp(operator, [first, self.condition(node.right)]), place)

    def _as_condition(self, value: ast.expr, node: n.Expr) -> ast.expr:
        return value if base(type_of(node)) == BOOLEAN else self.call("_vcond", [value], self.place(node))

    def _coalescing(
        self, node: n.Binary, left: ast.expr | None, place: Place, right: Callable[[n.Expr], ast.expr] | None = None
    ) -> ast.expr:
        left = self.lenient(node.left) if left is None else left
        if isinstance(type_of(node.left), AI) or type_of(node.left) == JSON:
            left = self.call("_vunwrap", [left], place)
        name = self.temporary()
        test = self.compare(self.named(name, left, place), _IS_NOT, self.constant(None, place), place)
        return self.either(test, self.name(name, place), (right or self.expr)(node.right), place)

    def _equality(self, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
        one, two = type_of(node.left), type_of(node.right)
        if NULL in (one, two):
            return self._null_test(node, left, place)
        left = self.expr(node.left) if left is None else left
        right = self.expr(node.right)
        if base(one) == base(two) and base(one) in (NUMBER, TEXT, BOOLEAN):
            return self.compare(left, _COMPARISONS[node.op], right, place)
        if isinstance(right, ast.Constant) and right.value.__class__ in (int, str):
            kind = "_vint" if right.value.__class__ is int else "_vstr"
            test, left = self._is_a(left, kind, place)
            quick = self.compare(left, _COMPARISONS[node.op], right, place)
            helper = self.call("_veq", [left, right], place)
            slow = helper if node.op == "==" else self.negation(helper, place)
            return self.either(test, quick, slow, place)
        same = self.call("_veq", [left, right], place)
        return same if node.op == "==" else self.negation(same, place)

    def _null_test(self, node: n.Binary, left: ast.expr | None, place: Place) -> ast.expr:
        other = node.right if type_of(node.left) == NULL and type(node.left) is n.NullLit else node.left
        value = left if left is not None and other is node.left else self.lenient(other)
        if isinstance(type_of(other), AI) or type_of(other) == JSON:
            value = self.call("_vunwrap", [value], place)
        operator = _IS if node.op == "==" else _IS_NOT
        return self.compare(value, operator, self.constant(None, place), place)

    def _range(self, node: n.Range) -> ast.expr:
        return self.call("_vrange", [self.expr(node.first), self.expr(node.last)], self.place(node))

    def span(self, node: n.Range) -> ast.expr:
        """A range, to go through."""
        return self.call("_vspan", [self.expr(node.first), self.expr(node.last)], self.place(node))

    # Members, items, calls

    def _postfix(self, node: n.Member | n.Index | n.Slice | n.Call, lenient: bool = False) -> ast.expr:
        steps: list[Any] = []
        here: Any = node
        while True:
            kind = here.__class__
            if kind is n.Call:
                if type(here.callee) is not n.Member:
                    break
                steps.append(here)
                here = here.callee.object
            elif kind in (n.Member, n.Index, n.Slice):
                steps.append(here)
                here = here.object
            else:
                break
        value = self._call(here) if type(here) is n.Call else self.expr(here)
        for step in reversed(steps):
            value = self._step(step, value, lenient)
        return value

    def _step(self, node: Any, value: ast.expr, lenient: bool) -> ast.expr:
        place = self.place(node)
        kind = node.__class__
        if kind is n.Call:
            return self._method(node, value, place)
        if kind is n.Member:
            return self._member(node, value, lenient, place)
        if kind is n.Index:
            return self._index(node, value, lenient, place)
        bounds = [
            self.expr(each) if each else self.constant(None, place) for each in (node.first, node.last, node.step)
        ]
        return self.call("_vpart", [value, *bounds], place)

    def _member(self, node: n.Member, value: ast.expr, lenient: bool, place: Place) -> ast.expr:
        type_, name = type_of(node.object), node.name
        key = self.constant(name, place)
        if isinstance(type_, AI):
            if name in AI_MEMBERS or name == "value":
                return self.call("_vai", [value, key], place)
            value, type_ = self.call("_vunwrap", [value], place), type_.inner
        kind = base(type_)
        if isinstance(kind, Object) and name in kind.fields:
            if kind.fields[name].optional:
                return self.method(value, "get", [key], place)
            return self.item(value, key, place)
        if name == "length" and (kind == TEXT or isinstance(kind, Array | Object)):
            return self.call("_vpylen", [value], place)
        if lenient:
            return self.call("_voptional", [value, key], place)
        test, value = self._is_a(value, "_vdict", place)
        there = at(ast.BoolOp(ast.And(), [test, self.compare(key, _IN, value, place)]), place)
        return self.either(there, self.item(value, key, place), self.call("_vmember", [value, key], place), place)

    def _index(self, node: n.Index, value: ast.expr, lenient: bool, place: Place) -> ast.expr:
        key, type_ = self.expr(node.index), type_of(node.object)
        sequence = isinstance(type_, Array) or (base(type_) == TEXT and not isinstance(type_, AI))
        if sequence and type_of(node.index) != JSON and base(type_of(node.index)) == NUMBER:
            return self.item(value, self.whole(node.index, key, place), place)
        if isinstance(key, ast.Constant) and key.value.__class__ is int and not lenient:
            test, value = self._is_a(value, "_vlist", place)
            return self.either(test, self.item(value, key, place), self.call("_vitem", [value, key], place), place)
        return self.call("_voptionalitem" if lenient else "_vitem", [value, key], place)

    def whole(self, node: n.Expr, key: ast.expr, place: Place) -> ast.expr:
        """A number as an index: one that is whole but was computed with fractions, such as 0.5 * 4, is one too."""
        if self._is_whole(node):
            return key
        test, key = self._is_a(key, "_vint", place)
        return self.either(test, key, self.call("_vwhole", [key], place), place)

    def _is_whole(self, node: n.Expr) -> bool:
        """Whether a number is an integer, as far as that can be seen."""
        match node:
            case n.NumberLit(value=value):
                return type(value) is int
            case n.Unary(operand=operand):
                return self._is_whole(operand)
            case n.Name(symbol=symbol):
                return symbol is not None and symbol in self.counters
            case n.Binary(op="+" | "-" | "*"):
                return self._is_whole(node.left) and self._is_whole(node.right)
            case _:
                return False

    def _method(self, node: n.Call, value: ast.expr, place: Place) -> ast.expr:
        callee = cast(n.Member, node.callee)
        type_, name = type_of(callee.object), callee.name
        known = methods_of(type_)
        if known is None or name not in known:
            return self._dynamic_method(name, value, [self.expr(each) for each in node.arguments], place)
        if isinstance(type_, AI):
            value, type_ = self.call("_vunwrap", [value], place), type_.inner
        kind = base(type_)
        wanted = _parameter_types(known[name].parameters, kind)
        arguments = [self.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
        direct = self._direct_method(kind, name, value, arguments, place)
        return direct or self.call(f"_vm_{_receiver(kind)}_{name}", [value, *arguments], place)

    def _dynamic_method(self, name: str, value: ast.expr, arguments: list[ast.expr], place: Place) -> ast.expr:
        key = self.constant(name, place)
        if name != "push" or len(arguments) != 1:
            return self.call("_vcall", [value, key, *arguments], place)
        test, value = self._is_a(value, "_vlist", place)
        push = self.method(value, "append", arguments, place)
        return self.either(test, push, self.call("_vcall", [value, key, *arguments], place), place)

    def _direct_method(
        self, kind: Type, name: str, value: ast.expr, arguments: list[ast.expr], place: Place
    ) -> ast.expr | None:
        """The same as Python's own method, where there is one."""
        if name == "len":
            return self.call("_vpylen", [value], place)
        if kind == TEXT and name in _TEXT_DIRECT:
            return self.method(value, _TEXT_DIRECT[name], arguments, place)
        if kind == TEXT and name == "includes":
            return self.compare(arguments[0], _IN, value, place)
        if isinstance(kind, Array) and name == "push":
            return self.method(value, "append", arguments, place)
        if isinstance(kind, Array) and name == "join" and base(kind.item) == TEXT and len(arguments) == 1:
            return self.method(arguments[0], "join", [value], place) if kind.item == TEXT else None
        return None

    def _call(self, node: n.Call) -> ast.expr:
        """A call of a function or tool by its name."""
        place = self.place(node)
        callee = node.callee
        symbol = callee.symbol if isinstance(callee, n.Name) else None
        if symbol is None:
            return self.constant(None, place)
        signature = _signature(symbol)
        wanted: list[Type | None] = []
        if signature is not None and not signature.unchecked:
            wanted = list(signature.parameters)
            if signature.variadic:
                wanted += [signature.parameters[-1]] * (len(node.arguments) - len(wanted))
        wanted += [None] * (len(node.arguments) - len(wanted))
        arguments = [self.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
        value = self.call_symbol(symbol, arguments, place)
        if symbol.kind == "import" and signature is not None:
            # What a function of Python is annotated with is a promise, not a fact.
            value = self.fitted(value, JSON, signature.returns, place)
        return value

    def call_symbol(self, symbol: Symbol, arguments: list[ast.expr], place: Place) -> ast.expr:
        """A call of what a name stands for."""
        if symbol.kind == "builtin":
            self.asked = self.asked or symbol.name == "note"
            return self.call(f"_vb_{symbol.name}", arguments, place)
        function = self.name(symbol.python, place)
        if symbol.kind in ("tool", "import"):
            # What is not of the language is reached through the run: its calls are effects.
            return self.runtime("call", [function, *arguments], place)
        return self.call_of(function, arguments, place)

    # Asking, Python, concurrency

    def _ask(self, node: n.Ask) -> ast.expr:
        return self.runtime("ask", self.ask_arguments(node), self.place(node))

    def ask_arguments(self, node: n.Ask) -> list[ast.expr]:
        """What an ask needs: its site, the prompt, the model."""
        self.asked = True
        place = self.place(node)
        context = node.context or "default"
        by_default = node.says_model and node.model is None
        site = Site(node.kind, context, node.wanted, node.start, node.end, by_default, self.hidden.get(node.start, ()))
        model = self.expr(node.model) if node.model is not None else self.constant(None, place)
        return [self.constant(self.code.add_site(site), place), self.as_text(node.prompt), model]

    def _human(self, node: n.AskHuman) -> ast.expr:
        self.asked = True
        place = self.place(node)
        site = Site("ask", "none", node.wanted, node.start, node.end)
        return self.runtime(
            "ask_human", [self.constant(self.code.add_site(site), place), self.as_text(node.prompt)], place
        )

    def _python(self, node: n.PyBlock) -> ast.expr:
        place = self.place(node)
        name = self.code.add_python(self.source, node)
        arguments = [self.call("_vplain", [self.expr(each)], place) for each in node.parameters]
        return self.call("_vfrompython", [self.call(name, arguments, place)], place)

    def _async_for(self, node: n.AsyncFor) -> ast.expr:
        place = self.place(node)
        body = self.async_body(node)
        return self.runtime("gather", [self.name(body, place), self.iterable(node.iterable)], place)

    def async_body(self, node: n.AsyncFor) -> str:
        """Compile the body of an `async for` to a function, defined before the statement; gives its name."""
        raise NotImplementedError

    def iterable(self, node: n.Expr) -> ast.expr:
        """What a `for` goes through."""
        type_ = type_of(node)
        if isinstance(node, n.Range):
            return self.span(node)
        if isinstance(type_, Array):
            return self.expr(node)
        value = self.expr(node)
        if isinstance(type_, AI):
            # An answer declared as an array is one; of any other the checker has complained.
            value = self.call("_vunwrap", [value], self.place(node))
        return self.call("_viter", [value], self.place(node))


def type_of(node: n.Expr) -> Type:
    """The type the checker found; `json` where it found none."""
    return node.type if node.type is not None else JSON


def _options(type_: Type) -> tuple[Type, ...]:
    inner = plain(type_)
    return inner.options if isinstance(inner, Union) else (inner,)


def _text_of(emitter: Expressions, value: ast.expr, kind: Type, place: Place) -> ast.expr:
    """The right side of a text's `+`, which `as_text` may have left a number."""
    del kind
    if isinstance(value, ast.IfExp):
        value.body = emitter.call("_vstr", [value.body], place)
    return value


def _parameter_types(names: tuple[str, ...], receiver: Type) -> list[Type]:
    from antiphon.lang.methods import signature_type

    return [signature_type(each, receiver) for each in names]


def _receiver(kind: Type) -> str:
    if isinstance(kind, Array):
        return "array"
    if isinstance(kind, Object):
        return "object"
    assert isinstance(kind, Simple)
    return kind.name


def _signature(symbol: Symbol) -> Any:
    from antiphon.lang.types import Callable as Signature

    return symbol.type if isinstance(symbol.type, Signature) else None
