"""Models that run in this process: their weights, and the provider that speaks to them."""

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.providers.local.manifest import Weights, known
    from antiphon.providers.local.progress import Report
    from antiphon.providers.local.weights import Status, ensure, pull, remove, status

_HOMES = {
    "Report": "progress",
    "Status": "weights",
    "Weights": "manifest",
    "ensure": "weights",
    "known": "manifest",
    "pull": "weights",
    "remove": "weights",
    "status": "weights",
}

__all__ = ["Report", "Status", "Weights", "ensure", "known", "pull", "remove", "status"]

__getattr__ = lazy(__name__, _HOMES)
