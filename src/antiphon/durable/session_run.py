"""The run of a session: each message is a step, and its model requests and tool calls are steps inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Conversation, UserPart, UserTurn
from antiphon.durable.run_owner import describe_owner
from antiphon.durable.turn_history import session_request_to_json
from antiphon.effects import EffectCall, Outcome, PathCounter, SendMessage
from antiphon.errors import AntiphonError, NotReadyError, RunInUse, Suspended

if TYPE_CHECKING:
    from antiphon.durable.active_run import ActiveRun
    from antiphon.durable.journal import Journal
    from antiphon.durable.journal_middleware import JournalMiddleware
    from antiphon.durable.run_entries import RunEntry
    from antiphon.effects import Spending

#: States of a run whose last message can be resumed.
_OPEN_STATES = ("running", "waiting", "ready", "interrupted")
_CLOSED_STEPS = ("done", "failed")


class MessageStep:
    """A message that this process works on, until `finish`."""

    def __init__(self, session: SessionRun, active: ActiveRun, path: str) -> None:
        self._session = session
        self._active = active
        #: The number of the message.
        self.path = path

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._active.id

    @property
    def middleware(self) -> JournalMiddleware:
        """The middleware that saves the steps inside the message."""
        return self._active.middleware

    @property
    def counter(self) -> PathCounter:
        """The counter that gives the message its number."""
        return PathCounter(count=int(self.path) - 1)

    def finish(self, state: str, ending: Mapping[str, Any] | None = None, *, spent: Spending | None = None) -> None:
        """Save how the message ended, and release the run in this state."""
        told, state = self._session.settle(self._active, state, dict(ending or {}), spent)
        reason = str(told.get("error", ""))
        outcome: Outcome | None = None
        if state == "done":
            used = None if spent is None else [spent.usage.input_tokens, spent.usage.output_tokens, spent.cost]
            outcome = Outcome({"outcome": str(told.get("outcome", state)), "used": used})
        elif state == "failed":
            outcome = Outcome(error=AntiphonError(reason))
        elif state == "waiting":
            outcome = Outcome(error=Suspended(reason))
        self._session.end_message(self._active, state, told, None if outcome is None else (self.path, outcome))


class SessionRun:
    """The run of a session in a journal. `about` returns the data that it takes to open the session again.

    The run belongs to this process while a message is worked on; if it `is_held`, from `hold` or the first message
    until `close`. Without an `id`, the run gets one with the first message.
    """

    def __init__(
        self,
        journal: Journal,
        kind: str,
        about: Callable[[], Mapping[str, Any]] = dict,
        *,
        id: str = "",
        is_held: bool = False,
    ) -> None:
        self.journal = journal
        self.id: str = id
        self.is_held = is_held
        #: Whether a client runs tools, and sends their results with another message.
        self.is_client_kept = False
        #: The name that the sender of the next message gives it.
        self.key = ""
        self._kind = kind
        self._about = about
        #: The run while it belongs to this process, and the one of the last message.
        self._own: ActiveRun | None = None
        self._last: ActiveRun | None = None
        self._count = 0

    # The journal of a session

    def begin_request(
        self, conversation: Conversation, mode: str, prompt: Sequence[UserPart] | None, title: str
    ) -> MessageStep | None:
        """Save that the next message begins."""
        # A run that is created says what was asked, for when the process dies before the message is a step of it.
        asked = session_request_to_json(conversation, mode, prompt)
        active = self.acquire(title, asked, conversation)
        self._close_open_steps(active, "left")
        return self._insert_message(active, asked, conversation, title)

    def resume(self, id: str) -> MessageStep:
        """Acquire the run `id` to resume its last message."""
        self.move(id)
        active = self.acquire("")
        if not self._count:
            conversation, mode, prompt = self.journal.load_request(id)
            asked = session_request_to_json(conversation, mode, prompt)
            return self._insert_message(active, asked, conversation, self.journal.find(id).title)
        active.start_message()
        active.start_replay(other_model=bool(self.journal.find(id).begun_as.get("every_model")))
        return MessageStep(self, active, str(self._count))

    def _insert_message(
        self, active: ActiveRun, asked: Mapping[str, Any], conversation: Conversation, title: str
    ) -> MessageStep:
        about, turns = self._about(), conversation.turns
        place = len(turns) - bool(turns and isinstance(turns[-1], UserTurn))
        model = str(about.get("model", ""))
        effect = SendMessage(title, asked["mode"], asked["prompt"], asked["head"], place, model, self.key, turns)
        self._count, self.key = self._count + 1, ""
        call = EffectCall(str(self._count), effect)
        active.begin_message(call, about)
        return MessageStep(self, active, call.path)

    def load_request(self, id: str) -> tuple[Conversation, Any, Any]:
        """Return what was asked in the last message: the conversation before it, the mode and the prompt."""
        return self.journal.load_request(id)

    def settle(
        self, active: ActiveRun, state: str, ending: dict[str, Any], spent: Spending | None
    ) -> tuple[dict[str, Any], str]:
        """Return how a message has ended, and its state."""
        del spent
        if state == "waiting" and self.is_client_kept and not self.journal.list_questions(active.id, 1):
            # It waits only for results of the client's tools, which come with another message.
            return {"outcome": "done", "value": None}, "done"
        return ending, state

    def end_message(
        self, active: ActiveRun, state: str, ending: Mapping[str, Any], message: tuple[str, Outcome] | None
    ) -> None:
        """Save the outcome of a message, and release the run in this state, unless it is held."""
        active.finish(state, ending, is_held=self.is_held, step=message)
        if not self.is_held:
            self._own = None

    # The lease

    @property
    def is_owned(self) -> bool:
        """True while the run belongs to this process."""
        return self._own is not None

    def hold(self) -> None:
        """Acquire the run before the first message, if there is one already."""
        if self._own is None and self.id and self.journal.has_run(self.id):
            self._own = self._explain_lease(lambda: self.journal.hold(self.id))
            self._count = self._count_messages()

    def move(self, id: str) -> None:
        """Use another run from the next message on."""
        if id != self.id:
            self.close()
            self.id, self._count, self._last = id, 0, None

    def close(self) -> None:
        """Release the run."""
        if self._own is not None:
            self._own.let_go()
            self._own = None

    def acquire(
        self, title: str, asked: Mapping[str, Any] | None = None, conversation: Conversation | None = None
    ) -> ActiveRun:
        """Return the run, which belongs to this process from now on."""
        if self._own is None and self.id and self.journal.has_run(self.id):
            self._own = self._explain_lease(lambda: self.journal.resume(self.id, reopens=True))
            self._count = self._count_messages()
        elif self._own is None:
            said = None if conversation is None else self.journal.save_turns(conversation.turns)
            self._own = self.journal.begin(self._kind, title, {**self._about(), **(asked or {})}, id=self.id, said=said)
            self.id, self._count = self._own.id, 0
        self._last = self._own
        return self._own

    def _explain_lease(self, acquire: Callable[[], ActiveRun]) -> ActiveRun:
        try:
            return acquire()
        except RunInUse as error:
            owner = self.journal.find(self.id).owner
            if not owner:
                raise
            who = describe_owner(owner, self.id).partition(";")[0]
            raise RunInUse(
                f"session {self.id} is in use by {who}: wait until it ends there, or continue in a copy with `--fork`"
            ) from error

    def _count_messages(self) -> int:
        last = self.journal.find_last_message(self.id)
        return 0 if last is None else int(last.path)

    # The last message

    @property
    def entry(self) -> RunEntry | None:
        """The saved run, if it exists."""
        return self.journal.find(self.id) if self.id and self.journal.has_run(self.id) else None

    def find_state(self, *, is_answered: bool = True) -> str:
        """Return the state of a run whose last message can be resumed, or an empty string.

        If the conversation does not have the answer, the process died before it was saved, and it is replayed.
        """
        entry = self.entry
        last = None if entry is None else self.journal.find_last_message(self.id)
        if entry is None or (last is None and "mode" not in entry.begun_as):
            return ""
        if last is not None and last.state in _CLOSED_STEPS:
            match last.outcome:
                case Outcome(value={"outcome": "done"}) if not is_answered:
                    return "interrupted"
                case _:
                    return ""
        return entry.state if entry.state in _OPEN_STATES else ""

    def stop(self) -> None:
        """End the last message for good: it is not resumed, and its questions are closed."""
        if self._last is not None:
            self._close_open_steps(self._last, "stopped")
            self._last.finish("cancelled", {"outcome": "stopped"}, is_held=self._own is not None)

    def update_launch_data(self, **about: Any) -> None:
        """Add to the data that it takes to open the session again."""
        if self._last is not None:
            self._last.update_launch_data(**about)

    def _close_open_steps(self, active: ActiveRun, outcome: str) -> None:
        if not self._count:
            return
        for question in self.journal.list_questions(active.id):
            active.record_outcome(question.path, Outcome(error=NotReadyError("nobody answered before the end")))
        last = self.journal.find_last_message(active.id)
        if last is not None and last.state not in _CLOSED_STEPS:
            active.record_outcome(last.path, Outcome({"outcome": outcome}))
