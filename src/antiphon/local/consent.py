"""The user's consent to download weights, required before any download."""

from __future__ import annotations

import os
import sys
import threading

from antiphon._base.escape import escape_unprintable_line
from antiphon._base.terminal import can_prompt_user, read_typed_line
from antiphon.errors import ConfigurationError
from antiphon.local import cache_dir as store
from antiphon.local.manifest import DEFAULT_TIER, Weights, find_weights, format_size

#: Set to 1, it permits every download. Only the process's environment counts, never a project's `.env`.
CONSENT_VARIABLE = "ANTIPHON_FETCH_WEIGHTS"
_YES_VALUES = ("1", "true", "yes", "on")
_refused: set[str] = set()


def require_download_consent(weights: Weights, stop: threading.Event | None = None) -> None:
    """Raise unless the user agrees to download these weights. At a terminal, ask once per process."""
    if os.environ.get(CONSENT_VARIABLE, "").strip().lower() in _YES_VALUES:
        return
    if weights.name in _refused:
        raise _make_refusal_error(weights)
    if not can_prompt_user():
        raise ConfigurationError(
            f"local/{weights.name} ({format_size(weights.bytes)}) is not on this machine, and nothing"
            f" is fetched unasked:"
            f" run `antiphon setup models pull {weights.name}`, once, or set {CONSENT_VARIABLE}=1; or give"
            f" the key of a provider:"
            " `antiphon setup keys set anthropic`"
        )
    print(f"{escape_unprintable_line(weights.title)} is not on this machine yet.", file=sys.stderr)
    place = escape_unprintable_line(str(store.get_cached_path(weights).parent))
    answer = read_typed_line(
        f"Fetch it, once, {format_size(weights.bytes)} from {weights.origin} into {place}? [Y/n]: ", stop
    )
    if answer.strip().lower() not in ("y", "yes") and answer != "\n":
        _refused.add(weights.name)
        raise _make_refusal_error(weights)


def _make_refusal_error(weights: Weights) -> ConfigurationError:
    small = find_weights(DEFAULT_TIER)
    smaller = (
        f"; `-m local/{small.name}` is smaller ({format_size(small.bytes)})" if weights.bytes > small.bytes else ""
    )
    return ConfigurationError(
        f"local/{weights.name} was not fetched{smaller}; `antiphon setup models pull {weights.name}` fetches it,"
        " `-m` names another model, `antiphon setup` helps"
    )
