import pytest
from stock import Store, report


def test_what_is_added_is_counted():
    store = Store()
    store.add("lamp", "3")
    store.add("lamp", "2 pcs")
    assert store.count("lamp") == 5


def test_what_is_no_quantity_is_refused():
    with pytest.raises(ValueError, match="is no quantity"):
        Store().add("lamp", "many")


def test_a_report_begins_with_the_most():
    assert report(["lamp: 3", "chair: 12 pcs"]).split() == ["12", "chair", "3", "lamp"]


def test_what_is_removed_is_no_longer_counted():
    store = Store()
    store.add("lamp", "3")
    store.remove("lamp", "1 pcs")
    assert store.count("lamp") == 2


def test_more_than_there_is_is_refused():
    store = Store()
    store.add("lamp", "3")
    with pytest.raises(ValueError, match="only 3 of lamp"):
        store.remove("lamp", "4")
    assert store.count("lamp") == 3


def test_what_is_used_up_is_gone():
    store = Store()
    store.add("lamp", "3")
    store.remove("lamp", "3")
    assert store.counts == {}
