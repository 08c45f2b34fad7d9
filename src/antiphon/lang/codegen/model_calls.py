"""Compile model calls, questions to the human, Python blocks and `async for`."""

from __future__ import annotations

import ast

from antiphon.lang.codegen import python_ast as emit
from antiphon.lang.codegen.code_object import AskSite
from antiphon.lang.codegen.compiler import Compiler
from antiphon.lang.codegen.functions import compile_async_body
from antiphon.lang.codegen.iteration import compile_iterable
from antiphon.lang.codegen.literals import compile_as_text
from antiphon.lang.syntax import nodes as n


def compile_ask_model(c: Compiler, node: n.ModelCall) -> ast.expr:
    """Compile `do` and `vibe`."""
    return emit.make_runtime_call("ask", compile_ask_arguments(c, node), c.place(node))


def compile_ask_arguments(c: Compiler, node: n.ModelCall) -> list[ast.expr]:
    """Return the arguments of a model call: the number of its site, the prompt and the model."""
    c.asked = True
    place = c.place(node)
    by_default = node.says_model and node.model is None
    hidden = c.hidden.get(node.start, _get_private_fields(c, node))
    site = AskSite(node.kind, node.context, node.wanted, node.start, node.end, by_default, hidden)
    model = c.expr(node.model) if node.model is not None else emit.make_constant(None, place)
    return [emit.make_constant(c.code.add_site(site), place), compile_as_text(c, node.prompt), model]


def compile_ask_human(c: Compiler, node: n.AskHuman) -> ast.expr:
    """Compile `ask`."""
    c.asked = True
    place = c.place(node)
    site = AskSite("ask", "none", node.wanted, node.start, node.end)
    return emit.make_runtime_call(
        "ask_human", [emit.make_constant(c.code.add_site(site), place), compile_as_text(c, node.prompt)], place
    )


def compile_python_block(c: Compiler, node: n.PyBlock) -> ast.expr:
    """Compile `py(a) { … }`: arguments and result are converted to and from Python's own values."""
    place = c.place(node)
    name = c.code.add_python_block(c.source, node)
    arguments = [c.expr(each) for each in node.parameters]
    how = "run_pure_python" if node.is_pure else "run_python"
    return emit.make_runtime_call(how, [emit.make_name(name, place), *arguments], place)


def _get_private_fields(c: Compiler, node: n.Expr) -> tuple[str, ...]:
    """Return the private fields of an answer: all of it, if it goes into a private variable."""
    first, last = c.private_span
    return ("",) if first <= node.start < last else ()


def compile_async_for(c: Compiler, node: n.AsyncFor) -> ast.expr:
    """Compile `async for` to a runtime call that gathers the values its iterations yield."""
    place = c.place(node)
    body = compile_async_body(c, node)
    return emit.make_runtime_call("gather", [emit.make_name(body, place), compile_iterable(c, node.iterable)], place)
