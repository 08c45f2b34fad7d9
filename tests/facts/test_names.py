"""Whole names match, in every spelling of them, and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.facts import find, list_known_models
from antiphon.facts.resolution import normalize_model_name

NAMED = [(each.provider, name) for each in list_known_models() for name in (each.name, *each.aliases)]
#: Every name in the document that the table was written from.
DOCUMENTED = {
    "anthropic": """claude-fable-5-2 claude-mythos-5-2 claude-fable-5-1 claude-mythos-5-1 claude-opus-5-5
        claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5 claude-sonnet-5 claude-fable-5 claude-mythos-5
        claude-mythos-preview claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-sonnet-4-6 claude-opus-4-5
        claude-sonnet-4-5 claude-haiku-4-5 claude-opus-4-1 claude-opus-4-0 claude-sonnet-4-0""",
    "openai": """gpt-6-astra gpt-6.1-sol gpt-6.1-terra gpt-6-sol gpt-6-luna gpt-5.6-sol gpt-5.6 gpt-5.6-terra
        gpt-5.6-luna gpt-5.5 gpt-5.5-pro gpt-5.4-pro gpt-5.2-pro gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.3-codex
        gpt-5.2 gpt-5.1 gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro o3 o3-pro gpt-4.1 gpt-4o o1 o3-mini o4-mini gpt-4
        gpt-4-turbo gpt-3.5-turbo gpt-4.1-nano gpt-6-cyber gpt-6-rosalind gpt-6-astra-law gpt-5.6-cyber
        gpt-daybreak-blue-latest gpt-daybreak-red-latest chat-latest""",
    "google": """gemini-4-argon gemini-4-carbon gemini-4-hydrogen gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash
        gemini-3.5-flash gemini-3.5-flash-lite gemini-3.1-pro-preview gemini-3.1-flash-lite gemini-3-flash-preview
        gemini-3-pro-preview gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite gemini-flash-latest
        gemini-pro-latest gemini-flash-lite-latest""",
    "xai": "grok-4.7 grok-4.6 grok-4.5 grok-4.3 grok-latest",
    "deepseek": "deepseek-v4-flash deepseek-v4-pro deepseek-flash",
    "mistral": "mistral-large-4 mistral-medium-3-5 mistral-small-latest magistral-medium-latest",
    "groq": "openai/gpt-oss-120b openai/gpt-oss-20b qwen/qwen3.8-27b",
    "cerebras": "gpt-oss-120b qwen-3.8-27b gemma-4-31b qwen-3-coder",
    "openrouter": """qwen/qwen3.8-max qwen/qwen3.8-flash qwen/qwen3.8-omni-flash moonshotai/kimi-k3.1-pro
        moonshotai/kimi-k3 moonshotai/kimi-k2.7-code moonshotai/kimi-k2.6 z-ai/glm-5.3 z-ai/glm-5.3-flash z-ai/glm-5.2
        minimax/MiniMax-M3 minimax/MiniMax-M3.1-Flash""",
}


@pytest.mark.parametrize("provider", DOCUMENTED)
def test_every_documented_model_is_found(provider: str):
    assert [name for name in DOCUMENTED[provider].split() if find(provider, name) is None] == []


@pytest.mark.parametrize(
    ("provider", "name", "meant"),
    [
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("bedrock", "anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("bedrock", "global.anthropic.claude-haiku-5-5-v1:0", "claude-haiku-5-5"),
        ("anthropic", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("anthropic", "claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("anthropic", "Claude-Sonnet-5-5", "claude-sonnet-5-5"),
        ("openrouter", "anthropic/claude-fable-5.2", "claude-fable-5-2"),
        ("openrouter", "openai/gpt-6-sol:nitro", "gpt-6-sol"),
        ("openrouter", "google/gemini-4-argon", "gemini-4-argon"),
        ("openrouter", "anthropic/gpt-6-sol", None),
        ("google", "models/gemini-4-argon", "gemini-4-argon"),
        ("google", "publishers/google/models/gemini-4-argon", "gemini-4-argon"),
        ("openai", "gpt-5-2025-08-07", "gpt-5"),
        ("openai", "ft:gpt-4o-2024-08-06:org::id", "gpt-4o"),
        ("azure", "gpt-6-sol", "gpt-6-sol"),
        ("custom", "claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("anthropic", "gpt-6-sol", None),
        ("ollama", "gpt-6-sol", None),
        ("anthropic", "claude-fable-5-20", None),
        ("anthropic", "claude-sonnet-5-5-5", None),
        ("openai", "gpt-5.55", None),
        ("openai", "gpt-5-turbo", None),
    ],
)
def test_a_name_is_found_in_every_spelling_and_only_as_a_whole(provider: str, name: str, meant: str | None):
    assert find(provider, name) == meant


def test_a_name_means_one_model():
    names = [(provider, normalize_model_name(name)) for provider, name in NAMED]
    assert sorted({each for each in names if names.count(each) > 1 and find(*each) is None}) == []
    for each in list_known_models():
        assert find(each.provider, each.name) == each.name


#: Too short for a date, and without the letters of a version (`-v1`) or the dot of a region.
MORE = st.text("abcdefghijklmnopqrstuwxyz0123456789-", min_size=1, max_size=6)


@given(st.sampled_from(NAMED), MORE, st.booleans())
def test_a_name_with_more_characters_is_another_name(named: tuple[str, str], more: str, before: bool):
    provider, name = named
    maker, slash, rest = name.rpartition("/")
    longer = f"{maker}{slash}{more}{rest}" if before else f"{name}{more}"
    others = {each.lower().removesuffix("-latest") for home, each in NAMED if home == provider}
    assert find(provider, longer) is None or longer.lower() in others
