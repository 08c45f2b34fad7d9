from pathlib import Path

import pytest
import stock
from stock.quantities import quantity

HOME = Path(stock.__file__).parent


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("12 pcs", 12), (" 3pcs ", 3)])
def test_a_quantity_is_read_everywhere(text, number):
    store = stock.Store()
    store.add(name="lamp", quantity=text)
    assert quantity(text) == store.count("lamp") == number
    assert stock.report([f"lamp: {text}"]).split() == [str(number), "lamp"]


@pytest.mark.parametrize("text", ["", "many", "-1", "1.5", "pcs"])
def test_what_is_none_is_refused_everywhere(text):
    for reading in (
        quantity,
        lambda text: stock.Store().add("lamp", text),
        lambda text: stock.report([f"lamp: {text}"]),
    ):
        with pytest.raises(ValueError, match="is no quantity"):
            reading(text)


def test_it_is_written_once():
    sources = {path.name: path.read_text(encoding="utf-8") for path in HOME.glob("*.py")}
    assert [name for name, source in sources.items() if "isdigit" in source or "removesuffix" in source] == [
        "quantities.py"
    ]
    for name in ("store.py", "report.py"):
        assert "quantities" in sources[name]
