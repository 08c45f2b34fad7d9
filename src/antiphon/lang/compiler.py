"""Statements, compiled: a checked tree becomes the code object of a Python module.

The top level is a function, `main`, whose variables are the module's globals: Python is quicker in functions. Variables
of blocks are locals of the function they are in, under names of their own where they would hide one another.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Iterable
from typing import Any

from antiphon.lang import nodes as n
from antiphon.lang.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.emit import Place, at
from antiphon.lang.expressions import Expressions, type_of
from antiphon.lang.module import MANGLED, Code, ImportedName, Variable
from antiphon.lang.source import Source
from antiphon.lang.symbols import Symbol
from antiphon.lang.types import AI, Array, Literal, Object, Simple, Type, base, widen
from antiphon.lang.types import Callable as Signature

MAIN = "main"
_RESERVED = {*keyword.kwlist, MAIN, "__builtins__"}
_COMPOUND = {"+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%"}
_PASS = ast.Pass


def compile_program(program: n.Program, source: Source, *, for_tests: bool = False) -> Code:
    """The code of a program that was checked and found sound.

    `for_tests` leaves out what the top level does: there are its declarations, but for those that ask a model.
    """
    code = Code(source)
    compiler = Compiler(source, code)
    tree = compiler.module(program, for_tests)
    try:
        code.main = compile(tree, source.name, "exec", dont_inherit=True)
    except (RecursionError, MemoryError, SyntaxError) as error:
        said = Diagnostic("V0115", f"this program is nested too deeply to be compiled: {error}", 0, 0)
        raise ProgramErrors([(source, said)]) from None
    return code


def python_name(name: str) -> str:
    """What Python calls a name: itself, unless Python or this compiler has a use for it. No two become one."""
    kept = name.isidentifier() and name not in _RESERVED and not name.startswith(("_v", "__"))
    return name if kept else f"{MANGLED}{name}"


class _Scope:
    """A Python function that is being compiled: its names and variables."""

    def __init__(self, node: Any, outer: _Scope | None, taken: set[str]) -> None:
        self.node = node
        self.outer = outer
        self.taken = taken
        self.variables: list[Variable] = []
        self.globals: set[str] = set()
        self.outside: set[str] = set()
        self.returns: Type | None = None
        self.collects = ""

    def named(self, name: str) -> str:
        """A Python name for a variable that hides no other."""
        wish = python_name(name)
        known, number = wish, 1
        while any(known in scope.taken for scope in self.chain()):
            number += 1
            known = f"{wish}_{number}"
        self.taken.add(known)
        return known

    def chain(self) -> Iterable[_Scope]:
        """This function and those around it."""
        scope: _Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


class Compiler(Expressions):
    """Compiles one module."""

    def __init__(self, source: Source, code: Code) -> None:
        super().__init__(source, code)
        self.module_names: set[str] = set()
        self.scope = _Scope(None, None, set())
        #: Definitions of functions declared at the top level, which stand before `main`.
        self.top: list[ast.stmt] = []
        self._declarations_only = False
        self._statements: dict[type, Callable[[Any], list[ast.stmt]]] = {
            n.Let: self._let,
            n.Destructure: self._destructure,
            n.Assign: self._assign,
            n.If: self._if,
            n.For: self._for,
            n.While: self._while,
            n.Break: lambda node: [at(ast.Break(), self.place(node))],
            n.Continue: lambda node: [at(ast.Continue(), self.place(node))],
            n.Return: self._return,
            n.Yield: self._yield,
            n.Throw: self._throw,
            n.Try: self._try,
            n.ModelDecl: self._model,
            n.ExprStatement: self._expression,
            n.Block: lambda node: self.block(node.statements),
            n.Test: self._test,
        }

    # The module

    def module(self, program: n.Program, for_tests: bool = False) -> ast.Module:
        """The whole module: functions, then `main`."""
        place = self.between(0, 0)
        self._declarations_only = for_tests
        for statement in program.statements:
            for symbol in _declared(statement):
                self._declare(symbol, statement.end)
                self.code.names[symbol.name] = symbol
        body = self._imports(program)
        body += self._hoisted(program.statements)
        body += self._all(program.statements)
        last = program.statements[-1] if program.statements else None
        if isinstance(last, n.ExprStatement) and body and isinstance(body[-1], ast.Expr):
            body[-1] = at(ast.Return(body[-1].value), self.place(last))
        body = [*self._globals(place), *(body or [at(_PASS(), place)])]
        main = self.function(MAIN, self.arguments((), (), place), body, place)
        self._remember(MAIN, place, self.scope)
        return ast.Module([*self.top, main], [])

    def _imports(self, program: n.Program) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in program.statements:
            if not isinstance(statement, n.Import):
                continue
            for each in statement.names:
                symbol = each.symbol
                if symbol is None or symbol.kind == "type":
                    continue
                place = self.place(each)
                self.code.imports.append(ImportedName(statement.path, each.name, symbol, each.start, each.end))
                number = self.constant(len(self.code.imports) - 1, place)
                self.scope.globals.add(symbol.python)
                out.append(self.assign(symbol.python, self.runtime("imported", [number], place), place))
        return out

    def _globals(self, place: Place) -> list[ast.stmt]:
        names = sorted(self.scope.globals)
        return [at(ast.Global(names), place)] if names else []

    def _remember(self, name: str, place: Place, scope: _Scope) -> None:
        self.code.scopes[name, place[0]] = scope.variables

    def _declare(self, symbol: Symbol, since: int) -> None:
        """Give a symbol its Python name, and note it for those who look at the frame."""
        if symbol.python:
            # Declared by an earlier piece of the same session.
            pass
        elif symbol.is_global:
            symbol.python = self._global_name(symbol.name)
        else:
            symbol.python = self.scope.named(symbol.name)
        if symbol.kind in ("let", "const", "parameter", "loop", "caught"):
            seen = max(since, symbol.since)
            self.scope.variables.append(
                Variable(symbol.python, symbol.name, symbol.type, seen, symbol.until, symbol.is_private)
            )

    def _global_name(self, name: str) -> str:
        self.module_names.add(name)
        wish = python_name(name)
        self.scope.taken.add(wish)
        return wish

    # Blocks

    def block(self, statements: list[n.Statement]) -> list[ast.stmt]:
        """The statements of a block with a scope of its own."""
        for statement in statements:
            for symbol in _declared(statement):
                self._declare(symbol, statement.end)
        return [*self._hoisted(statements), *self._all(statements)]

    def body(self, block: n.Block) -> list[ast.stmt]:
        """The same, with at least one statement, as Python wants it."""
        return self.block(block.statements) or [at(_PASS(), self.between(block.start, block.start + 1))]

    def _all(self, statements: list[n.Statement]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        # What must stand before the statement around these waits until that is done.
        around, self.before = self.before, []
        for statement in statements:
            compiler = self._statements.get(type(statement))
            if compiler is None:
                continue
            asked, self.asked = self.asked, False
            compiled = compiler(statement)
            left_out = self._declarations_only and self.scope.outer is None and self._is_left_out(statement)
            self.asked = self.asked or asked
            if left_out:
                self.before = []
                continue
            if self.before:
                out += self.before
                self.before = []
            out += compiled
        self.before = around
        return out

    def _is_left_out(self, statement: n.Statement) -> bool:
        """Whether a statement of the top level does something, or needs a model."""
        return self.asked or not isinstance(statement, n.Let | n.Destructure | n.ModelDecl | n.Test)

    def _hoisted(self, statements: list[n.Statement]) -> list[ast.stmt]:
        """Functions and tools, which may be used before they are declared."""
        out: list[ast.stmt] = []
        for statement in statements:
            if type(statement) is n.Function:
                out += self._function(statement)
        return out

    # Declarations

    def _let(self, node: n.Let) -> list[ast.stmt]:
        place, symbol = self.place(node), node.symbol
        if symbol is None:
            return []
        if symbol.is_private and isinstance(node.value, n.Ask):
            self.hidden[node.value.start] = ("",)
        if node.is_async and node.value is not None:
            value = self._started(node.value, symbol.type)
        else:
            value = self.constant(None, place) if node.value is None else self.cast(node.value, symbol.type)
            if symbol.is_global:
                value = self._input(symbol, value, place)
            value = self._kept(value, symbol.type, node.is_const, place)
        return [self._bind(symbol, value, place)]

    def _kept(self, value: ast.expr, type_: Type, is_const: bool, place: Place) -> ast.expr:
        """A value as the variable keeps it: that of a constant cannot be changed."""
        return self.call("_vfreeze", [value], place) if is_const and not _is_scalar(type_) else value

    def _input(self, symbol: Symbol, value: ast.expr, place: Place) -> ast.expr:
        """The value, unless whoever runs the program gives another."""
        self.code.inputs.add(symbol.name)
        key = self.constant(symbol.name, place)
        given = self.compare(key, ast.In(), self.name("_vinputs", place), place)
        # A constant's type may be the one value that is written there.
        type_ = self.name(self.code.type_name(widen(_unwrapped(symbol.type))), place)
        return self.either(given, self.runtime("input", [key, type_], place), value, place)

    def _bind(self, symbol: Symbol, value: ast.expr, place: Place) -> ast.stmt:
        self._touch(symbol)
        return self.assign(symbol.python, value, place)

    def _touch(self, symbol: Symbol) -> None:
        """Note that this function assigns a variable of an outer one."""
        if symbol.is_global:
            self.scope.globals.add(symbol.python)
        elif symbol.python not in self.scope.taken:
            self.scope.outside.add(symbol.python)

    def _started(self, node: n.Expr, wanted: Type) -> ast.expr:
        """The value of an `async let`: what it waits for is evaluated now, the rest happens meanwhile."""
        place = self.place(node)
        type_ = self.name(self.code.type_name(_unwrapped(wanted)), place)
        self.asked = True
        if isinstance(node, n.Ask):
            return self.runtime("start_ask", self.ask_arguments(node), place)
        if isinstance(node, n.AsyncFor):
            body = self.async_body(node)
            function = self.name("_vrt", place)
            gather = at(ast.Attribute(function, "gather", ast.Load()), place)
            return self.runtime("start", [type_, gather, self.name(body, place), self.iterable(node.iterable)], place)
        if isinstance(node, n.Call) and isinstance(node.callee, n.Name) and node.callee.symbol is not None:
            called = self.expr(node)
            assert isinstance(called, ast.Call)
            return self.runtime("start", [type_, called.func, *called.args], place)
        return self.cast(node, wanted)

    def _destructure(self, node: n.Destructure) -> list[ast.stmt]:
        place, name = self.place(node), self.temporary()
        self.hidden[node.value.start] = tuple(each.name for each in node.pattern.fields if _is_private(each))
        if node.is_async and isinstance(node.value, n.Ask):
            value = self.call("_vwait", [self.runtime("start_ask", self.ask_arguments(node.value), place)], place)
        else:
            value = self.cast(node.value, node.pattern.type)
        out = [self.assign(name, self.call("_vunwrap", [value], place), place)]
        bindings = self._fields(node.pattern, name, node.is_const, out)
        # Everything is taken out before anything is assigned: failure assigns nothing.
        return out + [self._bind(symbol, self.name(held, place), place) for symbol, held in bindings]

    def _fields(self, pattern: n.Pattern, name: str, is_const: bool, out: list[ast.stmt]) -> list[tuple[Symbol, str]]:
        bindings: list[tuple[Symbol, str]] = []
        for each in pattern.fields:
            place = self.place(each)
            key, held = self.constant(each.name, place), self.temporary()
            value = self._field_value(each, name, key, place)
            if each.nested is not None:
                out.append(self.assign(held, value, place))
                bindings += self._fields(each.nested, held, is_const, out)
            elif each.symbol is not None:
                out.append(self.assign(held, self._kept(value, each.symbol.type, is_const, place), place))
                bindings.append((each.symbol, held))
        return bindings

    def _field_value(self, each: n.PatternField, name: str, key: ast.expr, place: Place) -> ast.expr:
        whole = self.name(name, place)
        if each.default is None:
            return self.call("_vfield", [whole, key], place)
        found = self.temporary()
        read = self.named(found, self.call("_voptional", [whole, key], place), place)
        test = self.compare(read, ast.IsNot(), self.constant(None, place), place)
        wanted = each.symbol.type if each.symbol else None
        return self.either(test, self.name(found, place), self.cast(each.default, wanted), place)

    def _model(self, node: n.ModelDecl) -> list[ast.stmt]:
        place = self.place(node)
        if node.symbol is None:
            return []
        name = self.constant(node.name, place)
        return [self._bind(node.symbol, self.runtime("model", [name, self.expr(node.settings)], place), place)]

    # Functions

    def _function(self, node: n.Function) -> list[ast.stmt]:
        symbol, place = node.symbol, self.place(node)
        if symbol is None:
            return []
        name = python_name(node.name)
        definition = self._definition(node, symbol, name, place)
        out: list[ast.stmt] = [definition]
        value: ast.expr = self.name(name, place)
        if node.is_tool:
            self.code.tools.append(node)
            value = self.runtime("tool", [self.constant(len(self.code.tools) - 1, place), value], place)
        if symbol.is_global and not node.is_tool and name == symbol.python:
            self.top.append(definition)
            return []
        if node.is_tool or name != symbol.python:
            out.append(self._bind(symbol, value, place))
            if name != symbol.python and not symbol.is_global:
                self.scope.taken.add(name)
        return out

    def _definition(self, node: n.Function, symbol: Symbol, name: str, place: Place) -> ast.stmt:
        outer, before, asked = self.scope, self.before, self.asked
        self.scope = _Scope(node, outer, set())
        self.before, self.asked = [], False
        signature = symbol.type
        if isinstance(signature, Signature) and node.returns is not None:
            self.scope.returns = signature.returns
        prologue, names, defaults = self._parameters(node.parameters)
        body = [*prologue, *self.body(node.body)]
        if self.asked:
            body = self._with_history(body, place)
        body = [*self._outer_names(place), *body]
        arguments = self.arguments(names, defaults, place)
        self._remember(name, place, self.scope)
        self.scope, self.before, self.asked = outer, before, asked
        return self.function(name, arguments, body, place)

    def _outer_names(self, place: Place) -> list[ast.stmt]:
        """What this function assigns outside of itself."""
        out = self._globals(place)
        outside = sorted(self.scope.outside)
        if outside:
            out.append(at(ast.Nonlocal(outside), place))
            if self.scope.outer is not None:
                self.scope.outer.outside |= {name for name in outside if name not in self.scope.outer.taken}
        return out

    def _parameters(self, parameters: list[n.Parameter]) -> tuple[list[ast.stmt], list[str], list[ast.expr]]:
        prologue: list[ast.stmt] = []
        names: list[str] = []
        defaults: list[ast.expr] = []
        for each in parameters:
            if each.symbol is None:
                continue
            place = self.place(each)
            self._declare(each.symbol, each.start)
            names.append(each.symbol.python)
            if each.default is None:
                continue
            defaults.append(self.name("_vmissing", place))
            test = self.compare(self.name(each.symbol.python, place), ast.Is(), self.name("_vmissing", place), place)
            value = self.cast(each.default, each.symbol.type)
            prologue.append(at(ast.If(test, [self.assign(each.symbol.python, value, place)], []), place))
        return prologue, names, defaults

    def _with_history(self, body: list[ast.stmt], place: Place) -> list[ast.stmt]:
        """A function's body whose history is gone when it returns."""
        mark = self.temporary()
        leave = self.expression(self.runtime("leave", [self.name(mark, place)], place), place)
        return [
            self.assign(mark, self.runtime("enter", [], place), place),
            at(ast.Try(body, [], [], [leave]), place),
        ]

    def async_body(self, node: n.AsyncFor) -> str:
        """The body of an `async for`, as a function that gives what was yielded."""
        outer, before, place = self.scope, self.before, self.place(node)
        self.asked = True
        name = f"_vasync{len(self.code.scopes)}"
        self.scope = _Scope(node, outer, set())
        self.before = []
        self.scope.collects = self.temporary()
        parameter = "_vunused"
        if node.symbol is not None:
            self._declare(node.symbol, node.start)
            parameter = node.symbol.python
        statements = self.body(node.body)
        collected = self.name(self.scope.collects, place)
        body = [
            self.assign(self.scope.collects, at(ast.List([], ast.Load()), place), place),
            *statements,
            at(ast.Return(collected), place),
        ]
        body = [*self._outer_names(place), *body]
        self._remember(name, place, self.scope)
        self.scope, self.before = outer, before
        self.before.append(self.function(name, self.arguments([parameter], (), place), body, place))
        return name

    def _test(self, node: n.Test) -> list[ast.stmt]:
        place, name = self.place(node), f"_vtest{len(self.code.tests)}"
        outer, before = self.scope, self.before
        self.scope = _Scope(node, outer, set())
        self.before = []
        body = self.body(node.body)
        body = [*self._outer_names(place), *body]
        self._remember(name, place, self.scope)
        self.scope, self.before = outer, before
        self.top.append(self.function(name, self.arguments((), (), place), body, place))
        self.code.tests.append((node.name, name, node.start))
        return []

    # Assignment

    def _assign(self, node: n.Assign) -> list[ast.stmt]:
        target = node.target
        if isinstance(target, n.Name):
            return self._assign_name(node, target)
        return self._assign_inside(node, target)

    def _assign_name(self, node: n.Assign, target: n.Name) -> list[ast.stmt]:
        symbol, place = target.symbol, self.place(node)
        if symbol is None:
            return []
        if node.op == "=":
            return [self._bind(symbol, self.cast(node.value, symbol.type), place)]
        both = n.Binary(node.start, node.end, _COMPOUND[node.op], target, node.value)
        value = self.fitted(self._operation(both, None), _result(both), _unwrapped(symbol.type), place)
        return [self._bind(symbol, value, place)]

    def _assign_inside(self, node: n.Assign, target: n.Member | n.Index) -> list[ast.stmt]:
        place = self.place(node)
        out: list[ast.stmt] = []
        holder = self.expr(target.object)
        place_type = type_of(target)
        key: ast.expr
        if isinstance(target, n.Member):
            key = self.constant(target.name, place)
        else:
            key = self.expr(target.index)
        if node.op == "=":
            value = self.cast(node.value, _assigned_type(target))
        else:
            held, index = self.temporary(), self.temporary()
            out += [self.assign(held, holder, place), self.assign(index, key, place)]
            holder, key = self.name(held, place), self.name(index, place)
            read = self.call("_vitem", [self.name(held, place), self.name(index, place)], place)
            both = n.Binary(node.start, node.end, _COMPOUND[node.op], target, node.value)
            value = self.fitted(self._operation(both, read), _result(both), place_type, place)
        return out + self._store(target, holder, key, value, place)

    def _store(
        self, target: n.Member | n.Index, holder: ast.expr, key: ast.expr, value: ast.expr, place: Place
    ) -> list[ast.stmt]:
        type_ = type_of(target.object)
        known = isinstance(type_, Object) if isinstance(target, n.Member) else isinstance(type_, Array)
        if known and isinstance(target, n.Index):
            known = base(type_of(target.index)) == Simple("number")
        if known:
            key = self.whole(target.index, key, place) if isinstance(target, n.Index) else key
            return [self.assign_item(holder, key, value, place)]
        if isinstance(target, n.Index):
            # The value comes first, as in Python.
            new = self.temporary()
            put = self.call("_vsetitem", [holder, key, self.name(new, place)], place)
            return [self.assign(new, value, place), self.expression(put, place)]
        return self._store_member(holder, key, value, place)

    def _store_member(self, holder: ast.expr, key: ast.expr, value: ast.expr, place: Place) -> list[ast.stmt]:
        """`holder.key = value` where nothing is known of the holder: quick for an object that may be changed."""
        held, new = self.temporary(), self.temporary()
        own = at(ast.Attribute(self.name(held, place), "__class__", ast.Load()), place)
        test = self.compare(own, ast.Is(), self.name("_vdict", place), place)
        slow = self.call("_vsetmember", [self.name(held, place), key, self.name(new, place)], place)
        quick = self.assign_item(self.name(held, place), key, self.name(new, place), place)
        return [
            self.assign(new, value, place),
            self.assign(held, holder, place),
            at(ast.If(test, [quick], [self.expression(slow, place)]), place),
        ]

    # Control

    def _if(self, node: n.If) -> list[ast.stmt]:
        chain: list[n.If] = [node]
        while isinstance(chain[-1].otherwise, n.If):
            chain.append(chain[-1].otherwise)
        parts = [(each, self.condition(each.condition), self.body(each.then)) for each in chain]
        last = chain[-1].otherwise
        otherwise = self.body(last) if isinstance(last, n.Block) else []
        for each, test, then in reversed(parts):
            otherwise = [at(ast.If(test, then, otherwise), self.place(each))]
        return otherwise

    def _for(self, node: n.For) -> list[ast.stmt]:
        place = self.place(node)
        iterable = self.iterable(node.iterable)
        if node.symbol is None:
            return []
        self._declare(node.symbol, node.name_start)
        if isinstance(node.iterable, n.Range) or base(type_of(node.iterable)) == Simple("number"):
            self.counters.add(node.symbol)
        target = self.target(node.symbol.python, self.between(node.name_start, node.name_start + len(node.name)))
        loop = at(ast.For(target, iterable, self._loop_body(node), []), place)
        return self._with_mode(node.mode, loop, place)

    def _while(self, node: n.While) -> list[ast.stmt]:
        place = self.place(node)
        loop = at(ast.While(self.condition(node.condition), self._loop_body(node), []), place)
        return self._with_mode(node.mode, loop, place)

    def _loop_body(self, node: n.For | n.While) -> list[ast.stmt]:
        body = self.body(node.body)
        if node.mode is None or node.mode.kind != "forget":
            return body
        self.asked = True
        place, mark = self.place(node.mode), self.temporary()
        forget = self.expression(self.runtime("forget", [self.name(mark, place)], place), place)
        return [
            self.assign(mark, self.runtime("mark", [], place), place),
            at(ast.Try(body, [], [], [forget]), place),
        ]

    def _with_mode(self, mode: n.LoopMode | None, loop: ast.stmt, place: Place) -> list[ast.stmt]:
        if mode is None or mode.kind != "compress":
            return [loop]
        self.asked = True
        here, mark = self.place(mode), self.temporary()
        how = self.as_text(mode.how) if mode.how is not None else self.constant(None, here)
        model = self.expr(mode.model) if mode.model is not None else self.constant(None, here)
        compress = self.runtime("compress", [self.name(mark, here), how, model], here)
        return [
            self.assign(mark, self.runtime("mark", [], here), place),
            loop,
            self.expression(compress, here),
        ]

    def _return(self, node: n.Return) -> list[ast.stmt]:
        place = self.place(node)
        value = None if node.value is None else self.cast(node.value, self.scope.returns)
        return [at(ast.Return(value), place)]

    def _yield(self, node: n.Yield) -> list[ast.stmt]:
        place = self.place(node)
        value = self.call("_vunwrap", [self.expr(node.value)], place)
        return [self.expression(self.method(self.name(self.scope.collects, place), "append", [value], place), place)]

    def _throw(self, node: n.Throw) -> list[ast.stmt]:
        place = self.place(node)
        return [at(ast.Raise(self.call("_vthrown", [self.expr(node.value)], place), None), place)]

    def _try(self, node: n.Try) -> list[ast.stmt]:
        place = self.place(node)
        body = self.body(node.body)
        held = self.temporary()
        handler: list[ast.stmt] = []
        if node.symbol is not None:
            self._declare(node.symbol, node.name_start)
            caught = self.call("_vcaught", [self.name(held, place)], place)
            handler.append(self.assign(node.symbol.python, caught, place))
        handler += self.body(node.handler)
        clause = at(ast.ExceptHandler(self.name("_vcatchable", place), held, handler), place)
        return [at(ast.Try(body, [clause], [], []), place)]

    def _expression(self, node: n.ExprStatement) -> list[ast.stmt]:
        return [self.expression(self.expr(node.value), self.place(node))]


