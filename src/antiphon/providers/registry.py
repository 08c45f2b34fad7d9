"""Registry of providers: their APIs, URLs and keys, and which provider a model's name means."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.errors import ConfigurationError
from antiphon.facts.resolution import list_known_models, lookup_facts
from antiphon.facts.table import load_fact_table
from antiphon.providers.redaction import split_credentials
from antiphon.wire import APIS, Profile


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models: its API, its URL, the variables of its key, and its profile."""

    name: str
    api: str
    url: str
    key_env: tuple[str, ...] = ()
    url_env: tuple[str, ...] = ()
    profile: Profile = field(default_factory=Profile)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    #: The header of the key, if it is not that of the API.
    key_header: str = ""
    #: A platform's parts of its address by name (`region`), with their variables.
    place_env: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    #: The kind of credentials that are used without a key: a module of `providers.sign_in`.
    sign_in: str = ""
    #: Variables that show that the user has such credentials.
    sign_in_env: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # Headers may hold keys, and a URL a password.
        return f"<Provider {self.name} ({self.api}) at {split_credentials(self.url)[0]}>"

    def key(self, environment: Mapping[str, str] | None = None) -> str:
        """Return the key from the first of its variables that is set, in the process's environment or the
        given one.
        """
        return _first_set(self.key_env, environment)

    def get_key_header(self) -> str:
        """Return the header that holds the key."""
        return self.key_header or APIS[self.api].http.key_header

    def address(self, environment: Mapping[str, str] | None = None) -> str:
        """Return the base URL, which the environment may override. Raise ConfigurationError if there is
        none.
        """
        if self.place_env:
            return place_model(self, "", environment).url
        url = _first_set(self.url_env, environment) or self.url
        if not url:
            ways = " or ".join((*(f"set {name}" for name in self.url_env), "pass `url`"))
            raise ConfigurationError(f"{self.name} has no address that is the same for all: {ways}")
        return url if "://" in url else f"http://{url}"


def _first_set(names: tuple[str, ...], environment: Mapping[str, str] | None) -> str:
    source = os.environ if environment is None else environment
    return next((value for name in names if (value := source.get(name, "").strip())), "")


#: The provider that runs models in this process.
LOCAL_PROVIDER = "local"
_COMPATIBLE_PROFILE = Profile(max_tokens_field="max_tokens")
# Servers differ most in the field that returns a model's thinking to it.
_REASONING_CONTENT_PROFILE = Profile(max_tokens_field="max_tokens", reasoning_fields=("reasoning_content",))
_REASONING_PROFILE = Profile(max_tokens_field="max_tokens", reasoning_fields=("reasoning",))
_VLLM_PROFILE = Profile(max_tokens_field="max_tokens", reasoning_fields=("reasoning", "reasoning_content"))
_REASONING_DETAILS_PROFILE = Profile(max_tokens_field="max_tokens", reasoning_fields=("reasoning_details", "reasoning"))


