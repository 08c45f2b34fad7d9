from textkit import applied


def test_words_are_joined_in_small_letters():
    assert applied("Hello, big World!", "snake") == "hello_big_world"
