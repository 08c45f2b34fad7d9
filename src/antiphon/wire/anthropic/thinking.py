"""How Claude is asked to think: in the way that the facts about the model allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from antiphon._shape import obj
from antiphon.conversation import AssistantPart, AssistantTurn, Conversation, Native, Reasoning, Text, ToolCall
from antiphon.errors import OptionError
from antiphon.wire.options import Options, Target, nearest_effort

#: How thinking goes back: as it is, only behind what it was made behind, for the server to drop, or not at all.
Binding = Literal["free", "checked", "dropped_there", "left_out"]
#: Tokens of thinking for each word, for models that take a budget and no word.
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_000}
#: Tokens that are left for the answer behind the thinking.
_ROOM = 1024


def ask_for_thinking(fields: dict[str, Any], target: Target, options: Options, effort: str | None) -> None:
    """Set `thinking` and the effort as the option says, in the form that the model takes.

    `effort` is that of the first request, where later changes of it are told in the messages.
    """
    asked, facts = options.reasoning, target.facts
    if asked is None:
        return
    if isinstance(asked, int):
        if facts.thinking.kinds and "enabled" not in facts.thinking.kinds:
            words = ", ".join(("none", *(facts.efforts or ())))
            raise OptionError(f"{target.model} takes no number of tokens as `reasoning`; give one of the words {words}")
        _set_budget(fields, asked)
    elif asked == "none":
        _turn_off(fields, target)
    elif facts.thinking.kinds and "adaptive" not in facts.thinking.kinds:
        least, most = facts.thinking.budget or (_ROOM, _BUDGETS["max"])
        _set_budget(fields, min(max(_BUDGETS[asked], least), most))
        if facts.efforts:
            fields["output_config"] = {"effort": nearest_effort(target, asked)}
    else:
        if facts.thinking.default not in ("on", "always"):
            fields["thinking"] = {"type": "adaptive"}
        if facts.config_change != "effort_only":
            effort = nearest_effort(target, asked)
        if effort is not None:
            fields["output_config"] = {"effort": effort}


def choose_binding(fields: dict[str, Any], conversation: Conversation, target: Target) -> Binding:
    """Return how thinking that may be bound to another prompt is treated.

    Where the server once refused a block that was thought to fit, it is asked to drop such blocks itself, for the rest
    of the conversation; where it cannot be asked, no thinking goes back.
    """
    facts = target.facts
    if facts.bound_thinking not in ("refuses", "by_account"):
        return "free"
    if not conversation.state.of(target.origin).get("drop_block"):
        return "checked"
    is_adaptive = "adaptive" in facts.thinking.kinds and facts.thinking.default in ("on", "always")
    thinking = obj(fields.get("thinking")) or ({"type": "adaptive"} if is_adaptive else {})
    if not isinstance((facts.betas or {}).get("binding_controls"), str) or thinking.get("type") != "adaptive":
        return "left_out"
    binding = {**obj(thinking.get("block_binding")), "prefix_mismatch_behavior": "drop_block"}
    fields["thinking"] = {**thinking, "block_binding": binding}
    return "dropped_there"


def _set_budget(fields: dict[str, Any], tokens: int) -> None:
    fields["thinking"] = {"type": "enabled", "budget_tokens": tokens}
    fields["max_tokens"] = max(fields["max_tokens"], tokens + _ROOM)


def _turn_off(fields: dict[str, Any], target: Target) -> None:
    off = target.facts.thinking.off or "disabled"
    if off in ("disabled", "between_tools"):
        fields["thinking"] = {"type": off}
    else:
        # A model that always thinks is asked to think as little as it can.
        fields["output_config"] = {"effort": nearest_effort(target, "none")}


def drop_impossible_thinking(
    fields: dict[str, Any], conversation: Conversation, target: Target, is_sent: Callable[[AssistantPart], bool]
) -> None:
    """Remove a thinking budget that is refused: with a forced tool (A20), or behind calls made without it (A15).

    Adaptive thinking is not: there the model itself decides. Nor do models that think adaptively mind the calls.
    """
    if obj(fields.get("thinking")).get("type") != "enabled":
        return
    forced = obj(fields.get("tool_choice")).get("type") in ("any", "tool")
    if forced or _has_calls_without_thinking(conversation, target, is_sent):
        del fields["thinking"]


def _has_calls_without_thinking(
    conversation: Conversation, target: Target, is_sent: Callable[[AssistantPart], bool]
) -> bool:
    kinds = target.facts.thinking.kinds
    if not kinds or "adaptive" in kinds:
        return False
    # The model thinks at the start of a row of calls and not again before each of them.
    starts: list[AssistantPart] = []
    for turn in reversed(conversation.turns):
        if isinstance(turn, AssistantTurn):
            sent = [part for part in turn.parts if is_sent(part)]
            if sent and not turn.calls:
                break
            starts += sent[:1]
    ordinary = starts and (isinstance(starts[0], Text | ToolCall) or not _is_own(starts[0].native, target))
    return bool(ordinary) and not any(isinstance(part, Reasoning) for part in starts)


def _is_own(native: Native | None, target: Target) -> bool:
    return native is not None and native.origin.api == target.api and native.origin.provider == target.provider
