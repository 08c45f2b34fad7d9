"""What a function takes: the schema its annotations mean, and arguments checked and converted against it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin, get_type_hints

from antiphon._json import dumps
from antiphon.errors import AntiphonError, ContentError
from antiphon.tools.annotations import check_core_schema, readable

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


class InvalidArguments(AntiphonError):
    """Arguments that do not fit; the message is for the model, and says for each what was expected and what came."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of a function."""

    description: str
    schema: dict[str, Any]
    #: Our parameter names by the names of the model's fields, which may not be just anything.
    fields: Mapping[str, str]
    #: The parameter that is given the context, if there is one.
    context: str | None
    #: What checks them; nothing, where somebody else will.
    _model: type[BaseModel] | None

    @classmethod
    def of(cls, function: Callable[..., Any], context_type: type) -> Arguments:
        """Read a signature; TypeError says what a tool cannot have."""
        from pydantic import ConfigDict, Field, create_model
        from pydantic.fields import FieldInfo

        said = _docstring(function)
        hints = _hints(function)
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
            annotation = readable(hints.get(name, Any))
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
            if description := _description(annotation, said.get(name, "")):
                extras["description"] = description
            definitions[field_name] = (annotation, Field(**extras))
        title = getattr(function, "__name__", "arguments")
        model = create_model(title, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **definitions)
        check_core_schema(model.__pydantic_core_schema__)
        schema = without_titles(model.model_json_schema(by_alias=True))
        schema.pop("description", None)
        return cls(said.get("", ""), schema, fields, context, model)

    @classmethod
    def passthrough(cls, schema: dict[str, Any], description: str = "") -> Arguments:
        """Arguments that are handed on as the model gave them, to a function of `**arguments` whose own side checks."""
        return cls(description, schema, {}, None, None)

    def convert(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values that the function gets, checked and with defaults, and the same as JSON data."""
        if self._model is None:
            return dict(given), dict(given)
        from pydantic import ValidationError

        try:
            # As JSON, which is what they came as: strict types take dates and tuples from it.
            checked = self._model.model_validate_json(dumps(given, "the arguments"))
        except ValidationError as error:
            raise InvalidArguments(explained(error)) from None
        values = {name: getattr(checked, field) for field, name in self.fields.items()}
        return values, checked.model_dump(mode="json", by_alias=True, warnings=False, fallback=repr)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations, of a function inside a `partial` or of an object that can be called too."""
    if isinstance(function, partial):
        return _hints(cast(Callable[..., Any], function.func))
    target: Any = function if inspect.isroutine(function) else type(function).__call__
    return get_type_hints(target, include_extras=True)


def _description(annotation: Any, said: str) -> str:
    """What is said of a parameter, where the annotation's own field does not say it."""
    extras: tuple[Any, ...] = getattr(annotation, "__metadata__", ())
    if any(getattr(extra, "description", None) for extra in extras):
        return ""
    return next((extra for extra in extras if isinstance(extra, str)), said)


def explained(error: ValidationError) -> str:
    """What is wrong with each value, in words a model can act on."""
    return "; ".join(text for _, text in faults_of(error))


def faults_of(error: ValidationError) -> list[tuple[tuple[int | str, ...], str]]:
    """Each fault: where it is, and what is wrong in words a model can act on."""
    faults: list[tuple[tuple[int | str, ...], str]] = []
    for fault in error.errors(include_url=False, include_context=False):
        place = ".".join(str(step) for step in fault["loc"] if not str(step).startswith("function-"))
        text = fault["msg"][:1].lower() + fault["msg"][1:]
        if fault["type"] == "missing":
            said = f"`{place}` is missing"
        elif fault["type"] == "extra_forbidden":
            said = f"`{place}` is not a parameter"
        else:
            said = f"{f'`{place}`: ' if place else ''}{text}; got {_shown(fault['input'])}"
        faults.append((fault["loc"], said))
    return faults


def _shown(value: object) -> str:
    try:
        text = dumps(value)
    except ContentError:
        text = repr(value)
    kinds: dict[type, str] = {str: "text", bool: "a boolean", int: "a number", float: "a number"}
    kinds |= {list: "a list", dict: "an object"}
    short = text if len(text) <= 80 else f"{text[:80]}…"
    return short if value is None else f"{short} ({kinds.get(type(value), type(value).__name__)})"


def without_titles(schema: Any) -> Any:
    """A schema without the titles that pydantic makes of every name: they cost tokens and say nothing."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]  # type: ignore[misc]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():  # type: ignore[misc]
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs") and isinstance(value, dict):
            # Here the keys are names of the user's own, `title` among them perhaps.
            out[key] = {name: without_titles(inner) for name, inner in value.items()}  # type: ignore[misc]
        else:
            out[key] = without_titles(value) if key not in ("default", "enum", "const", "examples") else value
    return out


def _docstring(function: Callable[..., Any]) -> dict[str, str]:
    """The description under "", and what is said of each parameter, in whichever of the usual styles."""
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
