"""Compile calls of functions, tools, models and Python blocks, and questions to the human."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.code_object import AskSite
from antiphon.lang.codegen.compiler import Compiler, evaluate_once, get_expression_type
from antiphon.lang.codegen.functions import compile_async_body
from antiphon.lang.codegen.literals import compile_as_text
from antiphon.lang.codegen.loops import compile_iterable
from antiphon.lang.codegen.members import hide_extra_fields, is_python_sequence
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.symbols import Symbol


def compile_call(c: Compiler, node: n.Call) -> ast.expr:
    """Compile a call of a function or tool by its name."""
    signature, symbol = (
        get_expression_type(node.callee),
        node.callee.symbol if isinstance(node.callee, n.Name) else None,
    )
    value = compile_unchecked_call(c, node)
    if symbol is not None and symbol.kind == "import" and isinstance(signature, t.CallableType):
        # The annotations of a Python function are not enforced by Python, so its result is checked.
        return c.convert_value(value, t.JSON, signature.returns, c.place(node))
    return value


def compile_unchecked_call(c: Compiler, node: n.Call) -> ast.expr:
    """Compile a call by name without a check of what a Python function returns."""
    place = c.place(node)
    callee = node.callee
    symbol = callee.symbol if isinstance(callee, n.Name) else None
    if symbol is None:
        return emit.make_constant(None, place)
    if symbol.kind == "builtin" and symbol.name == "assert" and type(node.arguments[0]) is n.Binary:
        return _compile_assertion(c, node.arguments[0], node.arguments[1:], place)
    if symbol.kind == "builtin" and symbol.name == "len" and _has_python_length(node.arguments):
        return emit.make_call("len", [c.expr(node.arguments[0])], place)
    signature = get_expression_type(callee)
    signature = signature if isinstance(signature, t.CallableType) else None
    arguments = compile_arguments(c, node, signature, symbol)
    if (
        symbol.kind == "builtin"
        and symbol.name == "len"
        and not isinstance(get_expression_type(node.arguments[0]), t.AIResultType)
    ):
        arguments = [hide_extra_fields(arguments[0], t.get_base_type(get_expression_type(node.arguments[0])), place)]
    if node.named:
        return _compile_named_call(c, node, symbol, arguments, place)
    if signature is not None and signature.gives == "wanted" and symbol.kind == "function":
        type_ = c.make_type_name(get_expression_type(node), place)
        return emit.make_call("call_with_wanted_type", [emit.make_name(symbol.python, place), type_, *arguments], place)
    return _emit_symbol_call(c, symbol, arguments, place)


def _has_python_length(arguments: list[n.Expr]) -> bool:
    return len(arguments) == 1 and (
        is_python_sequence(get_expression_type(arguments[0]))
        or isinstance(get_expression_type(arguments[0]), t.Object | t.Map)
    )


def compile_value_call(c: Compiler, node: n.Call, value: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile a call of a function that an expression evaluates to."""
    type_ = get_expression_type(node.callee)
    if not isinstance(type_, t.CallableType):
        return emit.make_runtime_call("call", [value, *compile_arguments(c, node, None)], place)
    return emit.make_value_call(value, compile_arguments(c, node, type_), place)


def compile_arguments(
    c: Compiler, node: n.Call, signature: t.CallableType | None, symbol: Symbol | None = None
) -> list[ast.expr]:
    """Compile the arguments of a call in order, each converted to the type of its parameter."""
    wanted: list[t.Type | None] = []
    if signature is not None and not signature.is_unchecked:
        wanted = list(signature.parameters)
        if signature.variadic:
            wanted += [signature.parameters[-1]] * (len(node.arguments) - len(wanted))
    wanted += [None] * (len(node.arguments) - len(wanted))
    if symbol is not None and symbol.kind in ("builtin", "import"):
        # Built-in functions keep no reference, and Python gets copies.
        return [c.compile_borrowed(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]
    return [c.cast(each, type_) for each, type_ in zip(node.arguments, wanted, strict=False)]


def _compile_named_call(
    c: Compiler, node: n.Call, symbol: Symbol, arguments: list[ast.expr], place: SourceLocation
) -> ast.expr:
    """Compile a call with named arguments; for a function of the language they are put in position."""
    signature = symbol.type if isinstance(symbol.type, t.CallableType) else None
    known = signature is not None and not signature.is_unchecked
    types = dict(zip(signature.names, signature.parameters, strict=False)) if signature is not None and known else {}
    given = {each.name: c.cast(each.value, types.get(each.name)) for each in node.named}
    if symbol.kind in ("tool", "import"):
        names = set_location(ast.Dict([emit.make_constant(name, place) for name in given], list(given.values())), place)
        function = emit.make_name(symbol.python, place)
        return emit.make_runtime_call("call_named", [function, names, *arguments], place)
    before: list[ast.expr] = []
    if not all(isinstance(each, ast.Constant | ast.Name) for each in (*arguments, *given.values())):
        # Arguments are evaluated in the order in which they are written, not in that of the parameters.
        pairs = [evaluate_once(c, each, place, keep=True) for each in (*arguments, *given.values())]
        before = [first for first, _ in pairs]
        arguments = [again for _, again in pairs[: len(arguments)]]
        given = dict(zip(given, [again for _, again in pairs[len(arguments) :]], strict=True))
    names = [name for name in types if name in given]
    last = max(list(types).index(name) for name in names) + 1 if names else 0
    missing = emit.make_name("_vmissing", place)
    placed = [*arguments, *(given.get(name, missing) for name in list(types)[len(arguments) : last])]
    value = _emit_symbol_call(c, symbol, placed, place)
    return emit.make_sequence([*before, value], place)


def split_compiled_call(value: ast.expr) -> tuple[list[ast.expr], ast.Call]:
    """Split a compiled call into the expressions evaluated before it and the call itself."""
    before: list[ast.expr] = []
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Tuple):
        *before, value = value.value.elts
    assert isinstance(value, ast.Call)
    return before, value


