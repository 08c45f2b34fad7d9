"""Names, keys, addresses, sizes and prices."""

from dataclasses import fields
from pathlib import Path

import pytest

from antiphon import connect
from antiphon.errors import ConfigurationError
from antiphon.facts import Facts, lookup_facts, register_model
from antiphon.providers import (
    PROVIDERS,
    Provider,
    register_provider,
    resolve,
)
from antiphon.wire import Profile, Usage


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch):
    for provider in PROVIDERS.values():
        for name in (*provider.key_env, *provider.url_env):
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("anthropic/claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        ("claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        ("gpt-5", "openai", "gpt-5"),
        ("o3-mini", "openai", "o3-mini"),
        ("openai-chat/gpt-4o", "openai-chat", "gpt-4o"),
        ("gemini/gemini-3-pro", "google", "gemini-3-pro"),
        ("gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("openrouter/anthropic/claude-sonnet-5", "openrouter", "anthropic/claude-sonnet-5"),
        ("ollama/qwen3:8b", "ollama", "qwen3:8b"),
        ("mistral-large-latest", "mistral", "mistral-large-latest"),
        ("deepseek/deepseek-reasoner", "deepseek", "deepseek-reasoner"),
        ("groq/llama-3.3-70b", "groq", "llama-3.3-70b"),
        ("grok-4.3", "xai", "grok-4.3"),
        ("sonar-pro", "perplexity", "sonar-pro"),
        ("cerebras/gpt-oss-120b", "cerebras", "gpt-oss-120b"),
        ("huggingface/zai-org/GLM-5", "huggingface", "zai-org/GLM-5"),
    ],
)
def test_a_name_tells_the_provider(model: str, provider: str, name: str):
    place, there = resolve(model)
    assert (place.name, there) == (provider, name)


def test_any_name_at_any_url():
    assert resolve("my-model", url="http://localhost:9/v1")[0].api == "openai-chat"
    assert resolve("my/model", provider="http://localhost:9/v1")[1] == "my/model"
    assert resolve("anthropic/my-model", url="http://localhost:9")[0].name == "anthropic"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("", "no model was named"),
        ("nonsense", "no provider is known for model 'nonsense'; write 'provider/nonsense' with one of anthropic"),
        (
            "antropic/claude",
            r"there is no provider 'antropic' \(for model 'antropic/claude'\); did you mean 'anthropic'",
        ),
        ("zzz/model", "there is no provider 'zzz'.*; there are anthropic"),
    ],
)
def test_a_name_nobody_knows(model: str, message: str):
    with pytest.raises(ConfigurationError, match=message):
        resolve(model)


def test_keys_come_from_the_usual_places(monkeypatch: pytest.MonkeyPatch):
    wanted = (
        "no key for google: `antiphon setup keys set google` stores one; or set GEMINI_API_KEY or GOOGLE_API_KEY, or"
    )
    with pytest.raises(ConfigurationError, match=wanted):
        connect("gemini-3-pro")
    monkeypatch.setenv("GOOGLE_API_KEY", "k1")
    connect("gemini-3-pro")
    connect("ollama/qwen3"), "a server on this machine needs none"


