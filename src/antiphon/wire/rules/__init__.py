"""What the four provider APIs demand of a request body, checked without sending it.

`check` returns every violation, each in the words the provider itself would answer with. The room knows only JSON:
it reads bodies that anything may have written, so it trusts no shape, and it knows nothing of conversations. Rules
that need what a server remembers (whether a signature, an encrypted item or a stored response is genuine) are not
here; a server that remembers has to check them.

The rule codes are a letter for the API (A Anthropic, O OpenAI chat, R OpenAI responses, G Gemini) and a number; 0 is
a body of the wrong shape. `table` says what each of them means and with whom it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from antiphon.errors import OptionError
from antiphon.wire.rules import anthropic, chat, gemini, responses
from antiphon.wire.rules.table import RULES, Rule
from antiphon.wire.rules.violation import Violation

__all__ = ["APIS", "RULES", "Rule", "Violation", "check"]

_CHECKERS: dict[str, Callable[[object, str], Iterator[Violation]]] = {
    "anthropic": anthropic.violations,
    "openai-chat": chat.violations,
    "openai-responses": responses.violations,
    "gemini": gemini.violations,
}

APIS = tuple(_CHECKERS)
"""The names `check` takes as `api`."""


def check(body: object, api: str, model: str | None = None, *, provider: str | None = None) -> list[Violation]:
    """Return every rule of `api` that `body` breaks; an empty list means the provider would take it.

    `provider` is the server that is asked, by its name in the registry: those that speak another's API have fewer rules
    than its owner, who judges where none is named. `model` is needed where the body does not name it, as with Gemini.
    Rules that hold only for some models are left out when the model is not known.
    """
    checker = _CHECKERS.get(api)
    if checker is None:
        known = ", ".join(f"`{name}`" for name in APIS)
        raise OptionError(f"no rules for the API {api!r}; there are rules for {known}")
    return [found for found in checker(body, model or "") if RULES[found.code].holds(provider)]
