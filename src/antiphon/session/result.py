"""The result of asking a model: a value together with the record of its run."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Self, TypeVar, cast, get_args

from antiphon._base.did_you_mean import make_hinting_getattr
from antiphon.results.plain_json import ValueProxy

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultedTypeVar

    from antiphon.conversation import Conversation
    from antiphon.session.human_input import Question
    from antiphon.tools import ToolCallRecord
    from antiphon.wire import Usage

    T = DefaultedTypeVar("T", default=Any)
else:
    T = TypeVar("T")

#: How a run ended. Only `done` has a value; all others raise an exception.
RunEnding = Literal[
    "done", "limit", "waiting", "stuck", "empty", "refused", "truncated", "unfinished", "wrong", "failed", "cancelled"
]


def late_names() -> dict[str, Any]:
    """Return the names that annotations of this module need when they are resolved at run time."""
    from antiphon.conversation import Conversation
    from antiphon.tools import ToolCallRecord
    from antiphon.wire import Usage

    return {"Conversation": Conversation, "ToolCallRecord": ToolCallRecord, "Usage": Usage}


def _make_empty_usage() -> Usage:
    # Imported late, because a program without model requests has results too and does not need it.
    from antiphon.wire import Usage

    return Usage()


def _make_empty_conversation() -> Conversation:
    from antiphon.conversation import Conversation

    return Conversation()


def unwrap_value(thing: Any) -> Any:
    """Return the value of an `AIResult`, or the argument itself if it is anything else."""
    return cast(AIResult[Any], thing).value if isinstance(thing, AIResult) else thing


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The record of a run: its usage, model, outcome and conversation.

    `detail` explains an `outcome` other than `done`. `last_text` is the last text of the model, `tool_calls`
    are the calls so far and `pending_questions` the questions to a person.
    """

    usage: Usage = field(default_factory=_make_empty_usage)
    cost: float | None = None
    model: str = ""
    outcome: RunEnding = "done"
    detail: str = ""
    conversation: Conversation = field(default_factory=_make_empty_conversation, repr=False)
    id: str = ""
    said: str = ""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    waiting: tuple[Question, ...] = ()

    if not TYPE_CHECKING:
        __getattr__ = make_hinting_getattr(
            {
                **dict.fromkeys(("messages", "turns"), "the messages are `run.conversation.turns`"),
                **dict.fromkeys(("tokens", "input_tokens", "output_tokens"), "they are in `run.usage`"),
                **dict.fromkeys(("text", "output"), "the last text is `run.said`, and the answer `result.value`"),
            }
        )


_ATTRIBUTE_HINTS = {
    **dict.fromkeys(
        ("output", "data", "final_output", "content", "text", "parsed", "output_text"), "it is `result.value`"
    ),
    **dict.fromkeys(("output_parsed", "answer", "response", "result"), "it is `result.value`"),
    **dict.fromkeys(("messages", "all_messages", "new_messages", "conversation"), "that is `result.run.conversation`"),
    **dict.fromkeys(("usage", "cost", "model", "outcome", "id"), "that is in `result.run`"),
    "to_input_list": "that is `result.run.conversation`",
}


_OWN_NAMES = ("run", "tool_calls", "value")


