import doctest
from pathlib import Path

import stock

README = Path(stock.__file__).parent.parent / "README.md"


def test_what_is_low():
    store = stock.Store()
    for name, quantity in (("lamp", "3"), ("bell", "4 pcs"), ("chair", "5"), ("table", "12")):
        store.add(name, quantity)
    assert store.low() == ["bell", "lamp"]
    assert store.low(limit=6) == ["bell", "chair", "lamp"]
    assert store.low(1) == []
    assert stock.Store().low() == []


def test_the_example_shows_it_and_runs():
    assert ".low(" in README.read_text(encoding="utf-8")
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert tried > 4
    assert not failed
