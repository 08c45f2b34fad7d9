"""Chats on the page: sessions with a transcript, started, continued, changed and copied here."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from antiphon.chat.chat import Chat
from antiphon.chat.file_undo import FileUndo, UndoneMessages
from antiphon.chat.project_instructions import remove_instructions
from antiphon.chat.saved_chat_run import get_journal_location
from antiphon.chat.service import ChatOptions, ChatService
from antiphon.chat.tool_selection import BUNDLE_NAMES, ToolSelection
from antiphon.conversation import Text, UserPart
from antiphon.durable import Store
from antiphon.errors import ConfigurationError, NotReadyError, NotSavedError, OptionError
from antiphon.session import Cancelled, NoAnswer
from antiphon.storage.sessions import find_summary
from antiphon.views.session_words import MESSAGE_KINDS
from antiphon.web.steps import one_line_json
from antiphon.web.stored import session_json

if TYPE_CHECKING:
    from antiphon.durable import Journal, RunEntry

#: Limits of a message: its files, and its characters.
_MAX_FILES, _MAX_TEXT = 10, 1_000_000
_MAX_TITLE, _MAX_NAME = 1_000, 200
#: How many of the newest runs are looked at for the messages of a chat.
_MAX_RUNS = 2_000


class Chats:
    """The chats of the page, by name. One that is not saved has a generated name."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._place = get_journal_location(journal)
        self._store = Store(self._place)
        self._service = ChatService()
        self._undo: WeakKeyDictionary[Chat, FileUndo] = WeakKeyDictionary()

    def list_unsaved(self) -> list[dict[str, Any]]:
        """Return the chats that are not saved, newest first."""
        return [unsaved_chat_json(chat) for chat in reversed([*self._service.kept.values()]) if not chat.id]

    def options(self) -> dict[str, Any]:
        """Return the models and tools for a new chat."""
        from antiphon.chat.available_models import list_usable_models
        from antiphon.config import default_model, load_configuration

        settings = load_configuration()
        models = [{"name": name, "where": where} for name, where in list_usable_models(settings)]
        return {"models": models, "model": default_model(settings).model, "tools": list(BUNDLE_NAMES)}

    # Opening

    def begin(self, given: Mapping[str, Any]) -> Chat:
        """Start a chat with its first message."""
        _check_message(given)
        options = ChatOptions(model=_string(given, "model", _MAX_NAME).strip() or None, tools=_tools(given))
        chat = self._open(replace(options, system=_string(given, "system") or None))
        try:
            parts = _parts(chat, given)
            chat.save_now()
        except BaseException:
            chat.close()
            raise
        self._send(self._service.keep(chat), lambda: chat.send(parts))
        return chat

    def open(self, id: str) -> Chat:
        """Return a chat by name, as other processes left it; open it if it is only saved."""
        chat = self._service.find(id)
        if chat is None:
            if self._store.find(id).id != id:
                raise NotSavedError(f"session {id[:60]!r} has no transcript")
            chat = self._service.keep(self._open_saved(id))
        chat.look()
        return chat

    def _open_saved(self, id: str) -> Chat:
        """Open a saved chat, with the default model if its own cannot be used: it can still be read."""
        try:
            return self._open(ChatOptions(resume=id))
        except ConfigurationError as error:
            from antiphon.config import default_model, load_configuration

            model = default_model(load_configuration()).model
            chat = self._open(ChatOptions(resume=id, model=model))
            chat.tell(f"{error}; from here on this chat uses {model}")
            return chat

    def has(self, id: str) -> bool:
        """Return whether a chat is open under this name."""
        return self._service.find(id) is not None

    def resume(self, run: RunEntry) -> bool:
        """Resume a run that answers in one of our chats; return False if there is none."""
        try:
            chat = self.open(str(run.begun_as.get("conversation") or run.id))
        except NotSavedError:
            return False
        if chat.unfinished_run != run.id:
            return False
        self.continue_(chat, {})
        return True

    def _open(self, options: ChatOptions) -> Chat:
        return self._service.open(replace(options, location=self._place, has_inbox=True, is_attended=False))

    # Messages

    def send(self, chat: Chat, given: Mapping[str, Any]) -> Chat:
        """Send a message."""
        _check_message(given)
        parts = _parts(chat, given)
        self._send(chat, lambda: chat.send(parts))
        return chat

    def edit(self, chat: Chat, given: Mapping[str, Any]) -> Chat:
        """Send another message instead of the one at a turn, in a copy of the chat."""
        _check_message(given, is_empty_allowed=True)
        turn = _number(given, "turn")
        copy = self._copy(chat)
        try:
            parts = _parts(copy, given)
            self._send(copy, lambda: copy.edit(turn, parts))
        except BaseException:
            copy.close()
            raise
        return self._service.keep(copy)

    def retry(self, chat: Chat, _: Mapping[str, Any]) -> Chat:
        """Ask for another answer to the last message."""
        self._send(chat, chat.ask_again, replaced=1)
        return chat

    def continue_(self, chat: Chat, _: Mapping[str, Any]) -> Chat:
        """Continue an answer that was stopped or has failed."""
        with self._files(chat).recording():
            chat.continue_answer()
        return chat

    def stop(self, chat: Chat, _: Mapping[str, Any]) -> Chat:
        """Stop the answer; what was said stays."""
        chat.stop()
        return chat

    def undo(self, chat: Chat, given: Mapping[str, Any]) -> dict[str, Any]:
        """Remove the last messages, and restore the files that their calls changed."""
        undone = self._files(chat).undo(_number(given, "count", 1))
        if not undone.texts:
            raise OptionError("there is no message to remove")
        return {**chat_json(chat), "undone": _undone_json(undone)}

    def fork(self, chat: Chat, given: Mapping[str, Any]) -> Chat:
        """Open a copy of a chat, with its first `at` turns or all."""
        at = _number(given, "at") if "at" in given else None
        return self._service.keep(self._copy(chat, fork=True, fork_at=at))

    def _copy(self, chat: Chat, **options: Any) -> Chat:
        """Open a saved chat a second time, with its model and tools."""
        if not chat.id:
            raise NotSavedError("this chat is not saved and cannot be copied")
        return self._open(ChatOptions(model=chat.session.model.name, resume=chat.id, tools=chat.tools, **options))

    def _send(self, chat: Chat, send: Callable[[], object], *, replaced: int = 0) -> None:
        files = self._files(chat)
        with files.recording():
            send()
        files.note_message(replaced=replaced)

    def _files(self, chat: Chat) -> FileUndo:
        if (files := self._undo.get(chat)) is None:
            files = self._undo[chat] = FileUndo(chat)
        return files

    # Changes

    def compact(self, chat: Chat, given: Mapping[str, Any]) -> dict[str, Any]:
        """Replace the older turns by a summary."""
        done = chat.compact(_string(given, "focus"))
        return {**chat_json(chat), "compacted": {"turns": done.turns, "full": done.full_id}}

    def set_options(self, chat: Chat, given: Mapping[str, Any]) -> Chat:
        """Change the model, the tools or the system text."""
        if model := _string(given, "model", _MAX_NAME).strip():
            chat.use_model(model)
        if "tools" in given:
            chat.use_tools(_tools(given))
        if "system" in given:
            chat.set_system(_string(given, "system"))
        return chat

    def rename(self, chat: Chat, given: Mapping[str, Any]) -> Chat:
        """Give a chat a name, which is shown as its title."""
        name = _string(given, "title", _MAX_TITLE)
        if not name.strip():
            raise OptionError("a title needs a word")
        chat.rename(name)
        return chat

    def delete(self, id: str) -> None:
        """Close a session if it is an open chat, and delete what is saved of it."""
        chat = self._service.find(id)
        if chat is not None and chat.is_answering:
            raise NotReadyError("the model is answering; stop the answer first")
        self._service.drop(id)
        known = find_summary(self._journal.database, id)
        if known is not None and known.revision is not None:
            if messages := self._list_message_runs(id):
                self._journal.remove(*messages)
            self._store.remove(id)
        elif known is not None:
            self._journal.remove(id)
        elif chat is None:
            raise NotSavedError(f"session {id[:60]!r} does not exist")

    def _list_message_runs(self, id: str) -> list[str]:
        """Return the runs of the messages of a chat: in older files, each message has one of its own."""
        runs = self._journal.list_runs(limit=_MAX_RUNS)
        owned = (each for each in runs if each.kind in MESSAGE_KINDS and each.id != id)
        return [each.id for each in owned if each.begun_as.get("conversation") == id]


