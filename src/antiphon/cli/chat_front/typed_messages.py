"""Messages that are typed while the model works: queued, shown, delivered, or given back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from antiphon.chat.chat import Chat
from antiphon.chat.mentions import expand_mentions
from antiphon.chat.message_inbox import MessageInbox
from antiphon.conversation import Text, UserPart
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.cli.chat_front.busy_keyboard import BusyKeyboard
    from antiphon.cli.chat_front.line_editor import LineEditor


class TypedMessages:
    """The messages and the unfinished text that a person types while the model works."""

    def __init__(self, chat: Chat, reader: LineEditor, is_unicode: Callable[[], bool]) -> None:
        self._chat = chat
        self._is_unicode = is_unicode
        self._inbox = MessageInbox(self._make_parts)
        chat.before_request = self._inbox.deliver
        self.keyboard: BusyKeyboard | None = reader.make_busy_keyboard(self._inbox.add)

    @property
    def is_closed(self) -> bool:
        """Return whether Ctrl-D was pressed."""
        return self.keyboard is not None and self.keyboard.is_closed

    def list_lines(self) -> tuple[str, ...]:
        """Return a line for each message that waits, and one for the text that is being typed."""
        draft = self.keyboard.draft if self.keyboard is not None else ""
        sign = "›" if self._is_unicode() else ">"
        lines = [f"queued: {text}" for text in self._inbox.pending]
        return (*lines, f"{sign} {draft.replace(chr(10), ' ')}") if draft else tuple(lines)

    def take_delivered(self) -> list[str]:
        """Return the messages that the model got since the last call, as they are shown."""
        sign = "›" if self._is_unicode() else ">"
        return [f"{sign} {text}" for text in self._inbox.take_delivered()]

    def take_next(self) -> str | None:
        """Return the oldest message that waits. The others wait on."""
        first, *rest = self._inbox.take_pending() or [None]
        for text in rest:
            if text is not None:
                self._inbox.add(text)
        return first

    def take_draft(self) -> str:
        """Return the unfinished text."""
        return self.keyboard.take_draft() if self.keyboard is not None else ""

    def take_back(self) -> str:
        """Return all that the model did not get, as one text."""
        return "\n".join(filter(None, [*self._inbox.take_pending(), self.take_draft()]))

    def repeat_earlier(self) -> None:
        """Tell a resumed answer what the saved conversation shows that it was told."""
        self._inbox.repeat(self._chat.conversation)

    def _make_parts(self, text: str) -> Sequence[UserPart]:
        try:
            # Nobody can be asked here about a file that looks like a secret.
            return expand_mentions(text, lambda _: False, getattr(self._chat.session.model, "target", None)).parts
        except AntiphonError:
            return [Text(text)]
