"""The conversation: turns in which every tool result has its call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

from antiphon._base.did_you_mean import hint_arguments, make_hinting_getattr
from antiphon._base.json import sanitize_unicode
from antiphon.conversation.compaction import Compaction, SummarySource, estimate_tokens, plan_compaction
from antiphon.conversation.derived import DerivedKey, DerivedValues
from antiphon.conversation.parts import (
    AssistantPart,
    ResultPart,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Update,
    UserPart,
)
from antiphon.conversation.pending_questions import OpenQuestion
from antiphon.conversation.provider_state import ProviderState
from antiphon.conversation.repair import RepairAction, make_interrupted_result, make_unanswered_action
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn, normalize_assistant_parts, normalize_user_parts
from antiphon.errors import CompactionError, ContentError, NotReadyError, OptionError, PairingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ready:
    """Tells whether the next request may be sent. A false one gives the reason and the open calls."""

    reason: str = ""
    open_calls: tuple[ToolCall, ...] = ()

    def __bool__(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The part of a request before its turns. Later changes of it are `Update` parts of user turns."""

    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    effort: str | None = None
    form: dict[str, Any] | None = None

    def updated(self, update: Update) -> RequestHead:
        """Return the head with an update applied."""
        tools = tuple(tool for tool in self.tools if tool.name not in update.removed) + update.added
        return RequestHead(
            self.system if update.system is None else update.system,
            tools,
            self.effort if update.effort is None else update.effort,
            self.form if update.form is None else update.form,
        )

    def diff_to(self, other: RequestHead) -> Update | None:
        """Return the update that leads to another head, or None if a model cannot tell them apart."""
        # Usually the tools are the same object, so there is nothing to compare.
        is_same = self.tools is other.tools
        update = Update(
            () if is_same else tuple(tool for tool in other.tools if tool not in self.tools),
            () if is_same else tuple(tool.name for tool in self.tools if tool not in other.tools),
            other.system if other.system != self.system else None,
            other.effort if other.effort is not None and other.effort != self.effort else None,
            other.form if other.form is not None and other.form != (self.form or {}) else None,
        )
        return None if update == Update() else update


class RequestHeads(NamedTuple):
    """Every form of the head that a request may have: which one depends on the changes that a model accepts.

    `first` is the head of the first request, and `updates` its changes since. `system` and `tools` apply now.
    `declared` are the tools of a request to a model that cannot be told about updates.
    """

    first: RequestHead
    system: str
    tools: tuple[ToolSpec, ...]
    declared: tuple[ToolSpec, ...]
    updates: tuple[Update, ...]


#: The tools that are declared, and the last update that added one.
_DECLARED_TOOLS = DerivedKey[tuple[Update, tuple[ToolSpec, ...]]]("declared tools")


_TURNS_HINT = "its messages are `conversation.turns`"
_ADD_HINT = "write `conversation.add_user(TEXT)` or `add_assistant(TEXT)`"
_ATTRIBUTE_HINTS = {
    **dict.fromkeys(("messages", "history", "items", "all_messages"), _TURNS_HINT),
    **dict.fromkeys(("append", "add", "add_message", "extend", "add_messages", "add_user_message"), _ADD_HINT),
    **dict.fromkeys(("add_system", "add_system_message", "system_prompt"), "write `conversation.system = TEXT`"),
    **dict.fromkeys(("add_ai_message", "add_assistant_message"), "write `conversation.add_assistant(TEXT)`"),
    **dict.fromkeys(("pop", "clear", "remove"), "`conversation.undo()` takes turns back"),
    **dict.fromkeys(("chat", "run", "vibe", "do", "send"), "`Session(conversation=…)` asks a model with it"),
    "copy": "`conversation.fork()` is a copy",
}
_ARGUMENT_HINTS = {
    "messages": "begin with `Conversation(SYSTEM)`, then `add_user(TEXT)` and `add_assistant(TEXT)`",
    **dict.fromkeys(("system_prompt", "instructions", "system_message"), "write `Conversation(system=TEXT)`"),
}


