"""Values that packages derive from a conversation or a turn and keep with it. They are never saved."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, cast

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


class DerivedValues:
    """Derived values by key, and by subject where one key has several, such as the target of an encoding."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[tuple[DerivedKey[Any], Hashable], Any] = {}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let pydantic take turns as fields: derived values are accepted as they are and written as nothing."""
        del source, handler
        from pydantic_core import core_schema

        as_nothing = core_schema.plain_serializer_function_ser_schema(lambda _: None, when_used="always")
        return core_schema.any_schema(serialization=as_nothing)

    def get(self, key: DerivedKey[T], subject: Hashable = None) -> T | None:
        """Return the value, or None."""
        return cast("T | None", self._values.get((key, subject)))

    def set(self, key: DerivedKey[T], value: T, subject: Hashable = None) -> T:
        """Keep a value and return it."""
        self._values[key, subject] = value
        return value

    def remove(self, key: DerivedKey[Any], subject: Hashable = None) -> None:
        """Forget a value, if there is one."""
        self._values.pop((key, subject), None)

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()

    def fork(self) -> DerivedValues:
        """Return the values that go along with a fork."""
        return self._select(lambda key: key.forks)

    def copy(self, *, growing: bool = True) -> DerivedValues:
        """Return the same values for a conversation that takes the place of this one.

        Without `growing`, both conversations can go on: they share no value that grows.
        """
        return self._select(lambda key: growing or not key.grows)

    def _select(self, is_kept: Callable[[DerivedKey[Any]], bool]) -> DerivedValues:
        other = DerivedValues()
        other._values = {key: value for key, value in self._values.items() if is_kept(key[0])}
        return other

    def snapshot(self) -> dict[tuple[str, Hashable], Any]:
        """Return all values by the names of their keys and their subjects."""
        return {(key.name, subject): value for (key, subject), value in self._values.items()}