def chat_json(chat: Chat) -> dict[str, Any]:
    """Return the state of a chat that the page shows around the turns."""
    state = chat.state
    return {
        "id": chat.name,
        "title": chat.title,
        "model": chat.session.model.name,
        "tools": chat.tools.bundle if chat.tools else "none",
        "system": remove_instructions(chat.conversation.system),
        "state": state,
        "run": chat.run_id if state == "answering" else chat.unfinished_run,
        "error": _error_json(chat),
        "notes": chat.notes,
        "isSaved": bool(chat.id),
        # It changes with each answer, so that pages hear of the end of one that took no time.
        "number": chat.live.number,
        "isInterrupted": state != "answering" and chat.is_interrupted,
        "isUnanswered": state == "idle" and chat.is_unanswered,
    }


def chat_session_json(journal: Journal, chat: Chat) -> dict[str, Any]:
    """Return the session of a chat as JSON."""
    return session_json(journal, chat.id) if chat.id else unsaved_chat_json(chat)


def unsaved_chat_json(chat: Chat) -> dict[str, Any]:
    """Return the session of a chat that is not saved, which lasts as long as the server."""
    usage = chat.usage_history
    known = [each.cost for each in usage if each.cost is not None]
    return {
        "id": chat.name,
        "title": chat.title,
        "kind": "chat",
        "state": "running" if chat.is_answering else "done",
        "models": [chat.session.model.name],
        "steps": 0,
        "cost": sum(known) if known else None,
        "unpriced": len(usage) - len(known),
        "hasTranscript": True,
        "isUnsaved": True,
    }


