"""What this process was told about models: by users, by refusals of servers, and by vendors that were asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from antiphon.errors import ConfigurationError
from antiphon.facts.fields import flatten_facts
from antiphon.facts.model_facts import Facts, Source

if TYPE_CHECKING:
    from datetime import date


class Told(NamedTuple):
    """Facts by dotted names that somebody stated, and where."""

    layer: str
    facts: Mapping[str, Any]
    source: Source | None = None


@dataclass(slots=True)
class Statements:
    """All that was told. `version` grows with each change, so that what was resolved before is not used again."""

    user: dict[tuple[str, str], Told] = field(default_factory=dict[tuple[str, str], Told])
    refreshed: dict[str, Told] = field(default_factory=dict[str, Told])
    learned: dict[tuple[str, str, str], dict[str, Any]] = field(
        default_factory=dict[tuple[str, str, str], dict[str, Any]]
    )
    version: int = 0
    #: States what files say, at the first lookup; a mistake in a file is told then, and again until it is put right.
    load: Callable[[], None] | None = None
    lock: Lock = field(default_factory=Lock, repr=False)


#: All statements of this process.
STATEMENTS = Statements()
_REGISTERED = "user (registered)"


def current_version() -> int:
    """Return a number that changes whenever something is told; files are read first if they are to be."""
    if STATEMENTS.load is not None:
        load, STATEMENTS.load = STATEMENTS.load, None
        try:
            load()
        except BaseException:
            STATEMENTS.load = load
            raise
    return STATEMENTS.version


def load_later(load: Callable[[], None]) -> None:
    """Have a function state what files say before anything is looked up; what files said before is forgotten."""
    with STATEMENTS.lock:
        STATEMENTS.user = {name: told for name, told in STATEMENTS.user.items() if told.layer == _REGISTERED}
        STATEMENTS.refreshed.clear()
        STATEMENTS.version += 1
        STATEMENTS.load = load


def register_model(pattern: str, facts: Facts) -> None:
    """State facts about models whose `provider/name` matches a pattern such as `ollama/qwen3*`.

    They come before the shipped facts and those registered earlier; fields that are left open change nothing.
    """
    if "/" not in pattern:
        raise ConfigurationError(f"a pattern looks like 'ollama/qwen3*', not {pattern!r}")
    _state(pattern, Told(_REGISTERED, flatten_facts(facts)))


def state_facts(pattern: str, facts: Mapping[str, Any], where: str) -> None:
    """State a user's facts by dotted names; `where` is the file that holds them."""
    _state(pattern, Told(f"user ({where})", dict(facts)))


def _state(pattern: str, told: Told) -> None:
    with STATEMENTS.lock:
        # A pattern that is stated again is the latest.
        STATEMENTS.user.pop((pattern, told.layer), None)
        STATEMENTS.user[pattern, told.layer] = told
        STATEMENTS.version += 1


def state_refreshed(name: str, facts: Mapping[str, Any], on: date) -> None:
    """State what a vendor answered about `provider/name` on a day."""
    with STATEMENTS.lock:
        STATEMENTS.refreshed[name.lower()] = Told("refreshed", dict(facts), Source("vendor", on, "D"))
        STATEMENTS.version += 1


def learn(provider: str, model: str, field: str, value: Any, *, platform: str = "", said: str = "") -> None:
    """Remember a fact that a refusal taught, for this process; `said` are the server's words."""
    with STATEMENTS.lock:
        known = STATEMENTS.learned.setdefault((provider, model.lower(), platform), {})
        known[field] = (value, said)
        STATEMENTS.version += 1


def forget_learned() -> None:
    """Forget what refusals taught."""
    with STATEMENTS.lock:
        STATEMENTS.learned.clear()
        STATEMENTS.version += 1


def forget_stated() -> None:
    """Forget what users stated and vendors answered."""
    with STATEMENTS.lock:
        STATEMENTS.user.clear()
        STATEMENTS.refreshed.clear()
        STATEMENTS.load = None
        STATEMENTS.version += 1


def user_statements(provider: str, model: str) -> list[Told]:
    """Return what users state about a model, the latest first."""
    name = f"{provider}/{model}".lower()
    with STATEMENTS.lock:
        return [told for (pattern, _), told in reversed(STATEMENTS.user.items()) if fnmatchcase(name, pattern.lower())]


def learned_statement(provider: str, model: str, platform: str) -> Told | None:
    """Return what refusals taught about a model on a platform."""
    with STATEMENTS.lock:
        known = STATEMENTS.learned.get((provider, model.lower(), platform))
        return Told("learned", {name: value for name, (value, _) in known.items()}) if known else None


def refreshed_statement(provider: str, model: str) -> Told | None:
    """Return what the vendor answered about a model."""
    with STATEMENTS.lock:
        return STATEMENTS.refreshed.get(f"{provider}/{model}".lower())
