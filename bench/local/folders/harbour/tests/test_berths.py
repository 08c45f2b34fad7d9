from harbour.berths import Berth, fits


def test_a_ship_that_is_too_long_does_not_fit():
    assert not fits(Berth("A", 100, 9), 120, 5)


def test_a_ship_needs_water_below_it():
    assert not fits(Berth("A", 100, 5), 80, 4.8)
