"""Reading statements of other languages: each is told once, and read as ours where it says the same."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.block_parser import STARTS, read_loop_body, read_statement, skip_indented
from antiphon.lang.syntax.cursor import Cursor, Unreadable
from antiphon.lang.syntax.declaration_parser import read_type_declaration
from antiphon.lang.syntax.expression_parser import read_expression
from antiphon.lang.syntax.function_parser import read_function
from antiphon.lang.syntax.habit_expressions import OPERANDS, with_parameters
from antiphon.lang.syntax.habits import CAUGHT, FOR_PYTHON, STATEMENTS, TYPES
from antiphon.lang.syntax.tokens import RESERVED
from antiphon.lang.syntax.variable_parser import read_variable

_CALLED = frozenset(("print", "assert", "len", "note", "sleep"))
_ALL_ERRORS = "`catch` is for all errors, and has a name for them alone"
_JOINING = frozenset(("in", "is", "and", "or", "not"))
_WITH_BLOCK = frozenset(("switch", "with", "unless", "until", "repeat", "foreach", "ts", "typescript", "js"))


def begins_foreign(c: Cursor, at: int) -> bool:
    """Whether the word there begins a statement of another language, and is no name."""
    word, after = c.values[at], c.kinds[at + 1]
    if word not in STATEMENTS or at + 1 in c.fresh:
        return False
    if after == "(":
        return word in _WITH_BLOCK and c.partner(at + 1) > 0 and c.kinds[c.partner(at + 1) + 1] in ("{", ":")
    if after == ":":
        return word == "default"
    return after in OPERANDS or after == "{" or (after in RESERVED and after not in _JOINING)


def read_foreign_statement(c: Cursor, exported: bool = False, begin: int = -1) -> n.Statement:
    """A statement of another language, whose word stands here."""
    at = c.at
    word, start = c.values[at], c.starts[at] if begin < 0 else begin
    hint, way = STATEMENTS[word]
    if word == "from":
        hint = _imported(c, at) or hint
    hint = with_parameters(c, at, hint)
    c.report("V0110", f"there is no `{word}` here" if word not in _CALLED else f"`{word}` is a function", at, hint)
    if way == "skip" or not _fits(c, way):
        return _skip(c, at)
    if way == "let":
        return read_variable(c, start, exported=exported)
    if way == "function":
        return read_function(c, start, False, exported)
    if way == "type":
        return read_type_declaration(c, start, exported)
    if way == "call":
        return _read_call(c, word)
    if way == "for":
        return STARTS["for"](c)
    c.at += 1
    if way == "throw":
        value = read_expression(c)
        return n.Throw(start, value.end, n.BadExpr(value.start, value.end))
    c.deepen(at)
    statement = read_statement(c)
    c.depth -= 1
    return statement


def _imported(c: Cursor, at: int) -> str:
    """What to write for `from module import a, b`, which stands there."""
    end = next(i for i in range(at + 1, len(c.kinds)) if i in c.fresh or c.kinds[i] == "import")
    module = c.text[c.starts[at + 1] : c.ends[end - 1]]
    if c.kinds[end] != "import" or not module.replace(".", "").isidentifier():
        return ""
    last = next(i for i in range(end + 1, len(c.kinds)) if i in c.fresh or c.kinds[i] in (";", "end"))
    names = c.text[c.starts[end + 1] : c.ends[last - 1]].strip("()")
    written = f'`import {{ {names} }} from "py:{module}"`'
    if not names.replace(",", "").replace(" ", "").isidentifier():
        return FOR_PYTHON.get(module, "")
    return f"{FOR_PYTHON[module]}; of Python it is {written}" if module in FOR_PYTHON else f"write {written}"


def begins_typed(c: Cursor, at: int) -> bool:
    """Whether `String s = …` or `List<int> xs = …` begins there: a type, and then the name of a variable."""
    if c.values[at].lower() not in TYPES or c.values[at].islower() or at + 1 in c.fresh:
        return False
    name = at + 1
    if c.kinds[name] == "<":
        while c.kinds[name] not in (">", "end", "=", ";") and name not in c.fresh:
            name += 1
        name += 1
    return c.kinds[name] == "name" and c.kinds[name + 1] == "=" and name not in c.fresh


def read_typed(c: Cursor) -> n.Statement:
    """A variable whose type stands before its name."""
    at = c.at
    while c.kinds[c.at + 2] != "=" or c.kinds[c.at + 1] != "name":
        c.at += 1
    name = c.values[c.at + 1]
    c.report("V0109", f"there is no `{c.values[at]}` before a name here", at, f"write `let {name} = …`")
    return read_variable(c, c.starts[at])


def _fits(c: Cursor, way: str) -> bool:
    at = c.at
    if way == "type":
        return c.kinds[at + 1] == "name" and c.kinds[at + 2] == "{"
    if way == "function":
        return c.kinds[at + 1] == "name" and c.kinds[at + 2] == "("
    return way != "let" or c.kinds[at + 1] in ("name", "{", "[")


def _read_call(c: Cursor, word: str) -> n.Statement:
    at = c.at
    c.at = at + 1
    arguments = [read_expression(c)]
    while c.kinds[c.at] == ",":
        c.at += 1
        arguments.append(read_expression(c))
    start, end = c.starts[at], c.ends[c.at - 1]
    name = n.Name(start, c.ends[at], word if word in _CALLED else "print")
    return n.ExprStatement(start, end, n.Call(start, end, name, arguments, []))


def _skip(c: Cursor, first: int) -> n.BadStatement:
    c.at = first + 1
    skip_indented(c, first)
    return n.BadStatement(c.starts[first], max(c.ends[c.at - 1], c.starts[first]))


def read_for_head(c: Cursor) -> tuple[n.Name, n.Name | None, n.Expr | None, bool]:
    """What stands in the parentheses of `for (…)`: the names, what is gone through, and whether a `)` must follow."""
    opener = c.at
    closer = c.partner(opener)
    if closer < 0:
        c.unexpected("the name of each item", "write `for item in items { … }`")
    inside = range(opener + 1, closer)
    names = [i for i in inside if c.kinds[i] == "name" and c.values[i] not in ("var", "of", "int", "auto")][:2]
    if not names:
        c.unexpected("the name of each item", "write `for item in items { … }`")
    first = n.Name(c.starts[names[0]], c.ends[names[0]], c.values[names[0]])
    if any(c.kinds[i] == ";" for i in inside):
        hint = "write `for i in 3 { … }` (0, 1, 2), `for i in 1..3 { … }` (1, 2, 3), or `while`"
        c.report("V0109", "there is no `for (…; …; …)` here", opener, hint)
        c.at = closer + 1
        return first, None, n.BadExpr(c.starts[opener], c.ends[closer]), False
    c.report("V0109", "`for` has no parentheses here", opener, "write `for x in xs { … }`")
    if c.kinds[closer + 1] == "in":
        c.at = closer + 1
        second = n.Name(c.starts[names[-1]], c.ends[names[-1]], c.values[names[-1]]) if len(names) > 1 else None
        return first, second, None, False
    word = next((i for i in inside if c.kinds[i] == "in" or c.values[i] == "of"), -1)
    if word < 0:
        raise Unreadable
    c.at = word
    return first, None, None, True


def read_caught(c: Cursor, node: n.Try) -> None:
    """The name behind `catch`; kinds of errors, types and conditions are those of other languages."""
    first = c.at
    at = c.name("a name for the error", "write `catch error { … }`")
    while _has_block(c) and c.kinds[c.at] != "{" and not _ends_head(c):
        at = c.at if c.kinds[c.at] == "name" and c.values[c.at - 1] in ("as", c.values[first]) else at
        c.at += 1
    word = c.values[at]
    if c.at > first + 1:
        c.report("V0109", _ALL_ERRORS, first + 1, CAUGHT)
    node.name, node.name_start = word, c.starts[at]


def _has_block(c: Cursor) -> bool:
    """Whether a block begins on this line."""
    at = c.at
    while at not in c.fresh and c.kinds[at] not in ("{", "}", "end"):
        at += 1
    return c.kinds[at] == "{" and at not in c.fresh


def _ends_head(c: Cursor) -> bool:
    """Whether the `:` here begins a block, as Python writes it."""
    return c.kinds[c.at] == ":" and (c.at + 1 in c.fresh or c.kinds[c.at + 1] != "name")


def read_caught_in_parentheses(c: Cursor, node: n.Try) -> None:
    """`catch (e)`, as it is written elsewhere."""
    at = c.at
    closer = c.partner(at)
    c.report("V0109", "`catch` has no parentheses here", at, "write `catch error { … }`")
    names = [i for i in range(at + 1, closer) if c.kinds[i] == "name" and c.kinds[i - 1] != ":"]
    if names:
        node.name, node.name_start = c.values[names[-1]], c.starts[names[-1]]
    c.at = closer + 1 or at + 1


def read_except(c: Cursor, node: n.Try, is_told: bool) -> None:
    """`except Error as e:`, as it is written elsewhere; of several, the first counts."""
    at = c.at
    if node.handler is None and not is_told:
        c.report("V0110", f"there is no `{c.values[at]}` here", at, "write `catch error { … }`")
    while c.kinds[c.at] not in ("{", ":", "end") and (c.at not in c.fresh or c.at == at):
        c.at += 1
    name = c.at - 1
    if c.kinds[name] == "name" and name > at and (c.values[name - 1] in ("as", "=>") or c.values[name].islower()):
        node.name, node.name_start = c.values[name], c.starts[name]
    body = read_loop_body(c)
    node.handler = node.handler or body
