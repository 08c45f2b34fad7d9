"""Model values of programs: their settings, and the connection to the model behind them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.human_questions import quote_for_question
from antiphon.lang.typecheck.model_settings import MODEL_SETTINGS, OUTPUT_STRATEGIES

if TYPE_CHECKING:
    from antiphon.config import Configuration
    from antiphon.conversation import Conversation
    from antiphon.lang.runtime.host import UntrustedPolicy
    from antiphon.providers.prewarming import Prewarming
    from antiphon.session import ModelProtocol
    from antiphon.session.settings import ReplyStream
    from antiphon.wire import Reply


class ModelValue:
    """A `model` of a program: its name there, and its settings as written.

    It is no dataclass, so that code which serializes values writes its name and not its API key.
    """

    __slots__ = ("connected", "label", "settings")

    def __init__(self, label: str, settings: Mapping[str, Any]) -> None:
        self.label = label
        self.settings = settings
        self.connected: Any = None

    def __repr__(self) -> str:
        return f"model {self.name}"

    @property
    def name(self) -> str:
        """Return the model's own name."""
        return str(self.settings.get("name", ""))

    def options(self, model: Any) -> dict[str, Any]:
        """Return the options of its requests, without sampling options if the model does not accept them."""
        target = getattr(model, "target", None)
        unknown = ("temperature", "topP") if target is not None and not target.profile.sampling else ()
        chosen = {name: each.option for name, each in MODEL_SETTINGS.items() if each.option and name not in unknown}
        return {option: self.settings[name] for name, option in chosen.items() if name in self.settings}


class UnconnectedModel:
    """A model that connects at its first request.

    A program whose answers are all in a journal then needs no API key.
    """

    def __init__(self, described: Any, connect: Callable[[], ModelProtocol]) -> None:
        self.name: str = described.name
        self.cost = described.cost
        self._description = described
        self._connect = connect
        self._asked: ModelProtocol | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._description, name)

    async def achat(self, conversation: Conversation, **options: Any) -> Reply:
        """Connect if necessary, and ask the model."""
        return await self._connected().achat(conversation, **options)

    def astream(self, conversation: Conversation, **options: Any) -> ReplyStream:
        """Connect if necessary, and ask the model with a streamed answer."""
        return self._connected().astream(conversation, **options)

    def _connected(self) -> ModelProtocol:
        with self._lock:
            if self._asked is None:
                self._asked = self._connect()
            return self._asked


@dataclass(slots=True)
class ModelConnections:
    """The connections of a program's models; `connect` returns a model for a name, as `antiphon.connect` does."""

    configured: Callable[[], Configuration]
    default_model: Callable[[], str]
    connect: Callable[..., ModelProtocol] | None = None
    record: str | None = None
    replay: str | None = None
    #: Requires permission before prompts go to an unexpected address.
    distrust: UntrustedPolicy | None = None
    #: Shared by the models of runs that begin alike.
    prewarming: Prewarming | None = None
    _transport: Any = None
    _lock: Any = field(default_factory=threading.Lock)

    def connect_model(self, value: ModelValue, *, is_sent: bool) -> ModelProtocol:
        """Return the model behind a value, connected once; without `is_sent` it needs no key and no permission."""
        if not is_sent:
            return self._connected(value, is_sent)
        with self._lock:
            if value.connected is None:
                is_own = self.connect is None and self.distrust is None and self.replay is None
                value.connected = self._connected(value, not is_own)
                if is_own:
                    value.connected = UnconnectedModel(value.connected, lambda: self._connected(value, is_sent=True))
            return value.connected

    def _connected(self, value: ModelValue, is_sent: bool) -> ModelProtocol:
        from antiphon.providers.model import Model

        model = self._connect(value, is_sent)
        # A recording has the requests of one run.
        if self.prewarming is not None and self.replay is None and isinstance(model, Model):
            model.prewarming = self.prewarming
        return model

    def _connect(self, value: ModelValue, is_sent: bool) -> ModelProtocol:
        settings = value.settings
        strategy = settings.get("strategy")
        if strategy is not None and strategy not in OUTPUT_STRATEGIES:
            raise VibeError("V0921", f"`strategy` is one of {', '.join(OUTPUT_STRATEGIES)}, not {strategy!r}")
        given: dict[str, Any] = {
            each.connect: settings[name]
            for name, each in MODEL_SETTINGS.items()
            if each.connect and settings.get(name) not in (None, "")
        }
        if not is_sent:
            given.setdefault("key", "none")
        name = value.name
        if name == "default":
            # `"default"` lets a program give the configured model tools and settings without naming it.
            name = self.default_model()
        if self.distrust is not None and is_sent and self.replay is None:
            _require_prompt_permission(self.distrust, name, given, self.configured().environment)
        if self.connect is not None:
            return self.connect(name, **given)
        from antiphon.providers import connect

        if self.record is not None or self.replay is not None:
            # All models of a program share one recording.
            given |= self._make_recording_options(given)
        return connect(name, environment=self.configured().environment, **given)

    def _make_recording_options(self, given: dict[str, Any]) -> dict[str, Any]:
        from antiphon.providers.recording import RecordingTransport, ReplayTransport

        if self._transport is None:
            self._transport = (
                ReplayTransport(self.replay) if self.replay is not None else RecordingTransport(self.record or "")
            )
        return {"transport": self._transport, **({"key": "replay"} if self.replay and not given.get("key") else {})}


def _require_prompt_permission(
    distrust: UntrustedPolicy, name: str, given: Mapping[str, Any], environment: Mapping[str, str]
) -> None:
    """Require permission for prompts, unless they stay here or go to a provider for which the user has a key."""
    from antiphon.providers import resolve
    from antiphon.providers.registry import place_model

    provider, own = resolve(name, given.get("provider"), given.get("url"))
    if provider.name == "local" and own.lower().endswith(".gguf"):
        distrust.allow(f"load a model from the file {quote_for_question(own)}")
    written = given.get("provider", "")
    address = given.get("url") or (written if "://" in written else place_model(provider, own, environment).url)
    is_elsewhere = "url" in given or "://" in written
    if not is_elsewhere and "key" not in given and (provider.name == "local" or provider.key(environment)):
        return
    own_key = "your key" if provider.key(environment) else "your sign-in" if provider.sign_in else "no key"
    key = "a key of its own" if "key" in given else own_key
    distrust.allow(f"send prompts to {quote_for_question(address)} with {key}")
