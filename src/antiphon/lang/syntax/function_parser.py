"""Reading functions and tools: parameters, what is said of them, and the comment above."""

from __future__ import annotations

import re
from bisect import bisect_left

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.block_parser import read_function_body
from antiphon.lang.syntax.cursor import Cursor
from antiphon.lang.syntax.expression_parser import read_expression
from antiphon.lang.syntax.habit_names import leave_question, read_type_behind
from antiphon.lang.syntax.type_parser import read_description, read_plain_text, read_type
from antiphon.lang.syntax.variable_parser import read_declared, read_late_description, read_own_name, takes_private

_BETWEEN_LINES = re.compile(r"[ \t]*(?:\r\n|\r|\n)?[ \t]*")
#: What stands elsewhere before the parameter that takes all further arguments.
_RESTS = frozenset(("...", "*", "**"))
_STARS = re.compile(r"^[ \t]*\*?[ \t]?", re.MULTILINE)


def read_function(c: Cursor, start: int, is_tool: bool = False, exported: bool = False) -> n.Function | n.BadStatement:
    """`function` or `tool`, whose word stands here."""
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
        c.unexpected("`(` and the parameters", f"write `{word} {c.values[name]}() {{ … }}`")
    wrong, opener = len(c.diagnostics), c.at
    parameters = c.listed(")", _read_parameter)
    is_broken = len(c.diagnostics) > wrong and _is_broken(c, wrong, opener)
    returns = None
    arrow = c.kinds[c.at] == "=>" and c.values[c.at] == "->"
    if read_type_behind(c, c.at - 1):
        returns = read_type(c)
    elif arrow or _leave_returns(c) or (c.kinds[c.at] == ":" and not _ends_line(c)):
        c.at += 1
        _leave_returns(c, behind=True)
        returns = read_type(c)
        leave_question(c)
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
    if is_tool and c.told_description:
        node.doc, c.told_description = node.doc or node.name, False
    node.name_start = c.starts[name]
    return node


def _is_broken(c: Cursor, wrong: int, opener: int) -> bool:
    """Whether it is not known how a function is called, whose parameters begin there."""
    takes_rest = any(c.kinds[i] in _RESTS and c.kinds[i - 1] in ("(", ",") for i in range(opener + 1, c.at))
    return takes_rest or any(not each.is_habit for each in c.diagnostics[wrong:])


def _leave_returns(c: Cursor, behind: bool = False) -> bool:
    """`returns number` before the block of a function, where its type stands behind a `:`."""
    if c.values[c.at] != "returns" or c.kinds[c.at + 1] != "name":
        return False
    c.report("V0109", "there is no `returns` before a block here", c.at, f"write `): {c.values[c.at + 1]} {{ … }}`")
    c.at += behind
    return True


def _ends_line(c: Cursor) -> bool:
    """Whether the `:` here is that of a block in Python, after which lines further in follow."""
    return c.at + 1 in c.fresh and c.kinds[c.at + 2] not in ("{", "[", "|")


def _read_parameter(c: Cursor) -> n.Parameter:
    if c.kinds[c.at] in _RESTS:
        c.report("V0109", "a function takes no rest of arguments here", c.at, "take an array: `xs: number[]`")
        c.at += 1
    if c.kinds[c.at] in ("{", "["):
        return _read_parameter_pattern(c)
    private = takes_private(c)
    c.at += private
    name = read_own_name(c, "the name of a parameter")
    may_be_left_out = c.kinds[c.at] == "?"
    declared, default = read_declared(c, name), None
    if may_be_left_out or c.kinds[c.at - 1] == "?":
        # As it was meant: it may be left out, and is null then.
        start, end = c.starts[name], c.ends[c.at - 1]
        declared, default = n.TypeName(start, end, "json"), n.NullLit(start, end)
    description = read_description(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        default = read_expression(c)
        description = read_late_description(c, "a parameter", c.values[name]) or description
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
    while c.kinds[c.at] == "@" or _lacks_sign(c, is_tool):
        at = c.at
        c.at += c.kinds[at] == "@"
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


def _lacks_sign(c: Cursor, is_tool: bool) -> bool:
    """Whether `description "…"` stands here, without its `@`: then that is told."""
    word = c.values[c.at]
    if not is_tool or c.kinds[c.at] != "name" or c.kinds[c.at + 1] not in ("text", "quote"):
        return False
    if word not in ("description", "param", "desc", "doc"):
        return False
    c.report(
        "V0121", f"what is said of a tool begins with `@`, and not with `{word}`", c.at, 'write `@description "…"`'
    )
    return True


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


def _other_marker(word: str) -> str:
    if word in ("parameter", "arg", "argument"):
        return 'write `@param city "City name"`, or a string after its type: `city: text "City name"`'
    return 'there are `@description "…"` and `@param name "…"`'


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
