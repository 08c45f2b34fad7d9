"""A fake provider: a script, the requests it got, and the ways to reach it."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, get_args

from antiphon._extras import lacking
from antiphon.errors import ConfigurationError, NotReadyError, OptionError
from antiphon.fakes.script import Account, Received, Script, Step, Steps

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from antiphon.fakes.server import Service
    from antiphon.providers import Model

Message = MutableMapping[str, Any]
ASGIApp = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

_PATHS = {"anthropic": "", "openai": "/v1", "openai-chat": "/v1", "openai-responses": "/v1", "gemini": "", "google": ""}


class Fake:
    """All four APIs at one address, answering from one script.

    Steps are used up in the order in which acceptable requests come; a request that is rejected uses none. A mapping is
    a script for several who ask at once: each request is answered from the first text that occurs in it and has steps
    left. A function in place of the steps answers every request: `Fake(echo)` repeats what was said. A request for
    which the script has nothing left is refused with a 400 that tells what was asked and how many answers there were.

    It is as strict as the real servers. With models whose thinking is bound, thinking that stands behind a changed
    prompt is refused; `account="old"` is an account that some of these models still let it pass.

    As a context manager it serves on a free loopback port; `app` needs no port.
    """

    def __init__(self, script: Steps | Mapping[str, Steps] = (), *, account: Account = "new") -> None:
        if account not in get_args(Account):
            raise OptionError(f'the account of a fake is "new" or "old", not {account!r}')
        self.requests: list[Received] = []
        self._script = Script(script)
        self._account: Account = account
        self._service: Service | None = None

    def play(self, *steps: Step) -> None:
        """Add steps to the script, also while it is being served."""
        self._script.add(steps)

    def reset(self) -> None:
        """Forget the rest of the script and the requests so far, for the next test."""
        self.requests.clear()
        self._script.clear()

    @functools.cached_property
    def app(self) -> ASGIApp:
        """The ASGI application, for `httpx2.ASGITransport` or a server of your own."""
        try:
            from antiphon.fakes.app import Desk
        except ImportError as error:
            raise missing(error) from None
        from antiphon.fakes.speaker import Memory

        return Desk(self._script, self.requests, Memory(self._account)).app()

    @property
    def url(self) -> str:
        """The root address while it is served."""
        if self._service is None:
            raise NotReadyError("a fake has an address only while it is served: `with Fake(...) as fake:`")
        return self._service.url

    def base_url(self, api: str) -> str:
        """The address as the vendor's SDK wants it; `api` is `anthropic`, `openai` or `gemini`."""
        if api not in _PATHS:
            raise OptionError(f"a fake speaks {', '.join(f'`{name}`' for name in _PATHS)}, not {api!r}")
        return self.url + _PATHS[api]

    def connect(self, model: str, **settings: Any) -> Model:
        """`antiphon.connect`, to this fake: `fake.connect("anthropic/claude-sonnet-5")`."""
        from antiphon.providers import connect, resolve

        place, _ = resolve(model)
        return connect(model, url=self.base_url(place.api), key="fake", **settings)

    def __enter__(self) -> Self:
        if self._service is None:
            app = self.app
            try:
                from antiphon.fakes.server import Service
            except ImportError as error:
                raise missing(error) from None
            self._service = Service(app)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._service is not None:
            self._service.stop()
            self._service = None


def missing(error: ImportError) -> ConfigurationError:
    """What is said where the libraries of the fakes are not installed."""
    return ConfigurationError(lacking("fakes need", "fakes", error))
