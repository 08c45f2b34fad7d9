"""Wrappers that compiled programs put around functions used as values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import CellType, FunctionType
from typing import Any

from antiphon.lang.runtime.type_conversion import convert_to_type
from antiphon.lang.runtime.values import copy_value
from antiphon.lang.typecheck.types import JSON, Type
from antiphon.lang.typecheck.types import CallableType as Signature

Function = Callable[..., Any]


def pass_positions(function: Function) -> Function:
    """Wrap a function of an item and its position, to be called with one item after another."""
    at = count()

    def called(item: Any) -> Any:
        return function(item, next(at))

    return called


def bind_iteration_variables(function: Any, *names: str) -> Any:
    """Return a copy of a function that keeps the current values of the named loop variables."""
    cells = tuple(
        _copy_cell(cell) if name in names else cell
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    )
    return FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)


def _copy_cell(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:
        # The variable is declared later, and has no value yet.
        return cell


def _convert_argument(value: Any, given: Type, wanted: Type) -> Any:
    """Convert an argument to the parameter's type; a typed value passed as `json` is copied."""
    return copy_value(value) if given == JSON and wanted != JSON else convert_to_type(value, given)


def adapt_function(function: Function, given: Signature, wanted: Signature) -> Function:
    """Wrap a function that takes or returns `json` where types are wanted: arguments and results are checked."""

    def called(*arguments: Any) -> Any:
        if not given.is_unchecked:
            arguments = tuple(map(_convert_argument, arguments, given.parameters, wanted.parameters))
        return convert_to_type(function(*arguments), wanted.returns)

    return called
