"""Texts that look as if values were put into them, and arguments that look as if they stood in another place."""

from __future__ import annotations

import re

from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import Callable
from antiphon.lang.syntax.nodes import Call, Expr, Hole, Name, TextLit

#: A name in braces that is called, or that an operator follows on; compiled where the first brace is met.
_EXPRESSION_IN_BRACES = (
    r"(?<![$\\\\{])\{\s*([^\W\d]\w*)(?:[^{}\n]*\([^{}\n]*\)[^{}\n]*"
    r"|[\w.\[\]]*\s*(?:[-+*/%<>?]|[=!]=|(?:and|or)\b)[^{}\n]+)\}"
)
#: A name in braces with a format behind it, as Python has them.
_FORMATTED = (
    r"(?<![$\\\\{])\{([^\W\d]\w*)[\w.\[\]]*"
    r"(?:![rsa]|=|:(?!\d*\})(?:.?[<>=^])?[-+]?#?0?\d*[,_]?(?:\.(\d+))?[bcdeEfFgGnosxX%]?)\}"
)
_DOLLAR = r"(?<!\\)\$([^\W\d]\w*)"
#: Places for values, as `printf` and `format` have them.
_PLACES = r"%(?:\.\d+)?[sdif]|\{\d*\}"
_VALUES = frozenset(("let", "const", "parameter", "loop", "caught"))
#: What may stand before parentheses in braces.
_CALLED = _VALUES | {"function", "tool", "import", "builtin"}
_TEXT = "this is text: braces hold a name with members and indexes, nothing else"
#: Signs that a regular expression has and other texts seldom.
_PATTERN = re.compile(r"^\W+$|\\[dwsbDWSB.]|\[[^\]]+\]|[*+?](?:$|[^ ])|^\^|\$$|\(\?")
_NAMED_PATTERN = re.compile(r"pattern|regexp?|^re$|rx$", re.IGNORECASE)
_PATH = re.compile(r"[\w./~-]*\.[A-Za-z]\w{0,4}")


def warn_of_text(c: Checker, node: TextLit) -> None:
    """Warn of `{name.method()}`, `{n + 1}`, `{n:.2f}` and `$name`, which are text though they read like a hole."""
    text = c.source.text
    for found in re.compile(_EXPRESSION_IN_BRACES).finditer(text, node.start, node.end):
        if _is_known(c, found[1], _CALLED if text.startswith("(", found.end(1)) else _VALUES):
            _warn(c, _TEXT, found, f"write `${found[0]}`, or `\\{found[0]}` for the text")
    for found in re.compile(_FORMATTED).finditer(text, node.start, node.end):
        if _is_known(c, found[1], _VALUES):
            digits = f"${{{found[1]}.toFixed({found[2]})}}" if found[2] else f"{{{found[1]}}}"
            _warn(c, _TEXT, found, f"write `{digits}`; `padStart(5)` fills up a text")
    for found in re.compile(_DOLLAR).finditer(text, node.start, node.end):
        if _is_known(c, found[1], _VALUES):
            hint = f"write `{{{found[1]}}}`, or `\\${found[1]}` for the text"
            _warn(c, "this is text: a name is put in with braces", found, hint)


def warn_of_hole(c: Checker, hole: Hole) -> None:
    """Warn of `{{name}}`, which is a value in braces."""
    text = c.source.text
    if text[hole.start - 1] == "{" and text[hole.end : hole.end + 1] == "}" and text[hole.start - 2] != "\\":
        name = text[hole.start : hole.end]
        where = hole.start - 1, hole.end + 1
        hint = f"write `{name}` for its value, `\\{name}` for the text"
        c.warn("V0707", "the outer braces are text, and the value stands in them", where, hint)


def _is_known(c: Checker, name: str, kinds: frozenset[str]) -> bool:
    symbol = c.scope.find(name)
    return symbol is not None and symbol.kind in kinds


def _warn(c: Checker, message: str, found: re.Match[str], hint: str) -> None:
    c.warn("V0707", message, (found.start(), found.end()), hint)


def warn_of_printed(c: Checker, node: Call) -> None:
    """Warn of `print("Hello %s", name)`: values are put in nowhere, they are printed behind."""
    first = node.arguments[0]
    if not isinstance(first, TextLit) or not all(isinstance(each, str) for each in first.parts):
        return
    found = re.compile(_PLACES).search(c.source.text, first.start, first.end)
    if found is not None:
        other = c.text_of(node.arguments[1])
        hole = f"{{{other}}}" if isinstance(node.arguments[1], Name) else f"${{{other}}}"
        _warn(c, f"`{found[0]}` is text here: nothing is put into it", found, f"write `{hole}` in its place")


def warn_of_arguments(c: Checker, node: Call, name: str, callable_: Callable) -> None:
    """Warn of a pattern where a text stands, of a text where a path stands, and of formats of another kind."""
    names, given = callable_.names, node.arguments
    if given and names[:1] == ("text",) and name.startswith("parse") and _is_path(given[0]):
        hint = f"read it before: `{name}(readText({c.text_of(given[0])}))`"
        c.warn("V0709", f"`{name}` takes the text itself, and this reads like a path", given[0], hint)
    if len(given) < 2:
        return
    if names[:2] == ("text", "pattern") and _reads_like_pattern(given[0]) and not _reads_like_pattern(given[1]):
        others = "".join(f", {c.text_of(each)}" for each in given[2:])
        hint = f"the text comes first: `{name}({c.text_of(given[1])}, {c.text_of(given[0])}{others})`"
        c.warn("V0709", f"the first argument of `{name}` is the text, and this reads like a pattern", given[0], hint)
    elif names[:2] == ("path", "text") and _is_path(given[1]) and not _is_path(given[0]) and _said(given[0]):
        hint = f"the path comes first: `{name}({c.text_of(given[1])}, …)`"
        c.warn("V0709", f"the first argument of `{name}` is the path, and this reads like a text", given[0], hint)
    elif names[:2] == ("time", "format"):
        _warn_of_format(c, given[0], given[1], name)


def _warn_of_format(c: Checker, time: Expr, format_: Expr, name: str) -> None:
    if "%" in _said(time):
        hint = f"the time comes first: `{name}({c.text_of(format_)}, {c.text_of(time)})`"
        c.warn("V0709", f"the first argument of `{name}` is the time, and this reads like a format", time, hint)
    elif (said := _said(format_)) and "%" not in said:
        message = "nothing of the time stands in this format"
        c.warn("V0709", message, format_, "write `%Y-%m-%d %H:%M:%S`, or what of it is wanted")


def _reads_like_pattern(node: Expr) -> bool:
    if isinstance(node, Name):
        return _NAMED_PATTERN.search(node.name) is not None
    return _PATTERN.search(_said(node)) is not None


def _is_path(node: Expr) -> bool:
    return _PATH.fullmatch(_said(node)) is not None


def _said(node: Expr) -> str:
    """What a text says that is written out without holes; else nothing."""
    if not isinstance(node, TextLit) or len(node.parts) != 1:
        return ""
    only = node.parts[0]
    return only if isinstance(only, str) else ""