#: Operators for which a failed assertion reports both operands.
_REPORTED_OPERATORS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in"))


def _compile_assertion(c: Compiler, node: n.Expr, message: list[n.Expr], place: SourceLocation) -> ast.expr:
    """Compile an assertion; a failed comparison reports both operands, and operands of `and` are separate ones."""
    told = [c.cast(each, t.TEXT) for each in message]
    if type(node) is n.Binary and node.op == "and" and all(isinstance(each, ast.Constant) for each in told):
        both = [_compile_assertion(c, each, message, place) for each in (node.left, node.right)]
        return emit.make_sequence(both, place)
    if type(node) is not n.Binary or node.op not in _REPORTED_OPERATORS:
        return emit.make_global_call("_vb_assert", [c.compile_borrowed(node, None), *told], place)
    return emit.make_global_call(
        "_vb_assertThat", [emit.make_constant(node.op, place), *_compile_operands(c, node, place), *told], place
    )


def _compile_operands(c: Compiler, node: n.Binary, place: SourceLocation) -> list[ast.expr]:
    from antiphon.lang.codegen.postfix import compile_lenient

    if node.op == "in":
        return [
            c.expr(node.left),
            hide_extra_fields(c.expr(node.right), t.get_base_type(get_expression_type(node.right)), place),
        ]
    return [compile_lenient(c, node.left), compile_lenient(c, node.right)]


def _emit_symbol_call(c: Compiler, symbol: Symbol, arguments: list[ast.expr], place: SourceLocation) -> ast.expr:
    """Emit a call of the function that a symbol stands for."""
    if symbol.kind == "builtin":
        c.asked = c.asked or symbol.name == "note"
        return emit.make_global_call(f"_vb_{symbol.name}", arguments, place)
    function = c.read(symbol, place)
    if symbol.is_async:
        function = emit.make_call("wait_for_value", [function], place)
    if symbol.kind in ("tool", "import"):
        # Calls of tools and Python functions are effects, and so go through the runtime.
        return emit.make_runtime_call("call", [function, *arguments], place)
    return emit.make_value_call(function, arguments, place)


def compile_ask_model(c: Compiler, node: n.ModelCall) -> ast.expr:
    """Compile `do` and `vibe`."""
    return emit.make_runtime_call("ask", compile_ask_arguments(c, node), c.place(node))


def compile_ask_arguments(c: Compiler, node: n.ModelCall) -> list[ast.expr]:
    """Return the arguments of a model call: the number of its site, the prompt and the model."""
    c.asked = True
    place = c.place(node)
    by_default = node.says_model and node.model is None
    hidden = c.hidden.get(node.start, _get_private_fields(c, node))
    site = AskSite(node.kind, node.context, node.wanted, node.start, node.end, by_default, hidden)
    model = c.expr(node.model) if node.model is not None else emit.make_constant(None, place)
    return [emit.make_constant(c.code.add_site(site), place), compile_as_text(c, node.prompt), model]


def compile_ask_human(c: Compiler, node: n.AskHuman) -> ast.expr:
    """Compile `ask`."""
    c.asked = True
    place = c.place(node)
    site = AskSite("ask", "none", node.wanted, node.start, node.end)
    return emit.make_runtime_call(
        "ask_human", [emit.make_constant(c.code.add_site(site), place), compile_as_text(c, node.prompt)], place
    )


def compile_python_block(c: Compiler, node: n.PyBlock) -> ast.expr:
    """Compile `py(a) { … }`: arguments and result are converted to and from Python's own values."""
    place = c.place(node)
    name = c.code.add_python_block(c.source, node)
    arguments = [c.expr(each) for each in node.parameters]
    is_pure = emit.make_constant(node.is_pure, place)
    return emit.make_runtime_call("run_python", [emit.make_name(name, place), is_pure, *arguments], place)


def _get_private_fields(c: Compiler, node: n.Expr) -> tuple[str, ...]:
    """Return the private fields of an answer: all of it, if it goes into a private variable."""
    first, last = c.private_span
    return ("",) if first <= node.start < last else ()


def compile_async_for(c: Compiler, node: n.AsyncFor) -> ast.expr:
    """Compile `async for` to a runtime call that gathers the values its iterations yield."""
    place = c.place(node)
    body = compile_async_body(c, node)
    return emit.make_runtime_call("gather", [emit.make_name(body, place), compile_iterable(c, node.iterable)], place)
