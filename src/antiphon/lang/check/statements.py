"""Statements other than declarations. Each says whether nothing after it can be reached."""

from __future__ import annotations

from antiphon.lang.check.fitting import assignable, join
from antiphon.lang.check.function_values import give
from antiphon.lang.check.generic_methods import WITH_FUNCTION
from antiphon.lang.check.iteration import entry_types, is_private, item_type
from antiphon.lang.check.making import widened
from antiphon.lang.check.members import field_function
from antiphon.lang.check.methods import methods_of
from antiphon.lang.check.names import model_name
from antiphon.lang.check.narrowing import Known, meet, narrow, run, standing
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.operators import check_condition, warn_constant
from antiphon.lang.check.patterns import pattern_symbols
from antiphon.lang.check.state import Checker
from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import (
    BOOLEAN,
    ERROR,
    JSON,
    NULL,
    TEXT,
    Callable,
    Type,
    base,
    is_mutable,
    may_be_null,
    operand,
    plain,
)
from antiphon.lang.syntax.habits import CAUGHT
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    AsyncFor,
    BadStatement,
    Binary,
    Block,
    BoolLit,
    Break,
    Call,
    Continue,
    Expr,
    ExprStatement,
    For,
    Function,
    If,
    Index,
    Is,
    Lambda,
    LoopMode,
    Member,
    Name,
    Node,
    NullLit,
    NumberLit,
    ObjectLit,
    Range,
    Return,
    Slice,
    Test,
    TextLit,
    Throw,
    Try,
    Unary,
    While,
    Yield,
    children,
)

_LITERALS = (ArrayLit, BoolLit, NullLit, NumberLit, ObjectLit, TextLit)
_WITHOUT_EFFECT = frozenset((*_LITERALS, Binary, Is, Index, Lambda, Member, Name, Range, Slice, Unary))


def block(c: Checker, node: Block) -> bool:
    """`{ … }`."""
    return c.block(node)


def bad(_: Checker, __: BadStatement) -> bool:
    """What could not be read has its diagnostic already."""
    return False


def expression(c: Checker, node: ExprStatement) -> bool:
    """An expression on its own; one that only makes a value is probably not meant."""
    before = len(c.diagnostics)
    is_last = c.scope is c.module and c.module.statements[-1] is node
    wanted = c.frame.returns if is_last else None
    type_ = c.expr(node.value) if wanted is None else c.want(node.value, wanted, "returns")
    if isinstance(type_, Callable) and isinstance(node.value, Name) and not c.in_repl and len(c.diagnostics) == before:
        c.report(
            "V0204", f"`{node.value.name}` is named here, and not called", node, f"call it: `{node.value.name}(…)`"
        )
    # The last value of a program is what the program gives, if it is data.
    is_result = is_last and assignable(type_, JSON)
    is_unused = type(node.value) in _WITHOUT_EFFECT or _only_gives(node.value)
    if is_unused and not is_result and len(c.diagnostics) == before:
        c.warn("V0704", "nothing is done with this value", node.value, _unused_hint(c, node))
    return False


#: Methods that take a function, which is called only to choose or to put in order.
_CHOOSING = frozenset(("filter", "sortBy", "groupBy"))


def _only_gives(value: Expr) -> bool:
    """Whether it calls a method that changes nothing, and calls no function for what that does."""
    if not isinstance(value, Call) or not isinstance(value.callee, Member):
        return False
    if value.callee.name in WITH_FUNCTION - _CHOOSING:
        return False
    type_ = plain(value.callee.object.type or JSON)
    method = (methods_of(type_) or {}).get(value.callee.name)
    return method is not None and not method.mutates and field_function(type_, value.callee.name) is None


def _unused_hint(c: Checker, node: ExprStatement) -> str:
    value, around = node.value, c.frame.node
    if isinstance(value, Call) and isinstance(value.callee, Member) and isinstance(value.callee.object, Name):
        return f"it changes nothing: write `{value.callee.object.name} = {c.text_of(value)}`, or give it a name"
    if isinstance(value, Binary) and value.op == "==":
        return "to assign, write `=`"
    if isinstance(around, Function | Lambda) and c.scope.statements and c.scope.statements[-1] is node:
        return f"write `return {c.text_of(value)}` for what the function gives"
    return "leave it out, or give it a name: `const x = …`"


