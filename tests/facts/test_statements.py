"""Layers: what users state, what refusals teach, what vendors answer, what platforms take away."""

from collections.abc import Iterator
from datetime import date

import pytest

from antiphon.errors import ConfigurationError
from antiphon.facts import Facts, Thinking, explain, find, forget_learned_facts, learn, lookup_facts, register_model
from antiphon.facts.statements import forget_stated_facts, state_refreshed_facts
from antiphon.facts.unknown_models import combine_cautiously
from antiphon.facts.validation import read_user_facts


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    forget_learned_facts()
    forget_stated_facts()


def layer(field: str, provider: str = "anthropic", model: str = "claude-sonnet-5-5") -> str:
    return next(each.layer for each in explain(provider, model) if each.field == field)


def test_the_first_layer_that_speaks_is_believed():
    name = ("anthropic", "claude-sonnet-5-5")
    assert (lookup_facts(*name).max_output, layer("max_output")) == (128_000, "family claude-5")
    state_refreshed_facts("anthropic/claude-sonnet-5-5", {"max_output": 64_000}, date(2026, 12, 1))
    assert (lookup_facts(*name).max_output, layer("max_output")) == (64_000, "refreshed")
    learn(*name, "max_output", 32_000)
    assert (lookup_facts(*name).max_output, layer("max_output")) == (32_000, "learned")
    register_model("anthropic/claude-sonnet-*", Facts(max_output=8_000))
    assert (lookup_facts(*name).max_output, layer("max_output")) == (8_000, "user (registered)")
    forget_stated_facts()
    assert lookup_facts(*name).max_output == 32_000
    forget_learned_facts()
    assert lookup_facts(*name).max_output == 128_000


def test_an_answer_of_the_vendor_that_is_older_than_a_fact_is_not_believed():
    state_refreshed_facts("anthropic/claude-sonnet-5-5", {"max_output": 64_000}, date(2026, 1, 1))
    assert lookup_facts("anthropic", "claude-sonnet-5-5").max_output == 128_000


def test_a_part_of_a_table_is_believed_by_itself():
    register_model("anthropic/claude-sonnet-5-5", Facts(thinking=Thinking(display="summarized")))
    thinking = lookup_facts("anthropic", "claude-sonnet-5-5").thinking
    assert (thinking.display, thinking.off) == ("summarized", "between_tools")


def test_what_is_learned_holds_for_the_platform_alone():
    learn("anthropic", "claude-opus-5", "mid_system", "no", platform="foundry")
    assert lookup_facts("anthropic", "claude-opus-5").mid_system == "yes"
    assert lookup_facts("anthropic", "claude-opus-5", platform="foundry").mid_system == "no"


def test_a_statement_holds_under_every_name_of_the_model():
    register_model("anthropic/claude-sonnet-4-5", Facts(context=5))
    assert lookup_facts("anthropic", "claude-sonnet-4-5-20250929").context == 5


@pytest.mark.parametrize(
    ("platform", "gone"),
    [("bedrock", ("web_search", "web_fetch", "code_execution")), ("vertex", ("web_fetch", "code_execution"))],
)
def test_a_platform_takes_tools_away(platform: str, gone: tuple[str, ...]):
    there = lookup_facts("anthropic", "claude-sonnet-5-5", platform=platform).server_tools or {}
    assert not set(gone) & set(there)
    assert "computer" in there


def test_a_platform_that_takes_more_away():
    assert lookup_facts("anthropic", "claude-sonnet-5-5", platform="vertex").server_tools["web_search"] == (
        "web_search_20250305",
    )
    foundry = lookup_facts("anthropic", "claude-sonnet-5-5", platform="foundry")
    assert (foundry.mid_system, foundry.tool_change) == ("no", "no")
    assert "binding_controls" not in (foundry.betas or {})
    assert lookup_facts("google", "gemini-4-argon").cache.min == 4_096
    assert lookup_facts("google", "gemini-4-argon", platform="vertex").cache.min == 6_144
    assert "max" not in lookup_facts("openai-chat", "gpt-6-sol").efforts
    assert "max" in lookup_facts("openai", "gpt-6-sol").efforts


def test_facts_of_the_model_hold_at_a_router_in_its_own_words():
    routed = lookup_facts("openrouter", "anthropic/claude-opus-5.5")
    assert (routed.name, routed.forced_choice, routed.mid_system) == ("claude-opus-5-5", "no", "no")
    assert routed.in_prefix is not None
    assert "response_format" in routed.in_prefix


