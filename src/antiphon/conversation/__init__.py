"""The conversation model: messages, tool calls and tool results that stay paired and alternating.

This package knows no provider, no socket and no clock. Programs work with `Conversation`; turns and parts
are immutable values.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.conversation.compaction import Compaction, estimate_tokens
from antiphon.conversation.conversation import Conversation, Ready, RequestHead, RequestHeads
from antiphon.conversation.derived import DerivedKey, DerivedValues
from antiphon.conversation.from_messages import Item, assemble
from antiphon.conversation.media import Audio, Document, File, Image, Media, MediaPart, Video, make_media
from antiphon.conversation.parts import (
    AssistantPart,
    Chat,
    Citation,
    HostedTool,
    Note,
    NoteKind,
    OpaquePart,
    Reasoning,
    ResultPart,
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
from antiphon.conversation.provider_payload import Origin, ProviderPayload
from antiphon.conversation.provider_state import ProviderState
from antiphon.conversation.repair import RepairAction
from antiphon.conversation.turns import AssistantTurn, Turn, UserTurn

__all__ = [
    "AssistantPart",
    "AssistantTurn",
    "Audio",
    "Chat",
    "Citation",
    "Compaction",
    "Conversation",
    "DerivedKey",
    "DerivedValues",
    "Document",
    "File",
    "HostedTool",
    "Image",
    "Item",
    "Media",
    "MediaPart",
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
    "ResultPart",
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
    "Video",
    "assemble",
    "estimate_tokens",
    "is_valid_tool_name",
    "make_media",
    "normalize_call_id",
    "shorten_call_id",
]

publish_exports(globals())
