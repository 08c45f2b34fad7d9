"""Random programs behave like the same programs in Python; and with types like without them."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from antiphon.lang.runtime.program import Host, loads
from tests.lang_unit.twins import PRELUDE, Twins

seeds = st.integers(0, 2**48)


def in_python(text: str) -> list[str]:
    """What the Python twin prints, and the code of the error it ends with."""
    prints: list[str] = []
    space: dict[str, Any] = {}
    exec(PRELUDE, space)
    space["out"] = lambda value: prints.append(space["show"](value))
    space["contains"] = lambda items, wanted: wanted in items
    try:
        exec(compile(text, "twin", "exec"), space)
    except space["Failure"] as failure:
        prints.append(failure.code)
    return prints


def in_the_language(text: str) -> list[str]:
    outcome = loads(text, "twin.vibe").attempt(Host(write=lambda _: None))
    return outcome.prints + ([outcome.error.code] if outcome.error else [])


def twins(seed: int, typed: bool = True) -> tuple[str, str]:
    return Twins(Random(seed), typed).program()


@settings(max_examples=120)
@given(seeds)
@example(1)
def test_programs_behave_like_python(seed: int):
    vibe, python = twins(seed)
    assert in_the_language(vibe) == in_python(python), f"\n{vibe}\n---\n{python}"


@settings(max_examples=120)
@given(seeds)
@example(1)
def test_programs_without_types_behave_like_python(seed: int):
    vibe, python = twins(seed, typed=False)
    assert in_the_language(vibe) == in_python(python), f"\n{vibe}\n---\n{python}"


@settings(max_examples=60)
@given(seeds)
def test_types_change_nothing(seed: int):
    typed, untyped = twins(seed)[0], twins(seed, typed=False)[0]
    assert typed != untyped
    assert in_the_language(typed) == in_the_language(untyped)
