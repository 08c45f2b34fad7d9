"""The history of a run as an immutable value, and the conversations in which models see it.

The history is an append-only list of entries. Each model value has its own conversation, because system
text and tools precede everything else. Such a branch is extended with the entries since its last request,
so that each request begins with the whole request before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from antiphon.conversation import Conversation, Note
from antiphon.conversation.parts import Text, ToolResult, Update
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn
from antiphon.lang.runtime.values import to_json_text
from antiphon.lang.runtime.visible_variables import KnownVariables
from antiphon.session.result import AIResult

#: The part of a history to show: all of it, the entries from an index on, or those of another thread.
HistoryView = int | Literal["all", "elsewhere"]
#: Notes that make sense only in the view in which they were added.
_LOCAL_NOTES = ("form", "variables")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A turn of the history, and the view in which it was added."""

    turn: Turn
    view: HistoryView = "all"

    def filter_for_view(self, view: HistoryView) -> Turn | None:
        """Return the turn as shown in a view; None if nothing of it is."""
        if view == self.view or not isinstance(self.turn, UserTurn):
            return self.turn
        parts = tuple(part for part in self.turn.parts if not (isinstance(part, Note) and part.kind in _LOCAL_NOTES))
        return UserTurn(parts) if parts else None


@dataclass(frozen=True, slots=True)
class ConversationBranch:
    """The conversation of one model value, and how many entries of the history it contains."""

    conversation: Conversation
    count: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ProgramHistory:
    """The history of a program up to now. It is immutable; adding entries returns a new one.

    `known_variables` holds what models know of variables in each view, `branches` the conversations by view
    and model value.
    """

    entries: tuple[HistoryEntry, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict[str, str])
    known_variables: Mapping[HistoryView, KnownVariables] = field(default_factory=dict[HistoryView, KnownVariables])
    branches: Mapping[tuple[HistoryView, str], ConversationBranch] = field(
        default_factory=dict[tuple[HistoryView, str], ConversationBranch]
    )

    def since(self, mark: ProgramHistory) -> tuple[HistoryEntry, ...]:
        """Return the entries since an earlier history."""
        return self.entries[len(mark.entries) :]

    def add_text(self, text: str) -> ProgramHistory:
        """Return the history with a text of the program added."""
        return replace(self, entries=(*self.entries, HistoryEntry(UserTurn((Text(text),)))))

    def with_entries(self, entries: Iterable[HistoryEntry], kept: Mapping[str, str]) -> ProgramHistory:
        """Return the history with entries of another thread; call ids and handles used here are replaced."""
        taken = {call.id for each in self.entries if isinstance(each.turn, AssistantTurn) for call in each.turn.calls}
        held, added = dict(self.kept), list[HistoryEntry]()
        for each in entries:
            turn = each.turn
            if isinstance(turn, AssistantTurn):
                turn = _with_free_ids(turn, taken, held, kept)
            added.append(HistoryEntry(turn, each.view))
        return replace(self, entries=(*self.entries, *added), kept=held)

    def conversation(self, view: HistoryView, key: str) -> Conversation:
        """Return the conversation for a model value's next request: its last one, and the entries since."""
        branch = self.branches.get((view, key))
        first = view if isinstance(view, int) else 0
        if branch is None:
            conversation, count = Conversation(), first
        else:
            conversation, count = branch.conversation.fork(), branch.count
            # Keep the encoded form of what was sent: the next request is compared with it.
            conversation.derived = branch.conversation.derived.copy()
        for entry in self.entries[count:]:
            if (turn := entry.filter_for_view(view)) is not None:
                _add_turn(conversation, turn, self.kept)
        return conversation

    def add_answer(
        self, view: HistoryView, key: str, conversation: Conversation, turns: Iterable[Turn], known: KnownVariables
    ) -> ProgramHistory:
        """Return the history with the turns of a model call, and its conversation as the branch of the model value."""
        entries = [HistoryEntry(shared, view) for turn in turns if (shared := _without_updates(turn)) is not None]
        grown = self.with_entries(entries, conversation.kept)
        branch = ConversationBranch(conversation, len(grown.entries))
        return replace(
            grown,
            known_variables={**self.known_variables, view: known},
            branches={**self.branches, (view, key): branch},
        )

    def fork(self) -> ProgramHistory:
        """Return the history for another thread; it shares no mutable state with this one."""
        return replace(self, branches={key: _fork_branch(branch) for key, branch in self.branches.items()})


