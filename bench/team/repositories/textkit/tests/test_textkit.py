from textkit import applied, slug


def test_a_slug_has_small_letters_and_dashes():
    assert slug("Hello world") == "hello-world"


def test_filters_are_applied_in_order():
    assert applied("Hello", "lower", "upper") == "HELLO"
