"""All scenarios, with the models that each is run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.referees.stage import Stage

CLAUDE = (
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-opus-5-5",
    "anthropic/claude-fable-5-2",
    "anthropic/claude-haiku-5-5",
    "anthropic/claude-opus-5",
    "anthropic/claude-sonnet-4-5",
)
OPENAI = ("openai/gpt-6.1-sol", "openai/gpt-6-sol", "openai/gpt-5.5", "openai/gpt-5.6", "openai/gpt-4.1")
CHAT = ("openai-chat/gpt-5.5", "openai-chat/gpt-4.1")
GEMINI = ("google/gemini-4-argon", "google/gemini-4-hydrogen", "google/gemini-3.8-flash", "google/gemini-2.5-flash")
ALL = CLAUDE + OPENAI + CHAT + GEMINI
#: One model for each way in which the APIs differ.
FEW = (
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-haiku-5-5",
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-6.1-sol",
    "openai/gpt-5.5",
    "openai-chat/gpt-4.1",
    "google/gemini-4-argon",
    "google/gemini-3.8-flash",
    "google/gemini-2.5-flash",
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """An ordinary use of Antiphon; `breaks` of the prefix are what the user asked for."""

    name: str
    run: Callable[[Stage], None]
    models: tuple[str, ...]
    breaks: int = 0


CASES: list[Scenario] = []


def scenario(*models: tuple[str, ...], breaks: int = 0) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Add a function to the scenarios, for the models."""

    def add(function: Callable[[Stage], None]) -> Callable[[Stage], None]:
        every = tuple(name for group in models for name in group)
        CASES.append(Scenario(function.__name__, function, every, breaks))
        return function

    return add


def is_equal(found: object, wanted: object) -> None:
    """Raise an AssertionError with both values unless they are equal."""
    if found != wanted:
        raise AssertionError(f"got {found!r}, wanted {wanted!r}")


# Each of these modules adds its scenarios.
from tests.referees import cases_stops, cases_talk, cases_typed  # noqa: E402, F401
