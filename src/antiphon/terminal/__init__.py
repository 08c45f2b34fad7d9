"""Results and events in a terminal, with rich. Data is displayed, never interpreted as control sequences.

`print_result(result)` prints one; `make_renderable(result)` is something rich can print anywhere.
`register_renderer` gives a kind its own rendering. This package knows every package but the web page and the
commands.
"""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.terminal.approval_prompt import Person
    from antiphon.terminal.custom_renderers import Renderer, page_description, register_renderer
    from antiphon.terminal.layout import Lines, TextRow, fold, hang_indent
    from antiphon.terminal.live_view import LiveView
    from antiphon.terminal.render_context import Context, make_console
    from antiphon.terminal.result_renderable import ResultRenderable, make_renderable, print_result, sort_results
    from antiphon.terminal.sanitizer import sanitize_line, sanitize_text

_MODULE_BY_NAME = {
    **dict.fromkeys(("Renderer", "page_description", "register_renderer"), "custom_renderers"),
    **dict.fromkeys(("Lines", "TextRow", "fold", "hang_indent"), "layout"),
    **dict.fromkeys(("Context", "make_console"), "render_context"),
    **dict.fromkeys(("ResultRenderable", "make_renderable", "print_result", "sort_results"), "result_renderable"),
    **dict.fromkeys(("sanitize_line", "sanitize_text"), "sanitizer"),
    **{"LiveView": "live_view", "Person": "approval_prompt"},
}

__all__ = [
    "Context",
    "Lines",
    "LiveView",
    "Person",
    "Renderer",
    "ResultRenderable",
    "TextRow",
    "fold",
    "hang_indent",
    "make_console",
    "make_renderable",
    "page_description",
    "print_result",
    "register_renderer",
    "sanitize_line",
    "sanitize_text",
    "sort_results",
]

# Loaded lazily: displaying a result needs no session, and a line of text no table.
__getattr__ = make_lazy_getattr(__name__, _MODULE_BY_NAME)
