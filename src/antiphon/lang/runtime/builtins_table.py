"""The table of names that every compiled module finds in its globals; programs cannot name them."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from antiphon.lang.codegen.code_object import ModuleCode
from antiphon.lang.runtime import array_methods as array_functions
from antiphon.lang.runtime import callables as function_values
from antiphon.lang.runtime import exceptions as throwing
from antiphon.lang.runtime import items, members, operators, values
from antiphon.lang.runtime import methods as receivers
from antiphon.lang.runtime import type_conversion as fitting
from antiphon.lang.runtime import type_tests as choosing
from antiphon.lang.runtime import width_subtyping as views
from antiphon.lang.runtime.errors import UserError, VibeError
from antiphon.lang.runtime.module_api import ModuleRuntime
from antiphon.lang.runtime.system import MISSING_ARGUMENT, call_with_wanted_type
from antiphon.lang.runtime.thread_state import wait_for_value
from antiphon.lang.runtime.tracebacks import CODE_GLOBAL


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
    "_vin": choosing.contains_item,
    "_vis": choosing.is_of_type,
    "_vone": choosing.is_one_of,
    "_vraise": choosing.throw_value,
    "_vitems": choosing.unpack_items,
    "_vspread": choosing.spread_array,
    "_vspreadfields": choosing.spread_object,
    "_vpresent": operators.is_present,
    "_vmember": members.get_member,
    "_voptional": members.get_optional_member,
    "_vai": members.get_answer_member,
    "_vitem": items.get_item,
    "_voptionalitem": items.get_optional_item,
    "_vpart": items.slice_value,
    "_vwhole": items.require_index,
    "_vsetitem": items.set_item,
    "_vsetmember": members.set_member,
    "_viter": items.iterate_value,
    "_ventries": items.iterate_entries,
    "_vpositions": function_values.pass_positions,
    "_vround": function_values.bind_iteration_variables,
    "_vbox": values.VariableCell,
    "_vadapted": function_values.adapt_function,
    "_vspan": items.make_range,
    "_vrange": items.make_range_array,
    "_vas": fitting.convert_to_type,
    "_vpick": views.pick_known_fields,
    "_vthere": views.drop_null_optional_fields,
    "_vnamed": views.require_known_field,
    "_vseen": views.narrow_to_known_fields,
    "_vcopy": values.copy_value,
    "_vfield": members.get_required_field,
    "_vthrown": throwing.make_thrown_error,
    "_vsaid": UserError,
    "_vcaught": throwing.make_error_value,
    "_vcall": receivers.call_method,
    "_vplaceof": receivers.find_index,
    "_vsorted": sorted,
    "_vsort": receivers.sort_scalars,
    "_vsortfield": receivers.sort_by_field,
    "_vcontains": operator.contains,
    "_vgrouped": array_functions.group_by_keys,
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
    "_vb_len": receivers.get_length,
    "_vb_parseJson": values.parse_json,
}
for _kind, _functions in (
    ("text", receivers.TEXT_FUNCTIONS),
    ("number", receivers.NUMBER_FUNCTIONS),
    ("array", receivers.ARRAY_FUNCTIONS),
    ("object", receivers.OBJECT_FUNCTIONS),
    ("map", receivers.MAP_FUNCTIONS),
    ("boolean", receivers.BOOLEAN_FUNCTIONS),
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
    "in": choosing.contains_item,
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
    return values.to_json_text(value, items.require_integer(indent, "the indentation") if indent is not None else None)


def _make_result(kind: str, data: Any, options: Any = None) -> Any:
    """Implement `result(kind, data, { summary, mimeType, title, display })`, with its JSON field names."""
    from antiphon.results import Result

    said: dict[str, Any] = values.to_plain_value(options) or {}
    return Result.from_json({"data": values.to_plain_value(data), **said, "kind": kind})
