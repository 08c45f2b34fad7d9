"""The names that every compiled module finds in its globals, and built-in functions; programs cannot name them."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from itertools import count
from types import CellType, FunctionType
from typing import Any

from antiphon.lang.codegen.code_object import ModuleCode
from antiphon.lang.runtime import members, methods, operators, tracebacks, type_conversion, values
from antiphon.lang.runtime.errors import UserError, VibeError
from antiphon.lang.runtime.execution import wait_for_value
from antiphon.lang.runtime.module_api import ModuleRuntime
from antiphon.lang.runtime.system import MISSING_ARGUMENT, call_with_wanted_type
from antiphon.lang.runtime.tracebacks import CODE_GLOBAL
from antiphon.lang.runtime.type_conversion import convert_to_type
from antiphon.lang.runtime.values import copy_value
from antiphon.lang.typecheck import types as t

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


def _convert_argument(value: Any, given: t.Type, wanted: t.Type) -> Any:
    """Convert an argument to the parameter's type; a typed value passed as `json` is copied."""
    return copy_value(value) if given == t.JSON and wanted != t.JSON else convert_to_type(value, given)


def adapt_function(function: Function, given: t.CallableType, wanted: t.CallableType) -> Function:
    """Wrap a function that takes or returns `json` where types are wanted: arguments and results are checked."""

    def called(*arguments: Any) -> Any:
        if not given.is_unchecked:
            arguments = tuple(map(_convert_argument, arguments, given.parameters, wanted.parameters))
        return convert_to_type(function(*arguments), wanted.returns)

    return called


def publish_main_locals(space: dict[str, Any], local: dict[str, Any]) -> None:
    """Copy the top level's local variables to the module's globals, where others read them after it has ended."""
    code: ModuleCode = space[CODE_GLOBAL]
    names = (each.python for each in code.names.values())
    space.update((name, local[name]) for name in names if name in local)


#: What generated code calls, each under `_v_` and its name: Python's own functions and classes, then the runtime's.
_GLOBAL_FUNCTIONS: tuple[Any, ...] = (
    *(int, float, bool, str, list, dict, range, Exception, len, sorted, enumerate),
    *(globals, locals, isinstance, math.floor, math.ceil, operator.contains),
    *(operators.add_values, operators.subtract, operators.multiply, operators.divide, operators.modulo),
    *(operators.power, operators.negate, operators.is_equal, operators.is_one_of, operators.is_present),
    *(operators.is_less, operators.is_less_or_equal, operators.is_greater, operators.is_greater_or_equal),
    operators.evaluate_condition,
    *(members.get_member, members.get_optional_member, members.get_required_field, members.set_member),
    *(members.get_item, members.get_optional_item, members.set_item, members.require_index, members.slice_value),
    *(members.iterate_value, members.iterate_entries, members.make_range, members.make_range_array),
    *(members.contains_item, members.unpack_items, members.spread_array, members.spread_object),
    *(members.pick_known_fields, members.drop_null_optional_fields, members.require_known_field),
    *(members.narrow_to_known_fields, members.get_answer_member),
    methods.call_method,
    *(type_conversion.convert_to_type, type_conversion.is_of_type),
    *(tracebacks.make_thrown_error, tracebacks.make_error_value, tracebacks.throw_value, UserError),
    *(values.VariableCell, values.copy_value, values.to_text, values.format_float, values.unwrap_answer),
    *(wait_for_value, call_with_wanted_type, pass_positions, bind_iteration_variables, adapt_function),
    publish_main_locals,
)
_SHARED_GLOBALS: dict[str, Any] = {
    "__builtins__": builtins,
    "_vmissing": MISSING_ARGUMENT,
    **{f"_v_{each.__name__}": each for each in _GLOBAL_FUNCTIONS},
    "_vb_len": methods.get_length,
    "_vb_parseJson": values.parse_json,
}
for _kind, _functions in methods.FUNCTIONS_BY_KIND.items():
    _SHARED_GLOBALS.update((f"_vm_{_kind}_{name}", function) for name, function in _functions.items())


def make_module_globals(code: ModuleCode, module: ModuleRuntime) -> dict[str, Any]:
    """Return the initial globals of a module."""
    out = {
        **_SHARED_GLOBALS,
        "__name__": code.source.name,
        "__file__": code.source.name,
        CODE_GLOBAL: code,
        "_vrt": module,
        "_vinputs": module.inputs,
        "_vb_print": module.print,
        "_vb_note": module.note,
        "_vb_env": module.env,
        "_vb_now": module.now,
        "_vb_sleep": module.sleep,
        "_vb_assert": _assert,
        "_vb_assertThat": _assert_that,
        "_vb_toJson": _to_json,
        "_vb_result": _make_result,
        "_vb_answers": module.answers,
        "_vb_args": list(module.execution.arguments),
    }
    out.update((f"_vt{number}", type_) for number, type_ in enumerate(code.types))
    own: dict[str, Any] = {"__builtins__": builtins, "__name__": code.source.name, CODE_GLOBAL: code}
    for name, function in code.python.items():
        exec(function, own)
        out[name] = own[name]
    return out


def _assert(holds: Any, message: str | None = None) -> None:
    if not operators.evaluate_condition(holds):
        raise VibeError("V0928", f"the assertion does not hold{f': {message}' if message else ''}")


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operators.is_equal,
    "!=": lambda left, right: not operators.is_equal(left, right),
    "<": operators.is_less,
    "<=": operators.is_less_or_equal,
    ">": operators.is_greater,
    ">=": operators.is_greater_or_equal,
    "in": members.contains_item,
}
#: At most so many characters of each operand are reported.
_MAX_OPERAND_LENGTH = 500


def _assert_that(operator: str, left: Any, right: Any, message: str | None = None) -> None:
    if not _COMPARISONS[operator](left, right):
        about = f": {message}" if message else ""
        sides = f"\n  left:  {_format_operand(left)}\n  right: {_format_operand(right)}"
        raise VibeError("V0928", f"the assertion does not hold{about}{sides}")


def _format_operand(value: Any) -> str:
    told = values.to_json_text(value)
    return told if len(told) <= _MAX_OPERAND_LENGTH else f"{told[:_MAX_OPERAND_LENGTH]}… ({len(told)} characters)"


def _to_json(value: Any, indent: Any = None) -> str:
    return values.to_json_text(
        value, members.require_integer(indent, "the indentation") if indent is not None else None
    )


def _make_result(kind: str, data: Any, options: Any = None) -> Any:
    """Implement `result(kind, data, { summary, mimeType, title, display })`, with its JSON field names."""
    from antiphon.results import Result

    said: dict[str, Any] = values.to_plain_value(options) or {}
    return Result.from_json({"data": values.to_plain_value(data), **said, "kind": kind})
