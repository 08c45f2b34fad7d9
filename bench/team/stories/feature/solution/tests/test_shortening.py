from textkit import shortened


def test_a_text_that_fits_stays():
    assert shortened("one two", 7) == "one two"


def test_a_longer_one_is_cut_between_words():
    assert shortened("one two three", 8) == "one two…"


def test_a_word_that_does_not_fit_is_cut():
    assert shortened("international", 6) == "inter…"
