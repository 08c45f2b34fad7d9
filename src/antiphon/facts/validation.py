"""Validation of facts from files: names, types and values; and the tables of facts that users write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from antiphon._base.did_you_mean import suggest_name
from antiphon.errors import ConfigurationError
from antiphon.facts.fields import COMPUTED_FIELDS, MAPPING_FIELDS, TABLE_FIELDS, flatten_table
from antiphon.facts.model_facts import Facts, InputLimits
from antiphon.facts.resolution import find

_INPUT_KINDS = ("images", "pdf", "audio", "video", "files")


def check_facts(flat: Mapping[str, Any], where: str) -> None:
    """Raise ConfigurationError for an unknown field or a value of the wrong type. `where` names the place."""
    for name, value in flat.items():
        kinds = get_field_types()
        head, _, tail = name.partition(".")
        if head in MAPPING_FIELDS and tail:
            _check_mapping(head, tail, value, where)
        elif name not in kinds:
            near = suggest_name(name, kinds)
            hint = f"did you mean `{near}`?" if near else "docs/models.md lists the fields"
            raise ConfigurationError(f"{where}: there is no fact `{name}`; {hint}")
        elif not _is_of_type(value, kinds[name]):
            raise ConfigurationError(f"{where}: `{name}` is {_describe_type(kinds[name])}, not {value!r:.60}")
    _check_consistency(flat, where)


@cache
def get_field_types() -> dict[str, Any]:
    """Return the type of each fact by its dotted name, without mappings with free keys."""
    kinds: dict[str, Any] = {}
    # The facts import `date` only when their package resolves annotations.
    late = {"date": date}
    for name, kind in get_type_hints(Facts, localns=late).items():
        if name in TABLE_FIELDS:
            hints = get_type_hints(TABLE_FIELDS[name], localns=late)
            kinds |= {f"{name}.{inner}": each for inner, each in hints.items()}
        elif name not in MAPPING_FIELDS and name not in COMPUTED_FIELDS:
            kinds[name] = kind
    return kinds


def _check_mapping(head: str, key: str, value: Any, where: str) -> None:
    name = f"{head}.{key}"
    if head == "inputs":
        if key not in _INPUT_KINDS:
            near = suggest_name(key, _INPUT_KINDS) or ", ".join(_INPUT_KINDS)
            raise ConfigurationError(f"{where}: there is no fact `{name}`; did you mean `inputs.{near}`?")
        if isinstance(value, Mapping):
            hints = get_type_hints(InputLimits)
            for inner, each in cast("Mapping[str, Any]", value).items():
                if inner not in hints or not _is_of_type(each, hints[inner]):
                    raise ConfigurationError(f"{where}: `{name}.{inner}` is no limit of an input: {each!r:.60}")
        elif not isinstance(value, bool):
            raise ConfigurationError(f"{where}: `{name}` is true, false or a table of limits, not {value!r:.60}")
    wanted = {"effort_caps": str, "betas": str, "server_tools": tuple[str, ...]}.get(head)
    if wanted is not None and not _is_of_type(value, wanted):
        raise ConfigurationError(f"{where}: `{name}` is {_describe_type(wanted)}, not {value!r:.60}")


def _is_of_type(value: Any, kind: Any) -> bool:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return any(_is_of_type(value, each) for each in get_args(kind) if each is not NoneType)
    if origin is Literal:
        return value in get_args(kind)
    if origin is tuple:
        return isinstance(value, list | tuple) and _are_items_of_type(value, get_args(kind))
    if kind is date:
        return isinstance(value, date) or _is_iso_date(value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _are_items_of_type(value: Any, kinds: tuple[Any, ...]) -> bool:
    if kinds[-1] is Ellipsis:
        return all(_is_of_type(each, kinds[0]) for each in value)
    return len(value) == len(kinds) and all(_is_of_type(each, kind) for each, kind in zip(value, kinds, strict=True))


def _is_iso_date(value: Any) -> bool:
    try:
        date.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


def _describe_type(kind: Any) -> str:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return " or ".join(_describe_type(each) for each in get_args(kind) if each is not NoneType)
    if origin is Literal:
        return " or ".join(repr(each) for each in get_args(kind))
    if origin is tuple:
        return f"a list of {_describe_type(get_args(kind)[0])}"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", date: "a date"}
    return words.get(kind, str(kind))


def _check_consistency(flat: Mapping[str, Any], where: str) -> None:
    """Raise ConfigurationError for facts of one place that contradict each other."""
    efforts, default = flat.get("efforts"), flat.get("effort_default")
    if efforts is not None and default is not None and default not in efforts:
        raise ConfigurationError(f"{where}: `effort_default` is {default!r}, which is not in `efforts`")
    context = flat.get("context")
    for name in ("max_input", "max_output"):
        if context is not None and flat.get(name, 0) > context:
            raise ConfigurationError(f"{where}: `{name}` is larger than `context`")
    kinds, off = flat.get("thinking.kinds"), flat.get("thinking.off")
    if kinds and off == "between_tools" and off not in kinds:
        raise ConfigurationError(f"{where}: `thinking.off` is 'between_tools', which is not in `thinking.kinds`")


def read_user_facts(tables: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Return facts by `provider/name` and dotted field. Raise ConfigurationError with the place of a
    mistake.
    """
    stated: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        place = f'{where}: models."{name}"'
        if "/" not in name.strip("/"):
            raise ConfigurationError(f"{place}: a model is named 'provider/name', such as 'ollama/qwen3:8b'")
        if not isinstance(table, Mapping):
            raise ConfigurationError(f"{place}: the facts about a model are a table, not {table!r:.60}")
        stated[name] = flatten_table(cast("Mapping[str, Any]", table))
        check_facts(stated[name], place)
    _check_conflicts(stated, where)
    return stated


def _check_conflicts(stated: Mapping[str, Mapping[str, Any]], where: str) -> None:
    """Raise ConfigurationError if two names of one model state different facts."""
    seen: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for name, facts in stated.items():
        provider, _, model = name.partition("/")
        known = f"{provider}/{find(provider, model) or model}".lower()
        other, before = seen.setdefault(known, (name, facts))
        for field, value in facts.items():
            if field in before and before[field] != value:
                raise ConfigurationError(
                    f"{where}: `{field}` of {other} and of {name} differ, and both are the same model;"
                    " leave one of them out"
                )
