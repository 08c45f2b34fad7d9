"""Compare two sessions: steps aligned by path, equal steps folded, and differences as diffs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from antiphon.conversation import ToolCall
from antiphon.durable.run_diff import StepPair, align_steps
from antiphon.durable.run_entries import EffectEntry
from antiphon.effects import HumanAnswer, ModelReplied, Outcome, ToolReturned, outcome_to_json
from antiphon.errors import OptionError, StoreError
from antiphon.results import Result, diff
from antiphon.storage.steps import list_steps
from antiphon.web.json_response import json_response
from antiphon.web.steps import load_effect_entry, render_result_json, step_line_json
from antiphon.web.stored import row_at, session_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.durable import Journal

#: The most rows, and the most equal steps, in one response.
_MAX_ROWS, _MAX_SAME_STEPS = 200, 500


def compare_routes(journal: Journal) -> list[Route]:
    """Return the routes that compare two runs."""
    from starlette.routing import Route

    def get_comparison(request: Request) -> Response:
        asked = request.query_params
        return json_response(
            compare_runs_json(
                journal, _require_parameter(asked, "first"), _require_parameter(asked, "second"), asked.get("after", "")
            )
        )

    def get_step(request: Request) -> Response:
        asked = request.query_params
        return json_response(
            compare_step_json(journal, *(_require_parameter(asked, each) for each in ("first", "second", "path")))
        )

    def get_same_steps(request: Request) -> Response:
        asked = request.query_params
        return json_response(
            {
                "steps": steps_between_json(
                    journal, *(_require_parameter(asked, each) for each in ("session", "from", "to"))
                )
            }
        )

    return [
        Route("/api/compare", get_comparison),
        Route("/api/compare/step", get_step),
        Route("/api/compare/same", get_same_steps),
    ]


def _require_parameter(asked: Any, name: str) -> str:
    if not (value := asked.get(name)):
        raise OptionError(f"`{name}` is missing")
    return value


def compare_runs_json(journal: Journal, first: str, second: str, after: str = "") -> dict[str, Any]:
    """Return both runs and their aligned steps in rows; with `after`, the rows after that path."""
    both = {"first": session_json(journal, first), "second": session_json(journal, second)}
    rows = _fold_equal(align_steps(journal.iterate_effects(first), journal.iterate_effects(second)))
    places = [number for number, each in enumerate(rows, 1) if each[-1].path == after]
    rest = rows[places[0] if after and places else 0 :]
    counts = {"differing": sum(each[0].what != "same" for each in rows), "same": sum(map(len, rows))}
    counts["same"] -= counts["differing"]
    shown = [_row_json(journal, first, second, each) for each in rest[:_MAX_ROWS]]
    return {**both, **counts, "rows": shown, "next": rest[_MAX_ROWS - 1][-1].path if len(rest) > _MAX_ROWS else None}


def _fold_equal(pairs: Iterable[StepPair]) -> list[list[StepPair]]:
    """Group consecutive equal pairs; each differing pair is its own group."""
    found: list[list[StepPair]] = []
    for each in pairs:
        if each.what == "same" and found and found[-1][-1].what == "same":
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _row_json(journal: Journal, first: str, second: str, pairs: list[StepPair]) -> dict[str, Any]:
    one = pairs[0]
    if one.what == "same":
        return {"what": "same", "path": pairs[-1].path, "from": one.path, "count": len(pairs)}
    sides = {
        "first": None if one.first is None else step_line_json(journal, row_at(journal, first, one.path)),
        "second": None if one.second is None else step_line_json(journal, row_at(journal, second, one.path)),
    }
    return {"what": one.what, "path": one.path, **sides}


def steps_between_json(journal: Journal, run: str, first: str, last: str) -> list[dict[str, Any]]:
    """Return the steps of a run between two paths."""
    begin, end = row_at(journal, run, first).seq, row_at(journal, run, last).seq
    rows = list_steps(journal.database, run, begin - 1, _MAX_SAME_STEPS, before=end + 1)
    return [step_line_json(journal, row) for row in rows]


def compare_step_json(journal: Journal, first: str, second: str, path: str) -> dict[str, Any]:
    """Return how a step differs in two runs: its request and its result, each as a diff."""
    try:
        one, other = (load_effect_entry(journal, row_at(journal, each, path)) for each in (first, second))
    except StoreError as damage:
        return {"damage": str(damage), "views": []}
    if one.asked.get("private") or other.asked.get("private"):
        return {"isPrivate": True, "views": []}
    asked = _text_diff(f"{path} asked", _request_text(one), _request_text(other))
    came = _text_diff(f"{path} came", _outcome_text(one), _outcome_text(other)) or _text_diff(
        f"{path} came", _raw_outcome_text(one), _raw_outcome_text(other)
    )
    views = [("asked", asked), ("came", came)]
    return {
        "views": [{"name": name, "view": render_result_json(each, 2000)} for name, each in views if each is not None]
    }


def _text_diff(path: str, old: str, new: str) -> Result | None:
    return None if old == new else diff(path, old, new, collapsed=False)


def _request_text(entry: EffectEntry) -> str:
    if entry.kind == "print" and isinstance(text := entry.asked.get("text"), str):
        return text
    return _indented_json({name: each for name, each in entry.asked.items() if name != "kind"})


def _outcome_text(entry: EffectEntry) -> str:
    outcome = entry.outcome or Outcome()
    if outcome.error is not None:
        return str(outcome.error)
    match outcome.value:
        case ModelReplied(reply):
            calls = [
                f"{each.name}({_indented_json(each.arguments)})" for each in reply.parts if isinstance(each, ToolCall)
            ]
            return "\n".join([*([reply.text] if reply.text else []), *calls])
        case ToolReturned(result) if result is not None:
            return result.text
        case HumanAnswer(text, allowed):
            return text or ("allowed" if allowed else "not allowed")
        case str():
            return outcome.value
        case _:
            return _raw_outcome_text(entry)


def _raw_outcome_text(entry: EffectEntry) -> str:
    return entry.state if entry.outcome is None else _indented_json(outcome_to_json(entry.outcome))


def _indented_json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str)
