"""The `Fake` class: a script, the requests it received, and the ways to reach it."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, cast, get_args

from antiphon._base.did_you_mean import hint_arguments
from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import ConfigurationError, NotReadyError, OptionError
from antiphon.fakes.faults import Faults, FaultSequence
from antiphon.fakes.script import AccountAge, Received, Script, ScriptMismatch, ScriptSteps, Step

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from antiphon.fakes.batches import BatchPlan
    from antiphon.fakes.identity import FakeIdentity
    from antiphon.fakes.server import LoopbackServer
    from antiphon.providers import Model

#: The platforms at which models are reached with credentials of their own.
_PLATFORMS = ("azure", "vertex", "bedrock")
_PLACES = {"AWS_REGION": "us-east-1", "AZURE_OPENAI_ENDPOINT": "http://fake", "GOOGLE_CLOUD_PROJECT": "fake-project"}
Message = MutableMapping[str, Any]
ASGIApp = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


#: The most steps and requests that a message lists.
_MAX_SHOWN = 5


@hint_arguments(
    {
        **dict.fromkeys(("answers", "script", "responses", "steps", "replies"), "write `Fake([…])`"),
        **dict.fromkeys(("handler", "function", "side_effect", "custom_output_text"), "write `Fake(answer=FUNCTION)`"),
        **dict.fromkeys(("assert_all_called", "unused"), "write `Fake(…, strict=False)`"),
    },
    "Fake([STEP, STEP])",
)
class Fake:
    """A server for all APIs at one address that answers from one script.

    Each accepted request consumes the next step; a rejected request consumes none. A mapping is a script for
    several concurrent clients: each request is answered from the first text that occurs in it and has steps
    left. A function instead of the steps answers every request: `Fake(echo)` repeats what was said. `answer` is such a
    function for the requests that find no step. Without it, a request without a step left gets a 400 error that shows
    what was asked and how many answers there were. At the end of a `with`, a `strict` fake raises a ScriptMismatch for
    such requests, and for steps that are left. `faults` make some requests fail by chance.

    It is as strict as the real servers. For models whose thinking is bound to its prompt, thinking after a
    changed prompt is rejected; `account="old"` is an account for which some of these models still allow it.
    `keys` are the keys that it accepts, which may change while it is served; without any, each key is accepted.

    `batches` says how batches of requests go; without it they end at the second poll.

    As a context manager it serves on a free loopback port; `app` needs no port.
    """

    def __init__(
        self,
        script: ScriptSteps | Mapping[str, ScriptSteps] = (),
        *,
        answer: Callable[[Received], Step] | None = None,
        faults: Faults | None = None,
        strict: bool = True,
        account: AccountAge = "new",
        keys: Iterable[str] = (),
        batches: BatchPlan | None = None,
    ) -> None:
        if answer is not None and not callable(cast(object, answer)):
            raise OptionError(f"`answer` is a function of the request, not {answer!r:.60}; a script is `Fake([…])`")
        if answer is not None and callable(script):
            raise OptionError("`answer` and a function as the script both answer every request; write one of them")
        if not isinstance(cast(object, faults), Faults | None):
            raise OptionError(f"`faults` is a `Faults`, such as `Faults(rate_limits=0.2)`, not {faults!r:.60}")
        if account not in get_args(AccountAge):
            raise OptionError(f'the account of a fake is "new" or "old", not {account!r}')
        if isinstance(keys, str):
            raise OptionError("`keys` of a fake is a list of keys, not one text")
        self.requests: list[Received] = []
        #: The keys that are accepted; any key if there are none.
        self.keys: set[str] = set(keys)
        self._identity: FakeIdentity | None = None
        self._script = Script(script, answer)
        self._faults = FaultSequence(faults)
        self._strict = strict
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

        state, plan = ServerState(self._account, self.keys), self._plan or BatchPlan()
        return FakeApp(self._script, self.requests, state, self._faults, self.identity, plan).app()

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
        if kind is None and self._strict:
            self.check_played()

    def check_played(self) -> None:
        """Raise a ScriptMismatch if a request found no answer, or an answer was never asked for.

        The end of a `with` does this, unless the fake is not `strict` or the block raised something.
        """
        unused, unanswered = self._script.list_unused(), self._script.unanswered
        if not unused and not unanswered:
            return
        shown = "; ".join([*unused[:_MAX_SHOWN], *(["…"] if len(unused) > _MAX_SHOWN else [])])
        count = "one step of the script was" if len(unused) == 1 else f"{len(unused)} steps of the script were"
        problems = [f"{count} never asked for: {shown}"] if unused else []
        problems += [f"no answer was left: {each}" for each in unanswered[:_MAX_SHOWN]]
        raise ScriptMismatch(
            f"{'. '.join(problems)}. The fake got {len(self.requests)} requests. Correct the script, or write "
            "`Fake(…, strict=False)`."
        )


def make_missing_library_error(error: ImportError) -> ConfigurationError:
    """Return the error for missing libraries of the fakes."""
    return ConfigurationError(describe_missing_extra("fakes need", "fakes", error))
