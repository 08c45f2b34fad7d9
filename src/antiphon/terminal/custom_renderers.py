"""Custom renderers for kinds of results, registered by programs and plugins."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from rich.console import RenderableType

from antiphon.errors import ContentError
from antiphon.results import Result
from antiphon.results.result import KIND
from antiphon.terminal.layout import Lines
from antiphon.terminal.render_context import Context
from antiphon.views.select import BODY_BUILDERS_BY_KIND

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

RenderedBody = RenderableType | Lines
Renderer = Callable[[Result, Context], RenderedBody]
R = TypeVar("R", bound=Renderer)

#: Entry points of this group are renderers; the name of an entry point is the kind.
ENTRY_POINT_GROUP = "antiphon.renderers"

_renderers: dict[str, Renderer] = {}
#: A description in words of how each kind is displayed.
page_description: dict[str, str] = {kind: make.__doc__ or "" for kind, make in BODY_BUILDERS_BY_KIND.items()}


def register_renderer(kind: str, *, page: str = "") -> Callable[[R], R]:
    """Register a function as the renderer of a kind: `@register_renderer("git.status")`.

    It receives the result and a `Context` and returns something rich can print, or `Lines`. A later
    registration replaces an earlier one. `page` describes the display in words, for the web page.
    """
    if not KIND.match(kind):
        raise ContentError(
            f"a kind is lowercase words with dots between namespaces, such as 'git.status', not {kind!r}"
        )

    def register(renderer: R) -> R:
        _renderers[kind] = renderer
        if page:
            page_description[kind] = page
        return renderer

    return register


def find_renderer(kind: str) -> Renderer | None:
    """Return the renderer of a kind, if any. A plugin is imported when its kind is first used.

    Kinds with a view of their own are rendered by it, unless a program registers another renderer.
    """
    if (
        kind not in _renderers
        and kind not in BODY_BUILDERS_BY_KIND
        and (plugin := _find_plugins().get(kind)) is not None
    ):
        _renderers[kind] = _load_plugin(plugin)
    return _renderers.get(kind)


@cache
def _find_plugins() -> dict[str, EntryPoint]:
    # Slow to import, and not needed for built-in kinds.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def _load_plugin(plugin: EntryPoint) -> Renderer:
    """Return the plugin's renderer; for one that cannot be imported, a renderer that raises the error."""
    try:
        return plugin.load()
    except Exception as error:
        reason = f"{plugin.value} cannot be imported: {type(error).__name__}: {error}"

        def raise_import_error(_: Result, __: Context) -> RenderableType:
            raise RuntimeError(reason)

        return raise_import_error
