"""What compiled programs do with functions that are values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import CellType, FunctionType
from typing import Any

from antiphon.lang.check.types import JSON, Type
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.run.fitting import as_type
from antiphon.lang.run.values import own

Function = Callable[..., Any]


def positions(function: Function) -> Function:
    """A function of an item and its position, as one that is called with one item after the other."""
    at = count()

    def called(item: Any) -> Any:
        return function(item, next(at))

    return called


def this_round(function: Any, *names: str) -> Any:
    """A function that keeps what variables of a loop are now, and does not see what they are in later rounds."""
    cells = tuple(
        _copy(cell) if name in names else cell
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    )
    return FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)


def _copy(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:
        # It is declared further down, and has no value yet.
        return cell


def _taken(value: Any, given: Type, wanted: Type) -> Any:
    """What a function is called with: as json, what has a type elsewhere is a copy."""
    return own(value) if given == JSON and wanted != JSON else as_type(value, given)


def adapted(function: Function, given: Signature, wanted: Signature) -> Function:
    """A function that takes or gives `json` where a type is wanted: what goes in and comes out is looked at."""

    def called(*arguments: Any) -> Any:
        if not given.unchecked:
            arguments = tuple(map(_taken, arguments, given.parameters, wanted.parameters))
        return as_type(function(*arguments), wanted.returns)

    return called
