"""The shipped table: built from its files, complete, with sources."""

import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from antiphon.config.default_model import PROVIDERS_BY_PREFERENCE
from antiphon.facts import cures, default_model, explain, find, list_known_models, lookup_facts, stop_reasons
from antiphon.facts.build import build_fact_table, format_fact_table
from antiphon.facts.models_page import render_models_page
from antiphon.facts.table import FILE, load_fact_table
from antiphon.wire import APIS


def test_the_json_file_is_what_the_toml_files_say():
    assert Path(FILE).read_text(encoding="utf-8") == format_fact_table(build_fact_table()), (
        "run `python -m antiphon.facts`"
    )
    assert json.loads(Path(FILE).read_text(encoding="utf-8")) == build_fact_table()


def test_the_page_is_what_the_table_says():
    page = Path(__file__).parents[2] / "docs" / "models.md"
    assert page.read_text(encoding="utf-8") == render_models_page(), (
        "run `python -m antiphon.facts --docs docs/models.md`"
    )


def test_a_default_is_in_the_table():
    assert default_model("anthropic") == "anthropic/claude-sonnet-5-5"
    assert len(list_known_models()) > 100


def test_a_whole_name_matches_and_its_beginning_does_not():
    assert find("anthropic", "claude-sonnet-5") == "claude-sonnet-5"
    assert find("anthropic", "claude-sonnet-5-5") == "claude-sonnet-5-5"
    assert lookup_facts("anthropic", "claude-sonnet-5").forced_choice == "yes"
    assert lookup_facts("anthropic", "claude-sonnet-5-5").forced_choice == "no"


#: Facts that make a request differ from what was asked for; a guess must not do that.
REFUSALS = {
    "forced_choice": ("no", "no_required", "not_while_thinking"),
    "parallel": ("no",),
    "sampling": ("no", "only_without_reasoning"),
    "schema": ("no", "json_only"),
    "schema_with_tools": (False,),
    "mid_system": ("no", "ignored"),
    "bound_thinking": ("refuses", "by_account"),
    "tools_api": ("responses_only", "effort_none_only"),
    "thinking.default": ("never",),
    "thinking.off": ("impossible", "lowest", "between_tools"),
    "inputs.images": (False,),
    "signed_calls": (True,),
}
#: What nobody documents, and where the other choice is a 400: the source is an article or an inference.
UNSURE = {
    ("tools_api", "B"): "A release note extends the refusal to 5.4 and later; Responses takes the same request.",
    ("tools_api", "I"): "The pro models have no Chat Completions.",
    ("schema_with_tools", "I"): "Groq and Gemma: carried over, not read again; without a schema the request is taken.",
    ("schema", "B"): "GLM, MiniMax and Qwen: JSON of any form, by an article; a prompted form works in any case.",
}


def test_no_refusal_that_changes_a_request_is_a_guess():
    found = {
        (each.field, each.source.sure)
        for model in list_known_models()
        for each in explain(model.provider, model.name)
        if each.value in REFUSALS.get(each.field, ())
        and not isinstance(each.value, list)
        and each.source
        and each.source.sure in "BI"
        # Nobody can ask a retired model.
        and model.facts.lifecycle.state != "retired"
    }
    assert found == set(UNSURE)


def test_every_fact_has_a_source_a_date_and_a_letter():
    for model in list_known_models():
        for each in explain(model.provider, model.name):
            assert each.source is not None, (model.name, each.field)
            assert each.source.key in load_fact_table().sources
            assert date(2026, 7, 1) <= each.source.on <= date.today()


@pytest.mark.parametrize("provider", PROVIDERS_BY_PREFERENCE)
def test_a_default_has_all_that_typed_answers_ask_for_and_does_not_end_soon(provider: str):
    name = default_model(provider)
    assert name is not None
    facts = lookup_facts(provider, name.removeprefix(f"{provider}/"))
    assert facts.name
    for value in (facts.schema, facts.forced_choice, facts.thinking.default, facts.thinking.off, facts.context):
        assert value is not None
    assert facts.max_output is not None
    assert facts.cache.min is not None
    assert facts.in_prefix is not None
    retires = facts.lifecycle.retires
    assert facts.lifecycle.state == "active"
    assert retires is None or retires > date.today() + timedelta(days=90)


