"""The names that every compiled module finds in its globals; programs cannot name them."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from antiphon.lang.compile.code import Code
from antiphon.lang.run import (
    array_functions,
    choosing,
    fitting,
    function_values,
    items,
    members,
    operators,
    receivers,
    throwing,
    values,
    views,
)
from antiphon.lang.run.bindings import Module
from antiphon.lang.run.errors import Thrown, VibeError
from antiphon.lang.run.system import MISSING, read_as
from antiphon.lang.run.threads import wait
from antiphon.lang.run.traces import CODE


def _keep(space: dict[str, Any], local: dict[str, Any]) -> None:
    """Put the variables that only the top level used to the others, for those who look at them afterwards."""
    code: Code = space[CODE]
    names = (each.python for each in code.names.values())
    space.update((name, local[name]) for name in names if name in local)


_SHARED: dict[str, Any] = {
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
    "_vmissing": MISSING,
    "_vreadas": read_as,
    "_vadd": operators.add,
    "_vsub": operators.subtract,
    "_vmul": operators.multiply,
    "_vdiv": operators.divide,
    "_vmod": operators.modulo,
    "_vpow": operators.power,
    "_vneg": operators.negate,
    "_veq": operators.equal,
    "_vlt": operators.less,
    "_vle": operators.less_or_equal,
    "_vgt": operators.greater,
    "_vge": operators.greater_or_equal,
    "_vcond": operators.condition,
    "_vin": choosing.contains,
    "_vis": choosing.is_of,
    "_vone": choosing.is_one,
    "_vraise": choosing.fail,
    "_vitems": choosing.items_of,
    "_vspread": choosing.spread,
    "_vspreadfields": choosing.spread_fields,
    "_vpresent": operators.present,
    "_vmember": members.member,
    "_voptional": members.optional_member,
    "_vai": members.ai_member,
    "_vitem": items.item,
    "_voptionalitem": items.optional_item,
    "_vpart": items.part,
    "_vwhole": items.index,
    "_vsetitem": items.set_item,
    "_vsetmember": members.set_member,
    "_viter": items.iterate,
    "_ventries": items.entries,
    "_vpositions": function_values.positions,
    "_vround": function_values.this_round,
    "_vbox": values.Box,
    "_vadapted": function_values.adapted,
    "_vspan": items.span,
    "_vrange": items.span_array,
    "_vas": fitting.as_type,
    "_vpick": views.pick,
    "_vthere": views.there,
    "_vnamed": views.named,
    "_vseen": views.seen,
    "_vcopy": values.own,
    "_vfield": members.field_of,
    "_vthrown": throwing.thrown,
    "_vsaid": Thrown,
    "_vcaught": throwing.caught,
    "_vcall": receivers.call_method,
    "_vplaceof": receivers.place_of,
    "_vsorted": sorted,
    "_vsort": receivers.sort_plain,
    "_vsortfield": receivers.sort_by_field,
    "_vcontains": operator.contains,
    "_vgrouped": array_functions.grouped,
    "_vsum": sum,
    "_vany": any,
    "_vall": all,
    "_vnext": next,
    "_venumerate": enumerate,
    "_vmin": min,
    "_vmax": max,
    "_vtext": values.text,
    "_vnumbertext": values.number_text,
    "_vglobals": globals,
    "_vlocals": locals,
    "_vkeep": _keep,
    "_vunwrap": values.unwrap,
    "_vplain": values.plain,
    "_vwait": wait,
    "_vb_len": receivers.length,
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
    _SHARED.update((f"_vm_{_kind}_{name}", function) for name, function in _functions.items())


def module_globals(code: Code, module: Module) -> dict[str, Any]:
    """The globals a module starts with."""
    out = {
        **_SHARED,
        "__name__": code.source.name,
        "__file__": code.source.name,
        CODE: code,
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
        "_vb_result": _result,
        "_vb_answers": module.answers,
        "_vb_args": list(module.execution.arguments),
    }
    out.update((f"_vt{number}", type_) for number, type_ in enumerate(code.types))
    own: dict[str, Any] = {"__builtins__": builtins, "__name__": code.source.name, CODE: code}
    for name, function in code.python.items():
        exec(function, own)
        out[name] = own[name]
    return out


def _assert(holds: Any, message: str | None = None) -> None:
    if not operators.condition(holds):
        raise VibeError("V0928", f"the assertion does not hold{f': {message}' if message else ''}")


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operators.equal,
    "!=": lambda left, right: not operators.equal(left, right),
    "<": operators.less,
    "<=": operators.less_or_equal,
    ">": operators.greater,
    ">=": operators.greater_or_equal,
    "in": choosing.contains,
}
#: So much of each side is told, in characters.
_SIDE = 500


def _assert_that(operator: str, left: Any, right: Any, message: str | None = None) -> None:
    if not _COMPARED[operator](left, right):
        about = f": {message}" if message else ""
        sides = f"\n  left:  {_side(left)}\n  right: {_side(right)}"
        raise VibeError("V0928", f"the assertion does not hold{about}{sides}")


def _side(value: Any) -> str:
    told = values.json_text(value)
    return told if len(told) <= _SIDE else f"{told[:_SIDE]}… ({len(told)} characters)"


def _to_json(value: Any, indent: Any = None) -> str:
    return values.json_text(value, items.whole(indent, "the indentation") if indent is not None else None)


def _result(kind: str, data: Any, options: Any = None) -> Any:
    """`result(kind, data, { summary, mimeType, title, display })`, with the names of JSON."""
    from antiphon.results import Result

    said: dict[str, Any] = values.plain(options) or {}
    return Result.from_json({"data": values.plain(data), **said, "kind": kind})
