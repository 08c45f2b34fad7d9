"""Hosts of running tool calls: answers of people and models, and a display of progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.conversation import Conversation
    from antiphon.tools.canonical_call import CanonicalCall


@dataclass(frozen=True, slots=True)
class HostReply:
    """The answer of a model to a tool: the text, the model, and whether it ended at the limit of its length."""

    text: str
    model: str
    is_truncated: bool = False


class CallHost:
    """The host of a running call. This one has nobody to ask and shows nothing; sessions have hosts of their own.

    The `name` of a question is unique in its call, and the same when the call is repeated. With `can_wait`, a saved
    session is suspended if nobody is available, and the call is repeated once there is an answer.
    """

    @property
    def owner(self) -> object:
        """The run of the call; calls of one run ask the same people."""
        return None

    async def ask(self, name: str, text: str, *, can_wait: bool = False) -> str | None:
        """Return a person's answer to a question, or None if nobody answers."""
        del name, text, can_wait
        return None

    async def confirm(self, name: str, text: str, *, can_wait: bool = False) -> bool:
        """Return whether a person says yes to a question."""
        del name, text, can_wait
        return False

    async def approve(self, name: str, call: CanonicalCall, *, can_wait: bool = False) -> bool:
        """Return whether the policy or a person allows what a call describes."""
        del name, call, can_wait
        return False

    async def ask_model(self, name: str, conversation: Conversation, settings: Mapping[str, Any]) -> HostReply | None:
        """Return the answer of the session's model to a conversation, or None if there is no model."""
        del name, conversation, settings

    def report(self, done: float, total: float | None, message: str) -> None:
        """Show the progress of the call."""
        del done, total, message


#: The host of calls outside sessions.
NO_HOST = CallHost()
