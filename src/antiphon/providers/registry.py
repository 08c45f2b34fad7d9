"""Which providers there are, what they speak, where they are, and which one a model's name means."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from antiphon._suggestions import nearest
from antiphon.errors import ConfigurationError
from antiphon.providers.secrets import without_user
from antiphon.wire import APIS, Profile


@dataclass(frozen=True, slots=True)
class Provider:
    """A place that serves models: its API, its address, where its key is found, and how it differs from the rest."""

    name: str
    api: str
    url: str
    key_env: tuple[str, ...] = ()
    url_env: tuple[str, ...] = ()
    profile: Profile = field(default_factory=Profile)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        # Headers may hold keys, and an address a password.
        return f"<Provider {self.name} ({self.api}) at {without_user(self.url)[0]}>"

    def key(self, environment: Mapping[str, str] | None = None) -> str:
        """The key from the first of its variables that is set, in the process's environment or the given one."""
        return _first(self.key_env, environment)

    def address(self, environment: Mapping[str, str] | None = None) -> str:
        """The base URL, unless the environment names another; a ConfigurationError where there is none."""
        url = _first(self.url_env, environment) or self.url
        if not url:
            ways = " or ".join((*(f"set {name}" for name in self.url_env), "pass `url`"))
            raise ConfigurationError(f"{self.name} has no address that is the same for all: {ways}")
        return url if "://" in url else f"http://{url}"


def _first(names: tuple[str, ...], environment: Mapping[str, str] | None) -> str:
    source = os.environ if environment is None else environment
    return next((value for name in names if (value := source.get(name, "").strip())), "")


#: The provider that is no server but this process.
LOCAL = "local"
_COMPATIBLE = Profile(max_tokens_field="max_tokens")
# Servers differ most in where a model's thinking goes back to it.
_CONTENT = Profile(max_tokens_field="max_tokens", reasoning_fields=("reasoning_content",))
_REASONING = Profile(max_tokens_field="max_tokens", reasoning_fields=("reasoning",))
_VLLM = Profile(max_tokens_field="max_tokens", reasoning_fields=("reasoning", "reasoning_content"))
_DETAILS = Profile(max_tokens_field="max_tokens", reasoning_fields=("reasoning_details", "reasoning"))


