"""Tools of the language as tools of a session, and its types as Python's annotations."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from typing import Literal as PythonLiteral

from antiphon.lang.check.types import AI, NULL, Alias, Array, Literal, Map, Object, Simple, Type, Union
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.syntax.nodes import BoolLit, Expr, Function, NumberLit, TextLit

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

            told = self.node.description or self.node.doc
            self.made = as_tool(self._callable(), name=self.name, description=told, is_transparent=True)
        return self.made

    def by_python_name(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments under the names that Python has for them."""
        python = {each.name: each.symbol.python for each in self.node.parameters if each.symbol is not None}
        return {python[name]: each for name, each in arguments.items()}

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
            parameters.append(parameter(each.name, annotation, default))

        def called(**arguments: Any) -> Any:
            return run(function, self.by_python_name(arguments))

        called.__annotations__ = annotations
        # Of a function, `self` would be taken for the object of a method.
        given: Any = partial(called)
        given.__doc__, given.__signature__ = "", inspect.Signature(parameters)
        return given


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """A parameter as Python describes it; the language allows names that Python's own functions cannot have."""
    out = inspect.Parameter("_", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)
    out._name = name  # type: ignore[attr-defined]
    return out


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
            simple: dict[str, Any] = {
                "text": str,
                "prompt": str,
                "boolean": _boolean(),
                "null": None,
                "number": _number(),
            }
            return simple.get(name, Any)
        case Array(inner=inner):
            return list[_inner_type(inner, made)]  # type: ignore[misc]
        case Map(inner=inner):
            return dict[str, _inner_type(inner, made)]  # type: ignore[misc]
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


def _inner_type(type_: Type | Alias, made: dict[int, Any]) -> Any:
    """What is in an array or a map; one that is in itself is a type of its own in the schema."""
    if not isinstance(type_, Alias):
        return _python_type(type_, made)
    if id(type_) not in made:
        from typing_extensions import TypeAliasType

        later = _Later()
        alias: Any = TypeAliasType
        made[id(type_)] = alias(_free_name(type_.name or _UNNAMED, made), Annotated[Any, later])
        later.annotation = _python_type(type_.target, made)
    return made[id(type_)]


class _Later:
    """An annotation that is known when the schema is made."""

    annotation: Any = Any

    def __get_pydantic_core_schema__(self, _: Any, handler: Any) -> Any:
        return handler.generate_schema(self.annotation)


def _union(options: tuple[Type, ...], made: dict[int, Any]) -> Any:
    literals = tuple(each.value for each in options if isinstance(each, Literal))
    kinds: list[Any] = [PythonLiteral[literals]] if literals else []  # type: ignore[misc]
    kinds += [_python_type(each, made) for each in options if not isinstance(each, Literal) and each != NULL]
    kinds += [None] if NULL in options else []
    out: Any = kinds[0]
    for kind in kinds[1:]:
        out = out | kind
    return out


#: What an object without a name is called in a schema.
_UNNAMED = "Answer"


def _free_name(wish: str, made: dict[int, Any]) -> str:
    """A name that no other type of the schema has: the objects of one union may share theirs.

    The first is the schema itself; without a name of its own, nothing in it can refer to it.
    """
    names = [str(getattr(each, "__name__", "")) for each in made.values()]
    taken = {*(names[1:] if names[:1] == [_UNNAMED] else names)}
    free = (wish, *(f"{wish}{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in free if each not in taken)


def _typed_dict(type_: Object, made: dict[int, Any]) -> Any:
    from typing import NotRequired

    from typing_extensions import TypedDict

    if id(type_) in made:
        return made[id(type_)]
    # Made before its fields, which may be of this very type.
    out: Any = TypedDict(_free_name(type_.name or _UNNAMED, made), {})  # type: ignore[misc]
    made[id(type_)] = out
    fields: dict[str, Any] = {}
    for name, each in type_.fields.items():
        annotation = described(_python_type(each.type, made), each.description)
        fields[name] = NotRequired[annotation] if each.optional else annotation
    out.__annotations__ = fields
    out.__required_keys__ = frozenset(name for name, each in type_.fields.items() if not each.optional)
    out.__optional_keys__ = frozenset(fields) - out.__required_keys__
    return out


def _number() -> Any:
    from pydantic import BeforeValidator, WithJsonSchema

    # One validator, where a union of int and float would tell the model of both.
    return Annotated[Any, BeforeValidator(_as_number), WithJsonSchema({"type": "number"})]


def _boolean() -> Any:
    from pydantic import BeforeValidator, WithJsonSchema

    return Annotated[Any, BeforeValidator(_as_boolean), WithJsonSchema({"type": "boolean"})]


def _as_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("boolean", "true or false is wanted")
    return value


def _as_number(value: Any) -> int | float:
    is_finite = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if not is_finite or isinstance(value, bool):
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("number", "a number is wanted")
    return value
