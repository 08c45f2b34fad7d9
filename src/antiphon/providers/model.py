"""A model at a provider, ready to be asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from dataclasses import fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from antiphon._shape import arr
from antiphon._suggestions import nearest
from antiphon.conversation import Conversation, Image, UserTurn
from antiphon.errors import ConfigurationError, ContentError, NotReadyError, OptionError, PrefixBroken
from antiphon.facts.lifetimes import warn_of_end
from antiphon.facts.model_facts import Facts
from antiphon.facts.resolution import default_model, lookup
from antiphon.providers import catalog
from antiphon.providers.bounds import MAX_BYTES, MAX_SECONDS, Bounds
from antiphon.providers.client import Client
from antiphon.providers.continuation import CONTINUATIONS, Pending
from antiphon.providers.exchange import Exchange
from antiphon.providers.prewarming import Prewarming
from antiphon.providers.registry import LOCAL, Provider, needs_key, resolve
from antiphon.providers.retry import Retry
from antiphon.providers.secrets import secrets_in, user_secrets, without_user
from antiphon.wire import Delta, Options, Reply, Request, Target, Usage, wire
from antiphon.wire.cache import cache_key, last_sent
from antiphon.wire.images import refusal
from antiphon.wire.options import fit_options
from antiphon.wire.prompt import announce, is_costly

if TYPE_CHECKING:
    import httpx2

#: What the library sets itself.
_INTERNAL = ("stream", "continues", "cache_key", "compare_with", "head_cache")
_OPTIONS = tuple(field.name for field in fields(Options) if field.name not in _INTERNAL)
_KEY_HEADERS = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}


class Model:
    """A model at a provider, made by `connect`. One may serve many conversations at once.

    `chat` and `stream` add the reply to the conversation when it is complete and not before: whatever goes wrong on
    the way, and whenever it is cancelled, the conversation stays as it was. What others add to the conversation in the
    meantime comes after the reply. `achat` and `astream` do the same asynchronously.
    """

    def __init__(
        self,
        provider: Provider,
        name: str,
        *,
        url: str,
        key: str,
        headers: Mapping[str, str],
        options: Options,
        retry: Retry,
        timeout: float | None,
        proxy: str | None,
        transport: Any,
        bounds: Bounds,
        continuations: int,
    ) -> None:
        profile = provider.profile
        self.provider = provider
        self.target = Target(provider.name, provider.api, name, profile)
        self.options = options
        self.retry = retry
        self._wire = wire(provider.api)
        self._bounds = bounds
        self._continuations = continuations
        self._keyed: tuple[Options, Options] | None = None
        #: Where many conversations begin alike, lets one of them go first; models may share it.
        self.prewarming: Prewarming | None = None
        url, user = without_user(url)
        header = _KEY_HEADERS.get(provider.api, "authorization")
        auth = {header: f"Bearer {key}" if header == "authorization" else key} if key else {}
        auth |= {"authorization": user} if user else {}
        given = {**provider.headers, **auth, **headers}
        self._secrets = secrets_in(given, key, *user_secrets(proxy or ""))
        sent = {"content-type": "application/json", **given}
        # No single silence may last longer than the whole.
        silence = min((each for each in (timeout, bounds.seconds) if each is not None), default=None)
        self._client = Client(provider.name, url.rstrip("/"), sent, silence, proxy, transport)

    @property
    def facts(self) -> Facts:
        """Return what is known about the model now; refusals may have taught more since `connect`."""
        return catalog.known_facts(self.target)

    @property
    def name(self) -> str:
        """`provider/model`."""
        return f"{self.target.provider}/{self.target.model}"

    @property
    def url(self) -> str:
        """The base URL in use."""
        return self._client.url

    def __repr__(self) -> str:
        return f"<Model {self.name} at {self.url}>"

    def chat(self, conversation: Conversation, **options: Any) -> Reply:
        """Ask the model; the reply is added to the conversation."""
        exchange = self._begin(conversation, options, stream=False)
        for _ in self._client.drive(exchange, self._wire.path(self.target, False)):
            pass
        return exchange.reply

    async def achat(self, conversation: Conversation, **options: Any) -> Reply:
        """Ask the model; the reply is added to the conversation."""
        exchange = self._begin(conversation, options, stream=False)
        async for _ in self._client.adrive(exchange, self._wire.path(self.target, False)):
            pass
        return exchange.reply

    def stream(self, conversation: Conversation, **options: Any) -> Stream:
        """Ask the model and iterate over the answer as it comes: `with model.stream(c) as stream: for d in stream`."""
        exchange = self._begin(conversation, options, stream=True)
        return Stream(exchange, self._client.drive(exchange, self._wire.path(self.target, True)))

    def astream(self, conversation: Conversation, **options: Any) -> AsyncStream:
        """Like `stream`: `async with model.astream(c) as stream: async for delta in stream`."""
        exchange = self._begin(conversation, options, stream=True)
        return AsyncStream(exchange, self._client.adrive(exchange, self._wire.path(self.target, True)))

    def request(self, conversation: Conversation, *, stream: bool = False, **options: Any) -> bytes:
        """The body that `chat` would send, or `stream`, without sending it."""
        return self._begin(conversation, options, stream=stream).request.body

    def announce(self, conversation: Conversation, **options: Any) -> None:
        """Record what has changed since the last request, where the model can be told of it in the conversation."""
        announce(conversation, self.target, fit_options(self.target, changed(self.options, options)))

    def cost(self, usage: Usage) -> float | None:
        """What an exchange cost in US dollars, or nothing where that is not known."""
        return catalog.cost(self.target.provider, self.target.model, usage)

    def close(self) -> None:
        """Close the connections of `chat` and `stream`."""
        self._client.close()

    async def aclose(self) -> None:
        """Close the connections of `achat` and `astream` that this event loop opened."""
        await self._client.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _set_cache_key(self, options: Options, key: str) -> Options:
        """Return the options with a cache key, the same value for all requests of a conversation."""
        if self._keyed is None or self._keyed[0] is not options or self._keyed[1].cache_key != key:
            self._keyed = (options, replace(options, cache_key=key))
        return self._keyed[1]

    def _begin(self, conversation: Conversation, changes: dict[str, Any], stream: bool) -> Exchange:
        if not isinstance(conversation, Conversation):
            raise ContentError(f"a model is asked with a Conversation, not {type(conversation).__name__}")
        ready = conversation.ready()
        if not ready:
            raise NotReadyError(f"the conversation cannot be sent: {ready.reason}")
        pending: Pending | None = changes.pop("pending", None)
        options = replace(changed(self.options, changes), stream=stream) if changes or stream else self.options
        options = fit_options(self.target, options)
        _check_tool_choice(options, conversation)
        _check_images(conversation, self.target)
        announce(conversation, self.target, options)
        sent = last_sent(conversation, self.target)
        if sent is not None and sent.is_missed and self.target.facts.cache.diagnostics:
            options = replace(options, compare_with=sent.reply_id)
        if options.cache and (key := cache_key(conversation, self.target)):
            options = self._set_cache_key(options, key)
        if self.prewarming is not None and options.cache is True and "1h" in self.target.facts.cache.ttls:
            # Others read the beginning later; what stands behind it is this conversation's own.
            options = replace(options, head_cache="1h")
        expired = None
        if conversation.state:
            from antiphon.providers.healing import forget_expired

            expired = forget_expired(conversation, self.target)

        def encode(asked: Conversation, changes: Mapping[str, Any]) -> Request:
            return self._wire.encode(asked, self.target, replace(options, **changes) if changes else options)

        # What is added to the conversation meanwhile is no part of the requests that continue this one.
        asked = conversation.to_be_asked()
        request = encode(asked, {})
        if options.prefix == "error" and sent is not None and request.prompt is not None:
            change = request.prompt.change_since(sent.prompt)
            if change is not None and is_costly(change, self.target):
                raise PrefixBroken(f"{change}; nothing was sent, because `prefix` is 'error'")
        return Exchange(
            self._wire,
            self.target,
            self.retry,
            self._bounds,
            self._secrets.with_more(each for tool in conversation.tools for each in tool.secret_texts),
            conversation,
            asked,
            encode,
            options,
            request,
            self._continuations,
            self.prewarming,
            pending,
            healed=[expired] if expired else [],
        )


class Stream:
    """An answer while it comes. Leaving it early closes the connection and leaves the conversation as it was."""

    def __init__(self, exchange: Exchange, deltas: Generator[Delta, None, None]) -> None:
        self._exchange = exchange
        self._deltas = deltas

    @property
    def reply(self) -> Reply:
        """The whole reply, once the iteration has come to its end."""
        return self._exchange.reply

    def __iter__(self) -> Iterator[Delta]:
        return self._deltas

    def close(self) -> None:
        """Stop listening."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream:
    """The same, asynchronously."""

    def __init__(self, exchange: Exchange, deltas: AsyncGenerator[Delta, None]) -> None:
        self._exchange = exchange
        self._deltas = deltas

    @property
    def reply(self) -> Reply:
        """The whole reply, once the iteration has come to its end."""
        return self._exchange.reply

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self._deltas

    async def aclose(self) -> None:
        """Stop listening."""
        await self._deltas.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def connect(
    model: str,
    *,
    provider: str | None = None,
    url: str | None = None,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    retry: Retry | None = None,
    timeout: float | None = 600.0,
    max_seconds: float | None = MAX_SECONDS,
    max_bytes: int | None = MAX_BYTES,
    continuations: int = CONTINUATIONS,
    proxy: str | None = None,
    transport: httpx2.BaseTransport | httpx2.AsyncBaseTransport | None = None,
    record: str | PathLike[str] | None = None,
    replay: str | PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Model:
    """A model by name: `anthropic/claude-sonnet-5`, `gpt-5`, or any name with the `url` of its server.

    The key comes from `key` or from the provider's usual variable in the process's environment, or in the one that is
    given (`environment` of a `Configuration` has stored keys too); proxies come from `proxy` or the process's.
    `timeout` is how long the server may be silent, in seconds; `max_seconds` and `max_bytes` bound a whole answer, for
    which `None` is no bound. An answer that a provider gives in several steps is continued at most `continuations`
    times. `options` are those of `Options` and hold for every request unless it says otherwise.
    `record` names a file for all exchanges, which `replay` answers from later, with no key and no network.
    """
    place, name = resolve(model, provider, url)
    if place.name == "azure" and lookup("openai", name).tools_api in ("responses_only", "effort_none_only"):
        # The same address serves both APIs, and only one of them takes tools.
        place = replace(place, api="openai-responses")
    address = url or place.address(environment)
    found = key if key is not None else place.key(environment)
    if replay is not None or record is not None:
        from antiphon.providers.recording import Recorder, Replayer

        transport = Replayer(replay) if replay is not None else Recorder(record or "", proxy=proxy)
        found = found or ("replay" if replay is not None else "")
    if not found and needs_key(place) and url is None:
        raise ConfigurationError(
            f"no key for {place.name}: `antiphon keys set {place.name}` stores one; or set"
            f" {' or '.join(place.key_env)}, or pass `key`; without a key there is `local/0.5b`, on this machine"
            f"{catalog.unknown_name(place.name, name)}"
        )
    warn_of_end(place.name, name)
    _check_settings(found, address, headers or {}, retry or Retry(), proxy)
    _check_bounds(timeout=timeout, max_seconds=max_seconds, max_bytes=max_bytes)
    if not isinstance(continuations, int) or isinstance(continuations, bool) or continuations < 0:
        raise OptionError(f"`continuations` is a whole number from 0, not {continuations!r:.60}")
    kind = Model
    if place.name == LOCAL and url is None:
        from antiphon.providers.local.model import LocalModel as kind
    return kind(
        place,
        name,
        url=address,
        key=found,
        headers=headers or {},
        options=changed(Options(), options),
        retry=retry or Retry(),
        timeout=timeout,
        proxy=proxy,
        transport=transport,
        bounds=Bounds(max_bytes, max_seconds),
        continuations=continuations,
    )


def changed(options: Options, changes: Mapping[str, Any]) -> Options:
    """These options with some of them changed; an unknown one is an OptionError."""
    for name in changes:
        if name not in _OPTIONS:
            near = nearest(name, _OPTIONS)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(_OPTIONS)}"
            raise OptionError(f"there is no option `{name}`; {hint}")
    stop: Any = changes.get("stop")
    fixed: dict[str, Any] = {}
    if stop is not None:
        fixed["stop"] = (stop,) if isinstance(stop, str) else tuple(arr(stop)) or stop
    return replace(options, **{**changes, **fixed})


