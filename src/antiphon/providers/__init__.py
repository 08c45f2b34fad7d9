"""Talking to providers: send, stream, retry. The registry knows their names, keys, sizes and prices.

This room knows nothing of tools or of the language. `connect` is where to begin. Each name is imported when it is first
used: whoever only wants to know whose key is set needs no client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.providers.model import AsyncStream, Model, Stream, connect
    from antiphon.providers.recording import ReplayMismatch
    from antiphon.providers.registry import PROVIDERS, Provider, register_provider, resolve
    from antiphon.providers.retry import NO_RETRY, Retry

_HOMES = {
    "NO_RETRY": "retry",
    "PROVIDERS": "registry",
    "AsyncStream": "model",
    "Model": "model",
    "Provider": "registry",
    "ReplayMismatch": "recording",
    "Retry": "retry",
    "Stream": "model",
    "connect": "model",
    "register_provider": "registry",
    "resolve": "registry",
}

__all__ = [
    "NO_RETRY",
    "PROVIDERS",
    "AsyncStream",
    "Model",
    "Provider",
    "ReplayMismatch",
    "Retry",
    "Stream",
    "connect",
    "register_provider",
    "resolve",
]

__getattr__ = lazy(__name__, _HOMES)