def if_(c: Checker, node: If) -> bool:
    """`if … else if … else`; a long chain is gone through without recursion."""
    ways: list[Known] = []
    impossible = False
    each: If | Block | None = node
    while isinstance(each, If):
        check_condition(c, each.condition, c.expr(each.condition, BOOLEAN))
        warn_constant(c, each.condition)
        outside = c.narrowed
        c.narrowed = dict(outside)
        narrow(c, each.condition, True)
        if not c.block(each.then):
            ways.append(standing(c, c.left))
        c.narrowed = dict(outside)
        impossible = narrow(c, each.condition, False)
        each = each.otherwise
    if each is not None and not c.block(each):
        ways.append(standing(c, c.left))
    elif each is None and not impossible:
        ways.append(standing(c, c.narrowed))
    if ways:
        meet(c, ways)
    return not ways


def for_(c: Checker, node: For) -> bool:
    """`for x in …`, `for {name} in …`, `for key, value in …`."""
    symbols = _loop_symbols(c, node, c.expr(node.iterable))
    run(c, node.body)
    c.frame.loops.append(False)
    c.block(node.body, symbols)
    c.frame.loops.pop()
    _check_mode(c, node.mode)
    return False


def _loop_symbols(c: Checker, node: For, type_: Type) -> list[Symbol]:
    """The variables of a loop: each item, what it is taken apart into, or each key and value."""
    private, since = is_private(node.iterable), node.body.start
    if node.pattern is not None:
        item = item_type(c, node.iterable, type_)
        symbols = pattern_symbols(c, node.pattern, item, node.iterable, "loop", since, private)
    elif node.value is not None:
        key, value = entry_types(c, node.iterable, type_)
        node.value.symbol = c.symbol(node.value.name, "loop", value, node.value.start, since, private=private)
        node.symbol = c.symbol(node.name, "loop", key, node.name_start, since, private=private)
        symbols = [node.symbol, node.value.symbol]
    else:
        item = item_type(c, node.iterable, type_)
        node.symbol = c.symbol(node.name, "loop", item, node.name_start, since, private=private)
        symbols = [node.symbol]
    for each in symbols:
        each.until, each.is_global = node.body.end, False
    return symbols


def while_(c: Checker, node: While) -> bool:
    """`while …`; one that is always true and has no `break` is never left."""
    before = c.narrowed
    run(c, node)
    c.narrowed = dict(before)
    check_condition(c, node.condition, c.expr(node.condition, BOOLEAN))
    warn_constant(c, node.condition, unless=True)
    narrow(c, node.condition, True)
    c.frame.loops.append(False)
    c.block(node.body)
    left = c.frame.loops.pop()
    c.narrowed = dict(before)
    if not left:
        narrow(c, node.condition, False)
    _check_mode(c, node.mode)
    return isinstance(node.condition, BoolLit) and node.condition.value and not left


def leave(c: Checker, node: Break | Continue) -> bool:
    """`break`, `continue`."""
    word = "break" if isinstance(node, Break) else "continue"
    loops = c.frame.loops
    if loops:
        loops[-1] = loops[-1] or word == "break"
    elif c.frame.is_async_for:
        if isinstance(node, Break):
            _out_of_async_for(c, node, word)
    else:
        c.report(
            "V0503", f"`{word}` stands outside a loop", node, "leave it out; `return` ends a function or the program"
        )
    return True


def return_(c: Checker, node: Return) -> bool:
    """`return value`."""
    wanted = c.frame.returns
    if c.frame.is_async_for:
        _out_of_async_for(c, node, "return")
        wanted = None
    node.scalar = wanted is not None and not is_mutable(wanted)
    if wanted is None and isinstance(c.frame.node, Lambda):
        give(c, node.value)
    elif node.value is None:
        if wanted is not None and wanted != JSON and not may_be_null(wanted):
            c.report("V0502", f"{c.frame.title} must return `{shown(wanted)}`", node, "write the value after `return`")
    elif wanted is None:
        c.expr(node.value)
    elif isinstance(c.frame.node, Lambda):
        c.want(node.value, wanted, "")
    else:
        c.want(node.value, wanted, f"{c.frame.node.name}()" if c.frame.node is not None else "returns")
    return True


