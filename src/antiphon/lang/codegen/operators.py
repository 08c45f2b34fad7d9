"""Compile operators: Python's own where types or a run-time test allow it, else calls of the runtime."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.arithmetic import (
    compile_division,
    compile_float_quotient,
    compile_modulo,
    compile_power,
    evaluate_both_once,
    is_nonnegative_integer,
)
from antiphon.lang.codegen.compiler import (
    Compiler,
    ExprRule,
    get_expression_type,
    has_plain_type,
    is_plain_type,
    make_class_test,
    make_not_null_test,
    needs_json_copy,
    unwrap_if_answer,
)
from antiphon.lang.codegen.literals import compile_as_text
from antiphon.lang.codegen.loops import compile_range_iterable
from antiphon.lang.codegen.members import hide_extra_fields
from antiphon.lang.codegen.postfix import compile_lenient
from antiphon.lang.codegen.python_ast import SourceLocation, set_location
from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.invariance import is_fresh_value
from antiphon.lang.typecheck.symbols import Symbol

_PYTHON_OPERATORS = {"+": ast.Add(), "-": ast.Sub(), "*": ast.Mult()}
_PYTHON_COMPARISONS = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
_RUNTIME_FUNCTIONS = {
    "+": "add_values",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "modulo",
    "**": "power",
    "<": "is_less",
    "<=": "is_less_or_equal",
    ">": "is_greater",
    ">=": "is_greater_or_equal",
}
_IS, _IS_NOT, _IN = ast.Is(), ast.IsNot(), ast.In()


def compile_unary(c: Compiler, node: n.Unary) -> ast.expr:
    """Compile `-x` and `not x`."""
    place = c.place(node)
    if node.op == "not":
        return emit.make_not(compile_condition(c, node.operand), place)
    value = c.expr(node.operand)
    if t.get_base_type(get_expression_type(node.operand)) == t.NUMBER:
        return set_location(ast.UnaryOp(ast.USub(), value), place)
    return emit.make_call("negate", [value], place)


def compile_binary_chain(c: Compiler, node: n.Binary) -> ast.expr:
    """Compile a chain of binary operations of any length, from the left."""
    spine: list[n.Binary] = [node]
    while type(spine[-1].left) is n.Binary:
        spine.append(spine[-1].left)
    value: ast.expr | None = None
    for each, outer in zip(reversed(spine), [*reversed(spine[:-1]), None], strict=True):
        if each.op == "??" and outer is not None and outer.op == "??":
            value = _compile_coalescing(c, each, value, c.place(each), compile_lenient)
        else:
            value = compile_operation(c, each, value)
    assert value is not None
    return value


def compile_operation(c: Compiler, node: n.Binary, left: ast.expr | None) -> ast.expr:
    """Compile one binary operation; `left` is passed if it is compiled already."""
    op, place = node.op, c.place(node)
    if op in ("and", "or"):
        return _compile_logical(c, node, left, place)
    if op == "??":
        return _compile_coalescing(c, node, left, place)
    if op in ("==", "!="):
        return _compile_equality(c, node, left, place)
    if op == "in":
        return _compile_containment(c, node, c.expr(node.left) if left is None else left, place)
    left = c.expr(node.left) if left is None else left
    one, two = t.get_base_type(get_expression_type(node.left)), t.get_base_type(get_expression_type(node.right))
    if op == "%" and one in (t.NUMBER, t.JSON) and two in (t.NUMBER, t.JSON):
        return compile_modulo(c, node, left, place)
    if op in ("/", "**") and one == two == t.NUMBER:
        return (compile_division if op == "/" else compile_power)(c, node, left, place)
    if op == "+" and t.TEXT in (one, two) and one != two:
        left = left if one == t.TEXT else emit.make_call("to_text", [left], place)
        right = c.expr(node.right) if two == t.TEXT else compile_as_text(c, node.right)
        return emit.make_binary(left, _PYTHON_OPERATORS["+"], right, place)
    right = (compile_float_quotient(c, node.right, node.left) if op in _PYTHON_OPERATORS else None) or c.expr(
        node.right
    )
    if op == "+" and (t.JSON in (one, two) or (isinstance(node.type, t.Array) and node.type.item == t.JSON)):
        left, right = (
            _copy_typed_items(each, value, place) for each, value in ((node.left, left), (node.right, right))
        )
    if op == "+" and _has_array_type(node.left) and _has_array_type(node.right):
        return emit.make_binary(left, _PYTHON_OPERATORS[op], right, place)
    if one == two and op in _PYTHON_OPERATORS and (one == t.NUMBER or (op == "+" and one == t.TEXT)):
        return emit.make_binary(left, _PYTHON_OPERATORS[op], right, place)
    if one == two and one in (t.NUMBER, t.TEXT) and op in _PYTHON_COMPARISONS:
        return emit.make_comparison(left, _PYTHON_COMPARISONS[op], right, place)
    return _compile_guarded(c, node, left, right, place)


def _has_array_type(node: n.Expr) -> bool:
    return isinstance(get_expression_type(node), t.Array)


def _copy_typed_items(node: n.Expr, value: ast.expr, place: SourceLocation) -> ast.expr:
    kind = t.get_base_type(get_expression_type(node))
    typed = isinstance(kind, t.Array) and kind.item != t.JSON and t.is_mutable(kind.item) and not is_fresh_value(node)
    return emit.make_call("copy_value", [value], place) if typed else value


def _compile_guarded(c: Compiler, node: n.Binary, left: ast.expr, right: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile an operation on operands of unknown type: Python's own for integers, else the runtime's."""
    op = node.op
    direct = _PYTHON_OPERATORS.get(op) or _PYTHON_COMPARISONS.get(op)
    known = {t.get_base_type(get_expression_type(node.left)), t.get_base_type(get_expression_type(node.right))} - {
        t.JSON,
        t.NUMBER,
    }
    if direct is None or known:
        return emit.make_call(_RUNTIME_FUNCTIONS[op], [left, right], place)
    test, left, right = _make_both_integers_test(c, left, right, place)
    if isinstance(direct, ast.operator):
        quick = emit.make_binary(left, direct, right, place)
    else:
        quick = emit.make_comparison(left, direct, right, place)
    return emit.make_conditional(test, quick, emit.make_call(_RUNTIME_FUNCTIONS[op], [left, right], place), place)


