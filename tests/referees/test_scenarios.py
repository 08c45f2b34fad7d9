"""Scenarios against the independent servers; what fails today is listed, and a listed one that passes fails here."""

from __future__ import annotations

import pytest

from tests.referees.scenarios import KNOWN_BREAKING, KNOWN_FAILING, SCENARIOS, run_scenario


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    outcome = run_scenario(name)
    if name in KNOWN_FAILING:
        assert not outcome.ok, f"{name} passes now: take it from KNOWN_FAILING"
        return
    assert outcome.ok, outcome.problem
    known = KNOWN_BREAKING.get(name, 0)
    assert outcome.breaks <= known, f"{outcome.breaks} prefix breaks, {known} are known"
    assert outcome.breaks == known, f"only {outcome.breaks} prefix breaks now: correct KNOWN_BREAKING"


def test_known_lists_name_scenarios() -> None:
    assert set(KNOWN_FAILING) | set(KNOWN_BREAKING) <= set(SCENARIOS)
    assert not set(KNOWN_FAILING) & set(KNOWN_BREAKING)


def test_enough_scenarios() -> None:
    assert len({case.name for case, _ in SCENARIOS.values()}) >= 40
    assert len(SCENARIOS) >= 64
