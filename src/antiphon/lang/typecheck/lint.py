"""Warnings of texts that look like interpolations, and of arguments that look swapped."""

from __future__ import annotations

import re

from antiphon.lang.syntax import nodes as n
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.checker import Checker

#: A name in braces that is called or followed by an operator; compiled on first use.
_EXPRESSION_IN_BRACES = (
    r"(?<![$\\\\{])\{\s*([^\W\d]\w*)(?:[^{}\n]*\([^{}\n]*\)[^{}\n]*"
    r"|[\w.\[\]]*\s*(?:[-+*/%<>?]|[=!]=|(?:and|or)\b)[^{}\n]+)\}"
)
#: A name in braces with a format specifier, as in Python.
_FORMAT_IN_BRACES = (
    r"(?<![$\\\\{])\{([^\W\d]\w*)[\w.\[\]]*"
    r"(?:![rsa]|=|:(?!\d*\})(?:.?[<>=^])?[-+]?#?0?\d*[,_]?(?:\.(\d+))?[bcdeEfFgGnosxX%]?)\}"
)
_DOLLAR_NAME = r"(?<!\\)\$([^\W\d]\w*)"
#: Placeholders of `printf` and `format`.
_PLACEHOLDER = r"%(?:\.\d+)?[sdif]|\{\d*\}"
_VALUE_KINDS = frozenset(("let", "const", "parameter", "loop", "caught"))
#: Kinds of symbols that may be called in braces.
_CALLABLE_KINDS = _VALUE_KINDS | {"function", "tool", "import", "builtin"}
_IS_TEXT_MESSAGE = "this is text: braces hold a name with members and indexes, nothing else"
#: Signs that are frequent in regular expressions and rare in other texts.
_REGEX_SIGN = re.compile(r"^\W+$|\\[dwsbDWSB.]|\[[^\]]+\]|[*+?](?:$|[^ ])|^\^|\$$|\(\?")
_REGEX_NAME = re.compile(r"pattern|regexp?|^re$|rx$", re.IGNORECASE)
_FILE_PATH = re.compile(r"[\w./~-]*\.[A-Za-z]\w{0,4}")


def warn_of_plain_braces(c: Checker, node: n.TextLit) -> None:
    """Warn of `{name.method()}`, `{n + 1}`, `{n:.2f}` and `$name`, which are text but look like interpolations."""
    text = c.source.text
    for found in re.compile(_EXPRESSION_IN_BRACES).finditer(text, node.start, node.end):
        if _is_known_name(c, found[1], _CALLABLE_KINDS if text.startswith("(", found.end(1)) else _VALUE_KINDS):
            _warn_at_match(c, _IS_TEXT_MESSAGE, found, f"write `${found[0]}`, or `\\{found[0]}` for the text")
    for found in re.compile(_FORMAT_IN_BRACES).finditer(text, node.start, node.end):
        if _is_known_name(c, found[1], _VALUE_KINDS):
            digits = f"${{{found[1]}.toFixed({found[2]})}}" if found[2] else f"{{{found[1]}}}"
            _warn_at_match(c, _IS_TEXT_MESSAGE, found, f"write `{digits}`; `padStart(5)` fills up a text")
    for found in re.compile(_DOLLAR_NAME).finditer(text, node.start, node.end):
        if _is_known_name(c, found[1], _VALUE_KINDS):
            hint = f"write `{{{found[1]}}}`, or `\\${found[1]}` for the text"
            _warn_at_match(c, "this is text: a name is put in with braces", found, hint)


def warn_of_double_braces(c: Checker, interpolation: n.Interpolation) -> None:
    """Warn of `{{name}}`, which is an interpolation inside plain braces."""
    text = c.source.text
    if (
        text[interpolation.start - 1] == "{"
        and text[interpolation.end : interpolation.end + 1] == "}"
        and text[interpolation.start - 2] != "\\"
    ):
        name = text[interpolation.start : interpolation.end]
        where = interpolation.start - 1, interpolation.end + 1
        hint = f"write `{name}` for its value, `\\{name}` for the text"
        c.warn("V0707", "the outer braces are text, and the value stands in them", where, hint)


def _is_known_name(c: Checker, name: str, kinds: frozenset[str]) -> bool:
    symbol = c.scopes.find(name)
    return symbol is not None and symbol.kind in kinds


def _warn_at_match(c: Checker, message: str, found: re.Match[str], hint: str) -> None:
    c.warn("V0707", message, (found.start(), found.end()), hint)


def warn_of_placeholders(c: Checker, node: n.Call) -> None:
    """Warn of `print("Hello %s", name)`, which prints the values after the text instead of inserting them."""
    first = node.arguments[0]
    if not isinstance(first, n.TextLit) or not all(isinstance(each, str) for each in first.parts):
        return
    found = re.compile(_PLACEHOLDER).search(c.source.text, first.start, first.end)
    if found is not None:
        other = c.quote(node.arguments[1])
        written = f"{{{other}}}" if isinstance(node.arguments[1], n.Name) else f"${{{other}}}"
        _warn_at_match(
            c, f"`{found[0]}` is text here: nothing is put into it", found, f"write `{written}` in its place"
        )


def warn_of_swapped_arguments(c: Checker, node: n.Call, name: str, callable_: t.CallableType) -> None:
    """Warn of a pattern in place of a text, of a text in place of a path, and of foreign time formats."""
    names, given = callable_.names, node.arguments
    if given and names[:1] == ("text",) and name.startswith("parse") and _looks_like_path(given[0]):
        hint = f"read it before: `{name}(readText({c.quote(given[0])}))`"
        c.warn("V0709", f"`{name}` takes the text itself, and this reads like a path", given[0], hint)
    if len(given) < 2:
        return
    if names[:2] == ("text", "pattern") and _looks_like_pattern(given[0]) and not _looks_like_pattern(given[1]):
        others = "".join(f", {c.quote(each)}" for each in given[2:])
        hint = f"the text comes first: `{name}({c.quote(given[1])}, {c.quote(given[0])}{others})`"
        c.warn("V0709", f"the first argument of `{name}` is the text, and this reads like a pattern", given[0], hint)
    elif (
        names[:2] == ("path", "text")
        and _looks_like_path(given[1])
        and not _looks_like_path(given[0])
        and n.get_plain_text(given[0])
    ):
        hint = f"the path comes first: `{name}({c.quote(given[1])}, …)`"
        c.warn("V0709", f"the first argument of `{name}` is the path, and this reads like a text", given[0], hint)
    elif names[:2] == ("time", "format"):
        _warn_of_time_format(c, given[0], given[1], name)


def _warn_of_time_format(c: Checker, time: n.Expr, format_: n.Expr, name: str) -> None:
    if "%" in (n.get_plain_text(time) or ""):
        hint = f"the time comes first: `{name}({c.quote(format_)}, {c.quote(time)})`"
        c.warn("V0709", f"the first argument of `{name}` is the time, and this reads like a format", time, hint)
    elif (said := n.get_plain_text(format_)) and "%" not in said:
        message = "nothing of the time stands in this format"
        c.warn("V0709", message, format_, "write `%Y-%m-%d %H:%M:%S`, or what of it is wanted")


def _looks_like_pattern(node: n.Expr) -> bool:
    if isinstance(node, n.Name):
        return _REGEX_NAME.search(node.name) is not None
    return _REGEX_SIGN.search(n.get_plain_text(node) or "") is not None


def _looks_like_path(node: n.Expr) -> bool:
    return _FILE_PATH.fullmatch(n.get_plain_text(node) or "") is not None