def _make_both_integers_test(
    c: Compiler, left: ast.expr, right: ast.expr, place: SourceLocation
) -> tuple[ast.expr, ast.expr, ast.expr]:
    """Return a test that both operands are integers, which evaluates each once, and the operands read again."""
    first, second, left, right = evaluate_both_once(c, left, right, place)
    if isinstance(right, ast.Constant):
        return emit.make_class_comparison(first, "int", place), left, right
    classes = [emit.make_attribute(each, "__class__", place) for each in (first, second)]
    test = ast.Compare(classes[0], [_IS, _IS], [classes[1], emit.make_name("_v_int", place)])
    return set_location(test, place), left, right


def record_counter(c: Compiler, symbol: Symbol, iterable: n.Expr) -> None:
    """Record a loop variable as an integer if it iterates over a range or a number."""
    if isinstance(iterable, n.Range) or t.get_base_type(get_expression_type(iterable)) == t.NUMBER:
        c.integer_variables.add(symbol)
        if not isinstance(iterable, n.Range) or is_nonnegative_integer(c, iterable.first):
            c.nonnegative_variables.add(symbol)


def _compile_logical(c: Compiler, node: n.Binary, left: ast.expr | None, place: SourceLocation) -> ast.expr:
    operator = ast.And() if node.op == "and" else ast.Or()
    first = compile_condition(c, node.left) if left is None else left
    if left is not None and not has_plain_type(node.left, t.BOOLEAN):
        first = emit.make_call("evaluate_condition", [left], c.place(node.left))
    if isinstance(first, ast.BoolOp) and type(first.op) is type(operator):
        # A long chain is one operation, so that the tree stays flat.
        first.values.append(compile_condition(c, node.right))
        return set_location(first, place)
    return set_location(ast.BoolOp(operator, [first, compile_condition(c, node.right)]), place)


def compile_condition(c: Compiler, node: n.Expr) -> ast.expr:
    """Compile a condition of `if`, `while`, `and`, `or` or `not`."""
    if has_plain_type(node, t.BOOLEAN):
        return c.expr(node)
    type_ = get_expression_type(node)
    is_boolean = type_ == t.JSON or isinstance(type_, t.AIResultType) or t.BOOLEAN in t.union_options(type_)
    function = "evaluate_condition" if is_boolean else "is_present"
    return emit.make_call(function, [compile_lenient(c, node)], c.place(node))


def _compile_coalescing(
    c: Compiler, node: n.Binary, left: ast.expr | None, place: SourceLocation, right: ExprRule = Compiler.expr
) -> ast.expr:
    left = compile_lenient(c, node.left) if left is None else left
    otherwise = _copy_into_json(node.right, right(c, node.right), node.type, place)
    unwrapped = unwrap_if_answer(node.left, left, place)
    if unwrapped is left and (quick := _compile_default_shortcut(c, node, left, otherwise, place)) is not None:
        return quick
    test, held = make_not_null_test(c, unwrapped, place)
    return emit.make_conditional(test, _copy_into_json(node.left, held, node.type, place), otherwise, place)


