"""The stage of a scenario: servers on loopback, sessions that ask them, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from antiphon import Session, connect
from antiphon.providers import Retry
from tests.referees.anthropic_server import AnthropicServer
from tests.referees.gemini_server import GeminiServer
from tests.referees.loopback import LoopbackServer
from tests.referees.openai_server import OpenAIServer
from tests.referees.script import Line

SERVERS: dict[str, Callable[[], LoopbackServer]] = {
    "anthropic": AnthropicServer,
    "openai": OpenAIServer,
    "openai-chat": OpenAIServer,
    "google": GeminiServer,
}


@dataclass(slots=True)
class Stage:
    """Start one server for each vendor that a scenario asks, and make sessions of Antiphon's public API."""

    model: str
    servers: dict[str, LoopbackServer] = field(default_factory=dict)
    _opened: list[Any] = field(default_factory=list)

    @property
    def api(self) -> str:
        """Return the provider's part of the model's name."""
        return self.model.split("/")[0]

    def play(self, *answers: Line, model: str = "") -> None:
        """Add answers to the script of the server that serves the model."""
        self._get_server(model or self.model).script.extend(answers)

    def connect(self, model: str = "", **options: Any) -> Any:
        """Return a connected model."""
        name = model or self.model
        server = self._get_server(name)
        url = server.root + ("/v1" if name.startswith("openai") else "")
        made = connect(name, url=url, key="k", retry=Retry(attempts=3, first_wait=0.01, longest_wait=0.02), **options)
        self._opened.append(made)
        return made

    def session(self, tools: Iterable[Any] = (), system: str = "", *, model: str = "", **options: Any) -> Session:
        """Return a session that asks the model."""
        return Session(self.connect(model), tools, system, **options)

    def _get_server(self, name: str) -> LoopbackServer:
        vendor = name.split("/")[0]
        if vendor not in self.servers:
            self.servers[vendor] = SERVERS[vendor]().__enter__()
        return self.servers[vendor]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._opened:
            each.close()
        for server in self.servers.values():
            server.__exit__()
