"""`git.status`: the worked example of a kind with a renderer of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from rich.text import Text

from antiphon.render.context import Context
from antiphon.render.layout import Lines, Row, fold, hang
from antiphon.render.registry import register_renderer
from antiphon.render.values import object_of, text_of
from antiphon.results import Result

_GROUPS = (("staged", "+", "green"), ("modified", "~", "yellow"), ("untracked", "?", "red"))


@register_renderer("git.status", page="The branch with how far it is ahead and behind, then the files of each group.")
def show_status(result: Result, context: Context) -> Lines:
    """Branch, distance to the remote branch, and the files that are staged, modified and untracked."""
    return Lines(_rows(object_of(result.data, "a git status"), context))


def _rows(data: dict[str, Any], context: Context) -> Iterator[Row]:
    ahead = f" {context.sign('↑', 'ahead ')}{data['ahead']}" if _count(data, "ahead") else ""
    behind = f" {context.sign('↓', 'behind ')}{data['behind']}" if _count(data, "behind") else ""
    branch = context.line(text_of(data, "branch") or "(no branch)", 200)
    yield fold(Text.assemble((branch, "bold"), (ahead, "green"), (behind, "red")), context.width)
    groups = [(sign, style, _paths(data, name)) for name, sign, style in _GROUPS]
    if not any(paths for *_, paths in groups):
        yield Text("nothing to commit", "dim")
    for sign, style, paths in groups:
        for path in paths:
            yield hang(Text(f"{sign} ", style), context.text(str(path)), context.width)


def _count(data: dict[str, Any], key: str) -> bool:
    value = data.get(key)
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _paths(data: dict[str, Any], name: str) -> list[Any]:
    paths: object = data.get(name)
    return cast(list[Any], paths) if isinstance(paths, list) else []
