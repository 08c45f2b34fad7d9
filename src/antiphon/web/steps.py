"""The steps of a run as JSON: one line each for the list, and details with request and result."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from antiphon._base.json_access import as_object
from antiphon.conversation import ToolCall
from antiphon.durable.run_entries import EffectEntry, read_effect_entry
from antiphon.effects import HumanAnswer, ModelReplied, ToolReturned, outcome_to_json
from antiphon.errors import ContentError, StoreError
from antiphon.results import Display, Result, diff, error, structured, text
from antiphon.storage.steps import StepRow
from antiphon.storage.texts import REFERENCE_MARK
from antiphon.views import headline, list_display_results, view, view_json
from antiphon.views.data_window import make_json_cell
from antiphon.views.select import BODY_BUILDERS_BY_KIND, iter_inner_results
from antiphon.web.highlighting import highlight_view
from antiphon.web.sandboxed_html import add_frame_addresses, frame_address

if TYPE_CHECKING:
    from antiphon.durable import Journal

#: The most characters in a line; in a row of details; and where nothing may be left out.
_MAX_LINE, _MAX_ROW, MAX_CHARACTERS = 300, 20_000, 10_000_000
#: Longer data, as JSON, is not included.
_MAX_DATA = 200_000


def load_effect_entry(journal: Journal, row: StepRow) -> EffectEntry:
    """Return the journal entry of a database row; large ones are cached, as they are read repeatedly."""
    return (_read_cached_entry if str(row.outcome).startswith(REFERENCE_MARK) else _read_entry)(journal, row)


def _read_entry(journal: Journal, row: StepRow) -> EffectEntry:
    return read_effect_entry(journal, row)


_read_cached_entry = lru_cache(maxsize=4)(_read_entry)


def step_line_json(journal: Journal, row: StepRow) -> dict[str, Any]:
    """Return a step in one line: its request and the headline of its result."""
    seq, path, kind, *_, state, _, began, ended, cost, attempt = row
    told = {"seq": seq, "path": path, "kind": kind, "state": state, "began": began}
    told |= {"ended": ended, "cost": cost, "attempt": attempt}
    try:
        entry = load_effect_entry(journal, row)
    except StoreError as damage:
        return {**told, "head": "", "damage": str(damage)}
    return {**told, **_head_json(entry), **headline_json(results_of_step(entry))}


def step_details_json(journal: Journal, id: str, row: StepRow, rows: int, own: Container[str] = ()) -> dict[str, Any]:
    """Return a step with up to `rows` rows of each result; results of kinds in `own` include their data."""
    told = step_line_json(journal, row)
    if "damage" in told or told.get("isPrivate"):
        return {**told, "views": []}
    entry = load_effect_entry(journal, row)
    call = {"call": tool_call_json(entry.asked, rows)} if entry.kind == "tool" else {}
    found = results_of_step(entry)
    views = [render_result_json(each, rows, own=own) for each in found]
    for number, (seen, result) in enumerate(zip(views, found, strict=True)):
        add_frame_addresses(seen, result, frame_address(id, row.path), str(number))
    return {**told, **call, "views": views}


def raw_step_json(journal: Journal, row: StepRow, rows: int) -> dict[str, Any]:
    """Return the stored request and result of a step."""
    entry = load_effect_entry(journal, row)
    came = None if entry.outcome is None else to_displayed_json(outcome_to_json(entry.outcome))
    both = (("asked", entry.asked), ("came", came))
    return {"raw": [{"name": name, "view": render_result_json(_json_result(data), rows)} for name, data in both]}


def render_result_json(
    result: Result, rows: int = 200, characters: int = _MAX_ROW, own: Container[str] = ()
) -> dict[str, Any]:
    """Return a result as the page renders it; a kind without a built-in view includes its data."""
    seen = highlight_view(view_json(view(result, rows=rows, characters=characters)))
    _add_data(seen, result, own, _MAX_DATA)
    return seen


def _add_data(seen: dict[str, Any], result: Result, own: Container[str], room: int) -> int:
    """Add data to a view and its nested views for custom renderers, and return the remaining size."""
    if (
        (result.kind not in BODY_BUILDERS_BY_KIND or result.kind in own)
        and not result.display.hidden
        and result.levels == 1
    ):
        cell = make_json_cell(result.data, room)
        if not cell.cut:
            seen["data"] = result.data
            room -= len(cell.text)
    for inner, (_, each) in zip(seen.get("inside", ()), iter_inner_results(result), strict=False):
        room = _add_data(inner["view"], each, own, max(room, 0))
    return room


def tool_call_json(asked: dict[str, Any], rows: int, characters: int = _MAX_ROW) -> dict[str, Any]:
    """Return a tool call with its arguments, each as text or data."""
    given: object = asked.get("arguments")
    named = cast(dict[str, Any], given) if isinstance(given, dict) else {"": given}
    # Short arguments first: they usually say what the long ones are about.
    ordered = sorted(named.items(), key=lambda each: not isinstance(each[1], str) or "\n" in each[1])
    arguments = [
        {"name": name, "view": render_result_json(_argument_result(value), rows, characters)} for name, value in ordered
    ]
    change = _preview_edit(named)
    seen = {} if change is None else {"change": render_result_json(change, rows, characters)}
    return {"name": str(asked.get("tool", asked.get("name", ""))), "arguments": arguments, **seen}


def _preview_edit(given: dict[str, Any]) -> Result | None:
    """Return the diff of a call that replaces text; `None` for other calls."""
    path, old, new = (given.get(name) for name in ("path", "old", "new"))
    if isinstance(path, str) and isinstance(old, str) and isinstance(new, str):
        return diff(path, old, new, collapsed=False)
    return None


def results_of_step(entry: EffectEntry) -> list[Result]:
    """Return the results of a step."""
    outcome = entry.outcome
    if outcome is None or entry.kind in ("print", "sleep"):
        return []
    if outcome.error is not None:
        return [error(str(outcome.error) or type(outcome.error).__name__)]
    match outcome.value:
        case ToolReturned(result) if result is not None:
            return list_display_results(result)
        case ModelReplied(reply):
            return [text(reply.text, markdown=True)] if reply.text else []
        case ToolReturned() | HumanAnswer():
            said = _answer_text(outcome.value)
            return [text(said)] if said else []
        case str():
            return [text(outcome.value)]
        case None:
            return []
        case value:
            return [structured(to_displayed_json(value))]


def _head_json(entry: EffectEntry) -> dict[str, Any]:
    asked = entry.asked
    if asked.get("private"):
        return {"head": entry.kind, "isPrivate": True}
    match entry.kind:
        case "request":
            return {"head": str(asked.get("model", "")), **_usage_json(entry)}
        case "tool":
            return {"head": str(asked.get("tool", "")), "given": one_line_json(asked.get("arguments"))}
        case "person":
            return {"head": str(asked.get("text", ""))[:_MAX_LINE], "about": str(asked.get("about", "question"))}
        case "message":
            return {"head": str(asked.get("text", ""))[:_MAX_LINE]}
        case "print":
            return {"head": _line_text(asked.get("text"))}
        case "python":
            return {"head": str(asked.get("source", ""))[:_MAX_LINE]}
        case "environment":
            return {"head": str(asked.get("name", ""))}
        case "upload":
            return {"head": f"{asked.get('name') or asked.get('media_type')}, {asked.get('size')} bytes"[:_MAX_LINE]}
        case "batch":
            return {"head": str(asked.get("model", "")), "given": one_line_json({"requests": asked.get("requests")})}
        case "sleep":
            return {"head": f"{asked.get('seconds')} s"}
        case _:
            return {"head": ""}


def _usage_json(entry: EffectEntry) -> dict[str, Any]:
    value = None if entry.outcome is None else entry.outcome.value
    if not isinstance(value, ModelReplied):
        return {}
    usage = value.reply.usage
    calls = [part.name for part in value.reply.parts if isinstance(part, ToolCall)]
    tokens = {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}
    return {**tokens, "cachedTokens": usage.cache_read_tokens, "calls": calls}


def headline_json(found: list[Result]) -> dict[str, Any]:
    """Return the headline of results, in one line."""
    if not found:
        return {}
    first = found[0] if len(found) == 1 else Result("structured", None, f"{len(found)} results")
    told = view_json(headline(first))
    if isinstance(gist := told.get("gist"), str):
        told["gist"] = gist[:_MAX_LINE]
    return {"came": told}


def _answer_text(value: ToolReturned | HumanAnswer) -> str:
    if isinstance(value, ToolReturned):
        return value.asks
    if value.text:
        return value.text if value.allowed else f"not allowed: {value.text}"
    return "allowed" if value.allowed else "not allowed"


def _argument_result(value: Any) -> Result:
    return text(value, preferred_view="code") if isinstance(value, str) else structured(to_displayed_json(value))


def _json_result(data: Any) -> Result:
    return replace(structured(data), display=Display("raw"))


def one_line_json(value: Any) -> str:
    """Return a value as JSON, truncated to one line."""
    written = make_json_cell(to_displayed_json(value), _MAX_LINE)
    return written.text + "…" * written.cut


def _line_text(value: Any) -> str:
    return value if isinstance(value, str) else one_line_json(value)


def to_displayed_json(value: Any) -> Any:
    """Return a value as JSON data; a value that has none as the name of its type."""
    from antiphon.results import to_plain_json

    try:
        return to_plain_json(value)
    except (ContentError, TypeError, ValueError):
        return f"({type(value).__name__})"


def get_pending_call(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the stored tool call that awaits approval."""
    return as_object(asked.get("call"))
