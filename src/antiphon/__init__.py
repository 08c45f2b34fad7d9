"""Conversations with language models in which every tool call and its result stay paired.

This module exports the names that most programs need. Each is imported on first use, so `import antiphon`
is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.conversation import (
        Audio,
        Chat,
        Conversation,
        Document,
        File,
        Image,
        Reasoning,
        Text,
        ToolCall,
        ToolResult,
        ToolSpec,
        Video,
    )
    from antiphon.durable import Store
    from antiphon.effects import Limits
    from antiphon.errors import AntiphonError
    from antiphon.lang.runtime import install_importer, load, loads, run
    from antiphon.programs import map
    from antiphon.providers import Credential, Embeddings, Model, aembed, connect, embed
    from antiphon.results import Result
    from antiphon.session import Agent, AIResult, Fallback, ReturnError, Session
    from antiphon.tools import ToolContext
    from antiphon.tools.tool import tool
    from antiphon.wire import Reply

__version__ = "0.2.0"

_HOMES = {
    "Agent": "antiphon.session",
    "AIResult": "antiphon.session",
    "AntiphonError": "antiphon.errors",
    "Chat": "antiphon.conversation",
    "Conversation": "antiphon.conversation",
    "Credential": "antiphon.providers",
    "Audio": "antiphon.conversation",
    "Document": "antiphon.conversation",
    "File": "antiphon.conversation",
    "Fallback": "antiphon.session",
    "Image": "antiphon.conversation",
    "Video": "antiphon.conversation",
    "Model": "antiphon.providers",
    "Reasoning": "antiphon.conversation",
    "Limits": "antiphon.effects",
    "Reply": "antiphon.wire",
    "Result": "antiphon.results",
    "ReturnError": "antiphon.session",
    "Session": "antiphon.session",
    "Store": "antiphon.durable",
    "Text": "antiphon.conversation",
    "ToolCall": "antiphon.conversation",
    "ToolContext": "antiphon.tools",
    "ToolResult": "antiphon.conversation",
    "ToolSpec": "antiphon.conversation",
    "Embeddings": "antiphon.providers",
    "aembed": "antiphon.providers",
    "connect": "antiphon.providers",
    "embed": "antiphon.providers",
    "install_importer": "antiphon.lang.runtime",
    "load": "antiphon.lang.runtime",
    "loads": "antiphon.lang.runtime",
    "map": "antiphon.programs",
    "run": "antiphon.lang.runtime",
    "tool": "antiphon.tools",
}

__all__ = [
    "AIResult",
    "Agent",
    "AntiphonError",
    "Audio",
    "Chat",
    "Conversation",
    "Credential",
    "Document",
    "Embeddings",
    "Fallback",
    "File",
    "Image",
    "Limits",
    "Model",
    "Reasoning",
    "Reply",
    "Result",
    "ReturnError",
    "Session",
    "Store",
    "Text",
    "ToolCall",
    "ToolContext",
    "ToolResult",
    "ToolSpec",
    "Video",
    "aembed",
    "connect",
    "embed",
    "install_importer",
    "load",
    "loads",
    "map",
    "run",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from antiphon._base.did_you_mean import describe_missing_export

        raise AttributeError(describe_missing_export(name, __all__))
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
