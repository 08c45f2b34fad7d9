"""Text of any origin in a terminal: shown, never obeyed."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.lang import ProgramErrors
from antiphon.lang.runtime import loads
from antiphon.terminal import sanitize_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Grüße, 東京\n", "Grüße, 東京\n"),
        ("a\tb", "a    b"),
        ("\x1b[31m\r\x07", r"\x1b[31m\x0d\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("a\u202eb\u200b", r"a\u202eb\u200b"),
        ("\u2028\ud800", r"\u2028\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("\u3164", r"\u3164"),
    ],
)
def test_what_would_be_obeyed_or_missed_is_written_out(text: str, shown: str):
    assert escape_unprintable(text) == shown


def test_no_control_and_no_format_character_is_left():
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {unicodedata.category(char) for char in escape_unprintable(every) if char != "\n"}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(st.text())
def test_what_a_result_shows_is_printable_too(text: str):
    assert escape_unprintable(sanitize_text(text)) == sanitize_text(text)
    assert escape_unprintable(escape_unprintable(text)) == escape_unprintable(text)


def test_a_name_with_a_line_break_stays_in_its_line():
    assert escape_unprintable_line("a\nantiphon: trusted\x1b[1A") == r"a\nantiphon: trusted\x1b[1A"
    with pytest.raises(ProgramErrors) as raised:
        loads("let = 1", "a\nok.vibe")
    assert r"a\nok.vibe:1:5" in str(raised.value)
