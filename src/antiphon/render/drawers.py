"""Which function draws which type of view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from antiphon import views
from antiphon.render import diffs, files, images, prose, speech, tables, trees
from antiphon.render.context import Context
from antiphon.render.registry import Drawn

Drawer = Callable[[Any, Context], Drawn]

DRAWERS: dict[type, Drawer] = {
    views.Text: prose.text,
    views.Markdown: prose.markdown,
    views.Code: prose.code,
    views.Diff: diffs.diff,
    views.Table: tables.table,
    views.Tree: trees.tree,
    views.Image: images.image,
    views.Files: files.files,
    views.Status: files.status,
    views.Output: speech.output,
    views.Failure: speech.failure,
    views.Question: speech.question,
}

if missing := set(get_args(views.Body)) ^ set(DRAWERS):
    raise TypeError(f"no drawer, or no view, for {', '.join(sorted(each.__name__ for each in missing))}")


def draw(view: views.Body, context: Context) -> Drawn:
    """What rich can print of a view."""
    return DRAWERS[type(view)](view, context)
