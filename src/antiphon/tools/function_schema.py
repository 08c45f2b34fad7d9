"""Function parameters as a JSON schema, and validation and conversion of arguments against it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin, get_type_hints

from antiphon._base.json import dump_json
from antiphon.errors import AntiphonError, ContentError
from antiphon.tools.type_annotations import check_core_schema, make_readable_annotation

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


class InvalidArguments(AntiphonError):
    """Arguments that do not match the schema. The message tells the model for each what was expected and
    found.
    """


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """The parameters of a function: their JSON schema and their validation."""

    description: str
    schema: dict[str, Any]
    #: Parameter names by the names of the pydantic model's fields, which are restricted.
    fields: Mapping[str, str]
    #: The parameter that receives the `ToolContext`, if there is one.
    context: str | None
    #: The pydantic model that validates arguments; `None` if the function validates them itself.
    _model: type[BaseModel] | None

    @classmethod
    def of(cls, function: Callable[..., Any], context_type: type) -> FunctionSchema:
        """Read a function's signature. Raise a TypeError if a parameter is not possible for a tool."""
        from pydantic import ConfigDict, Field, create_model
        from pydantic.fields import FieldInfo

        said = _parse_docstring(function)
        hints = _get_type_hints(function)
        definitions: dict[str, Any] = {}
        fields: dict[str, str] = {}
        context: str | None = None
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(f"`{parameter}` stands for any number of arguments; name each one")
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise TypeError(f"`{parameter}` can only be given by position; models name their arguments")
            if name == "self" and inspect.isfunction(function):
                raise TypeError("it takes `self`; give the bound method of an object")
            annotation = make_readable_annotation(hints.get(name, Any))
            if any(context_type in (each, get_origin(each)) for each in (annotation, *get_args(annotation))):
                context = name
                continue
            # pydantic reserves names of its own, so fields are numbered and the parameter's name is an alias.
            field_name = f"argument_{len(fields)}"
            fields[field_name] = name
            extras: dict[str, Any] = {"alias": name}
            if isinstance(parameter.default, FieldInfo):
                annotation = Annotated[annotation, parameter.default]
            elif parameter.default is not parameter.empty:
                extras["default"] = parameter.default
            if description := _get_description(annotation, said.get(name, "")):
                extras["description"] = description
            definitions[field_name] = (annotation, Field(**extras))
        title = getattr(function, "__name__", "arguments")
        model = create_model(title, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **definitions)
        check_core_schema(model.__pydantic_core_schema__)
        schema = strip_schema_titles(model.model_json_schema(by_alias=True))
        schema.pop("description", None)
        return cls(said.get("", ""), schema, fields, context, model)

    @classmethod
    def passthrough(cls, schema: dict[str, Any], description: str = "", context: str | None = None) -> FunctionSchema:
        """Return a schema whose arguments are passed on unchecked, to a function of `**arguments` that
        checks itself. It gets the `ToolContext` as the argument named `context`.
        """
        return cls(description, schema, {}, context, None)

    def convert(self, given: Mapping[str, Any], given_json: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the validated values for the function, with defaults, and the same values as JSON data.

        `given_json` is the JSON text of the given values, if it is known.
        """
        if self._model is None:
            return dict(given), dict(given)
        from pydantic import ValidationError

        try:
            # Validate as JSON, the form they came in: strict types accept dates and tuples from JSON only.
            checked = self._model.model_validate_json(given_json or dump_json(given, "the arguments"))
        except ValidationError as error:
            raise InvalidArguments(explain_validation_error(error)) from None
        values = {name: getattr(checked, field) for field, name in self.fields.items()}
        return values, checked.model_dump(mode="json", by_alias=True, warnings=False, fallback=repr)


def _get_type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function, a `partial` or a callable object."""
    if isinstance(function, partial):
        return _get_type_hints(cast(Callable[..., Any], function.func))
    target: Any = function if inspect.isroutine(function) else type(function).__call__
    return get_type_hints(target, include_extras=True)


def _get_description(annotation: Any, said: str) -> str:
    """Return the description of a parameter, unless the annotation's own field has one."""
    extras: tuple[Any, ...] = getattr(annotation, "__metadata__", ())
    if any(getattr(extra, "description", None) for extra in extras):
        return ""
    return next((extra for extra in extras if isinstance(extra, str)), said)


def explain_validation_error(error: ValidationError) -> str:
    """Return the problems of each value as text that a model can act on."""
    return "; ".join(text for _, text in list_validation_problems(error))


def list_validation_problems(error: ValidationError) -> list[tuple[tuple[int | str, ...], str]]:
    """Return each problem: its location, and text that a model can act on."""
    faults: list[tuple[tuple[int | str, ...], str]] = []
    for fault in error.errors(include_url=False, include_context=False):
        place = ".".join(str(step) for step in fault["loc"] if not str(step).startswith("function-"))
        text = fault["msg"][:1].lower() + fault["msg"][1:]
        if fault["type"] == "missing":
            said = f"`{place}` is missing"
        elif fault["type"] == "extra_forbidden":
            said = f"`{place}` is not a parameter"
        else:
            said = f"{f'`{place}`: ' if place else ''}{text}; got {_format_input(fault['input'])}"
        faults.append((fault["loc"], said))
    return faults


def _format_input(value: object) -> str:
    try:
        text = dump_json(value)
    except ContentError:
        text = repr(value)
    kinds: dict[type, str] = {str: "text", bool: "a boolean", int: "a number", float: "a number"}
    kinds |= {list: "a list", dict: "an object"}
    short = text if len(text) <= 80 else f"{text[:80]}…"
    return short if value is None else f"{short} ({kinds.get(type(value), type(value).__name__)})"


def strip_schema_titles(schema: Any) -> Any:
    """Return a schema without the titles that pydantic derives from names: they cost tokens and add nothing."""
    if isinstance(schema, list):
        return [strip_schema_titles(item) for item in schema]  # type: ignore[misc]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():  # type: ignore[misc]
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs") and isinstance(value, dict):
            # These keys are names from the user's code, and `title` may be one of them.
            out[key] = {name: strip_schema_titles(inner) for name, inner in value.items()}  # type: ignore[misc]
        else:
            out[key] = strip_schema_titles(value) if key not in ("default", "enum", "const", "examples") else value
    return out


def _parse_docstring(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description under "" and the description of each parameter, in any common docstring style."""
    text = inspect.getdoc(function) or ""
    if not text:
        return {}
    from docstring_parser import parse

    parsed = parse(text)
    paragraphs = [parsed.short_description, parsed.long_description]
    said = {"": "\n\n".join(paragraph for paragraph in paragraphs if paragraph)}
    for parameter in parsed.params:
        if parameter.description:
            said[parameter.arg_name] = parameter.description
    returns = parsed.returns
    if returns and returns.description:
        said[""] = f"{said['']}\n\nReturns: {returns.description}".strip()
    return said