def _declared(statement: n.Statement) -> Iterable[Symbol]:
    """The symbols a statement declares in its block."""
    if isinstance(statement, n.Let | n.Function | n.ModelDecl):
        return [statement.symbol] if statement.symbol is not None else []
    if isinstance(statement, n.Destructure):
        return _pattern_symbols(statement.pattern)
    if isinstance(statement, n.Import):
        return [each.symbol for each in statement.names if each.symbol is not None]
    return ()


def _pattern_symbols(pattern: n.Pattern) -> list[Symbol]:
    out: list[Symbol] = []
    for each in pattern.fields:
        if each.nested is not None:
            out += _pattern_symbols(each.nested)
        elif each.symbol is not None:
            out.append(each.symbol)
    return out


def _is_private(field: n.PatternField) -> bool:
    if field.nested is not None:
        return any(map(_is_private, field.nested.fields))
    return field.symbol is not None and field.symbol.is_private


def _is_scalar(type_: Type) -> bool:
    kind = base(type_)
    if isinstance(kind, Literal):
        return True
    return isinstance(kind, Simple) and kind.name in ("text", "number", "boolean", "null", "prompt", "model")


def _unwrapped(type_: Type) -> Type:
    return type_.inner if isinstance(type_, AI) else type_


def _assigned_type(target: n.Member | n.Index) -> Type:
    """The type of what may be assigned to a member or an item."""
    holder = base(type_of(target.object))
    if isinstance(target, n.Member) and isinstance(holder, Object) and target.name in holder.fields:
        each = holder.fields[target.name]
        return each.read
    if isinstance(target, n.Index) and isinstance(holder, Array):
        return holder.item
    return Simple("json")


def _result(both: n.Binary) -> Type:
    """The type of a compound assignment's operation."""
    one, two = base(type_of(both.left)), base(type_of(both.right))
    if both.op == "+" and Simple("text") in (one, two):
        return Simple("text")
    if one == two and one == Simple("number"):
        return one
    if both.op == "+" and isinstance(one, Array):
        return one
    return Simple("json")
