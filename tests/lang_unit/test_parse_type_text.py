"""Types that are written as text, such as those of the command line."""

from __future__ import annotations

import pytest

from antiphon.lang import ProgramErrors, parse_type_text
from antiphon.lang.typecheck.types import NUMBER, TEXT, Array, Object


def test_a_type_is_read_from_a_text() -> None:
    found = parse_type_text("{ name: text, ages: number[] }")
    assert isinstance(found, Object)
    assert {name: each.type for name, each in found.fields.items()} == {"name": TEXT, "ages": Array(NUMBER)}


@pytest.mark.parametrize(
    ("text", "code"), [("{ name: txt }", "V0206"), ("{ a: text, a: text }", "V0318"), ("{ name: text", "V0107")]
)
def test_a_wrong_type_is_reported_with_its_place(text: str, code: str) -> None:
    with pytest.raises(ProgramErrors) as caught:
        parse_type_text(text, name="--returns")
    [(source, found)] = caught.value.found
    assert (source.name, found.code) == ("--returns", code)


def test_nothing_else_may_follow_the_type() -> None:
    with pytest.raises(ProgramErrors):
        parse_type_text("text number")
