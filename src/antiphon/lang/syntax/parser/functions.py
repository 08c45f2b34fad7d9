"""Parsing of functions and tools: parameters, descriptions, and the comment above."""

from __future__ import annotations

import re
from bisect import bisect_left

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.around_names import report_missing_colon, skip_optional_parameter_mark
from antiphon.lang.syntax.parser.blocks import parse_function_body
from antiphon.lang.syntax.parser.cursor import Cursor
from antiphon.lang.syntax.parser.declarations import (
    is_private_modifier,
    parse_declared_name,
    parse_declared_type,
    parse_late_description,
)
from antiphon.lang.syntax.parser.expressions import parse_expression
from antiphon.lang.syntax.parser.types import parse_description, parse_plain_text, parse_type

_LINE_BREAK = re.compile(r"[ \t]*(?:\r\n|\r|\n)?[ \t]*")
#: Signs that other languages write before a rest parameter.
_REST_SIGNS = frozenset(("...", "*", "**"))
_COMMENT_STARS = re.compile(r"^[ \t]*\*?[ \t]?", re.MULTILINE)


def parse_function(c: Cursor, start: int, is_tool: bool = False, exported: bool = False) -> n.Function | n.BadStatement:
    """Parse `function` or `tool`, whose keyword is the current token."""
    c.at += 1
    if c.kinds[c.at] == "*":
        c.report("V0109", "there is no `function*` here", c.at, "push into an array, and return that")
        c.at += 1
    if is_tool and c.kinds[c.at] == "function":
        c.report("V0109", "a tool is no `function`", c.at, "leave it out: `tool name(x: text): text { … }`")
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
        word = "tool" if is_tool else "function"
        c.fail_unexpected("`(` and the parameters", f"write `{word} {c.values[name]}() {{ … }}`")
    wrong, opener = len(c.diagnostics), c.at
    parameters = c.listed(")", _parse_parameter)
    is_broken = len(c.diagnostics) > wrong and _has_unknown_parameters(c, wrong, opener)
    returns = None
    arrow = c.kinds[c.at] == "=>" and c.values[c.at] == "->"
    if report_missing_colon(c, c.at - 1):
        returns = parse_type(c)
    elif arrow or _skip_returns_word(c) or (c.kinds[c.at] == ":" and not _is_block_colon(c)):
        c.at += 1
        _skip_returns_word(c, behind=True)
        returns = parse_type(c)
        skip_optional_parameter_mark(c)
        if c.kinds[c.at] == "is":
            c.report("V0109", "a function gives no test of a type here", c.at, "write `: boolean`")
            c.at += 1
            returns = n.TypeName(returns.start, parse_type(c).end, "boolean")
    description = _parse_description_lines(c, is_tool, parameters)
    body = parse_function_body(c)
    if is_broken:
        # Its parameters are unknown, so its calls are not checked.
        c.lost.add(c.values[name])
        return n.BadStatement(start, body.end)
    node = n.Function(start, body.end, c.values[name], parameters, returns, body, is_tool, description, exported)
    node.doc = _find_comment_above(c, start) if c.tokens.comments else ""
    if is_tool and c.has_reported_description:
        node.doc, c.has_reported_description = node.doc or node.name, False
    node.name_start = c.starts[name]
    return node


def _has_unknown_parameters(c: Cursor, wrong: int, opener: int) -> bool:
    """Return True if errors or a rest parameter leave unknown how a function is called."""
    takes_rest = any(c.kinds[i] in _REST_SIGNS and c.kinds[i - 1] in ("(", ",") for i in range(opener + 1, c.at))
    return takes_rest or any(not each.is_habit for each in c.diagnostics[wrong:])


def _skip_returns_word(c: Cursor, behind: bool = False) -> bool:
    """Report `returns number` before the block of a function, where `: number` is meant. Return True if it is there."""
    if c.values[c.at] != "returns" or c.kinds[c.at + 1] != "name":
        return False
    c.report("V0109", "there is no `returns` before a block here", c.at, f"write `): {c.values[c.at + 1]} {{ … }}`")
    c.at += behind
    return True


def _is_block_colon(c: Cursor) -> bool:
    """Return True if the `:` here begins an indented block, as in Python."""
    return c.at + 1 in c.fresh and c.kinds[c.at + 2] not in ("{", "[", "|")


