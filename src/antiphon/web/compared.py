"""Two runs side by side: their steps by their paths, what is the same folded, and what differs as a diff."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from antiphon.conversation import ToolCall
from antiphon.effects import Answered, Outcome, Returned, Said, outcome_json
from antiphon.errors import OptionError, StoreError
from antiphon.journal.differing import Pair, aligned
from antiphon.journal.looking import EffectEntry
from antiphon.results import Result, diff
from antiphon.web.sent import answer
from antiphon.web.steps import drawn, entry_at, line
from antiphon.web.stored import STEP, row_at, run

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.journal import Journal

#: So many rows are sent at once, and so many steps that are the same.
_ROWS, _SAME = 200, 500


def routes(journal: Journal) -> list[Route]:
    """Where two runs are compared."""
    from starlette.routing import Route

    def whole(request: Request) -> Response:
        asked = request.query_params
        return answer(compared(journal, _given(asked, "first"), _given(asked, "second"), asked.get("after", "")))

    def step(request: Request) -> Response:
        asked = request.query_params
        return answer(step_of_both(journal, *(_given(asked, each) for each in ("first", "second", "path"))))

    def same(request: Request) -> Response:
        asked = request.query_params
        return answer({"steps": steps_between(journal, *(_given(asked, each) for each in ("run", "from", "to")))})

    return [
        Route("/api/compare", whole),
        Route("/api/compare/step", step),
        Route("/api/compare/same", same),
    ]


def _given(asked: Any, name: str) -> str:
    if not (value := asked.get(name)):
        raise OptionError(f"`{name}` is missing")
    return value


def compared(journal: Journal, first: str, second: str, after: str = "") -> dict[str, Any]:
    """Both runs, and their steps in rows; after the row of a path, where one is named."""
    both = {"first": run(journal, first), "second": run(journal, second)}
    rows = _folded(aligned(journal.effects(first), journal.effects(second)))
    places = [number for number, each in enumerate(rows, 1) if each[-1].path == after]
    rest = rows[places[0] if after and places else 0 :]
    counts = {"differing": sum(each[0].what != "same" for each in rows), "same": sum(map(len, rows))}
    counts["same"] -= counts["differing"]
    shown = [_row(journal, first, second, each) for each in rest[:_ROWS]]
    return {**both, **counts, "rows": shown, "next": rest[_ROWS - 1][-1].path if len(rest) > _ROWS else None}


def _folded(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Each that differs by itself, and those together that are the same one after another."""
    found: list[list[Pair]] = []
    for each in pairs:
        if each.what == "same" and found and found[-1][-1].what == "same":
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _row(journal: Journal, first: str, second: str, pairs: list[Pair]) -> dict[str, Any]:
    one = pairs[0]
    if one.what == "same":
        return {"what": "same", "path": pairs[-1].path, "from": one.path, "count": len(pairs)}
    sides = {
        "first": None if one.first is None else line(journal, row_at(journal, first, one.path)),
        "second": None if one.second is None else line(journal, row_at(journal, second, one.path)),
    }
    return {"what": one.what, "path": one.path, **sides}


def steps_between(journal: Journal, run: str, first: str, last: str) -> list[dict[str, Any]]:
    """The steps of a run from one to another."""
    bounds = row_at(journal, run, first)[0], row_at(journal, run, last)[0]
    rows = journal.read(
        f"SELECT {STEP} FROM effects WHERE run = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT {_SAME}",
        (run, *bounds),
    )
    return [line(journal, row) for row in rows]


def step_of_both(journal: Journal, first: str, second: str, path: str) -> dict[str, Any]:
    """How a step differs: what was asked for, and what came of it, each as a diff."""
    try:
        one, other = (entry_at(journal, row_at(journal, each, path)) for each in (first, second))
    except StoreError as damage:
        return {"damage": str(damage), "views": []}
    if one.asked.get("private") or other.asked.get("private"):
        return {"isPrivate": True, "views": []}
    asked = _change(f"{path} asked", _asked(one), _asked(other))
    came = _change(f"{path} came", _came(one), _came(other)) or _change(f"{path} came", _raw(one), _raw(other))
    views = [("asked", asked), ("came", came)]
    return {"views": [{"name": name, "view": drawn(each, 2000)} for name, each in views if each is not None]}


def _change(path: str, old: str, new: str) -> Result | None:
    return None if old == new else diff(path, old, new, collapsed=False)


def _asked(entry: EffectEntry) -> str:
    if entry.kind == "print" and isinstance(text := entry.asked.get("text"), str):
        return text
    return _json({name: each for name, each in entry.asked.items() if name != "kind"})


def _came(entry: EffectEntry) -> str:
    outcome = entry.outcome or Outcome()
    if outcome.error is not None:
        return str(outcome.error)
    match outcome.value:
        case Answered(reply):
            calls = [f"{each.name}({_json(each.arguments)})" for each in reply.parts if isinstance(each, ToolCall)]
            return "\n".join([*([reply.text] if reply.text else []), *calls])
        case Returned(result) if result is not None:
            return result.text
        case Said(text, allowed):
            return text or ("allowed" if allowed else "not allowed")
        case str():
            return outcome.value
        case _:
            return _raw(entry)


def _raw(entry: EffectEntry) -> str:
    return entry.state if entry.outcome is None else _json(outcome_json(entry.outcome))


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str)
