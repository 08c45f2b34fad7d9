"""A model at a provider, ready for requests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from antiphon._base.did_you_mean import hint_arguments, make_hinting_getattr, suggest_name
from antiphon._base.json_access import as_array
from antiphon.conversation import Conversation
from antiphon.errors import ConfigurationError, ContentError, OptionError, PrefixBroken
from antiphon.facts.model_facts import Facts
from antiphon.facts.retirement import warn_of_retirement
from antiphon.providers import catalog
from antiphon.providers.circuit_breaker import Circuit, CircuitBreaker
from antiphon.providers.client import HttpClient
from antiphon.providers.continuation import DEFAULT_CONTINUATIONS, Pending
from antiphon.providers.credential import KeyFunction
from antiphon.providers.exchange import ModelExchange
from antiphon.providers.prewarming import Prewarming
from antiphon.providers.redaction import extract_url_secrets, find_request_secrets, split_credentials
from antiphon.providers.registry import (
    LOCAL_PROVIDER,
    Provider,
    build_key_headers,
    check_key_text,
    needs_key,
    place_model,
    resolve,
)
from antiphon.providers.response_limits import MAX_BYTES, MAX_SECONDS, ResponseLimits
from antiphon.providers.retry import Retry
from antiphon.wire import ModelSettings, Options, Reply, ReplyDelta, Target, Usage, wire
from antiphon.wire.cache import add_cache_options, find_prompt_change
from antiphon.wire.media import check_new_media
from antiphon.wire.prompt import announce_request_changes, is_costly_change

if TYPE_CHECKING:
    import httpx2

    from antiphon.conversation import File, Media
    from antiphon.providers.authorization import Authorizer
    from antiphon.providers.batches import Deferral, ProviderBatches
    from antiphon.providers.embeddings import EmbeddingJob, Embeddings
    from antiphon.providers.uploads import UploadExchange

_OPTION_NAMES = tuple(ModelSettings.__annotations__)
#: Arguments of other libraries, and those of `connect`.
_CONNECT_ALIASES = {
    **dict.fromkeys(("api_key", "openai_api_key", "anthropic_api_key"), "key"),
    **dict.fromkeys(("base_url", "api_base", "endpoint"), "url"),
    **dict.fromkeys(("max_retries", "num_retries", "retries"), "retry=Retry(…)"),
    **dict.fromkeys(("request_timeout",), "timeout"),
    **dict.fromkeys(("default_headers", "extra_headers"), "headers"),
    **dict.fromkeys(("max_completion_tokens", "max_output_tokens"), "max_tokens"),
    **dict.fromkeys(("stop_sequences",), "stop"),
    **dict.fromkeys(("reasoning_effort", "effort", "thinking"), "reasoning"),
    **dict.fromkeys(("extra_body", "model_kwargs"), "extra"),
}
_CHAT_HINT = "`model.chat(conversation)` asks with a `Conversation`, and `Session(model).chat(TEXT)` with a text"
_ATTRIBUTE_HINTS = {
    **dict.fromkeys(("invoke", "complete", "completion", "completions", "generate", "create", "ask"), _CHAT_HINT),
    **dict.fromkeys(("predict", "responses", "messages", "run", "prompt", "call", "request_sync"), _CHAT_HINT),
    **dict.fromkeys(("ainvoke", "acompletion", "agenerate"), "`await model.achat(conversation)` asks"),
    **dict.fromkeys(("embeddings", "embedding"), "`embed` makes embeddings: `model.embed(…)`"),
    **dict.fromkeys(("bind_tools", "tools"), "`Session(model, tools=[…])` runs tools"),
    "with_structured_output": "`Session(model).vibe(TEXT, returns=TYPE)` gives a typed answer",
    "model_name": "its name is `model.name`",
}


@hint_arguments({}, "connect('openai/gpt-5')")
class Model:
    """A model at a provider, created by `connect`. One may serve many conversations concurrently.

    `chat` and `stream` add the reply to the conversation when it is complete and not before. After an
    error or a cancellation, the conversation stays as it was. Whatever others add to the conversation
    in the meantime comes after the reply. `achat` and `astream` do the same asynchronously.
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
        bounds: ResponseLimits,
        continuations: int,
        authorizer: Authorizer[Any] | None = None,
    ) -> None:
        profile = provider.profile
        self.provider = provider
        self.target = Target(provider.name, provider.api, name, profile)
        #: The name as `provider/model`.
        self.name = f"{provider.name}/{name}"
        self.options = options
        self.retry = retry
        self._codec = wire(provider.api)
        self._path, self._stream_path = [self._codec.path(self.target, is_stream) for is_stream in (False, True)]
        self._limits = bounds
        self._continuations = continuations
        #: Where many conversations begin alike, lets one of them go first; models may share it.
        self.prewarming: Prewarming | None = None
        #: The failures of the server, if a breaker counts them.
        self.circuit: Circuit | None = None
        url, user = split_credentials(url)
        auth = build_key_headers(provider.get_key_header(), key)
        auth |= {"authorization": user} if user else {}
        if authorizer is not None and authorizer.header in {name.lower() for name in (*auth, *headers)}:
            # As with a key: a header of the user's takes its place.
            authorizer = None
        given = {**provider.headers, **auth, **headers}
        self._secrets = find_request_secrets(given, key, *extract_url_secrets(proxy or ""))
        if authorizer is not None:
            self._secrets = self._secrets.with_issued(authorizer.issued)
        sent = {"content-type": "application/json", **given}
        # The read timeout must not exceed the limit of the whole answer.
        silence = min((each for each in (timeout, bounds.seconds) if each is not None), default=None)
        self._client = HttpClient(provider.name, url.rstrip("/"), sent, silence, proxy, transport, authorizer)

    @property
    def facts(self) -> Facts:
        """The currently known facts about the model; rejections may have taught more since `connect`."""
        facts = self.target.facts
        return facts if facts.context is not None else catalog.get_facts_with_size(self.target)

    @property
    def url(self) -> str:
        """The base URL in use."""
        return self._client.url

    def __repr__(self) -> str:
        return f"<Model {self.name} at {self.url}>"

    if not TYPE_CHECKING:
        __getattr__ = make_hinting_getattr(_ATTRIBUTE_HINTS)

    def chat(self, conversation: Conversation, **options: Any) -> Reply:
        """Send the conversation to the model and add the reply to it."""
        exchange = self._begin(conversation, options, stream=False)
        for _ in self._client.drive(exchange, self._path):
            pass
        return exchange.reply

    async def achat(self, conversation: Conversation, **options: Any) -> Reply:
        """Send the conversation to the model asynchronously and add the reply to it."""
        exchange = self._begin(conversation, options, stream=False)
        async for _ in self._client.arun_exchange(exchange, self._path):
            pass
        return exchange.reply

    def stream(self, conversation: Conversation, **options: Any) -> ModelStream:
        """Send the conversation and iterate over the answer: `with model.stream(c) as stream: for d in
        stream`.
        """
        exchange = self._begin(conversation, options, stream=True)
        return ModelStream(exchange, self._client.drive(exchange, self._stream_path))

    def astream(self, conversation: Conversation, **options: Any) -> AsyncModelStream:
        """Like `stream`, asynchronously: `async with model.astream(c) as stream: async for delta in
        stream`.
        """
        exchange = self._begin(conversation, options, stream=True)
        return AsyncModelStream(exchange, self._client.arun_exchange(exchange, self._stream_path))

    def embed(
        self, texts: Iterable[str], *, dimensions: int | None = None, extra: Mapping[str, Any] | None = None
    ) -> Embeddings:
        """Return the embeddings of texts, if this is an embedding model.

        `dimensions` asks for shorter vectors; `extra` are more fields of the request.
        """
        job = self._begin_embedding(texts, dimensions, extra)
        for exchange in job.exchanges:
            for _ in self._client.drive(exchange, job.path):
                pass
        return job.collect()

    async def aembed(
        self, texts: Iterable[str], *, dimensions: int | None = None, extra: Mapping[str, Any] | None = None
    ) -> Embeddings:
        """Like `embed`, but asynchronous."""
        job = self._begin_embedding(texts, dimensions, extra)
        for exchange in job.exchanges:
            async for _ in self._client.arun_exchange(exchange, job.path):
                pass
        return job.collect()

    def _begin_embedding(
        self, texts: Iterable[str], dimensions: int | None, extra: Mapping[str, Any] | None
    ) -> EmbeddingJob:
        from functools import partial

        from antiphon.providers.embeddings import EmbeddingJob
        from antiphon.providers.json_exchange import JsonExchange

        make = partial(
            JsonExchange, self._codec, self.target, self.retry, self._limits, self._secrets, circuit=self.circuit
        )
        return EmbeddingJob(self.target, make, self.cost, texts, dimensions, extra)

    def upload(self, part: Media) -> File:
        """Store a file with the model's provider, and return it as a part that can be sent in its place.

        A session does this by itself for files that do not fit into a request.
        """
        exchange = self._begin_upload(part)
        for _ in self._client.drive(exchange, exchange.path):
            pass
        return exchange.file

    async def aupload(self, part: Media) -> File:
        """Like `upload`, but asynchronous."""
        exchange = self._begin_upload(part)
        async for _ in self._client.arun_exchange(exchange, exchange.path):
            pass
        return exchange.file

    def _begin_upload(self, part: Media) -> UploadExchange:
        from antiphon.providers.exchange import SendRequest
        from antiphon.providers.uploads import UploadExchange

        inner = (self._codec, self.target, self.retry, self._limits, self._secrets)
        return UploadExchange(*inner, SendRequest(b""), part=part, url=self._client.url)

    def request(self, conversation: Conversation, *, stream: bool = False, **options: Any) -> bytes:
        """Return the body that `chat`, or `stream`, would send, without sending it."""
        return self._begin(conversation, options, stream=stream).request.body

    def announce(self, conversation: Conversation, **options: Any) -> None:
        """Record changes since the last request, if the model accepts them within the conversation."""
        merged = merge_options(self.options, options) if options else self.options
        announce_request_changes(conversation, self.target, merged)

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of an exchange in US dollars, or None if it is unknown."""
        return catalog.compute_cost(self.target.provider, self.target.model, usage)

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

    def _open_batches(self) -> ProviderBatches:
        from antiphon.providers.batches import ProviderBatches

        return ProviderBatches(
            self._client, self._codec, self.target, self._path, self.retry, self._limits, self._secrets
        )

    def _begin(self, conversation: Conversation, changes: dict[str, Any], stream: bool) -> ModelExchange:
        if not isinstance(conversation, Conversation):
            raise ContentError(
                f"a model is asked with a Conversation, not {type(conversation).__name__}; `Session(model).chat(TEXT)` "
                "takes a text"
            )
        asked, target = conversation, self.target
        if conversation.request_heads is None:
            conversation.check_ready()
        pending: Pending | None = changes.pop("pending", None)
        deferral: Deferral | None = changes.pop("deferral", None)
        options = replace(merge_options(self.options, changes), stream=stream) if changes or stream else self.options
        if deferral is not None and options.background:
            raise OptionError("`background` and a batch exclude each other: what is in a batch waits anyway")
        if options.tool_choice is not None:
            _check_tool_choice(options.tool_choice, conversation)
        check_new_media(conversation, target)
        if conversation.request_heads is None:
            announce_request_changes(conversation, target, options)
            # Turns added to the conversation meanwhile must not enter the requests that continue this one.
            asked = conversation.fork_for_request()
        options = add_cache_options(conversation, target, options)
        if self.prewarming is not None and options.cache is True and "1h" in target.facts.cache.ttls:
            # Others read the beginning later; what stands behind it is this conversation's own.
            options = replace(options, head_cache="1h")
        expired = None
        if conversation.state:
            from antiphon.providers.rejection_recovery import drop_expired_container

            expired = drop_expired_container(conversation, target)
        request = self._codec.encode(asked, target, options)
        if options.prefix == "error" and request.prompt is not None:
            change = find_prompt_change(conversation, target, request.prompt)
            if change is not None and is_costly_change(change, target):
                raise PrefixBroken(f"{change}; nothing was sent, because `prefix` is 'error'")
        return ModelExchange(
            self._codec,
            target,
            self.retry,
            self._limits,
            self._secrets.with_secrets(request.secrets) if request.secrets else self._secrets,
            conversation,
            asked,
            options,
            request,
            self._continuations,
            self.prewarming,
            pending,
            None if deferral is None else (deferral, self._open_batches()),
            healed=[expired] if expired else [],
            circuit=self.circuit,
        )


class ModelStream:
    """An answer while it arrives. Leaving early closes the connection and does not change the
    conversation.
    """

    def __init__(self, exchange: ModelExchange, deltas: Generator[ReplyDelta, None, None]) -> None:
        self._exchange = exchange
        self._deltas = deltas

    @property
    def reply(self) -> Reply:
        """The complete reply, once the iteration has ended."""
        return self._exchange.reply

    def __iter__(self) -> Iterator[ReplyDelta]:
        return self._deltas

    def close(self) -> None:
        """Close the connection."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncModelStream:
    """Asynchronous counterpart of `ModelStream`."""

    def __init__(self, exchange: ModelExchange, deltas: AsyncGenerator[ReplyDelta, None]) -> None:
        self._exchange = exchange
        self._deltas = deltas

    @property
    def reply(self) -> Reply:
        """The complete reply, once the iteration has ended."""
        return self._exchange.reply

    def __aiter__(self) -> AsyncIterator[ReplyDelta]:
        return self._deltas

    async def aclose(self) -> None:
        """Close the connection."""
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
    key: str | KeyFunction | None = None,
    headers: Mapping[str, str] | None = None,
    retry: Retry | None = None,
    timeout: float | None = 600.0,
    max_seconds: float | None = MAX_SECONDS,
    max_bytes: int | None = MAX_BYTES,
    continuations: int = DEFAULT_CONTINUATIONS,
    breaker: CircuitBreaker | None = None,
    proxy: str | None = None,
    transport: httpx2.BaseTransport | httpx2.AsyncBaseTransport | None = None,
    record: str | PathLike[str] | None = None,
    replay: str | PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    **options: Unpack[ModelSettings],
) -> Model:
    """Return a model by name: `anthropic/claude-sonnet-5`, `gpt-5`, or any name with the `url` of its
    server.

    The key comes from `key`, or from the provider's usual variable in the process's environment or the
    given one (`environment` of a `Configuration` includes stored keys). `key` is a text or a function that
    returns one, also asynchronously; it is called when there is no key, and when the key expired or was
    rejected. Proxies come from `proxy` or the process's environment. `timeout` is the read timeout in
    seconds; `max_seconds` and `max_bytes` limit a complete answer, with None for no limit. An answer that
    takes several requests is continued at most `continuations` times. A `breaker` refuses requests while
    the server keeps failing. `options` are those of `Options` and
    apply to every request unless it overrides them. `record` names a file for all exchanges, from which
    `replay` answers later, without key or network.
    """
    place, name = resolve(model, provider, url)
    place = place_model(place, name, environment, url)
    found = _check_key(key) if key is not None else place.key(environment)
    if replay is not None or record is not None:
        from antiphon.providers.recording import RecordingTransport, ReplayTransport

        transport = ReplayTransport(replay) if replay is not None else RecordingTransport(record or "", proxy=proxy)
        if replay is not None:
            found = "replay" if isinstance(found, str) else lambda: "replay"
    authorizer = None
    if not isinstance(found, str):
        from antiphon.providers.authorization import make_key_authorizer

        # A function for a platform returns tokens.
        header = "authorization" if place.sign_in else place.get_key_header()
        authorizer, found = make_key_authorizer(place.name, found, header), ""
    elif not found and place.sign_in:
        from antiphon.providers.sign_in import make_platform_authorizer

        authorizer = make_platform_authorizer(place, environment)
    if not found and authorizer is None and needs_key(place) and url is None:
        raise ConfigurationError(
            f"no key for {place.name}: `antiphon setup keys set {place.name}` stores one; or set"
            f" {' or '.join(place.key_env)}, or pass `key`; without a key there is `local/0.5b`, on this machine"
            f"{catalog.suggest_model_name(place.name, name)}"
        )
    warn_of_retirement(place.name, name)
    _check_settings(found, place.url, headers or {}, retry or Retry(), proxy)
    _check_limits(timeout=timeout, max_seconds=max_seconds, max_bytes=max_bytes)
    if breaker is not None and not isinstance(breaker, CircuitBreaker):
        raise OptionError(f"`breaker` is a CircuitBreaker, such as CircuitBreaker(failures=3), not {breaker!r:.60}")
    if not isinstance(continuations, int) or isinstance(continuations, bool) or continuations < 0:
        raise OptionError(f"`continuations` is a whole number from 0, not {continuations!r:.60}")
    kind = Model
    if place.name == LOCAL_PROVIDER and url is None:
        from antiphon.local.model import LocalModel as kind
    connected = kind(
        place,
        name,
        url=place.url,
        key=found,
        headers=headers or {},
        options=merge_options(Options(), options),
        retry=retry or Retry(),
        timeout=timeout,
        proxy=proxy,
        transport=transport,
        bounds=ResponseLimits(max_bytes, max_seconds),
        continuations=continuations,
        authorizer=authorizer,
    )
    if breaker is not None:
        connected.circuit = breaker.get_circuit(place.name, connected.url)
    return connected


