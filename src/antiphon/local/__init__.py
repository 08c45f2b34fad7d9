"""Models that run in this process: their weights, and the provider that serves them."""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.local.manifest import Weights, known
    from antiphon.local.progress import Report
    from antiphon.local.weights import WeightsStatus, ensure, pull, remove, status

_HOMES = {
    "Report": "progress",
    "WeightsStatus": "weights",
    "Weights": "manifest",
    "ensure": "weights",
    "known": "manifest",
    "pull": "weights",
    "remove": "weights",
    "status": "weights",
}

__all__ = ["Report", "Weights", "WeightsStatus", "ensure", "known", "pull", "remove", "status"]

__getattr__ = make_lazy_getattr(__name__, _HOMES)
