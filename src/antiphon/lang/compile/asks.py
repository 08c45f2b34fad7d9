"""Asking models and the human, Python blocks, and `async for`, compiled."""

from __future__ import annotations

import ast

from antiphon.lang.compile import emit
from antiphon.lang.compile.code import Site
from antiphon.lang.compile.functions import async_body
from antiphon.lang.compile.iteration import iterable
from antiphon.lang.compile.literals import as_text
from antiphon.lang.compile.state import Compiler
from antiphon.lang.syntax import nodes as n


def ask(c: Compiler, node: n.Ask) -> ast.expr:
    """`do`, `vibe`."""
    return emit.runtime("ask", ask_arguments(c, node), c.place(node))


def ask_arguments(c: Compiler, node: n.Ask) -> list[ast.expr]:
    """What an ask needs: its site, the prompt, the model."""
    c.asked = True
    place = c.place(node)
    by_default = node.says_model and node.model is None
    hidden = c.hidden.get(node.start, _hidden(c, node))
    site = Site(node.kind, node.context, node.wanted, node.start, node.end, by_default, hidden)
    model = c.expr(node.model) if node.model is not None else emit.constant(None, place)
    return [emit.constant(c.code.add_site(site), place), as_text(c, node.prompt), model]


def ask_human(c: Compiler, node: n.AskHuman) -> ast.expr:
    """`ask`."""
    c.asked = True
    place = c.place(node)
    site = Site("ask", "none", node.wanted, node.start, node.end)
    return emit.runtime("ask_human", [emit.constant(c.code.add_site(site), place), as_text(c, node.prompt)], place)


def python_block(c: Compiler, node: n.PyBlock) -> ast.expr:
    """`py(a) { … }`: values go in and come out as Python's own."""
    place = c.place(node)
    name = c.code.add_python(c.source, node)
    arguments = [c.expr(each) for each in node.parameters]
    how = "pure_python" if node.is_pure else "python"
    return emit.runtime(how, [emit.name(name, place), *arguments], place)


def _hidden(c: Compiler, node: n.Expr) -> tuple[str, ...]:
    """What of an answer is private: all of it, where it goes into a private variable."""
    first, last = c.private_span
    return ("",) if first <= node.start < last else ()


def async_for(c: Compiler, node: n.AsyncFor) -> ast.expr:
    """`async for`, as a call that gathers what its rounds yield."""
    place = c.place(node)
    body = async_body(c, node)
    return emit.runtime("gather", [emit.name(body, place), iterable(c, node.iterable)], place)