def _compile_default_shortcut(
    c: Compiler, node: n.Binary, left: ast.expr, otherwise: ast.expr, place: SourceLocation
) -> ast.expr | None:
    """Compile `map[key] ?? constant` and `a?.b ?? other` without an intermediate null; None for others."""
    if needs_json_copy(node.left, node.type):
        return None
    if isinstance(left, ast.Call) and isinstance(otherwise, ast.Constant) and _is_required_map_value(node.left):
        left.args.append(otherwise)
        return left
    tests: list[ast.expr] = []
    while isinstance(left, ast.IfExp) and isinstance(left.orelse, ast.Constant) and left.orelse.value is None:
        tests.append(left.test)
        left = left.body
    if not tests:
        return None
    if not _is_required_field(node.left):
        found, left = make_not_null_test(c, left, place)
        tests.append(found)
    test = tests[0] if len(tests) == 1 else set_location(ast.BoolOp(ast.And(), tests), place)
    return emit.make_conditional(test, left, otherwise, place)


def _is_required_map_value(node: n.Expr) -> bool:
    """Return True if a node reads a map whose values are never null: null then means a missing key."""
    if not isinstance(node, n.Index) or node.optional:
        return False
    type_ = get_expression_type(node.object)
    if not isinstance(type_, t.Map) or not has_plain_type(node.index, t.TEXT):
        return False
    return type_.value != t.JSON and not t.is_nullable(type_.value)


def _is_required_field(node: n.Expr) -> bool:
    """Return True if the field exists and is not null whenever its object is not null."""
    if not isinstance(node, n.Member) or not node.optional:
        return False
    kind = t.get_base_type(t.remove_null(get_expression_type(node.object)))
    field = kind.fields.get(node.name) if isinstance(kind, t.Object) else None
    return field is not None and field.type != t.JSON and not t.is_nullable(field.read)


def _copy_into_json(node: n.Expr, value: ast.expr, type_: t.Type | None, place: SourceLocation) -> ast.expr:
    """Return an operand that becomes part of the result, copied if the result is `json`."""
    return emit.make_call("copy_value", [value], place) if needs_json_copy(node, type_) else value


def _compile_equality(c: Compiler, node: n.Binary, left: ast.expr | None, place: SourceLocation) -> ast.expr:
    one, two = get_expression_type(node.left), get_expression_type(node.right)
    if t.NULL in (one, two):
        return _compile_null_test(c, node, left, place)
    left = c.expr(node.left) if left is None else left
    right = c.expr(node.right)
    if t.get_base_type(one) == t.get_base_type(two) and t.get_base_type(one) in (t.NUMBER, t.TEXT, t.BOOLEAN):
        return emit.make_comparison(left, _PYTHON_COMPARISONS[node.op], right, place)
    if isinstance(right, ast.Constant) and right.value.__class__ in (int, str):
        kind = "int" if right.value.__class__ is int else "str"
        test, left = make_class_test(c, left, kind, place)
        quick = emit.make_comparison(left, _PYTHON_COMPARISONS[node.op], right, place)
        helper = emit.make_call("is_equal", [left, right], place)
        slow = helper if node.op == "==" else emit.make_not(helper, place)
        return emit.make_conditional(test, quick, slow, place)
    same = emit.make_call("is_equal", [left, right], place)
    return same if node.op == "==" else emit.make_not(same, place)


def _compile_containment(c: Compiler, node: n.Binary, left: ast.expr, place: SourceLocation) -> ast.expr:
    """Compile `x in xs`: Python's own if it compares as the language does."""
    one, two = get_expression_type(node.left), get_expression_type(node.right)
    if isinstance(node.right, n.Range) and is_plain_type(one, t.NUMBER):
        return emit.make_comparison(left, _IN, compile_range_iterable(c, node.right), place)
    right = c.expr(node.right)
    kind = one if isinstance(one, t.AIResultType) else t.get_base_type(one)
    plain_items = isinstance(two, t.Array) and t.get_base_type(two.item) == kind and kind in (t.NUMBER, t.TEXT)
    if plain_items or (kind == t.TEXT and (is_plain_type(two, t.TEXT) or isinstance(two, t.Object | t.Map))):
        is_field = isinstance(left, ast.Constant) and isinstance(two, t.Object) and left.value in two.fields
        return emit.make_comparison(
            left, _IN, right if is_field else hide_extra_fields(right, t.get_base_type(two), place), place
        )
    return emit.make_call("contains_item", [left, hide_extra_fields(right, t.get_base_type(two), place)], place)


def _compile_null_test(c: Compiler, node: n.Binary, left: ast.expr | None, place: SourceLocation) -> ast.expr:
    other = node.right if get_expression_type(node.left) == t.NULL and type(node.left) is n.NullLit else node.left
    value = left if left is not None and other is node.left else compile_lenient(c, other)
    value = unwrap_if_answer(other, value, place)
    if isinstance(value, ast.Constant):
        # Python warns about `is` with a literal.
        return emit.make_constant((value.value is None) is (node.op == "=="), place)
    operator = _IS if node.op == "==" else _IS_NOT
    return emit.make_comparison(value, operator, emit.make_constant(None, place), place)


def compile_range(c: Compiler, node: n.Range) -> ast.expr:
    """Compile `a..b` as an array."""
    return emit.make_call("make_range_array", [c.expr(node.first), c.expr(node.last)], c.place(node))
