"""Build a conversation from a list of messages and repair whatever is inconsistent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from antiphon.conversation.conversation import Conversation
from antiphon.conversation.media import MediaPart
from antiphon.conversation.parts import (
    AssistantPart,
    Chat,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserPart,
    normalize_call_id,
)
from antiphon.conversation.repair import RepairAction, RepairCode, make_interrupted_result, make_unanswered_action
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn, normalize_user_parts

#: Frames the text of a result whose call is missing, so that it is not mistaken for the user's words.
_ORPHAN_RESULT_TEMPLATE = "[The result of a tool call that is not in this conversation]\n{}\n[The end of that result]"


@dataclass(frozen=True, slots=True)
class Item:
    """One message of an imported history. Its results come before its parts."""

    role: Literal["user", "assistant"]
    where: str
    parts: tuple[UserPart | AssistantPart, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(slots=True)
class _TurnDraft:
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


class _ConversationBuilder:
    def __init__(self, called: set[str], by_id: bool, merges: bool) -> None:
        #: The ids of all calls in the history, including later ones.
        self.called = called
        self.by_id = by_id
        self.merges = merges or by_id
        self.drafts: list[_TurnDraft] = []
        self.changes: list[RepairAction] = []
        # By id as in the input: the calls with that id, newest last. Each call has its own unique id here.
        self.calls: dict[str, list[tuple[_TurnDraft, ToolCall]]] = {}
        self.ids: set[str] = set()
        self.early: list[tuple[str, ToolResult]] = []
        #: The content of results without a call, held back until the next message with parts.
        self.orphan_parts: list[UserPart] = []

    def note(self, code: RepairCode, where: str, found: str, action: str, call_id: str = "") -> None:
        self.changes.append(RepairAction(code, where, found, action, call_id))

    def add(self, item: Item) -> None:
        for result in item.results:
            self.add_result(item.where, result)
        if item.parts:
            self.flush_orphan_parts(item.where)
        if item.role == "user":
            if item.parts:
                draft = self.get_draft("user", item.where)
                draft.parts.extend(item.parts)
            return
        draft = self.get_assistant_draft(item)
        for part in item.parts:
            draft.parts.append(self.register_call(draft, part, item.where) if isinstance(part, ToolCall) else part)

    def get_draft(self, role: Literal["user", "assistant"], where: str) -> _TurnDraft:
        if not (self.drafts and self.drafts[-1].role == role):
            self.drafts.append(_TurnDraft(role, where))
        return self.drafts[-1]

    def get_assistant_draft(self, item: Item) -> _TurnDraft:
        last = self.drafts[-1] if self.drafts else None
        if last and last.role == "assistant" and last.results:
            # Answered calls end a turn even where no user message follows them.
            self.drafts.append(_TurnDraft("assistant", item.where))
        elif last and last.role == "assistant" and last.calls and not self.merges:
            names = ", ".join(repr(call.id) for call in last.calls)
            found = f"the model speaks before call {names} is answered"
            self.note("split-calls", item.where, found, "both are one turn")
        return self.get_draft("assistant", item.where)

    def register_call(self, draft: _TurnDraft, call: ToolCall, where: str) -> ToolCall:
        theirs = call.id
        if theirs in self.ids:
            call = replace(call, id=self.generate_call_id())
            found = f"call id {theirs!r} (`{call.name}`) is used a second time"
            self.note("duplicate-id", where, found, f"this call becomes {call.id!r}", theirs)
        self.ids.add(call.id)
        self.calls.setdefault(theirs, []).append((draft, call))
        return call

    def generate_call_id(self) -> str:
        number = len(self.ids) + 1
        while (id := f"call{number:05d}") in self.ids:
            number += 1
        return id

    def add_result(self, where: str, result: ToolResult) -> None:
        if not result.call_id and normalize_call_id("") not in self.calls:
            result = self.infer_call_id(where, result)
        homes = self.calls.get(normalize_call_id(result.call_id), [])
        waiting = [(draft, call) for draft, call in homes if call.id not in draft.results]
        if waiting:
            # Choose the newest turn and, among several calls of one id in it, the first open one.
            draft, call = next(pair for pair in waiting if pair[0] is waiting[-1][0])
            if not self.by_id and draft is not self.drafts[-1]:
                found = f"the result of call {result.call_id!r} is not right behind it"
                self.note("misplaced-result", where, found, "it is put behind its call", result.call_id)
            draft.results[call.id] = replace(result, call_id=call.id)
        elif homes:
            found = f"a second result for call {result.call_id!r}"
            self.note("duplicate-result", where, found, "the first one is kept", result.call_id)
        elif normalize_call_id(result.call_id) in self.called:
            self.early.append((where, result))
        else:
            self.store_orphan_result(where, result)

    def store_orphan_result(self, where: str, result: ToolResult) -> None:
        """Store the content of a result whose call is missing, as user text that names its source."""
        found = f"a result for call {result.call_id!r}, which nobody made: {result.text[:60]!r}"
        media = [part for part in result.parts if isinstance(part, MediaPart)]
        said: list[UserPart] = (
            [Text(_ORPHAN_RESULT_TEMPLATE.format(result.text)), *media] if media or result.text.strip() else []
        )
        action = "it is kept as text" if said else "it says nothing and is dropped"
        self.note("orphan-result", where, found, action, result.call_id)
        self.orphan_parts += said

    def flush_orphan_parts(self, where: str) -> None:
        if self.orphan_parts:
            self.get_draft("user", where).parts.extend(self.orphan_parts)
            self.orphan_parts = []

    def infer_call_id(self, where: str, result: ToolResult) -> ToolResult:
        """Return a result without an id with the id of the only open call it can belong to.

        If the result has a tool name, only calls of that tool count.
        """
        calls = [call for draft in self.drafts for call in draft.open_calls if result.name in ("", call.name)]
        if len(calls) != 1:
            return result
        named = f" of `{result.name}`" if result.name else ""
        action = f"it is read as that of {calls[0].id!r}, the one call{named} that is open"
        self.note("bad-id", where, f"a result{named} without the id of its call", action, calls[0].id)
        return replace(result, call_id=calls[0].id)

    def pair_early_results(self) -> None:
        """Pair results that came before their call with a later call of that id. Drop surplus results."""
        for where, result in self.early:
            homes = self.calls.get(normalize_call_id(result.call_id), [])
            home = next((pair for pair in homes if pair[1] in pair[0].open_calls), None)
            if home:
                draft, call = home
                draft.results[call.id] = replace(result, call_id=call.id)
                found = f"the result of call {result.call_id!r} comes before it"
                self.note("misplaced-result", where, found, "it is put behind its call", result.call_id)
            else:
                found = f"a second result for call {result.call_id!r}: {result.text[:60]!r}"
                self.note("duplicate-result", where, found, "it is dropped", result.call_id)

    def build_turns(self) -> list[Turn]:
        """Return the turns of the drafts, in which only the last calls of the model may be open."""
        last_assistant = max((n for n, draft in enumerate(self.drafts) if draft.role == "assistant"), default=-1)
        turns: list[Turn] = []
        for place, draft in enumerate(self.drafts):
            last = turns[-1] if turns else None
            if draft.role == "user":
                if parts := self.get_visible_parts(draft):
                    turn = UserTurn(normalize_user_parts(parts, None))
                    if isinstance(last, UserTurn):
                        turns.pop()
                        turn = UserTurn(last.parts + turn.parts)
                    turns.append(turn)
                continue
            turn = AssistantTurn(tuple(cast(list[AssistantPart], draft.parts)))
            if isinstance(last, AssistantTurn) and not last.calls:
                turns.pop()
                turn = AssistantTurn(last.parts + turn.parts)
            results = list(draft.results.values())
            if place != last_assistant:
                for call in draft.open_calls:
                    self.changes.append(make_unanswered_action(call, draft.where))
                    results.append(make_interrupted_result(call))
            turns.append(turn.answered(results) if results else turn)
        return turns

    def get_visible_parts(self, draft: _TurnDraft) -> list[UserPart]:
        parts = [part for part in draft.parts if not isinstance(part, Text | Chat) or part.text.strip()]
        if len(parts) < len(draft.parts):
            self.note("empty-text", draft.where, "empty text", "it is dropped")
        return cast(list[UserPart], parts)


def assemble(
    items: Iterable[Item],
    system: str = "",
    tools: Iterable[ToolSpec] = (),
    *,
    by_id: bool = False,
    merges: bool = False,
    auto: bool = False,
) -> tuple[Conversation, list[RepairAction]]:
    """Return a conversation built from a list of messages, and the repairs that this needed.

    Every result goes to its own call, wherever it stood. A result without a call is kept as text. Unanswered
    calls are answered as interrupted, except those of the model's last turn, which may still be answered.
    `merges` is for APIs that treat adjacent messages of one role as a single message. `by_id` is for APIs
    that pair by id alone, where the position of a result is not an error either.
    """
    given = list(items)
    called = {part.id for item in given for part in item.parts if isinstance(part, ToolCall)}
    assembly = _ConversationBuilder(called, by_id, merges)
    for item in given:
        assembly.add(item)
    assembly.flush_orphan_parts(given[-1].where if given else "")
    assembly.pair_early_results()
    turns = assembly.build_turns()
    return Conversation.from_turns(turns, system, tools, auto_assistant_tool_calls=auto), assembly.changes
