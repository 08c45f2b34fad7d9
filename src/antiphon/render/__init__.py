"""Results and events in a terminal, with rich. What is in a result is shown, never obeyed.

`print_result(result)` prints one; `renderable(result)` is something rich can print anywhere. `register_renderer` gives
a kind a look of its own. Knows every room but the web page and the commands.
"""

from typing import TYPE_CHECKING

from antiphon._public import lazy, publish
from antiphon.render.context import Context, console
from antiphon.render.drawing import Drawing, ordered, print_result, renderable
from antiphon.render.layout import Lines, Row, fold, hang
from antiphon.render.people import Person
from antiphon.render.registry import Renderer, page_description, register_renderer
from antiphon.render.safe import safe, safe_line

if TYPE_CHECKING:
    from antiphon.render.live import LiveView

__all__ = [
    "Context",
    "Drawing",
    "Lines",
    "LiveView",
    "Person",
    "Renderer",
    "Row",
    "console",
    "fold",
    "hang",
    "ordered",
    "page_description",
    "print_result",
    "register_renderer",
    "renderable",
    "safe",
    "safe_line",
]

publish(globals())
# Whoever shows a result needs no session.
__getattr__ = lazy(__name__, {"LiveView": "live"})
