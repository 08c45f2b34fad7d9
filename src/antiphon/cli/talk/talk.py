"""A conversation that is kept: messages go to a session, what comes of them is saved, and they can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from antiphon.cli.talk.room import SHARES, make_room
from antiphon.conversation import AssistantTurn, Conversation, UserTurn
from antiphon.errors import CompactionError, ContentError, ContextOverflow, StoreError
from antiphon.session import Event, Session, UsageChanged
from antiphon.store import Store


@dataclass(frozen=True, slots=True)
class _Message:
    """What was said, and the conversation as it was before."""

    text: str
    before: Conversation


class Talk:
    """A session whose conversation is saved as it grows; `id` is its name in the store, empty while it has none.

    `tell` is given what people should know besides the answers.
    """

    def __init__(
        self, session: Session, store: Store | None, command: str, tell: Callable[[str], None], id: str = ""
    ) -> None:
        self.session = session
        self.id = id
        #: What each run since the start has used.
        self.used: list[UsageChanged] = []
        self._store = store
        self._command = command
        self._tell = tell
        self._messages: list[_Message] = []

    @property
    def conversation(self) -> Conversation:
        """The conversation as it is now."""
        return self.session.conversation

    def send(self, text: str, returns: Any = None) -> Generator[Event, None, None]:
        """Say something, and iterate over what happens. Leaving early cancels the answer; the message stays.

        A conversation that is too long for the model is made shorter, and people are told.
        """
        self._messages.append(_Message(text, self.conversation.fork()))
        shares = iter(SHARES)
        asked = text
        while True:
            try:
                yield from self._run(asked, returns)
                return
            except ContextOverflow as error:
                asked = self._shortened(asked, error, next(shares, None))

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

    def _run(self, text: str, returns: Any) -> Generator[Event, None, None]:
        spent: UsageChanged | None = None
        try:
            with self.session.stream(text, mode="chat" if returns is None else "vibe", returns=returns) as events:
                for event in events:
                    if isinstance(event, UsageChanged):
                        spent = event
                        self._save()
                    yield event
        finally:
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

    def _shortened(self, asked: str, error: ContextOverflow, share: float | None) -> str:
        """Make room and give what to ask; the message is taken back where no room can be made."""
        try:
            if share is None:
                raise CompactionError("all that can be left out is left out")
            room = make_room(self.conversation, asked, error, share)
        except CompactionError:
            self.undo()
            reason = error.text or str(error)
            raise ContentError(f"the message does not fit the model, so it was taken back: {reason}") from None
        whole = self.fork()
        self.session.conversation = room.conversation
        left = "1 older turn was left out" if room.dropped == 1 else f"{room.dropped} older turns were left out"
        what = left if room.dropped else "long results were cut"
        kept = f"; the whole is kept as {whole}" if whole else ""
        self._tell(f"the conversation no longer fits the model: {what}{kept}")
        return room.asked

    def _save(self, spent: UsageChanged | None = None) -> None:
        """Save what there is once the model has spoken; a store that fails is told of once and left alone."""
        if self._store is None or not (self.id or any(isinstance(each, AssistantTurn) for each in self._turns())):
            return
        try:
            self.id = self._store.save(
                self.conversation,
                id=self.id or None,
                model=self.session.model.name,
                command=self._command,
                usage=spent.usage if spent else None,
                cost=spent.cost if spent else None,
            )
        except StoreError as error:
            self._store = None
            self._tell(f"{error}; from here on nothing is saved")

    def _turns(self) -> tuple[UserTurn | AssistantTurn, ...]:
        return self.conversation.turns
