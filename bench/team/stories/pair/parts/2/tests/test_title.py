from textkit import applied


def test_words_begin_with_capital_letters():
    assert applied("hello bigWorld", "title") == "Hello BigWorld"
