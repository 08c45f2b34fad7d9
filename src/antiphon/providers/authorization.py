"""Authorization of requests: credentials are fetched when needed, kept until they expire, and fetched once for all."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from antiphon.errors import CredentialsFailed, OptionError
from antiphon.providers.credential import Credential, KeyFunction
from antiphon.providers.redaction import SecretRedactor
from antiphon.providers.registry import build_key_headers, check_key_text
from antiphon.wire.text_conventions import truncate_server_text

T = TypeVar("T")
#: A credential is renewed this long before it expires, or a tenth of its life, in seconds.
_MARGIN, _MARGIN_SHARE = 60.0, 0.1
#: How many of the last credentials are removed from messages.
_MAX_REMEMBERED = 32


@dataclass(frozen=True, slots=True)
class Issued(Generic[T]):
    """A fetched credential, and until when it is used, in seconds since 1970."""

    value: T = field(repr=False)
    until: float | None


class OutgoingRequest(NamedTuple):
    """The parts of a request that a signature covers."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class CredentialSource(Generic[T]):
    """Fetches a credential when there is none that is valid. Concurrent requests fetch it once.

    `fetch` may block or be asynchronous. It runs in a thread if it is called from an event loop.
    """

    def __init__(
        self,
        provider: str,
        fetch: Callable[[], object],
        accept: Callable[[Any], Issued[T]],
        list_secrets: Callable[[T], Iterable[str]],
        *,
        what: str,
        forget: Callable[[], object] | None = None,
    ) -> None:
        self._provider = provider
        self._fetch = fetch
        # Checks what was fetched, which is often what a function of the user's returned.
        self._accept = accept
        self._list_secrets = list_secrets
        self._what = what
        #: Makes `fetch` forget what it keeps, after a rejection.
        self._forget = forget
        self._held: Issued[T] | None = None
        self._lock = threading.Lock()
        # The lock of an asynchronous function belongs to its event loop.
        self._loop_locks: WeakKeyDictionary[Any, asyncio.Lock] = WeakKeyDictionary()
        #: The last texts that must never be shown.
        self.issued: deque[str] = deque(maxlen=_MAX_REMEMBERED)

    def __repr__(self) -> str:
        return f"<{self._what} of {self._provider}>"

    def get(self) -> Issued[T]:
        """Return a valid credential."""
        if (held := self._current()) is not None:
            return held
        with self._lock:
            if (held := self._current()) is not None:
                return held
            with self._explained():
                said = self._fetch()
                return self._keep(_run_to_end(said) if inspect.isawaitable(said) else said)

    async def aget(self) -> Issued[T]:
        """Return a valid credential. The event loop goes on meanwhile."""
        if (held := self._current()) is not None:
            return held
        async with self._loop_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if (held := self._current()) is not None:
                return held
            with self._explained():
                if inspect.iscoroutinefunction(self._fetch):
                    return self._keep(await self._fetch())
                said = await asyncio.to_thread(self._fetch_in_thread)
                return said if isinstance(said, Issued) else self._keep(await said)

    def discard(self, rejected: Issued[T]) -> None:
        """Forget a credential that the provider rejected, unless it was replaced meanwhile."""
        with self._lock:
            if self._held is not rejected:
                return
            self._held = None
            if self._forget is not None:
                self._forget()

    def _current(self) -> Issued[T] | None:
        held = self._held
        return held if held is not None and (held.until is None or time.time() < held.until) else None

    def _fetch_in_thread(self) -> Issued[T] | Awaitable[object]:
        """Return the credential, or what is to be awaited for it."""
        with self._lock:
            if (held := self._current()) is not None:
                return held
            said = self._fetch()
            return said if inspect.isawaitable(said) else self._keep(said)

    def _keep(self, said: object) -> Issued[T]:
        held = self._accept(said)
        self.issued.extend(text for text in self._list_secrets(held.value) if text and text not in self.issued)
        self._held = held
        return held

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except CredentialsFailed:
            raise
        except Exception as error:
            said = SecretRedactor(()).with_issued(self.issued).hide(str(error)) or "no reason given"
            reason = f"{type(error).__name__}: {truncate_server_text(said)}"
            raise CredentialsFailed(
                f"{self._what} of {self._provider} failed, so nothing was sent: {reason}", provider=self._provider
            ) from error


