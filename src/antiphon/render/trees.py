"""Data of any shape, as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from rich.text import Text

from antiphon import views
from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, fold, hang
from antiphon.render.style import ACCENT
from antiphon.render.values import formatted
from antiphon.views import Branch, Cut, Leaf, Node
from antiphon.views.nodes import SHORT
from antiphon.views.part import json_cell


def tree(view: views.Tree, context: Context) -> Lines:
    """The branches one below the other, the outermost level without lines that join them."""
    rows = list(_rows(view.root, context))
    return Lines(rows, len(rows) + view.more, at_least=view.at_least)


def _rows(root: Node, context: Context) -> Iterator[Row]:
    if isinstance(root, Branch) and (root.nodes or root.more):
        yield from _branches(root, "", 0, context)
    else:
        yield _leaf(root, context)


def _branches(branch: Branch, indent: str, depth: int, context: Context) -> Iterator[Row]:
    last = len(branch.nodes) - 1 if not branch.more else None
    corner, fork, line = (context.sign(*pair) for pair in (("└─ ", "`- "), ("├─ ", "|- "), ("│  ", "|  ")))
    for number, node in enumerate(branch.nodes):
        joint = "" if not depth else corner if number == last else fork
        label = Text.assemble((indent + joint, "dim"), _label(node, context))
        if not isinstance(node, Branch) or _is_inline(node, depth, context):
            yield hang(Text.assemble(label, " "), _leaf(node, context), context.width)
            continue
        count = len(node.nodes) + node.more
        yield fold(
            Text.assemble(label, (f" {{{count}}}" if node.shape == "object" else f" [{count}]", "dim")), context.width
        )
        below = indent if not depth else indent + ("   " if number == last else line)
        yield from _branches(node, below, depth + 1, context)


def _label(node: Node, context: Context) -> tuple[str, str]:
    key = node.key
    return (f"{context.line(key)}:", ACCENT) if isinstance(key, str | Cut) else (f"{key}:", "dim")


def _is_inline(branch: Branch, depth: int, context: Context) -> bool:
    """Whether a branch stays in a line: it is empty, fits in a line, or is too deep for the width."""
    if (not branch.nodes and not branch.more) or 3 * (depth + 1) > max(context.width - 20, 6):
        return True
    if branch.shape == "object" or branch.more or len(branch.nodes) > SHORT:
        return False
    if any(isinstance(node, Branch) for node in branch.nodes):
        return False
    room = context.width - 3 * depth - 16
    return room > 0 and not json_cell(_value(branch), room).cut


def _leaf(node: Node, context: Context) -> Text:
    if isinstance(node, Leaf):
        return Text(*formatted(node.value, node.format, context, null="null"))
    text, _ = formatted(json_cell(_value(node), context.line_limit), "", context)
    return Text(text, "" if node.nodes else "dim")


def _value(node: Node) -> Any:
    """What a node stands for, with a sign where something is left out."""
    if isinstance(node, Leaf):
        return f"{node.value.text}…" if isinstance(node.value, Cut) else node.value
    inner = [_value(each) for each in node.nodes]
    if node.shape == "list":
        return inner + ["…"] * (node.more > 0)
    keys = [each.key.text if isinstance(each.key, Cut) else cast(str, each.key) for each in node.nodes]
    return dict(zip(keys, inner, strict=True)) | ({"…": node.more} if node.more else {})
