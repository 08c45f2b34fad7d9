"""Did you mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon._base.did_you_mean import suggest_name

KNOWN = ["print", "length", "toolCalls", "readFile", "x", "of", "_secret"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pritn", "print"),
        ("Print", "print"),
        ("lenght", "length"),
        ("toolcalls", "toolCalls"),
        ("redFile", "readFile"),
        ("secret", None),
        ("banana", None),
        ("y", None),
        ("oof", "of"),
    ],
)
def test_the_nearest_name_is_found_if_it_is_near(name: str, meant: str | None) -> None:
    assert suggest_name(name, KNOWN) == meant


@given(st.text(min_size=1, max_size=80), st.lists(st.text(max_size=80)))
def test_what_is_suggested_is_known_and_another_name(name: str, known: list[str]) -> None:
    found = suggest_name(name, known)
    assert found is None or (found in known and found != name)


@given(st.text("abcdefgh", min_size=5, max_size=20), st.data())
def test_one_wrong_letter_is_forgiven(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    assert suggest_name(name[:at] + "z" + name[at + 1 :], [name]) == name
    assert suggest_name(name[:at] + name[at + 1 :], [name]) == name
