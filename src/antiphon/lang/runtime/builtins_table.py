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
from antiphon.lang.runtime import array_methods, members, methods, operators, tracebacks, type_conversion, values
from antiphon.lang.runtime.errors import UserError, VibeError
from antiphon.lang.runtime.execution import wait_for_value
from antiphon.lang.runtime.module_api import ModuleRuntime
from antiphon.lang.runtime.system import MISSING_ARGUMENT, call_with_wanted_type
from antiphon.lang.runtime.tracebacks import CODE_GLOBAL
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


def _publish_main_locals(space: dict[str, Any], local: dict[str, Any]) -> None:
    """Copy the top level's local variables to the module's globals, where others read them after it has ended."""
    code: ModuleCode = space[CODE_GLOBAL]
    names = (each.python for each in code.names.values())
    space.update((name, local[name]) for name in names if name in local)


_SHARED_GLOBALS: dict[str, Any] = {
    "__builtins__": builtins,
    "_vint": int,
    "_vfloat": float,
    "_vbool": bool,
    "_visinstance": isinstance,
    "_vstr": str,
    "_vpylen": len,
    "_vpyrange": range,
    "_vfloor": math.floor,
    "_vceil": math.ceil,
    "_vlist": list,
    "_vdict": dict,
    "_vcatchable": Exception,
    "_vmissing": MISSING_ARGUMENT,
    "_vreadas": call_with_wanted_type,
    "_vadd": operators.add,
    "_vsub": operators.subtract,
    "_vmul": operators.multiply,
    "_vdiv": operators.divide,
    "_vmod": operators.modulo,
    "_vpow": operators.power,
    "_vneg": operators.negate,
    "_veq": operators.is_equal,
    "_vlt": operators.is_less,
    "_vle": operators.is_less_or_equal,
    "_vgt": operators.is_greater,
    "_vge": operators.is_greater_or_equal,
    "_vcond": operators.evaluate_condition,
    "_vin": members.contains_item,
    "_vis": type_conversion.is_of_type,
    "_vone": operators.is_one_of,
    "_vraise": tracebacks.throw_value,
    "_vitems": members.unpack_items,
    "_vspread": members.spread_array,
    "_vspreadfields": members.spread_object,
    "_vpresent": operators.is_present,
    "_vmember": members.get_member,
    "_voptional": members.get_optional_member,
    "_vai": members.get_answer_member,
    "_vitem": members.get_item,
    "_voptionalitem": members.get_optional_item,
    "_vpart": members.slice_value,
    "_vwhole": members.require_index,
    "_vsetitem": members.set_item,
    "_vsetmember": members.set_member,
    "_viter": members.iterate_value,
    "_ventries": members.iterate_entries,
    "_vpositions": pass_positions,
    "_vround": bind_iteration_variables,
    "_vbox": values.VariableCell,
    "_vadapted": adapt_function,
    "_vspan": members.make_range,
    "_vrange": members.make_range_array,
    "_vas": type_conversion.convert_to_type,
    "_vpick": members.pick_known_fields,
    "_vthere": members.drop_null_optional_fields,
    "_vnamed": members.require_known_field,
    "_vseen": members.narrow_to_known_fields,
    "_vcopy": values.copy_value,
    "_vfield": members.get_required_field,
    "_vthrown": tracebacks.make_thrown_error,
    "_vsaid": UserError,
    "_vcaught": tracebacks.make_error_value,
    "_vcall": methods.call_method,
    "_vplaceof": methods.find_index,
    "_vsorted": sorted,
    "_vsort": methods.sort_scalars,
    "_vsortfield": methods.sort_by_field,
    "_vcontains": operator.contains,
    "_vgrouped": array_methods.group_by_keys,
    "_vsum": sum,
    "_vany": any,
    "_vall": all,
    "_vnext": next,
    "_venumerate": enumerate,
    "_vmin": min,
    "_vmax": max,
    "_vtext": values.to_text,
    "_vnumbertext": values.format_float,
    "_vglobals": globals,
    "_vlocals": locals,
    "_vkeep": _publish_main_locals,
    "_vunwrap": values.unwrap_answer,
    "_vplain": values.to_plain_value,
    "_vwait": wait_for_value,
    "_vb_len": methods.get_length,
    "_vb_parseJson": values.parse_json,
}
for _kind, _functions in (
    ("text", methods.TEXT_FUNCTIONS),
    ("number", methods.NUMBER_FUNCTIONS),
    ("array", methods.ARRAY_FUNCTIONS),
    ("object", methods.OBJECT_FUNCTIONS),
    ("map", methods.MAP_FUNCTIONS),
    ("boolean", methods.BOOLEAN_FUNCTIONS),
):
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
