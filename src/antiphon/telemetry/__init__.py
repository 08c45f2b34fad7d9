"""OpenTelemetry: spans and metrics of sessions, model requests and tool calls, by the GenAI conventions.

`instrument()` switches it on for this process. It needs the extra `otel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports

if TYPE_CHECKING:
    from antiphon.telemetry.setup import export_telemetry, instrument, uninstrument

_HOMES = {"export_telemetry": "setup", "instrument": "setup", "uninstrument": "setup"}

__all__ = ["export_telemetry", "instrument", "uninstrument"]

publish_exports(globals())
__getattr__ = make_lazy_getattr(__name__, _HOMES)
