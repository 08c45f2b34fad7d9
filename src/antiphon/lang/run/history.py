"""What happened in a run, as a value, and the conversations in which models are shown it.

The history is a list of entries that only grows. Each model value has a conversation of its own for it, because system
text and tools stand before everything else. Such a branch is extended with what happened since its last request, so
that each request begins with the whole request before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from antiphon.conversation import Conversation, Note
from antiphon.conversation.parts import Text, ToolResult, Update
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn
from antiphon.lang.run.values import json_text
from antiphon.lang.run.variables import Told
from antiphon.session.result import AIResult

#: The part of a history that is shown: all of it, what came since an entry, or what another thread was shown.
View = int | Literal["all", "elsewhere"]
#: Notes that make sense only where they were said.
_LOCAL_NOTES = ("form", "variables")


@dataclass(frozen=True, slots=True)
class Entry:
    """A turn of the history, and the view in which it was said."""

    turn: Turn
    view: View = "all"

    def seen_in(self, view: View) -> Turn | None:
        """Return the turn as it is shown in a view; nothing where nothing of it is."""
        if view == self.view or not isinstance(self.turn, UserTurn):
            return self.turn
        parts = tuple(part for part in self.turn.parts if not (isinstance(part, Note) and part.kind in _LOCAL_NOTES))
        return UserTurn(parts) if parts else None


@dataclass(frozen=True, slots=True)
class Branch:
    """The conversation of one model value, and how many entries of the history it has been told."""

    conversation: Conversation
    count: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """What happened so far. It never changes; adding to it makes another one.

    `told` is what was said of variables in each view, `branches` the conversations by view and model value.
    """

    entries: tuple[Entry, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict[str, str])
    told: Mapping[View, Told] = field(default_factory=dict[View, Told])
    branches: Mapping[tuple[View, str], Branch] = field(default_factory=dict[tuple[View, str], Branch])

    def since(self, mark: History) -> tuple[Entry, ...]:
        """Return what came since an earlier history."""
        return self.entries[len(mark.entries) :]

    def said(self, text: str) -> History:
        """Return the history with words of the program."""
        return replace(self, entries=(*self.entries, Entry(UserTurn((Text(text),)))))

    def with_entries(self, entries: Iterable[Entry], kept: Mapping[str, str]) -> History:
        """Return the history with what happened elsewhere; a call id or handle that is taken here is replaced."""
        taken = {call.id for each in self.entries if isinstance(each.turn, AssistantTurn) for call in each.turn.calls}
        held, added = dict(self.kept), list[Entry]()
        for each in entries:
            turn = each.turn
            if isinstance(turn, AssistantTurn):
                turn = _with_free_ids(turn, taken, held, kept)
            added.append(Entry(turn, each.view))
        return replace(self, entries=(*self.entries, *added), kept=held)

    def conversation(self, view: View, key: str) -> Conversation:
        """Return the conversation in which a model value is asked next: its last one, and what happened since."""
        branch = self.branches.get((view, key))
        first = view if isinstance(view, int) else 0
        if branch is None:
            conversation, count = Conversation(), first
        else:
            conversation, count = branch.conversation.fork(), branch.count
            # What was encoded and sent stays known: it is compared with the next request.
            conversation.derived = branch.conversation.derived.copy()
        for entry in self.entries[count:]:
            if (turn := entry.seen_in(view)) is not None:
                _add(conversation, turn, self.kept)
        return conversation

    def answered(self, view: View, key: str, conversation: Conversation, turns: Iterable[Turn], told: Told) -> History:
        """Return the history with the turns of an ask, which the conversation of its model value ends with."""
        entries = [Entry(shared, view) for turn in turns if (shared := _without_updates(turn)) is not None]
        grown = self.with_entries(entries, conversation.kept)
        branch = Branch(conversation, len(grown.entries))
        return replace(grown, told={**self.told, view: told}, branches={**self.branches, (view, key): branch})

    def apart(self) -> History:
        """Return the history for a thread of its own, which shares nothing with this one that changes."""
        return replace(self, branches={key: _apart(branch) for key, branch in self.branches.items()})


def turns_of_ask(conversation: Conversation, before: tuple[Turn, ...], prompt: str) -> list[Turn]:
    """Return what an ask has added to the turns that there were before it.

    Where the conversation was made shorter meanwhile, return the turns from the prompt on.
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


def without_private(hidden: Iterable[str], prompt: str, result: AIResult) -> list[Entry]:
    """Return what is remembered of an answer that is private: the question, and the part of the answer that is not."""
    value = result.value
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    public = {name: each for name, each in fields.items() if name not in hidden}
    told = json_text(public) if public and "" not in hidden else "(private)"
    return [Entry(UserTurn((Text(prompt),))), Entry(AssistantTurn((Text(told),)))]


def _add(conversation: Conversation, turn: Turn, kept: Mapping[str, str]) -> None:
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
    """Return a turn without what was told only to one model value; nothing where that was all."""
    if isinstance(turn, AssistantTurn):
        return turn
    parts = tuple(part for part in turn.parts if not isinstance(part, Update))
    return UserTurn(parts) if parts else None


def _with_free_ids(
    turn: AssistantTurn, taken: set[str], held: dict[str, str], kept: Mapping[str, str]
) -> AssistantTurn:
    """Return a turn whose calls and kept results are named as no others are; `taken` and `held` grow by them."""
    names: dict[str, str] = {}
    for call in turn.calls:
        names[call.id] = _free(call.id, taken)
        taken.add(names[call.id])
    results = [_with_free_handle(replace(each, call_id=names[each.call_id]), held, kept) for each in turn.results]
    if all(old == new for old, new in names.items()) and results == list(turn.results):
        return turn
    parts = [replace(part, id=names[part.id]) if part in turn.calls else part for part in cast(Any, turn.parts)]
    return AssistantTurn(tuple(parts)).answered(results)


def _free(id: str, taken: set[str]) -> str:
    number, name = 2, id
    while name in taken:
        name, number = f"{id[:36]}-{number}", number + 1
    return name


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


def _apart(branch: Branch) -> Branch:
    conversation = branch.conversation.fork()
    conversation.derived = branch.conversation.derived.copy(growing=False)
    return Branch(conversation, branch.count)
