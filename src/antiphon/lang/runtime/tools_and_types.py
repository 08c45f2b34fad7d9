"""Convert tools of the language to session tools, and its types to Python annotations."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from typing import Literal as PythonLiteral

from antiphon.lang.syntax.nodes import BoolLit, Expr, Function, NumberLit, get_plain_text
from antiphon.lang.typecheck import types as t

if TYPE_CHECKING:
    from antiphon.tools import Tool


@dataclass(slots=True, eq=False)
class VibeTool:
    """A tool that a program declares: callable by the program, and by models that are given it."""

    node: Function
    function: Callable[..., Any]
    #: Runs a model's call, with a history of its own.
    run: Callable[[Callable[..., Any], dict[str, Any]], Any]
    made: Any = field(default=None)

    @property
    def name(self) -> str:
        """Return the name by which models call it."""
        return self.node.name

    def tool(self) -> Tool:
        """Return it as a tool for a session; it is made at the first use."""
        if self.made is None:
            from antiphon.tools import as_tool

            told = self.node.description or self.node.doc
            self.made = as_tool(self._make_callable(), name=self.name, description=told, is_transparent=True)
        return self.made

    def rename_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments under the Python names of their parameters."""
        python = {each.name: each.symbol.python for each in self.node.parameters if each.symbol is not None}
        return {python[name]: each for name, each in arguments.items()}

    def _make_callable(self) -> Callable[..., Any]:
        function, run = self.function, self.run
        signature = self.node.symbol.type if self.node.symbol else None
        types = signature.parameters if isinstance(signature, t.CallableType) else ()
        parameters: list[inspect.Parameter] = []
        annotations: dict[str, Any] = {}
        for each, type_ in zip(self.node.parameters, types, strict=False):
            annotation = annotate_description(to_python_type(type_), each.description)
            annotations[each.name] = annotation
            default = inspect.Parameter.empty if each.default is None else _make_default(each.default)
            parameters.append(make_parameter(each.name, annotation, default))

        def called(**arguments: Any) -> Any:
            return run(function, self.rename_arguments(arguments))

        called.__annotations__ = annotations
        # In a plain function, a parameter `self` would be taken for that of a method.
        given: Any = partial(called)
        given.__doc__, given.__signature__ = "", inspect.Signature(parameters)
        return given


def make_parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return a parameter of a Python signature; its name need not be a valid Python name."""
    out = inspect.Parameter("_", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)
    out._name = name  # type: ignore[attr-defined]
    return out


#: Stands for an argument that a model omitted: the tool itself computes its default.
OMITTED_ARGUMENT: Any = object()


def _make_default(node: Expr) -> Any:
    """Return a parameter's default: the literal value, which the model sees, or `OMITTED_ARGUMENT`."""
    from pydantic import Field

    if isinstance(node, NumberLit | BoolLit):
        return node.value
    text = get_plain_text(node)
    return text if text is not None else Field(default_factory=lambda: OMITTED_ARGUMENT)


def annotate_description(annotation: Any, description: str) -> Any:
    """Return an annotation with a description."""
    from pydantic import Field

    return Annotated[annotation, Field(description=description)] if description else annotation


def to_python_type(type_: t.Type) -> Any:
    """Convert a type to a Python annotation, from which pydantic makes a schema and validates values."""
    return _convert_type(type_, {})


def _convert_type(type_: t.Type, made: dict[int, Any]) -> Any:
    match type_:
        case t.SimpleType(name):
            simple: dict[str, Any] = {
                "text": str,
                "prompt": str,
                "boolean": _make_boolean_type(),
                "null": None,
                "number": _make_number_type(),
            }
            return simple.get(name, Any)
        case t.Array(inner=inner):
            return list[_convert_inner_type(inner, made)]  # type: ignore[misc]
        case t.Map(inner=inner):
            return dict[str, _convert_inner_type(inner, made)]  # type: ignore[misc]
        case t.Literal(value):
            return PythonLiteral[value]  # type: ignore[valid-type]
        case t.Union(options):
            literals = tuple(each.value for each in options if isinstance(each, t.Literal))
            kinds: list[Any] = [PythonLiteral[literals]] if literals else []  # type: ignore[misc]
            kinds += [
                _convert_type(each, made) for each in options if not isinstance(each, t.Literal) and each != t.NULL
            ]
            kinds += [None] if t.NULL in options else []
            out: Any = kinds[0]
            for kind in kinds[1:]:
                out = out | kind
            return out
        case t.AIResultType(inner):
            return _convert_type(inner, made)
        case t.Object():
            return _make_typed_dict(type_, made)
        case _:
            return Any


def _convert_inner_type(type_: t.Type | t.TypeReference, made: dict[int, Any]) -> Any:
    """Convert the item type of an array or a map; a recursive one is a named type in the schema."""
    if not isinstance(type_, t.TypeReference):
        return _convert_type(type_, made)
    if id(type_) not in made:
        from typing_extensions import TypeAliasType

        later = _DeferredAnnotation()
        alias: Any = TypeAliasType
        made[id(type_)] = alias(_make_free_name(type_.name or _DEFAULT_TYPE_NAME, made), Annotated[Any, later])
        later.annotation = _convert_type(type_.target, made)
    return made[id(type_)]


class _DeferredAnnotation:
    """An annotation that is set before the schema is generated."""

    annotation: Any = Any

    def __get_pydantic_core_schema__(self, _: Any, handler: Any) -> Any:
        return handler.generate_schema(self.annotation)


#: The name of an unnamed object in a schema.
_DEFAULT_TYPE_NAME = "Answer"


def _make_free_name(wish: str, made: dict[int, Any]) -> str:
    """Return a name that no other type of the schema has, because objects of one union may share theirs.

    The first type is the schema itself; if it is unnamed, nothing refers to it.
    """
    names = [str(getattr(each, "__name__", "")) for each in made.values()]
    taken = {*(names[1:] if names[:1] == [_DEFAULT_TYPE_NAME] else names)}
    free = (wish, *(f"{wish}{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in free if each not in taken)


def _make_typed_dict(type_: t.Object, made: dict[int, Any]) -> Any:
    from typing import NotRequired

    from typing_extensions import TypedDict

    if id(type_) in made:
        return made[id(type_)]
    # Created before its fields, which may have this same type.
    out: Any = TypedDict(_make_free_name(type_.name or _DEFAULT_TYPE_NAME, made), {})  # type: ignore[misc]
    made[id(type_)] = out
    fields: dict[str, Any] = {}
    for name, each in type_.fields.items():
        annotation = annotate_description(_convert_type(each.type, made), each.description)
        fields[name] = NotRequired[annotation] if each.optional else annotation
    out.__annotations__ = fields
    out.__required_keys__ = frozenset(name for name, each in type_.fields.items() if not each.optional)
    out.__optional_keys__ = frozenset(fields) - out.__required_keys__
    return out


def _make_number_type() -> Any:
    from pydantic import BeforeValidator, WithJsonSchema

    # One validator, because a union of int and float would show both in the schema.
    return Annotated[Any, BeforeValidator(_validate_number), WithJsonSchema({"type": "number"})]


def _make_boolean_type() -> Any:
    from pydantic import BeforeValidator, WithJsonSchema

    return Annotated[Any, BeforeValidator(_validate_boolean), WithJsonSchema({"type": "boolean"})]


def _validate_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("boolean", "true or false is wanted")
    return value


def _validate_number(value: Any) -> int | float:
    is_finite = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if not is_finite or isinstance(value, bool):
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("number", "a number is wanted")
    return value
