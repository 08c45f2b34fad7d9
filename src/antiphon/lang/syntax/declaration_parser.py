"""Reading declarations: variables, patterns, functions, tools, models, types and imports."""

from __future__ import annotations

import re
from bisect import bisect_left

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.block_parser import read_function_body
from antiphon.lang.syntax.cursor import Cursor, Unreadable
from antiphon.lang.syntax.expression_parser import read_expression
from antiphon.lang.syntax.habits import NAMED, TYPES
from antiphon.lang.syntax.tokens import WORDS
from antiphon.lang.syntax.type_parser import read_description, read_plain_text, read_type

_BETWEEN_LINES = re.compile(r"[ \t]*(?:\r\n|\r|\n)?[ \t]*")
#: What may follow the name of a variable or a parameter, and its type.
_AFTER_NAME = frozenset(("=", ":", ";", ",", ")", "{"))
_STARS = re.compile(r"^[ \t]*\*?[ \t]?", re.MULTILINE)


def read_variable(
    c: Cursor, start: int, private: bool = False, asynchronous: bool = False, exported: bool = False
) -> n.Statement:
    """`let` or `const`, whose word stands here."""
    is_const = c.kinds[c.at] == "const"
    c.at += 1
    if _takes_private(c) and not private:
        private = True
        c.at += 1
    if c.kinds[c.at] in ("{", "["):
        pattern = read_pattern(c)
        value = _read_pattern_value(c)
        return n.Destructure(start, c.ends[c.at - 1], is_const, pattern, value, private, asynchronous, exported)
    name = _read_own_name(c)
    _leave_question(c)
    declared = value = None
    depth = c.depth
    try:
        if _read_type_behind(c, name):
            declared = read_type(c)
        elif c.kinds[c.at] == ":":
            c.at += 1
            declared = read_type(c)
            _leave_question(c)
        if c.kinds[c.at] == "=" and c.at not in c.fresh:
            c.at += 1
            value = read_expression(c)
    except Unreadable:
        value = _unreadable_value(c, name, depth)
    end = c.ends[c.at - 1]
    starts = c.starts
    return n.Let(start, end, is_const, c.values[name], declared, value, private, asynchronous, exported, starts[name])


def _read_own_name(c: Cursor, what: str = "a name") -> int:
    """The name of a variable; a type or `mut` before it belongs to another language."""
    at = c.at
    if c.kinds[at + 1] == "name" and at + 1 not in c.fresh and c.kinds[at + 2] in _AFTER_NAME:
        word, right = c.values[at], TYPES.get(c.values[at].lower(), c.values[at])
        if word == "mut" or right != word or word in NAMED:
            named = c.values[at + 1] if word == "mut" else f"{c.values[at + 1]}: {right}"
            c.report("V0109", f"there is no `{word}` before a name here", at, f"write `{named}`")
            c.at += 1
    return c.name(what)


def _read_type_behind(c: Cursor, name: int) -> bool:
    """Whether a type follows the name without a `:`, as in Go."""
    at = c.at
    if c.kinds[at] != "name" or at in c.fresh or not (c.values[at] in NAMED or c.values[at].lower() in TYPES):
        return False
    right = TYPES.get(c.values[at].lower(), c.values[at])
    c.report("V0109", "a type stands behind a `:`", at, f"write `{c.values[name]}: {right}`")
    return True


def _takes_private(c: Cursor) -> bool:
    """Whether the word here says that what follows it is private, and is no name itself."""
    at = c.at
    follows = c.kinds[at + 1] in ("name", "{", "[") and at + 1 not in c.fresh
    return c.values[at] == "private" and c.kinds[at] == "name" and follows


def _leave_question(c: Cursor) -> None:
    """`x?: number`, as other languages say that it may be left out."""
    if c.kinds[c.at] == "?" and (c.kinds[c.at + 1] in _AFTER_NAME or c.kinds[c.at - 1] == "?"):
        c.report("V0109", "only a field of a type may have a `?`", c.at, "write `x: number | null = null`")
        c.at += 1


