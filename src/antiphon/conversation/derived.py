"""Values that packages derive from a conversation or a turn and keep with it. They are never saved."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

T = TypeVar("T")


class DerivedKey(Generic[T]):
    """The name and the type of a derived value; a package declares its own keys as constants.

    A value with `forks` goes along when the whole conversation is forked. One with `grows` is changed in place as
    turns are added, so two conversations must not share it.
    """

    __slots__ = ("forks", "grows", "name")

    def __init__(self, name: str, *, forks: bool = False, grows: bool = False) -> None:
        self.name = name
        self.forks = forks
        self.grows = grows

    def __repr__(self) -> str:
        return f"<DerivedKey {self.name}>"


class DerivedValues(dict[DerivedKey[Any] | tuple[DerivedKey[Any], Hashable], Any]):
    """Derived values by key, or by key and subject if one key has several, such as the targets of an encoding."""

    __slots__ = ()

    if TYPE_CHECKING:
        # Reads are the most frequent calls of a request, so they are those of a dictionary.
        def get(self, key: DerivedKey[T] | tuple[DerivedKey[T], Hashable]) -> T | None:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Return the value, or None."""
            ...

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let pydantic take turns as fields: derived values are accepted as they are and written as nothing."""
        del source, handler
        from pydantic_core import core_schema

        as_nothing = core_schema.plain_serializer_function_ser_schema(lambda _: None, when_used="always")
        return core_schema.any_schema(serialization=as_nothing)

    def __reduce__(self) -> tuple[type[DerivedValues], tuple[()]]:
        """Let copies and pickles begin without derived values: some cannot be copied, and all can be derived again."""
        return DerivedValues, ()

    def set(self, key: DerivedKey[T] | tuple[DerivedKey[T], Hashable], value: T) -> T:
        """Keep a value and return it."""
        self[key] = value
        return value

    def fork(self) -> DerivedValues:
        """Return the values that go along with a fork."""
        return self._select(lambda key: key.forks)

    def copy(self, *, growing: bool = True) -> DerivedValues:
        """Return the same values for a conversation that takes the place of this one.

        Without `growing`, both conversations can go on: they share no value that grows.
        """
        return self._select(lambda key: growing or not key.grows)

    def _select(self, is_kept: Callable[[DerivedKey[Any]], bool]) -> DerivedValues:
        return DerivedValues({key: value for key, value in self.items() if is_kept(_split(key)[0])})

    def snapshot(self) -> dict[tuple[str, Hashable], Any]:
        """Return all values by the names of their keys and their subjects."""
        return {
            (key.name, subject): value for (key, subject), value in zip(map(_split, self), self.values(), strict=True)
        }


def _split(key: DerivedKey[Any] | tuple[DerivedKey[Any], Hashable]) -> tuple[DerivedKey[Any], Hashable]:
    return key if isinstance(key, tuple) else (key, None)
