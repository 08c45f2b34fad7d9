import pytest
from textkit import slug


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("  Hello, world! ", "hello-world"),
        ("Hello world", "hello-world"),
        ("a -- b", "a-b"),
        ("...", ""),
        ("", ""),
        ("Room 101", "room-101"),
    ],
)
def test_a_slug(text, wanted):
    assert slug(text) == wanted
