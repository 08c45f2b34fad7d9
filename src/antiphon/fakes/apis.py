"""The fakes of all APIs by name."""

from __future__ import annotations

from importlib import import_module

from antiphon.fakes.api_base import FakeApi
from antiphon.wire import APIS

FAKE_APIS: dict[str, FakeApi] = {
    name: import_module(f"antiphon.fakes.{spec.module}").FAKE_API for name, spec in APIS.items()
}
"""The fake of every API: an API without one fails at import."""
