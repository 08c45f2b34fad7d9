"""Facts from vendors' model lists. Only a user's command requests them, never a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.errors import ConfigurationError, ProviderError
from antiphon.facts import find
from antiphon.providers.error_mapping import make_transport_error
from antiphon.providers.redaction import find_request_secrets
from antiphon.providers.registry import PROVIDERS, Provider, resolve
from antiphon.wire.text_conventions import truncate_server_text

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_SERVER_TOOLS = ("web_search", "code_execution")


def fetch_vendor_facts(environment: Mapping[str, str], name: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the facts that Anthropic and xAI report, by `provider/name` and dotted field.

    Without a name, return those of all their models.
    """
    if name is not None:
        provider, model = resolve(name)
        if provider.name not in _VENDORS:
            raise ConfigurationError(
                f"{provider.name} tells nothing of its models; {' and '.join(_VENDORS)} do"
                " (`antiphon setup models learn` takes facts from a file)"
            )
        found = dict(_fetch_facts(provider, environment, model))
        if not found:
            raise ConfigurationError(f"{provider.name} does not know a model {model!r}")
        return found
    asked = [PROVIDERS[each] for each in _VENDORS if PROVIDERS[each].key(environment)]
    if not asked:
        raise ConfigurationError(
            f"there is no key of {' or '.join(_VENDORS)}: `antiphon setup keys set anthropic` stores one"
        )
    return {model: facts for provider in asked for model, facts in _fetch_facts(provider, environment, "")}


def _fetch_facts(
    provider: Provider, environment: Mapping[str, str], model: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    key = provider.key(environment)
    if not key:
        raise ConfigurationError(f"no key for {provider.name}: `antiphon setup keys set {provider.name}` stores one")
    for entry in _VENDORS[provider.name][0](provider, environment, key, model):
        if id := as_string(entry.get("id")):
            yield f"{provider.name}/{find(provider.name, id) or id}", _VENDORS[provider.name][1](entry)


def _get_json(provider: Provider, environment: Mapping[str, str], path: str, headers: dict[str, str]) -> dict[str, Any]:
    import httpx2

    url = f"{provider.address(environment).rstrip('/')}{path}"
    try:
        response = httpx2.get(url, headers={**provider.headers, **headers}, timeout=30)
    except httpx2.HTTPError as error:
        raise make_transport_error(provider.name, url, error) from None
    if response.status_code != 200:
        text = find_request_secrets(headers).hide(truncate_server_text(response.text))
        raise ProviderError(
            f"{provider.name} answered {response.status_code} to {path}: {text}", provider=provider.name
        )
    try:
        return as_object(response.json())
    except ValueError:
        raise ProviderError(f"{provider.name} answered {path} with no JSON", provider=provider.name) from None


def _fetch_anthropic_models(
    provider: Provider, environment: Mapping[str, str], key: str, model: str
) -> Iterator[dict[str, Any]]:
    headers = {"x-api-key": key}
    if model:
        yield _get_json(provider, environment, f"/v1/models/{quote(model, safe='')}", headers)
        return
    after = ""
    while True:
        page = _get_json(provider, environment, f"/v1/models?limit=100{after}", headers)
        yield from map(as_object, as_array(page.get("data")))
        last = as_string(page.get("last_id"))
        if not page.get("has_more") or not last:
            return
        after = f"&after_id={quote(last, safe='')}"


def _fetch_xai_models(
    provider: Provider, environment: Mapping[str, str], key: str, model: str
) -> Iterator[dict[str, Any]]:
    page = _get_json(provider, environment, "/language-models", {"authorization": f"Bearer {key}"})
    for entry in map(as_object, as_array(page.get("models"))):
        if not model or model == entry.get("id") or model in as_array(entry.get("aliases")):
            yield entry


def _parse_anthropic_facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    able = as_object(entry.get("capabilities"))
    facts: dict[str, Any] = {
        "context": entry.get("max_input_tokens"),
        "max_output": entry.get("max_tokens"),
        "lifecycle.state": entry.get("lifecycle"),
        "lifecycle.deprecated": _parse_day(entry.get("deprecated_at")),
        "lifecycle.retires": _parse_day(entry.get("retires_at")),
    }
    facts |= _parse_thinking(as_object(able.get("thinking"))) | _parse_efforts(as_object(able.get("effort")))
    if (schema := _parse_supported(able.get("structured_outputs"))) is not None:
        facts["schema"] = "yes" if schema else "no"
    for field, name in (("inputs.images", "image_input"), ("inputs.pdf", "pdf_input")):
        # The table knows supported inputs in more detail already.
        if _parse_supported(able.get(name)) is False:
            facts[field] = False
    for name in _SERVER_TOOLS:
        if _parse_supported(as_object(able.get("server_tools")).get(name)) is False:
            facts[f"server_tools.{name}"] = []
    return {field: value for field, value in facts.items() if value is not None}


def _parse_thinking(thinking: Mapping[str, Any]) -> dict[str, Any]:
    types = as_object(thinking.get("types"))
    if not types:
        return {}
    taken = [name for name in ("adaptive", "enabled", "between_tools") if _parse_supported(types.get(name))]
    off = next((name for name in ("disabled", "between_tools") if _parse_supported(types.get(name))), "impossible")
    return {"thinking.kinds": taken, "thinking.off": off}


def _parse_efforts(effort: Mapping[str, Any]) -> dict[str, Any]:
    if not effort:
        return {}
    return {"efforts": [name for name in _EFFORTS if _parse_supported(effort.get(name))]}


def _parse_supported(capability: object) -> bool | None:
    value = as_object(capability).get("supported", capability)
    return value if isinstance(value, bool) else None


def _parse_day(value: object) -> str | None:
    return value[:10] if isinstance(value, str) else None


def _parse_xai_facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    size = entry.get("context_length") or entry.get("context_window")
    if isinstance(size, int):
        facts["context"] = size
    taken = as_array(entry.get("input_modalities"))
    if taken:
        facts["inputs.images"] = "image" in taken
    return facts


_VENDORS = {
    "anthropic": (_fetch_anthropic_models, _parse_anthropic_facts),
    "xai": (_fetch_xai_models, _parse_xai_facts),
}
