"""Blocks, functions and lambdas.

In a block, functions and types are declared first, then the statements checked, then the bodies of functions.
"""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import DiagnosticLabel
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.assignability import is_assignable, join_or_widen
from antiphon.lang.typecheck.checker import STATEMENT_RULES, Checker
from antiphon.lang.typecheck.declarations import hoist_imported_types
from antiphon.lang.typecheck.invariance import widen_fresh
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.scopes import FunctionFrame
from antiphon.lang.typecheck.symbols import Symbol
from antiphon.lang.typecheck.type_printer import format_type_short

#: Declared in the whole block, so never unreachable; nor is a test, which runs separately.
_HOISTED_NODES: frozenset[type] = frozenset((n.Function, n.TypeDecl))
_ALWAYS_REACHABLE: frozenset[type] = _HOISTED_NODES | {n.Test}


def check_block(c: Checker, block: n.Block, symbols: Iterable[Symbol] = ()) -> bool:
    """Check a block in a scope of its own. Return True if its end is unreachable."""
    c.scopes.enter_scope(block, block.statements)
    for each in symbols:
        c.scopes.declare(each)
    outside = c.narrowing.begin_branch()
    ends = check_statements(c, block.statements)
    c.usage.check_unused(c.scopes.current.names)
    c.narrowing.end_block(outside)
    c.scopes.leave_block()
    return ends


def check_statements(c: Checker, statements: list[n.Statement]) -> bool:
    """Check the statements of the current scope. Return True if the code after them is unreachable."""
    if not _HOISTED_NODES.isdisjoint(map(type, statements)):
        _hoist_declarations(c, statements)
    ends = warned = False
    before: n.Statement | None = None
    for each in statements:
        if ends and not warned and type(each) not in _ALWAYS_REACHABLE:
            warned = True
            c.warn("V0701", "this code cannot be reached", each, _hint_unreachable(before))
        if STATEMENT_RULES[type(each)](c, each):
            ends, before = True, each
    for function in c.scopes.current.waiting:
        _check_function_body(c, function)
    c.scopes.current.waiting.clear()
    return ends


def _hint_unreachable(before: n.Statement | None) -> str:
    """Return the hint for unreachable code after a statement."""
    if isinstance(before, n.Return) and before.value is None:
        return "what is returned stands on the line of `return`"
    return "remove it, or what leaves the block before it"


def _hoist_declarations(c: Checker, statements: Iterable[n.Statement]) -> None:
    """Declare the functions, tools and types of a block, which may be used before their declaration."""
    if c.scopes.current is c.scopes.module:
        hoist_imported_types(c, statements)
    types: list[Symbol] = []
    for each in statements:
        if isinstance(each, n.TypeDecl):
            since = c.scopes.current.start
            symbol = each.symbol = c.scopes.make_symbol(each.name, "type", t.JSON, each.name_start, since, node=each)
            c.scopes.declare(symbol)
            types.append(symbol)
    c.types.resolve_declared(types)
    for each in statements:
        if isinstance(each, n.Function):
            _declare_function(c, each)


def _declare_function(c: Checker, node: n.Function) -> None:
    """Declare a function or tool by its signature."""
    types = tuple(c.types.resolve(each.declared) if each.declared is not None else t.JSON for each in node.parameters)
    required = next((i for i, each in enumerate(node.parameters) if each.default is not None), len(types))
    if node.returns is not None:
        returns = c.types.resolve(node.returns)
    else:
        returns = t.JSON if _returns_value(node.body.statements) else t.NULL
    type_ = t.CallableType(types, required, returns, names=tuple(each.name for each in node.parameters))
    kind = "tool" if node.is_tool else "function"
    symbol = node.symbol = c.scopes.make_symbol(
        node.name, kind, type_, node.name_start, c.scopes.current.start, node=node
    )
    c.scopes.declare(symbol)


def check_function(c: Checker, node: n.Function) -> bool:
    """Check the declaration of a function or tool; its body is checked at the end of the block."""
    c.scopes.current.waiting.append(node)
    if node.exported and node.symbol is not None:
        c.scopes.export(node, node.symbol)
    if node.is_tool:
        _check_tool(c, node)
    return False


