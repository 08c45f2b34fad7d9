"""Chats on the page: the saved conversations of `antiphon chat`, started, continued and forked here."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

from antiphon.chat.chat_journal import get_journal_location
from antiphon.chat.images import IMAGE_TYPES, detect_image
from antiphon.chat.tool_selection import BUNDLE_NAMES
from antiphon.conversation import Image, Text, UserPart
from antiphon.errors import NotSavedError, OptionError
from antiphon.storage import ConversationEntry, Store
from antiphon.web.talking import Talking

if TYPE_CHECKING:
    from antiphon.config import Configuration
    from antiphon.durable import Journal, RunEntry

#: The most conversations in the list, and the most idle ones that stay open.
_LISTED, _OPEN = 100, 20
#: Limits of a message: images, bytes of an image, characters, and bytes of the request.
_IMAGES, _LARGEST, _LONGEST, LARGEST = 10, 5_000_000, 1_000_000, 40_000_000


class Chats:
    """The open chats, by name."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._place = get_journal_location(journal)
        self._store = Store(self._place)
        self._open: dict[str, Talking] = {}
        self._lock = threading.Lock()

    def listed(self) -> dict[str, Any]:
        """Return the conversations, and the models and tools for a new one."""
        from antiphon.chat.available_models import list_usable_models
        from antiphon.config import default_model

        settings = _settings()
        choice = default_model(settings)
        chats = [_line(each, self._open) for each in self._store.list(_LISTED)]
        saved = {each["id"] for each in chats}
        unsaved = [each.about() for id, each in reversed(self._open.items()) if id not in saved and not each.talk.id]
        models = [{"name": name, "where": where} for name, where in list_usable_models(settings)]
        return {"chats": [*unsaved, *chats], "models": models, "model": choice.model, "tools": list(BUNDLE_NAMES)}

    def begin(self, given: dict[str, Any]) -> Talking:
        """Start a conversation with its first message."""
        parts = _parts(given)
        chat = self._opened(None, _word(given, "model") or None, _tools(given))
        chat.talk.save_now()
        return self._say(chat, parts)

    def fork(self, id: str, turn: int, given: dict[str, Any]) -> Talking:
        """Start a conversation with the first turns of this one and another message.

        The message keeps the images of the one that it replaces.
        """
        chat = self.open(id)
        if not chat.talk.id:
            raise NotSavedError("this conversation is not saved and cannot be forked")
        if not 0 <= turn < len(chat.talk.conversation.turns):
            raise OptionError(
                f"turn {turn} does not exist; the conversation has {len(chat.talk.conversation.turns)} turns"
            )
        kept = [each for each in chat.talk.conversation.turns[turn].parts if isinstance(each, Image)]
        parts = _parts(given, kept)
        model = _word(given, "model") or chat.talk.session.model.name
        other = self._opened(self._store.fork(chat.talk.id, turn), model, chat.tools)
        return self._say(other, parts)

    def say(self, id: str, given: dict[str, Any]) -> Talking:
        """Send a message in a conversation."""
        chat = self.open(id)
        chat.say(_parts(given))
        return chat

    def change(self, id: str, given: dict[str, Any]) -> Talking:
        """Change the model or the tools of a conversation."""
        chat = self.open(id)
        if model := _word(given, "model"):
            chat.choose(model)
        if "tools" in given:
            chat.use_tools(_tools(given))
        return chat

    def open(self, id: str) -> Talking:
        """Return a conversation by name; open it if it is only saved."""
        with self._lock:
            chat = self._open.get(id)
            if chat is not None and chat.id == id:
                self._open[id] = self._open.pop(id)
                return chat
            if self._store.find(id).id != id:
                raise NotSavedError(f"conversation {id[:60]!r} is not saved")
        return self._kept(self._opened(id, None, "none"))

    def go_on(self, run: RunEntry) -> bool:
        """Resume a run that answers in one of our conversations; return False if there is none."""
        id = run.begun_as.get("conversation")
        if not isinstance(id, str) or not id:
            return False
        try:
            chat = self.open(id)
        except NotSavedError:
            return False
        if chat.talk.unfinished_run != run.id:
            return False
        chat.go_on()
        return True

    def _opened(self, id: str | None, model: str | None, tools: str) -> Talking:
        from antiphon.chat.startup import ChatOptions, open_chat
        from antiphon.chat.tool_selection import ToolRegistry

        stack, settings, about = ExitStack(), _settings(), {"tools": tools}
        told: list[str] = []
        made: list[Talking] = []

        def tell(note: str) -> None:
            (made[0].tell if made else told.append)(note)

        wishes = ChatOptions(
            "chat", model, resume=id, journal=True, about=about, location=self._place, has_inbox=True
        )  # fmt: skip
        try:
            opened = open_chat(wishes, settings, stack, tell)
        except BaseException:
            stack.close()
            raise
        made.append(Talking(opened, ToolRegistry(settings, stack, tell), about, stack))
        made[0].notes += told
        return made[0]

    def _say(self, chat: Talking, parts: list[UserPart]) -> Talking:
        self._kept(chat)
        chat.say(parts)
        return chat

    def _kept(self, chat: Talking) -> Talking:
        """Keep a conversation open, and close the idle ones that were used least recently."""
        with self._lock:
            there = self._open.get(chat.id)
            if there is not None and there.id == chat.id:
                if there is not chat:
                    # Another request opened it at the same moment.
                    chat.close()
                return there
            self._open[chat.id] = chat
            idle = [id for id, each in self._open.items() if each.is_idle]
            for id in idle[: max(0, len(self._open) - _OPEN)]:
                self._open.pop(id).close()
        return chat


def _settings() -> Configuration:
    from antiphon.config import load_configuration

    return load_configuration()


def _line(entry: ConversationEntry, there: dict[str, Talking]) -> dict[str, Any]:
    is_answering = entry.id in there and there[entry.id].is_answering
    model = entry.models[-1] if entry.models else ""
    told = {"id": entry.id, "title": entry.title, "model": model, "turns": entry.turns, "cost": entry.cost}
    return {**told, "updated": entry.updated.timestamp(), "isAnswering": is_answering}


# Parsing messages


def _parts(given: dict[str, Any], kept: Sequence[Image] = ()) -> list[UserPart]:
    text, images = given.get("text", ""), given.get("images", [])
    if not isinstance(text, str) or not isinstance(images, list):
        raise OptionError("`text` must be a string and `images` a list")
    if len(text) > _LONGEST:
        raise OptionError(f"a message can have at most {_LONGEST:,} characters")
    found = [*kept, *(_image(each) for each in cast(list[Any], images))]
    if len(found) > _IMAGES:
        raise OptionError(f"a message can have at most {_IMAGES} images, not {len(found)}")
    if not text.strip() and not found:
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


def _tools(given: dict[str, Any]) -> str:
    name = given.get("tools", "none")
    if name not in BUNDLE_NAMES:
        raise OptionError(f"`tools` must be one of {', '.join(BUNDLE_NAMES)}, not {str(name)[:60]!r}")
    return name


def _word(given: dict[str, Any], name: str) -> str:
    word = given.get(name, "")
    if not isinstance(word, str) or len(word) > 200:
        raise OptionError(f"`{name}` must be a short string")
    return word.strip()
