"""The models of an agent or a session, which are connected by name when they are first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import OptionError
from antiphon.session.fallback import Fallback, ModelChain
from antiphon.session.options import check_model_choice
from antiphon.session.settings import ModelProtocol

if TYPE_CHECKING:
    from antiphon.config import Configuration
    from antiphon.providers import CircuitBreaker

_Path = str | PathLike[str] | None


class ModelConnections:
    """Connects models by name, each once, and closes those. Threads may share it."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = configuration
        self._lock = threading.Lock()
        #: By name, and whether another model answers if it fails.
        self._models: dict[tuple[str | None, bool], ModelProtocol] = {}
        #: Shared by the models that have a substitute.
        self._breaker: CircuitBreaker | None = None

    def get(self, model: object, record: _Path = None, replay: _Path = None) -> ModelChain:
        """Return a model by its name, or the model of the configuration if there is none. A `Fallback` has several."""
        if not isinstance(model, Fallback):
            return ModelChain((self._get_model(model, record, replay),))
        if record is not None or replay is not None:
            raise OptionError("`record` and `replay` go with one model; give a file to the `connect` of each model")
        *first, last = model.models
        connected = [self._get_model(each, has_next=True) for each in first]
        return ModelChain((*connected, self._get_model(last)), model.on)

    def _get_model(
        self, model: object, record: _Path = None, replay: _Path = None, *, has_next: bool = False
    ) -> ModelProtocol:
        if model is None or isinstance(model, str):
            with self._lock:
                if (model, has_next) not in self._models:
                    self._models[model, has_next] = self._connect(model, record, replay, has_next)
                return self._models[model, has_next]
        if record is not None or replay is not None:
            raise OptionError("`record` and `replay` go with a model's name; for a model, give them to its `connect`")
        return cast(ModelProtocol, model)

    def get_chooser(self, model: object) -> Callable[[Any], ModelChain] | None:
        """Return the function of the dependencies that chooses the model, if `model` is one."""
        if isinstance(model, Fallback):
            return None
        check_model_choice(model)
        if not callable(model) or isinstance(model, ModelProtocol):
            return None
        return lambda deps: self.get(model(deps))

    def _connect(self, model: str | None, record: _Path, replay: _Path, has_next: bool) -> ModelProtocol:
        from antiphon.config import default_model, load_configuration
        from antiphon.providers import connect
        from antiphon.providers.circuit_breaker import CircuitBreaker
        from antiphon.providers.retry import BRIEF_RETRY

        configuration = self._configuration or load_configuration()
        name = default_model(configuration).model if model in (None, "default") else model
        if not has_next:
            return connect(name, record=record, replay=replay, environment=configuration.environment)
        self._breaker = self._breaker or CircuitBreaker()
        return connect(name, retry=BRIEF_RETRY, breaker=self._breaker, environment=configuration.environment)

    def close(self) -> None:
        """Close the connections of all models, as far as they belong to the event loop of synchronous asks."""
        from antiphon.session.sync_bridge import run_blocking

        if self._models:
            run_blocking("close", self.aclose())

    async def aclose(self) -> None:
        """Close the connections that this event loop opened."""
        for model in list(self._models.values()):
            if (close := getattr(model, "aclose", None)) is not None:
                await close()
