"""What the four provider APIs demand of a request body, checked without sending it.

`check` returns every violation, each in the words the provider itself would answer with. The room knows only JSON:
it reads bodies that anything may have written, so it trusts no shape, and it knows nothing of conversations. Rules
that need what a server remembers (whether a signature, an encrypted item or a stored response is genuine) are not
here; a server that remembers has to check them.

The rule codes are a letter for the API (A Anthropic, O OpenAI chat, R OpenAI responses, G Gemini) and a number; 0 is
a body of the wrong shape. `table` says what each of them means and with whom it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from antiphon._public import publish
from antiphon._shape import obj, string
from antiphon.errors import OptionError
from antiphon.wire.rules.subject import identify_subject
from antiphon.wire.rules.table import RULES, Rule
from antiphon.wire.rules.violation import Violation

__all__ = ["APIS", "RULES", "Rule", "Violation", "check"]

#: The modules of the rules; wires need one thing of one of them, and not all to be imported for it.
_CHECKERS = {"anthropic": "anthropic", "openai-chat": "chat", "openai-responses": "responses", "gemini": "gemini"}

#: Those who serve an API under addresses that name the model.
_NAMED_IN_ADDRESS = (("openai-chat", "azure"), ("anthropic", "bedrock"), ("anthropic", "vertex"))

APIS = tuple(_CHECKERS)
"""The names `check` takes as `api`."""


def check(
    body: object,
    api: str,
    model: str | None = None,
    *,
    provider: str | None = None,
    platform: str = "",
    headers: Mapping[str, str] | None = None,
) -> list[Violation]:
    """Return every rule of `api` that `body` breaks; an empty list means the provider would take it.

    `provider` is the server that is asked, by its name in the registry: those that speak another's API have fewer rules
    than its owner, who judges where none is named. `platform` says where the model runs. `model` is needed where the
    body does not name it, as with Gemini. Rules that hold for some models follow from the facts about them and are left
    out when the model is not known. Rules about headers are left out without `headers`.
    """
    if api not in _CHECKERS:
        known = ", ".join(f"`{name}`" for name in APIS)
        raise OptionError(f"no rules for the API {api!r}; there are rules for {known}")
    checker = import_module(f"{__name__}.{_CHECKERS[api]}")
    named = model or string(obj(body).get("model"))
    model = model or ("unknown" if _is_in_address(body, api, provider) else "")
    subject = identify_subject(api, named, provider=provider, platform=platform, headers=headers)
    return [found for found in checker.violations(body, model, subject) if RULES[found.code].holds(provider)]


def _is_in_address(body: object, api: str, provider: str | None) -> bool:
    """Whether a body names no model because the address does. Anthropic's version is in the body only where it does."""
    request = obj(body)
    told = (api, provider) in _NAMED_IN_ADDRESS or (api == "anthropic" and "anthropic_version" in request)
    return told and "model" not in request


publish(globals())
