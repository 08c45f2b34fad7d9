"""The heart: messages, tool calls and tool results that stay paired and alternating.

This room knows no provider, no socket and no clock. `Conversation` is what programs work with; turns and parts are
values that never change.
"""

from antiphon._public import publish
from antiphon.conversation.assembly import Item, assemble
from antiphon.conversation.compact import Compaction, estimate_tokens
from antiphon.conversation.conversation import Conversation, Ready
from antiphon.conversation.parts import (
    AssistantPart,
    Chat,
    Foreign,
    Image,
    Native,
    Origin,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserPart,
    legal_id,
    short_id,
)
from antiphon.conversation.questions import OpenQuestion
from antiphon.conversation.repair import Change
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn

__all__ = [
    "AssistantPart",
    "AssistantTurn",
    "Change",
    "Chat",
    "Compaction",
    "Conversation",
    "Foreign",
    "Image",
    "Item",
    "Native",
    "OpenQuestion",
    "Origin",
    "Ready",
    "Reasoning",
    "Text",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Turn",
    "UserPart",
    "UserTurn",
    "assemble",
    "estimate_tokens",
    "legal_id",
    "short_id",
]

publish(globals())