def _check_function_body(c: Checker, node: n.Function) -> None:
    """Check the parameters and the body of a function."""
    returns = node.returns.type if node.returns is not None else None
    outside = c.narrowing.begin_function()
    c.scopes.enter_frame(FunctionFrame(node, returns=returns))
    symbols = _declare_parameters(c, node)
    ends = check_block(c, node.body, symbols)
    c.scopes.leave_frame()
    c.narrowing.restore(outside)
    if returns is not None and not ends and returns != t.JSON and not t.is_nullable(returns):
        where = get_name_span(node)
        hint = (
            f"end every way through it with `return …`; if there may be none, declare"
            f" `{format_type_short(returns)} | null`"
        )
        if last := _find_unreturned_value(node, returns):
            # Only the missing `return` is reported, not the unused value.
            c.withdraw("V0704", last.start, last.end)
            hint = f"write `return {c.quote(last)}`"
        c.report("V0501", f"`{node.name}` does not always return `{format_type_short(returns)}`", where, hint)


def _find_unreturned_value(node: n.Function, returns: t.Type) -> n.Expr | None:
    """Return the value that a function ends with but does not return, or None."""
    last = node.body.statements[-1] if node.body.statements else None
    if not isinstance(last, n.ExprStatement) or last.value.type is None:
        return None
    return last.value if is_assignable(last.value.type, returns) and last.value.type is not t.NULL else None


def _declare_parameters(c: Checker, node: n.Function) -> list[Symbol]:
    symbols: list[Symbol] = []
    first: dict[str, Symbol] = {}
    optional: n.Parameter | None = None
    for each in node.parameters:
        type_ = each.declared.type if each.declared is not None and each.declared.type is not None else t.JSON
        if each.default is not None:
            optional = each
            _check_parameter_default(c, each, type_, first)
        elif optional is not None and each.name not in first:
            message = f"`{each.name}` must be given, and stands after `{optional.name}`, which need not"
            c.report("V0415", message, get_name_span(each), "put it first, or give it a default")
        symbol = each.symbol = c.scopes.make_local(
            each.name, "parameter", type_, each.start, node.body, each.is_private
        )
        if each.name in first:
            where = (DiagnosticLabel(first[each.name].start, first[each.name].end, "first here"),)
            c.report("V0414", f"there are two parameters `{each.name}`", get_name_span(each), labels=where)
            continue
        first[each.name] = symbol
        symbols.append(symbol)
    return symbols


def _check_parameter_default(c: Checker, node: n.Parameter, type_: t.Type, before: dict[str, Symbol]) -> None:
    """Check the default of a parameter, which may use the parameters before it."""
    assert node.default is not None
    c.scopes.enter_scope(node, [], before)
    c.check_value(node.default, type_, node.name)
    c.scopes.leave_scope()


def _has_docstring(body: n.Block) -> bool:
    """Return True if a function begins with a text, as a Python docstring."""
    first = body.statements[0] if body.statements else None
    return isinstance(first, n.ExprStatement) and isinstance(first.value, n.TextLit)


def _check_tool(c: Checker, node: n.Function) -> None:
    where = get_name_span(node)
    if not (node.description or node.doc).strip():
        hint = 'write `@description "…"` before its `{`, or a comment above it'
        if _has_docstring(node.body):
            hint = 'write it before the `{`, as `@description "…"`'
            node.body.statements[0] = n.BadStatement(node.body.start, node.body.start)
        message = f"the tool `{node.name}` has no description: a model would not know what it does"
        c.report("V0412", message, where, hint)
    if node.returns is not None and node.returns.type is not None and t.has_function(node.returns.type):
        message = f"a model cannot be given a `{format_type_short(node.returns.type)}`; what tools return is data"
        c.report("V0413", message, node.returns, "make it a `function`, which only the program calls")
    for each in node.parameters:
        if each.declared is None:
            hint = f'write `{each.name}: text "what it is"`, or another type'
            c.report("V0413", f"the parameter `{each.name}` of a tool needs a type", get_name_span(each), hint)
        elif each.declared.type is not None and not is_assignable(each.declared.type, t.JSON):
            message = f"a model cannot give a `{format_type_short(each.declared.type)}`; parameters of tools are data"
            c.report("V0413", message, each.declared, "take a `text`, or make it a `function`")


def _returns_value(statements: list[n.Statement]) -> bool:
    """Return True if a function contains a `return` with a value."""
    todo = [statements]
    while todo:
        for each in todo.pop():
            if isinstance(each, n.Return):
                if each.value is not None:
                    return True
            elif isinstance(each, n.Block):
                todo.append(each.statements)
            elif isinstance(each, n.For | n.While):
                todo.append(each.body.statements)
            elif isinstance(each, n.Try):
                blocks = (each.body, each.handler, each.last)
                todo += [block.statements for block in blocks if block is not None]
            elif isinstance(each, n.MatchStatement):
                todo += [arm.body.statements for arm in each.arms if isinstance(arm.body, n.Block)]
            elif isinstance(each, n.If):
                branch: n.If | n.Block | None = each
                while isinstance(branch, n.If):
                    todo.append(branch.then.statements)
                    branch = branch.otherwise
                if branch is not None:
                    todo.append(branch.statements)
    return False


