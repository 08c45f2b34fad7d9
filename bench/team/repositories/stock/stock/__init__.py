"""How many of each thing are in a warehouse."""

from stock.report import report
from stock.store import Store

__all__ = ["Store", "report"]
