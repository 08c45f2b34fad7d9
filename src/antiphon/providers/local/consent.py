"""The user's consent to fetch weights, which every use of a tier needs before anything is downloaded."""

from __future__ import annotations

import os
import sys
import threading

from antiphon._printable import printable_line
from antiphon._terminal import can_ask, read_answer
from antiphon.errors import ConfigurationError
from antiphon.providers.local import store
from antiphon.providers.local.manifest import DEFAULT, Weights, find, size

#: Set to 1, it is a yes to every fetch. Only the environment of the process counts, never a project's `.env`.
VARIABLE = "ANTIPHON_FETCH_WEIGHTS"
_YES = ("1", "true", "yes", "on")
_refused: set[str] = set()


def require_consent(weights: Weights, stop: threading.Event | None = None) -> None:
    """Raise unless the user agrees that these weights are fetched. At a terminal, ask once in a process."""
    if os.environ.get(VARIABLE, "").strip().lower() in _YES:
        return
    if weights.name in _refused:
        raise _refusal(weights)
    if not can_ask():
        raise ConfigurationError(
            f"local/{weights.name} ({size(weights.bytes)}) is not on this machine, and nothing is fetched unasked:"
            f" run `antiphon models pull {weights.name}`, once, or set {VARIABLE}=1; or give the key of a provider:"
            " `antiphon keys set anthropic`"
        )
    print(f"{printable_line(weights.title)} is not on this machine yet.", file=sys.stderr)
    place = printable_line(str(store.cached(weights).parent))
    answer = read_answer(f"Fetch it, once, {size(weights.bytes)} from {weights.origin} into {place}? [Y/n]: ", stop)
    if answer.strip().lower() not in ("y", "yes") and answer != "\n":
        _refused.add(weights.name)
        raise _refusal(weights)


def _refusal(weights: Weights) -> ConfigurationError:
    small = find(DEFAULT)
    smaller = f"; `-m local/{small.name}` is smaller ({size(small.bytes)})" if weights.bytes > small.bytes else ""
    return ConfigurationError(
        f"local/{weights.name} was not fetched{smaller}; `antiphon models pull {weights.name}` fetches it, `-m` names"
        " another model, `antiphon setup` helps"
    )
