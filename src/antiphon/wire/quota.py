"""How servers say that a quota is used up or that no credit is left: neither passes by itself."""

from __future__ import annotations

import re
from typing import Any

from antiphon.errors import OutOfCredit, QuotaExceeded, StatusError
from antiphon.wire.reply import ErrorText

#: The codes of OpenAI and its followers, and of Moonshot.
_QUOTAS = frozenset({"insufficient_quota", "billing_hard_limit_reached", "exceeded_current_quota_error"})
#: Those of Anthropic, OpenRouter and Z.ai.
_CREDITS = frozenset({"billing_error", "insufficient_credits", "1113"})
_WORDS = r"(?i)credit balance is too low|insufficient balance|insufficient credits"


def quota_error(said: ErrorText, message: str, *, status: int, **about: Any) -> StatusError | None:
    """Return the error, if what a server says means that asking again is of no use; `about` are its other fields."""
    if status == 402 or said.kind in _CREDITS or re.search(_WORDS, said.message):
        return OutOfCredit(f"{message}; add credit to the account, or use another key", status=status, **about)
    if said.quota or said.kind in _QUOTAS:
        named = f" ({said.quota})" if said.quota else ""
        advice = f"; the quota{named} does not come back soon, so the request was not tried again"
        return QuotaExceeded(message + advice, status=status, **about)
    return None
