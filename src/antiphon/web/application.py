"""The ASGI application and its routes; `AuthMiddleware` around it decides who may use it."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.durable import Journal
from antiphon.errors import (
    AntiphonError,
    ConfigurationError,
    ContentError,
    NotReadyError,
    NotSavedError,
    OptionError,
    RunInUse,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from antiphon.session import ModelProtocol
    from antiphon.tools import Tool
    from antiphon.web.agui import AguiEndpoint

ASGI = Callable[[Any, Any, Any], Awaitable[None]]

#: Errors that the client can fix.
_CLIENT_ERRORS = (OptionError, ConfigurationError, ContentError)


def app(
    *,
    journal: Journal | None = None,
    token: str = "",
    origins: Sequence[str] = (),
    renderers: str | PathLike[str] | None = None,
    model: str | ModelProtocol | None = None,
    tools: str | Iterable[Callable[..., Any] | Tool] = "none",
    users: str | PathLike[str] | None = None,
    programs: str | PathLike[str] | None = None,
) -> ASGI:
    """Return the page as an ASGI application, which can be mounted in another one.

    Opening `login?token=TOKEN` grants access; without a `token` nobody has access. `origins` are the
    addresses of the page, such as `https://agents.example.org`; by default this machine, at any port.
    `renderers` is a directory of modules that render further kinds of results, besides those of packages
    and of the configuration. `journal` defaults to the user's own. `model` and `tools` are used for AG-UI:
    `tools` is `none`, `read`, `all` or functions. `users` is the file of further users that `antiphon serve
    users` writes. `programs` is the directory of startable programs, by default the current one.
    """
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError as error:
        raise missing_web_extra(error) from None
    from antiphon.web import compare as compared
    from antiphon.web import programs as startable
    from antiphon.web import sandboxed_html as frames
    from antiphon.web.auth import AuthMiddleware
    from antiphon.web.chat import Chats
    from antiphon.web.renderers import RendererModules
    from antiphon.web.run_launcher import RunLauncher
    from antiphon.web.session_routes import session_routes
    from antiphon.web.static_files import StaticFiles
    from antiphon.web.users import UserFile

    known_users = None if users is None else UserFile(users)
    known = journal if journal is not None else Journal()
    files = StaticFiles(RendererModules(renderers))
    launcher, chats = RunLauncher(known), Chats(known)
    launcher.resume_here = chats.resume
    starlette = Starlette(
        routes=[
            Route("/api/me", _get_me),
            *session_routes(known, launcher, chats),
            *compared.compare_routes(known),
            *frames.frame_routes(known),
            Route("/agui", _agui_handler(known, model, tools), methods=["POST"]),
            *startable.program_routes(known, launcher, Path(programs or ".").resolve()),
            Route("/{name:path}", files.answer),
        ],
        exception_handlers={AntiphonError: _error_response},
    )
    return AuthMiddleware(starlette, token or secrets.token_urlsafe(32), origins, files.policy, known_users)


def _agui_handler(
    journal: Journal, model: str | ModelProtocol | None, tools: str | Iterable[Callable[..., Any] | Tool]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of AG-UI requests, which imports the protocol when the first one arrives."""

    @cache
    def load_endpoint() -> AguiEndpoint:
        try:
            from antiphon.web.agui import AguiEndpoint
        except ImportError as error:
            raise ConfigurationError(describe_missing_extra("AG-UI needs", "web", error)) from None
        return AguiEndpoint(journal, model, tools)

    async def answer(request: Request) -> Response:
        return await load_endpoint().answer(request)

    return answer


def missing_web_extra(error: ImportError) -> ConfigurationError:
    """Return the error for a missing optional dependency of the page."""
    return ConfigurationError(describe_missing_extra("the page needs", "web", error))


def _error_response(request: Request, error: Exception) -> Response:  # noqa: ARG001
    from antiphon.web.json_response import json_response

    status = 404 if isinstance(error, NotSavedError) else 409 if isinstance(error, NotReadyError | RunInUse) else 500
    return json_response({"error": str(error)}, 400 if isinstance(error, _CLIENT_ERRORS) else status)


async def _get_me(request: Request) -> Response:
    from antiphon.web.auth import USER_SCOPE_KEY
    from antiphon.web.json_response import json_response

    who = request.scope[USER_SCOPE_KEY]
    return json_response({"name": who.name, "mayAct": who.may_act})
