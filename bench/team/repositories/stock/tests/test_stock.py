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