def _check_key(key: object) -> str | KeyFunction:
    if isinstance(key, str):
        return key
    if callable(key):
        return cast("KeyFunction", key)
    raise OptionError(f"`key` is a text or a function that returns one, not {type(key).__name__}")


def merge_options(options: Options, changes: Mapping[str, Any]) -> Options:
    """Return the options with some of them changed. Raise OptionError for an unknown one."""
    for name in changes:
        if name not in _OPTION_NAMES:
            near = _CONNECT_ALIASES.get(name) or suggest_name(name, _OPTION_NAMES)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(_OPTION_NAMES)}"
            raise OptionError(f"there is no option `{name}`; {hint}")
    stop: Any = changes.get("stop")
    fixed: dict[str, Any] = {}
    if stop is not None:
        fixed["stop"] = (stop,) if isinstance(stop, str) else tuple(as_array(stop)) or stop
    return replace(options, **{**changes, **fixed})


def _check_tool_choice(choice: str, conversation: Conversation) -> None:
    if choice in ("auto", "none", "required") or any(tool.name == choice for tool in conversation.tools):
        return
    known = ", ".join(tool.name for tool in conversation.tools) or "none"
    raise OptionError(f"`tool_choice` is 'auto', 'none', 'required' or a tool in force, not {choice!r}; tools: {known}")


def _check_settings(key: str, url: str, headers: object, retry: object, proxy: str | None) -> None:
    """Raise an error for settings that httpx2 would report later or less clearly. Never quote a possible
    secret.
    """
    check_key_text(key)
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


def _check_limits(**bounds: object) -> None:
    for name, value in bounds.items():
        if value is not None and (not isinstance(value, int | float) or isinstance(value, bool) or not value > 0):
            unit = "bytes" if name == "max_bytes" else "seconds"
            raise OptionError(f"`{name}` is a number of {unit} above 0 or None, not {value!r:.60}")