class Authorizer(Generic[T]):
    """Adds to each request the headers that prove who sends it."""

    def __init__(
        self,
        source: CredentialSource[T],
        build_headers: Callable[[T, OutgoingRequest], Mapping[str, str]],
        *,
        header: str = "authorization",
        expired_words: tuple[str, ...] = (),
    ) -> None:
        self._source = source
        self._build_headers = build_headers
        #: The header that holds the proof.
        self.header = header
        #: Values of AWS's `x-amzn-errortype` that mean an expired credential.
        self._expired_words = expired_words

    def __repr__(self) -> str:
        return f"<Authorizer with {self._source!r}>"

    @property
    def issued(self) -> Collection[str]:
        """The texts that must never be shown; it grows."""
        return self._source.issued

    def authorize(self, request: OutgoingRequest) -> tuple[Mapping[str, str], Issued[T]]:
        """Return the headers for a request, and the credential that they prove."""
        held = self._source.get()
        return self._build_headers(held.value, request), held

    async def aauthorize(self, request: OutgoingRequest) -> tuple[Mapping[str, str], Issued[T]]:
        """Like `authorize`, but asynchronous."""
        held = await self._source.aget()
        return self._build_headers(held.value, request), held

    def discard(self, held: Issued[T]) -> None:
        """Forget a credential that the provider rejected."""
        self._source.discard(held)

    def means_expired(self, status: int, headers: Mapping[str, str]) -> bool:
        """Return whether an answer rejects the credential, so that a new one may help."""
        said = headers.get("x-amzn-errortype", "").partition(":")[0]
        return status == 401 or (status == 403 and said in self._expired_words)


def make_key_authorizer(provider: str, key: KeyFunction, header: str) -> Authorizer[str]:
    """Return the authorizer for a key function of the user's."""
    return make_token_authorizer(provider, key, "the function for the key", header)


def make_token_authorizer(
    provider: str,
    fetch: Callable[[], object],
    what: str,
    header: str = "authorization",
    *,
    forget: Callable[[], object] | None = None,
) -> Authorizer[str]:
    """Return the authorizer with the keys or tokens of a function; `what` names it in messages.

    `forget` is called after a rejection, before the function is called again.
    """
    source = CredentialSource(provider, fetch, accept_token, lambda value: (value,), what=what, forget=forget)
    return Authorizer(source, lambda value, _: build_key_headers(header, value), header=header)


def accept_token(said: object) -> Issued[str]:
    """Return what a function returned as a credential. Raise OptionError if it is none."""
    credential = Credential(said) if isinstance(said, str) else said
    if not isinstance(credential, Credential):
        raise OptionError(f"it returned {type(said).__name__}; return a text or an `antiphon.Credential`")
    if not credential.value.strip():
        raise OptionError("it returned an empty text")
    check_key_text(credential.value)
    return Issued(credential.value, compute_last_use(credential.expiry))


def compute_last_use(expiry: float | None) -> float | None:
    """Return until when a credential is used: shortly before it expires. Raise OptionError if it has."""
    if expiry is None:
        return None
    left = expiry - time.time()
    if left <= 0:
        raise OptionError(f"it returned a credential that expired {-left:.0f} s ago; check the clock")
    return expiry - min(_MARGIN, left * _MARGIN_SHARE)


def _run_to_end(said: Awaitable[object]) -> object:
    """Return what an asynchronous function returns, from code that is not asynchronous."""

    async def wait() -> object:
        return await said

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    # This thread runs a loop already, which waits for the synchronous code.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, wait()).result()
