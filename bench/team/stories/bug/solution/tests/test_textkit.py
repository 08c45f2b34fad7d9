from textkit import applied, slug


def test_a_slug_has_small_letters_and_dashes():
    assert slug("Hello world") == "hello-world"


def test_filters_are_applied_in_order():
    assert applied("Hello", "lower", "upper") == "HELLO"


def test_a_slug_has_one_dash_between_words_and_none_at_the_ends():
    assert slug("  Hello, world! ") == "hello-world"
