"""Details of a session besides its steps: the prompt of a model request, and the changed files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object
from antiphon.conversation import Chat, File, Image, Media, Note, Reasoning, Text, ToolCall, ToolResult, Turn, UserTurn
from antiphon.conversation.parts import OpaquePart, ServerCall, ServerResult
from antiphon.errors import NotSavedError
from antiphon.results import Result, diff, image, structured, text
from antiphon.storage.steps import list_tool_results_with
from antiphon.views import list_display_results
from antiphon.web.steps import load_effect_entry, render_result_json, results_of_step, tool_call_json
from antiphon.web.stored import row_at

if TYPE_CHECKING:
    from antiphon.durable import Journal

#: The most turns in one response, the newest first.
_MAX_TURNS = 20
_DEFAULT_ROWS = 200


# Prompts of requests


def request_prompt_json(journal: Journal, run: str, path: str, before: str = "") -> dict[str, Any]:
    """Return the prompt of a model request: the newest turns, or those before the mark `before`."""
    turns, more, about = _load_prompt(journal, run, path, before)
    told: dict[str, Any] = {"turns": [_turn_json(each) for each in turns], "before": more}
    if before or not (turns or about):
        return told
    return {
        **told,
        "about": [{"name": name, "view": render_result_json(each, _DEFAULT_ROWS)} for name, each in about.items()],
    }


def request_prompt_part_json(
    journal: Journal, run: str, path: str, before: str, place: str | tuple[str, str], rows: int
) -> dict[str, Any]:
    """Return up to `rows` rows of one part of a prompt: by its name, or by its turn and part numbers."""
    turns, _, about = _load_prompt(journal, run, path, before)
    if isinstance(place, str):
        if place not in about:
            raise NotSavedError(f"the request at {path[:60]!r} has no {place[:60]!r}")
        return {"name": place, "view": render_result_json(about[place], rows)}
    try:
        part = _list_parts(turns[int(place[0])])[int(place[1])]
    except (ValueError, IndexError):
        raise NotSavedError(f"the request at {path[:60]!r} has no turn {place[0]!r} with a part {place[1]!r}") from None
    return _part_json(part, rows)


def _load_prompt(journal: Journal, run: str, path: str, before: str) -> tuple[list[Turn], str, dict[str, Result]]:
    """Return turns of a request, the mark of earlier ones, and its system prompt, tools and options."""
    entry = load_effect_entry(journal, row_at(journal, run, path))
    if entry.kind != "request" or entry.asked.get("private"):
        return [], "", {}
    turns, more = journal.load_shown_turns(run, path, _MAX_TURNS, before)
    system, tools, options = (entry.asked.get(name) for name in ("system", "tools", "options"))
    about = {"system": text(str(system))} if system else {}
    about |= {"tools": structured(tools, collapsed=True)} if tools else {}
    about |= {"options": structured(options, collapsed=True)} if options else {}
    return list(turns), more, about


def _turn_json(turn: Turn) -> dict[str, Any]:
    """Return a turn as the model received it, not as results are rendered for people."""
    role = "user" if isinstance(turn, UserTurn) else "assistant"
    return {"role": role, "parts": [_part_json(each) for each in _list_parts(turn)]}


def _list_parts(turn: Turn) -> list[Any]:
    return list(turn.said) if isinstance(turn, UserTurn) else [*turn.parts, *turn.results]


def _part_json(part: Any, rows: int = _DEFAULT_ROWS) -> dict[str, Any]:
    match part:
        case ToolCall():
            return {"type": "call", "call": tool_call_json({"tool": part.name, "arguments": part.arguments}, rows)}
        case ToolResult():
            plain = ToolResult(part.call_id, part.content, part.is_error, part.name)
            return {"type": "result", "name": part.name, "views": _render_all(list_display_results(plain), rows)}
        case Reasoning() if part.text:
            return {"type": "reasoning", "views": _render_all([text(part.text, markdown=True, collapsed=True)], rows)}
        case Text() | Chat() | Note():
            return {"type": "text", "views": _render_all([text(part.text, markdown=True)], rows)}
        case Image():
            return {
                "type": "image",
                "views": _render_all([image(base64=part.data, url=part.url, mime_type=part.media_type)], rows),
            }
        case Media() | File():
            return {"type": "text", "views": _render_all([text(f"[{part.description}]")], rows)}
        case ServerCall():
            return {"type": "call", "call": tool_call_json({"tool": part.tool, "arguments": part.input}, rows)}
        case ServerResult():
            return {"type": "result", "name": "", "views": _render_all([text(part.text)] if part.text else [], rows)}
        case OpaquePart() | Reasoning():
            return {
                "type": "other",
                "views": _render_all([structured(part.native and part.native.data, collapsed=True)], rows),
            }
        case _:
            return {"type": "other", "views": []}


def _render_all(found: Iterable[Result], rows: int) -> list[dict[str, Any]]:
    return [render_result_json(each, rows) for each in found]


# Changed files


def changed_files_json(journal: Journal, run: str) -> list[dict[str, Any]]:
    """Return the changes of a run by file, as its tool results report them.

    Consecutive changes are joined if each starts with the result of the one before. Otherwise something
    else has changed the file, or only a part of it is known, and they are listed separately.
    """
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for path, result in _iter_diff_results(journal, run):
        data = as_object(result.data)
        changes = found.setdefault(str(data.get("path", "")), [])
        known = changes[-1][1] if changes else {}
        if "original" in data and data["original"] == known.get("modified"):
            changes[-1] = path, {**known, "modified": data["modified"]}
        else:
            changes.append((path, dict(data)))
    return [
        {
            "path": file,
            "changes": [
                {"step": path, "view": render_result_json(_change_result(data), _DEFAULT_ROWS)}
                for path, data in changes
            ],
        }
        for file, changes in sorted(found.items())
    ]


def _change_result(data: dict[str, Any]) -> Result:
    if isinstance(data.get("original"), str) or data.get("isNew") is not False:
        return diff(str(data.get("path", "")), data.get("original"), data["modified"])
    return Result("diff", data)


def _iter_diff_results(journal: Journal, run: str) -> Iterable[tuple[str, Result]]:
    for row in list_tool_results_with(journal.database, run, '"diff"'):
        entry = load_effect_entry(journal, row)
        for result in results_of_step(entry):
            if result.kind == "diff" and isinstance(as_object(result.data).get("modified"), str):
                yield entry.path, result
