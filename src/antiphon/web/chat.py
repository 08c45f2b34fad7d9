"""Chats on the page: the saved conversations of `antiphon chat`, started, continued and forked here."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from antiphon.chat.chat import Chat
from antiphon.chat.chat_run import get_journal_location
from antiphon.chat.image_types import IMAGE_TYPES, detect_image
from antiphon.chat.service import ChatOptions, ChatService
from antiphon.chat.tool_selection import BUNDLE_NAMES, ToolSelection
from antiphon.conversation import Image, Text, UserPart
from antiphon.errors import NotSavedError, OptionError
from antiphon.session import Cancelled, NoAnswer
from antiphon.storage import ConversationEntry, Store

if TYPE_CHECKING:
    from antiphon.durable import Journal, RunEntry

#: The most conversations in the list.
_LISTED = 100
#: Limits of a message: images, bytes of an image, characters, and bytes of the request.
_IMAGES, _LARGEST, _LONGEST, LARGEST = 10, 5_000_000, 1_000_000, 40_000_000


class Chats:
    """The chats of the page, by name. One that is not saved has a generated name."""

    def __init__(self, journal: Journal) -> None:
        self._place = get_journal_location(journal)
        self._store = Store(self._place)
        self._service = ChatService()

    def listed(self) -> dict[str, Any]:
        """Return the conversations, and the models and tools for a new one."""
        from antiphon.chat.available_models import list_usable_models
        from antiphon.config import default_model, load_configuration

        settings = load_configuration()
        choice, kept = default_model(settings), self._service.kept
        chats = [_line(each, kept.get(each.id)) for each in self._store.list(_LISTED)]
        unsaved = [chat_json(chat) for chat in reversed([*kept.values()]) if not chat.id]
        models = [{"name": name, "where": where} for name, where in list_usable_models(settings)]
        return {"chats": [*unsaved, *chats], "models": models, "model": choice.model, "tools": list(BUNDLE_NAMES)}

    def begin(self, given: dict[str, Any]) -> Chat:
        """Start a conversation with its first message."""
        parts = _parts(given)
        chat = self._open(ChatOptions(model=_word(given, "model") or None, tools=_tools(given)))
        chat.save_now()
        self._service.keep(chat).send(parts)
        return chat

    def fork(self, id: str, turn: int, given: dict[str, Any]) -> Chat:
        """Send another message instead of the one at a turn, in a copy of the conversation."""
        chat = self.open(id)
        if not chat.id:
            raise NotSavedError("this conversation is not saved and cannot be forked")
        parts = _parts(given, are_images_kept=True)
        model = _word(given, "model") or chat.session.model.name
        other = self._open(ChatOptions(model=model, resume=chat.id, tools=chat.tools))
        try:
            other.edit(turn, parts)
        except BaseException:
            other.close()
            raise
        return self._service.keep(other)

    def copy(self, id: str) -> Chat:
        """Open a copy of a conversation."""
        chat = self.open(id)
        if not chat.id:
            raise NotSavedError("this conversation is not saved and cannot be copied")
        return self._service.keep(self._open(ChatOptions(resume=chat.id, fork=True)))

    def send(self, id: str, given: dict[str, Any]) -> Chat:
        """Send a message in a conversation."""
        chat = self.open(id)
        chat.look()
        chat.send(_parts(given))
        return chat

    def change(self, id: str, given: dict[str, Any]) -> Chat:
        """Change the model or the tools of a conversation."""
        chat = self.open(id)
        if model := _word(given, "model"):
            chat.use_model(model)
        if "tools" in given:
            chat.use_tools(_tools(given))
        return chat

    def open(self, id: str) -> Chat:
        """Return a conversation by name; open it if it is only saved."""
        if (chat := self._service.find(id)) is not None:
            return chat
        if self._store.find(id).id != id:
            raise NotSavedError(f"conversation {id[:60]!r} is not saved")
        return self._service.keep(self._open(ChatOptions(resume=id)))

    def go_on(self, run: RunEntry) -> bool:
        """Resume a run that answers in one of our conversations; return False if there is none."""
        id = run.begun_as.get("conversation")
        if not isinstance(id, str) or not id:
            return False
        try:
            chat = self.open(id)
        except NotSavedError:
            return False
        chat.look()
        if chat.unfinished_run != run.id:
            return False
        chat.continue_answer()
        return True

    def _open(self, options: ChatOptions) -> Chat:
        return self._service.open(replace(options, location=self._place, has_inbox=True, is_attended=False))


def chat_json(chat: Chat) -> dict[str, Any]:
    """Return the state of a chat that the page shows around the turns."""
    state = chat.state
    return {
        "id": chat.name,
        "title": chat.title,
        "model": chat.session.model.name,
        "tools": chat.tools.bundle if chat.tools else "none",
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


def _error_json(chat: Chat) -> dict[str, str]:
    error = chat.error
    if error is None:
        return {}
    is_stopped = isinstance(error, Cancelled) or (chat.reply is not None and chat.reply.is_stopped)
    kind = "stopped" if is_stopped else error.run.outcome if isinstance(error, NoAnswer) else "failed"
    return {"kind": kind, "text": str(error) or type(error).__name__}


def _line(entry: ConversationEntry, chat: Chat | None) -> dict[str, Any]:
    model = entry.models[-1] if entry.models else ""
    told = {"id": entry.id, "title": entry.title, "model": model, "turns": entry.turns, "cost": entry.cost}
    return {**told, "updated": entry.updated.timestamp(), "isAnswering": chat is not None and chat.is_answering}


# Parsing messages


def _parts(given: dict[str, Any], *, are_images_kept: bool = False) -> list[UserPart]:
    text, images = given.get("text", ""), given.get("images", [])
    if not isinstance(text, str) or not isinstance(images, list):
        raise OptionError("`text` must be a string and `images` a list")
    if len(text) > _LONGEST:
        raise OptionError(f"a message can have at most {_LONGEST:,} characters")
    found = [_image(each) for each in cast(list[Any], images)]
    if len(found) > _IMAGES:
        raise OptionError(f"a message can have at most {_IMAGES} images, not {len(found)}")
    if not text.strip() and not found and not are_images_kept:
        raise OptionError("the message is empty; add text or an image")
    return [*([Text(text)] if text.strip() else []), *found]


def _image(given: Any) -> Image:
    """Return an image whose content has the declared type."""
    match given:
        case {"type": str(kind), "data": str(data)} if len(data) <= _LARGEST * 4 // 3 + 4:
            try:
                content = base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                raise OptionError("the `data` of an image must be base64") from None
        case {"type": str(), "data": str()}:
            raise OptionError(f"an image can have at most {_LARGEST // 1_000_000} MB")
        case _:
            raise OptionError("an image must have the strings `type` and `data`")
    found = detect_image(content)
    if found is None or found.media_type != kind:
        raise OptionError(f"the image is not {kind[:60]!r}, or of none of the types {', '.join(IMAGE_TYPES)}")
    return found


def _tools(given: dict[str, Any]) -> ToolSelection:
    name = given.get("tools", "none")
    if name not in BUNDLE_NAMES:
        raise OptionError(f"`tools` must be one of {', '.join(BUNDLE_NAMES)}, not {str(name)[:60]!r}")
    return ToolSelection(name)


def _word(given: dict[str, Any], name: str) -> str:
    word = given.get(name, "")
    if not isinstance(word, str) or len(word) > 200:
        raise OptionError(f"`{name}` must be a short string")
    return word.strip()