def read_input(c: Cursor, start: int, private: bool = False) -> n.Input:
    """`input name: type = default "description"`; the word stands here."""
    c.at += 1
    name = c.name("the name of the input")
    node = n.Input(start, c.ends[name], c.values[name], None, None, "", private, c.starts[name])
    if c.kinds[c.at] == ":":
        c.at += 1
        node.declared = read_type(c)
    node.description = read_description(c)
    if c.kinds[c.at] == "=" and c.at not in c.fresh:
        if node.description:
            hint = f'write `input {node.name}: … = … "{node.description[:40]}"`'
            c.report("V0128", "the description of an input stands last, behind its default", c.at - 1, hint)
        c.at += 1
        node.default = read_value(c)
        node.description = read_description(c) or node.description
    node.end = c.ends[c.at - 1]
    return node


def read_returns(c: Cursor, start: int) -> n.Returns:
    """`returns type`; the word stands here."""
    c.at += 1
    declared = read_type(c)
    return n.Returns(start, declared.end, declared)


def read_value(c: Cursor) -> n.Expr:
    """What is assigned. If it cannot be read, the rest of the statement counts all the same."""
    first, depth = c.at, c.depth
    try:
        return read_expression(c)
    except Unreadable:
        return _unreadable_value(c, first, depth)


def _unreadable_value(c: Cursor, first: int, depth: int) -> n.BadExpr:
    c.depth, c.nested = depth, False
    c.recover(first)
    return n.BadExpr(c.starts[first], max(c.starts[first], c.ends[c.at - 1]))


def _read_pattern_value(c: Cursor) -> n.Expr:
    if c.kinds[c.at] != "=":
        c.unexpected("`=` and what to take apart")
    c.at += 1
    return read_value(c)


def read_pattern(c: Cursor) -> n.Pattern | n.ArrayPattern:
    """`{ name: text }` or `[a, b]`, which takes a value apart."""
    if c.kinds[c.at] == "{":
        return _read_pattern(c)
    start = c.starts[c.at]
    items = c.listed("]", _read_pattern_item)
    return n.ArrayPattern(start, c.ends[c.at - 1], items)


def _read_pattern_item(c: Cursor) -> n.PatternItem:
    if c.kinds[c.at] == "...":
        hint = "take the rest as a slice: `const rest = xs[1:]`"
        c.report("V0151", "a pattern has a name for each item, and none for the rest", c.at, hint)
        c.at += 1
    name = c.name("a name")
    declared = None
    if c.kinds[c.at] == ":":
        c.at += 1
        declared = read_type(c)
    return n.PatternItem(c.starts[name], c.ends[c.at - 1], c.values[name], declared)


def _read_pattern(c: Cursor) -> n.Pattern:
    start = c.starts[c.at]
    fields = c.listed("}", _read_pattern_field, by_line=True)
    return n.Pattern(start, c.ends[c.at - 1], fields)


