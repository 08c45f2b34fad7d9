"""Rendering of data of any shape as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from rich.text import Text

from antiphon import views
from antiphon.terminal.layout import Lines, TextRow, fold, hang_indent
from antiphon.terminal.render_context import Context
from antiphon.terminal.theme import ACCENT
from antiphon.terminal.values import format_cell_value
from antiphon.views import Branch, Cut, Leaf, TreeNode
from antiphon.views.data_window import make_json_cell
from antiphon.views.trees import SHORT_LIST


def render_tree(view: views.Tree, context: Context) -> Lines:
    """Render the branches one below the other, the outermost level without connecting lines."""
    root = view.root
    if isinstance(root, Branch) and (root.nodes or root.more):
        rows = list(_render_branches(root, "", 0, context))
    else:
        rows = [_render_leaf(root, context)]
    return Lines(rows, len(rows) + view.more, at_least=view.at_least)


def _render_branches(branch: Branch, indent: str, depth: int, context: Context) -> Iterator[TextRow]:
    last = len(branch.nodes) - 1 if not branch.more else None
    corner, fork, line = (context.sign(*pair) for pair in (("└─ ", "`- "), ("├─ ", "|- "), ("│  ", "|  ")))
    for number, node in enumerate(branch.nodes):
        joint = "" if not depth else corner if number == last else fork
        label = Text.assemble((indent + joint, "dim"), _format_label(node, context))
        if not isinstance(node, Branch) or _is_inline(node, depth, context):
            yield hang_indent(Text.assemble(label, " "), _render_leaf(node, context), context.width)
            continue
        count = len(node.nodes) + node.more
        yield fold(
            Text.assemble(label, (f" {{{count}}}" if node.shape == "object" else f" [{count}]", "dim")), context.width
        )
        below = indent if not depth else indent + ("   " if number == last else line)
        yield from _render_branches(node, below, depth + 1, context)


def _format_label(node: TreeNode, context: Context) -> tuple[str, str]:
    key = node.key
    return (f"{context.line(key)}:", ACCENT) if isinstance(key, str | Cut) else (f"{key}:", "dim")


def _is_inline(branch: Branch, depth: int, context: Context) -> bool:
    """Return whether a branch stays on one line: it is empty, fits, or is too deep for the width."""
    if (not branch.nodes and not branch.more) or 3 * (depth + 1) > max(context.width - 20, 6):
        return True
    if branch.shape == "object" or branch.more or len(branch.nodes) > SHORT_LIST:
        return False
    if any(isinstance(node, Branch) for node in branch.nodes):
        return False
    room = context.width - 3 * depth - 16
    return room > 0 and not make_json_cell(_to_plain_value(branch), room).cut


def _render_leaf(node: TreeNode, context: Context) -> Text:
    if isinstance(node, Leaf):
        return Text(*format_cell_value(node.value, node.format, context, null="null"))
    text, _ = format_cell_value(make_json_cell(_to_plain_value(node), context.line_limit), "", context)
    return Text(text, "" if node.nodes else "dim")


def _to_plain_value(node: TreeNode) -> Any:
    """Return the value of a node, with a sign where something is left out."""
    if isinstance(node, Leaf):
        return f"{node.value.text}…" if isinstance(node.value, Cut) else node.value
    inner = [_to_plain_value(each) for each in node.nodes]
    if node.shape == "list":
        return inner + ["…"] * (node.more > 0)
    keys = [each.key.text if isinstance(each.key, Cut) else cast(str, each.key) for each in node.nodes]
    return dict(zip(keys, inner, strict=True)) | ({"…": node.more} if node.more else {})
