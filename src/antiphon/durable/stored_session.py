"""Sessions in a store: the messages of a script that is run again, and further messages of a saved session."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from antiphon.conversation import Conversation, UserPart
from antiphon.conversation.serialization import parts_to_json
from antiphon.durable.journal import Journal
from antiphon.durable.journal_middleware import ReplayDiverged
from antiphon.durable.run_owner import find_main_script
from antiphon.durable.session_run import MessageStep, SessionRun
from antiphon.effects import Outcome
from antiphon.storage.store import ConversationStore

if TYPE_CHECKING:
    from antiphon.durable.active_run import ActiveRun
    from antiphon.effects import Spending

P = ParamSpec("P")
R = TypeVar("R")


class Store(ConversationStore):
    """The sessions of a user: saved conversations, and scripts whose finished steps are not repeated.

    `location` is a file or the URL of a PostgreSQL database; the default is the user's own file. In `Session(store=…)`
    the messages of a session are saved. `with store.session("nightly-7") as session:` saves the steps of a script.
    """

    def __init__(self, location: str | PathLike[str] | None = None, *, timeout: float = 5.0) -> None:
        super().__init__(location, timeout=timeout)
        self._location = location

    @cached_property
    def journal(self) -> Journal:
        """The runs and steps of the sessions."""
        return Journal(self._location)

    @contextmanager
    def session(self, id: str) -> Generator[ScriptSession]:
        """Start or resume a script inside the block. After an exception, it can be resumed."""
        with self.journal.run(id):
            yield ScriptSession(self.journal, id)

    def open_session(self, id: str, model: Callable[[], str], *, appends: bool = False) -> StoredSession:
        """Return the saved messages of a session. With `appends`, new ones follow; else they are sent again in order.

        `model` returns the name of the model.
        """
        return StoredSession(self, id, model, appends=appends)

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        super().close()
        self.journal.close()


class ScriptSession:
    """The session of a script: `step` calls a function once."""

    def __init__(self, journal: Journal, id: str) -> None:
        self.id = id
        self._journal = journal

    def step(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function once; when the script is run again, return the saved value. It must have a JSON form."""
        return self._journal.step(function, *args, **kwargs)


class StoredSession(SessionRun):
    """The messages of a `Session` with a store.

    The N-th message of the process is message N. If that is saved, its steps are not repeated.
    """

    def __init__(self, store: Store, id: str, model: Callable[[], str], *, appends: bool = False) -> None:
        script = find_main_script()
        super().__init__(
            store.journal, "session", lambda: {"model": model(), "conversation": self.id, "script": script}, id=id
        )
        self.is_held = True
        self._store = store
        self._model = model
        #: The number of saved messages that the process has not sent yet.
        self._saved: int | None = 0 if appends else None
        self._position = 0
        self._conversation: Conversation | None = None
        #: How the last message ended, while nothing has failed since.
        self._ending: dict[str, Any] = {}

    def load_conversation(self) -> Conversation:
        """Return the conversation with all saved messages."""
        return self._store.load(self.id)

    def begin_request(
        self, conversation: Conversation, mode: str, prompt: Sequence[UserPart] | None, title: str
    ) -> MessageStep | None:
        """Begin the next message, or the saved one with this number."""
        if not self._store.is_saving:
            return None
        if self._saved is None:
            self._saved = self._count_messages() if self.id else 0
        self._position += 1
        self._conversation = conversation
        if self._position > self._saved:
            return super().begin_request(conversation, mode, prompt, title)
        active = self.acquire(title)
        asked = self.journal.find_effect(self.id, str(self._position)).asked
        if (asked.get("mode"), asked.get("prompt")) != (mode, None if prompt is None else parts_to_json(prompt)):
            raise ReplayDiverged(
                f"message {self._position} of session {self.id} differs from the saved one, {asked.get('text')!r:.200};"
                f" give the session another id, or append to it with `Session.open({self.id!r}, store=…)`"
            )
        if self._position == 1:
            active.start_replay()
        if self._position == self._saved:
            # Ask again where the model failed.
            last = self.journal.find_last_message(self.id)
            if last is not None and last.state == "failed":
                active.clear_failure()
        active.start_message()
        return MessageStep(self, active, str(self._position))

    def settle(
        self, active: ActiveRun, state: str, ending: dict[str, Any], spent: Spending | None
    ) -> tuple[dict[str, Any], str]:
        """Save the conversation before the message ends."""
        if self._conversation is not None and self._position >= (self._saved or 0):
            self._store.save(
                self._conversation,
                id=active.id,
                is_new=True,
                model=self._model(),
                command="session",
                usage=None if spent is None else spent.usage,
                cost=None if spent is None else spent.cost,
            )
        return super().settle(active, state, ending, spent)

    def end_message(
        self, active: ActiveRun, state: str, ending: Mapping[str, Any], message: tuple[str, Outcome] | None
    ) -> None:
        """Save the outcome of a message. The run goes on until `close`, unless nothing can follow."""
        self._ending = dict(ending) if state == "done" else {}
        if state == "done" and message is not None:
            active.record_outcome(*message)
        else:
            super().end_message(active, state, ending, message)

    def close(self) -> None:
        """Release the session. It is running until then, so that a script that dies between two messages can go on."""
        if self._ending and self._own is not None:
            self._own.finish("done", self._ending, is_held=True)
            self._ending = {}
        super().close()
