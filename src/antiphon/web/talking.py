"""A live chat: answers continue without a page, and all pages of it see the same."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.chat.tool_selection import BUNDLE_NAMES, ToolSelection
from antiphon.conversation import AssistantTurn, Turn, UserPart, UserTurn
from antiphon.durable.run_owner import is_owner_alive
from antiphon.errors import AntiphonError, NotReadyError, NotSavedError, OptionError
from antiphon.session import (
    Cancelled,
    Event,
    NoAnswer,
    RequestEnded,
    RequestStarted,
    Run,
    UsageChanged,
)
from antiphon.storage.sessions import find_state
from antiphon.views.run_state import describe_attempt
from antiphon.wire import CallDelta, ReasoningDelta, RetryDelta, TextDelta

if TYPE_CHECKING:
    from antiphon.chat.saved_chat import SavedChat
    from antiphon.chat.startup import OpenChat
    from antiphon.chat.tool_selection import ToolRegistry
    from antiphon.storage import ConversationEntry

log = logging.getLogger("antiphon.web")


@dataclass(slots=True)
class Live:
    """The streamed reply of a model, and the conversation that it answers."""

    number: int = 0
    before: tuple[Turn, ...] | None = None
    text: list[str] = field(default_factory=list[str])
    thinking: list[str] = field(default_factory=list[str])
    calls: list[str] = field(default_factory=list[str])
    #: The reasons of retries.
    retries: list[str] = field(default_factory=list[str])


class Talking:
    """One conversation. `id` is its name in the store, or a generated one if it is not saved."""

    def __init__(self, opened: OpenChat, toolbox: ToolRegistry, about: dict[str, Any], stack: ExitStack) -> None:
        #: The name of the tool set.
        self.tools = str(about.get("tools") or "none")
        self.talk: SavedChat = opened.chat
        self.live = Live()
        self.notes: list[str] = []
        #: The error of the last message, with its kind.
        self.error: dict[str, str] = {}
        #: Model, cost and time of answers, by the turn of the message.
        self.accounts: dict[int, dict[str, Any]] = {}
        self.title = opened.entry.title if opened.entry is not None else ""
        self._journal = opened.journal
        self._store = opened.store
        self._about = about
        self._toolbox = toolbox
        self._stack = stack
        self._lock = threading.RLock()
        self._listeners: list[Callable[[], object]] = []
        self._is_busy = self._is_stopped = False
        self._began = 0.0
        #: The number of answers begun. The state of a page is different after a short answer, so that it is sent.
        self._asked = 0
        self._unsaved = f"unsaved-{secrets.token_hex(4)}"
        self._known: Any = None
        self._newest = ""
        self._look()

    @property
    def id(self) -> str:
        """The name of the conversation."""
        return self.talk.id or self._unsaved

    @property
    def is_answering(self) -> bool:
        """True while the model is answering in this process."""
        return self._is_busy

    @property
    def is_idle(self) -> bool:
        """True if the chat can be closed: it is saved and no page shows it."""
        return bool(self.talk.id) and not self._is_busy and not self._listeners

    def tell(self, note: str) -> None:
        """Warnings that the page shows."""
        self.notes = [*self.notes[-9:], note]
        self._changed()

    # State

    def about(self) -> dict[str, Any]:
        """Return the state that the page shows around the turns."""
        return {
            "id": self.id,
            "title": self.title,
            "model": self.talk.session.model.name,
            "tools": self.tools,
            "state": self._state(),
            "asked": self._asked,
            "run": self._run(),
            "error": self.error,
            "notes": self.notes,
            "isSaved": bool(self.talk.id),
            "isInterrupted": not self._is_busy and self.talk.is_interrupted,
            "isUnanswered": self._state() == "idle" and self.talk.is_unanswered,
        }

    def subscribe(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call a function on each change; return the function that ends this."""
        self._listeners = [*self._listeners, listener]
        return lambda: setattr(self, "_listeners", [each for each in self._listeners if each is not listener])

    def look(self) -> None:
        """Load what other processes did to the conversation, unless it is answering here."""
        with self._lock:
            if not self._is_busy:
                self._look()

    def _look(self) -> None:
        entry = self._store.find(self.talk.id) if self._store is not None and self.talk.id else None
        if entry is not None and entry.updated != self._known:
            if self._known is not None and self._store is not None:
                self.talk.session.conversation = self._store.load(entry.id)
                self.error = {}
            self._find_accounts(self._lineage(entry))
            self._find_unfinished()
            self._known, self.title = entry.updated, entry.title
        elif self.talk.unfinished_run and self._state_of(self.talk.unfinished_run)[0] == "done":
            self.talk.unfinished_run = ""

    def _find_unfinished(self) -> None:
        if self._journal is not None:
            self.talk.unfinished_run = self._journal.find_unfinished_run(self.talk.id)
            if self.talk.unfinished_run:
                self._use_as_before(self._journal.find(self.talk.unfinished_run).begun_as.get("tools"))

    def _lineage(self, entry: ConversationEntry) -> dict[str, int]:
        """Return the conversation and its originals, with the number of turns that it has from each."""
        found, turns = {entry.id: entry.turns}, entry.turns
        while self._store is not None and entry.parent and len(found) < 20:
            turns = min(turns, entry.parent_turns or 0)
            try:
                entry = self._store.find(entry.parent)
            except NotSavedError:
                break
            found[entry.id] = turns
        return found

    def _find_accounts(self, lineage: dict[str, int]) -> None:
        """Load the accounts of answers that were recorded since the last call."""
        turns = self.talk.conversation.turns
        for run in self._journal.iterate_chat_runs(self._newest) if self._journal is not None else ():
            if run.state == "running":
                break
            self._newest = run.id
            about, turn = run.begun_as, run.begun_as.get("turn")
            has = min(lineage.get(about.get("conversation", ""), 0), len(turns))
            if not isinstance(turn, int) or not 0 <= turn < has:
                continue
            message = turns[turn]
            # After a compaction, the number may belong to another turn.
            if isinstance(message, UserTurn) and run.title in message.text:
                account = _account(run.id, str(about.get("model", "")), about.get("used"))
                self.accounts = {**self.accounts, turn: account}
                self._use_as_before(about.get("tools"))

    def _use_as_before(self, tools: Any) -> None:
        """Restore the tools of a saved conversation."""
        if self._known is None and tools in BUNDLE_NAMES:
            self.tools = self._about["tools"] = tools

    def _state(self) -> str:
        if self._is_busy:
            return "answering"
        if not self.talk.unfinished_run:
            return "idle"
        state, owner = self._state_of(self.talk.unfinished_run)
        return "elsewhere" if state == "running" and owner else "interrupted" if state else "idle"

    def _run(self) -> str:
        if self._is_busy and self.talk.run is not None:
            return self.talk.run.id
        return self.talk.unfinished_run

    def _state_of(self, run: str) -> tuple[str, bool]:
        """Return the state of the conversation."""
        found = None if self._journal is None else find_state(self._journal.database, run)
        return ("", False) if found is None else (found[0], bool(found[1]) and is_owner_alive(found[1]))

    # Actions

    def say(self, parts: Sequence[UserPart]) -> None:
        """Send a message; the answer arrives as events."""
        self._begin(lambda: self.talk.send(parts))

    def ask_again(self) -> None:
        """Send the last message again."""
        self._begin(self.talk.ask_again)

    def go_on(self) -> None:
        """Resume an interrupted answer; finished steps are not repeated."""
        self._begin(self._gone_on)

    def _gone_on(self) -> Generator[Event, None, None]:
        if missing := self.talk.missing_tools:
            raise NotReadyError(f"open calls need tools that are not selected: {', '.join(missing)}")
        return self.talk.continue_answer()

    def stop(self) -> None:
        """Stop the answer; its text so far stays."""
        with self._lock:
            self._is_stopped = self._is_busy
            run = self.talk.run
        if run is not None and self._is_busy:
            run.cancel()

    def choose(self, model: str) -> None:
        """Change the model."""
        with self._not_answering():
            self.talk.session.model = model
        self._changed()

    def use_tools(self, name: str) -> None:
        """Change the tools."""
        if name not in BUNDLE_NAMES:
            raise OptionError(f"`tools` must be one of {', '.join(BUNDLE_NAMES)}, not {name[:60]!r}")
        with self._not_answering():
            self.tools = self._about["tools"] = name
        self._changed()

    def close(self) -> None:
        """Close the files of the conversation."""
        self._stack.close()

    @contextmanager
    def _not_answering(self) -> Generator[None]:
        with self._lock:
            if self._is_busy:
                raise NotReadyError("the model is answering; stop the answer or wait until it ends")
            yield

    def _begin(self, begin: Callable[[], Generator[Event, None, None]]) -> None:
        with self._not_answering():
            if self.talk.unfinished_run and self._state() == "elsewhere":
                raise NotReadyError("another program is using this conversation; wait until it ends")
            self._is_busy, self._is_stopped, self.error, self._began = True, False, {}, time.monotonic()
            self.live = Live(self.live.number + 1)
            self._asked += 1
        threading.Thread(target=self._follow, args=(begin,), name="antiphon-chat", daemon=True).start()
        self._changed()

    def _follow(self, begin: Callable[[], Generator[Event, None, None]]) -> None:
        """Run the answer to its end, in a thread of its own."""
        turn, spent, before = self._place(), None, self.talk.run
        try:
            self.talk.session.tools = self._toolbox.load_tools(ToolSelection(self.tools))
            self._load()
            with closing(begin()) as events:
                for event in events:
                    turn = self._place() if isinstance(event.body, RequestStarted) and spent is None else turn
                    spent = self._heard(event) or spent
            self.talk.result()
        except NoAnswer as error:
            kind = "stopped" if isinstance(error, Cancelled) or self._is_stopped else error.run.outcome
            self.error = {"kind": kind, "text": str(error)}
        except AntiphonError as error:
            self.error = {"kind": "failed", "text": str(error)}
        except Exception as error:
            log.exception("a chat ended without an answer")
            self.error = {"kind": "failed", "text": f"{type(error).__name__}: {error}"}
        finally:
            self._end(turn, spent, None if self.talk.run is before else self.talk.run)

    def _load(self) -> None:
        """Download and load a local model before the first request."""
        if (count := getattr(self.talk.session.model, "count_tokens", None)) is not None:
            count("")

    def _place(self) -> int:
        """Return the turn number of the last message."""
        turns = self.talk.conversation.turns
        return max(
            (place for place, turn in enumerate(turns) if isinstance(turn, UserTurn) and turn.visible_parts), default=0
        )

    def _heard(self, event: Event) -> UsageChanged | None:
        run, body, live = self.talk.run, event.body, self.live
        if self._is_stopped and run is not None:
            run.cancel()
        if run is None or event.run != run.id:
            return None
        match body:
            case RequestStarted():
                self.live = Live(live.number + 1, self.talk.conversation.turns)
                if body.number == 1:
                    self.accounts = {**self.accounts, self._place(): _account(run.id, body.model, None)}
            case RequestEnded() if self._is_in(body.text):
                # The reply finished first; its text is in the conversation already.
                self.live = Live(live.number + 1)
            case TextDelta():
                live.text.append(body.text)
            case ReasoningDelta():
                live.thinking.append(body.text)
            case CallDelta() if body.name:
                live.calls.append(body.name)
            case RetryDelta():
                live.retries.append(f"{body.reason}; {describe_attempt(body)}")
            case _:
                pass
        self._changed()
        return body if isinstance(body, UsageChanged) else None

    def _is_in(self, text: str) -> bool:
        turns = self.talk.conversation.turns
        return bool(turns) and isinstance(turns[-1], AssistantTurn) and turns[-1].text == text

    def _end(self, turn: int, spent: UsageChanged | None, run: Run[Any] | None) -> None:
        model = self.talk.session.model.name
        with self._lock:
            if self._is_stopped and run is not None and self._journal is not None:
                # A stopped answer is not resumed, and its questions are dropped.
                with suppress(AntiphonError):
                    self._journal.cancel(run.id)
            used = None if spent is None else [spent.usage.input_tokens, spent.usage.output_tokens, spent.cost]
            if run is not None and used is not None:
                seconds = time.monotonic() - self._began
                self.accounts = {**self.accounts, turn: {**_account(run.id, model, used), "seconds": seconds}}
            self._is_busy, self.live = False, Live(self.live.number + 1)
            if self._store is not None and self.talk.id:
                with suppress(AntiphonError):
                    entry = self._store.find(self.talk.id)
                    self._known, self.title = entry.updated, entry.title
        self._changed()

    def _changed(self) -> None:
        for listener in self._listeners:
            # The event loop of a page that left may be closed.
            with suppress(RuntimeError):
                listener()


def _account(run: str, model: str, used: Any) -> dict[str, Any]:
    """Return model, usage, cost and time of an answer, and its run."""
    told: dict[str, Any] = {"run": run, "model": model}
    match used:
        case [input, output, cost]:
            return {**told, "inputTokens": input, "outputTokens": output, "cost": cost}
        case _:
            return told
