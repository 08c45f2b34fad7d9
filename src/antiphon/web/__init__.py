"""The page: results, runs and what waits for people, in a browser. `app()` is an ASGI application.

What is drawn is data from `antiphon.views`, what happens comes from the journal. Nothing is sent to the page as
markup. It needs `antiphon[web]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.web.application import app

_HOMES = {"app": "application"}

__all__ = ["app"]

__getattr__ = lazy(__name__, _HOMES)
