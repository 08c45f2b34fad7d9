"""Sessions by their addresses: chats, programs, batches, scripts and teams of one database.

An address is an id, the start of one, a name or `last`; `ID.17` is a child, and `ID:4/r1` a step. Message N of a chat
is its step N. In files of earlier versions each message has a run of its own, whose steps begin with 1.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

from antiphon.durable import Journal
from antiphon.durable.run_owner import is_owner_alive
from antiphon.errors import NotSavedError
from antiphon.storage import Store
from antiphon.storage.leases import PREPARING

if TYPE_CHECKING:
    from antiphon.conversation import Conversation
    from antiphon.durable import EffectEntry, QuestionEntry, RunEntry
    from antiphon.storage import ConversationEntry, Excerpt

State = Literal["ready", "running", "waiting", "stopped", "failed", "done"]
Kind = Literal["chat", "script", "program", "batch", "team"]
STATES: tuple[State, ...] = ("ready", "running", "waiting", "stopped", "failed", "done")
KINDS: tuple[Kind, ...] = ("chat", "script", "program", "batch", "team")

_KIND_BY_RUN_KIND: dict[str, Kind] = {
    **dict.fromkeys(("ask", "chat", "agui", "session", "turn"), "chat"),
    **dict.fromkeys(("program", "row"), "program"),
    **{"python": "script", "map": "batch", "team": "team"},
}  # type: ignore[assignment]
_STATE_BY_RUN_STATE = {"interrupted": "stopped", "cancelled": "stopped", "replaced": "done", "shelved": "done"}
_RUN_STATES_BY_STATE = {"stopped": ("interrupted", "cancelled", PREPARING), "running": ("running", PREPARING)}
#: Kinds of runs that answer a message of a saved conversation.
MESSAGE_KINDS = ("ask", "chat", "agui")
#: The kind of the runs that hold earlier attempts of their parent.
_SUPERSEDED_KIND = "earlier"
#: How many of the newest runs are looked at for the messages of a chat.
_MAX_RUNS = 2_000
#: How many are looked at for a short list.
_MIN_RUNS = 200


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session: a saved conversation with the newest run of its messages, or a run of another kind."""

    id: str
    kind: Kind
    state: State
    title: str
    created: float
    updated: float
    cost: float | None
    #: The newest run. A chat that used no tools has none.
    run: RunEntry | None
    conversation: ConversationEntry | None = None
    excerpt: Excerpt | None = None

    @property
    def waiting(self) -> tuple[QuestionEntry, ...]:
        """The open questions."""
        return self.run.waiting if self.run is not None and self.state in ("waiting", "ready", "running") else ()

    def list_questions(self) -> list[tuple[str, str]]:
        """Return the step and the text of each open question."""
        run = self.run
        return [] if run is None else [(get_shown_path(run, each.path), each.text) for each in self.waiting]

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
        run, conversation = self._find_run(which), self._find_conversation(which)
        if conversation is not None and (run is None or conversation.id == which or self._is_of(run, conversation)):
            return self._make_chat(conversation, self.message_runs(conversation.id))
        if run is not None and conversation is not None and run.id != which:
            raise NotSavedError(f"several sessions begin with {which!r}: {run.id}, {conversation.id}")
        if run is not None:
            owner = self._find_owner(run) if run.id != which else None
            return self._make_chat(owner, self.message_runs(owner.id)) if owner is not None else self.make_entry(run)
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

    def locate(self, session: SessionEntry, step: str) -> tuple[str, str]:
        """Return the run of a step, and its path there."""
        if session.conversation is None:
            return session.run.id if session.run is not None else session.id, step
        if self.journal.has_run(session.id):
            return session.id, step
        number, slash, rest = step.partition("/")
        for run in self.message_runs(session.id):
            if str(get_message_number(run)) == number:
                return run.id, f"1{slash}{rest}"
        raise NotSavedError(
            f"session {session.id} has no step {step!r}; `antiphon show {session.id} --steps` lists them"
        )

    def message_runs(self, conversation: str) -> list[RunEntry]:
        """Return the runs of the messages of a conversation, newest first."""
        runs = self.journal.list_runs(limit=_MAX_RUNS)
        return [each for each in runs if each.begun_as.get("conversation") == conversation]

    def steps(self, session: SessionEntry) -> Iterator[EffectEntry]:
        """Yield the steps of a session, with their paths in it."""
        runs = [session.run] if session.run is not None else []
        if session.conversation is not None and not self.journal.has_run(session.id):
            newest = {get_message_number(run): run for run in reversed(self.message_runs(session.id))}
            runs = [newest[number] for number in sorted(newest)]
        for run in runs:
            for effect in self.journal.iterate_effects(run.id):
                yield replace(effect, path=get_shown_path(run, effect.path))

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
        for each in [None] if state is None else _RUN_STATES_BY_STATE.get(state, (state,)):
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
        is_filtered = kind is not None or model is not None or since is not None
        if query:
            found = self._iterate_matches(query)
        elif state is not None and state != "done":
            found = self._iterate_in_state(state, _MAX_RUNS if limit is None or is_filtered else 2 * limit)
        else:
            found = self._iterate_newest(_MAX_RUNS if limit is None or is_filtered else max(_MIN_RUNS, 4 * limit))
        chosen = [
            each
            for each in found
            if (kind is None or each.kind == kind)
            and (state is None or each.state == state)
            and (model is None or any(model.lower() in name.lower() for name in each.models))
            and (since is None or each.updated >= since)
        ]
        return sorted(chosen, key=lambda each: (each.updated, each.id), reverse=True)[:limit]

    def _iterate_newest(self, window: int) -> Generator[SessionEntry]:
        runs = self.journal.list_runs(limit=window)
        saved = {each.id: each for each in self.store.list()}
        by_conversation: dict[str, list[RunEntry]] = {}
        for run in runs:
            if (owner := str(run.begun_as.get("conversation", ""))) in saved and run.kind in MESSAGE_KINDS:
                by_conversation.setdefault(owner, []).append(run)
            else:
                yield self.make_entry(run)
        for id, conversation in saved.items():
            yield self._make_chat(conversation, by_conversation.get(id, []))

    def _iterate_in_state(self, state: State, window: int) -> Generator[SessionEntry]:
        """Yield sessions whose newest runs may be in a state."""
        runs: list[RunEntry] = []
        for each in _RUN_STATES_BY_STATE.get(state, (state,)):
            runs += self.journal.list_runs(state=each, limit=window)
        owners = {run.id: self._find_owner(run) for run in runs}
        yield from (self.make_entry(run) for run in runs if owners[run.id] is None)
        for owner in {owner.id: owner for owner in owners.values() if owner is not None}.values():
            yield self._make_chat(owner, self.message_runs(owner.id))

    def _iterate_matches(self, query: str) -> Generator[SessionEntry]:
        from antiphon.storage.search import Excerpt, parse_search_query
        from antiphon.storage.sessions import SessionFilter
        from antiphon.web.search import searched

        matched = {each.id: each for each in self.store.list(query=query)}
        for conversation in matched.values():
            yield self._make_chat(conversation, self.message_runs(conversation.id), conversation.excerpt)
        after: str | None = ""
        while after is not None:
            page = searched(self.journal, parse_search_query(query), SessionFilter(after=after))
            for each in page["runs"]:
                run = self.journal.find(each["id"])
                if self._find_owner(run) is None:
                    pieces = each.get("found", {}).get("pieces", [])
                    excerpt = Excerpt("".join(text for text, _ in pieces), _find_spans(pieces)) if pieces else None
                    yield self.make_entry(run, excerpt)
            after = page["next"]

    # Helpers

    def make_entry(self, run: RunEntry, excerpt: Excerpt | None = None) -> SessionEntry:
        """Return the session of a run."""
        kind = _KIND_BY_RUN_KIND.get(run.kind, "script")
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

    def _make_chat(
        self, conversation: ConversationEntry, runs: list[RunEntry], excerpt: Excerpt | None = None
    ) -> SessionEntry:
        run = runs[0] if runs else None
        updated = conversation.updated.timestamp()
        return SessionEntry(
            conversation.id,
            "chat",
            "done" if run is None else _determine_state(run),
            conversation.title,
            conversation.created.timestamp(),
            updated if run is None else max(updated, run.updated),
            conversation.cost,
            run,
            conversation,
            excerpt,
        )

    def _find_run(self, which: str) -> RunEntry | None:
        try:
            return self.journal.find(which)
        except NotSavedError as error:
            if "several" in str(error):
                raise
            return None

    def _find_conversation(self, which: str) -> ConversationEntry | None:
        try:
            return self.store.find(which)
        except NotSavedError as error:
            if "several" in str(error):
                raise
            return None

    def _find_owner(self, run: RunEntry) -> ConversationEntry | None:
        """Return the conversation that a run answered a message of, if it is saved."""
        id = str(run.begun_as.get("conversation", ""))
        return self._find_conversation(id) if id and run.kind in MESSAGE_KINDS else None

    def _is_of(self, run: RunEntry, conversation: ConversationEntry) -> bool:
        return run.kind in MESSAGE_KINDS and run.begun_as.get("conversation") == conversation.id

    def describe_place(self) -> str:
        """Return where the sessions are."""
        from antiphon.storage.store_location import is_saving_off

        return "memory, because saving is off" if is_saving_off() else self.journal.name

    def _describe_missing(self, which: str) -> str:
        from antiphon.storage.store_location import is_saving_off

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


