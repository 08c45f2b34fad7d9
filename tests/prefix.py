"""The measure of `bench/prefix.py`, for tests."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from antiphon.fakes import Received
from antiphon.wire import Target
from antiphon.wire.options import Profile

_BENCH = Path(__file__).parent.parent / "bench"
_PROVIDERS = {"openai-responses": "openai", "gemini": "google"}


def _load(name: str) -> Any:
    sys.path.insert(0, str(_BENCH))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(_BENCH))


prefix = _load("prefix")
cases = _load("prefix_cases")


def pieces(received: Received) -> list[str]:
    """Return the prompt of a request, piece by piece."""
    target = Target(_PROVIDERS.get(received.api, received.api), received.api, received.model, Profile())
    return prefix.pieces(received.body, target)