def infer_lambda(c: Checker, node: n.Lambda, wanted: t.Type | None) -> t.Type:
    """Infer the type of `(a, b) => …`; an expected type determines the parameters."""
    goal = _find_wanted_callable(wanted)
    if goal is not None and len(goal.parameters) != len(node.parameters):
        report_wrong_arity(c, node, len(goal.parameters))
        goal = None
    if goal is None:
        found = check_lambda(c, node, (), None)
        return wanted if wanted is not None and _find_wanted_callable(wanted) is not None else found
    return check_lambda(c, node, goal.parameters, goal.returns)


def check_lambda(
    c: Checker,
    node: n.Lambda,
    parameters: tuple[t.Type, ...],
    returns: t.Type | None,
    *,
    now: bool = False,
    private: bool = False,
) -> t.CallableType:
    """Check a lambda and return its type; parameters without a declared type have the types in `parameters`.

    `now` means that it is called immediately and not stored; `private`, that its arguments are private.
    """
    if now:
        c.narrowing.invalidate_by_node(node)
    outside = c.narrowing.begin_branch() if now else c.narrowing.begin_function(is_lambda=True)
    frame = FunctionFrame(node, returns=returns, is_called_immediately=now)
    c.scopes.enter_frame(frame)
    symbols = _declare_lambda_parameters(c, node, parameters, private)
    if isinstance(node.body, n.Block):
        ends = check_block(c, node.body, {each.name: each for each in symbols}.values())
    else:
        c.scopes.enter_scope(node.body, [], {each.name: each for each in symbols})
        if c.scopes.frame.returns is None:
            infer_returned_value(c, node.body)
        else:
            c.check_value(node.body, c.scopes.frame.returns, "")
        c.scopes.leave_scope()
        ends = True
    c.scopes.leave_frame()
    c.narrowing.restore(outside)
    if returns is None:
        returns = frame.inferred_returns or t.NULL
        if not ends and returns != t.JSON:
            returns = t.make_nullable(returns)
        if isinstance(node.body, n.Block) and t.is_mutable(returns):
            c.aliases.record_combined(node)
    elif not ends and returns != t.JSON and not t.is_nullable(returns):
        hint = "end every way through it with `return …`"
        c.report("V0501", f"the function does not always return `{format_type_short(returns)}`", node, hint)
    return t.CallableType(tuple(each.type for each in symbols), len(symbols), returns)


def infer_returned_value(c: Checker, node: n.Expr | None) -> None:
    """Add a returned value to the inferred return type of the current lambda."""
    type_ = c.infer(node) if node is not None else t.NULL
    type_ = widen_fresh(node, t.strip_ai_result(type_)) if node is not None and type_ is not t.NULL else t.NULL
    c.scopes.frame.inferred_returns = (
        type_ if c.scopes.frame.inferred_returns is None else join_or_widen(c.scopes.frame.inferred_returns, type_)
    )


def report_wrong_arity(c: Checker, node: n.Lambda, wanted: int) -> None:
    """Report a lambda with another number of parameters than it is called with."""
    names = ", ".join("abcdefgh"[:wanted])
    hint = f"write `{names} => …`" if wanted == 1 else f"write `({names}) => …`; a name for one you do not need is `_`"
    has = len(node.parameters)
    message = f"this function is called with {wanted or 'no'} argument{'s' * (wanted != 1)}, and takes {has or 'none'}"
    c.report("V0341", message, (node.start, node.body.start), hint)


def _find_wanted_callable(wanted: t.Type | None) -> t.CallableType | None:
    """Return the only function type among the expected options, or None."""
    if wanted is None:
        return None
    fitting = [each for each in t.union_options(wanted) if isinstance(each, t.CallableType) and not each.is_unchecked]
    return fitting[0] if len(fitting) == 1 else None


def _declare_lambda_parameters(c: Checker, node: n.Lambda, types: tuple[t.Type, ...], private: bool) -> list[Symbol]:
    symbols: list[Symbol] = []
    for i, each in enumerate(node.parameters):
        type_ = types[i] if i < len(types) else t.JSON
        type_ = c.types.resolve(each.declared) if each.declared is not None else type_
        symbol = each.symbol = c.scopes.make_local(each.name, "parameter", type_, each.start, node.body, private)
        first = next((other for other in symbols if other.name == each.name), None)
        if first is not None and each.name != "_":
            where = (DiagnosticLabel(first.start, first.end, "first here"),)
            c.report("V0414", f"there are two parameters `{each.name}`", get_name_span(each), labels=where)
        symbols.append(symbol)
    return symbols
