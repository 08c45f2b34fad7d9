"""Sessions by their addresses: chats, programs, batches, scripts and teams of one database.

An address is an id, the start of one, a name or `last`; `ID.17` is a child, and `ID:4/r1` a step. Message N of a chat
is its step N.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

from antiphon.durable import Journal, Store
from antiphon.durable.run_owner import may_owner_be_alive
from antiphon.errors import NotSavedError
from antiphon.storage import sessions as rows
from antiphon.storage.leases import PREPARING
from antiphon.views.session_words import (
    Kind,
    State,
    list_stored_kinds,
    list_stored_states,
    to_session_kind,
    to_session_state,
)

if TYPE_CHECKING:
    from antiphon.conversation import Conversation
    from antiphon.durable import EffectEntry, QuestionEntry, RunEntry
    from antiphon.storage import ConversationEntry, Excerpt

#: The kind of the runs that hold earlier attempts of their parent.
_SUPERSEDED_KIND = "earlier"
#: How many sessions are read at once.
_PAGE = 500


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session: a saved conversation with the run of its messages, or a run of another kind."""

    id: str
    kind: Kind
    state: State
    title: str
    created: float
    updated: float
    cost: float | None
    #: The run. A conversation that only was saved has none.
    run: RunEntry | None
    conversation: ConversationEntry | None = None
    excerpt: Excerpt | None = None

    @property
    def waiting(self) -> tuple[QuestionEntry, ...]:
        """The open questions."""
        return self.run.waiting if self.run is not None and self.state in ("waiting", "ready", "running") else ()

    def list_questions(self) -> list[tuple[str, str]]:
        """Return the step and the text of each open question."""
        return [(each.path, each.text) for each in self.waiting]

    @property
    def is_final(self) -> bool:
        """True if the session was closed for good."""
        return self.run is not None and self.run.state == "cancelled" and self.conversation is None

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models that it used, the newest last."""
        if self.conversation is not None:
            return self.conversation.models
        begun = self.run.begun_as if self.run is not None else {}
        settings = begun.get("settings")
        named = begun.get("model") or (cast(dict[str, object], settings).get("model") if settings else None)
        return (named,) if isinstance(named, str) else ()

    def uses_model(self, part: str) -> bool:
        """Return whether a name of its models has this part, in any case."""
        return any(part.lower() in name.lower() for name in self.models)

    @property
    def is_child(self) -> bool:
        """True for a row of a batch and a turn of a team."""
        return self.run is not None and self.run.parent is not None


class Sessions:
    """The sessions of the database of this command."""

    def __init__(self) -> None:
        self.journal = Journal()

    @cached_property
    def store(self) -> Store:
        """The saved conversations."""
        return Store()

    def close(self) -> None:
        """Close the database."""
        self.journal.close()
        self.store.close()

    # Looking up

    def find(self, which: str) -> SessionEntry:
        """Return the session with this id or name, or the only one that begins with it; `last` is the newest."""
        if which == "last":
            if not (newest := next(iter(self.list(limit=1)), None)):
                raise NotSavedError(f"there is no session yet in {self.describe_place()}")
            return newest
        found = rows.find_ids(self.journal.database, which) if which else []
        # Ids are typed in any case; names are not.
        found = found or (rows.find_ids(self.journal.database, which.lower()) if which else [])
        if len(found) > 1:
            raise NotSavedError(rows.describe_ambiguous_id(which, found))
        if found:
            return next(iter(self._get_all(found)), None) or self.make_entry(self.journal.find(found[0]))
        base, dot, number = which.rpartition(".")
        if base and dot and number.isdigit() and self.journal.has_run(child := f"{self.find(base).id}.{number}"):
            return self.make_entry(self.journal.find(child))
        raise NotSavedError(self._describe_missing(which))

    def resolve(self, address: str) -> tuple[SessionEntry, str | None]:
        """Return the session and the step of an address; the step is None if it names none."""
        if ":" not in address:
            return self.find(address), None
        # Names of scripts may contain colons.
        for place in (place for place, char in enumerate(address) if char == ":"):
            if self.journal.has_run(address[:place]):
                return self.find(address[:place]), address[place + 1 :]
        if self.journal.has_run(address):
            return self.find(address), None
        which, _, step = address.partition(":")
        return self.find(which), step

    def steps(self, session: SessionEntry) -> Iterator[EffectEntry]:
        """Yield the steps of a session."""
        return self.journal.iterate_effects(session.id)

    def load_conversation(self, session: SessionEntry) -> Conversation | None:
        """Return the conversation of a chat, or None for another session."""
        if session.conversation is not None:
            return self.store.load(session.id)
        if session.run is None or "mode" not in session.run.begun_as:
            return None
        return self.journal.load_request(session.run.id)[0]

    def children(self, session: SessionEntry, state: State | None = None) -> list[SessionEntry]:
        """Return the rows of a batch, or the turns of a team, in order."""
        found: list[RunEntry] = []
        for each in [None] if state is None else list_stored_states(state):
            found += self.journal.list_runs(parent=session.id, state=each)
        entries = [self.make_entry(each) for each in found if each.kind != _SUPERSEDED_KIND]
        return [each for each in entries if state is None or each.state == state]

    # Listing

    def list(
        self,
        limit: int | None = None,
        *,
        kind: Kind | None = None,
        state: State | None = None,
        model: str | None = None,
        since: float | None = None,
        query: str | None = None,
    ) -> list[SessionEntry]:
        """Return sessions, newest first, that pass all filters. `query` holds words to search for."""
        if not query:
            return self._list_newest(limit, self._make_filter(kind, state, model, since))
        chosen = [
            each
            for each in self._iterate_matches(query)
            if (kind is None or each.kind == kind)
            and (state is None or each.state == state)
            and (model is None or each.uses_model(model))
            and (since is None or each.updated >= since)
        ]
        return sorted(chosen, key=lambda each: (each.updated, each.id), reverse=True)[:limit]

    def _list_newest(self, limit: int | None, which: rows.ListFilter) -> list[SessionEntry]:
        """Return the newest sessions that pass a filter. The database decides, except about models of runs."""
        found: list[SessionEntry] = []
        after: tuple[float, str] | None = None
        while limit is None or len(found) < limit:
            page = rows.list_newest_ids(self.journal.database, which, min(limit or _PAGE, _PAGE), after)
            entries = self._get_all([id for id, _ in page])
            found += [each for each in entries if not which.model or each.uses_model(which.model)]
            if len(page) < min(limit or _PAGE, _PAGE):
                break
            after = page[-1][1], page[-1][0]
        return found[:limit]

    def _make_filter(
        self, kind: Kind | None, state: State | None, model: str | None, since: float | None
    ) -> rows.ListFilter:
        kinds = () if kind is None else list_stored_kinds(kind)
        return rows.ListFilter(kinds, None if state is None else self._make_state_filter(state), model or "", since)

    def _make_state_filter(self, state: State) -> rows.StateFilter:
        if state in ("running", "stopped"):
            owners = rows.list_owners(self.journal.database)
            # In a shared database, workers decide whether a process has died.
            dead = [each for each in owners if not may_owner_be_alive(each) and not self.journal.is_shared]
            ended = () if state == "running" else ("interrupted", "cancelled")
            return rows.StateFilter(ended, True, dead, state == "stopped")
        return rows.StateFilter(list_stored_states(state), failed_rows={"failed": True, "done": False}.get(state))

    def _get_all(self, ids: Sequence[str]) -> list[SessionEntry]:
        """Return the sessions with these ids, in this order."""
        saved = self.store.find_all(ids)
        runs = {each.id: each for each in self.journal.find_all(ids)}
        return [
            self._make_chat(saved[id], runs.get(id)) if self._is_chat(saved.get(id), runs.get(id))
            else self.make_entry(runs[id])
            for id in ids
            if id in saved or id in runs
        ]  # fmt: skip

    def _is_chat(self, conversation: ConversationEntry | None, run: RunEntry | None) -> bool:
        """Return whether a session is a conversation. A program of an older file may have the id of one."""
        return conversation is not None and (run is None or to_session_kind(run.kind) == "chat")

    def _iterate_matches(self, query: str) -> Generator[SessionEntry]:
        from antiphon.storage.search import Excerpt, parse_search_query
        from antiphon.storage.sessions import SessionFilter
        from antiphon.web.search import searched

        matched = {each.id: each.excerpt for each in self.store.list(query=query)}
        yield from (replace(each, excerpt=matched[each.id]) for each in self._get_all([*matched]))
        after: str | None = ""
        while after is not None:
            page = searched(self.journal, parse_search_query(query), SessionFilter(after=after))
            found = {each["id"]: each.get("found", {}).get("pieces", []) for each in page["sessions"]}
            for each in self._get_all([id for id in found if id not in matched]):
                pieces = found[each.id]
                excerpt = Excerpt("".join(text for text, _ in pieces), _find_spans(pieces)) if pieces else None
                yield replace(each, excerpt=excerpt)
            after = page["next"]

    # Helpers

    def make_entry(self, run: RunEntry, excerpt: Excerpt | None = None) -> SessionEntry:
        """Return the session of a run."""
        kind = to_session_kind(run.kind)
        state, cost = _determine_state(run), run.cost
        if kind == "batch" and run.state != PREPARING:
            from antiphon.storage.steps import sum_row_costs

            cost = sum_row_costs(self.journal.database, run.id)
            if state == "done" and dict(self.journal.count_by_state(run.id, kind="row")).get("failed"):
                state = "failed"
        elif kind == "team":
            known = [each.cost for each in self.journal.list_runs(parent=run.id) if each.cost is not None]
            cost = sum(known) if known else None
        return SessionEntry(run.id, kind, state, run.title, run.created, run.updated, cost, run, excerpt=excerpt)

    def _make_chat(self, conversation: ConversationEntry, run: RunEntry | None) -> SessionEntry:
        return SessionEntry(
            conversation.id,
            "chat",
            "done" if run is None else _determine_state(run),
            conversation.title,
            conversation.created.timestamp(),
            conversation.updated.timestamp(),
            conversation.cost,
            run,
            conversation,
        )

    def describe_place(self) -> str:
        """Return where the sessions are."""
        from antiphon.storage.store_location import is_saving_off

        return "memory, because saving is off" if is_saving_off() else self.journal.name

    def _describe_missing(self, which: str) -> str:
        from antiphon.storage.store_location import is_saving_off

        if which.endswith(".vibe"):
            return f"there is no session {which!r}; `antiphon run {which}` runs a program"
        if which in ("all", "*"):
            return f"there is no session {which!r}; `antiphon delete --older 0d --all` deletes all of them"
        reason = "saving is off" if is_saving_off() else "`antiphon list` lists them"
        return f"there is no session {which!r}; {reason}"


@contextmanager
def open_sessions() -> Generator[Sessions]:
    """Open the sessions of the command's database."""
    sessions = Sessions()
    try:
        yield sessions
    finally:
        sessions.close()


def find_script(run: RunEntry) -> str | None:
    """Return the Python script that a run continues with, or words for it; None if it is no run of a script."""
    if run.kind == "python" or (run.kind == "session" and "conversation" in run.begun_as):
        # Files of earlier versions do not name it.
        path = str(run.begun_as.get("script", ""))
        near = os.path.relpath(path) if path else "its script"
        return path if near.startswith(os.pardir) else near
    return None


def describe_resumption(run: RunEntry, option: str = "") -> str:
    """Return how a run is resumed, as the end of a message; `option` is an option that this needs."""
    script = find_script(run)
    if script is not None:
        return f"run {script} again"
    return f"resume it with `antiphon resume {run.id}{f' {option}' if option else ''}`"


def _determine_state(run: RunEntry) -> State:
    if run.state == PREPARING:
        return "running" if run.owner and may_owner_be_alive(run.owner) else "stopped"
    return to_session_state(run.state)


def _find_spans(pieces: list[list[object]]) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    at = 0
    for text, is_found in pieces:
        end = at + len(str(text))
        spans += [(at, end)] * bool(is_found)
        at = end
    return tuple(spans)
