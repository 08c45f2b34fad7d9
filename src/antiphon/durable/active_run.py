"""A run that this process owns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Conversation
from antiphon.durable.journal_middleware import JournalMiddleware
from antiphon.durable.turn_history import session_request_to_json
from antiphon.effects import EffectCall, Outcome, PathCounter
from antiphon.effects.codec import dump_ascii_json
from antiphon.storage import leases, sessions, steps

if TYPE_CHECKING:
    from antiphon.durable.journal import Journal
    from antiphon.effects import Spending
    from antiphon.storage.database import LeasedWrite


class ActiveRun:
    """A run that this process owns until `finish`, or until another process takes it. Its middleware saves effects."""

    def __init__(
        self, journal: Journal, id: str, epoch: int, *, other_model: bool = False, printed: int | None = None
    ) -> None:
        self.id = id
        self.journal = journal
        self.middleware = JournalMiddleware(journal, id, epoch, other_model=other_model, printed=printed)
        self._epoch = epoch

    def record_outcome(self, path: str, outcome: Outcome) -> None:
        """Set the outcome of a step."""
        state = "failed" if outcome.error is not None else "done"
        body = self.journal.encode_outcome(self.id, path, outcome)
        self._write(steps.update_step(path, state=state, outcome=body, ended=self.journal.now()))

    def update_launch_data(self, **about: Any) -> None:
        """Add to the data that the run was started with."""
        body = self.journal.encode_launch_data(self.id, {**self.journal.load_launch(self.id), **about})
        self._write(leases.update_session(launch=body))

    @property
    def fence(self) -> tuple[str, int]:
        """The run id and the epoch, which stays valid while this process owns the run."""
        return self.id, self._epoch

    def save_conversation(self, conversation: Conversation) -> None:
        """Save a conversation as the current one of this run; `Journal.load_request` returns it."""
        key = self.journal.save_turns(conversation.turns)
        request = session_request_to_json(conversation, "vibe", None)
        body = self.journal.encode_launch_data(self.id, {**self.journal.load_launch(self.id), **request})
        self._write(leases.update_session(launch=body, last_turn=key))

    def clear_failure(self) -> None:
        """Remove the last step if it is a failed model request, so that the model is asked again."""
        steps.remove_failed_request(self.journal.database, self.id, self._epoch)
        self.middleware = JournalMiddleware(self.journal, self.id, self._epoch)

    def set_aside(self, about: Mapping[str, Any]) -> str:
        """Restart the run. Its effects move to a new child run, whose id is returned; `about` is saved with it."""
        name = sessions.set_aside(self.journal.database, self.id, self._epoch, dump_ascii_json(about))
        self.middleware = JournalMiddleware(self.journal, self.id, self._epoch)
        return name

    @property
    def counter(self) -> PathCounter:
        """The counter of its effects."""
        return PathCounter()

    def begin_message(self, message: EffectCall, about: Mapping[str, Any]) -> None:
        """Save a new message as a step, and that the session runs, with `about` as the data to start it again.

        Both are one transaction: a message that is saved belongs to a session that can be resumed.
        """
        self.middleware.skip_replay()
        launch, now = self.journal.encode_launch_data(self.id, about), self.journal.now()
        running = leases.update_session(state="running", result=None, updated=now, launch=launch)
        self.middleware.begin_message(message, running)

    def start_message(self) -> None:
        """Set the state of a session to running, for a message that is saved already."""
        self._write(leases.update_session(state="running", result=None, updated=self.journal.now()))

    def start_replay(self, *, other_model: bool = False) -> None:
        """Replay the saved effects from the first one on."""
        from antiphon.durable.replay_cache import load_replay_cache

        self.middleware = JournalMiddleware(self.journal, self.id, self._epoch, other_model=other_model)
        self.middleware.replay_source = load_replay_cache(self.journal, self.id)

    def let_go(self) -> None:
        """Release a run that is held, in its present state."""
        self._write(leases.update_session(owner="", updated=self.journal.now()))

    def _write(self, write: LeasedWrite) -> None:
        self.journal.write_at_epoch(self.id, self._epoch, write)

    def finish(
        self,
        state: str,
        ending: Mapping[str, Any] | None = None,
        *,
        spent: Spending | None = None,  # noqa: ARG002  (the steps have it)
        is_held: bool = False,
        step: tuple[str, Outcome] | None = None,
    ) -> None:
        """Release the run in a state, unless it `is_held`; `ending` describes how it ended, as JSON data.

        The outcome of a `step` is saved in the same transaction.
        """
        body = None if ending is None else self.middleware.protect(dump_ascii_json(ending))
        self.journal.release(self.id, self._epoch, state, body, is_held=is_held, step=step)
