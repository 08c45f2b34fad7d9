"""Effects and their outcomes: what is to be done to the world, and what came of it, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from antiphon.conversation import ToolCall, ToolResult, ToolSpec, Turn
    from antiphon.tools import ToolCallRecord
    from antiphon.wire import Reply, Usage


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask a model once: one request. All that it is shown is part of the value."""

    kind: ClassVar[str] = "request"
    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class CallTool:
    """Run a tool, for a model or for a program."""

    kind: ClassVar[str] = "tool"
    tool: str
    arguments: Any
    #: What is known of doing it twice: nothing, that it changes nothing, or that its own effects are all it does.
    again: Literal["unsure", "harmless", "inside"] = "unsure"


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Put something to a person: a question, or a call that waits to be allowed."""

    kind: ClassVar[str] = "person"
    about: Literal["question", "approval"]
    text: str
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Print:
    """Print a line."""

    kind: ClassVar[str] = "print"
    text: str


@dataclass(frozen=True, slots=True)
class ReadClock:
    """What time it is."""

    kind: ClassVar[str] = "clock"


@dataclass(frozen=True, slots=True)
class ReadEnvironment:
    """The value of an environment variable."""

    kind: ClassVar[str] = "environment"
    name: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    kind: ClassVar[str] = "sleep"
    seconds: float


@dataclass(frozen=True, slots=True)
class RunPython:
    """Run a block of Python, or a function of it, with these values."""

    kind: ClassVar[str] = "python"
    source: str
    arguments: Any = None
    #: Whether doing it twice changes nothing.
    is_harmless: bool = False


Effect = AskModel | CallTool | AskPerson | Print | ReadClock | ReadEnvironment | Sleep | RunPython
#: What an effect may be, by the `kind` in its JSON form.
KINDS: dict[str, type[Any]] = {
    each.kind: each for each in (AskModel, CallTool, AskPerson, Print, ReadClock, ReadEnvironment, Sleep, RunPython)
}


@dataclass(frozen=True, slots=True)
class Answered:
    """What comes of asking a model: its reply, and what that cost where it is known."""

    reply: Reply
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """What comes of running a tool for a model.

    `kept` are whole texts of which the result shows a part. A tool that needs a person has `asks`, and no result yet;
    one that ends the run has `finish`, a tuple of the run's value. `usage`, `cost`
    and `requests` are of the models it has asked.
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
class Said:
    """What a person said: words, or whether a call may run and why not. `always` is meant for such calls to come."""

    text: str = ""
    allowed: bool = True
    always: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Unwritten:
    """Stands for an object of Python that has no JSON form, a path or a file: who needs it again makes it again."""

    kind: str

    def __repr__(self) -> str:
        return f"<{self.kind}>"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an effect: a value, or the error that it raised."""

    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """The value; the error is raised."""
        if self.error is not None:
            raise self.error
        return self.value
