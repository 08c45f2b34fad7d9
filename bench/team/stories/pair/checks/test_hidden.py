import pytest
from textkit import FILTERS, applied


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("snake", "Hello, big World!", "hello_big_world"),
        ("snake", "  room 101 ", "room_101"),
        ("title", "hello bigWorld", "Hello BigWorld"),
        ("title", "two  spaces", "Two  Spaces"),
        ("lower", "ABC", "abc"),
        ("upper", "abc", "ABC"),
    ],
)
def test_a_filter(name, text, wanted):
    assert applied(text, name) == wanted


def test_there_are_no_others():
    assert sorted(FILTERS) == ["lower", "snake", "title", "upper"]
