"""Offline checks of request bodies against the rules of the four provider APIs.

`check` returns every violation, in the words of the provider's own error message. This
package knows only JSON: it reads bodies of any origin, trusts no shape, and knows nothing of
conversations. Rules that depend on server state (whether a signature, an encrypted item or a stored
response is genuine) are not here.

Rule codes are a letter for the API and a number: A Anthropic, O OpenAI chat, R OpenAI responses, G
Gemini. Number 0 is a body of the wrong shape. `table` describes each rule and the providers it
applies to.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from antiphon._base.json_access import as_object, as_string
from antiphon._base.lazy_exports import publish_exports
from antiphon.wire.api_spec import HttpForm
from antiphon.wire.apis import get_api_spec
from antiphon.wire.rules.subject import identify_subject
from antiphon.wire.rules.table import RULES, Rule
from antiphon.wire.rules.violation import Violation

__all__ = ["RULES", "Rule", "Violation", "check"]


def check(
    body: object,
    api: str,
    model: str | None = None,
    *,
    provider: str | None = None,
    platform: str = "",
    headers: Mapping[str, str] | None = None,
) -> list[Violation]:
    """Return every rule of `api` that `body` violates. An empty list means the provider would accept it.

    `provider` is the server's name in the registry: compatible servers have fewer rules than the API's
    owner, who is the default. `platform` is where the model runs. `model` is needed if the body does
    not name it, as with Gemini. Rules for some models follow from their facts and are skipped if the
    model is unknown. Rules about headers are skipped without `headers`.
    """
    spec = get_api_spec(api)
    checker = import_module(f"{__name__}.{spec.module}")
    named = model or as_string(as_object(body).get("model"))
    model = model or ("unknown" if _is_model_in_url(as_object(body), spec.http, provider) else "")
    subject = identify_subject(api, named, provider=provider, platform=platform, headers=headers)
    return [found for found in checker.violations(body, model, subject) if RULES[found.code].applies_to(provider)]


def _is_model_in_url(request: dict[str, Any], http: HttpForm, provider: str | None) -> bool:
    """Return whether the body names no model because the URL does."""
    is_in_url = provider in http.url_model_providers or (http.url_model_field and http.url_model_field in request)
    return bool(is_in_url) and "model" not in request


publish_exports(globals())