def _make_chat_provider(
    name: str, url: str, key: str, profile: Profile = _COMPATIBLE_PROFILE, url_env: tuple[str, ...] = ()
) -> Provider:
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
        Provider(
            "google-interactions",
            "google-interactions",
            "https://generativelanguage.googleapis.com",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            ("GOOGLE_GEMINI_BASE_URL",),
            headers={"api-revision": "2026-05-20"},
        ),
        Provider("xai", "openai-responses", "https://api.x.ai/v1", ("XAI_API_KEY",), ("XAI_BASE_URL",)),
        _make_chat_provider("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY", _REASONING_PROFILE),
        _make_chat_provider("lmstudio", "http://localhost:1234/v1", "LM_API_TOKEN", _REASONING_PROFILE),
        _make_chat_provider("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", _VLLM_PROFILE),
        _make_chat_provider("llamacpp", "http://localhost:8080/v1", "LLAMA_API_KEY", _REASONING_CONTENT_PROFILE),
        _make_chat_provider(
            "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", _REASONING_DETAILS_PROFILE
        ),
        _make_chat_provider(
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
        _make_chat_provider(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK_API_KEY",
            replace(_REASONING_CONTENT_PROFILE, reasoning_required=True, images=False),
        ),
        _make_chat_provider(
            "groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", Profile(reasoning_fields=("reasoning",))
        ),
        _make_chat_provider(
            "cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", Profile(reasoning_fields=("reasoning",))
        ),
        _make_chat_provider("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
        _make_chat_provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        _make_chat_provider("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN"),
        _make_chat_provider("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", _REASONING_CONTENT_PROFILE),
        _make_chat_provider("crusoe", "https://api.inference.crusoecloud.com/v1", "CRUSOE_API_KEY", _VLLM_PROFILE),
        _make_chat_provider(
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
        # Providers whose URL is the customer's own.
        *(
            Provider(
                name,
                api,
                "",
                ("AZURE_OPENAI_API_KEY",),
                ("AZURE_OPENAI_BASE_URL",),
                key_header="api-key",
                place_env={"endpoint": ("AZURE_OPENAI_ENDPOINT",)},
                sign_in="entra",
                sign_in_env=("AZURE_CLIENT_ID", "IDENTITY_ENDPOINT"),
            )
            for name, api in (("azure", "openai-chat"), ("azure-responses", "openai-responses"))
        ),
        Provider(
            "vertex",
            "gemini",
            "",
            key_header="authorization",
            place_env={
                "project": ("GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID"),
                "location": ("GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION"),
            },
            sign_in="google",
            sign_in_env=("GOOGLE_APPLICATION_CREDENTIALS",),
        ),
        *(
            Provider(
                name,
                "anthropic",
                "",
                ("AWS_BEARER_TOKEN_BEDROCK",),
                key_header="authorization",
                place_env={"region": ("AWS_REGION", "AWS_DEFAULT_REGION")},
                sign_in="aws",
                sign_in_env=(
                    *("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"),
                    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
                ),
            )
            for name in ("bedrock", "bedrock-invoke")
        ),
        _make_chat_provider("snowflake", "", "SNOWFLAKE_TOKEN", _REASONING_DETAILS_PROFILE),
        _make_chat_provider("gpustack", "", "GPUSTACK_API_KEY", _VLLM_PROFILE),
        # No server: the URL is only a name for this process.
        Provider(LOCAL_PROVIDER, "openai-chat", "http://local", profile=replace(_COMPATIBLE_PROFILE, images=False)),
    )
}

#: How many providers an error names.
_MAX_NAMED = 4
#: Prefixes of model names that identify the provider.
_NAME_PREFIXES = {
    r"claude": "anthropic",
    r"gpt|chatgpt|o\d|codex": "openai",
    r"gemini|gemma": "google",
    r"mistral|ministral|magistral|codestral|devstral|pixtral": "mistral",
    r"deepseek": "deepseek",
    r"grok": "xai",
    r"sonar": "perplexity",
}
#: What a part of a platform's address may be; an endpoint is a URL.
_PLACE_FORM = re.compile(r"[a-z0-9][a-z0-9:.-]*")
_PLACE_FORMS = {"endpoint": re.compile(r"https?://[^\s?#]+")}
_ALIASES = {"gemini": "google", "openai-responses": "openai", "llama.cpp": "llamacpp"}
#: Local servers, which usually need no key.
_KEYLESS = ("ollama", "lmstudio", "vllm", "llamacpp", "litellm")


def register_provider(provider: Provider) -> None:
    """Register a provider under its name, in place of one of the same name."""
    if provider.api not in APIS:
        raise ConfigurationError(f"there is no API {provider.api!r}; there are {', '.join(APIS)}")
    PROVIDERS[provider.name] = provider


def resolve(model: str, provider: str | None = None, url: str | None = None) -> tuple[Provider, str]:
    """Return the provider, and the model's own name there.

    `model` is `provider/name`, or a bare name whose prefix identifies the provider. `url` is another
    URL of the named provider; without one, it is a server with OpenAI's Chat Completions API.
    `provider` may be such a URL too.
    """
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError("no model was named; a name looks like 'anthropic/claude-sonnet-5' or 'gpt-5'")
    if provider and "://" in provider:
        provider, url = None, provider
    if provider:
        return _get_provider(provider, model), model.removeprefix(f"{provider}/")
    prefix, slash, name = model.partition("/")
    prefix = _ALIASES.get(prefix, prefix)
    if prefix == LOCAL_PROVIDER and not url:
        from antiphon.local.manifest import DEFAULT_TIER

        return PROVIDERS[LOCAL_PROVIDER], name or DEFAULT_TIER
    if slash and name and prefix in PROVIDERS:
        return PROVIDERS[prefix], name
    if url:
        # A name's prefix identifies the maker, not the server at this URL: never send it the maker's key.
        return Provider("custom", "openai-chat", url, profile=_COMPATIBLE_PROFILE), model
    for pattern, family in _NAME_PREFIXES.items():
        if not slash and re.match(pattern, model, re.IGNORECASE):
            return PROVIDERS[family], model
    if prefix in PROVIDERS:
        raise ConfigurationError(f"{model!r} names a provider, not a model; write '{prefix}/' and the name of a model")
    if slash:
        _get_provider(prefix, model)
    before, colon, after = model.partition(":")
    if colon and after and before in PROVIDERS:
        raise ConfigurationError(f"no provider is known for model {model!r}; did you mean '{before}/{after}'?")
    near = suggest_name(model, (each.name for each in list_known_models()))
    known = ", ".join([*PROVIDERS][:_MAX_NAMED])
    raise ConfigurationError(
        f"no provider is known for model {model!r}; {f'did you mean {near!r}? Or ' if near else ''}write"
        f" 'provider/{model}' with one of {known} …, or give the server's `url`; `antiphon setup` chooses a model"
    )


def place_model(
    provider: Provider, model: str, environment: Mapping[str, str] | None = None, url: str | None = None
) -> Provider:
    """Return the provider as it serves a model: at its address or `url`, and on a platform in the API and with the
    paths of that model.

    Raise ConfigurationError if the address or a part of it is not known.
    """
    if not provider.place_env:
        return replace(provider, url=url or provider.address(environment))
    platform = load_fact_table().find_platform(provider.name, "")
    assert platform is not None
    name = model.lower()
    route = next((each for each in platform.routes if not name or each.models.fullmatch(name)), None)
    if route is None:
        known = " or ".join(f"`{each.models.pattern}`" for each in platform.routes)
        raise ConfigurationError(f"{provider.name} is known to serve models whose names match {known}, not {model!r}")
    given = url or _first_set(provider.url_env, environment)
    parts = _find_place(provider, platform.access, environment)
    for part in parts:
        in_address = not given and f"{{{part}}}" in route.address
        if not parts[part] and (in_address or f"{{{part}}}" in route.path):
            ways = [f"set {name}" for name in (*provider.place_env[part], *(provider.url_env if in_address else ()))]
            ways += ["pass `url`"] if in_address else []
            raise ConfigurationError(
                f"{provider.name} has no address that is the same for all, and the {part} is not known:"
                f" {' or '.join(ways)}"
            )
    profile = replace(
        provider.profile,
        path=_fill_place(route.path, parts),
        stream_path=_fill_place(route.stream_path, parts),
        body_version=route.body_version,
        body_betas=route.body_betas,
    )
    api = route.api or _choose_openai_api(provider, model)
    headers = {**route.headers, **provider.headers}
    return replace(provider, api=api, url=given or _fill_place(route.address, parts), profile=profile, headers=headers)


def _choose_openai_api(provider: Provider, model: str) -> str:
    """Return the API in which a model of OpenAI accepts tools, where a platform serves both."""
    needs_responses = lookup_facts("openai", model).tools_api in ("responses_only", "effort_none_only")
    return "openai-responses" if needs_responses else provider.api


def _find_place(provider: Provider, access: Mapping[str, Any], environment: Mapping[str, str] | None) -> dict[str, str]:
    """Return the parts of a platform's address; those that are not known are empty."""
    parts: dict[str, str] = {}
    for name, variables in provider.place_env.items():
        parts[name] = value = _first_set(variables, environment)
        if value and not _PLACE_FORMS.get(name, _PLACE_FORM).fullmatch(value):
            raise ConfigurationError(f"{' or '.join(variables)} holds no {name} of {provider.name}: {value!r:.60}")
    if "endpoint" in parts:
        parts["endpoint"] = parts["endpoint"].rstrip("/").removesuffix("/openai/v1")
    if "location" in parts:
        parts["location"] = parts["location"] or "global"
        hosts: Mapping[str, str] = access["hosts"]
        host = hosts.get(parts["location"], hosts["other"])
        parts["host"] = host.replace("{location}", parts["location"])
    return parts


def _fill_place(form: str, parts: Mapping[str, str]) -> str:
    for name, value in parts.items():
        form = form.replace(f"{{{name}}}", value)
    return form


def _get_provider(name: str, model: str) -> Provider:
    name = _ALIASES.get(name, name)
    if name not in PROVIDERS:
        near = suggest_name(name, PROVIDERS)
        hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(PROVIDERS)}"
        raise ConfigurationError(f"there is no provider {name!r} (for model {model!r}){hint}")
    return PROVIDERS[name]


def needs_key(provider: Provider) -> bool:
    """Return whether requests without a key are pointless."""
    return bool(provider.key_env) and provider.name not in _KEYLESS and not provider.sign_in


def build_key_headers(header: str, key: str) -> dict[str, str]:
    """Return the header of a key or token, or none without a key."""
    return {header: f"Bearer {key}" if header == "authorization" else key} if key else {}


def check_key_text(key: str) -> None:
    """Raise ConfigurationError for a key that no HTTP header takes. The message does not quote it."""
    if not key.isascii() or not key.isprintable():
        raise ConfigurationError("the key holds characters that no HTTP header takes; was it copied whole?")
