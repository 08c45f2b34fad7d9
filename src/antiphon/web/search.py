"""List and search sessions, by title, by what was said, and by the content of their steps."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from antiphon.conversation import ToolResult
from antiphon.durable.run_entries import EffectEntry
from antiphon.effects import HumanAnswer, ModelReplied, ToolReturned
from antiphon.errors import StoreError
from antiphon.storage.search import (
    Excerpt,
    find_contained_terms,
    find_transcripts,
    iterate_part_texts,
    iterate_strings,
    load_excerpt,
    make_excerpt,
    parse_search_query,
)
from antiphon.storage.sessions import SessionFilter, list_child_ids, list_heads
from antiphon.storage.steps import StepRow, iterate_steps
from antiphon.views.session_words import list_stored_kinds, list_stored_states, to_session_kind, to_session_state
from antiphon.web.steps import load_effect_entry
from antiphon.web.stored import LISTED, list_sessions_json

if TYPE_CHECKING:
    from antiphon.durable import Journal

#: The most results in a response.
_FOUND = 50
#: The most characters searched of a run, and in one request.
_OF_RUN, _AT_ONCE = 4_000_000, 16_000_000
_PAGE = 500


def list_or_search(journal: Journal, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return the sessions that pass the filters of a request, and the id of the last one if there are more."""
    states, kinds = (
        () if not (named := asked.get(name)) else listed(named)
        for name, listed in (("state", list_stored_states), ("kind", list_stored_kinds))
    )
    which = journal.make_filter(states, kinds=kinds, after=asked.get("after", ""))
    wanted = parse_search_query(asked.get("q", ""))
    if wanted:
        return searched(journal, wanted, which)
    found = list_heads(journal.database, which, LISTED)
    return {"sessions": list_sessions_json(journal, which), "next": found[-1][0] if len(found) == LISTED else None}


def searched(journal: Journal, wanted: tuple[str, ...], which: SessionFilter) -> dict[str, Any]:
    """Return the sessions with all terms, and the id of the last one searched if there are more.

    What is said in a transcript is found by the index. Of other sessions the steps are searched, so the search is
    bounded, and the next request continues it. `cut` is the number of sessions that were too long.
    """
    found: dict[str, dict[str, Any]] = {}
    looked, cut, last = 0, 0, None
    matches = find_transcripts(journal.database, wanted)
    for id, state, kind, title, revision in _heads(journal, which):
        if len(found) == _FOUND or looked > _AT_ONCE:
            break
        last = id
        if id in matches:
            excerpt = load_excerpt(journal.database, id, matches[id], wanted)
            found[id] = {"found": {"run": id, "path": "", "pieces": _list_pieces(excerpt)}}
            continue
        head = " ".join([id, to_session_state(state), to_session_kind(kind), title])
        search = _Search(wanted, find_contained_terms(head, wanted))
        if revision is None or search.known:
            search.look(journal, id)
        looked, cut = looked + search.looked, cut + search.is_cut
        if search.is_found:
            found[id] = search.place
    else:
        last = None
    listed = list_sessions_json(journal, journal.make_filter(ids=list(found))) if found else []
    return {"sessions": [{**each, **found[each["id"]]} for each in listed], "next": last, "cut": cut}


def _list_pieces(excerpt: Excerpt) -> list[list[object]]:
    return [list(each) for each in excerpt.split_pieces() if each[0]]


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
            pieces = _list_pieces(make_excerpt(text, self.wanted))
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


def _heads(journal: Journal, which: SessionFilter) -> Generator[tuple[Any, ...]]:
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
