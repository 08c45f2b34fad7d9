"""Fixes for bodies of Google's Interactions API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antiphon._base.json_access import as_array, as_object
from antiphon.conversation import RepairAction
from antiphon.formats.fixes import HistoryFixer
from antiphon.wire.google_interactions.steps import FUNCTION_NAME


def _drop_unnamed_functions(body: dict[str, Any]) -> bool:
    """Fix I7 for declarations without a name."""
    tools = as_array(body.get("tools"))
    kept = [tool for tool in tools if as_object(tool).get("type") != "function" or as_object(tool).get("name")]
    if len(kept) < len(tools):
        body["tools"] = kept
    return len(kept) < len(tools)


def _drop_background(body: dict[str, Any]) -> bool:
    """Fix I8: what is not stored cannot be made in the background."""
    return body.pop("background", None) is not None


def _drop_unknown_choices(body: dict[str, Any]) -> bool:
    """Fix I9: drop a choice of tools that are not declared."""
    return as_object(body.get("generation_config")).pop("tool_choice", None) is not None


def _drop_empty_steps(steps: list[Any]) -> tuple[list[Any], list[RepairAction]]:
    """Return the steps without empty text blocks, and the changes."""
    changes: list[RepairAction] = []
    for index, step in enumerate(map(as_object, steps)):
        blocks = as_array(step.get("content"))
        kept = [block for block in blocks if as_object(block) != {"type": "text", "text": ""}]
        if len(kept) < len(blocks):
            step["content"] = kept
            changes.append(RepairAction("empty-text", f"step {index}", "a block with empty text", "it is dropped"))
    return steps, changes


def _iter_names(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(map(as_object, as_array(body.get("tools")))):
        if tool.get("type") == "function":
            yield f"tool {index}", tool
    for index, step in enumerate(map(as_object, as_array(body.get("input")))):
        if step.get("type") in ("function_call", "function_result"):
            yield f"step {index}", step


FIXER = HistoryFixer(
    fixes={
        "I7": (_drop_unnamed_functions, "a declaration without a name is dropped"),
        "I8": (_drop_background, "`background` is dropped"),
        "I9": (_drop_unknown_choices, "`tool_choice` is dropped"),
    },
    legal_name=FUNCTION_NAME,
    iter_names=_iter_names,
    clean=_drop_empty_steps,
)
"""The fixes for histories of this API."""
