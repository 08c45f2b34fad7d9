from basket import Line, receipt, total


def test_a_total_counts_every_line():
    assert total([Line("tea", "3.50"), Line("cake", "2.25", 2)]) == 800


def test_a_receipt_ends_with_the_total():
    assert receipt([Line("tea", "3.50")]).splitlines()[-1].split() == ["total", "3.50"]