@hint_arguments(_ARGUMENT_HINTS)
class Conversation:
    """A system text, the current tools and a list of turns.

    Additions are validated first: a `PairingError` or `ContentError` leaves the conversation unchanged. All
    `add_…` methods except `add_reply` return the conversation itself. `fork`, `repair` and `compact` return a
    new conversation and share the immutable turns. With `auto_assistant_tool_calls`, a result without a call
    also adds the call; otherwise that is an error. A conversation is not thread-safe.
    """

    __slots__ = (
        *("_announced", "_auto", "_head", "_ids", "_kept", "_owner", "_questions", "_system", "_tools", "_updates"),
        *("derived", "request_heads", "state", "turns"),
    )

    def __init__(
        self, system: str = "", tools: Iterable[ToolSpec] = (), *, auto_assistant_tool_calls: bool = False
    ) -> None:
        self.system = system
        self._tools: tuple[ToolSpec, ...] = ()
        self.tools = tools
        #: All turns, oldest first. Only the methods of the conversation replace them.
        self.turns: tuple[Turn, ...] = ()
        self._ids: dict[str, None] = {}
        self._kept: dict[str, str] = {}
        self._questions: dict[str, OpenQuestion] = {}
        self._auto = auto_assistant_tool_calls
        #: The head of the first request, and the head after all updates, if already computed.
        self._head: RequestHead | None = None
        self._announced: RequestHead | None = None
        self._updates: tuple[Update, ...] | None = ()
        #: State that providers hold for this conversation and that is sent back to them.
        self.state = ProviderState()
        #: Values that other packages derive from the conversation and keep with it.
        self.derived = DerivedValues()
        #: The heads of the request that this is a copy for, if `fork_for_request` made it.
        self.request_heads: RequestHeads | None = None
        self._owner: object = None

    if not TYPE_CHECKING:
        __getattr__ = make_hinting_getattr(_ATTRIBUTE_HINTS)

    @property
    def system(self) -> str:
        """The system text; empty if there is none."""
        return self._system

    @system.setter
    def system(self, text: str) -> None:
        text = sanitize_unicode(text)
        self._system = text if text.strip() else ""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the model is told about."""
        return self._tools

    @tools.setter
    def tools(self, tools: Iterable[ToolSpec]) -> None:
        if tools is self._tools:
            return
        specs = _check_items(tools, ToolSpec)
        if specs == self._tools and [each.hosted and each.hosted.secrets for each in specs] == [
            each.hosted and each.hosted.secrets for each in self._tools
        ]:
            # Keep the identical tuple, so that values cached for it stay valid.
            return
        names = [spec.name for spec in specs]
        for name in names:
            if names.count(name) > 1:
                raise ContentError(f"two tools are named `{name}`; rename one of them")
        self._tools = specs

    @property
    def auto_assistant_tool_calls(self) -> bool:
        """True if a result without a call also adds the call."""
        return self._auto

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result, in call order."""
        # Same search as `_find_calling_turn`, inlined because every step needs it.
        for turn in self.turns[:-3:-1]:
            if isinstance(turn, AssistantTurn):
                return turn.open_calls
        return ()

    @property
    def questions(self) -> dict[str, OpenQuestion]:
        """The questions to a person about open calls, by call id. A question is removed when its call is answered."""
        if not self._questions:
            return {}
        return {call.id: self._questions[call.id] for call in self.open_calls if call.id in self._questions}

    def ask(self, call_id: str, question: OpenQuestion) -> None:
        """Record that an open call needs a person. The question is saved with the conversation."""
        if all(call.id != call_id for call in self.open_calls):
            raise self._make_pairing_error(call_id)
        # Drop the questions about calls that have their results by now.
        self._questions = {**self.questions, call_id: question}

    # Adding

    def add_user(self, content: str | UserPart | Sequence[str | UserPart], author: str | None = None) -> Self:
        """Add a user message; `author` attributes it to another agent.

        While calls are open the message is stored, and it reaches the model after their results.
        """
        parts = normalize_user_parts(content, author)
        last = self.turns[-1] if self.turns else None
        if isinstance(last, UserTurn):
            self.turns = (*self.turns[:-1], UserTurn(last.parts + parts))
        else:
            self.turns = (*self.turns, UserTurn(parts))
        if any(isinstance(part, Update) for part in parts):
            self._announced = self._updates = None
        return self

    def add_assistant(self, content: str | AssistantPart | Sequence[str | AssistantPart]) -> Self:
        """Add a model message: text, or its parts in order. Calls in it stay open until they get their results."""
        parts = normalize_assistant_parts(content)
        if not any(not isinstance(part, Text) or part.text.strip() for part in parts):
            raise ContentError("an assistant turn needs text or a call")
        self._reject_open_calls()
        fresh: dict[str, None] = {}
        for part in parts:
            if isinstance(part, ToolCall):
                if part.id in self._ids or part.id in fresh:
                    raise PairingError(f"call id {part.id!r} (`{part.name}`) is already in use here", part.id)
                fresh[part.id] = None
        self._append_assistant(AssistantTurn(parts), fresh)
        return self

    def add_reply(self, parts: Iterable[AssistantPart], seen: tuple[Turn, ...] | None = None) -> AssistantTurn:
        """Add a provider's reply, and return it as a turn.

        A duplicate call id is replaced, because some servers count from zero in every reply. `seen` is the value
        of `turns` when the request was sent: user messages added since then come after the reply.
        """
        late = () if seen is None or seen is self.turns else self._user_parts_since(seen)
        self._reject_open_calls()
        fresh: dict[str, None] = {}
        renamed: list[AssistantPart] = []
        for part in parts:
            if isinstance(part, ToolCall):
                if part.id in self._ids or part.id in fresh:
                    part = replace(part, id=self._new_id(fresh))
                fresh[part.id] = None
            renamed.append(part)
        if seen is not None:
            self.turns = seen
        turn = AssistantTurn(tuple(renamed))
        self._append_assistant(turn, fresh)
        if late:
            self.turns = (*self.turns, UserTurn(late))
        return turn

    def add_assistant_tool_calls(self, calls: Iterable[ToolCall], content: str = "") -> Self:
        """Add an assistant turn with these calls. Calls that are already open are not added twice."""
        calls = _check_items(calls, ToolCall)
        if not calls:
            raise ContentError("no calls were given; use `add_assistant` for a turn without calls")
        if calls == self.open_calls:
            return self
        return self.add_assistant((Text(content), *calls) if content.strip() else calls)

    def add_tool_result(
        self,
        call_id: str,
        content: str | Sequence[str | ResultPart],
        is_error: bool = False,
        *,
        name: str = "",
    ) -> Self:
        """Answer one open call. `name` is used only if `auto_assistant_tool_calls` must create the call."""
        return self.add_tool_results([ToolResult(call_id, cast(Any, content), is_error, name)])

    def add_tool_results(self, results: Iterable[ToolResult]) -> Self:
        """Answer several open calls, in any order. If one does not fit, none is added."""
        results = _check_items(results, ToolResult)
        seen: set[str] = set()
        for result in results:
            if result.call_id in seen:
                raise PairingError(f"two results were given for call {result.call_id!r}", result.call_id)
            seen.add(result.call_id)
        missing = [result for result in results if result.call_id not in self._ids] if self._auto else []
        turn = self._find_calling_turn()
        known = {each.call_id for each in missing} | {call.id for call in (turn.open_calls if turn else ())}
        for result in results:
            if result.call_id not in known:
                raise self._make_pairing_error(result.call_id)
        if missing:
            self.add_assistant([ToolCall(each.call_id, each.name or "tool") for each in missing])
            turn = self._find_calling_turn()
        if turn is not None:
            self._answer(turn, results)
        return self

    def add_tool_calls_and_results(
        self, calls: Iterable[ToolCall], results: Iterable[ToolResult], content: str = ""
    ) -> Self:
        """Add the calls and their results in the only valid order. If one does not fit, nothing is added."""
        with self._rollback_on_error():
            return self.add_assistant_tool_calls(calls, content).add_tool_results(results)

    # Requests

    def claim(self, owner: object) -> None:
        """Reserve the conversation for one run at a time; raise a NotReadyError if another owner has it."""
        if self._owner is not None and self._owner is not owner:
            raise NotReadyError(
                "this conversation is already in a run; wait for its end, or cancel it, or go on in a `fork`"
            )
        self._owner = owner

    def release(self) -> None:
        """End the reservation."""
        self._owner = None

    def ready(self) -> Ready:
        """Return whether a request can be sent now, and otherwise what is missing."""
        if calls := self.open_calls:
            names = ", ".join(f"{call.id!r} (`{call.name}`)" for call in calls)
            return Ready(f"no result yet for call {names}; add it, or `repair()` to answer it as interrupted", calls)
        if not self.turns:
            return Ready("the conversation is empty; add a user turn")
        last = self.turns[-1]
        if isinstance(last, AssistantTurn) and not last.calls:
            return Ready("the model has answered; add a user turn")
        return Ready()

    def check_ready(self) -> None:
        """Raise a NotReadyError if no request can be sent now."""
        if reason := self.ready().reason:
            raise NotReadyError(f"the conversation cannot be sent: {reason}")

    def whole(self, handle: str) -> str:
        """Return the full text of a result that was truncated."""
        try:
            return self._kept[sanitize_unicode(handle)]
        except KeyError:
            raise ContentError(f"there is no kept result {handle!r} in this conversation") from None

    def keep(self, handle: str, text: str) -> None:
        """Store the full text of a result of which the model sees only a part."""
        self._kept[sanitize_unicode(handle)] = sanitize_unicode(text)

    @property
    def kept(self) -> dict[str, str]:
        """The full texts of the truncated results, by handle."""
        return dict(self._kept)

    @property
    def head(self) -> RequestHead:
        """The head of the first request, or the current values if none was sent."""
        return self._head or RequestHead(self._system, self._tools)

    @property
    def announced_head(self) -> RequestHead:
        """The head after all updates, as models have been told."""
        if self._announced is None:
            self._announced = self.head
            for update in self.updates:
                self._announced = self._announced.updated(update)
        return self._announced

    @property
    def updates(self) -> tuple[Update, ...]:
        """The updates of the head since the first request, oldest first."""
        if self._updates is None:
            told = (turn.parts for turn in self.turns if isinstance(turn, UserTurn))
            self._updates = tuple(part for parts in told for part in parts if isinstance(part, Update))
        return self._updates

    @property
    def heads(self) -> RequestHeads:
        """The head of the first request, its updates, and what applies now."""
        first = self._head or RequestHead(self._system, self._tools)
        updates = self.updates if self._updates is None else self._updates
        declared = self._find_declared_tools(first, updates) if updates else first.tools
        return RequestHeads(first, self._system, self._tools, declared, updates)

    def _find_declared_tools(self, head: RequestHead, updates: tuple[Update, ...]) -> tuple[ToolSpec, ...]:
        """Return the tools that a request declares if the model cannot be told about updates.

        A removed tool stays declared, and calls of it are rejected, until another tool is added. Then the head
        changes.
        """
        last = max((place for place, update in enumerate(updates) if update.added), default=-1)
        if last < 0:
            return head.tools
        known = self.derived.get(_DECLARED_TOOLS)
        if known is None or known[0] is not updates[last]:
            for update in updates[: last + 1]:
                head = head.updated(update)
            known = self.derived[_DECLARED_TOOLS] = (updates[last], head.tools)
        return known[1]

    def announce(self, effort: str | None = None, form: dict[str, Any] | None = None) -> Update | None:
        """Record the changes of the head since the last request as an update at this position, and return it.

        Call it before each request. `effort` and `form` are for providers that accept updates of them.
        """
        now = RequestHead(self._system, self._tools, effort, form)
        if self._head is None or not any(isinstance(turn, AssistantTurn) for turn in self.turns[:2]):
            self._head = self._announced = now
            return None
        before = self._announced or self.announced_head
        update = before.diff_to(now) if now != before else None
        if update is not None:
            last = self.turns[-1] if self.turns else None
            parts = last.parts if isinstance(last, UserTurn) else ()
            turns = self.turns[:-1] if parts else self.turns
            self._announced, self._updates = before.updated(update), (*self.updates, update)
            self.turns = (*turns, UserTurn((*parts, update)))
        return update

    def restore_head(self, head: RequestHead) -> None:
        """Set the head of the first request from a saved conversation."""
        self._head, self._announced, self._updates = head, None, None

    # Copies and changes

    def fork(self, turns: int | None = None) -> Conversation:
        """Return an independent conversation that starts with the first `turns` turns of this one (default: all)."""
        if turns is not None and not 0 <= turns <= len(self.turns):
            raise ContentError(f"there are {len(self.turns)} turns, so a fork cannot start with {turns}")
        other = self._copy_with_turns(self.turns[:turns])
        if turns is None:
            # Prompts that were sent for this conversation were sent for the copy too.
            other.derived = self.derived.fork()
        return other

    def fork_for_request(self) -> Conversation:
        """Return a snapshot for one request, after `announce`. Raise a NotReadyError if no request can be sent."""
        self.check_ready()
        asked = self.snapshot()
        asked.request_heads = self.heads
        return asked

    def snapshot(self) -> Conversation:
        """Return a cheap copy as of now. A reply added to the copy is not added here."""
        other = Conversation.__new__(Conversation)
        other._system, other._tools, other.turns, other._auto = self._system, self._tools, self.turns, self._auto
        other._ids, other._kept, other._questions = self._ids.copy(), self._kept, self._questions
        other._head, other._announced, other._updates = self._head, self._announced, self._updates
        # Shared, because a request updates the state that a provider holds.
        other.state = self.state
        # Shared, because the cached encodings belong to the shared turns.
        other.derived = self.derived
        other.request_heads = other._owner = None
        return other

    def undo(self, turns: int = 1) -> tuple[Turn, ...]:
        """Remove the last turns, including their results and open calls, and return them."""
        if not 0 <= turns <= len(self.turns):
            raise ContentError(f"there are {len(self.turns)} turns, so {turns} cannot be taken back")
        keep = len(self.turns) - turns
        removed = self.turns[keep:]
        self.turns = self.turns[:keep]
        self._announced = self._updates = None
        for turn in removed:
            if isinstance(turn, AssistantTurn):
                for call in turn.calls:
                    self._ids.pop(call.id, None)
        return removed

    def repair(self) -> tuple[Conversation, list[RepairAction]]:
        """Return a copy in which every open call is answered as interrupted, and the list of repairs.

        Other problems cannot arise here. Those of an imported history are repaired when it is read.
        """
        repaired = self.fork()
        calls = self.open_calls
        if (turn := self._find_calling_turn()) is not None and calls:
            repaired._answer(turn, [make_interrupted_result(call) for call in calls])
        position = f"turn {len(self.turns) - isinstance(self.turns[-1], UserTurn)}" if calls else ""
        return repaired, [make_unanswered_action(call, position) for call in calls]

    def compaction(
        self,
        budget: int,
        *,
        summary: SummarySource | None = None,
        result_limit: int = 2000,
        count: Callable[[str], int] = estimate_tokens,
    ) -> Compaction:
        """Return the plan that `compact` would apply for a budget of `budget` tokens."""
        return plan_compaction(self.turns, self._system, budget, result_limit, count, summary)

    def compact(
        self,
        budget: int,
        *,
        summary: SummarySource | None = None,
        result_limit: int = 2000,
        count: Callable[[str], int] = estimate_tokens,
    ) -> Conversation:
        """Return a conversation of complete turns that fits `budget` tokens; this one is not changed.

        Results longer than `result_limit` tokens are truncated first, oldest first, and stored under a handle
        (see `whole`). If that is not enough, the oldest turns after the first user turn are dropped.
        `summary`, a text or a function of the dropped turns, replaces them. If the summary of a function is too
        long, it is called again with more turns. The newest turns always stay. A `CompactionError` states the
        smallest possible size.
        """
        compaction = self.compaction(budget, summary=summary, result_limit=result_limit, count=count)
        if compaction.after > budget:
            raise CompactionError(
                f"the newest turns, the first one, the system text and the summary alone need about {compaction.after}"
                f" tokens, more than the budget of {budget}; nothing was changed"
            )
        # The compacted conversation starts over, so its head already includes all updates.
        compacted = self._copy_with_turns(map(_strip_head_updates, compaction.turns))
        compacted._head = compacted._announced = None
        compacted._kept.update(compaction.kept)
        return compacted

    def trim(self, turns: int) -> Conversation:
        """Return a conversation of the newest turns; this one is not changed.

        It begins with a user turn, so it may have more turns. Calls and their results are one turn.
        """
        if isinstance(turns, bool) or not isinstance(turns, int) or turns < 1:
            raise OptionError(f"`turns` is a number from 1 on, not {turns!r:.60}")
        start = max(len(self.turns) - turns, 0)
        while start and isinstance(self.turns[start], AssistantTurn):
            start -= 1
        # Like a compacted one, it starts over, so its head already includes all updates.
        trimmed = self._copy_with_turns(map(_strip_head_updates, self.turns[start:]))
        trimmed._head = trimmed._announced = None
        return trimmed

    def replace_with(self, other: Conversation) -> None:
        """Take over the turns and full results of another conversation, but keep this one's system text and tools."""
        self.turns, self._ids = other.turns, dict(other._ids)
        self._kept, self._questions = dict(other._kept), dict(other._questions)
        self._head, self._announced, self._updates = other._head, None, None
        self.state = other.state.copy()

    @classmethod
    def from_turns(
        cls,
        turns: Iterable[Turn],
        system: str = "",
        tools: Iterable[ToolSpec] = (),
        *,
        auto_assistant_tool_calls: bool = False,
    ) -> Conversation:
        """Return a conversation of turns that alternate and whose calls have different ids."""
        empty = cls(system, tools, auto_assistant_tool_calls=auto_assistant_tool_calls)
        return empty._copy_with_turns(turns)

    def _copy_with_turns(self, turns: Iterable[Turn]) -> Conversation:
        """Return a conversation with these turns and this one's system text, tools and full results."""
        other = Conversation(self._system, self._tools, auto_assistant_tool_calls=self._auto)
        other._kept = dict(self._kept)
        other._questions = dict(self._questions)
        other.state = self.state.copy()
        other.turns = tuple(turns)
        other._head, other._updates = self._head, None
        for turn in other.turns:
            if isinstance(turn, AssistantTurn):
                other._ids.update((call.id, None) for call in turn.calls)
        return other

    # Files

    def to_json(self) -> dict[str, Any]:
        """Return the conversation as JSON data, as `save` writes it."""
        from antiphon.conversation import serialization as storage

        return storage.conversation_to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Conversation:
        """Read data of `to_json`. Raise a `FormatError` with the reason if that is not possible."""
        from antiphon.conversation import serialization as storage

        return storage.read_conversation(data)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the conversation to a file atomically: a failure leaves the old file intact."""
        from antiphon.conversation import serialization as storage

        storage.save_conversation(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Conversation:
        """Read a file that `save` wrote. Raise a `FormatError` with the reason if that is not possible."""
        from antiphon.conversation import serialization as storage

        return storage.load_conversation(path)

    def __repr__(self) -> str:
        state = self.ready()
        return f"<Conversation: {len(self.turns)} turns, {'ready' if state else state.reason}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return (self._system, self._tools, self.turns, self._kept, self.questions, self.state) == (
            other._system,
            other._tools,
            other.turns,
            other._kept,
            other.questions,
            other.state,
        )

    __hash__ = None  # type: ignore[assignment]

    # Internals

    def _find_calling_turn(self) -> AssistantTurn | None:
        """Return the model's last turn, whose calls may still be answered. At most one user turn follows it."""
        for turn in self.turns[:-3:-1]:
            if isinstance(turn, AssistantTurn):
                return turn
        return None

    def _reject_open_calls(self) -> None:
        turn = self._find_calling_turn()
        if turn is not None and (calls := turn.open_calls):
            names = ", ".join(f"{call.id!r} (`{call.name}`)" for call in calls)
            raise PairingError(f"the model cannot speak yet: no result for call {names}", calls[0].id)

    def _append_assistant(self, turn: AssistantTurn, ids: dict[str, None]) -> None:
        last = self.turns[-1] if self.turns else None
        if isinstance(last, AssistantTurn) and not last.calls:
            self.turns = (*self.turns[:-1], AssistantTurn(last.parts + turn.parts))
        else:
            self.turns = (*self.turns, turn)
        self._ids.update(ids)

    def _user_parts_since(self, seen: tuple[Turn, ...]) -> tuple[UserPart, ...]:
        """Return the user parts added since `seen`. Raise a NotReadyError if anything else has changed."""
        last = seen[-1] if seen else None
        place = len(seen) - 1 if isinstance(last, UserTurn) else len(seen)
        now = self.turns[place] if place < len(self.turns) else None
        old = last.parts if isinstance(last, UserTurn) else ()
        same = self.turns[:place] == seen[:place] and len(self.turns) <= place + 1
        if not same or (now is not None and not isinstance(now, UserTurn)):
            raise NotReadyError("the conversation was changed while the model answered, so the reply does not fit in")
        if now is None or now.parts[: len(old)] != old:
            raise NotReadyError("the turn that the model answers was taken back, so the reply does not fit in")
        return now.parts[len(old) :]

    def _answer(self, turn: AssistantTurn, results: Sequence[ToolResult]) -> None:
        """Add results that belong to calls of the model's last turn."""
        place = len(self.turns) - (1 if self.turns[-1] is turn else 2)
        self.turns = (*self.turns[:place], turn.answered(results), *self.turns[place + 1 :])

    def _make_pairing_error(self, call_id: str) -> PairingError:
        turn = self._find_calling_turn()
        if call_id in self._ids:
            where = "" if turn and any(call.id == call_id for call in turn.calls) else " in an earlier turn"
            return PairingError(f"call {call_id!r} already has its result{where}", call_id)
        names = ", ".join(f"{call.id!r} (`{call.name}`)" for call in self.open_calls)
        return PairingError(f"no call {call_id!r} is open; {'open: ' + names if names else 'no call is'}", call_id)

    def _new_id(self, taken: dict[str, None]) -> str:
        number = len(self._ids) + len(taken) + 1
        while (id := f"call{number:05d}") in self._ids or id in taken:
            number += 1
        return id

    @contextmanager
    def _rollback_on_error(self) -> Generator[None]:
        turns, ids = self.turns, len(self._ids)
        try:
            yield
        except BaseException:
            self.turns = turns
            while len(self._ids) > ids:
                self._ids.popitem()
            raise


def _strip_head_updates(turn: Turn) -> Turn:
    if isinstance(turn, AssistantTurn) or not any(isinstance(part, Update) for part in turn.parts):
        return turn
    return UserTurn(tuple(part for part in turn.parts if not isinstance(part, Update)))


def _check_items(values: Iterable[T], kind: type[T]) -> tuple[T, ...]:
    """Return the values as a tuple. Raise a ContentError if one is not of this type."""
    if isinstance(values, str) or not hasattr(type(values), "__iter__"):
        raise ContentError(f"a list of {kind.__name__} is wanted, not {type(values).__name__}")
    given = tuple(values)
    for value in given:
        if not isinstance(value, kind):
            raise ContentError(f"a {kind.__name__} is wanted, not {type(value).__name__}")
    return given
