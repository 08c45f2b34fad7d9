"""Making a conversation out of loose messages, whatever state they are in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from antiphon.conversation.conversation import Conversation
from antiphon.conversation.parts import (
    AssistantPart,
    Chat,
    Image,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserPart,
    legal_id,
)
from antiphon.conversation.repair import Change, ChangeCode, interrupted, unanswered

#: Frames the words of a result whose call is not in the history: nobody is to take them for the user's.
_ORPHANED = "[The result of a tool call that is not in this conversation]\n{}\n[The end of that result]"


@dataclass(frozen=True, slots=True)
class Item:
    """One message of a history somebody else kept. Results in it come before its parts."""

    role: Literal["user", "assistant"]
    where: str
    parts: tuple[UserPart | AssistantPart, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(slots=True)
class _Draft:
    role: Literal["user", "assistant"]
    where: str
    parts: list[UserPart | AssistantPart] = field(default_factory=list[UserPart | AssistantPart])
    results: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def open_calls(self) -> list[ToolCall]:
        return [call for call in self.calls if call.id not in self.results]


class _Assembly:
    def __init__(self, called: set[str], by_id: bool, merges: bool) -> None:
        #: The ids of all calls, also of those that are still to come.
        self.called = called
        self.by_id = by_id
        self.merges = merges or by_id
        self.drafts: list[_Draft] = []
        self.changes: list[Change] = []
        # For each id as the file has it: the calls that bear it, newest last, under our own unique ids.
        self.calls: dict[str, list[tuple[_Draft, ToolCall]]] = {}
        self.ids: set[str] = set()
        self.early: list[tuple[str, ToolResult]] = []
        #: What results of calls that are nowhere said, until the next message that speaks.
        self.orphans: list[UserPart] = []

    def note(self, code: ChangeCode, where: str, found: str, action: str, call_id: str = "") -> None:
        self.changes.append(Change(code, where, found, action, call_id))

    def add(self, item: Item) -> None:
        for result in item.results:
            self.add_result(item.where, result)
        if item.parts:
            self.let_orphans_speak(item.where)
        if item.role == "user":
            if item.parts:
                draft = self.draft("user", item.where)
                draft.parts.extend(item.parts)
            return
        draft = self.assistant_draft(item)
        for part in item.parts:
            draft.parts.append(self.taken_in(draft, part, item.where) if isinstance(part, ToolCall) else part)

    def draft(self, role: Literal["user", "assistant"], where: str) -> _Draft:
        if not (self.drafts and self.drafts[-1].role == role):
            self.drafts.append(_Draft(role, where))
        return self.drafts[-1]

    def assistant_draft(self, item: Item) -> _Draft:
        last = self.drafts[-1] if self.drafts else None
        if last and last.role == "assistant" and last.results:
            # Answered calls end a turn even where no user message follows them.
            self.drafts.append(_Draft("assistant", item.where))
        elif last and last.role == "assistant" and last.calls and not self.merges:
            names = ", ".join(repr(call.id) for call in last.calls)
            found = f"the model speaks before call {names} is answered"
            self.note("split-calls", item.where, found, "both are one turn")
        return self.draft("assistant", item.where)

    def taken_in(self, draft: _Draft, call: ToolCall, where: str) -> ToolCall:
        theirs = call.id
        if theirs in self.ids:
            call = replace(call, id=self.new_id())
            found = f"call id {theirs!r} (`{call.name}`) is used a second time"
            self.note("duplicate-id", where, found, f"this call becomes {call.id!r}", theirs)
        self.ids.add(call.id)
        self.calls.setdefault(theirs, []).append((draft, call))
        return call

    def new_id(self) -> str:
        number = len(self.ids) + 1
        while (id := f"call{number:05d}") in self.ids:
            number += 1
        return id

    def add_result(self, where: str, result: ToolResult) -> None:
        if not result.call_id and legal_id("") not in self.calls:
            result = self.identified(where, result)
        homes = self.calls.get(legal_id(result.call_id), [])
        waiting = [(draft, call) for draft, call in homes if call.id not in draft.results]
        if waiting:
            # The newest turn; of several calls with one id in it, the first that is open.
            draft, call = next(pair for pair in waiting if pair[0] is waiting[-1][0])
            if not self.by_id and draft is not self.drafts[-1]:
                found = f"the result of call {result.call_id!r} is not right behind it"
                self.note("misplaced-result", where, found, "it is put behind its call", result.call_id)
            draft.results[call.id] = replace(result, call_id=call.id)
        elif homes:
            found = f"a second result for call {result.call_id!r}"
            self.note("duplicate-result", where, found, "the first one is kept", result.call_id)
        elif legal_id(result.call_id) in self.called:
            self.early.append((where, result))
        else:
            self.keep_orphan(where, result)

    def keep_orphan(self, where: str, result: ToolResult) -> None:
        """Keep what a result says whose call is nowhere, as words of the user that tell where they come from."""
        found = f"a result for call {result.call_id!r}, which nobody made: {result.text[:60]!r}"
        images = [part for part in result.parts if isinstance(part, Image)]
        said: list[UserPart] = [Text(_ORPHANED.format(result.text)), *images] if images or result.text.strip() else []
        action = "it is kept as text" if said else "it says nothing and is dropped"
        self.note("orphan-result", where, found, action, result.call_id)
        self.orphans += said

    def let_orphans_speak(self, where: str) -> None:
        if self.orphans:
            self.draft("user", where).parts.extend(self.orphans)
            self.orphans = []

    def identified(self, where: str, result: ToolResult) -> ToolResult:
        """A result without an id, with that of the one open call it can belong to; of its name, if it has one."""
        calls = [call for draft in self.drafts for call in draft.open_calls if result.name in ("", call.name)]
        if len(calls) != 1:
            return result
        named = f" of `{result.name}`" if result.name else ""
        action = f"it is read as that of {calls[0].id!r}, the one call{named} that is open"
        self.note("bad-id", where, f"a result{named} without the id of its call", action, calls[0].id)
        return replace(result, call_id=calls[0].id)

    def place_early(self) -> None:
        """Pair results that came before any call of their id with a later call; one more than there are is dropped."""
        for where, result in self.early:
            homes = self.calls.get(legal_id(result.call_id), [])
            home = next((pair for pair in homes if pair[1] in pair[0].open_calls), None)
            if home:
                draft, call = home
                draft.results[call.id] = replace(result, call_id=call.id)
                found = f"the result of call {result.call_id!r} comes before it"
                self.note("misplaced-result", where, found, "it is put behind its call", result.call_id)
            else:
                found = f"a second result for call {result.call_id!r}: {result.text[:60]!r}"
                self.note("duplicate-result", where, found, "it is dropped", result.call_id)

    def conversation(self, conversation: Conversation) -> Conversation:
        last_assistant = max((n for n, draft in enumerate(self.drafts) if draft.role == "assistant"), default=-1)
        for place, draft in enumerate(self.drafts):
            if draft.role == "user":
                self.say(conversation, draft)
                continue
            conversation.add_reply(cast(list[AssistantPart], draft.parts))
            results = list(draft.results.values())
            if place != last_assistant:
                for call in draft.open_calls:
                    self.changes.append(unanswered(call, draft.where))
                    results.append(interrupted(call))
            if results:
                conversation.add_tool_results(results)
        return conversation

    def say(self, conversation: Conversation, draft: _Draft) -> None:
        parts = [part for part in draft.parts if not isinstance(part, Text | Chat) or part.text.strip()]
        if len(parts) < len(draft.parts):
            self.note("empty-text", draft.where, "empty text", "it is dropped")
        if parts:
            conversation.add_user(cast(list[UserPart], parts))


def assemble(
    items: Iterable[Item],
    system: str = "",
    tools: Iterable[ToolSpec] = (),
    *,
    by_id: bool = False,
    merges: bool = False,
    auto: bool = False,
) -> tuple[Conversation, list[Change]]:
    """A conversation from loose messages, and what had to be repaired for it.

    Every result goes to its own call, wherever it stood; one without a call is kept as text. Calls left behind are
    answered as interrupted, except those of the model's last turn, which may still be answered. `merges` is for APIs
    that take neighbours of the same role as one message; `by_id` for those that pair by id alone, where the place of a
    result is no fault either.
    """
    given = list(items)
    called = {part.id for item in given for part in item.parts if isinstance(part, ToolCall)}
    assembly = _Assembly(called, by_id, merges)
    for item in given:
        assembly.add(item)
    assembly.let_orphans_speak(given[-1].where if given else "")
    assembly.place_early()
    return assembly.conversation(Conversation(system, tools, auto_assistant_tool_calls=auto)), assembly.changes