def _read_pattern_field(c: Cursor) -> n.PatternField:
    if c.kinds[c.at] == "...":
        hint = "name each field that is needed; the others stay in the object"
        c.report("V0151", "a pattern has a name for each field, and none for the rest", c.at, hint)
        c.at += 1
    at = c.at
    start = c.starts[at]
    private = c.values[at] == "private" and c.kinds[at + 1] in WORDS and at + 1 not in c.fresh
    c.at += private
    name = c.word("a field name")
    field = n.PatternField(start, c.ends[name], c.values[name], is_private=private)
    field.name_start = c.starts[name]
    if c.kinds[c.at] == ":":
        c.at += 1
        if _is_nested_pattern(c):
            field.nested = _read_pattern(c)
        else:
            field.declared = read_type(c)
    if field.nested is None and c.kinds[name] != "name":
        c.reserved(name, "a name")
    field.description = read_description(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        field.default = read_expression(c)
        field.description = _read_late_description(c, "a field", field.name) or field.description
    field.end = c.ends[c.at - 1]
    return field


def _read_late_description(c: Cursor, what: str, name: str) -> str:
    """A description behind the default, where that of an input stands."""
    at = c.at
    text = read_description(c)
    if text:
        c.report(
            "V0128", f"the description of {what} stands before its default", at, f'write `{name}: … "{text[:40]}" = …`'
        )
    return text


def _is_nested_pattern(c: Cursor) -> bool:
    if c.kinds[c.at] != "{" or c.kinds[c.at + 1] == "[":
        return False
    closer = c.partner(c.at)
    return closer < 0 or c.kinds[closer + 1] not in ("[", "|")


def read_function(c: Cursor, start: int, is_tool: bool = False, exported: bool = False) -> n.Function | n.BadStatement:
    """`function` or `tool`, whose word stands here."""
    c.at += 1
    if c.kinds[c.at] == "*":
        c.report("V0109", "there is no `function*` here", c.at, "push into an array, and return that")
        c.at += 1
    what = "the name of the tool" if is_tool else "the name of the function"
    name = c.name(what, "give it one, or write `const name = (a, b) => …`")
    if c.kinds[c.at] == "<":
        c.report(
            "V0109", "a function has no types of its own here", c.at, "write the types: `number`, or `json` for any"
        )
        while c.kinds[c.at] not in ("(", "{", "end") and c.at not in c.fresh:
            c.at += 1
    if c.kinds[c.at] != "(":
        c.unexpected("`(` and the parameters", f"write `function {c.values[name]}() {{ … }}`")
    wrong = len(c.diagnostics)
    parameters = c.listed(")", _read_parameter)
    is_broken = any(not each.is_habit for each in c.diagnostics[wrong:])
    returns = None
    arrow = c.kinds[c.at] == "=>" and c.values[c.at] == "->"
    if _read_type_behind(c, c.at - 1):
        returns = read_type(c)
    elif arrow or (c.kinds[c.at] == ":" and not _ends_line(c)):
        c.at += 1
        returns = read_type(c)
        _leave_question(c)
        if c.kinds[c.at] == "is":
            c.report("V0109", "a function gives no test of a type here", c.at, "write `: boolean`")
            c.at += 1
            returns = n.TypeName(returns.start, read_type(c).end, "boolean")
    description = _read_description_lines(c, is_tool, parameters)
    body = read_function_body(c)
    if is_broken:
        # How it is called is not known, so nothing is said of its calls.
        c.lost.add(c.values[name])
        return n.BadStatement(start, body.end)
    node = n.Function(start, body.end, c.values[name], parameters, returns, body, is_tool, description, exported)
    node.doc = _comment_above(c, start) if c.tokens.comments else ""
    node.name_start = c.starts[name]
    return node


def _ends_line(c: Cursor) -> bool:
    """Whether the `:` here is that of a block in Python, after which lines further in follow."""
    return c.at + 1 in c.fresh and c.kinds[c.at + 2] not in ("{", "[", "|")


def _read_parameter(c: Cursor) -> n.Parameter:
    if c.kinds[c.at] in ("...", "*", "**"):
        c.report("V0109", "a function takes no rest of arguments here", c.at, "take an array: `xs: number[]`")
        c.at += 1
    if c.kinds[c.at] in ("{", "["):
        return _read_parameter_pattern(c)
    private = _takes_private(c)
    c.at += private
    name = _read_own_name(c, "the name of a parameter")
    _leave_question(c)
    declared = default = None
    if _read_type_behind(c, name):
        declared = read_type(c)
    elif c.kinds[c.at] == ":":
        c.at += 1
        declared = read_type(c)
        _leave_question(c)
    description = read_description(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        default = read_expression(c)
        description = _read_late_description(c, "a parameter", c.values[name]) or description
    end = c.ends[c.at - 1]
    return n.Parameter(c.starts[name], end, c.values[name], declared, description, default, private)


def _read_parameter_pattern(c: Cursor) -> n.Parameter:
    """`{ name, age }`, as JavaScript takes a parameter apart."""
    at, closer = c.at, c.partner(c.at)
    if closer < 0 or c.kinds[closer + 1] not in (",", ")", ":", "="):
        c.unexpected("the name of a parameter", "the parameters end with `)`")
    hint = "write `x: { name: text }`, and in the body `x.name`, or `const { name: text } = x`"
    c.report("V0109", "a parameter is a name, and no pattern", at, hint)
    c.at = closer + 1
    c.lose(at)
    if c.kinds[c.at] == ":":
        c.at += 1
        read_type(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        read_expression(c)
    return n.Parameter(c.starts[at], c.ends[c.at - 1], "_")


def _read_description_lines(c: Cursor, is_tool: bool, parameters: list[n.Parameter]) -> str | None:
    description = None
    while c.kinds[c.at] == "@":
        at = c.at
        c.at = at + 1
        word = c.values[c.word("`description`")]
        if word == "param":
            _describe_parameter(c, at, is_tool, parameters)
            continue
        if c.kinds[c.at] not in ("text", "quote"):
            _skip_description(c, word)
            description = description or word
            continue
        text = read_plain_text(c, "a description")
        description = text if is_tool and (description is None or word == "description") else description
        if word == "description" and is_tool:
            continue
        if word == "description":
            c.report("V0121", "only a tool has a `@description`", at, "write a comment above the function")
        else:
            c.report("V0121", f"a tool has no `@{word}`", at, _other_marker(word))
    return description


def _skip_description(c: Cursor, word: str) -> None:
    """The rest of a line that says something without quotes."""
    c.report("V0121", f"what `@{word}` says stands in quotes", c.at, f'write `@{word} "…"`')
    while c.at not in c.fresh and c.kinds[c.at] not in ("{", "end"):
        c.at += 1


def _describe_parameter(c: Cursor, at: int, is_tool: bool, parameters: list[n.Parameter]) -> None:
    """`@param name "what it is"`; the two words are taken already."""
    name = c.values[c.word("the name of a parameter")]
    text = read_plain_text(c, "a description")
    described = next((each for each in parameters if each.name == name), None)
    if not is_tool:
        c.report("V0121", "only a tool has a `@param`", at, "write a comment above the function")
    elif described is None:
        c.report("V0121", f"the tool has no parameter `{name}`", at, "name one of its parameters")
    elif described.description:
        hint = "leave out one of them: this line, or the string after its type"
        c.report("V0121", f"the parameter `{name}` is described twice", at, hint)
    else:
        described.description = text


def _comment_above(c: Cursor, start: int) -> str:
    """The comment that ends on the line above: all `//` lines of it, or one `/* */`."""
    text, comments = c.text, c.tokens.comments
    index = bisect_left(comments, (start, 0)) - 1
    lines: list[str] = []
    while index >= 0 and _stands_above(c, comments[index], start):
        first, last = comments[index]
        if text.startswith("/*", first):
            if not lines:
                return _STARS.sub("", text[first + 2 : last].removesuffix("*/")).strip()
            break
        lines.append(text[first + 2 : last].removeprefix(" ").rstrip())
        start, index = first, index - 1
    return "\n".join(reversed(lines))


def _stands_above(c: Cursor, comment: tuple[int, int], start: int) -> bool:
    first, last = comment
    gap = _BETWEEN_LINES.match(c.text, last)
    while first and c.text[first - 1] in " \t":
        first -= 1
    return gap is not None and gap.end() == start and (not first or c.text[first - 1] in "\r\n\ufeff")


def read_model(c: Cursor, start: int, exported: bool = False) -> n.ModelDecl:
    """`model name = { … }`; the word stands here."""
    c.at += 1
    name = c.name("the name of the model")
    c.expect("=", "`=` and the settings of the model", 'write `model m = { name: "…" }`')
    settings = read_value(c)
    if not isinstance(settings, n.ObjectLit):
        settings = _settings_of(c, settings)
    return n.ModelDecl(start, c.ends[c.at - 1], c.values[name], settings, exported, c.starts[name])


def _settings_of(c: Cursor, value: n.Expr) -> n.ObjectLit:
    """What was likely meant by something else than settings: the name of the model."""
    start, end = value.start, value.end
    if not isinstance(value, n.BadExpr):
        c.report_span("V0124", "a model is declared by its settings", start, end, 'write `{ name: "…" }`')
    if not isinstance(value, n.TextLit):
        value = n.BadExpr(start, end)
    return n.ObjectLit(start, end, [n.Entry(start, end, "name", value)])


def read_type_declaration(c: Cursor, start: int, exported: bool = False) -> n.TypeDecl:
    """`type Name { … }` or `type Name = …`; the word stands here."""
    c.at += 1
    name = c.name("the name of the type")
    if c.values[c.at] in ("struct", "interface") and c.kinds[c.at + 1] == "{":
        c.report("V0109", f"there is no `{c.values[c.at]}` here", c.at, "write `type Name { field: text }`")
        c.at += 1
    if c.kinds[c.at] == "=":
        c.at += 1
    elif c.kinds[c.at] != "{":
        hint = "write out all fields: what has them fits" if c.values[c.at] in ("extends", "implements") else ""
        c.unexpected("`{` and the fields, or `=` and a type", hint)
    declared = read_type(c)
    return n.TypeDecl(start, declared.end, c.values[name], declared, exported, c.starts[name])


def read_import(c: Cursor) -> n.Import | n.BadStatement:
    """`import { a, b as c } from "path"`."""
    start = c.starts[c.at]
    c.at += 1
    if c.kinds[c.at] != "{":
        return _read_foreign_import(c)
    names = c.listed("}", _read_import_name)
    if c.values[c.at] != "from":
        c.unexpected("`from` and a path")
    c.at += 1
    path_start = c.starts[c.at]
    path = read_plain_text(c, "the path of a module")
    return n.Import(start, c.ends[c.at - 1], names, path, path_start)


def _read_foreign_import(c: Cursor) -> n.BadStatement:
    """`import os`, `import x from "y"`: the names in it are known from here on."""
    at = c.at
    after = c.kinds[at + 1] if at + 1 not in c.fresh else ""
    if c.values[at] == "type" and after == "{":
        hint = "leave out `type`: types are imported as all other names"
    elif c.kinds[at] == "name" and (after != "name" or c.values[at + 1] == "as"):
        hint = f'names of Python are imported one by one: `import {{ name }} from "py:{c.values[at]}"`'
    else:
        hint = 'write `import { name } from "./file.vibe"`'
    c.report("V0101", f"expected `{{` and the names to import, found {c.found()}", at, hint)
    first = c.at - 1
    c.recover(first)
    return n.BadStatement(c.starts[first], max(c.starts[first], c.ends[c.at - 1]))


def _read_import_name(c: Cursor) -> n.ImportName:
    name = c.name("a name to import")
    node = n.ImportName(c.starts[name], c.ends[name], c.values[name], None, c.starts[name])
    if c.values[c.at] == "as" and c.kinds[c.at] == "name":
        c.at += 1
        alias = c.name("the name to use here")
        node.alias, node.alias_start, node.end = c.values[alias], c.starts[alias], c.ends[alias]
    return node


def _other_marker(word: str) -> str:
    if word in ("parameter", "arg", "argument"):
        return 'write `@param city "City name"`, or a string after its type: `city: text "City name"`'
    return 'there are `@description "…"` and `@param name "…"`'
