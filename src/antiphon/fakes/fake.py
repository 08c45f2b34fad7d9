"""The `Fake` class: a script, the requests it received, and the ways to reach it."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, get_args

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import ConfigurationError, NotReadyError, OptionError
from antiphon.fakes.script import AccountAge, Received, Script, ScriptSteps, Step

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from antiphon.fakes.batches import BatchPlan
    from antiphon.fakes.server import LoopbackServer
    from antiphon.providers import Model

Message = MutableMapping[str, Any]
ASGIApp = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


class Fake:
    """A server for all APIs at one address that answers from one script.

    Each accepted request consumes the next step; a rejected request consumes none. A mapping is a script for
    several concurrent clients: each request is answered from the first text that occurs in it and has steps
    left. A function instead of the steps answers every request: `Fake(echo)` repeats what was said. A request
    without a step left gets a 400 error that shows what was asked and how many answers there were.

    It is as strict as the real servers. For models whose thinking is bound to its prompt, thinking after a
    changed prompt is rejected; `account="old"` is an account for which some of these models still allow it.

    `batches` says how batches of requests go; without it they end at the second poll.

    As a context manager it serves on a free loopback port; `app` needs no port.
    """

    def __init__(
        self,
        script: ScriptSteps | Mapping[str, ScriptSteps] = (),
        *,
        account: AccountAge = "new",
        batches: BatchPlan | None = None,
    ) -> None:
        if account not in get_args(AccountAge):
            raise OptionError(f'the account of a fake is "new" or "old", not {account!r}')
        self.requests: list[Received] = []
        self._script = Script(script)
        self._account: AccountAge = account
        self._plan = batches
        self._service: LoopbackServer | None = None

    def play(self, *steps: Step) -> None:
        """Add steps to the script, also while it is being served."""
        self._script.add(steps)

    def reset(self) -> None:
        """Clear the remaining script and the recorded requests, for the next test."""
        self.requests.clear()
        self._script.clear()

    @functools.cached_property
    def app(self) -> ASGIApp:
        """The ASGI application, for `httpx2.ASGITransport` or a server of your own."""
        try:
            from antiphon.fakes.asgi import FakeApp
        except ImportError as error:
            raise make_missing_library_error(error) from None
        from antiphon.fakes.api_base import ServerState
        from antiphon.fakes.batches import BatchPlan

        return FakeApp(self._script, self.requests, ServerState(self._account), self._plan or BatchPlan()).app()

    @property
    def url(self) -> str:
        """The root URL while it is served."""
        if self._service is None:
            raise NotReadyError("a fake has an address only while it is served: `with Fake(...) as fake:`")
        return self._service.url

    def base_url(self, api: str) -> str:
        """Return the base URL for the vendor's SDK; `api` is `anthropic`, `openai` or `gemini`."""
        from antiphon.wire import APIS

        paths = {name: spec.http.base_path for spec in APIS.values() for name in (spec.owner, spec.name)}
        if api not in paths:
            raise OptionError(f"a fake speaks {', '.join(f'`{name}`' for name in paths)}, not {api!r}")
        return self.url + paths[api]

    def connect(self, model: str, **settings: Any) -> Model:
        """Connect a model to this fake with `antiphon.connect`: `fake.connect("anthropic/claude-sonnet-5")`."""
        from antiphon.providers import connect, resolve

        place, _ = resolve(model)
        return connect(model, url=self.base_url(place.api), key="fake", **settings)

    def __enter__(self) -> Self:
        if self._service is None:
            app = self.app
            try:
                from antiphon.fakes.server import LoopbackServer
            except ImportError as error:
                raise make_missing_library_error(error) from None
            self._service = LoopbackServer(app)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._service is not None:
            self._service.stop()
            self._service = None


def make_missing_library_error(error: ImportError) -> ConfigurationError:
    """Return the error for missing libraries of the fakes."""
    return ConfigurationError(describe_missing_extra("fakes need", "fakes", error))
