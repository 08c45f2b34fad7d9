"""The result of asking a model: a value that remembers how it came about."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, cast

from antiphon._json import dumps
from antiphon.conversation import Conversation
from antiphon.tools import ToolCallRecord
from antiphon.wire import Usage

#: How a run ended. Only `done` has all that was asked for.
Outcome = Literal["done", "limit", "blocked", "stuck", "empty", "refused", "truncated"]


def value_of(thing: Any) -> Any:
    """The value of a result; anything else is itself."""
    return thing.value if isinstance(thing, AIResult) else thing


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AIResult:
    """What a model answered, with the tool calls that led to it.

    It stands for its value: printing, formatting, comparing, arithmetic, truth, hashing, indexing and attributes are
    those of the value. Iterating is not, because it would be unclear over what: use `.value` or `.tool_calls`.
    `detail` says more about an `outcome` other than `done`.
    """

    value: Any
    tool_calls: tuple[ToolCallRecord, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    model: str = ""
    conversation: Conversation = field(default_factory=Conversation)
    outcome: Outcome = "done"
    detail: str = ""

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        calls = f", {len(self.tool_calls)} tool calls" if self.tool_calls else ""
        ending = "" if self.outcome == "done" else f", {self.outcome}"
        return f"<AIResult {self.value!r}{calls}{ending}>"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == value_of(other)

    def __len__(self) -> int:
        return len(self.value)

    def __contains__(self, item: object) -> bool:
        return value_of(item) in self.value

    def __getitem__(self, key: Any) -> Any:
        return self.value[value_of(key)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value: Any = self.value
        try:
            # Fields of a JSON object come before the methods of dict: `result.items` is what the model called items.
            is_field = isinstance(value, dict) and name in cast(dict[str, Any], value)
            return cast(Any, value)[name] if is_field else getattr(cast(object, value), name)
        except AttributeError:
            kind = type(cast(object, value)).__name__
            raise AttributeError(f"neither an AIResult nor its value, a {kind}, has {name!r}") from None

    def __iter__(self) -> NoReturn:
        raise TypeError("Cannot iterate over AIResult directly. Use .tool_calls or .value")

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __neg__(self) -> Any:
        return -self.value

    def __abs__(self) -> Any:
        return abs(self.value)

    def json(self) -> str:
        """The value as JSON text."""
        from antiphon.tools.execution import as_text

        return dumps(self.value) if isinstance(self.value, str) else as_text(self.value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """In models and JSON made by pydantic, a result is its value."""
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(
            cls, serialization=core_schema.plain_serializer_function_ser_schema(value_of)
        )


def _forward(function: Callable[[Any, Any], Any]) -> Callable[[AIResult, Any], Any]:
    def forwarded(self: AIResult, other: Any) -> Any:
        return function(self.value, value_of(other))

    return forwarded


def _reflect(function: Callable[[Any, Any], Any]) -> Callable[[AIResult, Any], Any]:
    def reflected(self: AIResult, other: Any) -> Any:
        return function(other, self.value)

    return reflected


for _name in ("lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(AIResult, f"__{_name}__", _forward(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(AIResult, f"__r{_name}__", _reflect(getattr(operator, _name)))
