"""Tools of the language as tools of a session, and its types as Python's annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any
from typing import Literal as PythonLiteral

from antiphon.lang.errors import VibeError
from antiphon.lang.nodes import BoolLit, Expr, Function, NumberLit, TextLit
from antiphon.lang.types import AI, NULL, Array, Literal, Object, Simple, Type, Union
from antiphon.lang.types import Callable as Signature

if TYPE_CHECKING:
    from antiphon.tools import Tool


@dataclass(slots=True, eq=False)
class VibeTool:
    """A tool that a program declares: callable by the program, and by models once it is among a model's tools."""

    node: Function
    function: Callable[..., Any]
    #: How a model's call is run: with a history of its own.
    run: Callable[[Callable[..., Any], dict[str, Any]], Any]
    made: Any = field(default=None)

    @property
    def name(self) -> str:
        """The name models call it by."""
        return self.node.name

    def tool(self) -> Tool:
        """As a session wants it; made when it is first needed."""
        if self.made is None:
            from antiphon.tools import as_tool

            self.made = as_tool(self._callable(), name=self.name, description=self.node.description or self.node.doc)
        return self.made

    def _callable(self) -> Callable[..., Any]:
        function, run = self.function, self.run
        signature = self.node.symbol.type if self.node.symbol else None
        types = signature.parameters if isinstance(signature, Signature) else ()
        parameters: list[inspect.Parameter] = []
        annotations: dict[str, Any] = {}
        for each, type_ in zip(self.node.parameters, types, strict=False):
            annotation = described(python_type(type_), each.description)
            annotations[each.name] = annotation
            default = inspect.Parameter.empty if each.default is None else _default(each.default)
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(inspect.Parameter(each.name, kind, annotation=annotation, default=default))

        def called(**arguments: Any) -> Any:
            return run(function, arguments)

        called.__name__ = self.name
        called.__annotations__ = annotations
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return called


#: Stands for an argument that a model left out: the tool itself works its default out.
LEFT_OUT: Any = object()


def _default(node: Expr) -> Any:
    """A parameter's default: the value itself, which the model is told, where it is written down."""
    from pydantic import Field

    if isinstance(node, NumberLit | BoolLit):
        return node.value
    if isinstance(node, TextLit) and all(isinstance(part, str) for part in node.parts):
        return "".join(part for part in node.parts if isinstance(part, str))
    return Field(default_factory=lambda: LEFT_OUT)


def described(annotation: Any, description: str) -> Any:
    """An annotation with what is said of it."""
    from pydantic import Field

    return Annotated[annotation, Field(description=description)] if description else annotation


def python_type(type_: Type) -> Any:
    """A type as Python's annotation, which pydantic makes a schema of and checks values with."""
    return _python_type(type_, {})


def _python_type(type_: Type, made: dict[int, Any]) -> Any:
    match type_:
        case Simple(name):
            simple: dict[str, Any] = {"text": str, "prompt": str, "boolean": bool, "null": None, "number": _number()}
            return simple.get(name, Any)
        case Array(item):
            return list[_python_type(item, made)]  # type: ignore[misc]
        case Literal(value):
            return PythonLiteral[value]  # type: ignore[valid-type]
        case Union(options):
            return _union(options, made)
        case AI(inner):
            return _python_type(inner, made)
        case Object():
            return _typed_dict(type_, made)
        case _:
            return Any


def _union(options: tuple[Type, ...], made: dict[int, Any]) -> Any:
    literals = tuple(each.value for each in options if isinstance(each, Literal))
    kinds: list[Any] = [PythonLiteral[literals]] if literals else []  # type: ignore[misc]
    kinds += [_python_type(each, made) for each in options if not isinstance(each, Literal) and each != NULL]
    kinds += [None] if NULL in options else []
    out: Any = kinds[0]
    for kind in kinds[1:]:
        out = out | kind
    return out


def _typed_dict(type_: Object, made: dict[int, Any]) -> Any:
    from typing import NotRequired

    from typing_extensions import TypedDict

    if id(type_) in made:
        raise VibeError("V0921", f"a model cannot return `{type_.name}`: the type contains itself")
    made[id(type_)] = None
    fields: dict[str, Any] = {}
    for name, each in type_.fields.items():
        annotation = described(_python_type(each.type, made), each.description)
        fields[name] = NotRequired[annotation] if each.optional else annotation
    del made[id(type_)]
    return TypedDict(type_.name or "Answer", fields)  # type: ignore[misc]


def _number() -> Any:
    from pydantic import BeforeValidator, WithJsonSchema

    return Annotated[int | float, BeforeValidator(_no_boolean), WithJsonSchema({"type": "number"})]


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number is wanted, not a boolean")
    return value
