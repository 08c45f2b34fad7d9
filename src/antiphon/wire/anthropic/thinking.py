"""Thinking options of Claude, in the form that each model accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from antiphon._base.json_access import as_object
from antiphon.conversation import AssistantPart, AssistantTurn, Conversation, ProviderPayload, Reasoning, Text, ToolCall
from antiphon.errors import OptionError
from antiphon.wire.options import Options, Target, choose_effort

#: How thinking is sent back: unchanged, only after its original prefix, for the server to drop, or not.
ThinkingBinding = Literal["free", "checked", "dropped_there", "left_out"]
#: Thinking tokens for each effort, for models that take a budget instead of an effort.
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_000}
#: Tokens reserved for the answer after the thinking.
_ANSWER_RESERVE = 1024


def set_thinking_fields(fields: dict[str, Any], target: Target, options: Options, effort: str | None) -> None:
    """Set `thinking` and the effort according to the options, in the form that the model takes.

    `effort` is that of the first request if later changes are announced in the messages.
    """
    asked, facts = options.reasoning, target.facts
    if asked is None:
        return
    if isinstance(asked, int):
        if facts.thinking.kinds and "enabled" not in facts.thinking.kinds:
            words = ", ".join(("none", *(facts.efforts or ())))
            raise OptionError(f"{target.model} takes no number of tokens as `reasoning`; give one of the words {words}")
        _set_thinking_budget(fields, asked)
    elif asked == "none":
        _disable_thinking(fields, target)
    elif facts.thinking.kinds and "adaptive" not in facts.thinking.kinds:
        least, most = facts.thinking.budget or (_ANSWER_RESERVE, _BUDGETS["max"])
        _set_thinking_budget(fields, min(max(_BUDGETS[asked], least), most))
        if facts.efforts:
            fields["output_config"] = {"effort": choose_effort(target, asked)}
    else:
        if facts.thinking.default not in ("on", "always"):
            fields["thinking"] = {"type": "adaptive"}
        if facts.config_change != "effort_only":
            effort = choose_effort(target, asked)
        if effort is not None:
            fields["output_config"] = {"effort": effort}


def choose_thinking_binding(fields: dict[str, Any], state: Mapping[str, Any], target: Target) -> ThinkingBinding:
    """Return how to treat thinking that may be bound to another prompt, by the provider's state of the conversation.

    After the server once refused such a block, ask it to drop them for the remainder of the
    conversation. If the model cannot be asked to, send no thinking.
    """
    facts = target.facts
    if facts.bound_thinking not in ("refuses", "by_account"):
        return "free"
    if not state.get("drop_block"):
        return "checked"
    is_adaptive = "adaptive" in facts.thinking.kinds and facts.thinking.default in ("on", "always")
    thinking = as_object(fields.get("thinking")) or ({"type": "adaptive"} if is_adaptive else {})
    if not isinstance((facts.betas or {}).get("binding_controls"), str) or thinking.get("type") != "adaptive":
        return "left_out"
    binding = {**as_object(thinking.get("block_binding")), "prefix_mismatch_behavior": "drop_block"}
    fields["thinking"] = {**thinking, "block_binding": binding}
    return "dropped_there"


def _set_thinking_budget(fields: dict[str, Any], tokens: int) -> None:
    fields["thinking"] = {"type": "enabled", "budget_tokens": tokens}
    fields["max_tokens"] = max(fields["max_tokens"], tokens + _ANSWER_RESERVE)


def _disable_thinking(fields: dict[str, Any], target: Target) -> None:
    off = target.facts.thinking.off or "disabled"
    if off in ("disabled", "between_tools"):
        fields["thinking"] = {"type": off}
    else:
        # A model that always thinks is asked to think as little as it can.
        fields["output_config"] = {"effort": choose_effort(target, "none")}


def drop_rejected_thinking(
    fields: dict[str, Any], conversation: Conversation, target: Target, is_sent: Callable[[AssistantPart], bool]
) -> None:
    """Remove a thinking budget that the API rejects.

    It does so with a forced tool (A20) and after calls made without thinking (A15). Adaptive thinking
    is unaffected, because the model itself decides.
    """
    if as_object(fields.get("thinking")).get("type") != "enabled":
        return
    forced = as_object(fields.get("tool_choice")).get("type") in ("any", "tool")
    if forced or _has_calls_without_thinking(conversation, target, is_sent):
        del fields["thinking"]


def _has_calls_without_thinking(
    conversation: Conversation, target: Target, is_sent: Callable[[AssistantPart], bool]
) -> bool:
    kinds = target.facts.thinking.kinds
    if not kinds or "adaptive" in kinds:
        return False
    # The model thinks once before a series of calls, not before each of them.
    starts: list[AssistantPart] = []
    for turn in reversed(conversation.turns):
        if isinstance(turn, AssistantTurn):
            sent = [part for part in turn.parts if is_sent(part)]
            if sent and not turn.calls:
                break
            starts += sent[:1]
    ordinary = starts and (isinstance(starts[0], Text | ToolCall) or not _is_same_provider(starts[0].native, target))
    return bool(ordinary) and not any(isinstance(part, Reasoning) for part in starts)


def _is_same_provider(native: ProviderPayload | None, target: Target) -> bool:
    return native is not None and native.origin.api == target.api and native.origin.provider == target.provider
