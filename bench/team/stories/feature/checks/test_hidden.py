import pytest
import textkit


@pytest.mark.parametrize(
    ("text", "length", "wanted"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two…"),
        ("one two three", 8, "one two…"),
        ("one two three", 7, "one…"),
        ("one two three", 4, "one…"),
        ("international", 6, "inter…"),
        ("", 5, ""),
    ],
)
def test_a_text_is_shortened(text, length, wanted):
    assert textkit.shortened(text, length) == wanted


def test_it_is_exported():
    assert "shortened" in textkit.__all__
