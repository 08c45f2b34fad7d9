"""The steps of a run as data: in a line for the list, and opened with what was asked and what came of it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from antiphon._shape import obj
from antiphon.conversation import ToolCall
from antiphon.effects import Answered, Returned, Said, outcome_json
from antiphon.errors import ContentError, StoreError
from antiphon.journal.looking import EffectEntry, effect_entry
from antiphon.results import Display, Result, diff, error, structured, text
from antiphon.views import headline, results_of, view, view_json
from antiphon.views.choice import KINDS, labelled
from antiphon.views.part import json_cell
from antiphon.web.colours import coloured
from antiphon.web.frames import address, framed

if TYPE_CHECKING:
    from antiphon.journal import Journal

#: Characters of what stands in a line; of each row of what is opened; and of what nobody may have left out.
_LINE, _ROW, WHOLE = 300, 20_000, 10_000_000
#: Longer data, as JSON, is not sent along.
_DATA = 200_000


def entry_at(journal: Journal, row: tuple[Any, ...]) -> EffectEntry:
    """The effect of a row. To read a large one takes its time, and it is looked at several times."""
    return (_large if str(row[6]).startswith("@") else _entry)(journal, tuple(row))


def _entry(journal: Journal, row: tuple[Any, ...]) -> EffectEntry:
    return effect_entry(journal, row[1:])


_large = lru_cache(maxsize=4)(_entry)


def line(journal: Journal, row: tuple[Any, ...]) -> dict[str, Any]:
    """A step in a line: what was asked for, and the headline of what came of it."""
    seq, path, kind, *_, state, _, began, ended, cost, attempt = row
    told = {"seq": seq, "path": path, "kind": kind, "state": state, "began": began}
    told |= {"ended": ended, "cost": cost, "attempt": attempt}
    try:
        entry = entry_at(journal, row)
    except StoreError as damage:
        return {**told, "head": "", "damage": str(damage)}
    return {**told, **_head(entry), **gist(results(entry))}


def opened(journal: Journal, id: str, row: tuple[Any, ...], rows: int, own: Container[str] = ()) -> dict[str, Any]:
    """What is to be seen of a step, so many rows of each thing; of the kinds that are `own`, with their data."""
    told = line(journal, row)
    if "damage" in told or told.get("isPrivate"):
        return {**told, "views": []}
    entry = entry_at(journal, row)
    call = {"call": called(entry.asked, rows)} if entry.kind == "tool" else {}
    found = results(entry)
    views = [drawn(each, rows, own=own) for each in found]
    for number, (seen, result) in enumerate(zip(views, found, strict=True)):
        framed(seen, result, address(id, row[1]), str(number))
    return {**told, **call, "views": views}


def raw(journal: Journal, row: tuple[Any, ...], rows: int) -> dict[str, Any]:
    """What is written down of a step: what was asked for, and what came of it."""
    entry = entry_at(journal, row)
    came = None if entry.outcome is None else _plain(outcome_json(entry.outcome))
    both = (("asked", entry.asked), ("came", came))
    return {"raw": [{"name": name, "view": drawn(_as_json(data), rows)} for name, data in both]}


def drawn(result: Result, rows: int = 200, characters: int = _ROW, own: Container[str] = ()) -> dict[str, Any]:
    """A result as the page draws it; of a kind that has no look of its own, with its data for whoever draws it."""
    seen = coloured(view_json(view(result, rows=rows, characters=characters)))
    _add_data(seen, result, own, _DATA)
    return seen


def _add_data(seen: dict[str, Any], result: Result, own: Container[str], room: int) -> int:
    """Give a view, and those inside it, the data that somebody else may draw; the room that is left for more."""
    if (result.kind not in KINDS or result.kind in own) and not result.display.hidden and result.levels == 1:
        cell = json_cell(result.data, room)
        if not cell.cut:
            seen["data"] = result.data
            room -= len(cell.text)
    for inner, (_, each) in zip(seen.get("inside", ()), labelled(result), strict=False):
        room = _add_data(inner["view"], each, own, max(room, 0))
    return room


def called(asked: dict[str, Any], rows: int, characters: int = _ROW) -> dict[str, Any]:
    """A call with its arguments, each as a text in lines or as data."""
    given: object = asked.get("arguments")
    named = cast(dict[str, Any], given) if isinstance(given, dict) else {"": given}
    # What fits into a line comes first, so that what the rest is about is above it.
    ordered = sorted(named.items(), key=lambda each: not isinstance(each[1], str) or "\n" in each[1])
    arguments = [{"name": name, "view": drawn(_argument(value), rows, characters)} for name, value in ordered]
    change = _change(named)
    seen = {} if change is None else {"change": drawn(change, rows, characters)}
    return {"name": str(asked.get("tool", asked.get("name", ""))), "arguments": arguments, **seen}


def _change(given: dict[str, Any]) -> Result | None:
    """What a call that replaces a text by another would change, beside all that it is given."""
    path, old, new = (given.get(name) for name in ("path", "old", "new"))
    if isinstance(path, str) and isinstance(old, str) and isinstance(new, str):
        return diff(path, old, new, collapsed=False)
    return None


def results(entry: EffectEntry) -> list[Result]:
    """What came of a step, as results."""
    outcome = entry.outcome
    if outcome is None or entry.kind in ("print", "sleep"):
        return []
    if outcome.error is not None:
        return [error(str(outcome.error) or type(outcome.error).__name__)]
    match outcome.value:
        case Returned(result) if result is not None:
            return results_of(result)
        case Answered(reply):
            return [text(reply.text, markdown=True)] if reply.text else []
        case Returned() | Said():
            said = _said(outcome.value)
            return [text(said)] if said else []
        case str():
            return [text(outcome.value)]
        case None:
            return []
        case value:
            return [structured(_plain(value))]


def _head(entry: EffectEntry) -> dict[str, Any]:
    asked = entry.asked
    if asked.get("private"):
        return {"head": entry.kind, "isPrivate": True}
    match entry.kind:
        case "request":
            return {"head": str(asked.get("model", "")), **_used(entry)}
        case "tool":
            return {"head": str(asked.get("tool", "")), "given": in_line(asked.get("arguments"))}
        case "person":
            return {"head": str(asked.get("text", ""))[:_LINE], "about": str(asked.get("about", "question"))}
        case "print":
            return {"head": _as_text(asked.get("text"))}
        case "python":
            return {"head": str(asked.get("source", ""))[:_LINE]}
        case "environment":
            return {"head": str(asked.get("name", ""))}
        case "sleep":
            return {"head": f"{asked.get('seconds')} s"}
        case _:
            return {"head": ""}


def _used(entry: EffectEntry) -> dict[str, Any]:
    value = None if entry.outcome is None else entry.outcome.value
    if not isinstance(value, Answered):
        return {}
    usage = value.reply.usage
    calls = [part.name for part in value.reply.parts if isinstance(part, ToolCall)]
    return {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens, "calls": calls}


def gist(found: list[Result]) -> dict[str, Any]:
    """The headline of what came of something, in a line."""
    if not found:
        return {}
    first = found[0] if len(found) == 1 else Result("structured", None, f"{len(found)} results")
    told = view_json(headline(first))
    if isinstance(gist := told.get("gist"), str):
        told["gist"] = gist[:_LINE]
    return {"came": told}


def _said(value: Returned | Said) -> str:
    if isinstance(value, Returned):
        return value.asks
    if value.text:
        return value.text if value.allowed else f"not allowed: {value.text}"
    return "allowed" if value.allowed else "not allowed"


def _argument(value: Any) -> Result:
    return text(value, preferred_view="code") if isinstance(value, str) else structured(_plain(value))


def _as_json(data: Any) -> Result:
    return replace(structured(data), display=Display("raw"))


def in_line(value: Any) -> str:
    """A value as JSON, as far as there is room in a line."""
    written = json_cell(_plain(value), _LINE)
    return written.text + "…" * written.cut


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else in_line(value)


def _plain(value: Any) -> Any:
    """A value as JSON data; what has none is told by its type."""
    from antiphon.results import plain

    try:
        return plain(value)
    except (ContentError, TypeError, ValueError):
        return f"({type(value).__name__})"


def call_of(asked: dict[str, Any]) -> dict[str, Any]:
    """The call that somebody is to allow, as it is written down."""
    return obj(asked.get("call"))
