"""A model in this process, with the face of one at a provider."""

from __future__ import annotations

from typing import Any

from antiphon.providers.local.files import checked_name
from antiphon.providers.local.transport import LocalTransport
from antiphon.providers.model import Model
from antiphon.providers.recording import Recorder
from antiphon.providers.registry import Provider
from antiphon.wire import Usage


class LocalModel(Model):
    """A model that runs here. All of one file share what is loaded; requests that come together take turns."""

    def __init__(self, provider: Provider, name: str, *, transport: Any = None, **settings: Any) -> None:
        name = checked_name(name)
        self._local = LocalTransport(name)
        if isinstance(transport, Recorder):
            transport.inner = self._local
        super().__init__(provider, name, transport=transport or self._local, **settings)

    def __repr__(self) -> str:
        return f"<LocalModel {self.name}>"

    @property
    def is_loaded(self) -> bool:
        """Whether it can answer at once."""
        return self._local.is_loaded

    def fetch(self) -> None:
        """Have the file of its weights here: ask the user before it is fetched, and show how far that is."""
        self._local.path()

    def load(self) -> None:
        """Have it ready to answer: fetched, and in memory."""
        self._local.engine()

    def count_tokens(self, text: str) -> int:
        """How many tokens a text is to this model: `conversation.compact(6000, count=model.count_tokens)`."""
        return self._local.engine().count_tokens(text)

    def cost(self, usage: Usage) -> float:  # noqa: ARG002
        """Nothing."""
        return 0.0
