"""Objects as their types say, compiled: a value may have more fields than its type."""

from __future__ import annotations

import ast

from antiphon.lang.check.types import Object, Type
from antiphon.lang.compile import emit
from antiphon.lang.compile.emit import Place


def picked(value: ast.expr, kind: Type, place: Place) -> ast.expr:
    """An object with the fields of its type alone: it may have more than that says."""
    if not isinstance(kind, Object):
        return value
    return emit.call("_vpick", [value, emit.constant(tuple(kind.fields), place)], place)


def named_field(key: ast.expr, kind: Object, place: Place) -> ast.expr:
    """The name of a field that only the running program knows: one that the type has."""
    if isinstance(key, ast.Constant):
        return key
    return emit.call("_vnamed", [key, emit.constant(tuple(kind.fields), place)], place)