def extract_ask_turns(conversation: Conversation, before: tuple[Turn, ...], prompt: str) -> list[Turn]:
    """Return the turns that a model call has added after the turns `before` it.

    If the conversation was compacted meanwhile, return the turns from the prompt on.
    """
    turns, last = conversation.turns, before[-1] if before else None
    place = len(before) - isinstance(last, UserTurn)
    if turns[:place] == before[:place]:
        now = turns[place] if place < len(turns) else None
        if not isinstance(last, UserTurn):
            return list(turns[place:])
        if isinstance(now, UserTurn) and now.parts[: len(last.parts)] == last.parts:
            return [UserTurn(now.parts[len(last.parts) :]), *turns[place + 1 :]]
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if isinstance(turn, UserTurn) and Text(prompt) in turn.parts:
            own = turn.parts[turn.parts.index(Text(prompt)) :]
            return [UserTurn(own), *turns[place + 1 :]]
    return [UserTurn((Text(prompt),)), *turns[-1:]]


def make_private_entries(hidden: Iterable[str], prompt: str, result: AIResult) -> list[HistoryEntry]:
    """Return the entries of a private answer: the question, and the part of the answer that is public."""
    value = result.value
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    public = {name: each for name, each in fields.items() if name not in hidden}
    told = to_json_text(public) if public and "" not in hidden else "(private)"
    return [HistoryEntry(UserTurn((Text(prompt),))), HistoryEntry(AssistantTurn((Text(told),)))]


def _add_turn(conversation: Conversation, turn: Turn, kept: Mapping[str, str]) -> None:
    if isinstance(turn, UserTurn):
        conversation.add_user(turn.parts)
        return
    added = conversation.add_reply(turn.parts)
    ids = {old.id: new.id for old, new in zip(turn.calls, added.calls, strict=True)}
    if turn.results:
        conversation.add_tool_results(replace(each, call_id=ids[each.call_id]) for each in turn.results)
    for result in turn.results:
        if result.handle in kept:
            conversation.keep(result.handle, kept[result.handle])


def _without_updates(turn: Turn) -> Turn | None:
    """Return a turn without updates meant for one model value; None if nothing remains."""
    if isinstance(turn, AssistantTurn):
        return turn
    parts = tuple(part for part in turn.parts if not isinstance(part, Update))
    return UserTurn(parts) if parts else None


def _with_free_ids(
    turn: AssistantTurn, taken: set[str], held: dict[str, str], kept: Mapping[str, str]
) -> AssistantTurn:
    """Return a turn whose call ids and result handles are unused here; `taken` and `held` are updated."""
    names: dict[str, str] = {}
    for call in turn.calls:
        number, name = 2, call.id
        while name in taken:
            name, number = f"{call.id[:36]}-{number}", number + 1
        names[call.id] = name
        taken.add(names[call.id])
    results = [_with_free_handle(replace(each, call_id=names[each.call_id]), held, kept) for each in turn.results]
    if all(old == new for old, new in names.items()) and results == list(turn.results):
        return turn
    parts = [replace(part, id=names[part.id]) if part in turn.calls else part for part in cast(Any, turn.parts)]
    return AssistantTurn(tuple(parts)).answered(results)


def _with_free_handle(result: ToolResult, held: dict[str, str], kept: Mapping[str, str]) -> ToolResult:
    whole = kept.get(result.handle)
    if whole is None:
        return result
    handle = result.handle
    while held.get(handle, whole) != whole:
        handle = f"{handle}'"
    held[handle] = whole
    if handle == result.handle:
        return result
    parts = [
        replace(each, text=each.text.replace(result.handle, handle)) if isinstance(each, Text) else each
        for each in result.parts
    ]
    return replace(result, content=tuple(parts), handle=handle)


def _fork_branch(branch: ConversationBranch) -> ConversationBranch:
    conversation = branch.conversation.fork()
    conversation.derived = branch.conversation.derived.copy(growing=False)
    return ConversationBranch(conversation, branch.count)