class AIResult(ValueProxy, Generic[T]):
    """A model's answer, with the tool calls that led to it.

    It is a proxy for its value: printing, formatting, comparing, arithmetic, truth, hashing, indexing and
    attributes are those of the value. It has only three attributes of its own: `value`, `tool_calls` and
    `run`. It cannot be iterated, because that would be ambiguous: iterate over `.value` or `.tool_calls`. The result of
    a text is a `str`, too, because `join`, `re`, `json` and files accept nothing else as text.
    """

    # Not a dataclass: frameworks that serialize those would write the fields instead of the value. No slots: a class
    # that is a `str`, too, cannot have them.
    value: T
    tool_calls: tuple[ToolCallRecord, ...]
    run: RunRecord

    def __new__(cls, value: Any = None, *_: Any, **__: Any) -> Self:
        """Return an instance of the class for this kind of value."""
        if not isinstance(value, str):
            return super().__new__(cls)
        kind: Any = _TextResult if cls is AIResult else cls
        return str.__new__(kind, str(value))

    def __init__(  # pyright: ignore[reportInconsistentConstructor]
        self, value: T, tool_calls: tuple[ToolCallRecord, ...] = (), run: RunRecord | None = None
    ) -> None:
        for name, given in (("value", value), ("tool_calls", tool_calls), ("run", run or RunRecord())):
            object.__setattr__(self, name, given)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an AIResult does not change; its value may: `result.value.{name} = …`")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an AIResult does not change, so `{name}` stays")

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
        return self.value == unwrap_value(other)

    def __len__(self) -> int:
        return len(self._untyped_value)

    def __contains__(self, item: object) -> bool:
        return unwrap_value(item) in self._untyped_value

    def __getitem__(self, key: Any) -> Any:
        return self._untyped_value[unwrap_value(key)]

    @property
    def _untyped_value(self) -> Any:
        return self.value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in _OWN_NAMES:
            # Not delegated, or not set yet: `copy` looks up both before the value exists.
            raise AttributeError(name)
        value: Any = self.value
        try:
            # Fields of a JSON object take precedence over methods of dict: `result.items` is the field `items`.
            is_field = isinstance(value, dict) and name in cast(dict[str, Any], value)
            return cast(Any, value)[name] if is_field else getattr(cast(object, value), name)
        except AttributeError:
            kind = type(cast(object, value)).__name__
            hint = f"; {_ATTRIBUTE_HINTS[name]}" if name in _ATTRIBUTE_HINTS else ""
            raise AttributeError(f"neither an AIResult nor its value, a {kind}, has {name!r}{hint}") from None

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_OWN_NAMES})

    def __iter__(self) -> NoReturn:
        raise TypeError("Cannot iterate over AIResult directly. Use .tool_calls or .value")

    def __reversed__(self) -> NoReturn:
        self.__iter__()

    def __index__(self) -> int:
        return operator.index(self._untyped_value)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._untyped_value, digits)

    def __int__(self) -> int:
        return int(self._untyped_value)

    def __float__(self) -> float:
        return float(self._untyped_value)

    if TYPE_CHECKING:
        # Defined below from the operators of the value.
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
            """The value, because `vars` is the last fallback of FastAPI and similar frameworks for unknown objects."""
            return self.value

    @property
    def __pydantic_serializer__(self) -> Any:
        """The serializer that makes pydantic write a result as its value, in tool results too."""
        return _build_serializer()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the pydantic schema: in models a result stays a result, and in JSON it is its value."""
        from pydantic_core import core_schema

        inner = handler.generate_schema(next(iter(get_args(source)), Any))
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(cls, inner),
            python_schema=core_schema.is_instance_schema(cls),
            serialization=core_schema.plain_serializer_function_ser_schema(unwrap_value, return_schema=inner),
        )


class _TextResult(AIResult[str], str):
    """The result of a text."""

    if not TYPE_CHECKING:

        @property
        def __dict__(self) -> Any:
            return self.value


@cache
def _build_serializer() -> Any:
    from pydantic_core import SchemaSerializer, core_schema

    return SchemaSerializer(
        core_schema.any_schema(serialization=core_schema.plain_serializer_function_ser_schema(unwrap_value))
    )


def _forward_binary(function: Callable[[Any, Any], Any]) -> Callable[[AIResult[Any], Any], Any]:
    def forwarded(self: AIResult[Any], other: Any) -> Any:
        return function(self.value, unwrap_value(other))

    return forwarded


def _reflect_binary(function: Callable[[Any, Any], Any]) -> Callable[[AIResult[Any], Any], Any]:
    def reflected(self: AIResult[Any], other: Any) -> Any:
        return function(other, self.value)

    return reflected


def _forward_unary(function: Callable[[Any], Any]) -> Callable[[AIResult[Any]], Any]:
    def applied(self: AIResult[Any]) -> Any:
        return function(self.value)

    return applied


for _name in ("neg", "pos", "abs", "invert"):
    setattr(AIResult, f"__{_name}__", _forward_unary(getattr(operator, _name)))
for _name in ("lt", "le", "gt", "ge"):
    setattr(AIResult, f"__{_name}__", _forward_binary(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "divmod"):
    _function = divmod if _name == "divmod" else getattr(operator, f"__{_name}__")
    setattr(AIResult, f"__{_name}__", _forward_binary(_function))
    setattr(AIResult, f"__r{_name}__", _reflect_binary(_function))
