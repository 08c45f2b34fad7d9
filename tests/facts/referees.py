"""Other projects' tables in our words: one adapter for each, to compare our facts with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices.data_snapshot import get_snapshot
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.profiles.google import google_model_profile
from pydantic_ai.profiles.grok import grok_model_profile
from pydantic_ai.profiles.openai import openai_model_profile

from antiphon.facts import Facts, KnownModel, list_known_models

#: What litellm says of the models that we know: `litellm_table.py` takes it out of its wheel, which is too large and
#: pins too much to be installed for a test.
LITELLM = Path(__file__).with_name("litellm.json")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class Difference:
    """A fact that a referee states otherwise than we do."""

    referee: str
    model: str
    fact: str
    ours: Any
    theirs: Any


def versions() -> dict[str, str]:
    return {
        "pydantic-ai": version("pydantic-ai-slim"),
        "genai-prices": version("genai-prices"),
        "litellm": json.loads(LITELLM.read_text())["version"],
    }


def differences() -> Iterator[Difference]:
    """All differences: what either side leaves open is none."""
    for model in list_known_models():
        name = f"{model.provider}/{model.name}"
        for referee, stated in (
            ("pydantic-ai", _pydantic(model)),
            ("litellm", _litellm(model)),
            ("genai-prices", _prices(model)),
        ):
            ours = our_words(model.facts)
            for fact, theirs in stated.items():
                if theirs is not None and ours[fact] is not None and ours[fact] != theirs:
                    yield Difference(referee, name, fact, ours[fact], theirs)


def our_words(facts: Facts) -> dict[str, Any]:
    """What can be compared, in the words that all adapters use."""
    inputs, kinds = facts.inputs or {}, facts.thinking.kinds
    default = facts.thinking.default
    return {
        "context": facts.context,
        "max_input": facts.max_input or facts.context,
        "max_output": facts.max_output,
        "images": inputs["images"] is not None if "images" in inputs else None,
        "pdf": inputs["pdf"] is not None if "pdf" in inputs else None,
        "audio": inputs["audio"] is not None if "audio" in inputs else None,
        "video": inputs["video"] is not None if "video" in inputs else None,
        "forced_choice": None if facts.forced_choice is None else facts.forced_choice in ("yes", "not_while_thinking"),
        "parallel": None if facts.parallel is None else facts.parallel != "no",
        "thinks": None if default is None else default != "never",
        "thinking.default": default,
        "thinking.always": None if default is None else default == "always",
        "adaptive": "adaptive" in kinds if kinds else None,
        "budget": bool({"enabled", "budget"} & set(kinds)) if kinds else None,
        "level": "level" in kinds if kinds else None,
        "off_between_tools": None if facts.thinking.off is None else facts.thinking.off == "between_tools",
        "effort_capped": None if facts.thinking.off is None else bool(facts.effort_caps),
        "efforts": None if facts.efforts is None else [each for each in EFFORTS if each in facts.efforts],
        "minimal": None if facts.efforts is None else "minimal" in facts.efforts,
        "effort_none": None if facts.efforts is None else "none" in facts.efforts,
        "xhigh": None if facts.efforts is None else "xhigh" in facts.efforts,
        "max": None if facts.efforts is None else "max" in facts.efforts,
        "sampling": None if facts.sampling is None else facts.sampling != "no",
        "prefill": facts.prefill,
        "schema": None if facts.schema is None else facts.schema == "yes",
        "schema_with_tools": facts.schema_with_tools,
        "bound": None if facts.bound_thinking is None else facts.bound_thinking in ("refuses", "by_account"),
        "say_end_first": facts.system_after_result == "say_end_first",
        "stops_at_window": facts.stops_at_window,
        "mid_system": None if facts.mid_system is None else facts.mid_system == "yes",
        "compaction": "compaction" in (facts.betas or {}),
        "fast": "fast" in (facts.betas or {}),
        "task_budgets": "task_budgets" in (facts.betas or {}),
        "tool_search": bool((facts.server_tools or {}).get("tool_search")) if facts.server_tools else None,
        "result_media": None if facts.result_media is None else sorted(facts.result_media),
        "cache.min": facts.cache.min,
        "cache.marks": None if facts.cache.kind is None else (facts.cache.marks or 0) > 0,
        "retires": facts.lifecycle.retires.isoformat() if facts.lifecycle.retires else None,
        "price_steps": list(facts.price_steps) if facts.price_steps else None,
    }


def _pydantic(model: KnownModel) -> dict[str, Any]:
    adapters = {"anthropic": _claude, "openai": _gpt, "google": _gemini, "xai": _grok}
    adapter = adapters.get(model.provider)
    return adapter(model.name) if adapter and model.facts.lifecycle.state != "retired" else {}


def _claude(name: str) -> dict[str, Any]:
    says = dict(anthropic_model_profile(name) or {})
    always, on = says["thinking_always_enabled"], says["thinking_enabled_by_default"]
    top = [("xhigh", "anthropic_supports_xhigh_effort"), ("max", "anthropic_supports_max_effort")]
    efforts = ["low", "medium", "high", *(word for word, key in top if says[key])]
    return {
        "schema": says["supports_json_schema_output"],
        "forced_choice": says["supports_forced_tool_choice"],
        "thinking.default": "always" if always else "on" if on else "off",
        "adaptive": says["anthropic_supports_adaptive_thinking"],
        "budget": not says["anthropic_disallows_budget_thinking"],
        "efforts": efforts if says["anthropic_supports_effort"] else [],
        "sampling": False if says["anthropic_disallows_sampling_settings"] else None,
        "off_between_tools": says["anthropic_disables_thinking_with_between_tools"],
        "effort_capped": says["anthropic_disallows_top_effort_when_thinking_disabled"],
        "bound": says["anthropic_binds_thinking_blocks"],
        "say_end_first": says["anthropic_distrusts_system_after_tool_result"],
        "stops_at_window": not says["anthropic_rejects_max_tokens_beyond_context_window"],
        "max_output": says["anthropic_max_output_tokens"],
        "fast": says["anthropic_supports_fast_speed"],
        "task_budgets": says["anthropic_supports_task_budgets"],
        "compaction": says.get("anthropic_supports_on_demand_compaction"),
    }


def _gpt(name: str) -> dict[str, Any]:
    says = dict(openai_model_profile(name))
    thinks, efforts = says["openai_supports_reasoning"], says.get("openai_reasoning_efforts")
    return {
        "schema": says["supports_json_schema_output"],
        "thinks": thinks,
        "thinking.always": says["thinking_always_enabled"] if thinks else None,
        "efforts": [each for each in EFFORTS if each in efforts] if efforts else None,
        "effort_none": says["openai_supports_reasoning_effort_none"] if thinks else None,
        # True is what it says of every model that it has not looked at.
        "minimal": None if says["openai_supports_minimal_reasoning_effort"] else False,
        "mid_system": says["supports_inline_system_prompts"],
        "cache.marks": says["openai_supports_prompt_cache_breakpoints"],
        "tool_search": any(each.__name__ == "ToolSearchTool" for each in says["supported_native_tools"])
        if thinks
        else None,
    }


def _gemini(name: str) -> dict[str, Any]:
    says = dict(google_model_profile(name) or {})
    level = says["google_supports_thinking_level"]
    levels = says.get("google_thinking_levels")
    return {
        "schema": says["supports_json_schema_output"],
        "thinks": says["supports_thinking"],
        "thinking.always": says["thinking_always_enabled"],
        "level": level,
        "minimal": says["google_supports_minimal_thinking_level"] if level else None,
        "efforts": [each for each in EFFORTS if each in {str(one).lower() for one in levels}] if levels else None,
        "schema_with_tools": says["google_supports_tool_combination"],
        "result_media": sorted(says["google_supported_mime_types_in_tool_returns"]),
        "video": says["supports_video_input"],
    }


def _grok(name: str) -> dict[str, Any]:
    says = dict(grok_model_profile(name) or {})
    efforts = says.get("grok_reasoning_efforts")
    return {
        "schema": says["supports_json_schema_output"],
        "thinking.always": says["thinking_always_enabled"],
        "efforts": [each for each in EFFORTS if each in efforts] if efforts else None,
    }


def _litellm(model: KnownModel) -> dict[str, Any]:
    says = json.loads(LITELLM.read_text())["models"].get(f"{model.provider}/{model.name}")
    if says is None or model.facts.lifecycle.state == "retired":
        return {}
    steps = sorted({int(key.split("_above_")[1].split("k_")[0]) * 1000 for key in says["priced_above"]})
    return {
        "max_input": says.get("max_input_tokens"),
        "max_output": says.get("max_output_tokens"),
        "images": says.get("supports_vision"),
        "pdf": says.get("supports_pdf_input"),
        "audio": says.get("supports_audio_input"),
        "video": says.get("supports_video_input"),
        # `supports_tool_choice` only means that the field is taken.
        "forced_choice": says.get("supports_forced_tool_use"),
        "parallel": says.get("supports_parallel_function_calling"),
        "thinks": says.get("supports_reasoning"),
        "thinking.always": says.get("thinking_always_on"),
        "adaptive": says.get("supports_adaptive_thinking"),
        "effort_none": says.get("supports_none_reasoning_effort"),
        "minimal": says.get("supports_minimal_reasoning_effort"),
        "xhigh": says.get("supports_xhigh_reasoning_effort"),
        "max": says.get("supports_max_reasoning_effort"),
        "sampling": says.get("supports_sampling_params"),
        "prefill": says.get("supports_assistant_prefill"),
        "schema": says.get("supports_response_schema"),
        "mid_system": says.get("supports_mid_conversation_system"),
        "cache.min": int(says["prompt_cache_min_tokens"]) if "prompt_cache_min_tokens" in says else None,
        "retires": says.get("deprecation_date"),
        "price_steps": steps or None,
    }


def _prices(model: KnownModel) -> dict[str, Any]:
    for provider in get_snapshot().providers:
        if provider.id == {"xai": "x-ai"}.get(model.provider, model.provider):
            found = next((each for each in provider.models if each.id == model.name), None)
            size, ours = found.context_window if found else None, model.facts.context
            # It rounds sizes: 1,048,576 and 1,050,000 are a million there.
            is_rounded = size and ours and abs(size - ours) / ours < 0.06
            return {"context": ours if is_rounded else size}
    return {}
