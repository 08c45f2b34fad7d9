from basket import cents, shown


def test_a_price_becomes_cents():
    assert cents("3.50") == 350
    assert cents("12") == 1200


def test_no_cent_is_lost():
    assert cents("0.29") == 29
    assert cents("-0.29") == -29


def test_cents_are_shown_as_a_price():
    assert shown(350) == "3.50"
    assert shown(-5) == "-0.05"
