"""The application: what is served where. Who may ask for it is decided by the guard around it."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon._extras import lacking
from antiphon.errors import (
    AntiphonError,
    ConfigurationError,
    ContentError,
    NotReadyError,
    NotSavedError,
    OptionError,
)
from antiphon.journal import Journal, Unfinished

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from antiphon.session import Asks
    from antiphon.tools import Tool
    from antiphon.web.going import Going

ASGI = Callable[[Any, Any, Any], Awaitable[None]]

#: What whoever asks can mend.
_MISTAKES = (OptionError, ConfigurationError, ContentError)
#: An answer larger than this, in bytes, is none of a person.
_LARGEST = 1_000_000


def app(
    *,
    journal: Journal | None = None,
    token: str = "",
    origins: Sequence[str] = (),
    renderers: str | PathLike[str] | None = None,
    model: str | Asks | None = None,
    tools: str | Iterable[Callable[..., Any] | Tool] = "none",
    users: str | PathLike[str] | None = None,
    programs: str | PathLike[str] | None = None,
) -> ASGI:
    """The page as an ASGI application, which can be mounted in another one.

    Whoever opens `login?token=TOKEN` may use it; without a `token` nobody can. `origins` are the addresses at which
    it is reached, such as `https://agents.example.org`; without them it is this machine, at any port. `renderers` is a
    directory of modules that draw further kinds of results, besides those of packages and of the configuration. The
    journal is the user's own unless another is given. `model` and `tools` are those of AG-UI: a name, `none`, `read`
    or `all`, or functions. `users` is the file of further people, as `antiphon serve users` writes it.
    `programs` is the directory whose programs can be started, the current one unless another is named.
    """
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError as error:
        raise missing(error) from None
    from antiphon.web import agui, compared, conversations, forking, frames, search, teams
    from antiphon.web import programs as startable
    from antiphon.web.chat import Chats
    from antiphon.web.chat_routes import routes as chat_routes
    from antiphon.web.files import Files
    from antiphon.web.going import Going
    from antiphon.web.guard import Guard
    from antiphon.web.looking import routes as looks
    from antiphon.web.renderers import Renderers
    from antiphon.web.users import Users

    known_users = None if users is None else Users(users)
    known = journal if journal is not None else Journal()
    files = Files(Renderers(renderers))
    going, chats = Going(known), Chats(known)
    going.here["chat"] = chats.go_on
    routes = _Routes(known, going)
    run = "/api/runs/{id:path}"
    starlette = Starlette(
        routes=[
            Route("/api/me", routes.me),
            *search.routes(known),
            *conversations.routes(known),
            *compared.routes(known),
            *forking.routes(known, going),
            Route("/api/inbox", routes.inbox),
            Route("/api/events", routes.events),
            Route(f"{run}/events", routes.events),
            Route(f"{run}/step", routes.step),
            Route(f"{run}/about", routes.about),
            Route(f"{run}/answer", routes.answer, methods=["POST"]),
            Route(f"{run}/go", routes.go, methods=["POST"]),
            *looks(known),
            *frames.routes(known),
            *agui.routes(known, model, tools),
            *teams.routes(known, going),
            *startable.routes(known, going, Path(programs or ".").resolve()),
            *chat_routes(known, chats),
            Route("/{name:path}", files.answer),
        ],
        exception_handlers={AntiphonError: _told},
    )
    return Guard(starlette, token or secrets.token_urlsafe(32), origins, files.policy, known_users)


def missing(error: ImportError) -> ConfigurationError:
    """What is said where the libraries of the page are not installed."""
    return ConfigurationError(lacking("the page needs", "web", error))


def _told(request: Request, error: Exception) -> Response:  # noqa: ARG001
    from antiphon.web.sent import answer

    status = 404 if isinstance(error, NotSavedError) else 409 if isinstance(error, NotReadyError | Unfinished) else 500
    return answer({"error": str(error)}, 400 if isinstance(error, _MISTAKES) else status)


class _Routes:
    """What is asked of the journal. Reading it takes its time, so each is run in a thread."""

    def __init__(self, journal: Journal, going: Going) -> None:
        self._journal = journal
        self._going = going

    async def me(self, request: Request) -> Response:
        from antiphon.web.guard import WHO
        from antiphon.web.sent import answer

        who = request.scope[WHO]
        return answer({"name": who.name, "mayAct": who.may_act})

    def inbox(self, request: Request) -> Response:  # noqa: ARG002
        from antiphon.web.inbox import inbox
        from antiphon.web.sent import answer

        return answer({"inbox": inbox(self._journal)})

    def about(self, request: Request) -> Response:
        from antiphon.web.sent import answer
        from antiphon.web.stored import run

        return answer(run(self._journal, request.path_params["id"]))

    def step(self, request: Request) -> Response:
        from antiphon.web.sent import answer, number
        from antiphon.web.steps import opened, raw
        from antiphon.web.stored import row_at

        asked = request.query_params
        id, rows = request.path_params["id"], number(asked, "rows", 200)
        row = row_at(self._journal, id, asked.get("path", ""))
        if "raw" in asked:
            return answer(raw(self._journal, row, rows))
        return answer(opened(self._journal, id, row, rows, asked.get("own", "").split(",")))

    async def events(self, request: Request) -> Response:
        from antiphon.web.stream import events

        return events(self._journal, self._going, request)

    async def answer(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        from antiphon.web.inbox import settle
        from antiphon.web.sent import answer, json_of

        given = await json_of(request, _LARGEST)
        id = request.path_params["id"]
        return answer(await run_in_threadpool(settle, self._journal, self._going, id, given))

    def go(self, request: Request) -> Response:
        from antiphon.web.sent import answer

        return answer({"goesOn": self._going.go_on(request.path_params["id"])})
