"""HTTP routes of sessions: one list, the parts of one session, and everything that can be done with it.

Handlers run in threads, because they use files and wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from antiphon.chat.chat import Chat
from antiphon.errors import NotReadyError, NotSavedError, OptionError
from antiphon.storage.sessions import find_summary
from antiphon.web.chat import Chats, chat_json, chat_session_json
from antiphon.web.json_response import json_response, parse_number, parse_row_count, read_json_object
from antiphon.web.questions import list_questions_json, settle
from antiphon.web.search import list_or_search
from antiphon.web.sse import EventFeed, StepFeed, sse_response
from antiphon.web.stored import find_session_id, list_children_json, row_at, session_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.durable import Journal
    from antiphon.web.run_launcher import RunLauncher

#: The largest request with files, and the largest other one, in bytes.
_MAX_MESSAGE_BYTES, _MAX_REQUEST_BYTES = 40_000_000, 2_000_000
#: The most children that can be watched at once.
_MAX_PARTS = 50
_ROWS, _DIFF_ROWS = 200, 400


def session_routes(journal: Journal, launcher: RunLauncher, chats: Chats) -> list[Route]:
    """Return the routes of sessions and of their questions."""
    from starlette.routing import Route

    read, acts = _Reading(journal, launcher, chats), SessionActions(journal, launcher, chats)
    session = "/api/sessions/{id:path}"
    return [
        Route("/api/sessions", read.get_list),
        Route("/api/sessions", _make_post(lambda _, given: chat_json(chats.begin(given))), methods=["POST"]),
        Route("/api/models", read.get_models),
        Route("/api/questions", read.get_questions),
        Route("/api/events", read.get_list_events),
        *(Route(f"{session}/{name}", _make_post(acts.bind(name)), methods=["POST"]) for name in acts.names),
        Route(f"{session}/events", read.get_events),
        Route(f"{session}/transcript", read.get_transcript),
        Route(f"{session}/transcript/call", read.get_call),
        Route(f"{session}/transcript/image", read.get_image),
        Route(f"{session}/values", read.get_values),
        Route(f"{session}/step", read.get_step),
        Route(f"{session}/prompt", read.get_prompt),
        Route(f"{session}/files", read.get_files),
        Route(f"{session}/children", read.get_children),
        Route(f"{session}/fork", read.get_fork_choices),
        Route(f"{session}/task", read.get_task),
        Route(f"{session}/diff", read.get_diff),
        # Ids may end like one of these addresses, so that of a session itself ends with a word too.
        Route(f"{session}/about", read.get_session),
    ]


def _make_post(act: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Callable[[Request], Any]:
    """Return a handler that reads the JSON of a request, and answers with what an action returns."""

    async def handle(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        is_message = request.url.path.endswith(("/send", "/edit", "/sessions"))
        given = await read_json_object(request, _MAX_MESSAGE_BYTES if is_message else _MAX_REQUEST_BYTES)
        return json_response(await run_in_threadpool(act, request.path_params.get("id", ""), given))

    return handle


class _Reading:
    """Handlers of requests that change nothing."""

    def __init__(self, journal: Journal, launcher: RunLauncher, chats: Chats) -> None:
        self._journal = journal
        self._launcher = launcher
        self._chats = chats

    # Lists

    def get_list(self, request: Request) -> Response:
        found = list_or_search(self._journal, request.query_params)
        if not any(request.query_params.values()):
            found["sessions"] = [*self._chats.list_unsaved(), *found["sessions"]]
        return json_response(found)

    def get_models(self, request: Request) -> Response:  # noqa: ARG002
        return json_response(self._chats.options())

    def get_questions(self, request: Request) -> Response:  # noqa: ARG002
        return json_response({"questions": list_questions_json(self._journal)})

    async def get_list_events(self, request: Request) -> Response:  # noqa: ARG002
        return sse_response(EventFeed(self._journal, self._chats.list_unsaved))

    # One session

    def get_session(self, request: Request) -> Response:
        id = _id(request)
        if self._chats.has(id):
            return json_response(chat_session_json(self._journal, self._chats.open(id)))
        return json_response(session_json(self._journal, find_session_id(self._journal, id)))

    async def get_events(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        return sse_response(await run_in_threadpool(self._open_feed, request))

    def _open_feed(self, request: Request) -> EventFeed:
        from antiphon.web.team_events import TeamEventFeed
        from antiphon.web.transcript_events import TranscriptFeed

        id, asked = _id(request), request.query_params
        after = request.headers.get("last-event-id") or asked.get("after", "")
        match asked.get("view", "steps"):
            case "steps":
                parts = zip(asked.getlist("with")[:_MAX_PARTS], asked.getlist("since"), strict=False)
                return StepFeed(self._journal, self._launcher, id, after, parts)
            case "transcript":
                return TranscriptFeed(self._journal, self._chats.open(id))
            case "team":
                return TeamEventFeed(self._journal, self._launcher, id, after)
            case other:
                raise OptionError(f"`view` must be steps, transcript or team, not {other[:60]!r}")

    def get_children(self, request: Request) -> Response:
        after = parse_row_count(request.query_params, "after", 0)
        return json_response({"sessions": list_children_json(self._journal, _id(request), after)})

    def get_values(self, request: Request) -> Response:
        from antiphon.web.session_values import session_values_json

        rows = parse_row_count(request.query_params, "rows", _ROWS)
        return json_response(session_values_json(self._journal, _id(request), rows))

    # Steps

    def get_step(self, request: Request) -> Response:
        from antiphon.web.steps import raw_step_json, step_details_json

        asked = request.query_params
        rows = parse_row_count(asked, "rows", _ROWS)
        row = row_at(self._journal, _id(request), asked.get("path", ""))
        if "raw" in asked:
            return json_response(raw_step_json(self._journal, row, rows))
        return json_response(step_details_json(self._journal, _id(request), row, rows, asked.get("own", "").split(",")))

    def get_prompt(self, request: Request) -> Response:
        from antiphon.web.step_details import request_prompt_json, request_prompt_part_json

        asked = request.query_params
        place = self._journal, _id(request), asked.get("path", ""), asked.get("before", "")
        if "rows" not in asked:
            return json_response(request_prompt_json(*place))
        part = asked.get("about") or (asked.get("turn", ""), asked.get("part", ""))
        return json_response(request_prompt_part_json(*place, part, parse_row_count(asked, "rows", _ROWS)))

    def get_files(self, request: Request) -> Response:
        from antiphon.web.step_details import changed_files_json

        return json_response({"files": changed_files_json(self._journal, _id(request))})

    def get_fork_choices(self, request: Request) -> Response:
        from antiphon.web.forking import list_fork_choices

        return json_response(list_fork_choices(self._journal, _id(request), request.query_params.get("path", "")))

    # The transcript

    def get_transcript(self, request: Request) -> Response:
        from antiphon.web.transcript import conversation_turn_json

        chat = self._chats.open(_id(request))
        turns = [conversation_turn_json(turn, number) for number, turn in enumerate(chat.conversation.turns)]
        return json_response({"chat": chat_json(chat), "turns": turns, "accounts": chat.accounts.by_turn})

    def get_call(self, request: Request) -> Response:
        from antiphon.web.transcript import conversation_call_json

        asked, conversation = request.query_params, self._chats.open(_id(request)).conversation
        rows = parse_row_count(asked, "rows", _ROWS)
        call = conversation_call_json(conversation, parse_number(asked, "turn"), asked.get("call", ""), rows)
        return json_response(call)

    def get_image(self, request: Request) -> Response:
        from starlette.responses import Response

        from antiphon.web.transcript import read_turn_image

        asked, conversation = request.query_params, self._chats.open(_id(request)).conversation
        kind, content = read_turn_image(conversation, parse_number(asked, "turn"), parse_number(asked, "part"))
        return Response(content, headers={"cache-control": "no-store"}, media_type=kind)

    # The work of a team

    def get_task(self, request: Request) -> Response:
        from antiphon.web.teams import load_team, task_details_json

        team = load_team(self._journal, _id(request))
        return json_response(task_details_json(team, request.query_params.get("task", "")))

    def get_diff(self, request: Request) -> Response:
        from antiphon.web.teams import load_team, team_diff_json

        team = load_team(self._journal, _id(request))
        rows = parse_row_count(request.query_params, "rows", _DIFF_ROWS)
        return json_response(team_diff_json(team, request.query_params.get("task"), rows))


#: An action on a chat, which returns a chat or JSON.
ChatAction = Callable[[Chat, Mapping[str, Any]], Chat | dict[str, Any]]


class SessionActions:
    """Actions on a session, by their names in the address."""

    def __init__(self, journal: Journal, launcher: RunLauncher, chats: Chats) -> None:
        self._journal = journal
        self._launcher = launcher
        self._chats = chats
        self._of_chats: dict[str, ChatAction] = {
            "send": chats.send,
            "edit": chats.edit,
            "retry": chats.retry,
            "continue": chats.continue_,
            "undo": chats.undo,
            "fork": chats.fork,
            "compact": chats.compact,
            "settings": chats.set_options,
            "rename": chats.rename,
            "stop": chats.stop,
        }
        self._of_all: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {
            "answer": self._answer,
            "resume": self._resume,
            "delete": self._delete,
        }

    @property
    def names(self) -> list[str]:
        """The names of the actions; `limits` is one of teams."""
        return [*self._of_chats, *self._of_all, "limits"]

    def bind(self, name: str) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
        """Return an action as a function of the session's id and the request."""
        return lambda id, given: self._perform(name, id, given)

    def _perform(self, name: str, id: str, given: dict[str, Any]) -> dict[str, Any]:
        known = find_summary(self._journal.database, id)
        if known is None and not self._chats.has(id):
            raise NotSavedError(f"session {id[:60]!r} does not exist")
        if name == "fork" and "path" in given:
            from antiphon.web.forking import start_fork

            return start_fork(self._journal, self._launcher, id, given)
        if name != "delete" and known is not None and known.kind == "team":
            from antiphon.web.teams import act_on_team

            return act_on_team(self._journal, self._launcher, name, id, given)
        if name in self._of_all:
            return self._of_all[name](id, given)
        if name == "stop" and not self._chats.has(id):
            return self._stop(id)
        if (act := self._of_chats.get(name)) is None:
            raise OptionError(f"session {id} is not a team, which alone can do this: {name}")
        done = act(self._chats.open(id), given)
        return chat_json(done) if isinstance(done, Chat) else done

    def _answer(self, id: str, given: dict[str, Any]) -> dict[str, Any]:
        return settle(self._journal, self._launcher, id, given)

    def _resume(self, id: str, _: dict[str, Any]) -> dict[str, Any]:
        known = session_json(self._journal, id)
        if not known["canResume"]:
            raise NotReadyError(f"session {id} cannot be resumed, it is {known['state']}")
        return {"goesOn": self._launcher.go_on(id)}

    def _stop(self, id: str) -> dict[str, Any]:
        """Stop a session that another process runs, at its next step."""
        if session_json(self._journal, id)["state"] != "running":
            raise NotReadyError(f"session {id} is not running")
        self._journal.revoke_lease(id)
        return {"stops": True}

    def _delete(self, id: str, _: dict[str, Any]) -> dict[str, Any]:
        known = find_summary(self._journal.database, id)
        if known is not None and known.parent is not None:
            raise NotReadyError(f"{id} is a part of session {known.parent}; only the whole can be deleted")
        if known is not None and session_json(self._journal, id)["state"] == "running":
            raise NotReadyError(f"session {id} is running; stop it first")
        self._chats.delete(id)
        return {"deleted": id}


def _id(request: Request) -> str:
    return request.path_params["id"]
