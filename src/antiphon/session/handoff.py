"""Hand-offs: a call of one agent after which the conversation goes on with another one.

A note in the conversation states the path of hand-offs so far. So a conversation that is undone, forked or loaded
goes on with the agent that it had at that point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from antiphon.conversation import AssistantTurn, Conversation, DerivedKey, Note, Turn, UserTurn
from antiphon.effects.budget import Limits
from antiphon.errors import OptionError
from antiphon.session.settings import SessionSettings
from antiphon.tools import Tool

if TYPE_CHECKING:
    from antiphon.session.agent import Agent

_PATH = re.compile(r"The conversation was handed over: `([^`]+)`")


@dataclass(slots=True)
class _FoundHandoffs:
    """The path of hand-offs that the settled turns of a conversation state."""

    count: int = 0
    last: Turn | None = None
    names: list[str] = field(default_factory=list[str])


_HANDOFFS = DerivedKey[_FoundHandoffs]("hand-offs", grows=True)


@dataclass(frozen=True, slots=True)
class Handoff:
    """The function of a hand-off tool. The loop of the run recognizes it and goes on with the agent."""

    agent: Agent[Any, Any] | Callable[[], Agent[Any, Any]] = field(repr=False)
    limits: Limits | None = None

    def __call__(self, reason: Annotated[str, "Why this agent continues, and what it should know."] = "") -> str:
        """Return the result that the model reads; the reason is in the arguments of the call."""
        del reason
        return "The conversation continues with this agent."

    def change_settings(self, settings: SessionSettings) -> SessionSettings:
        """Return the settings with the model, the tools and the system text of the agent."""
        get = self.agent
        return (get() if callable(get) else get).settings_for_handoff(settings)


def make_name(name: str) -> str:
    """Return the name of an agent as a part of the name of a tool."""
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()[:40] or "agent"


def find_handoff(conversation: Conversation, tools: Mapping[str, Tool]) -> str:
    """Return the name of a hand-off that was called last and is not followed yet; empty if there is none."""
    for turn in reversed(conversation.turns):
        if isinstance(turn, AssistantTurn):
            done = {each.call_id for each in turn.results if not each.is_error}
            return next((call.name for call in turn.calls if call.id in done and is_handoff(tools.get(call.name))), "")
        if any(isinstance(part, Note) and part.kind == "handoff" for part in turn.parts):
            return ""
    return ""


def is_handoff(tool: Tool | None) -> bool:
    """Return whether a tool hands the conversation over."""
    return tool is not None and isinstance(tool.function, Handoff)


def get_handoff(settings: SessionSettings, name: str) -> Handoff:
    """Return a hand-off of the settings by the name of its tool. Raise an OptionError if it is none."""
    tool = settings.tools.get(name)
    if tool is None or not isinstance(tool.function, Handoff):
        raise OptionError(
            f"the conversation was handed over with `{name}`, which is not among `tools`; add that hand-off to `tools`"
        )
    return tool.function


def list_handoffs(conversation: Conversation) -> list[str]:
    """Return the names of the hand-offs that led to the current agent. Turns that stay are looked at once."""
    turns = conversation.turns
    settled = max(len(turns) - 1, 0)
    known = conversation.derived.get(_HANDOFFS)
    if known is None or known.count > settled or (known.count and turns[known.count - 1] is not known.last):
        known = conversation.derived.set(_HANDOFFS, _FoundHandoffs())
    for turn in turns[known.count : settled]:
        if isinstance(turn, UserTurn):
            known.names = _read_path(turn) or known.names
        known.count, known.last = known.count + 1, turn
    last = turns[-1] if turns else None
    return list((_read_path(last) if isinstance(last, UserTurn) else None) or known.names)


def _read_path(turn: UserTurn) -> list[str] | None:
    """Return the path of hand-offs that a turn states last."""
    for part in reversed(turn.parts):
        if isinstance(part, Note) and part.kind == "handoff" and (found := _PATH.match(part.text)):
            return found[1].split("/")
    return None


def make_handoff_note(names: Sequence[str]) -> Note:
    """Return the note that states the path of hand-offs."""
    return Note(
        f"The conversation was handed over: `{'/'.join(names)}`. Continue it with your instructions.", "handoff"
    )


def follow_handoffs(settings: SessionSettings, conversation: Conversation) -> SessionSettings:
    """Return the settings of the agent that a conversation was handed to."""
    for name in list_handoffs(conversation):
        settings = get_handoff(settings, name).change_settings(settings)
    return settings


def restate_handoffs(names: list[str], conversation: Conversation) -> None:
    """Repeat the note about hand-offs if compaction has removed it."""
    if names and list_handoffs(conversation) != names:
        conversation.add_user(make_handoff_note(names))
