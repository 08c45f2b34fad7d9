"""The result of asking a model: a value that remembers how it came about."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, cast, get_args

from antiphon.results.plain import StandIn

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultedTypeVar

    from antiphon.conversation import Conversation
    from antiphon.session.people import Question
    from antiphon.tools import ToolCallRecord
    from antiphon.wire import Usage

    T = DefaultedTypeVar("T", default=Any)
else:
    T = TypeVar("T")

#: How a run ended. Only `done` has what was asked for; each of the others is an exception.
Ending = Literal[
    "done", "limit", "waiting", "stuck", "empty", "refused", "truncated", "unfinished", "wrong", "failed", "cancelled"
]


def late_names() -> dict[str, Any]:
    """What the annotations here name, for those who look them up."""
    from antiphon.conversation import Conversation
    from antiphon.tools import ToolCallRecord
    from antiphon.wire import Usage

    return {"Conversation": Conversation, "ToolCallRecord": ToolCallRecord, "Usage": Usage}


def _no_usage() -> Usage:
    # A program that asks nobody has results too, and does without all that models need.
    from antiphon.wire import Usage

    return Usage()


def _no_conversation() -> Conversation:
    from antiphon.conversation import Conversation

    return Conversation()


def value_of(thing: Any) -> Any:
    """The value of a result; anything else is itself."""
    return cast(AIResult[Any], thing).value if isinstance(thing, AIResult) else thing


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is to be said of a run: what it used, which model answered, how it ended and where it is written down.

    `detail` says more about an `outcome` other than `done`. `conversation` is the one that went on. `said` is the last
    that the model said, `tool_calls` are the calls so far and `waiting` is what a person is asked.
    """

    usage: Usage = field(default_factory=_no_usage)
    cost: float | None = None
    model: str = ""
    outcome: Ending = "done"
    detail: str = ""
    conversation: Conversation = field(default_factory=_no_conversation, repr=False)
    id: str = ""
    said: str = ""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    waiting: tuple[Question, ...] = ()


class AIResult(StandIn, Generic[T]):
    """What a model answered, with the tool calls that led to it.

    It stands for its value: printing, formatting, comparing, arithmetic, truth, hashing, indexing and attributes are
    those of the value. Three names are its own, and no more: `value`, `tool_calls` and `run`. Iterating is not the
    value's, because it would be unclear over what: use `.value` or `.tool_calls`.
    """

    # No dataclass: frameworks that make JSON of those would show the machinery in place of the value.
    __slots__ = ("run", "tool_calls", "value")
    value: T
    tool_calls: tuple[ToolCallRecord, ...]
    run: RunRecord

    def __init__(self, value: T, tool_calls: tuple[ToolCallRecord, ...] = (), run: RunRecord | None = None) -> None:
        for name, given in (("value", value), ("tool_calls", tool_calls), ("run", run or RunRecord())):
            object.__setattr__(self, name, given)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an AIResult does not change; its value may: `result.value.{name} = …`")

    __delattr__: Any = __setattr__

    def __reduce__(self) -> Any:
        return AIResult, (self.value, self.tool_calls, self.run)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        calls = f", {len(self.tool_calls)} tool calls" if self.tool_calls else ""
        return f"<AIResult {self.value!r}{calls}>"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == value_of(other)

    def __len__(self) -> int:
        return len(self._any)

    def __contains__(self, item: object) -> bool:
        return value_of(item) in self._any

    def __getitem__(self, key: Any) -> Any:
        return self._any[value_of(key)]

    @property
    def _any(self) -> Any:
        return self.value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in AIResult.__slots__:
            # Not delegated, or not there yet: copying asks for both before there is a value.
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

    def __reversed__(self) -> NoReturn:
        self.__iter__()

    def __index__(self) -> int:
        return operator.index(self._any)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._any, digits)

    def __int__(self) -> int:
        return int(self._any)

    def __float__(self) -> float:
        return float(self._any)

    if TYPE_CHECKING:
        # Made below, of the operators of the value.
        def __lt__(self, other: Any) -> bool: ...
        def __le__(self, other: Any) -> bool: ...
        def __gt__(self, other: Any) -> bool: ...
        def __ge__(self, other: Any) -> bool: ...
        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...

    if not TYPE_CHECKING:

        @property
        def __dict__(self) -> Any:
            """The value: `vars` is the last that FastAPI and its like ask of something they do not know."""
            return self.value

    @property
    def __pydantic_serializer__(self) -> Any:
        """What makes a result its value wherever pydantic makes JSON, in tools' results too."""
        return _serializer()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the schema of a result: in pydantic's models it stays a result, and in JSON it is its value."""
        from pydantic_core import core_schema

        inner = handler.generate_schema(next(iter(get_args(source)), Any))
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(cls, inner),
            python_schema=core_schema.is_instance_schema(cls),
            serialization=core_schema.plain_serializer_function_ser_schema(value_of, return_schema=inner),
        )


@cache
def _serializer() -> Any:
    from pydantic_core import SchemaSerializer, core_schema

    return SchemaSerializer(
        core_schema.any_schema(serialization=core_schema.plain_serializer_function_ser_schema(value_of))
    )


def _forward(function: Callable[[Any, Any], Any]) -> Callable[[AIResult[Any], Any], Any]:
    def forwarded(self: AIResult[Any], other: Any) -> Any:
        return function(self.value, value_of(other))

    return forwarded


def _reflect(function: Callable[[Any, Any], Any]) -> Callable[[AIResult[Any], Any], Any]:
    def reflected(self: AIResult[Any], other: Any) -> Any:
        return function(other, self.value)

    return reflected


def _alone(function: Callable[[Any], Any]) -> Callable[[AIResult[Any]], Any]:
    def applied(self: AIResult[Any]) -> Any:
        return function(self.value)

    return applied


for _name in ("neg", "pos", "abs", "invert"):
    setattr(AIResult, f"__{_name}__", _alone(getattr(operator, _name)))
for _name in ("lt", "le", "gt", "ge"):
    setattr(AIResult, f"__{_name}__", _forward(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "divmod"):
    _function = divmod if _name == "divmod" else getattr(operator, f"__{_name}__")
    setattr(AIResult, f"__{_name}__", _forward(_function))
    setattr(AIResult, f"__r{_name}__", _reflect(_function))
