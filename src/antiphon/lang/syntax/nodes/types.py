"""Nodes of type annotations."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from antiphon.lang.syntax.nodes.base import Node

if TYPE_CHECKING:
    from antiphon.lang.typecheck.types import Type


class TypeExpr(Node):
    """Base class of type annotations; `type` is the resolved type."""


class TypeName(TypeExpr):
    """`text`, `number`, `boolean`, `json`, `prompt`, `model`, `null`, or a declared type."""

    name: str
    type: Type | None = field(default=None, compare=False, repr=False)


class ArrayType(TypeExpr):
    """`T[]`."""

    item: TypeNode
    type: Type | None = field(default=None, compare=False, repr=False)


class LiteralType(TypeExpr):
    """`"low"`, `3`, `true`: a type with one value."""

    value: str | int | float | bool
    type: Type | None = field(default=None, compare=False, repr=False)


class UnionType(TypeExpr):
    """`"low" | "high"`, `text | null`."""

    options: list[TypeNode]
    type: Type | None = field(default=None, compare=False, repr=False)


class TypeField(Node):
    """`age?: number "in whole years"`; the name spans `start` to `name_end`."""

    name: str
    declared: TypeNode
    optional: bool = False
    description: str = ""
    name_end: int = field(default=0, compare=False)


class ObjectType(TypeExpr):
    """`{ name: text, age?: number }`."""

    fields: list[TypeField]
    type: Type | None = field(default=None, compare=False, repr=False)


class MapType(TypeExpr):
    """`{ [text]: number }`; `key_start` is the offset of the bracket of the key."""

    key: TypeNode
    value: TypeNode
    key_start: int = field(default=0, compare=False)
    type: Type | None = field(default=None, compare=False, repr=False)


class FunctionType(TypeExpr):
    """`(number, text) => boolean`."""

    parameters: list[TypeNode]
    returns: TypeNode
    type: Type | None = field(default=None, compare=False, repr=False)


TypeNode = TypeName | ArrayType | LiteralType | UnionType | ObjectType | MapType | FunctionType
