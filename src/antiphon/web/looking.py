"""What can be looked at beside the steps of a run: what a model was shown with a request, and what was changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from antiphon._shape import obj
from antiphon.conversation import Chat, Image, Note, Reasoning, Text, ToolCall, ToolResult, Turn, UserTurn
from antiphon.conversation.parts import Foreign, ServerCall, ServerResult
from antiphon.errors import NotSavedError
from antiphon.results import Result, diff, image, structured, text
from antiphon.views import results_of
from antiphon.web.steps import called, drawn, entry_at, results
from antiphon.web.stored import STEP, row_at

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.journal import Journal

#: So many turns are shown at once, the newest.
_TURNS = 20
_ROWS = 200


def routes(journal: Journal) -> list[Route]:
    """What is answered at which address."""
    from starlette.routing import Route

    def shown_at(request: Request) -> Response:
        from antiphon.web.sent import answer, number

        asked, run = request.query_params, request.path_params["id"]
        path, before = asked.get("path", ""), asked.get("before", "")
        if "rows" not in asked:
            return answer(shown(journal, run, path, before))
        place = asked.get("about") or (asked.get("turn", ""), asked.get("part", ""))
        return answer(shown_part(journal, run, path, before, place, number(asked, "rows", _ROWS)))

    def changed_at(request: Request) -> Response:
        from antiphon.web.sent import answer

        return answer({"files": changed(journal, request.path_params["id"])})

    run = "/api/runs/{id:path}"
    return [Route(f"{run}/shown", shown_at), Route(f"{run}/changed", changed_at)]


# What a model was shown


def shown(journal: Journal, run: str, path: str, before: str = "") -> dict[str, Any]:
    """What a model was shown with a request: the newest turns, or those `before` the ones that are known."""
    turns, more, about = _read_shown(journal, run, path, before)
    told: dict[str, Any] = {"turns": [_turn(each) for each in turns], "before": more}
    if before or not (turns or about):
        return told
    return {**told, "about": [{"name": name, "view": drawn(each, _ROWS)} for name, each in about.items()]}


def shown_part(
    journal: Journal, run: str, path: str, before: str, place: str | tuple[str, str], rows: int
) -> dict[str, Any]:
    """Return so many rows of one part of what `shown` returns: by its name, or by the numbers of turn and part."""
    turns, _, about = _read_shown(journal, run, path, before)
    if isinstance(place, str):
        if place not in about:
            raise NotSavedError(f"the request at {path[:60]!r} has no {place[:60]!r}")
        return {"name": place, "view": drawn(about[place], rows)}
    try:
        part = _parts(turns[int(place[0])])[int(place[1])]
    except (ValueError, IndexError):
        raise NotSavedError(f"the request at {path[:60]!r} has no turn {place[0]!r} with a part {place[1]!r}") from None
    return _part(part, rows)


def _read_shown(journal: Journal, run: str, path: str, before: str) -> tuple[list[Turn], str, dict[str, Result]]:
    """Return turns of a request, the mark of those before them, and what went along with them, by name."""
    entry = entry_at(journal, row_at(journal, run, path))
    if entry.kind != "request" or entry.asked.get("private"):
        return [], "", {}
    turns, more = journal.shown(run, path, _TURNS, before)
    system, tools, options = (entry.asked.get(name) for name in ("system", "tools", "options"))
    about = {"system": text(str(system))} if system else {}
    about |= {"tools": structured(tools, collapsed=True)} if tools else {}
    about |= {"options": structured(options, collapsed=True)} if options else {}
    return list(turns), more, about


def _turn(turn: Turn) -> dict[str, Any]:
    """A turn in the words that the model was given, not in the look that people get of a result."""
    role = "user" if isinstance(turn, UserTurn) else "assistant"
    return {"role": role, "parts": [_part(each) for each in _parts(turn)]}


def _parts(turn: Turn) -> list[Any]:
    return list(turn.said) if isinstance(turn, UserTurn) else [*turn.parts, *turn.results]


def _part(part: Any, rows: int = _ROWS) -> dict[str, Any]:
    match part:
        case ToolCall():
            return {"type": "call", "call": called({"tool": part.name, "arguments": part.arguments}, rows)}
        case ToolResult():
            plain = ToolResult(part.call_id, part.content, part.is_error, part.name)
            return {"type": "result", "name": part.name, "views": _views(results_of(plain), rows)}
        case Reasoning() if part.text:
            return {"type": "reasoning", "views": _views([text(part.text, markdown=True, collapsed=True)], rows)}
        case Text() | Chat() | Note():
            return {"type": "text", "views": _views([text(part.text, markdown=True)], rows)}
        case Image():
            return {
                "type": "image",
                "views": _views([image(base64=part.data, url=part.url, mime_type=part.media_type)], rows),
            }
        case ServerCall():
            return {"type": "call", "call": called({"tool": part.tool, "arguments": part.input}, rows)}
        case ServerResult():
            return {"type": "result", "name": "", "views": _views([text(part.text)] if part.text else [], rows)}
        case Foreign() | Reasoning():
            return {
                "type": "other",
                "views": _views([structured(part.native and part.native.data, collapsed=True)], rows),
            }
        case _:
            return {"type": "other", "views": []}


def _views(found: Iterable[Result], rows: int) -> list[dict[str, Any]]:
    return [drawn(each, rows) for each in found]


# What was changed so far


def changed(journal: Journal, run: str) -> list[dict[str, Any]]:
    """What the calls of a run have changed, file by file, as their results tell it.

    Changes of a file are one where each begins with what the one before left. Where it does not, something else has
    changed the file in between, or only a piece of it is known: then they are shown one after the other.
    """
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for path, result in _diffs(journal, run):
        data = obj(result.data)
        changes = found.setdefault(str(data.get("path", "")), [])
        known = changes[-1][1] if changes else {}
        if "original" in data and data["original"] == known.get("modified"):
            changes[-1] = path, {**known, "modified": data["modified"]}
        else:
            changes.append((path, dict(data)))
    return [
        {"path": file, "changes": [{"step": path, "view": drawn(_change(data), _ROWS)} for path, data in changes]}
        for file, changes in sorted(found.items())
    ]


def _change(data: dict[str, Any]) -> Result:
    if isinstance(data.get("original"), str) or data.get("isNew") is not False:
        return diff(str(data.get("path", "")), data.get("original"), data["modified"])
    return Result("diff", data)


def _diffs(journal: Journal, run: str) -> Iterable[tuple[str, Result]]:
    columns = ", ".join(f"effects.{each}" for each in STEP.split(", "))
    rows = journal.read(
        f"SELECT {columns} FROM effects LEFT JOIN texts ON outcome = '@' || texts.hash"
        " WHERE run = ? AND kind = 'tool' AND state = 'done' AND coalesce(body, outcome) LIKE '%\"diff\"%'"
        " ORDER BY seq",
        (run,),
    )
    for row in rows:
        entry = entry_at(journal, tuple(row))
        for result in results(entry):
            if result.kind == "diff" and isinstance(obj(result.data).get("modified"), str):
                yield entry.path, result