def test_addresses_come_from_the_usual_places(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1/")
    assert connect("gpt-5", key="k").url == "http://localhost:1/v1"
    assert connect("openai/gpt-5", key="k", url="http://localhost:2/v1").url == "http://localhost:2/v1"


def test_a_key_is_not_sent_to_an_address_that_no_provider_was_named_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    for model in ("my-model", "gpt-oss:20b"):
        there = connect(model, url="http://localhost:9/v1")
        assert there.provider.api == "openai-chat"
        assert "secret" not in str([getattr(value, "headers", value) for value in vars(there).values()])


def test_providers_can_be_added():
    register_provider(Provider("mine", "openai-chat", "http://localhost:5/v1"))
    try:
        assert connect("mine/model").url == "http://localhost:5/v1"
    finally:
        del PROVIDERS["mine"]
    with pytest.raises(ConfigurationError, match="there is no API 'smoke'"):
        register_provider(Provider("mine", "smoke", "http://localhost"))


def test_what_is_known_of_models_and_what_is_not():
    known = connect("anthropic/claude-sonnet-4-5", key="any").facts
    assert known.inputs is not None
    assert known.inputs["images"] is not None
    assert known.context == 200_000
    assert connect("openai-chat/gpt-4o", key="any").facts.context == connect("gpt-4o", key="any").facts.context
    assert connect("ollama/something-new").facts.context is None


def test_a_size_that_the_facts_leave_open_comes_from_the_price_data():
    assert lookup_facts("perplexity", "sonar").context is None
    assert connect("perplexity/sonar", key="any").facts.context is not None


def test_what_is_known_can_be_overridden():
    register_model("ollama/test-model*", Facts(context=8192))
    assert connect("ollama/test-model:1b").facts.context == 8192
    with pytest.raises(ConfigurationError, match="a pattern looks like"):
        register_model("qwen*", Facts())


def test_of_several_statements_the_latest_is_believed_and_the_earlier_fill_in():
    register_model("ollama/order-*", Facts(context=1, parallel="no"))
    register_model("ollama/order-b*", Facts(context=2))
    model = connect("ollama/order-b1")
    assert (model.facts.context, model.facts.parallel) == (2, "no")
    register_model("ollama/order-*", Facts(context=3))
    assert model.facts.context == 3
    assert connect("ollama/order-a").facts.context == 3


@pytest.mark.parametrize("name", ["azure", "azure-responses", "bedrock", "snowflake", "gpustack"])
def test_a_provider_whose_address_is_the_customers_own_asks_for_it(name: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ConfigurationError, match=f"{name} has no address that is the same for all.*pass `url`"):
        connect(f"{name}/m", key="k")
    assert connect(f"{name}/m", key="k", url="http://localhost:1/v1").url == "http://localhost:1/v1"
    monkeypatch.setenv("AZURE_OPENAI_BASE_URL", "https://mine.example/openai/v1")
    assert connect("azure/m", key="k").url == "https://mine.example/openai/v1"


def test_prices_and_unknown_prices():
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    price = connect("claude-sonnet-4-5", key="k").cost(usage)
    assert price is not None
    assert price > 1
    assert connect("ollama/qwen3").cost(usage) is None
    assert connect("claude-sonnet-4-5", key="k").cost(Usage()) is None
    cached = connect("claude-sonnet-4-5", key="k").cost(Usage(1_000_000, 0, cache_read_tokens=1_000_000))
    assert cached is not None
    assert cached < price / 10


def test_the_page_of_providers_has_them_all_and_every_way_to_differ():
    page = (Path(__file__).parents[2] / "docs" / "providers.md").read_text()
    assert [name for name in PROVIDERS if f"`{name}`" not in page] == ["local"], "which has a page of its own"
    assert [each.name for each in fields(Profile) if f"`{each.name}`" not in page] == []


@pytest.mark.parametrize(
    ("model", "api"),
    [
        ("azure/gpt-4o", "openai-chat"),
        ("azure/gpt-5-pro", "openai-responses"),
        ("azure/gpt-6-sol", "openai-responses"),
        ("openai-chat/gpt-5-pro", "openai-chat"),
        ("google/gemini-3.5-flash", "gemini"),
        ("google-interactions/gemini-3.5-flash", "google-interactions"),
    ],
)
def test_a_model_is_asked_by_the_api_in_which_it_takes_tools(model: str, api: str):
    connected = connect(model, key="k", url="https://mine.example/v1")
    assert (connected.target.api, connected.name) == (api, model)


def test_prices_are_those_of_the_company_whichever_api_is_asked():
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    for one, other in (("google", "google-interactions"), ("openai", "openai-chat")):
        name = "gemini-2.5-flash" if one == "google" else "gpt-4o"
        cost = connect(f"{one}/{name}", key="k").cost(usage)
        assert cost is not None
        assert connect(f"{other}/{name}", key="k").cost(usage) == cost
