"""A chat: messages to a model, and their answers, saved as they grow. All fronts use it."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon.chat.live_reply import LiveReply
from antiphon.chat.message_accounts import MessageAccounts
from antiphon.chat.reply import Reply
from antiphon.chat.saved_conversation import SavedConversation
from antiphon.chat.tool_selection import ToolRegistry, ToolSelection
from antiphon.config.default_model import LOCAL_TOOL_MODEL
from antiphon.conversation import AssistantTurn, Conversation, MediaPart, OpaquePart, UserPart, UserTurn
from antiphon.conversation.interruption import add_interrupted_answer, is_last_answer_interrupted, make_continue_note
from antiphon.conversation.turns import normalize_user_parts
from antiphon.effects import HumanAnswer
from antiphon.errors import (
    AntiphonError,
    ContentError,
    ContextOverflow,
    NotReadyError,
    OptionError,
    StoreError,
)
from antiphon.session import (
    AIResult,
    Compacted,
    Event,
    Question,
    QuestionAsked,
    RequestEnded,
    RequestStarted,
    Run,
    RunWaits,
    Session,
    UsageChanged,
    current_run,
)
from antiphon.wire import TextDelta

if TYPE_CHECKING:
    from antiphon.chat.saved_chat_run import ChatRun
    from antiphon.durable import Store
    from antiphon.storage import ConversationEntry

log = logging.getLogger("antiphon.chat")
#: Tools that a chat adds by itself.
_CHAT_TOOLS = ("read_result", "read_skill", "submit_plan", "write_todos")


@dataclass(frozen=True, slots=True)
class _SentMessage:
    """A sent message, and the conversation before it."""

    parts: tuple[UserPart, ...]
    before: Conversation


@dataclass(frozen=True, slots=True)
class CompactedChat:
    """The result of a compaction: how many turns were summarized, and the id of the full conversation."""

    turns: int
    full_id: str


class Chat:
    """A chat with a model. `ChatService.open` opens one.

    `send`, `ask_again`, `continue_answer` and `edit` return a `Reply` at once; its work goes on in a thread, and the
    conversation is saved as it grows. There is one reply at a time. All methods are thread-safe. `tell` receives
    notices for the user.
    """

    def __init__(
        self,
        session: Session,
        command: str,
        toolbox: ToolRegistry,
        *,
        store: Store | None = None,
        saved_run: ChatRun | None = None,
        entry: ConversationEntry | None = None,
        model_reason: str = "",
        tell: Callable[[str], object] = lambda _: None,
        stack: ExitStack | None = None,
    ) -> None:
        self.session = session
        self._saving = SavedConversation(store, command, entry)
        self.saved_run = saved_run
        #: The saved metadata, if the chat was continued, and the reason for its model.
        self.entry = entry
        self.model_reason = model_reason
        self.toolbox = toolbox
        #: The selection of tools, and whether it is that of the saved conversation; None if functions were given.
        self.tools: ToolSelection | None = None
        self.are_tools_kept = False
        #: Whether those who follow the events of a reply answer its questions.
        self.is_attended = True
        #: Whether a front keeps the history: then unanswered messages stay, and compacted turns are saved too.
        self.is_client_kept = False
        #: The newest notices, and the error of the last message.
        self.notes: list[str] = []
        self.error: BaseException | None = None
        self.live = LiveReply()
        self.accounts = MessageAccounts(store, saved_run)
        #: The usage of each reply since the start.
        self.usage_history: list[UsageChanged] = []
        #: The id of the run whose last message can be resumed, or an empty string.
        self.unfinished_run = ""
        self.reply: Reply | None = None
        self._tell = tell
        self._stack = stack or ExitStack()
        self._lock = threading.RLock()
        self._listeners: list[Callable[[], object]] = []
        self._messages: list[_SentMessage] = []
        self._are_tools_loaded = False
        #: Called with the conversation before each request, and may add to it.
        self.before_request: Callable[[Conversation], None] | None = None
        session.before_request = self._before_request
        self._unsaved_name = f"unsaved-{secrets.token_hex(4)}"
        self._look()

    def close(self) -> None:
        """Stop the work on a reply, and release the chat and its files."""
        if self.reply is not None:
            self.reply.close()
        if self.saved_run is not None:
            with suppress(AntiphonError):
                self.saved_run.close()
        self._stack.close()

    def __enter__(self) -> Chat:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # State

    #: The reason for a model if there is no key for any.
    NO_KEY_REASON = "no key was found"

    @property
    def id(self) -> str:
        """The id of the saved conversation; empty before the first save."""
        return self._saving.id

    @property
    def title(self) -> str:
        """The title or the name of the saved conversation."""
        return self._saving.title

    @property
    def store(self) -> Store | None:
        """The store, unless nothing is saved."""
        return self._saving.store

    @property
    def launch_data(self) -> dict[str, Any]:
        """The data that it takes to continue the chat in another process."""
        tools = {} if self.tools is None else self.tools.to_json()
        return {**tools, "model": self.session.model.name, "conversation": self.id}

    @property
    def conversation(self) -> Conversation:
        """The current conversation."""
        return self.session.conversation

    @property
    def name(self) -> str:
        """The id, or a generated name if the chat is not saved."""
        return self.id or self._unsaved_name

    @property
    def run(self) -> Run[Any] | None:
        """The run of the last reply."""
        return None if self.reply is None else self.reply.run

    @property
    def run_id(self) -> str:
        """The id of the saved run; empty if there is none."""
        return "" if self.saved_run is None else self.saved_run.id

    @property
    def is_answering(self) -> bool:
        """True while this process works on a reply."""
        return self.reply is not None and not self.reply.is_over

    @property
    def is_idle(self) -> bool:
        """True if the chat can be closed: it is saved and nobody listens."""
        return bool(self.id) and not self.is_answering and not self._listeners

    @property
    def state(self) -> str:
        """The state: `answering`, `elsewhere` if another process answers, `interrupted`, or `idle`."""
        if self.is_answering:
            return "answering"
        run = self.saved_run
        state = run.find_state(is_answered=self._is_answered) if run is not None and self.unfinished_run else ""
        if run is None or not state:
            return "idle"
        return "elsewhere" if state == "running" and not run.is_owned else "interrupted"

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions of the last reply."""
        return self.session.pending_questions if self.run is None or not self.is_answering else self.run.waiting

    @property
    def is_unanswered(self) -> bool:
        """True if the last message has no answer, not even a partial one."""
        turns = self.conversation.turns
        return bool(turns) and isinstance(turns[-1], UserTurn) and bool(turns[-1].visible_parts)

    @property
    def is_interrupted(self) -> bool:
        """True if the last answer was interrupted; `continue_answer` continues it."""
        return is_last_answer_interrupted(self.conversation)

    @property
    def missing_tools(self) -> list[str]:
        """The names of tools that open calls need and the session does not have."""
        there = {tool.name for tool in self.session.tools} | {"read_result" for _ in self.conversation.kept}
        return [*dict.fromkeys(call.name for call in self.conversation.open_calls if call.name not in there)]

    def subscribe(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call a function on each change; return the function that ends this."""
        self._listeners = [*self._listeners, listener]
        return lambda: setattr(self, "_listeners", [each for each in self._listeners if each is not listener])

    def tell(self, note: str) -> None:
        """Tell the user something."""
        self.notes = [*self.notes[-9:], note]
        self._tell(note)
        self._changed()

    def look(self) -> None:
        """Load what other processes did to the chat, unless a reply is worked on here."""
        with self._lock:
            if not self.is_answering:
                self._look()

    def _look(self) -> None:
        found = self._saving.look()
        if found is not None:
            if found.conversation is not None:
                self.session.conversation = found.conversation
                self._messages.clear()
                self.error = None
            self.accounts.load(found.entry, self.conversation)
            self._find_unfinished()
        elif self.unfinished_run or not self.id:
            # The process may have died before it saved the conversation; then the run has the message.
            self._find_unfinished()

    def _find_unfinished(self) -> None:
        if self.saved_run is not None and (self.id or self.saved_run.id):
            if self.id and not self.saved_run.is_owned:
                self.saved_run.move(self.id)
            is_unfinished = bool(self.saved_run.find_state(is_answered=self._is_answered))
            self.unfinished_run = self.saved_run.id if is_unfinished else ""

    @property
    def _is_answered(self) -> bool:
        """True if the last message has its answer; a client's calls are answered by the client.

        A conversation that was never saved lacks all that its run has.
        """
        conversation, is_missing = self.conversation, not self.id and not self.conversation.turns
        return self.is_client_kept or not (is_missing or conversation.open_calls or conversation.ready())

    # Messages

    def send(self, said: str | Sequence[UserPart], returns: Any = None, *, key: str = "") -> Reply:
        """Send a message. Closing the reply interrupts the answer; the message stays.

        An earlier message without an answer is removed, which is told. `key` is a name of the message.
        """
        parts = normalize_user_parts(said, None)
        mode = "chat" if returns is None else "vibe"

        with self._not_answering():
            self._drop_unanswered()
            self._messages.append(_SentMessage(parts, self.conversation.fork()))
            return self._begin(lambda: self.session.start(parts, mode=mode, returns=returns), key)

    def ask_again(self, *, key: str = "") -> Reply:
        """Undo the last message, and send it again."""
        with self._not_answering():
            message = self._find_last_message()
            if message is None:
                raise OptionError("there is no message to send again")
            self.undo()
            return self.send(message.parts, key=key)

    def continue_answer(self, *, key: str = "") -> Reply:
        """Continue where the answer was stopped or has failed; finished steps are not repeated."""
        if missing := self.missing_tools:
            self.load_tools()
            if missing := self.missing_tools:
                raise NotReadyError(f"open calls need tools that are not selected: {', '.join(missing)}")
        if self.unfinished_run:
            return self.resume_run(self.unfinished_run)
        prompt = [make_continue_note()] if self.is_interrupted else None
        return self._begin(lambda: self.session.start(prompt, mode="chat"), key)

    def resume_run(self, run: str, returns: Any = None) -> Reply:
        """Resume the last message of a saved run."""
        return self._begin(lambda: self.session.resume_in_background(run, returns=returns))

    def edit(self, position: int, said: str | Sequence[UserPart]) -> Reply:
        """Send another message instead of the one at a turn, in a copy, which becomes this chat.

        The new message keeps the images and documents of the old one.
        """
        with self._not_answering():
            turns = self.conversation.turns
            turn = turns[position] if 0 <= position < len(turns) else None
            if not isinstance(turn, UserTurn):
                raise OptionError(f"turn {position} is no message; the conversation has {len(turns)} turns")
            attached = [part for part in turn.parts if isinstance(part, MediaPart | OpaquePart)]
            self.fork(position)
            return self.send([*normalize_user_parts(said, None), *attached])

    def answer(self, question: Question | str, said: HumanAnswer) -> None:
        """Answer a question of the reply. After the last one, an answer that waits goes on as `reply`."""
        run = self.run
        if run is None:
            raise NotReadyError("no answer is in progress that asks something")
        before = None if self.is_answering else self.reply
        run.settle(question, said)
        if before is not None and run.state == "running":
            self._begin(lambda: run, since=before.next_number)

    def stop(self) -> None:
        """Stop the answer. What was said so far stays, and its questions are closed."""
        if self.reply is None or not self.is_answering:
            raise NotReadyError("this conversation has no answer in progress")
        self.reply.stop()

    def result(self) -> AIResult[Any]:
        """Return the result of the last reply, or raise why there is none."""
        assert self.reply is not None, "no message was sent"
        return self.reply.result()

    # Changes

    def undo(self, count: int = 1) -> list[str]:
        """Remove the last messages and their answers; return the texts of the messages, newest first."""
        taken: list[str] = []
        with self._not_answering():
            while len(taken) < count and (message := self._find_last_message()) is not None:
                if self._messages:
                    self._messages.pop()
                message.before.system = self.conversation.system
                self.session.conversation = message.before
                taken.append(UserTurn(message.parts).text)
            if taken:
                self.unfinished_run = ""
                self._save()
        self._changed()
        return taken

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
        with self._not_answering():
            old, self.unfinished_run, self.entry = self.id, "", None
            self._saving.begin_new()
            self._messages.clear()
            self.session.conversation = Conversation(self.conversation.system)
            if self.saved_run is not None:
                self.saved_run.move("")
        self._changed()
        return old

    def restore(self, before: Conversation) -> None:
        """Replace the conversation by an earlier state."""
        with self._lock:
            self._messages.clear()
            self.session.conversation = before
            self._save()

    def fork(self, turns: int | None = None) -> str:
        """Continue in a copy with the first `turns` turns, and return the id of the saved original.

        The id is empty if nothing is saved.
        """
        with self._not_answering():
            old = self.id
            if turns is not None:
                self._messages.clear()
                self.session.conversation = self.conversation.fork(turns)
                self.unfinished_run = ""
            if self._saving.fork(turns):
                self._look()
        self._changed()
        return old

    def compact(self, focus: str = "") -> CompactedChat:
        """Replace the older turns by a summary of the model.

        `focus` says what the summary is about. The full conversation is saved as a copy.
        """
        with self._not_answering():
            if self.conversation.open_calls:
                raise NotReadyError("the last answer has open calls: run them, or ask again")
            before = self.conversation.fork()
            result = self.session.compact(focus)
            spent = UsageChanged(result.run.usage, result.run.cost)
            self.usage_history.append(spent)
            self._messages.clear()
            full = self._keep_whole(before)
            self._save(spent)
        self._changed()
        return CompactedChat(result.value, full)

    def use_model(self, name: str) -> None:
        """Use another model from now on."""
        with self._not_answering():
            self.session.model = name
        self._changed()

    def use_tools(self, chosen: ToolSelection) -> None:
        """Offer these tools to the model from now on."""
        with self._not_answering():
            before, self.tools = self.tools, chosen
            self._are_tools_loaded = self.are_tools_kept = False
            try:
                self.load_tools()
            except BaseException:
                self.tools = before
                raise
            self.declare_tools()

    def declare_tools(self) -> None:
        """Declare the loaded tools in the conversation, and save the selection."""
        from antiphon.tools import Toolset

        with self._lock:
            conversation = self.conversation
            provided = [spec for spec in conversation.tools if spec.is_provider_defined]
            conversation.tools = [
                *provided,
                *(tool.spec for tool in self.session.tools if not isinstance(tool, Toolset)),
            ]
            if self.id:
                # A continued chat has the tools that were chosen last, even if no message followed.
                self.save_now()
        self._changed()

    @property
    def can_load_tools_later(self) -> bool:
        """True for a new chat if its tools decide nothing before the first message."""
        is_simple = self.tools is None or self.toolbox.is_built_in(self.tools)
        return self.entry is None and is_simple and self.model_reason != self.NO_KEY_REASON

    def load_tools(self) -> None:
        """Load the selected tools, unless they are loaded. Those that no longer exist are told and left out."""
        if self.tools is None or self._are_tools_loaded:
            return
        session, specs = self.session, self.conversation.tools if self.are_tools_kept else ()
        if self.are_tools_kept:
            self.tools = self.toolbox.keep_available(self.tools)
        session.tools = self.toolbox.load_tools(self.tools)
        self._are_tools_loaded = True
        if self.model_reason == self.NO_KEY_REASON and session.tools:
            # No model was chosen, and the smallest local one is bad at tools.
            session.model = LOCAL_TOOL_MODEL
        there = {*(tool.name for tool in session.tools), *_CHAT_TOOLS}
        if lost := [spec.name for spec in specs if spec.name not in there and not spec.is_provider_defined]:
            self.tell(f"tools of this conversation that are no longer available: {', '.join(lost)}")

    def set_system(self, text: str) -> None:
        """Replace the system text; instructions of the project stay."""
        from antiphon.chat.project_instructions import replace_own_text

        with self._not_answering():
            self.conversation.system = replace_own_text(self.conversation.system, text)
            self._save()
        self._changed()

    def rename(self, name: str) -> None:
        """Give the saved chat a name, which finds it like its id. An empty one takes its name away."""
        self._saving.rename(name)
        self._changed()

    def attach(self, source: str | bytes, name: str = "attachment") -> UserPart:
        """Return a file, a URL or bytes as a part of a message, in the form of the model's API."""
        from antiphon.chat.attachments import load_attachment_part

        return load_attachment_part(source, name, getattr(self.session.model, "target", None))

    def save_now(self, spent: UsageChanged | None = None) -> str:
        """Save the conversation now, and return its id; it is empty if nothing is saved.

        A failing store is told once and not used again.
        """
        with self._lock:
            before = self.id
            tools = None if self.tools is None else self.tools.to_json()
            try:
                self._saving.save(self.conversation, self.run_id, self.session.model.name, tools, spent)
            except StoreError as error:
                self.tell(f"{error}; from here on nothing is saved")
            if self.id != before and self.saved_run is not None:
                with suppress(AntiphonError):
                    self.saved_run.update_launch_data(conversation=self.id)
        return self.id

    # Work on a reply

    @contextmanager
    def _not_answering(self) -> Generator[None]:
        with self._lock:
            if self.is_answering:
                raise NotReadyError("the model is answering; stop the answer or wait until it ends")
            yield

    def _begin(self, start: Callable[[], Run[Any]], key: str = "", since: int = 0) -> Reply:
        with self._not_answering():
            if self.saved_run is not None:
                if self.id:
                    self.saved_run.move(self.id)
                self.saved_run.key = key
            self.error, self.live = None, self.live.next()
            reply = Reply(since, is_attended=self.is_attended)
            self.reply = reply
            work = threading.Thread(
                target=copy_context().run, args=(self._work, reply, start), name="antiphon-chat", daemon=True
            )
            work.start()
        self._changed()
        return reply

    def _work(self, reply: Reply, start: Callable[[], Run[Any]]) -> None:
        """Work on a reply until it ends."""
        result: AIResult[Any] | BaseException
        try:
            self.load_tools()
            run = reply.start(start)
            self.unfinished_run = ""
            self._follow(reply, run)
            result = run.wait()
        except ContextOverflow as error:
            self._take_back()
            result = ContentError(f"the message does not fit the model, so it was taken back: {error.text or error}")
        except BaseException as error:
            if not isinstance(error, AntiphonError):
                log.exception("a chat ended without an answer")
            result = error
        self.error = result if isinstance(result, BaseException) else None
        try:
            self._find_unfinished()
            self._saving.note_saved()
        except Exception:
            log.exception("the state of a chat cannot be read")
        finally:
            reply.finish(result)
            self._changed()

    async def _before_request(self, conversation: Conversation) -> None:
        if self.before_request is not None:
            self.before_request(conversation)
        if self.reply is not None and (run := current_run()) is not None:
            self.reply.listen(run)

    def _follow(self, reply: Reply, run: Run[Any]) -> None:
        spent: UsageChanged | None = None
        said: list[str] = []
        place, position, is_suspended = self.find_place(), 0, True
        try:
            while is_suspended:
                is_suspended = False
                for event in reply.read(position):
                    body, position = event.body, position + 1
                    if event.run == run.id:
                        _collect_text(said, event)
                        self.live = self.live.take(event, self.conversation)
                        is_suspended = isinstance(body, RunWaits)
                    if isinstance(body, RequestStarted) and event.run == run.id and body.number == 1:
                        place = self.find_place()
                        self.accounts.begin(place, self.run_id, body.model)
                    if isinstance(body, UsageChanged) and event.run == run.id:
                        spent = body
                    self._take(event, run)
                is_suspended = is_suspended and reply.wait_while_suspended()
        finally:
            run.wait(raises=False)
            self._add_interrupted_answer("".join(said))
            self.live = self.live.next()
            if reply.is_stopped and self.saved_run is not None:
                with suppress(AntiphonError):
                    self.saved_run.stop()
            if spent is not None:
                self.usage_history.append(spent)
                self.accounts.end(place, self.run_id, self.session.model.name, spent)
            self._save(spent)

    def _take(self, event: Event, run: Run[Any]) -> None:
        """Save what an event has changed, and tell the listeners."""
        match body := event.body:
            case RequestEnded() if body.cache is not None:
                self._saving.reports.append((self.session.model.name, body.cache))
            case QuestionAsked() | RequestStarted():
                # A person may take long to answer, so save before.
                self._save()
            case UsageChanged() if event.run == run.id:
                self._save()
            case Compacted() if self.is_client_kept:
                self._saving.keep_turns(body.before, len(self.conversation.turns))
            case Compacted():
                self._keep_whole(body.before, body.dropped)
            case _:
                pass
        self._changed()

    def _take_back(self) -> None:
        """Remove the last message, which does not fit the model."""
        message = self._find_last_message()
        if message is not None:
            if self._messages:
                self._messages.pop()
            message.before.system = self.conversation.system
            self.session.conversation = message.before
            self._save()

    def _add_interrupted_answer(self, said: str) -> None:
        """Add the partial text of an interrupted answer to the conversation, which is not resumed then."""
        if not said.strip() or self.conversation.open_calls:
            return
        add_interrupted_answer(self.conversation, said)
        if self.saved_run is not None:
            with suppress(AntiphonError):
                self.saved_run.update_launch_data(interrupted=said)
                if self.saved_run.find_state():
                    self.saved_run.stop()

    def _drop_unanswered(self) -> None:
        """Remove an unanswered message, because it would be sent with every later one."""
        is_unanswered = not self.is_client_kept and self.is_unanswered
        message = self._find_last_message() if is_unanswered else None
        # A message that was typed meanwhile stays, as the answer before it does.
        if message is not None and self.conversation.turns[-1].parts[-len(message.parts) :] == message.parts:
            self._take_back()
            said = " ".join(UserTurn(message.parts).text.split())
            shown = said if len(said) <= 60 else f"{said[:59]}…"
            self.tell(f"the previous message had no answer and is not sent: {shown}")

    def _find_last_message(self) -> _SentMessage | None:
        """Return the last message, of this process or of the continued conversation."""
        if self._messages:
            return self._messages[-1]
        turns = self.conversation.turns
        for place in range(len(turns) - 1, -1, -1):
            turn = turns[place]
            if isinstance(turn, UserTurn) and turn.visible_parts:
                return _SentMessage(turn.visible_parts, self.conversation.fork(place))
        return None

    def find_place(self) -> int:
        """Return the turn number of the last message."""
        turns = self.conversation.turns
        return max(
            (place for place, turn in enumerate(turns) if isinstance(turn, UserTurn) and turn.visible_parts), default=0
        )

    # Saving

    def _save(self, spent: UsageChanged | None = None) -> None:
        """Save the conversation once the model has answered."""
        if self.id or any(isinstance(each, AssistantTurn) for each in self.conversation.turns):
            self.save_now(spent)

    def _keep_whole(self, before: Conversation, dropped: int | None = None) -> str:
        """Save the conversation before a compaction as a copy, and return its id; it is empty if nothing is saved."""
        whole = self._saving.save_copy(before, self.session.model.name)
        if dropped is not None:
            left = "1 older turn was left out" if dropped == 1 else f"{dropped} older turns were left out"
            kept = f"; the full one is saved as {whole}" if whole else ""
            self.tell(
                f"the conversation no longer fits the model: {left if dropped else 'long results were cut'}{kept}"
            )
        return whole

    def _changed(self) -> None:
        for listener in self._listeners:
            # The event loop of a page that left may be closed.
            with suppress(RuntimeError):
                listener()


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
