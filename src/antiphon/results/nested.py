"""Results inside the data of others: where they are, and the data with something else in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from antiphon.results.plain import Whole, holds_whole, kept

if TYPE_CHECKING:
    from antiphon.results.result import Result

Path = tuple[str | int, ...]


def inside(data: object, path: Path = ()) -> Iterator[tuple[Path, Result]]:
    """The outermost results in the data of a result, each with the keys that lead to it."""
    if isinstance(data, Whole):
        yield path, cast("Result", data)
    elif isinstance(data, dict | list):
        compound = cast(dict[str, Any] | list[Any], data)
        for key, value in compound.items() if isinstance(compound, dict) else enumerate(compound):
            if isinstance(value, dict | list | Whole):
                yield from inside(cast(object, value), (*path, key))


def replaced(data: Any, make: Callable[[Result], Any]) -> Any:
    """The data with something else for each of the results in it."""
    if isinstance(data, Whole):
        return make(cast("Result", data))
    if isinstance(data, dict):
        return {key: replaced(value, make) for key, value in cast(dict[str, Any], data).items()}
    return [replaced(value, make) for value in cast(list[Any], data)] if isinstance(data, list) else data


def data_of(value: object) -> Any:
    """What a program gets of a value with results in it: their data in their places, whole and without hints."""
    return replaced(kept(value), lambda result: data_of(result.data))


def gathered(value: object) -> Result | None:
    """A value with results in it (a list, an object, a dataclass, a model) as one result; nothing for any other."""
    if isinstance(value, Whole) or not holds_whole(value):
        return None
    from antiphon.results.result import Result

    data = kept(value)
    told = [each.summary or each.kind for _, each in inside(data) if not each.display.hidden]
    return Result("structured", data, "; ".join(told)[:200])


def is_all_results(data: object) -> bool:
    """Whether there is nothing in the data but results."""
    if isinstance(data, dict | list) and data:
        values = cast(dict[str, object], data).values() if isinstance(data, dict) else cast(list[object], data)
        return all(is_all_results(value) for value in values)
    return isinstance(data, Whole)


def label(path: Path) -> str:
    """The keys as people write them: `suites[0].table`."""
    said = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return said.removeprefix(".")
