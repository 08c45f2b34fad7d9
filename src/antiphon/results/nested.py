"""Results nested in the data of other results: find them and replace them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from antiphon.results.plain_json import NestableResult, has_nested_result, to_plain_json_with_results

if TYPE_CHECKING:
    from antiphon.results.result import Result

DataPath = tuple[str | int, ...]


def iter_nested_results(data: object, path: DataPath = ()) -> Iterator[tuple[DataPath, Result]]:
    """Yield the outermost results in the data of a result, each with its path of keys."""
    if isinstance(data, NestableResult):
        yield path, cast("Result", data)
    elif isinstance(data, dict | list):
        compound = cast(dict[str, Any] | list[Any], data)
        for key, value in compound.items() if isinstance(compound, dict) else enumerate(compound):
            if isinstance(value, dict | list | NestableResult):
                yield from iter_nested_results(cast(object, value), (*path, key))


def replace_nested_results(data: Any, make: Callable[[Result], Any]) -> Any:
    """Return the data with each nested result replaced by the value of `make`."""
    if isinstance(data, NestableResult):
        return make(cast("Result", data))
    if isinstance(data, dict):
        return {key: replace_nested_results(value, make) for key, value in cast(dict[str, Any], data).items()}
    return [replace_nested_results(value, make) for value in cast(list[Any], data)] if isinstance(data, list) else data


def data_of(value: object) -> Any:
    """Return a value with each nested result replaced by its data, without display hints."""
    return replace_nested_results(to_plain_json_with_results(value), lambda result: data_of(result.data))


def wrap_nested_results(value: object) -> Result | None:
    """Return a value that contains results (a list, an object, a dataclass, a model) as one result, or None."""
    if isinstance(value, NestableResult) or not has_nested_result(value):
        return None
    from antiphon.results.result import Result

    data = to_plain_json_with_results(value)
    told = [each.summary or each.kind for _, each in iter_nested_results(data) if not each.display.hidden]
    return Result("structured", data, "; ".join(told)[:200])


def has_only_results(data: object) -> bool:
    """Return whether the data contains nothing but results."""
    if isinstance(data, dict | list) and data:
        values = cast(dict[str, object], data).values() if isinstance(data, dict) else cast(list[object], data)
        return all(has_only_results(value) for value in values)
    return isinstance(data, NestableResult)


def format_path(path: DataPath) -> str:
    """Return a path as people write it, such as `suites[0].table`."""
    said = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return said.removeprefix(".")
