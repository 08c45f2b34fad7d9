"""The renderer for each type of view body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from antiphon import views
from antiphon.terminal import diffs, images, tables, trees
from antiphon.terminal import file_listing as files
from antiphon.terminal import output_and_errors as speech
from antiphon.terminal import text_rendering as prose
from antiphon.terminal.custom_renderers import RenderedBody
from antiphon.terminal.render_context import Context

BodyRenderer = Callable[[Any, Context], RenderedBody]

BODY_RENDERERS: dict[type, BodyRenderer] = {
    views.Text: prose.render_text,
    views.Markdown: prose.render_markdown_view,
    views.Code: prose.render_code,
    views.Diff: diffs.render_diff,
    views.Table: tables.render_table,
    views.Tree: trees.render_tree,
    views.Image: images.render_image,
    views.Files: files.render_files,
    views.Status: files.render_git_status,
    views.Output: speech.render_output,
    views.Failure: speech.render_failure,
    views.Question: speech.render_question,
}

if missing := set(get_args(views.ViewBody)) ^ set(BODY_RENDERERS):
    raise TypeError(f"no renderer, or no view, for {', '.join(sorted(each.__name__ for each in missing))}")


def render_body(view: views.ViewBody, context: Context) -> RenderedBody:
    """Render a view body as something rich can print."""
    return BODY_RENDERERS[type(view)](view, context)