def to_session_state(state: str) -> State:
    """Return the state of a session whose run is in this state."""
    return cast(State, _STATE_BY_RUN_STATE.get(state, state))


def get_session_id(run: RunEntry) -> str:
    """Return the id of the session that a run belongs to: its own, or that of its conversation."""
    return str(run.begun_as.get("conversation") or run.id) if run.kind in MESSAGE_KINDS else run.id


def get_shown_path(run: RunEntry, path: str) -> str:
    """Return the path of a step of a run in its session, where the steps of a message begin with its number."""
    if get_session_id(run) == run.id:
        return path
    return f"{get_message_number(run)}{path.removeprefix('1')}"


def get_message_number(run: RunEntry) -> int:
    """Return the number of the message that a run answers in its conversation, from 1."""
    turn = run.begun_as.get("turn")
    return turn // 2 + 1 if isinstance(turn, int) else 1


def _determine_state(run: RunEntry) -> State:
    if run.state == PREPARING:
        return "running" if run.owner and is_owner_alive(run.owner) else "stopped"
    return to_session_state(run.state)


def _find_spans(pieces: list[list[object]]) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    at = 0
    for text, is_found in pieces:
        end = at + len(str(text))
        spans += [(at, end)] * bool(is_found)
        at = end
    return tuple(spans)
