"""What passes the check does not fail for its types; and what is right passes."""

from __future__ import annotations

import pytest

from tests.lang_unit.checking import codes
from tests.lang_unit.harness import ran
from tests.lang_unit.probes import ACCEPTED, REFUSED, STOPPED


def _all(table: dict[str, list[tuple[str, str]]]) -> list[object]:
    return [
        pytest.param(*each, id=f"{name} {at}") for name, probes in table.items() for at, each in enumerate(probes, 1)
    ]


@pytest.mark.parametrize(("program", "code"), _all(REFUSED))
def test_what_would_fail_for_its_types_is_refused(program: str, code: str) -> None:
    assert code in codes(program)


@pytest.mark.parametrize(("program", "prints"), _all(ACCEPTED))
def test_what_is_right_passes_and_runs(program: str, prints: str) -> None:
    assert [each for each in codes(program) if each < "V07"] == []
    gone = ran(program)
    assert gone.outcome.error is None, gone.outcome.error.message
    assert "\n".join(gone.prints) == prints


@pytest.mark.parametrize(("program", "words"), STOPPED)
def test_json_is_looked_at_wherever_it_goes_into_a_type(program: str, words: str) -> None:
    assert [each for each in codes(program) if each < "V07"] == []
    error = ran(program).error
    assert (error.code, words in error.message) == ("V0902", True), error.message
