"""Recognition of errors that say a quota or credit is exhausted. Retrying does not help with either."""

from __future__ import annotations

import re
from typing import Any

from antiphon.errors import OutOfCredit, QuotaExceeded, StatusError
from antiphon.wire.reply import ProviderErrorInfo

#: Codes of OpenAI, compatible servers and Moonshot.
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "exceeded_current_quota_error"})
#: Codes of Anthropic, OpenRouter and Z.ai.
_CREDIT_CODES = frozenset({"billing_error", "insufficient_credits", "1113"})
_CREDIT_MESSAGE = r"(?i)credit balance is too low|insufficient balance|insufficient credits"


def make_quota_error(said: ProviderErrorInfo, message: str, *, status: int, **about: Any) -> StatusError | None:
    """Return the error if the server's message means that retrying is useless, else None.

    `about` holds the error's other fields.
    """
    if status == 402 or said.kind in _CREDIT_CODES or re.search(_CREDIT_MESSAGE, said.message):
        return OutOfCredit(f"{message}; add credit to the account, or use another key", status=status, **about)
    if said.quota or said.kind in _QUOTA_CODES:
        named = f" ({said.quota})" if said.quota else ""
        advice = f"; the quota{named} does not come back soon, so the request was not tried again"
        return QuotaExceeded(message + advice, status=status, **about)
    return None
