"""The fallback chain: renderer of the kind, then preferred view, MIME type, shape, and at last a tree of the data."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.render import diffs, files, git, images, prose, speech, tables, trees
from antiphon.render.context import Context
from antiphon.render.registry import Body, Renderer, renderer_for
from antiphon.render.values import content_of
from antiphon.results import Result

#: The modules whose kinds are registered when they are imported.
SHIPPED = (diffs, files, git, images, prose, speech, tables, trees)

_DIFFS = ("text/x-diff", "text/x-patch")
_CODE = {"text/html": "html", "text/css": "css", "text/javascript": "javascript", "text/x-python": "python",
         "application/xml": "xml", "text/xml": "xml", "application/x-sh": "bash", "application/yaml": "yaml",
         "application/toml": "toml", "application/javascript": "javascript", "application/sql": "sql"}  # fmt: skip


def attempts(result: Result) -> Iterator[tuple[str, Renderer]]:
    """Ways to show a result, the best first, each with its name. The last one takes any data."""
    renderer = renderer_for(result.kind)
    if renderer is not None:
        yield f"the renderer of {result.kind}", renderer
    if result.data is None:
        return
    seen: set[str] = set()
    for view in (result.display.preferred_view or "", _by_mime_type(result.mime_type), _by_shape(result.data), "tree"):
        if view in _VIEWS and view not in seen:
            seen.add(view)
            yield f"the {view} view", _VIEWS[view]


def _by_mime_type(mime_type: str) -> str:
    kind = mime_type.partition(";")[0].strip().lower()
    if kind == "text/markdown":
        return "markdown"
    if kind in _DIFFS:
        return "diff"
    if kind in _CODE:
        return "code"
    if kind.startswith("text/"):
        return "text"
    if kind.startswith("image/"):
        return "image"
    return "tree" if kind == "application/json" or kind.endswith("+json") else ""


def _by_shape(data: object) -> str:
    return "table" if tables.is_tabular(data) else "text" if isinstance(data, str) else "tree"


def _text(result: Result, context: Context) -> Body:
    return prose.plain(content_of(result.data), context)


def _markdown(result: Result, context: Context) -> Body:
    return prose.markdown(content_of(result.data), context)


def _code(result: Result, context: Context) -> Body:
    language = result.display.language or _CODE.get(result.mime_type, "")
    return prose.code(content_of(result.data), language, context)


_VIEWS: dict[str, Renderer] = {
    "text": _text,
    "markdown": _markdown,
    "code": _code,
    "diff": lambda result, context: diffs.diff(result.data, context),
    "table": lambda result, context: tables.table(result.data, context),
    "tree": lambda result, context: trees.tree(result.data, context),
    "image": images.image,
    "raw": lambda result, context: trees.raw(result.data, context),
}
