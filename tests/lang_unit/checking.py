"""Checks texts and walks checked trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from antiphon.lang.analysis import analyse
from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import CheckResult, check_program
from antiphon.lang.typecheck.symbols import ModuleExports, Symbol
from antiphon.lang.typecheck.types import Type

EXPRESSIONS = nodes.Expr.__args__
TYPES = nodes.TypeNode.__args__


def codes(text: str, **options: Any) -> list[str]:
    """The codes of what is wrong with a program, in order of place."""
    return [each.code for each in analyse(Source("test.vibe", text), **options).diagnostics]


def messages(text: str, **options: Any) -> list[str]:
    """What is wrong with a program, and the hints."""
    found = analyse(Source("test.vibe", text), **options).diagnostics
    return [f"{each.message} ({each.hint})" if each.hint else each.message for each in found]


def checked(
    text: str, imports: Callable[[str], ModuleExports] | None = None, **options: Any
) -> tuple[nodes.Program, CheckResult]:
    """The filled-in tree of a program without syntax errors."""
    source = Source("test.vibe", text)
    program, unread = parse_source(source)
    assert unread == [], [each.message for each in unread]
    return program, check_program(program, source, imports=imports, **options)


def sound(text: str) -> nodes.Program:
    """The filled-in tree of a program in which nothing is wrong."""
    program, found = checked(text)
    assert [each.message for each in found.diagnostics if each.severity == "error"] == []
    return program


def symbol(text: str, name: str) -> Symbol:
    """What a name at the top level of a sound program stands for."""
    _, found = checked(text)
    assert [each.message for each in found.diagnostics if each.severity == "error"] == []
    return found.scope.names[name]


def type_of(text: str, name: str = "x") -> Type:
    """The type of a variable of a sound program."""
    return symbol(text, name).type


def every(tree: Any, kind: type | tuple[type, ...]) -> list[Any]:
    """All nodes of a kind, in order."""
    return [each for each in walk(tree) if isinstance(each, kind)]


def walk(node: Any) -> Iterator[nodes.Node]:
    """A node and all nodes in it."""
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, list):
            todo += reversed(each)
        elif isinstance(each, nodes.Node):
            yield each
            todo += reversed(nodes.children(each))
