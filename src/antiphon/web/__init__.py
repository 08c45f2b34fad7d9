"""The web page: sessions, their results and open questions in a browser. `app()` is an ASGI application.

It renders data of `antiphon.views` and events of sessions. The server never sends markup made from
data. It needs `antiphon[web]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.web.application import app

_HOMES = {"app": "application"}

__all__ = ["app"]

__getattr__ = make_lazy_getattr(__name__, _HOMES)
