"""Groups of a regular expression: null where they may be left out of a match, and text where they cannot."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.lang.runtime.program import loads
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.typecheck.constants import MATCH_TYPE, infer_match_result
from antiphon.lang.typecheck.types import Array, Literal

PIECES = ("(", "(?:", "(?P<x>", "(?=", "(?!", "(?i)", ")", "|", "a", "b", "?", "*", "+", "{0,2}", "{2}", "[a(]", r"\(")
LEFT_OUT = ("(a)(b)?", "(a)|(b)", "(?:(a)|b)", "(a)((b)){0,1}", "(a)*", "((a)|b)", "(?!(a))b", "(?x) (a) # |", "(a")
TAKE_PART = ("(a)", "(a|b)", "(?:a|b)(c)", r"^(\S+) (A|B) (.*)$", r"[(|](a)", r"\((a)\)?", "(?im)(a){2,}", "(?=(a))a")


def are_text(pattern: str) -> bool:
    return infer_match_result(Literal(pattern), Array(MATCH_TYPE)) != Array(MATCH_TYPE)


@pytest.mark.parametrize("pattern", LEFT_OUT)
def test_a_group_that_may_be_left_out_may_be_null(pattern: str) -> None:
    assert not are_text(pattern)


@pytest.mark.parametrize("pattern", TAKE_PART)
def test_a_group_that_takes_part_in_every_match_is_text(pattern: str) -> None:
    assert are_text(pattern)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join))
def test_groups_that_are_text_are_never_null(pattern: str) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error:
        return
    if are_text(pattern):
        for text in ("", "a", "b", "ab", "ba", "aab", "(a", "a(b", "abab"):
            assert all(None not in found.groups() for found in compiled.finditer(text))


@pytest.mark.parametrize("pattern", ["'(a)(b)?'", "'(a)' + args[0]", "args[0]"])
def test_a_program_looks_whether_a_group_is_there(pattern: str) -> None:
    with pytest.raises(ProgramErrors, match="may be null"):
        loads(f"import {{ findAll }} from 'system/text'\nfor m in findAll('a', {pattern}) {{ m.groups[0].upper() }}")
