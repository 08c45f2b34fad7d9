"""Effects and their outcomes as immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

if TYPE_CHECKING:
    from antiphon.conversation import ToolCall, ToolResult, ToolSpec, Turn
    from antiphon.tools import ToolCallRecord
    from antiphon.wire import Reply, Usage


@dataclass(frozen=True, slots=True)
class AskModel:
    """One model request. The value contains everything that the model is shown."""

    kind: ClassVar[str] = "request"
    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class CallTool:
    """A tool call, made by a model or by a program."""

    kind: ClassVar[str] = "tool"
    tool: str
    arguments: Any
    #: Is it safe to repeat? Unknown, harmless, or it acts only through its own effects, which are recorded.
    again: Literal["unsure", "harmless", "inside"] = "unsure"


@dataclass(frozen=True, slots=True)
class AskPerson:
    """A question to a person, a call that needs approval, or one whose result comes from outside."""

    kind: ClassVar[str] = "person"
    about: Literal["question", "approval", "result"]
    text: str
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Print:
    """A printed line."""

    kind: ClassVar[str] = "print"
    text: str


@dataclass(frozen=True, slots=True)
class ReadClock:
    """A read of the current time."""

    kind: ClassVar[str] = "clock"


@dataclass(frozen=True, slots=True)
class ReadEnvironment:
    """A read of an environment variable."""

    kind: ClassVar[str] = "environment"
    name: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """A pause of this many seconds."""

    kind: ClassVar[str] = "sleep"
    seconds: float


@dataclass(frozen=True, slots=True)
class RunPython:
    """A call of a Python block, or of a function in it, with these values."""

    kind: ClassVar[str] = "python"
    source: str
    arguments: Any = None
    #: True if it is safe to repeat.
    is_harmless: bool = False


@dataclass(frozen=True, slots=True)
class SendMessage:
    """A message of a session, after these turns. Its requests and calls are effects inside it.

    `text` is its first text. `prompt` are its parts as JSON data, or None if the model only continues. `head` is the
    conversation without its turns as JSON data, and `turn` the position of the message. `key` is the name that its
    sender gave it.
    """

    kind: ClassVar[str] = "message"
    text: str
    mode: str
    prompt: Any
    head: Any
    turn: int
    model: str = ""
    key: str = ""
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class UploadFile:
    """An upload of a file to the files API of a model's provider. Its outcome is the `File`.

    The bytes are named by their SHA-256; they are in the conversation.
    """

    kind: ClassVar[str] = "upload"
    model: str
    sha256: str
    media_type: str = ""
    name: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class SendBatch:
    """A batch of model requests that the provider answers later. `key` begins the ids of its requests."""

    kind: ClassVar[str] = "batch"
    model: str
    key: str
    requests: int


Effect = (
    AskModel
    | CallTool
    | AskPerson
    | Print
    | ReadClock
    | ReadEnvironment
    | Sleep
    | RunPython
    | SendMessage
    | UploadFile
    | SendBatch
)
#: The effect types by the `kind` in their JSON form.
EFFECT_TYPES: dict[str, type[Any]] = {each.kind: each for each in get_args(Effect)}


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """The outcome of a model request: the reply, and its cost if known."""

    reply: Reply
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The outcome of a tool call made by a model.

    `full_results` holds the full texts of truncated results. A tool that needs a person has a `question` and
    no result yet. A tool that ends the run has `final_value`, a tuple with the run's value. `usage`, `cost`
    and `requests` are those of the models that the tool has asked.
    """

    result: ToolResult | None = None
    record: ToolCallRecord | None = None
    kept: Mapping[str, str] = field(default_factory=dict[str, str])
    asks: str = ""
    finish: tuple[Any] | None = None
    usage: Usage | None = None
    cost: float | None = 0.0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class HumanAnswer:
    """A person's answer: a text, or a decision about a call with its reason.

    `always` extends the decision to later calls of the same kind. `result` is that of a call which ran elsewhere.
    """

    text: str = ""
    allowed: bool = True
    always: bool = False
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True, repr=False)
class UnserializableValue:
    """A placeholder for a Python object without a JSON form, such as a file. It has to be created again."""

    kind: str

    def __repr__(self) -> str:
        return f"<{self.kind}>"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an effect: a value, or the error that it raised."""

    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value
