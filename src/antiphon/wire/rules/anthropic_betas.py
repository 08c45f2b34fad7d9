"""Rule A40: fields that require a beta header."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._base.json_access import as_array, as_object
from antiphon.wire.rules.json_access import get_type_tag
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

#: Prefixes of the header values of each feature; a date follows.
_BETA_PREFIXES = {
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
_FEATURE_OF_FIELD = {"compaction": "compaction", "thread": "threads", "mcp_servers": "mcp", "fallbacks": "fallback"}
_FEATURE_OF_EDIT = {"compact_20260112": "auto_compaction"}


def find_beta_violations(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield every field that needs a beta which the headers do not name. Skip if the headers are unknown."""
    mode = get_type_tag(request.get("thinking"))
    if as_object(request.get("thinking")).get("block_binding") is not None and mode != "adaptive":
        path = f"thinking.{mode}.block_binding"
        yield Violation("A40", f"{path}: Extra inputs are not permitted", path)
    if subject.headers is None:
        return
    for path, feature in _iter_beta_fields(request):
        asked = any(value.startswith(_BETA_PREFIXES[feature]) for value in subject.betas)
        if not asked and (subject.facts.betas or {}).get(feature) != "":
            yield Violation("A40", f"{path}: Extra inputs are not permitted", path)


def _iter_beta_fields(request: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the path and the feature of each beta field."""
    thinking = as_object(request.get("thinking"))
    if thinking.get("block_binding") is not None:
        yield "thinking.adaptive.block_binding", "binding_controls"
    if thinking.get("display") == "updates":
        yield "thinking.adaptive.display", "display_updates"
    for name, feature in _FEATURE_OF_FIELD.items():
        if request.get(name):
            yield name, feature
    if as_object(request.get("output_config")).get("task_budget") is not None:
        yield "output_config.task_budget", "task_budgets"
    for index, edit in enumerate(as_array(as_object(request.get("context_management")).get("edits"))):
        if get_type_tag(edit) in _FEATURE_OF_EDIT:
            yield f"context_management.edits.{index}", _FEATURE_OF_EDIT[get_type_tag(edit)]
    for index, message in enumerate(as_array(request.get("messages"))):
        yield from _iter_message_betas(as_object(message), f"messages.{index}")


def _iter_message_betas(message: dict[str, object], path: str) -> Iterator[tuple[str, str]]:
    if message.get("role") != "system":
        return
    if message.get("clear_at") is not None:
        yield f"{path}.clear_at", "clear_at"
    if message.get("output_config") is not None:
        yield f"{path}.output_config", "effort_change"
    for place, block in enumerate(as_array(message.get("content"))):
        tool = as_object(as_object(block).get("tool"))
        if get_type_tag(block) == "tool_definition" or get_type_tag(tool) == "tool_definition":
            yield f"{path}.content.{place}", "inline_tools"
        elif get_type_tag(block) in ("tool_addition", "tool_removal"):
            yield f"{path}.content.{place}", "tool_change"
