"""A chat whose conversation is saved as it grows, and whose messages can be undone."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from antiphon.conversation import AssistantTurn, Conversation, UserPart, UserTurn
from antiphon.conversation.interruption import add_interrupted_answer, is_last_answer_interrupted, make_continue_note
from antiphon.conversation.turns import normalize_user_parts
from antiphon.errors import ContentError, ContextOverflow, OptionError, StoreError
from antiphon.session import (
    AIResult,
    Compacted,
    Event,
    QuestionAsked,
    RequestEnded,
    RequestStarted,
    Run,
    Session,
    UsageChanged,
)
from antiphon.storage.store import Store
from antiphon.wire import CacheReport, TextDelta


@dataclass(frozen=True, slots=True)
class _SentMessage:
    """A sent message, and the conversation before it."""

    parts: tuple[UserPart, ...]
    before: Conversation


class SaveListener(Protocol):
    """Notified when the conversation gets an id, when an answer has used tokens, and when one is interrupted."""

    def on_saved(self, id: str) -> None: ...
    def on_used(self, spent: UsageChanged) -> None: ...
    def on_interrupted(self, said: str) -> None: ...


class SavedChat:
    """A session whose conversation is saved as it grows; `id` is its id in the store, empty before the first save.

    `tell` receives notices for the user, `journal` the id once there is one. `tools` returns the selection of tools,
    which is saved too.
    """

    def __init__(
        self,
        session: Session,
        store: Store | None,
        command: str,
        tell: Callable[[str], None],
        id: str = "",
        journal: SaveListener | None = None,
        tools: Callable[[], Mapping[str, Any] | None] = lambda: None,
    ) -> None:
        self.session = session
        self.id = id
        #: The run that was started last.
        self.run: Run[Any] | None = None
        #: The usage of each run since the start.
        self.usage_history: list[UsageChanged] = []
        self._store = store
        self._command = command
        self._tell = tell
        self._messages: list[_SentMessage] = []
        #: Cache reports that are not saved yet.
        self._reports: list[tuple[str, CacheReport]] = []
        self._journal = journal
        self._tools = tools
        #: The id of a journal run that the conversation was left in.
        self.unfinished_run = ""

    @property
    def conversation(self) -> Conversation:
        """The current conversation."""
        return self.session.conversation

    def save_now(self) -> str:
        """Save the conversation now, and return its id; it is empty if nothing is saved."""
        self._write()
        return self.id

    def send(self, said: str | Sequence[UserPart], returns: Any = None) -> Generator[Event, None, None]:
        """Send a message, and yield the events. Closing the generator cancels the answer; the message stays.

        An earlier message without an answer is removed. If the conversation is compacted, the full one is saved as a
        copy. Both are reported with `tell`.
        """
        self.unfinished_run = ""
        parts = normalize_user_parts(said, None)
        self._drop_unanswered()
        self._messages.append(_SentMessage(parts, self.conversation.fork()))
        mode = "chat" if returns is None else "vibe"
        return self._events(lambda: self.session.start(parts, mode=mode, returns=returns))

    def ask_again(self) -> Generator[Event, None, None]:
        """Undo the last message, and send it again."""
        message = self._find_last_message()
        if message is None:
            raise OptionError("there is no message to send again")
        self.undo()
        return self.send(message.parts)

    @property
    def is_unanswered(self) -> bool:
        """True if the last message has no answer, not even a partial one."""
        turns = self._turns()
        return bool(turns) and isinstance(turns[-1], UserTurn) and bool(turns[-1].visible_parts)

    @property
    def is_interrupted(self) -> bool:
        """True if the last answer was interrupted; `continue_answer` continues it."""
        return is_last_answer_interrupted(self.conversation)

    def _drop_unanswered(self) -> None:
        """Remove an unanswered message, because it would be sent with every later one."""
        message = self._find_last_message() if self.is_unanswered else None
        # A message that was typed meanwhile stays, as the answer before it does.
        if message is not None and self.conversation.turns[-1].parts[-len(message.parts) :] == message.parts:
            self.undo()
            said = " ".join(UserTurn(message.parts).text.split())
            shown = said if len(said) <= 60 else f"{said[:59]}…"
            self._tell(f"the previous message had no answer and is not sent: {shown}")

    @property
    def missing_tools(self) -> list[str]:
        """The names of tools that open calls need and the session does not have."""
        there = {tool.name for tool in self.session.tools} | {"read_result" for _ in self.conversation.kept}
        return [*dict.fromkeys(call.name for call in self.conversation.open_calls if call.name not in there)]

    def continue_answer(self) -> Generator[Event, None, None]:
        """Continue an interrupted conversation; resume its run if the journal has one."""
        if self.unfinished_run:
            run, self.unfinished_run = self.unfinished_run, ""
            return self.resume_run(run)
        prompt = [make_continue_note()] if self.is_interrupted else None
        return self._events(lambda: self.session.start(prompt, mode="chat"))

    def resume_run(self, run: str, returns: Any = None) -> Generator[Event, None, None]:
        """Resume a run of the session's journal."""
        return self._events(lambda: self.session.resume_in_background(run, returns=returns))

    def result(self) -> AIResult[Any]:
        """Return the last answer, or raise the error of its run."""
        assert self.run is not None, "no message was sent"
        try:
            return self.run.wait()
        except ContextOverflow as error:
            self.undo()
            reason = error.text or str(error)
            raise ContentError(f"the message does not fit the model, so it was taken back: {reason}") from None

    def undo(self, count: int = 1) -> list[str]:
        """Remove the last messages and their answers; return the texts of the messages, newest first."""
        taken: list[str] = []
        while len(taken) < count and (message := self._find_last_message()) is not None:
            if self._messages:
                self._messages.pop()
            message.before.system = self.conversation.system
            self.session.conversation = message.before
            taken.append(UserTurn(message.parts).text)
        if taken:
            self._save()
        return taken

    def restore(self, before: Conversation) -> None:
        """Replace the conversation by an earlier state."""
        self._messages.clear()
        self.session.conversation = before
        self._save()

    @property
    def message_count(self) -> int:
        """The number of messages that were sent in this process and can be undone."""
        return len(self._messages)

    def find_message(self, number: int = 1) -> UserTurn | None:
        """Return the number-th message from the end, as `undo` counts them."""
        if number <= len(self._messages):
            return UserTurn(self._messages[-number].parts)
        before = self._messages[0].before if self._messages else self.conversation
        earlier = [turn for turn in before.turns if isinstance(turn, UserTurn) and turn.visible_parts]
        number -= len(self._messages)
        return earlier[-number] if number <= len(earlier) else None

    def start_new(self) -> str:
        """Begin an empty conversation with the same system text, and return the id of the saved one."""
        old, self.id, self.unfinished_run = self.id, "", ""
        self._messages.clear()
        self.session.conversation = Conversation(self.conversation.system)
        return old

    def fork(self) -> str:
        """Continue in a copy, and return the id of the saved original; it is empty if nothing is saved."""
        old = self.id
        if self._store is not None and old:
            self.id = self._store.fork(old)
        return old

    def _events(self, start: Callable[[], Run[Any]]) -> Generator[Event, None, None]:
        run = self.run = start()
        spent: UsageChanged | None = None
        is_left = True
        said: list[str] = []
        try:
            for event in run.events():
                if event.run == run.id:
                    _collect_text(said, event)
                if isinstance(event.body, RequestEnded) and event.body.cache is not None:
                    self._reports.append((self.session.model.name, event.body.cache))
                if isinstance(event.body, UsageChanged) and event.run == run.id:
                    spent = event.body
                    self._save()
                elif isinstance(event.body, QuestionAsked | RequestStarted):
                    # A person may take long to answer, so save before.
                    self._save()
                elif isinstance(event.body, Compacted):
                    self._keep_before_compaction(event.body)
                yield event
            is_left = False
        finally:
            if is_left:
                run.cancel()
                run.wait(raises=False)
            self._add_interrupted_answer("".join(said))
            if spent is not None:
                self.usage_history.append(spent)
                if self._journal is not None:
                    self._journal.on_used(spent)
            self._save(spent)

    def _add_interrupted_answer(self, said: str) -> None:
        """Add the partial text of an interrupted answer to the conversation."""
        if not said.strip() or self.conversation.open_calls:
            return
        add_interrupted_answer(self.conversation, said)
        if self._journal is not None:
            self._journal.on_interrupted(said)

    def _find_last_message(self) -> _SentMessage | None:
        """Return the last message, of this process or of the resumed conversation."""
        if self._messages:
            return self._messages[-1]
        turns = self.conversation.turns
        for place in range(len(turns) - 1, -1, -1):
            turn = turns[place]
            if isinstance(turn, UserTurn) and turn.visible_parts:
                return _SentMessage(turn.visible_parts, self.conversation.fork(place))
        return None

    def _keep_before_compaction(self, compacted: Compacted) -> None:
        """Save the full conversation before compaction, and continue in a copy."""
        self._save(conversation=compacted.before)
        whole = self.fork()
        count = compacted.dropped
        left = "1 older turn was left out" if count == 1 else f"{count} older turns were left out"
        kept = f"; the full one is saved as {whole}" if whole else ""
        self._tell(f"the conversation no longer fits the model: {left if count else 'long results were cut'}{kept}")

    def _save(self, spent: UsageChanged | None = None, conversation: Conversation | None = None) -> None:
        """Save the conversation once the model has answered. A failing store is reported once and not used again."""
        if self.id or any(isinstance(each, AssistantTurn) for each in self._turns()):
            self._write(spent, conversation)

    def _write(self, spent: UsageChanged | None = None, conversation: Conversation | None = None) -> None:
        if self._store is None:
            return
        before = self.id
        try:
            self.id = self._store.save(
                conversation or self.conversation,
                id=self.id or None,
                model=self.session.model.name,
                command=self._command,
                usage=spent.usage if spent else None,
                cost=spent.cost if spent else None,
                tools=self._tools(),
                reports=self._reports,
            )
            self._reports.clear()
        except StoreError as error:
            self._store = None
            self._tell(f"{error}; from here on nothing is saved")
            return
        if self.id != before and self._journal is not None:
            self._journal.on_saved(self.id)

    def _turns(self) -> tuple[UserTurn | AssistantTurn, ...]:
        return self.conversation.turns


def _collect_text(said: list[str], event: Event) -> None:
    """Collect the text of an answer until it is complete."""
    match event.body:
        case TextDelta(text):
            said.append(text)
        case RequestStarted():
            said.clear()
        case RequestEnded() if not event.body.failed:
            said.clear()
        case _:
            pass
