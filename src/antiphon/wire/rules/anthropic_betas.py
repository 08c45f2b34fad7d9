"""A40: fields that are known only to those who ask for a beta by a header."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._shape import arr, obj
from antiphon.wire.rules.reading import kind
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

#: What the header values of a feature begin with; a date follows.
_PREFIXES = {
    "binding_controls": "thinking-binding-controls-",
    "display_updates": "thinking-display-updates-",
    "effort_change": "mid-conversation-output-config-",
    "tool_change": "mid-conversation-tool-changes-",
    "inline_tools": "inline-tools-",
    "clear_at": "mid-conversation-system-clear-at-",
    "compaction": "compact-2026-09",
    "auto_compaction": "compact-2026-01",
    "threads": "message-threads-",
    "mcp": "mcp-client-",
    "fallback": "server-side-fallback-",
    "task_budgets": "task-budgets-",
}
_FIELDS = {"compaction": "compaction", "thread": "threads", "mcp_servers": "mcp", "fallbacks": "fallback"}
_EDITS = {"compact_20260112": "auto_compaction"}


def beta_violations(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """Yield every field that needs a beta which the headers do not name; nothing where they are not known."""
    mode = kind(request.get("thinking"))
    if obj(request.get("thinking")).get("block_binding") is not None and mode != "adaptive":
        path = f"thinking.{mode}.block_binding"
        yield Violation("A40", f"{path}: Extra inputs are not permitted", path)
    if subject.headers is None:
        return
    for path, feature in _needed(request):
        asked = any(value.startswith(_PREFIXES[feature]) for value in subject.betas)
        if not asked and (subject.facts.betas or {}).get(feature) != "":
            yield Violation("A40", f"{path}: Extra inputs are not permitted", path)


def _needed(request: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the path and the feature of each field."""
    thinking = obj(request.get("thinking"))
    if thinking.get("block_binding") is not None:
        yield "thinking.adaptive.block_binding", "binding_controls"
    if thinking.get("display") == "updates":
        yield "thinking.adaptive.display", "display_updates"
    for name, feature in _FIELDS.items():
        if request.get(name):
            yield name, feature
    if obj(request.get("output_config")).get("task_budget") is not None:
        yield "output_config.task_budget", "task_budgets"
    for index, edit in enumerate(arr(obj(request.get("context_management")).get("edits"))):
        if kind(edit) in _EDITS:
            yield f"context_management.edits.{index}", _EDITS[kind(edit)]
    for index, message in enumerate(arr(request.get("messages"))):
        yield from _of_message(obj(message), f"messages.{index}")


def _of_message(message: dict[str, object], path: str) -> Iterator[tuple[str, str]]:
    if message.get("role") != "system":
        return
    if message.get("clear_at") is not None:
        yield f"{path}.clear_at", "clear_at"
    if message.get("output_config") is not None:
        yield f"{path}.output_config", "effort_change"
    for place, block in enumerate(arr(message.get("content"))):
        tool = obj(obj(block).get("tool"))
        if kind(block) == "tool_definition" or kind(tool) == "tool_definition":
            yield f"{path}.content.{place}", "inline_tools"
        elif kind(block) in ("tool_addition", "tool_removal"):
            yield f"{path}.content.{place}", "tool_change"
