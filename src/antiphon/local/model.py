"""A model that runs in this process, with the interface of one at a provider."""

from __future__ import annotations

from typing import Any

from antiphon.local.resolve import normalize_local_name
from antiphon.local.transport import LocalTransport
from antiphon.providers.model import Model
from antiphon.providers.recording import RecordingTransport
from antiphon.providers.registry import Provider
from antiphon.wire import Usage


class LocalModel(Model):
    """A model that runs in this process. Models of one file share its engine, and their requests take
    turns.
    """

    def __init__(self, provider: Provider, name: str, *, transport: Any = None, **settings: Any) -> None:
        name = normalize_local_name(name)
        self._local = LocalTransport(name)
        if isinstance(transport, RecordingTransport):
            transport.inner = self._local
        super().__init__(provider, name, transport=transport or self._local, **settings)

    def __repr__(self) -> str:
        return f"<LocalModel {self.name}>"

    @property
    def is_loaded(self) -> bool:
        """True if the model can answer without loading."""
        return self._local.is_loaded

    def fetch(self) -> None:
        """Download the weights if they are missing and the user agrees, and show progress."""
        self._local.path()

    def load(self) -> None:
        """Download the weights if needed and load them into memory."""
        self._local.engine()

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text for this model: `conversation.compact(6000,
        count=model.count_tokens)`.
        """
        return self._local.engine().count_tokens(text)

    def cost(self, usage: Usage) -> float:  # noqa: ARG002
        """Return zero: local models cost nothing."""
        return 0.0
