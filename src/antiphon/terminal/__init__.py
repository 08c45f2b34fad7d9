"""Results and events in a terminal, with rich. Data is displayed, never interpreted as control sequences.

`print_result(result)` prints one; `make_renderable(result)` is something rich can print anywhere.
`register_renderer` gives a kind its own rendering. This package knows every package but the web page and the
commands.
"""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.terminal.approval_prompt import Person
from antiphon.terminal.custom_renderers import Renderer, page_description, register_renderer
from antiphon.terminal.layout import Lines, TextRow, fold, hang_indent
from antiphon.terminal.render_context import Context, make_console
from antiphon.terminal.result_renderable import ResultRenderable, make_renderable, print_result, sort_results
from antiphon.terminal.sanitizer import sanitize_line, sanitize_text

if TYPE_CHECKING:
    from antiphon.terminal.live_view import LiveView

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

publish_exports(globals())
# Loaded lazily: displaying a result needs no session.
__getattr__ = make_lazy_getattr(__name__, {"LiveView": "live_view"})