def _error_json(chat: Chat) -> dict[str, str]:
    error = chat.error
    if error is None:
        return {}
    is_stopped = isinstance(error, Cancelled) or (chat.reply is not None and chat.reply.is_stopped)
    kind = "stopped" if is_stopped else error.run.outcome if isinstance(error, NoAnswer) else "failed"
    return {"kind": kind, "text": str(error) or type(error).__name__}


def _undone_json(undone: UndoneMessages) -> dict[str, Any]:
    calls = [f"{each.name}({one_line_json(each.arguments)})" for each in undone.lasting_calls]
    files = undone.files
    return {
        "messages": list(undone.texts),
        "restored": files.restored,
        "removed": files.removed,
        "kept": [list(each) for each in files.kept],
        "lasting": calls,
    }


# Parsing requests


def _check_message(given: Mapping[str, Any], *, is_empty_allowed: bool = False) -> None:
    text, files = _string(given, "text", _MAX_TEXT), given.get("files", [])
    if not isinstance(files, list):
        raise OptionError("`files` must be a list")
    if len(cast(list[Any], files)) > _MAX_FILES:
        raise OptionError(f"a message can have at most {_MAX_FILES} files, not {len(cast(list[Any], files))}")
    if not text.strip() and not files and not is_empty_allowed:
        raise OptionError("the message is empty; add text or a file")


def _parts(chat: Chat, given: Mapping[str, Any]) -> list[UserPart]:
    text = given.get("text", "")
    attached = [_attach(chat, each) for each in given.get("files", [])]
    return [*([Text(text)] if text.strip() else []), *attached]


def _attach(chat: Chat, given: Any) -> UserPart:
    match given:
        case {"name": str(name), "data": str(data)}:
            try:
                content = base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                raise OptionError("the `data` of a file must be base64") from None
        case _:
            raise OptionError("a file must have the strings `name` and `data`")
    return chat.attach(content, name[:_MAX_NAME] or "file")


def _tools(given: Mapping[str, Any]) -> ToolSelection:
    name = given.get("tools", "none")
    if name not in BUNDLE_NAMES:
        raise OptionError(f"`tools` must be one of {', '.join(BUNDLE_NAMES)}, not {str(name)[:60]!r}")
    return ToolSelection(name)


def _string(given: Mapping[str, Any], name: str, longest: int = _MAX_TEXT) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise OptionError(f"`{name}` must be a string")
    if len(value) > longest:
        raise OptionError(f"`{name}` can have at most {longest:,} characters")
    return value


def _number(given: Mapping[str, Any], name: str, otherwise: int | None = None) -> int:
    value = given.get(name, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**9:
        raise OptionError(f"`{name}` must be a number, not {str(value)[:60]!r}")
    return value