def test_an_unknown_model_of_a_known_line_gets_all_refusals_and_the_shared_abilities():
    assert find("anthropic", "claude-opus-6") is None
    careful = lookup_facts("anthropic", "claude-opus-6")
    assert (careful.name, careful.taken_for) == ("", "claude")
    assert (careful.forced_choice, careful.bound_thinking) == ("no", "refuses")
    assert (careful.thinking.off, careful.thinking.kinds) == ("impossible", ("adaptive",))
    assert careful.schema == "yes"
    gpt = lookup_facts("openai", "gpt-7-sol")
    assert (gpt.taken_for, gpt.tools_api, gpt.sampling) == ("gpt", "responses_only", "no")
    assert "none" not in (gpt.efforts or ())
    gemini = lookup_facts("google", "gemini-5-neon")
    assert (gemini.taken_for, gemini.efforts) == ("gemini", ("low", "medium", "high"))


def test_of_what_several_can_do_only_the_common_part_is_taken():
    one = {"efforts": ["low", "high"], "context": 5, "cache.min": 1, "prefill": True, "schema": "yes"}
    other = {"efforts": ["high", "max"], "context": 4, "cache.min": 2, "prefill": False}
    assert combine_cautiously([one, other]) == {"efforts": ["high"], "context": 4, "cache.min": 2, "prefill": False}


def test_of_an_unknown_model_nothing_is_assumed():
    unknown = lookup_facts("ollama", "some-model:7b")
    assert (unknown.name, unknown.taken_for, unknown.context, unknown.thinking) == ("", "", None, Thinking())
    assert lookup_facts("custom", "some-model").forced_choice is None


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"ollama/a": {"contxt": 5}}, r'models\."ollama/a": there is no fact `contxt`; did you mean `context`\?'),
        ({"ollama/a": {"thinking": {"of": "none"}}}, r"no fact `thinking\.of`; did you mean `thinking\.off`\?"),
        ({"ollama/a": {"context": "big"}}, "`context` is a whole number, not 'big'"),
        ({"ollama/a": {"context": True}}, "`context` is a whole number, not True"),
        ({"ollama/a": {"forced_choice": "maybe"}}, "`forced_choice` is 'yes' or 'no' or .*, not 'maybe'"),
        ({"ollama/a": {"efforts": "low"}}, "`efforts` is a list of a text, not 'low'"),
        ({"ollama/a": {"thinking": {"budget": [1]}}}, r"`thinking\.budget` is a list"),
        ({"ollama/a": {"lifecycle": {"retires": "soon"}}}, r"`lifecycle\.retires` is a date, not 'soon'"),
        ({"ollama/a": {"inputs": {"image": True}}}, r"no fact `inputs\.image`; did you mean `inputs\.images`"),
        ({"ollama/a": {"inputs": {"images": 5}}}, "true, false or a table of limits"),
        ({"ollama/a": {"inputs": {"images": {"size": 5}}}}, r"`inputs\.images\.size` is no limit"),
        ({"ollama/a": {"server_tools": {"web_search": "x"}}}, r"`server_tools\.web_search` is a list of a text"),
        ({"ollama/a": {"name": "x"}}, "there is no fact `name`"),
        ({"ollama/a": 5}, "the facts about a model are a table, not 5"),
        ({"qwen": {"context": 5}}, "a model is named 'provider/name'"),
        ({"ollama/a": {"efforts": ["low"], "effort_default": "high"}}, "which is not in `efforts`"),
        ({"ollama/a": {"context": 5, "max_output": 6}}, "`max_output` is larger than `context`"),
        (
            {"anthropic/claude-sonnet-5-5": {"context": 5}, "anthropic/claude-sonnet-5.5": {"context": 6}},
            "`context` of anthropic/claude-sonnet-5-5 and of anthropic/claude-sonnet-5.5 differ, and both are the same",
        ),
    ],
)
def test_a_mistake_in_a_users_facts_is_told_with_its_place(tables: dict[str, object], told: str):
    with pytest.raises(ConfigurationError, match=told) as caught:
        read_user_facts(tables, "antiphon.toml")
    assert str(caught.value).startswith("antiphon.toml: ")
