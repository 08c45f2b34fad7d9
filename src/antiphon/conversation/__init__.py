"""The heart: messages, tool calls and tool results that stay paired and alternating.

This room knows no provider, no socket and no clock. `Conversation` is what programs work with; turns and parts are
values that never change.
"""

from antiphon._public import publish
from antiphon.conversation.assembly import Item, assemble
from antiphon.conversation.compact import Compaction, estimate_tokens
from antiphon.conversation.conversation import Conversation, Head, Ready
from antiphon.conversation.derived import DerivedKey, DerivedValues
from antiphon.conversation.parts import (
    AssistantPart,
    Chat,
    Citation,
    Foreign,
    HostedTool,
    Image,
    Native,
    Note,
    NoteKind,
    Origin,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Update,
    UserPart,
    is_legal_name,
    legal_id,
    short_id,
)
from antiphon.conversation.provider_state import ProviderState
from antiphon.conversation.questions import OpenQuestion
from antiphon.conversation.repair import Change
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn

__all__ = [
    "AssistantPart",
    "AssistantTurn",
    "Change",
    "Chat",
    "Citation",
    "Compaction",
    "Conversation",
    "DerivedKey",
    "DerivedValues",
    "Foreign",
    "Head",
    "HostedTool",
    "Image",
    "Item",
    "Native",
    "Note",
    "NoteKind",
    "OpenQuestion",
    "Origin",
    "ProviderState",
    "Ready",
    "Reasoning",
    "ServerCall",
    "ServerResult",
    "Text",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Turn",
    "Update",
    "UserPart",
    "UserTurn",
    "assemble",
    "estimate_tokens",
    "is_legal_name",
    "legal_id",
    "short_id",
]

publish(globals())
