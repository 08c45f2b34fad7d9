"""Facts stated in this process: by users, by rejections of servers, and by vendors' model lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from antiphon.errors import ConfigurationError
from antiphon.facts.fields import flatten_facts
from antiphon.facts.model_facts import Facts, Source

if TYPE_CHECKING:
    from datetime import date


class FactStatement(NamedTuple):
    """Stated facts by dotted names, with their layer and source."""

    layer: str
    facts: Mapping[str, Any]
    source: Source | None = None


@dataclass(slots=True)
class FactStatements:
    """All stated facts. `version` increases with each change, which invalidates resolved facts."""

    user: dict[tuple[str, str], FactStatement] = field(default_factory=dict[tuple[str, str], FactStatement])
    refreshed: dict[str, FactStatement] = field(default_factory=dict[str, FactStatement])
    learned: dict[tuple[str, str, str], dict[str, Any]] = field(
        default_factory=dict[tuple[str, str, str], dict[str, Any]]
    )
    version: int = 0
    #: Loads the user's files at the first lookup; a mistake in a file is reported then, and again until fixed.
    load: Callable[[], None] | None = None
    lock: Lock = field(default_factory=Lock, repr=False)
    #: Objects whose attribute `facts` holds resolved facts until the next change.
    holders: WeakValueDictionary[int, Any] = field(default_factory=WeakValueDictionary[int, Any], repr=False)

    def note_change(self) -> None:
        """Invalidate all resolved facts. Call it with the lock."""
        self.version += 1
        for holder in list(self.holders.values()):
            holder.__dict__.pop("facts", None)
        self.holders.clear()


#: All statements of this process.
STATEMENTS = FactStatements()
_REGISTERED = "user (registered)"


def get_current_version() -> int:
    """Return a number that changes with every statement. Load pending files first."""
    if STATEMENTS.load is not None:
        load, STATEMENTS.load = STATEMENTS.load, None
        try:
            load()
        except BaseException:
            STATEMENTS.load = load
            raise
    return STATEMENTS.version


def schedule_load(load: Callable[[], None]) -> None:
    """Have a function load the user's files before the next lookup. Drop what files stated before."""
    with STATEMENTS.lock:
        STATEMENTS.user = {name: told for name, told in STATEMENTS.user.items() if told.layer == _REGISTERED}
        STATEMENTS.refreshed.clear()
        STATEMENTS.note_change()
        STATEMENTS.load = load


def register_model(pattern: str, facts: Facts) -> None:
    """State facts about models whose `provider/name` matches a pattern such as `ollama/qwen3*`.

    They override the shipped facts and earlier registrations. Unset fields change nothing.
    """
    if "/" not in pattern:
        raise ConfigurationError(f"a pattern looks like 'ollama/qwen3*', not {pattern!r}")
    _add_user_statement(pattern, FactStatement(_REGISTERED, flatten_facts(facts)))


def state_user_facts(pattern: str, facts: Mapping[str, Any], where: str) -> None:
    """State a user's facts by dotted names. `where` is the file that holds them."""
    _add_user_statement(pattern, FactStatement(f"user ({where})", dict(facts)))


def _add_user_statement(pattern: str, told: FactStatement) -> None:
    with STATEMENTS.lock:
        # A pattern that is stated again becomes the latest.
        STATEMENTS.user.pop((pattern, told.layer), None)
        STATEMENTS.user[pattern, told.layer] = told
        STATEMENTS.note_change()


def state_refreshed_facts(name: str, facts: Mapping[str, Any], on: date) -> None:
    """State what a vendor reported about `provider/name` on a day."""
    with STATEMENTS.lock:
        STATEMENTS.refreshed[name.lower()] = FactStatement("refreshed", dict(facts), Source("vendor", on, "D"))
        STATEMENTS.note_change()


def learn(provider: str, model: str, field: str, value: Any, *, platform: str = "", said: str = "") -> None:
    """Store a fact that a rejection taught, for this process. `said` is the server's message."""
    with STATEMENTS.lock:
        known = STATEMENTS.learned.setdefault((provider, model.lower(), platform), {})
        known[field] = (value, said)
        STATEMENTS.note_change()


def forget_learned_facts() -> None:
    """Drop the facts that rejections taught."""
    with STATEMENTS.lock:
        STATEMENTS.learned.clear()
        STATEMENTS.note_change()


def forget_stated_facts() -> None:
    """Drop the facts of users and vendors."""
    with STATEMENTS.lock:
        STATEMENTS.user.clear()
        STATEMENTS.refreshed.clear()
        STATEMENTS.load = None
        STATEMENTS.note_change()


def get_user_statements(provider: str, model: str) -> list[FactStatement]:
    """Return the users' statements about a model, latest first."""
    name = f"{provider}/{model}".lower()
    with STATEMENTS.lock:
        return [told for (pattern, _), told in reversed(STATEMENTS.user.items()) if fnmatchcase(name, pattern.lower())]


def get_learned_statement(provider: str, model: str, platform: str) -> FactStatement | None:
    """Return what rejections taught about a model on a platform, or None."""
    with STATEMENTS.lock:
        known = STATEMENTS.learned.get((provider, model.lower(), platform))
        return FactStatement("learned", {name: value for name, (value, _) in known.items()}) if known else None


def get_refreshed_statement(provider: str, model: str) -> FactStatement | None:
    """Return what the vendor reported about a model, or None."""
    with STATEMENTS.lock:
        return STATEMENTS.refreshed.get(f"{provider}/{model}".lower())
