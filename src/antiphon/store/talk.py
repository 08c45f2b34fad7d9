"""A conversation that is kept: messages go to a session, what comes of them is saved, and they can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from antiphon.conversation import AssistantTurn, Conversation, UserTurn
from antiphon.errors import ContentError, ContextOverflow, StoreError
from antiphon.session import AIResult, Asked, Compacted, Event, Run, Session, UsageChanged
from antiphon.store.store import Store


@dataclass(frozen=True, slots=True)
class _Message:
    """What was said, and the conversation as it was before."""

    text: str
    before: Conversation


class Talk:
    """A session whose conversation is saved as it grows; `id` is its name in the store, empty while it has none.

    `tell` is given what people should know besides the answers, `saved` the id once there is one.
    """

    def __init__(
        self,
        session: Session,
        store: Store | None,
        command: str,
        tell: Callable[[str], None],
        id: str = "",
        saved: Callable[[str], None] | None = None,
    ) -> None:
        self.session = session
        self.id = id
        #: What was started last.
        self.run: Run[Any] | None = None
        #: What each run since the start has used.
        self.used: list[UsageChanged] = []
        self._store = store
        self._command = command
        self._tell = tell
        self._messages: list[_Message] = []
        self._saved = saved
        #: A run in the session's journal in which the conversation was left.
        self.unfinished = ""

    @property
    def conversation(self) -> Conversation:
        """The conversation as it is now."""
        return self.session.conversation

    def send(self, text: str, returns: Any = None) -> Generator[Event, None, None]:
        """Say something, and iterate over what happens. Leaving early cancels the answer; the message stays.

        A conversation that is too long for the model is made shorter, and people are told; the whole is kept.
        """
        self.unfinished = ""
        self._messages.append(_Message(text, self.conversation.fork()))
        mode = "chat" if returns is None else "vibe"
        return self._events(lambda: self.session.start(text, mode=mode, returns=returns))

    def go_on(self) -> Generator[Event, None, None]:
        """Go on with a conversation that was left in the middle of something: of a run that is written down, if so."""
        if self.unfinished:
            run, self.unfinished = self.unfinished, ""
            return self.resume(run)
        return self._events(lambda: self.session.start(None, mode="chat"))

    def resume(self, run: str, returns: Any = None) -> Generator[Event, None, None]:
        """Go on with a run of the session's journal."""
        return self._events(lambda: self.session.start_again(run, returns=returns))

    def result(self) -> AIResult[Any]:
        """The answer to what was said last; what came instead is raised."""
        assert self.run is not None, "something was said"
        try:
            return self.run.wait()
        except ContextOverflow as error:
            self.undo()
            reason = error.text or str(error)
            raise ContentError(f"the message does not fit the model, so it was taken back: {reason}") from None

    def undo(self, count: int = 1) -> list[str]:
        """Take back the last messages and all that came of them; gives their texts, the newest first."""
        taken: list[str] = []
        while len(taken) < count and (message := self._last()) is not None:
            if self._messages:
                self._messages.pop()
            message.before.system = self.conversation.system
            self.session.conversation = message.before
            taken.append(message.text)
        if taken:
            self._save()
        return taken

    def go_back(self, before: Conversation) -> None:
        """Take back all that was said since the conversation was as `before`."""
        self._messages.clear()
        self.session.conversation = before
        self._save()

    def fork(self) -> str:
        """Go on in a copy; what was saved up to now stays as it is. Gives the old id, empty if nothing is saved."""
        old = self.id
        if self._store is not None and old:
            self.id = self._store.fork(old)
        return old

    def _events(self, start: Callable[[], Run[Any]]) -> Generator[Event, None, None]:
        run = self.run = start()
        spent: UsageChanged | None = None
        is_left = True
        try:
            for event in run.events():
                if isinstance(event.body, UsageChanged) and event.run == run.id:
                    spent = event.body
                    self._save()
                elif isinstance(event.body, Asked):
                    # Whoever is asked may take long: what is asked about is there, whatever happens meanwhile.
                    self._save()
                elif isinstance(event.body, Compacted):
                    self._keep_whole(event.body)
                yield event
            is_left = False
        finally:
            if is_left:
                run.cancel()
                run.wait(raises=False)
            self.used += [spent] if spent else []
            self._save(spent)

    def _last(self) -> _Message | None:
        """The last message: of this process, or of the conversation that was resumed."""
        if self._messages:
            return self._messages[-1]
        turns = self.conversation.turns
        for place in range(len(turns) - 1, -1, -1):
            turn = turns[place]
            if isinstance(turn, UserTurn):
                return _Message(turn.text, self.conversation.fork(place))
        return None

    def _keep_whole(self, compacted: Compacted) -> None:
        """The conversation goes on shorter, in a copy; what was saved up to now stays whole."""
        self._save(conversation=compacted.before)
        whole = self.fork()
        count = compacted.dropped
        left = "1 older turn was left out" if count == 1 else f"{count} older turns were left out"
        kept = f"; the whole is kept as {whole}" if whole else ""
        self._tell(f"the conversation no longer fits the model: {left if count else 'long results were cut'}{kept}")

    def _save(self, spent: UsageChanged | None = None, conversation: Conversation | None = None) -> None:
        """Save what there is once the model has spoken; a store that fails is told of once and left alone."""
        if self._store is None or not (self.id or any(isinstance(each, AssistantTurn) for each in self._turns())):
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
            )
        except StoreError as error:
            self._store = None
            self._tell(f"{error}; from here on nothing is saved")
            return
        if self.id != before and self._saved is not None:
            self._saved(self.id)

    def _turns(self) -> tuple[UserTurn | AssistantTurn, ...]:
        return self.conversation.turns
