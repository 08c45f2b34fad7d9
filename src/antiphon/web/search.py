"""List and search past runs, by title and by the content of their steps."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from antiphon.conversation import ToolResult
from antiphon.durable.run_entries import EffectEntry
from antiphon.effects import HumanAnswer, ModelReplied, ToolReturned
from antiphon.errors import StoreError
from antiphon.storage.search import (
    find_contained_terms,
    iterate_part_texts,
    iterate_strings,
    make_excerpt,
    parse_search_query,
)
from antiphon.storage.sessions import SessionFilter, list_child_ids, list_heads
from antiphon.storage.steps import StepRow, iterate_steps
from antiphon.web.json_response import json_response, parse_row_count
from antiphon.web.steps import load_effect_entry
from antiphon.web.stored import LISTED, parts, runs

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from antiphon.durable import Journal

#: The most results in a response.
_FOUND = 50
#: The most characters searched of a run, and in one request.
_OF_RUN, _AT_ONCE = 4_000_000, 16_000_000
_PAGE = 500


def routes(journal: Journal) -> list[Route]:
    """Return the routes that list and search runs."""
    from starlette.routing import Route

    def listed(request: Request) -> Response:
        asked = request.query_params
        if (parent := asked.get("of")) is not None:
            return json_response({"runs": parts(journal, parent, parse_row_count(asked, "after", 0))})
        which = journal.make_filter(asked.get("state", ""), kind=asked.get("kind", ""), after=asked.get("after", ""))
        wanted = parse_search_query(asked.get("q", ""))
        return json_response(searched(journal, wanted, which) if wanted else page(journal, which))

    return [Route("/api/runs", listed)]


def page(journal: Journal, which: SessionFilter) -> dict[str, Any]:
    """Return the newest runs, and the id of the last one if there are more."""
    found = runs(journal, which)
    return {"runs": found, "next": found[-1]["id"] if len(found) == LISTED else None}


def searched(journal: Journal, wanted: tuple[str, ...], which: SessionFilter) -> dict[str, Any]:
    """Return the runs with all terms, and the id of the last one searched if there are more.

    The search is bounded, and the next request continues it. `cut` is the number of runs that were too long.
    """
    found: dict[str, dict[str, Any]] = {}
    looked, cut, last = 0, 0, None
    for id, *head in _heads(journal, which):
        if len(found) == _FOUND or looked > _AT_ONCE:
            break
        last = id
        search = _Search(wanted, find_contained_terms(" ".join([id, *head]), wanted))
        search.look(journal, id)
        looked, cut = looked + search.looked, cut + search.is_cut
        if search.is_found:
            found[id] = search.place
    else:
        last = None
    whole = {each["id"]: each for each in runs(journal, journal.make_filter(ids=list(found)))} if found else {}
    listed = [{**whole[id], **place} for id, place in found.items() if id in whole]
    return {"runs": listed, "next": last, "cut": cut}


@dataclass(slots=True)
class _Search:
    """The search for terms in one run."""

    wanted: tuple[str, ...]
    known: set[str]
    place: dict[str, Any] = field(default_factory=dict[str, Any])
    most: int = 0
    looked: int = 0
    is_cut: bool = False

    @property
    def is_found(self) -> bool:
        return len(self.known) == len(self.wanted)

    def look(self, journal: Journal, run: str) -> None:
        """Search the steps of a run and of its nested runs until all terms are found."""
        for of, row in _rows(journal, run):
            if self.is_found or self.is_cut:
                return
            self._step(journal, of, row)
            self.is_cut = self.looked > _OF_RUN

    def _step(self, journal: Journal, of: str, row: StepRow) -> None:
        try:
            self.looked += sum(len(journal.load_raw_text(each)) for each in (row.request, row.outcome) if each)
            text = text_of(load_effect_entry(journal, row))
        except StoreError:
            return
        found = find_contained_terms(text, self.wanted)
        self.known |= found
        # The step with the most terms is shown.
        if len(found) > self.most:
            self.most = len(found)
            pieces = [list(each) for each in make_excerpt(text, self.wanted).split_pieces() if each[0]]
            self.place = {"found": {"run": of, "path": row.path, "pieces": pieces}}


def text_of(entry: EffectEntry) -> str:
    """Return the searchable text of a step, without private values."""
    return "\n".join(_texts(entry))


def _texts(entry: EffectEntry) -> Generator[str]:
    asked, outcome = entry.asked, entry.outcome
    for name in ("text", "tool", "arguments", "source", "call"):
        yield from iterate_strings(asked.get(name))
    if outcome is None:
        return
    if outcome.error is not None:
        yield str(outcome.error)
    match outcome.value:
        case ModelReplied(reply):
            for part in reply.parts:
                yield from iterate_part_texts(part)
        case ToolReturned(ToolResult() as result):
            yield result.text
        case HumanAnswer(text):
            yield text
        case value:
            yield from iterate_strings(value)


def _heads(journal: Journal, which: SessionFilter) -> Generator[tuple[str, ...]]:
    while rows := list_heads(journal.database, which, _PAGE):
        yield from rows
        which = replace(which, after=rows[-1][0])


def _rows(journal: Journal, run: str) -> Generator[tuple[str, StepRow]]:
    """Yield the steps of a run and of its nested runs, each with its run."""
    last = ""
    for row in iterate_steps(journal.database, run):
        yield run, row
    while some := list_child_ids(journal.database, run, last, _PAGE):
        for part in some:
            for row in iterate_steps(journal.database, part):
                yield part, row
        last = some[-1]
