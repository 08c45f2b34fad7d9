"""Documented properties of Claude models and of the Messages API; all read on 2026-11-18.

Source keys: A-mig55, A-new55 (Sonnet 5.5 guides), A-f52, A-f51, A-h55, A-o5, A-s5 (model pages), A-tt (thinking
troubleshooting), A-pt (preserved thinking), A-mid (mid-conversation system messages), A-ver (version 2026-10-21),
A-sdk (anthropic SDK types), A-skill (structured outputs), py (probes of pydantic-ai).
"""

from __future__ import annotations

import re
from typing import Any

ALL_EFFORTS = ("low", "medium", "high", "xhigh", "max")
VERSIONS = ("2023-06-01", "2026-10-21")

# A-f52, A-h55, A-pt, A-f51: thinking cannot be turned off, tools cannot be forced, blocks are bound to their prefix.
_ALWAYS = {
    "max_tokens": 128_000,
    "context": 1_000_000,
    "default": "always",
    "kinds": ("adaptive",),
    "efforts": ALL_EFFORTS,
    "forced": False,
    "system": "yes",
    "bound": True,
    "prefill": False,
    "sampling": False,
    "fast": False,
    "display": "summarized",
    "capped": (),
}
# A-tt, A-o5, A-s5: thinking is on by default and can be disabled below xhigh.
_OPTIONAL = {
    **_ALWAYS,
    "default": "on",
    "kinds": ("adaptive", "disabled"),
    "forced": True,
    "bound": False,
    "capped": ("disabled",),
}
# A-tt, py: models of 4.x; thinking is off by default.
_FOUR = {**_OPTIONAL, "default": "off", "system": "no", "capped": ()}

MODELS: dict[str, dict[str, Any]] = {
    "claude-fable-5-2": _ALWAYS,
    "claude-mythos-5-2": _ALWAYS,
    "claude-fable-5-1": _ALWAYS,
    "claude-mythos-5-1": _ALWAYS,
    "claude-opus-5-5": {**_ALWAYS, "fast": True},
    # A-mig55, A-new55: the only model with between_tools, which stands in for "disabled"; display is omitted.
    "claude-sonnet-5-5": {
        **_ALWAYS,
        "default": "on",
        "kinds": ("adaptive", "between_tools"),
        "display": "omitted",
        "capped": ("between_tools",),
    },
    "claude-haiku-5-5": {**_OPTIONAL, "bound": True},
    "claude-opus-5": {**_OPTIONAL, "fast": True},
    "claude-sonnet-5": {**_OPTIONAL, "system": "ignored", "capped": (), "display": "omitted"},
    "claude-fable-5": {**_ALWAYS, "forced": True, "bound": False},
    "claude-mythos-5": {**_ALWAYS, "forced": True, "bound": False},
    "claude-opus-4-8": {**_FOUR, "system": "yes", "fast": True},
    "claude-opus-4-7": {**_FOUR, "fast": True},
    "claude-opus-4-6": {
        **_FOUR,
        "kinds": ("adaptive", "enabled", "disabled"),
        "efforts": ("low", "medium", "high", "max"),
        "sampling": True,
        "fast": True,
    },
    "claude-sonnet-4-6": {
        **_FOUR,
        "kinds": ("adaptive", "enabled", "disabled"),
        "efforts": ("low", "medium", "high", "max"),
        "sampling": True,
    },
    "claude-opus-4-5": {
        **_FOUR,
        "kinds": ("enabled", "disabled"),
        "efforts": ("low", "medium", "high"),
        "sampling": True,
        "prefill": True,
        "max_tokens": 64_000,
        "context": 200_000,
    },
    "claude-sonnet-4-5": {
        **_FOUR,
        "kinds": ("enabled", "disabled"),
        "efforts": (),
        "sampling": True,
        "prefill": True,
        "max_tokens": 64_000,
        "context": 200_000,
    },
    "claude-haiku-4-5": {
        **_FOUR,
        "kinds": ("enabled", "disabled"),
        "efforts": (),
        "sampling": True,
        "prefill": True,
        "max_tokens": 64_000,
        "context": 200_000,
    },
}

# A-pt, A-f52: whose thinking a model reads besides its own.
READS = {
    "claude-fable-5-2": {"claude-mythos-5-2"},
    "claude-mythos-5-2": {"claude-fable-5-2"},
    "claude-fable-5-1": {"claude-opus-5", "claude-opus-5-5"},
}

# py: models that take a change of effort or of tools within the conversation.
EFFORT_ENTRY = {
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-fable-5-1",
    "claude-mythos-5-1",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
}

# A-sdk: fields of the body that only a beta header allows; any of the listed values is enough.
BETA_FIELDS = {
    "compaction": ("compact-2026-09-04",),
    "context_management": ("context-management-2025-06-27", "compact-2026-01-12"),
    "fallbacks": ("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01"),
    "mcp_servers": ("mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15"),
    "speed": ("fast-mode-2026-02-01",),
    "thread": ("message-threads-2026-08-12",),
    "fallback_credit_token": ("fallback-credit-2026-06-01", "fallback-credit-2026-07-01"),
}
BETA_TOOLS = {"advisor_20260301": ("advisor-tool-2026-03-01",)}
BINDING = "thinking-binding-controls-2026-08-01"
UPDATES = "thinking-display-updates-2026-08-18"
EFFORT_CHANGE = "mid-conversation-output-config-2026-07-01"
TOOL_CHANGE = "mid-conversation-tool-changes-2026-07-01"
INLINE_TOOLS = "inline-tools-2026-09-15"
CLEAR_AT = "mid-conversation-system-clear-at-2026-08-21"
COMPACT = ("compact-2026-09-04", "compact-2026-01-12")
TASK_BUDGET = "task-budgets-2026-03-13"

FIELDS = {
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "stream",
    "stop_sequences",
    "metadata",
    "service_tier",
    "container",
    "cache_control",
    "diagnostics",
    "inference_geo",
    "temperature",
    "top_p",
    "top_k",
    *BETA_FIELDS,
}

# A-skill, py: words of the schema subset for formats and strict tools.
SCHEMA_WORDS = {
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "anyOf",
    "allOf",
    "$ref",
    "$defs",
    "definitions",
    "description",
    "default",
    "format",
    "additionalProperties",
    "title",
    "minItems",
}
SCHEMA_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
LIMITS = {"tools": 20, "optional": 24, "unions": 16}

CODE_EXECUTION = re.compile(r"^code_execution_\d{8}$")
SERVER_TOOL = re.compile(
    r"^(web_search|web_fetch|code_execution|tool_search_tool_(bm25|regex)|memory|bash|text_editor|computer|computer_toolset"
    r"|browser_toolset|advisor)_\d{8}$|^(mcp_toolset|tool_search_tool_(bm25|regex))$"
)
_DATE = re.compile(r"-(\d{8}|latest)$")


def find_model(name: object) -> tuple[str, dict[str, Any]] | None:
    """Return the canonical name and the properties of a model; dates and `-latest` are dropped."""
    short = _DATE.sub("", str(name))
    return (short, MODELS[short]) if short in MODELS else None