def _check_tool_choice(options: Options, conversation: Conversation) -> None:
    choice = options.tool_choice
    if choice in (None, "auto", "none", "required") or any(tool.name == choice for tool in conversation.tools):
        return
    known = ", ".join(tool.name for tool in conversation.tools) or "none"
    raise OptionError(f"`tool_choice` is 'auto', 'none', 'required' or a tool in force, not {choice!r}; tools: {known}")


def _check_images(conversation: Conversation, target: Target) -> None:
    """Refuse an image that is asked about and cannot be seen. Of earlier ones, and of a tool's, the model is told."""
    for turn in reversed(conversation.turns):
        if not isinstance(turn, UserTurn):
            return
        for part in turn.parts:
            if isinstance(part, Image) and (reason := refusal(part, target)):
                others = "" if target.sees_images() else f", such as {_seeing_models()}"
                raise ContentError(
                    f"an image cannot be sent to {target.provider}/{target.model}: {reason}{others}"
                    " (`conversation.undo()` takes it back)"
                )


def _seeing_models() -> str:
    """Return the names of models that can see images, for a message."""
    return " or ".join(filter(None, map(default_model, ("anthropic", "google"))))


def _check_settings(key: str, url: str, headers: object, retry: object, proxy: str | None) -> None:
    """What httpx2 would tell only later, or in words of its own. No message quotes what may hold a secret."""
    if not key.isascii() or not key.isprintable():
        raise ConfigurationError("the key holds characters that no HTTP header takes; was it copied whole?")
    if "?" in url or "#" in url:
        raise ConfigurationError(
            "a base URL ends with its path: what stands after `?` or `#` would reach nobody; a key goes into `key`,"
            " anything else into `headers`"
        )
    if not isinstance(headers, Mapping):
        raise OptionError(f"`headers` is an object of texts, not {type(headers).__name__}")
    if not isinstance(retry, Retry):
        raise OptionError(f"`retry` is a Retry, such as Retry(attempts=3), not {retry!r}")
    if proxy is not None and "://" not in proxy:
        raise OptionError("`proxy` is a URL such as 'http://localhost:3128', with its scheme")


def _check_bounds(**bounds: object) -> None:
    for name, value in bounds.items():
        if value is not None and (not isinstance(value, int | float) or isinstance(value, bool) or not value > 0):
            unit = "bytes" if name == "max_bytes" else "seconds"
            raise OptionError(f"`{name}` is a number of {unit} above 0 or None, not {value!r:.60}")
