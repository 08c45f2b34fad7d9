"""Parsing of statements of other languages: each is reported, and parsed as its equivalent if there is one."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.expressions import OPERAND_STARTS, fill_block_parameters
from antiphon.lang.syntax.foreign_syntax.table import CATCH_HINT, FOREIGN_STATEMENTS, FOREIGN_TYPES, PYTHON_MODULE_HINTS
from antiphon.lang.syntax.parser.blocks import STATEMENT_PARSERS, parse_loop_body, parse_statement, skip_indented_block
from antiphon.lang.syntax.parser.cursor import Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.declarations import parse_type_declaration, parse_variable
from antiphon.lang.syntax.parser.expressions import parse_expression
from antiphon.lang.syntax.parser.functions import parse_function
from antiphon.lang.syntax.tokens import RESERVED_WORDS

_FUNCTION_WORDS = frozenset(("print", "assert", "len", "note", "sleep"))
_CATCHES_ALL_ERRORS = "`catch` is for all errors, and has a name for them alone"
_BINARY_WORDS = frozenset(("in", "is", "and", "or", "not"))
_BLOCK_WORDS = frozenset(("switch", "with", "unless", "until", "repeat", "foreach", "ts", "typescript", "js"))


def is_foreign_statement_start(c: Cursor, at: int) -> bool:
    """Return True if the word there begins a statement of another language, and is no name."""
    word, after = c.values[at], c.kinds[at + 1]
    if word not in FOREIGN_STATEMENTS or at + 1 in c.fresh:
        return False
    if after == "(":
        return (
            word in _BLOCK_WORDS
            and c.matching_bracket(at + 1) > 0
            and c.kinds[c.matching_bracket(at + 1) + 1] in ("{", ":")
        )
    if after == ":":
        return word == "default"
    return after in OPERAND_STARTS or after == "{" or (after in RESERVED_WORDS and after not in _BINARY_WORDS)


def parse_foreign_statement(c: Cursor, exported: bool = False, begin: int = -1) -> n.Statement:
    """Report and parse a statement of another language, whose first word is the current token."""
    at = c.at
    word, start = c.values[at], c.starts[at] if begin < 0 else begin
    hint, way = FOREIGN_STATEMENTS[word]
    if word == "from":
        hint = _hint_python_import(c, at) or hint
    hint = fill_block_parameters(c, at, hint)
    c.report(
        "V0110", f"there is no `{word}` here" if word not in _FUNCTION_WORDS else f"`{word}` is a function", at, hint
    )
    if way == "skip" or not _can_parse_as(c, way):
        return _skip_statement(c, at)
    if way == "let":
        return parse_variable(c, start, exported=exported)
    if way == "function":
        return parse_function(c, start, False, exported)
    if way == "type":
        return parse_type_declaration(c, start, exported)
    if way == "call":
        return _parse_call_without_parentheses(c, word)
    if way == "for":
        return STATEMENT_PARSERS["for"](c)
    c.at += 1
    if way == "throw":
        value = parse_expression(c)
        return n.Throw(start, value.end, n.BadExpr(value.start, value.end))
    c.enter_nesting(at)
    statement = parse_statement(c)
    c.depth -= 1
    return statement


def _hint_python_import(c: Cursor, at: int) -> str:
    """Return the hint for `from module import a, b`, which begins at `at`."""
    end = next(i for i in range(at + 1, len(c.kinds)) if i in c.fresh or c.kinds[i] == "import")
    module = c.text[c.starts[at + 1] : c.ends[end - 1]]
    if c.kinds[end] != "import" or not module.replace(".", "").isidentifier():
        return ""
    last = next(i for i in range(end + 1, len(c.kinds)) if i in c.fresh or c.kinds[i] in (";", "end"))
    names = c.text[c.starts[end + 1] : c.ends[last - 1]].strip("()")
    written = f'`import {{ {names} }} from "py:{module}"`'
    if not names.replace(",", "").replace(" ", "").isidentifier():
        return PYTHON_MODULE_HINTS.get(module, "")
    if module in PYTHON_MODULE_HINTS:
        return f"{PYTHON_MODULE_HINTS[module]}; of Python it is {written}"
    return f"write {written}"


def is_typed_variable_start(c: Cursor, at: int) -> bool:
    """Return True if `String s = …` or `List<int> xs = …` begins there: a type before the name of a variable."""
    if c.values[at].lower() not in FOREIGN_TYPES or c.values[at].islower() or at + 1 in c.fresh:
        return False
    name = at + 1
    if c.kinds[name] == "<":
        while c.kinds[name] not in (">", "end", "=", ";") and name not in c.fresh:
            name += 1
        name += 1
    return c.kinds[name] == "name" and c.kinds[name + 1] == "=" and name not in c.fresh


def parse_typed_variable(c: Cursor) -> n.Statement:
    """Report and parse a variable whose type is before its name."""
    at = c.at
    while c.kinds[c.at + 2] != "=" or c.kinds[c.at + 1] != "name":
        c.at += 1
    name = c.values[c.at + 1]
    c.report("V0109", f"there is no `{c.values[at]}` before a name here", at, f"write `let {name} = …`")
    return parse_variable(c, c.starts[at])


def _can_parse_as(c: Cursor, way: str) -> bool:
    at = c.at
    if way == "type":
        return c.kinds[at + 1] == "name" and c.kinds[at + 2] == "{"
    if way == "function":
        return c.kinds[at + 1] == "name" and c.kinds[at + 2] == "("
    return way != "let" or c.kinds[at + 1] in ("name", "{", "[")


def _parse_call_without_parentheses(c: Cursor, word: str) -> n.Statement:
    at = c.at
    c.at = at + 1
    arguments = [parse_expression(c)]
    while c.kinds[c.at] == ",":
        c.at += 1
        arguments.append(parse_expression(c))
    start, end = c.starts[at], c.ends[c.at - 1]
    name = n.Name(start, c.ends[at], word if word in _FUNCTION_WORDS else "print")
    return n.ExprStatement(start, end, n.Call(start, end, name, arguments, []))


def _skip_statement(c: Cursor, first: int) -> n.BadStatement:
    c.at = first + 1
    skip_indented_block(c, first)
    return n.BadStatement(c.starts[first], max(c.ends[c.at - 1], c.starts[first]))


def parse_foreign_for_head(c: Cursor) -> tuple[n.Name, n.Name | None, n.Expr | None, bool]:
    """Report and parse the head of `for (…)`.

    Return the two names, the iterable if it is known, and whether a `)` must follow.
    """
    opener = c.at
    closer = c.matching_bracket(opener)
    if closer < 0:
        c.fail_unexpected("the name of each item", "write `for item in items { … }`")
    inside = range(opener + 1, closer)
    names = [i for i in inside if c.kinds[i] == "name" and c.values[i] not in ("var", "of", "int", "auto")][:2]
    if not names:
        c.fail_unexpected("the name of each item", "write `for item in items { … }`")
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
        raise SyntaxErrorReported
    c.at = word
    return first, None, None, True


def parse_caught_name(c: Cursor, node: n.Try) -> None:
    """Parse the name after `catch`; report error types and conditions, which other languages write there."""
    first = c.at
    at = c.name("a name for the error", "write `catch error { … }`")
    while _has_block(c) and c.kinds[c.at] != "{" and not _is_python_block_start(c):
        at = c.at if c.kinds[c.at] == "name" and c.values[c.at - 1] in ("as", c.values[first]) else at
        c.at += 1
    word = c.values[at]
    if c.at > first + 1:
        c.report("V0109", _CATCHES_ALL_ERRORS, first + 1, CATCH_HINT)
    node.name, node.name_start = word, c.starts[at]


def _has_block(c: Cursor) -> bool:
    """Return True if a block begins on this line."""
    at = c.at
    while at not in c.fresh and c.kinds[at] not in ("{", "}", "end"):
        at += 1
    return c.kinds[at] == "{" and at not in c.fresh


def _is_python_block_start(c: Cursor) -> bool:
    """Return True if the `:` here begins a block, as in Python."""
    return c.kinds[c.at] == ":" and (c.at + 1 in c.fresh or c.kinds[c.at + 1] != "name")


def parse_caught_in_parentheses(c: Cursor, node: n.Try) -> None:
    """Report and parse `catch (e)`."""
    at = c.at
    closer = c.matching_bracket(at)
    c.report("V0109", "`catch` has no parentheses here", at, "write `catch error { … }`")
    names = [i for i in range(at + 1, closer) if c.kinds[i] == "name" and c.kinds[i - 1] != ":"]
    if names:
        node.name, node.name_start = c.values[names[-1]], c.starts[names[-1]]
    c.at = closer + 1 or at + 1


def parse_except_clause(c: Cursor, node: n.Try, is_told: bool) -> None:
    """Report and parse `except Error as e:`; only the first of several is kept."""
    at = c.at
    if node.handler is None and not is_told:
        c.report("V0110", f"there is no `{c.values[at]}` here", at, "write `catch error { … }`")
    while c.kinds[c.at] not in ("{", ":", "end") and (c.at not in c.fresh or c.at == at):
        c.at += 1
    name = c.at - 1
    if c.kinds[name] == "name" and name > at and (c.values[name - 1] in ("as", "=>") or c.values[name].islower()):
        node.name, node.name_start = c.values[name], c.starts[name]
    body = parse_loop_body(c)
    node.handler = node.handler or body
