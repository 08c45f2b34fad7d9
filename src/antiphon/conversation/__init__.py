"""The conversation model: messages, tool calls and tool results that stay paired and alternating.

This package knows no provider, no socket and no clock. Programs work with `Conversation`; turns and parts
are immutable values.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.conversation.compaction import Compaction, estimate_tokens
from antiphon.conversation.conversation import Conversation, Ready, RequestHead, RequestHeads
from antiphon.conversation.derived import DerivedKey, DerivedValues
from antiphon.conversation.from_messages import Item, assemble
from antiphon.conversation.parts import (
    AssistantPart,
    Chat,
    Citation,
    HostedTool,
    Image,
    Note,
    NoteKind,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Update,
    UserPart,
    is_valid_tool_name,
    normalize_call_id,
    shorten_call_id,
)
from antiphon.conversation.pending_questions import OpenQuestion
from antiphon.conversation.provider_state import ProviderState
from antiphon.conversation.repair import RepairAction
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn

__all__ = [
    "AssistantPart",
    "AssistantTurn",
    "Chat",
    "Citation",
    "Compaction",
    "Conversation",
    "DerivedKey",
    "DerivedValues",
    "HostedTool",
    "Image",
    "Item",
    "Note",
    "NoteKind",
    "OpaquePart",
    "OpenQuestion",
    "Origin",
    "ProviderPayload",
    "ProviderState",
    "Ready",
    "Reasoning",
    "RepairAction",
    "RequestHead",
    "RequestHeads",
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
    "is_valid_tool_name",
    "normalize_call_id",
    "shorten_call_id",
]

publish_exports(globals())
