"""Talking to providers: send, stream, retry. The registry knows their names, keys, sizes and prices.

This room knows nothing of tools or of the language. `connect` is where to begin.
"""

from antiphon.providers.catalog import Capabilities, capabilities, register_model
from antiphon.providers.model import AsyncStream, Model, Stream, connect
from antiphon.providers.registry import PROVIDERS, Provider, register_provider, resolve
from antiphon.providers.retry import NO_RETRY, Retry

__all__ = [
    "NO_RETRY",
    "PROVIDERS",
    "AsyncStream",
    "Capabilities",
    "Model",
    "Provider",
    "Retry",
    "Stream",
    "capabilities",
    "connect",
    "register_model",
    "register_provider",
    "resolve",
]
