"""The conversation: turns in which no call is without its place and no result without its call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Self, TypeVar, cast

from antiphon._json import clean
from antiphon.conversation.compact import Compaction, Summary, estimate_tokens, plan
from antiphon.conversation.derived import DerivedKey, DerivedValues
from antiphon.conversation.parts import AssistantPart, Image, Text, ToolCall, ToolResult, ToolSpec, Update, UserPart
from antiphon.conversation.provider_state import ProviderState
from antiphon.conversation.questions import OpenQuestion
from antiphon.conversation.repair import Change, interrupted, unanswered
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn, assistant_parts, user_parts
from antiphon.errors import CompactionError, ContentError, NotReadyError, PairingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ready:
    """Whether the next request may be sent; false ones say why, and which calls are open."""

    reason: str = ""
    open_calls: tuple[ToolCall, ...] = ()

    def __bool__(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class Head:
    """The part of a request before its turns. Later changes of it are `Update` parts of user turns."""

    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    effort: str | None = None
    form: dict[str, Any] | None = None

    def updated(self, update: Update) -> Head:
        """Return the head with a change applied."""
        tools = tuple(tool for tool in self.tools if tool.name not in update.removed) + update.added
        return Head(
            self.system if update.system is None else update.system,
            tools,
            self.effort if update.effort is None else update.effort,
            self.form if update.form is None else update.form,
        )

    def change_to(self, other: Head) -> Update | None:
        """Return the update that leads to another head, or nothing where both are the same to a model."""
        # As a rule the tools are the very same: then there is nothing to compare.
        is_same = self.tools is other.tools
        update = Update(
            () if is_same else tuple(tool for tool in other.tools if tool not in self.tools),
            () if is_same else tuple(tool.name for tool in self.tools if tool not in other.tools),
            other.system if other.system != self.system else None,
            other.effort if other.effort is not None and other.effort != self.effort else None,
            other.form if other.form is not None and other.form != (self.form or {}) else None,
        )
        return None if update == Update() else update


#: The tools that are declared, and the last update that added one.
_DECLARED_TOOLS = DerivedKey[tuple[Update, tuple[ToolSpec, ...]]]("declared tools")


class Conversation:
    """A system text, the tools in force and a list of turns.

    Adding is checked before anything changes: a `PairingError` or `ContentError` leaves the conversation as it was.
    What adds returns the conversation itself, except `add_reply`.
    `fork`, `repair` and `compact` return a new conversation and share the turns, which never change. With
    `auto_assistant_tool_calls`, a result that comes without its call brings the call along; otherwise that is an error.
    Not for use by several threads at once.
    """

    __slots__ = (
        *("_announced", "_auto", "_head", "_ids", "_kept", "_questions", "_system", "_tools", "_turns", "_updates"),
        *("_owner", "derived", "state"),
    )

    def __init__(
        self, system: str = "", tools: Iterable[ToolSpec] = (), *, auto_assistant_tool_calls: bool = False
    ) -> None:
        self.system = system
        self._tools: tuple[ToolSpec, ...] = ()
        self.tools = tools
        self._turns: tuple[Turn, ...] = ()
        self._ids: dict[str, None] = {}
        self._kept: dict[str, str] = {}
        self._questions: dict[str, OpenQuestion] = {}
        self._auto = auto_assistant_tool_calls
        #: The head of the first request; and what the updates since have made of it, where that is known.
        self._head: Head | None = None
        self._announced: Head | None = None
        self._updates: tuple[Update, ...] | None = ()
        #: What providers hold for this conversation, and are sent back.
        self.state = ProviderState()
        #: Values that other packages derive from the conversation and keep with it.
        self.derived = DerivedValues()
        self._owner: object = None

    @property
    def system(self) -> str:
        """The system text; empty for none."""
        return self._system

    @system.setter
    def system(self, text: str) -> None:
        text = clean(text)
        self._system = text if text.strip() else ""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools the model is told of."""
        return self._tools

    @tools.setter
    def tools(self, tools: Iterable[ToolSpec]) -> None:
        specs = _all(tools, ToolSpec)
        if specs == self._tools and _secrets(specs) == _secrets(self._tools):
            # The same tuple as before: what was made of it need not be made again.
            return
        names = [spec.name for spec in specs]
        for name in names:
            if names.count(name) > 1:
                raise ContentError(f"two tools are named `{name}`; rename one of them")
        self._tools = specs

    @property
    def auto_assistant_tool_calls(self) -> bool:
        """Whether a result that comes without its call brings the call along."""
        return self._auto

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, oldest first."""
        return self._turns

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that wait for a result, in call order."""
        # As `_calling_turn`, here because it is asked for at every step.
        for turn in self._turns[:-3:-1]:
            if isinstance(turn, AssistantTurn):
                return turn.open_calls
        return ()

    @property
    def questions(self) -> dict[str, OpenQuestion]:
        """What people are asked about open calls, by call id. A question goes when its call is answered."""
        if not self._questions:
            return {}
        return {call.id: self._questions[call.id] for call in self.open_calls if call.id in self._questions}

    def ask(self, call_id: str, question: OpenQuestion) -> None:
        """Note that an open call waits for a person; the note is saved with the conversation."""
        if all(call.id != call_id for call in self.open_calls):
            raise self._unpaired(call_id)
        # What was asked about calls that have their results by now is of no more use.
        self._questions = {**self.questions, call_id: question}

    # Adding

    def add_user(self, content: str | UserPart | Sequence[str | UserPart], author: str | None = None) -> Self:
        """Add what somebody said; `author` attributes it to another agent.

        While calls are open it is kept and reaches the model after their results.
        """
        parts = user_parts(content, author)
        last = self._turns[-1] if self._turns else None
        if isinstance(last, UserTurn):
            self._turns = (*self._turns[:-1], UserTurn(last.parts + parts))
        else:
            self._turns = (*self._turns, UserTurn(parts))
        if any(isinstance(part, Update) for part in parts):
            self._announced = self._updates = None
        return self

    def add_assistant(self, content: str | AssistantPart | Sequence[str | AssistantPart]) -> Self:
        """Add what the model said: text, or its parts in order. Calls in it are open until they get their results."""
        parts = assistant_parts(content)
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
        """Add what a provider answered, and return it as a turn.

        A call id that is already in use is replaced: some servers count from zero in every reply. `seen` is what
        `turns` was when the model was asked: what users said since then comes after the reply.
        """
        late = self._said_since(seen) if seen is not None else ()
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
            self._turns = seen
        turn = AssistantTurn(tuple(renamed))
        self._append_assistant(turn, fresh)
        if late:
            self._turns = (*self._turns, UserTurn(late))
        return turn

    def add_assistant_tool_calls(self, calls: Iterable[ToolCall], content: str = "") -> Self:
        """Add the assistant turn that makes these calls. Calls that are open already are not added twice."""
        calls = _all(calls, ToolCall)
        if not calls:
            raise ContentError("no calls were given; use `add_assistant` for a turn without calls")
        if calls == self.open_calls:
            return self
        return self.add_assistant((Text(content), *calls) if content.strip() else calls)

    def add_tool_result(
        self,
        call_id: str,
        content: str | Sequence[str | Text | Image],
        is_error: bool = False,
        *,
        name: str = "",
    ) -> Self:
        """Answer one open call. `name` is used only where `auto_assistant_tool_calls` must invent the call."""
        return self.add_tool_results([ToolResult(call_id, cast(Any, content), is_error, name)])

    def add_tool_results(self, results: Iterable[ToolResult]) -> Self:
        """Answer several open calls, in any order: all of them, or none if one does not fit."""
        results = _all(results, ToolResult)
        seen: set[str] = set()
        for result in results:
            if result.call_id in seen:
                raise PairingError(f"two results were given for call {result.call_id!r}", result.call_id)
            seen.add(result.call_id)
        missing = [result for result in results if result.call_id not in self._ids] if self._auto else []
        known = {each.call_id for each in missing} | {call.id for call in self.open_calls}
        for result in results:
            if result.call_id not in known:
                raise self._unpaired(result.call_id)
        if missing:
            self.add_assistant([ToolCall(each.call_id, each.name or "tool") for each in missing])
        self._answer(results)
        return self

    def add_tool_calls_and_results(
        self, calls: Iterable[ToolCall], results: Iterable[ToolResult], content: str = ""
    ) -> Self:
        """Add the calls and their results in the only order there is: all of it, or nothing."""
        with self._all_or_nothing():
            return self.add_assistant_tool_calls(calls, content).add_tool_results(results)

    # Asking

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
        """Whether a model can be asked now, and if not, what is missing."""
        if calls := self.open_calls:
            names = ", ".join(f"{call.id!r} (`{call.name}`)" for call in calls)
            return Ready(f"no result yet for call {names}; add it, or `repair()` to answer it as interrupted", calls)
        if not self._turns:
            return Ready("the conversation is empty; add a user turn")
        last = self._turns[-1]
        if isinstance(last, AssistantTurn) and not last.calls:
            return Ready("the model has answered; add a user turn")
        return Ready()

    def whole(self, handle: str) -> str:
        """The whole text of a result that `compact` cut."""
        try:
            return self._kept[clean(handle)]
        except KeyError:
            raise ContentError(f"there is no kept result {handle!r} in this conversation") from None

    def keep(self, handle: str, text: str) -> None:
        """Keep the whole text of a result that is shown to the model in part."""
        self._kept[clean(handle)] = clean(text)

    @property
    def kept(self) -> dict[str, str]:
        """The whole texts of the results that were cut, by handle."""
        return dict(self._kept)

    @property
    def head(self) -> Head:
        """Return the head of the first request; the present values where none was sent."""
        return self._head or Head(self._system, self._tools)

    @property
    def announced(self) -> Head:
        """Return the head with all updates since, as models have been told."""
        if self._announced is None:
            self._announced = self.head
            for update in self.updates:
                self._announced = self._announced.updated(update)
        return self._announced

    @property
    def updates(self) -> tuple[Update, ...]:
        """The changes of the head since the first request, oldest first."""
        if self._updates is None:
            told = (turn.parts for turn in self._turns if isinstance(turn, UserTurn))
            self._updates = tuple(part for parts in told for part in parts if isinstance(part, Update))
        return self._updates

    @property
    def declared_tools(self) -> tuple[ToolSpec, ...]:
        """The tools that a request declares where the model cannot be told of changes.

        A tool that is taken away stays declared, and calls of it are refused, until others join: then the head changes.
        """
        head, updates = self.head, self.updates
        last = max((place for place, update in enumerate(updates) if update.added), default=-1)
        if last < 0:
            return head.tools
        known = self.derived.get(_DECLARED_TOOLS)
        if known is None or known[0] is not updates[last]:
            for update in updates[: last + 1]:
                head = head.updated(update)
            known = self.derived.set(_DECLARED_TOOLS, (updates[last], head.tools))
        return known[1]

    def announce(self, effort: str | None = None, form: dict[str, Any] | None = None) -> Update | None:
        """Record what has changed since the last request, as an update at this place; return it.

        Call it before each request. `effort` and `form` are for providers that take changes of them this way.
        """
        now = Head(self._system, self._tools, effort, form)
        if self._head is None or not any(isinstance(turn, AssistantTurn) for turn in self._turns[:2]):
            self._head = self._announced = now
            return None
        update = self.announced.change_to(now)
        if update is not None:
            last = self._turns[-1] if self._turns else None
            parts = last.parts if isinstance(last, UserTurn) else ()
            before = self._turns[:-1] if parts else self._turns
            self._announced, self._updates = self.announced.updated(update), (*self.updates, update)
            self._turns = (*before, UserTurn((*parts, update)))
        return update

    def restore_head(self, head: Head) -> None:
        """Set the head of the first request, as it was saved."""
        self._head, self._announced, self._updates = head, None, None

    # Changing

    def fork(self, turns: int | None = None) -> Conversation:
        """A conversation of its own that starts with the first `turns` turns of this one (default: all)."""
        if turns is not None and not 0 <= turns <= len(self._turns):
            raise ContentError(f"there are {len(self._turns)} turns, so a fork cannot start with {turns}")
        other = self._with_turns(self._turns[:turns])
        if turns is None:
            # What models have read of it they have read of the copy too.
            other.derived = self.derived.fork()
        return other

    def to_be_asked(self) -> Conversation:
        """A fork for one request, which costs next to nothing: the reply that is added to it is not added here."""
        other = Conversation.__new__(Conversation)
        other._system, other._tools, other._turns, other._auto = self._system, self._tools, self._turns, self._auto
        other._ids, other._kept, other._questions = self._ids.copy(), self._kept, self._questions
        other._head, other._announced, other._updates = self._head, self._announced, self._updates
        # What a provider holds for the conversation is learned by asking.
        other.state = self.state
        # What was encoded for it is known to belong to its turns.
        other.derived = self.derived
        other._owner = None
        return other

    def undo(self, turns: int = 1) -> tuple[Turn, ...]:
        """Take back the last turns, results and open calls included, and return them."""
        if not 0 <= turns <= len(self._turns):
            raise ContentError(f"there are {len(self._turns)} turns, so {turns} cannot be taken back")
        keep = len(self._turns) - turns
        removed = self._turns[keep:]
        self._turns = self._turns[:keep]
        self._announced = self._updates = None
        for turn in removed:
            if isinstance(turn, AssistantTurn):
                for call in turn.calls:
                    self._ids.pop(call.id, None)
        return removed

    def repair(self) -> tuple[Conversation, list[Change]]:
        """This conversation with every open call answered as interrupted, and what was changed.

        Other problems cannot arise here; those of a foreign history are repaired while it is read.
        """
        repaired = self.fork()
        calls = self.open_calls
        if calls:
            repaired._answer(interrupted(call) for call in calls)
        position = f"turn {len(self._turns) - isinstance(self._turns[-1], UserTurn)}" if calls else ""
        return repaired, [unanswered(call, position) for call in calls]

    def compaction(
        self,
        budget: int,
        *,
        summary: Summary | None = None,
        result_limit: int = 2000,
        count: Callable[[str], int] = estimate_tokens,
    ) -> Compaction:
        """What would have to go to fit `budget` tokens; see `compact`, which applies it."""
        return plan(self._turns, self._system, budget, result_limit, count, summary)

    def compact(
        self,
        budget: int,
        *,
        summary: Summary | None = None,
        result_limit: int = 2000,
        count: Callable[[str], int] = estimate_tokens,
    ) -> Conversation:
        """A conversation that fits `budget` tokens, made of whole turns; this one is not changed.

        Results longer than `result_limit` tokens are cut first, oldest first, and kept whole under a handle (`whole`).
        If that is not enough, the oldest turns after the first user turn are left out and `summary`, a text or a
        function of the turns left out, takes their place; a function whose summary is too long is asked again with more
        turns. The newest turns always stay. A `CompactionError` says the least that it can be.
        """
        compaction = self.compaction(budget, summary=summary, result_limit=result_limit, count=count)
        if compaction.after > budget:
            raise CompactionError(
                f"the newest turns, the first one, the system text and the summary alone need about {compaction.after}"
                f" tokens, more than the budget of {budget}; nothing was changed"
            )
        # A new beginning: what changed on the way stands at its head.
        compacted = self._with_turns(map(_without_updates, compaction.turns))
        compacted._head = compacted._announced = None
        compacted._kept.update(compaction.kept)
        return compacted

    def take_over(self, other: Conversation) -> None:
        """Become what another one is: its turns and its kept results, with this one's system text and tools."""
        self._turns, self._ids = other._turns, dict(other._ids)
        self._kept, self._questions = dict(other._kept), dict(other._questions)
        self._head, self._announced, self._updates = other._head, None, None
        self.state = other.state.copy()

    def _with_turns(self, turns: Iterable[Turn]) -> Conversation:
        """A conversation with this one's system text, tools and kept results, and these turns."""
        other = Conversation(self._system, self._tools, auto_assistant_tool_calls=self._auto)
        other._kept = dict(self._kept)
        other._questions = dict(self._questions)
        other.state = self.state.copy()
        other._turns = tuple(turns)
        other._head, other._updates = self._head, None
        for turn in other._turns:
            if isinstance(turn, AssistantTurn):
                other._ids.update((call.id, None) for call in turn.calls)
        return other

    # Keeping

    def save(self, path: str | PathLike[str]) -> None:
        """Write the conversation to a file, atomically: the old file or the new one, never half of it."""
        from antiphon.conversation import storage

        storage.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Conversation:
        """Read what `save` wrote; a `FormatError` says what is wrong with anything else."""
        from antiphon.conversation import storage

        return storage.load(path)

    def __repr__(self) -> str:
        state = self.ready()
        return f"<Conversation: {len(self._turns)} turns, {'ready' if state else state.reason}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return (self._system, self._tools, self._turns, self._kept, self.questions, self.state) == (
            other._system,
            other._tools,
            other._turns,
            other._kept,
            other.questions,
            other.state,
        )

    __hash__ = None  # type: ignore[assignment]

    # Inside

    def _calling_turn(self) -> AssistantTurn | None:
        """The turn whose calls may still be answered: the last of the model's, behind at most one user turn."""
        for turn in self._turns[:-3:-1]:
            if isinstance(turn, AssistantTurn):
                return turn
        return None

    def _reject_open_calls(self) -> None:
        if calls := self.open_calls:
            names = ", ".join(f"{call.id!r} (`{call.name}`)" for call in calls)
            raise PairingError(f"the model cannot speak yet: no result for call {names}", calls[0].id)

    def _append_assistant(self, turn: AssistantTurn, ids: dict[str, None]) -> None:
        last = self._turns[-1] if self._turns else None
        if isinstance(last, AssistantTurn) and not last.calls:
            self._turns = (*self._turns[:-1], AssistantTurn(last.parts + turn.parts))
        else:
            self._turns = (*self._turns, turn)
        self._ids.update(ids)

    def _said_since(self, seen: tuple[Turn, ...]) -> tuple[UserPart, ...]:
        """What users added to the turns that were `seen`; any other change since then is an error."""
        if self._turns is seen:
            return ()
        last = seen[-1] if seen else None
        place = len(seen) - 1 if isinstance(last, UserTurn) else len(seen)
        now = self._turns[place] if place < len(self._turns) else None
        old = last.parts if isinstance(last, UserTurn) else ()
        same = self._turns[:place] == seen[:place] and len(self._turns) <= place + 1
        if not same or (now is not None and not isinstance(now, UserTurn)):
            raise NotReadyError("the conversation was changed while the model answered, so the reply does not fit in")
        if now is None or now.parts[: len(old)] != old:
            raise NotReadyError("the turn that the model answers was taken back, so the reply does not fit in")
        return now.parts[len(old) :]

    def _answer(self, results: Iterable[ToolResult]) -> None:
        turn = self._calling_turn()
        if turn is None:
            return
        place = len(self._turns) - (1 if self._turns[-1] is turn else 2)
        self._turns = (*self._turns[:place], turn.answered(results), *self._turns[place + 1 :])

    def _unpaired(self, call_id: str) -> PairingError:
        turn = self._calling_turn()
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
    def _all_or_nothing(self) -> Generator[None]:
        turns, ids = self._turns, len(self._ids)
        try:
            yield
        except BaseException:
            self._turns = turns
            while len(self._ids) > ids:
                self._ids.popitem()
            raise


def _without_updates(turn: Turn) -> Turn:
    if isinstance(turn, AssistantTurn) or not any(isinstance(part, Update) for part in turn.parts):
        return turn
    return UserTurn(tuple(part for part in turn.parts if not isinstance(part, Update)))


def _all(values: Iterable[T], kind: type[T]) -> tuple[T, ...]:
    """The values, each of which must be of this kind."""
    if isinstance(values, str) or not hasattr(type(values), "__iter__"):
        raise ContentError(f"a list of {kind.__name__} is wanted, not {type(values).__name__}")
    given = tuple(values)
    for value in given:
        if not isinstance(value, kind):
            raise ContentError(f"a {kind.__name__} is wanted, not {type(value).__name__}")
    return given


def _secrets(specs: Iterable[ToolSpec]) -> list[Any]:
    return [spec.hosted.secrets for spec in specs if spec.hosted and spec.hosted.secrets]