def yield_(c: Checker, node: Yield) -> bool:
    """`yield value`."""
    frame = c.frame
    if not frame.is_async_for:
        c.expr(node.value)
        hint = "push into an array, and return that; or write `const all = async for x in xs { yield … }`"
        c.report("V0504", "`yield` stands outside an `async for`", node, hint)
        return False
    if frame.wanted is not None:
        c.want(node.value, frame.wanted, "")
        frame.yields = frame.wanted
    else:
        type_ = c.expr(node.value)
        type_ = widened(node.value, plain(type_)) if not isinstance(node.value, NullLit) else NULL
        node.value.type = node.value.type or type_
        frame.yields = type_ if frame.yields is None else join(frame.yields, type_)
    return False


def throw(c: Checker, node: Throw) -> bool:
    """`throw value`."""
    type_ = c.expr(node.value)
    if not assignable(type_, JSON):
        c.report("V0301", f"only data can be thrown, found `{general(type_)}`", node.value)
    return True


def try_(c: Checker, node: Try) -> bool:
    """`try { … } catch e { … } finally { … }`."""
    ends = c.block(node.body)
    if node.handler is not None:
        ends = _handler(c, node, node.handler) and ends
    if node.last is not None:
        _check_last(c, node.last)
        ends = c.block(node.last) or ends
    return ends


def _handler(c: Checker, node: Try, handler: Block) -> bool:
    if node.name is None:
        return c.block(handler)
    symbol = node.symbol = c.symbol(node.name, "caught", ERROR, node.name_start, handler.start)
    symbol.until, symbol.is_global = handler.end, False
    ends = c.block(handler, (symbol,))
    if not symbol.used and node.name.endswith(("Error", "Exception")):
        message = f"`{node.name}` names every error that is caught here, and is no kind of error"
        c.warn("V0702", message, symbol, CAUGHT)
    return ends


def _check_last(c: Checker, block: Block) -> None:
    """What leaves a `finally` would make whatever was thrown or returned disappear."""
    todo: list[tuple[Node, bool]] = [(block, False)]
    while todo:
        node, in_loop = todo.pop()
        if isinstance(node, Return) or (isinstance(node, Break | Continue) and not in_loop):
            word = type(node).__name__.lower()
            hint = "write it after the statement"
            c.report("V0530", f"`{word}` would leave a `finally`, and with it what was thrown or returned", node, hint)
        elif not isinstance(node, Function | AsyncFor):
            todo += [(each, in_loop or isinstance(node, For | While)) for each in children(node)]


def test(c: Checker, node: Test) -> bool:
    """`test "…" { … }`."""
    if c.scope is not c.module or c.frame.node is not None:
        c.report("V0507", "a test stands at the top level of a file", (node.start, node.start + 4), "move it there")
    outer, c.in_test = c.in_test, True
    loops, wanted = c.frame.loops, c.frame.returns
    c.frame.loops, c.frame.returns = [], None
    c.block(node.body)
    c.in_test, c.frame.loops, c.frame.returns = outer, loops, wanted
    return False


def _out_of_async_for(c: Checker, node: Break | Return, word: str) -> None:
    c.report(
        "V0506",
        f"`{word}` would leave an `async for`",
        node,
        "its rounds run at the same time; `continue` ends one of them, `yield` gives what it has found",
    )


def _check_mode(c: Checker, mode: LoopMode | None) -> None:
    if mode is None:
        return
    if mode.how is None and mode.model is not None and _is_text(c, mode.model):
        mode.how, mode.model = mode.model, None
    if mode.how is not None:
        _check_how(c, mode.how)
    if mode.model is not None:
        model_name(c, mode.model)
    if mode.kind == "compress":
        c.shows_variables = True


def _is_text(c: Checker, node: Name) -> bool:
    symbol = c.scope.find(node.name)
    return symbol is not None and type(symbol.type) is not Callable and base(symbol.type) == TEXT


def _check_how(c: Checker, node: Expr) -> None:
    kind = operand(c.expr(node))
    if kind not in (TEXT, JSON):
        c.report("V0314", f"how to compress is said in text, found `{general(kind)}`", node)