def _chat(name: str, url: str, key: str, profile: Profile = _COMPATIBLE, url_env: tuple[str, ...] = ()) -> Provider:
    return Provider(name, "openai-chat", url, (key,), url_env, profile)


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            "anthropic",
            "anthropic",
            "https://api.anthropic.com",
            ("ANTHROPIC_API_KEY",),
            ("ANTHROPIC_BASE_URL",),
            Profile(sampling=False),
            {"anthropic-version": "2026-10-21"},
        ),
        Provider("openai", "openai-responses", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
        Provider("openai-chat", "openai-chat", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
        Provider(
            "google",
            "gemini",
            "https://generativelanguage.googleapis.com",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            ("GOOGLE_GEMINI_BASE_URL",),
        ),
        Provider("xai", "openai-responses", "https://api.x.ai/v1", ("XAI_API_KEY",), ("XAI_BASE_URL",)),
        _chat("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY", _REASONING),
        _chat("lmstudio", "http://localhost:1234/v1", "LM_API_TOKEN", _REASONING),
        _chat("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", _VLLM),
        _chat("llamacpp", "http://localhost:8080/v1", "LLAMA_API_KEY", _CONTENT),
        _chat("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", _DETAILS),
        _chat(
            "mistral",
            "https://api.mistral.ai/v1",
            "MISTRAL_API_KEY",
            Profile(
                max_tokens_field="max_tokens",
                short_ids=True,
                assistant_after_tool=True,
                stream_usage=False,
                reasoning_fields=("content",),
            ),
        ),
        _chat(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK_API_KEY",
            replace(_CONTENT, reasoning_required=True, images=False),
        ),
        _chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", Profile(reasoning_fields=("reasoning",))),
        _chat("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", Profile(reasoning_fields=("reasoning",))),
        _chat("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
        _chat("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        _chat("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN"),
        _chat("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", _CONTENT),
        _chat("crusoe", "https://api.inference.crusoecloud.com/v1", "CRUSOE_API_KEY", _VLLM),
        _chat(
            "litellm",
            "http://localhost:4000/v1",
            "LITELLM_API_KEY",
            Profile(
                max_tokens_field="max_tokens",
                declare_called_tools=True,
                reasoning_fields=("thinking_blocks", "reasoning_content"),
            ),
            ("LITELLM_BASE_URL",),
        ),
        # Those whose address is the customer's own.
        _chat("azure", "", "AZURE_OPENAI_API_KEY", Profile(), ("AZURE_OPENAI_BASE_URL",)),
        Provider("bedrock", "openai-responses", "", ("AWS_BEARER_TOKEN_BEDROCK",)),
        _chat("snowflake", "", "SNOWFLAKE_TOKEN", _DETAILS),
        _chat("gpustack", "", "GPUSTACK_API_KEY", _VLLM),
        # No server: the address only names what runs in this process.
        Provider(LOCAL, "openai-chat", "http://local", profile=replace(_COMPATIBLE, images=False)),
    )
}

#: What the names of models begin with, where that tells the provider.
_FAMILIES = {
    r"claude": "anthropic",
    r"gpt|chatgpt|o\d|codex": "openai",
    r"gemini|gemma": "google",
    r"mistral|ministral|magistral|codestral|devstral|pixtral": "mistral",
    r"deepseek": "deepseek",
    r"grok": "xai",
    r"sonar": "perplexity",
}
_ALIASES = {"gemini": "google", "openai-responses": "openai", "llama.cpp": "llamacpp"}
#: Servers on this machine, which as a rule want no key.
_KEYLESS = ("ollama", "lmstudio", "vllm", "llamacpp", "litellm")


def register_provider(provider: Provider) -> None:
    """Make a provider known under its name; one of the same name is replaced."""
    if provider.api not in APIS:
        raise ConfigurationError(f"there is no API {provider.api!r}; there are {', '.join(APIS)}")
    PROVIDERS[provider.name] = provider


def resolve(model: str, provider: str | None = None, url: str | None = None) -> tuple[Provider, str]:
    """The provider and the model's own name there.

    `model` is `provider/name`, or a bare name whose family tells the provider. `url` is another address for the
    provider that is named; where none is, it is a server that speaks OpenAI's Chat Completions. `provider` may be such
    a URL too.
    """
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError("no model was named; a name looks like 'anthropic/claude-sonnet-5' or 'gpt-5'")
    if provider and "://" in provider:
        provider, url = None, provider
    if provider:
        return _known(provider, model), model.removeprefix(f"{provider}/")
    prefix, slash, name = model.partition("/")
    prefix = _ALIASES.get(prefix, prefix)
    if prefix == LOCAL and not url:
        from antiphon.providers.local.manifest import DEFAULT

        return PROVIDERS[LOCAL], name or DEFAULT
    if slash and name and prefix in PROVIDERS:
        return PROVIDERS[prefix], name
    if url:
        # A family says who made a model, not who serves it here: no key of theirs goes to this address.
        return Provider("custom", "openai-chat", url, profile=_COMPATIBLE), model
    for pattern, family in _FAMILIES.items():
        if not slash and re.match(pattern, model, re.IGNORECASE):
            return PROVIDERS[family], model
    if slash:
        _known(prefix, model)
    raise ConfigurationError(
        f"no provider is known for model {model!r}; write 'provider/{model}' with one of {', '.join(PROVIDERS)},"
        " or give the server's `url`"
    )


def _known(name: str, model: str) -> Provider:
    name = _ALIASES.get(name, name)
    if name not in PROVIDERS:
        near = nearest(name, PROVIDERS)
        hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(PROVIDERS)}"
        raise ConfigurationError(f"there is no provider {name!r} (for model {model!r}){hint}")
    return PROVIDERS[name]


def needs_key(provider: Provider) -> bool:
    """Whether requests without a key are pointless."""
    return bool(provider.key_env) and provider.name not in _KEYLESS
