"""Communication with providers: send, stream and retry. The registry holds their names, keys, sizes
and prices.

This package knows nothing of tools or of the language. Begin with `connect`. Names are imported on
first use: to see which keys are set, no HTTP client is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.providers.circuit_breaker import CircuitBreaker
    from antiphon.providers.credential import Credential
    from antiphon.providers.embeddings import Embeddings, aembed, embed
    from antiphon.providers.model import AsyncModelStream, Model, ModelStream, connect
    from antiphon.providers.recording import ReplayMismatch
    from antiphon.providers.registry import PROVIDERS, Provider, register_provider, resolve
    from antiphon.providers.retry import NO_RETRY, Retry

_HOMES = {
    "NO_RETRY": "retry",
    "PROVIDERS": "registry",
    "AsyncModelStream": "model",
    "CircuitBreaker": "circuit_breaker",
    "Credential": "credential",
    "Embeddings": "embeddings",
    "Model": "model",
    "Provider": "registry",
    "ReplayMismatch": "recording",
    "Retry": "retry",
    "ModelStream": "model",
    "aembed": "embeddings",
    "connect": "model",
    "embed": "embeddings",
    "register_provider": "registry",
    "resolve": "registry",
}

__all__ = [
    "NO_RETRY",
    "PROVIDERS",
    "AsyncModelStream",
    "CircuitBreaker",
    "Credential",
    "Embeddings",
    "Model",
    "ModelStream",
    "Provider",
    "ReplayMismatch",
    "Retry",
    "aembed",
    "connect",
    "embed",
    "register_provider",
    "resolve",
]

__getattr__ = make_lazy_getattr(__name__, _HOMES)
