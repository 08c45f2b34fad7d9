"""What is in a shopping basket, and what it costs."""

from basket.prices import cents, shown
from basket.receipt import Line, receipt, total

__all__ = ["Line", "cents", "receipt", "shown", "total"]
