"""Models as programs have them: what was written between the braces, and how the model behind it is found."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.lang.check.models import SETTINGS, STRATEGIES
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.questions import named

if TYPE_CHECKING:
    from antiphon.config import Configuration
    from antiphon.conversation import Conversation
    from antiphon.lang.run.distrust import Distrust
    from antiphon.providers.prewarming import Prewarming
    from antiphon.session import Asks
    from antiphon.session.settings import Replies
    from antiphon.wire import Reply


class ModelValue:
    """A `model` of a program: what it is called there, and its settings as they were written.

    No dataclass, so that whoever writes down values writes its name, and not its key.
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
        """The model's own name."""
        return str(self.settings.get("name", ""))

    def options(self, model: Any) -> dict[str, Any]:
        """The options of its requests; a model that chooses its words itself is not told how."""
        target = getattr(model, "target", None)
        unknown = ("temperature", "topP") if target is not None and not target.profile.sampling else ()
        chosen = {name: each.option for name, each in SETTINGS.items() if each.option and name not in unknown}
        return {option: self.settings[name] for name, option in chosen.items() if name in self.settings}


class Unasked:
    """A model that is connected when it is first asked: where a journal knows all its answers, nobody needs a key."""

    def __init__(self, described: Any, connect: Callable[[], Asks]) -> None:
        self.name: str = described.name
        self.cost = described.cost
        self._described = described
        self._connect = connect
        self._asked: Asks | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._described, name)

    async def achat(self, conversation: Conversation, **options: Any) -> Reply:
        """Ask it."""
        return await self._connected().achat(conversation, **options)

    def astream(self, conversation: Conversation, **options: Any) -> Replies:
        """Ask it, and read the answer as it comes."""
        return self._connected().astream(conversation, **options)

    def _connected(self) -> Asks:
        with self._lock:
            if self._asked is None:
                self._asked = self._connect()
            return self._asked


@dataclass(slots=True)
class Connections:
    """Finds the models of a program: `connect` gives one for a name, as `antiphon.connect` does."""

    configured: Callable[[], Configuration]
    default_model: Callable[[], str]
    connect: Callable[..., Asks] | None = None
    record: str | None = None
    replay: str | None = None
    #: Asks before a prompt goes where nobody would expect it.
    distrust: Distrust | None = None
    #: Shared by the models of runs that begin alike.
    prewarming: Prewarming | None = None
    _transport: Any = None
    _lock: Any = field(default_factory=threading.Lock)

    def of(self, value: ModelValue, *, is_sent: bool) -> Asks:
        """The model behind a value, connected once; one that nothing `is_sent` to needs no key and nobody's leave."""
        if not is_sent:
            return self._connected(value, is_sent)
        with self._lock:
            if value.connected is None:
                is_own = self.connect is None and self.distrust is None and self.replay is None
                value.connected = self._unasked(value) if is_own else self._connected(value, is_sent)
            return value.connected

    def _unasked(self, value: ModelValue) -> Asks:
        return Unasked(self._connected(value, is_sent=False), lambda: self._connected(value, is_sent=True))

    def _connected(self, value: ModelValue, is_sent: bool) -> Asks:
        from antiphon.providers.model import Model

        model = self._connect(value, is_sent)
        # A recording has the requests of one run.
        if self.prewarming is not None and self.replay is None and isinstance(model, Model):
            model.prewarming = self.prewarming
        return model

    def _connect(self, value: ModelValue, is_sent: bool) -> Asks:
        settings = value.settings
        strategy = settings.get("strategy")
        if strategy is not None and strategy not in STRATEGIES:
            raise VibeError("V0921", f"`strategy` is one of {', '.join(STRATEGIES)}, not {strategy!r}")
        given: dict[str, Any] = {
            each.connect: settings[name]
            for name, each in SETTINGS.items()
            if each.connect and settings.get(name) not in (None, "")
        }
        if not is_sent:
            given.setdefault("key", "none")
        name = value.name
        if name == "default":
            # A program may say which tools and settings the configured model gets without naming it.
            name = self.default_model()
        if self.distrust is not None and is_sent and self.replay is None:
            _allow(self.distrust, name, given, self.configured().environment)
        if self.connect is not None:
            return self.connect(name, **given)
        from antiphon.providers import connect

        if self.record is not None or self.replay is not None:
            # All models of a program share one recording.
            given |= self._recorded(given)
        return connect(name, environment=self.configured().environment, **given)

    def _recorded(self, given: dict[str, Any]) -> dict[str, Any]:
        from antiphon.providers.recording import Recorder, Replayer

        if self._transport is None:
            self._transport = Replayer(self.replay) if self.replay is not None else Recorder(self.record or "")
        return {"transport": self._transport, **({"key": "replay"} if self.replay and not given.get("key") else {})}


def _allow(distrust: Distrust, name: str, given: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """Ask before prompts go anywhere but to a provider the user has a key of, with that key, or stay here."""
    from antiphon.providers import resolve

    provider, own = resolve(name, given.get("provider"), given.get("url"))
    if provider.name == "local" and own.lower().endswith(".gguf"):
        distrust.allow(f"load a model from the file {named(own)}")
    written = given.get("provider", "")
    address = given.get("url") or (written if "://" in written else provider.address(environment))
    is_elsewhere = "url" in given or "://" in written
    if not is_elsewhere and "key" not in given and (provider.name == "local" or provider.key(environment)):
        return
    key = "a key of its own" if "key" in given else "your key" if provider.key(environment) else "no key"
    distrust.allow(f"send prompts to {named(address)} with {key}")
