"""Renderers: functions of others that draw results of a kind in their own way, registered by programs and plugins."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from rich.console import RenderableType

from antiphon.errors import ContentError
from antiphon.render.context import Context
from antiphon.render.layout import Lines
from antiphon.results import Result
from antiphon.results.result import KIND
from antiphon.views.choice import KINDS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Drawn = RenderableType | Lines
Renderer = Callable[[Result, Context], Drawn]
R = TypeVar("R", bound=Renderer)

#: Entry points of this group are renderers; the name of an entry point is the kind.
GROUP = "antiphon.renderers"

_renderers: dict[str, Renderer] = {}
#: What is seen of each kind, in words.
page_description: dict[str, str] = {kind: make.__doc__ or "" for kind, make in KINDS.items()}


def register_renderer(kind: str, *, page: str = "") -> Callable[[R], R]:
    """Make a function the renderer of a kind: `@register_renderer("git.status", page="Branch and files")`.

    It gets the result and a `Context` and returns something rich can print, or `Lines`. A later registration replaces
    an earlier one. `page` says in words what is shown, for the web page.
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


def renderer_for(kind: str) -> Renderer | None:
    """The renderer of a kind, if there is one. A plugin is imported when its kind is first seen, and only then.

    What has a view of its own is drawn by it, unless a program wants it otherwise.
    """
    if kind not in _renderers and kind not in KINDS and (plugin := _plugins().get(kind)) is not None:
        _renderers[kind] = _loaded(plugin)
    return _renderers.get(kind)


@cache
def _plugins() -> dict[str, EntryPoint]:
    # Slow to import, and not needed by those who only show what ships.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _loaded(plugin: EntryPoint) -> Renderer:
    """The plugin's renderer; for one that cannot be imported, a renderer that says so each time it is asked."""
    try:
        return plugin.load()
    except Exception as error:
        reason = f"{plugin.value} cannot be imported: {type(error).__name__}: {error}"

        def broken(_: Result, __: Context) -> RenderableType:
            raise RuntimeError(reason)

        return broken
