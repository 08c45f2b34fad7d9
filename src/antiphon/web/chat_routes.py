"""HTTP routes of chats. Handlers that use files run in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.chat.chat import Chat
from antiphon.errors import OptionError
from antiphon.web.chat import LARGEST, Chats, chat_json
from antiphon.web.json_response import MAX_ROWS_PARAMETER, json_response, read_json_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.durable import Journal


def routes(journal: Journal, chats: Chats) -> list[Route]:
    """Return the routes of chats."""
    from starlette.routing import Route

    asked = _Routes(journal, chats)
    chat = "/api/chats/{id}"
    acts: dict[str, Callable[[Request, dict[str, Any]], Chat]] = {
        "/api/chats/new": lambda _, given: chats.begin(given),
        f"{chat}/say": lambda request, given: chats.send(_id(request), given),
        f"{chat}/fork": lambda request, given: chats.fork(_id(request), _number(request, "turn"), given),
        f"{chat}/copy": lambda request, _: chats.copy(_id(request)),
        f"{chat}/model": lambda request, given: chats.change(_id(request), given),
        f"{chat}/again": lambda request, _: _do(chats, request, Chat.ask_again),
        f"{chat}/go": lambda request, _: _do(chats, request, Chat.continue_answer),
        f"{chat}/stop": lambda request, _: _do(chats, request, Chat.stop),
        f"{chat}/undo": lambda request, _: _do(chats, request, Chat.undo),
        f"{chat}/compact": lambda request, given: _do(chats, request, lambda it: it.compact(_word(given, "focus"))),
        f"{chat}/system": lambda request, given: _do(chats, request, lambda it: it.set_system(_word(given, "text"))),
    }
    return [
        Route("/api/chats", asked.listed),
        *(Route(path, _acting(act), methods=["POST"]) for path, act in acts.items()),
        Route(chat, asked.chat),
        Route(f"{chat}/call", asked.call),
        Route(f"{chat}/image", asked.image),
        Route(f"{chat}/events", asked.events),
    ]


class _Routes:
    def __init__(self, journal: Journal, chats: Chats) -> None:
        self._journal = journal
        self._chats = chats

    def listed(self, request: Request) -> Response:  # noqa: ARG002
        return json_response(self._chats.listed())

    def chat(self, request: Request) -> Response:
        from antiphon.web.conversation_turns import conversation_turn_json

        chat = self._chats.open(_id(request))
        chat.look()
        turns = [conversation_turn_json(turn, number) for number, turn in enumerate(chat.conversation.turns)]
        return json_response({"chat": chat_json(chat), "turns": turns, "accounts": chat.accounts.by_turn})

    def call(self, request: Request) -> Response:
        from antiphon.web.conversation_turns import conversation_call_json

        conversation = self._chats.open(_id(request)).conversation
        rows = _number(request, "rows", 200)
        if not 0 < rows <= MAX_ROWS_PARAMETER:
            raise OptionError(f"`rows` must be a number from 1 to {MAX_ROWS_PARAMETER}")
        id = request.query_params.get("call", "")
        return json_response(conversation_call_json(conversation, _number(request, "turn"), id, rows))

    def image(self, request: Request) -> Response:
        from starlette.responses import Response

        from antiphon.web.conversation_turns import read_turn_image

        conversation = self._chats.open(_id(request)).conversation
        kind, content = read_turn_image(conversation, _number(request, "turn"), _number(request, "part"))
        return Response(content, headers={"cache-control": "no-store"}, media_type=kind)

    async def events(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import StreamingResponse

        from antiphon.web.chat_events import stream

        chat = await run_in_threadpool(self._chats.open, _id(request))
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(stream(chat, self._journal), headers=headers, media_type="text/event-stream")


def _acting(act: Callable[[Request, dict[str, Any]], Chat]) -> Callable[[Request], Any]:
    async def acted(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        given = await read_json_object(request, LARGEST)
        chat = await run_in_threadpool(act, request, given)
        return json_response(await run_in_threadpool(chat_json, chat))

    return acted


def _do(chats: Chats, request: Request, act: Callable[[Chat], object]) -> Chat:
    chat = chats.open(_id(request))
    chat.look()
    act(chat)
    return chat


def _id(request: Request) -> str:
    return request.path_params["id"]


def _number(request: Request, name: str, otherwise: int | None = None) -> int:
    given = request.query_params.get(name)
    if given is None and otherwise is not None:
        return otherwise
    if given is None or not (given.isascii() and given.isdigit()) or len(given) > 9:
        raise OptionError(f"`{name}` must be a number, not {given!r}")
    return int(given)


def _word(given: dict[str, Any], name: str) -> str:
    word = given.get(name, "")
    if not isinstance(word, str):
        raise OptionError(f"`{name}` must be a string")
    return word