def test_a_model_that_replaces_another_is_known_and_lasts():
    for model in list_known_models():
        life = model.facts.lifecycle
        if life.replaced_by:
            assert find(model.provider, life.replaced_by) == life.replaced_by, model.name
        if life.retires or life.state == "retired":
            assert life.replaced_by, model.name
            instead = lookup_facts(model.provider, life.replaced_by).lifecycle
            assert instead.retires is None
            assert instead.state != "retired"


def test_each_api_has_its_stop_reasons_and_cures():
    assert set(APIS) == set(load_fact_table().stop_reasons)
    assert stop_reasons("anthropic")["pause_turn"].outcome == "continue"
    assert stop_reasons("gemini")["MAX_TOKENS"].outcome == "truncated"
    assert stop_reasons("openai-responses")["max_messages"].outcome == "continue"
    assert "surprise" not in stop_reasons("openai-chat")
    assert stop_reasons("smoke") == {}


@pytest.mark.parametrize(
    ("api", "status", "said", "fact", "action"),
    [
        ("anthropic", 400, "The block is bound to a different conversation.", "bound_thinking", "drop_block"),
        ("anthropic", 400, "tool_choice: `any` is not supported for this model", "forced_choice", "next_rung"),
        ("anthropic", 400, '"thinking.type.disabled" is not supported', "thinking.kinds", "thinking_kind"),
        ("anthropic", 400, "adaptive thinking is not supported on this model", "thinking.kinds", "thinking_kind"),
        ("anthropic", 400, "output_config.effort: xhigh is not supported", "efforts", "lower_effort"),
        ("anthropic", 400, "The schema is too complex", "schema_limits", "next_rung"),
        ("anthropic", 400, "diagnostics: Extra inputs are not permitted", "cache.diagnostics", "fallback"),
        ("anthropic", 400, "messages.2: role 'system' is not supported", "mid_system", "fallback"),
        ("anthropic", 404, "Container not found", "container", "forget_container"),
        ("openai-chat", 400, "Thinking mode does not support this tool_choice", "forced_choice", "next_rung"),
        ("openai-chat", 400, "tool_choice 'required' is not supported", "forced_choice", "next_rung"),
        ("openai-chat", 400, "This response_format type is unavailable now", "schema", "next_rung"),
        (
            "openai-chat",
            400,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "other.max_tokens_field",
            "rename",
        ),
        ("openai-chat", 400, "Function tools with reasoning are refused here", "tools_api", "responses"),
        (
            "openai-responses",
            400,
            "Unsupported value: 'reasoning.effort' is 'max'",
            "efforts",
            "lower_effort",
        ),
        ("openai-responses", 400, "Invalid schema for response_format 'answer'", "schema_limits", "next_rung"),
        (
            "openai-responses",
            400,
            "Encrypted content is not supported",
            "thinking.default",
            "leave_out",
        ),
        ("openai-responses", 400, "Tool choice 'f' not found in 'tools' parameter.", "forced_choice", "leave_out"),
        ("openai-responses", 400, "configuration_update items are not supported", "config_change", "fallback"),
        ("gemini", 400, "Function calling with a response mime type is unsupported", "schema_with_tools", "next_rung"),
        ("gemini", 400, "thinkingLevel MINIMAL is not supported", "efforts", "lower_effort"),
        ("gemini", 400, "Function call is missing a thought_signature", "signature_scope", "substitute_signature"),
    ],
)
def test_a_refusal_finds_its_cure(api: str, status: int, said: str, fact: str, action: str):
    found = next(each for each in cures(api) if each.status == status and each.pattern.search(said))
    assert (found.fact, found.action) == (fact, action)


def test_words_of_other_failures_find_none():
    for api in ("anthropic", "openai-chat", "openai-responses", "gemini"):
        for said in ("prompt is too long", "Your credit balance is too low", "invalid x-api-key", "Rate limit reached"):
            assert not [each for each in cures(api) if each.pattern.search(said)]


def test_the_table_is_read_at_the_first_lookup_and_not_before():
    code = (
        "import sys, antiphon, antiphon.session, antiphon.providers, antiphon.facts as f\n"
        "assert 'antiphon.facts.table' not in sys.modules and 'tomllib' not in sys.modules\n"
        "f.lookup_facts('anthropic', 'claude-sonnet-5-5')\n"
        "assert 'tomllib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
