"""The `Fake` class: a script, the requests it received, and the ways to reach it."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, get_args

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import ConfigurationError, NotReadyError, OptionError
from antiphon.fakes.script import AccountAge, Received, Script, ScriptSteps, Step

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from antiphon.fakes.identity import FakeIdentity
    from antiphon.fakes.server import LoopbackServer
    from antiphon.providers import Model

#: The platforms at which models are reached with credentials of their own.
_PLATFORMS = ("azure", "vertex", "bedrock")
_PLACES = {"AWS_REGION": "us-east-1", "AZURE_OPENAI_ENDPOINT": "http://fake", "GOOGLE_CLOUD_PROJECT": "fake-project"}
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
    `keys` are the keys that it accepts, which may change while it is served; without any, each key is accepted.

    As a context manager it serves on a free loopback port; `app` needs no port.
    """

    def __init__(
        self,
        script: ScriptSteps | Mapping[str, ScriptSteps] = (),
        *,
        account: AccountAge = "new",
        keys: Iterable[str] = (),
    ) -> None:
        if account not in get_args(AccountAge):
            raise OptionError(f'the account of a fake is "new" or "old", not {account!r}')
        if isinstance(keys, str):
            raise OptionError("`keys` of a fake is a list of keys, not one text")
        self.requests: list[Received] = []
        #: The keys that are accepted; any key if there are none.
        self.keys: set[str] = set(keys)
        self._identity: FakeIdentity | None = None
        self._script = Script(script)
        self._account: AccountAge = account
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

        return FakeApp(self._script, self.requests, ServerState(self._account, self.keys), self.identity).app()

    @property
    def identity(self) -> FakeIdentity:
        """Issues the credentials that the platforms accept: Azure, Vertex AI and Amazon Bedrock."""
        if self._identity is None:
            from antiphon.fakes.identity import FakeIdentity

            self._identity = FakeIdentity()
        return self._identity

    @property
    def url(self) -> str:
        """The root URL while it is served."""
        if self._service is None:
            raise NotReadyError("a fake has an address only while it is served: `with Fake(...) as fake:`")
        return self._service.url

    def base_url(self, api: str) -> str:
        """Return the base URL for the vendor's SDK; `api` is `anthropic`, `openai` or `gemini`, or a platform:
        `azure`, `vertex` or `bedrock`.
        """
        from antiphon.wire import APIS

        if api in _PLATFORMS:
            return f"{self.url}/{api}"

        paths = {name: spec.http.base_path for spec in APIS.values() for name in (spec.owner, spec.name)}
        if api not in paths:
            known = ", ".join(f"`{name}`" for name in (*paths, *_PLATFORMS))
            raise OptionError(f"a fake speaks {known}, not {api!r}")
        return self.url + paths[api]

    def connect(self, model: str, **settings: Any) -> Model:
        """Connect a model to this fake with `antiphon.connect`: `fake.connect("anthropic/claude-sonnet-5")`."""
        from antiphon.providers import connect, resolve

        place, name = resolve(model)
        if not place.sign_in:
            return connect(model, url=self.base_url(place.api), key="fake", **settings)
        from antiphon.providers.registry import place_model

        known = {
            "AWS_REGION": "us-east-1",
            "AZURE_OPENAI_ENDPOINT": "http://fake",
            "GOOGLE_CLOUD_PROJECT": "fake-project",
        }
        address = place_model(place, name, known).url.partition("://")[2].partition("/")[2]
        platform = next(each for each in _PLATFORMS if place.name.startswith(each))
        key = self.identity.issue_google_token() if platform == "vertex" else "fake"
        url = f"{self.base_url(platform)}/{address}".rstrip("/")
        given: dict[str, Any] = {"url": url, "key": key, "environment": known, **settings}
        return connect(model, **given)

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