def _parse_parameter(c: Cursor) -> n.Parameter:
    if c.kinds[c.at] in _REST_SIGNS:
        c.report("V0109", "a function takes no rest of arguments here", c.at, "take an array: `xs: number[]`")
        c.at += 1
    if c.kinds[c.at] in ("{", "["):
        return _parse_parameter_pattern(c)
    private = is_private_modifier(c)
    c.at += private
    name = parse_declared_name(c, "the name of a parameter")
    may_be_left_out = c.kinds[c.at] == "?"
    declared, default = parse_declared_type(c, name), None
    if may_be_left_out or c.kinds[c.at - 1] == "?":
        # Parsed as it was meant: it may be omitted, and is then null.
        start, end = c.starts[name], c.ends[c.at - 1]
        declared, default = n.TypeName(start, end, "json"), n.NullLit(start, end)
    description = parse_description(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        default = parse_expression(c)
        description = parse_late_description(c, "a parameter", c.values[name]) or description
    end = c.ends[c.at - 1]
    return n.Parameter(c.starts[name], end, c.values[name], declared, description, default, private)


def _parse_parameter_pattern(c: Cursor) -> n.Parameter:
    """Report and skip `{ name, age }`, which is JavaScript's destructuring of a parameter."""
    at, closer = c.at, c.matching_bracket(c.at)
    if closer < 0 or c.kinds[closer + 1] not in (",", ")", ":", "="):
        c.fail_unexpected("the name of a parameter", "the parameters end with `)`")
    hint = "write `x: { name: text }`, and in the body `x.name`, or `const { name: text } = x`"
    c.report("V0109", "a parameter is a name, and no pattern", at, hint)
    c.at = closer + 1
    c.record_lost_names(at)
    if c.kinds[c.at] == ":":
        c.at += 1
        parse_type(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        parse_expression(c)
    return n.Parameter(c.starts[at], c.ends[c.at - 1], "_")


def _parse_description_lines(c: Cursor, is_tool: bool, parameters: list[n.Parameter]) -> str | None:
    description = None
    while c.kinds[c.at] == "@" or _report_missing_at_sign(c, is_tool):
        at = c.at
        c.at += c.kinds[at] == "@"
        word = c.values[c.word("`description`")]
        if word == "param":
            _parse_parameter_description(c, at, is_tool, parameters)
            continue
        if c.kinds[c.at] not in ("text", "quote"):
            _skip_unquoted_description(c, word)
            description = description or word
            continue
        text = parse_plain_text(c, "a description")
        description = text if is_tool and (description is None or word == "description") else description
        if word == "description" and is_tool:
            continue
        if word == "description":
            c.report("V0121", "only a tool has a `@description`", at, "write a comment above the function")
        else:
            c.report("V0121", f"a tool has no `@{word}`", at, _hint_marker(word))
    return description


def _report_missing_at_sign(c: Cursor, is_tool: bool) -> bool:
    """Return True and report it if `description "…"` is written without its `@`."""
    word = c.values[c.at]
    if not is_tool or c.kinds[c.at] != "name" or c.kinds[c.at + 1] not in ("text", "quote"):
        return False
    if word not in ("description", "param", "desc", "doc"):
        return False
    c.report(
        "V0121", f"what is said of a tool begins with `@`, and not with `{word}`", c.at, 'write `@description "…"`'
    )
    return True


def _skip_unquoted_description(c: Cursor, word: str) -> None:
    """Report and skip a description without quotes, up to the end of the line."""
    c.report("V0121", f"what `@{word}` says stands in quotes", c.at, f'write `@{word} "…"`')
    while c.at not in c.fresh and c.kinds[c.at] not in ("{", "end"):
        c.at += 1


def _parse_parameter_description(c: Cursor, at: int, is_tool: bool, parameters: list[n.Parameter]) -> None:
    """Parse `@param name "what it is"`; the first two words are already consumed."""
    name = c.values[c.word("the name of a parameter")]
    text = parse_plain_text(c, "a description")
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


def _hint_marker(word: str) -> str:
    if word in ("parameter", "arg", "argument"):
        return 'write `@param city "City name"`, or a string after its type: `city: text "City name"`'
    return 'there are `@description "…"` and `@param name "…"`'


def _find_comment_above(c: Cursor, start: int) -> str:
    """Return the comment that ends on the line above: consecutive `//` lines, or one `/* */`."""
    text, comments = c.text, c.tokens.comments
    index = bisect_left(comments, (start, 0)) - 1
    lines: list[str] = []
    while index >= 0 and _is_comment_above(c, comments[index], start):
        first, last = comments[index]
        if text.startswith("/*", first):
            if not lines:
                return _COMMENT_STARS.sub("", text[first + 2 : last].removesuffix("*/")).strip()
            break
        lines.append(text[first + 2 : last].removeprefix(" ").rstrip())
        start, index = first, index - 1
    return "\n".join(reversed(lines))


def _is_comment_above(c: Cursor, comment: tuple[int, int], start: int) -> bool:
    first, last = comment
    gap = _LINE_BREAK.match(c.text, last)
    while first and c.text[first - 1] in " \t":
        first -= 1
    return gap is not None and gap.end() == start and (not first or c.text[first - 1] in "\r\n\ufeff")
