"""What a script is made of: the answers and failures a fake gives, and the requests it got."""

from __future__ import annotations

import itertools
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from antiphon._json import dumps
from antiphon.errors import OptionError

#: Since when the account exists that asks: some models hold only newer ones to bound thinking.
Account = Literal["new", "old"]
Stop = Literal["end", "tool_calls", "length", "stop_sequence", "refusal", "pause"]
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{0,63}")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a scripted answer; without an `id` it gets one like the real provider's."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""

    def __post_init__(self) -> None:
        dumps(self.arguments, f"the arguments of the scripted call to `{self.name}`")


def call(name: str, /, **arguments: Any) -> Call:
    """A call to the tool `name`: `call("weather", city="Oslo")`."""
    return Call(name, arguments)


@dataclass(frozen=True, slots=True)
class Cite:
    """A source of the answer's text."""

    url: str
    title: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call of a tool that the provider runs, such as `web_search` or `code_execution`.

    `sources` are what a search found; `result` is what any other tool gave, in the API's own form. Without either, the
    call has no result, as in a pause.
    """

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    result: Any = None
    sources: Sequence[Cite] = ()
    id: str = ""

    def __post_init__(self) -> None:
        dumps([dict(self.input), self.result], f"the scripted call of the server's tool `{self.tool}`")
        object.__setattr__(self, "sources", tuple(self.sources))

    @property
    def is_done(self) -> bool:
        """Return whether the call has its result."""
        return self.result is not None or bool(self.sources)


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted reply.

    Models that think by default do so without being told; `reasoning` sets the words. It is shown also where the real
    API shows it only to those who ask; OpenAI's chat has no place for it, so there it is the `reasoning_content` of
    compatible servers. A request that turns thinking off gets none. `usage` is (input, output) tokens; without it they
    are estimated, and the cache is counted. `stop_word` is the API's own word for why it stopped, known or not;
    `stop_details` goes with a refusal. `refusal` is a refusal in words. `blocks` are content blocks, items or parts in
    the API's own form, before the text. `hops` splits the text over so many replies of a model that continues.
    `as_form` puts the text into the schema that the request asks for; `echo` does so by itself.

    The faults: `cut_after` breaks the connection after so many stream events, or in the middle of a body that is not
    streamed; `malformed` leaves the last call's arguments unclosed; `same_index` streams all calls of a chat completion
    at index 0; `stop="length"` cuts the last call off. Where an API has no text to break, it does what the real one
    does: Anthropic's whole bodies lack the last argument, Gemini leaves the call out and gives its own finish reason.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    stop: Stop | None = None
    delay: float = 0.0
    usage: tuple[int, int] | None = None
    cut_after: int | None = None
    malformed: bool = False
    same_index: bool = False
    stop_word: str = ""
    stop_details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    refusal: str = ""
    server_calls: Sequence[ServerCall] = ()
    citations: Sequence[Cite] = ()
    blocks: Sequence[Mapping[str, Any]] = ()
    container: str = ""
    hops: int = 1
    as_form: bool = False

    def __post_init__(self) -> None:
        for name in ("calls", "server_calls", "citations", "blocks"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for given in self.calls:
            if not isinstance(given, Call):
                raise OptionError(f"the calls of an answer are made by `call(...)`, not {given!r}")
        if self.stop is not None and self.stop not in get_args(Stop):
            words = ", ".join(f"`{word}`" for word in get_args(Stop))
            raise OptionError(
                f"an answer stops with one of {words}, not {self.stop!r}; `stop_word` takes any word of an API"
            )
        if self.stop_word and not _WORD.fullmatch(self.stop_word):
            raise OptionError(f"the `stop_word` of an answer is one word of letters and `_`, not {self.stop_word!r}")
        if self.hops < 1:
            raise OptionError(f"an answer takes at least one of `hops`, not {self.hops}")

    @property
    def ending(self) -> Stop:
        """Return why it stopped: as given, or as its content says."""
        if self.stop is None and self.refusal:
            return "refusal"
        return self.stop or ("tool_calls" if self.calls else "end")


@dataclass(frozen=True, slots=True)
class Fail:
    """An error in the envelope of whichever API was asked. Without a `message` it says what that API usually says."""

    status: int
    message: str = ""
    retry_after: float | None = None

    def __post_init__(self) -> None:
        if not 400 <= self.status <= 599:
            raise OptionError(f"a failure has a status from 400 to 599, not {self.status!r}")


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came. Keys are blanked out in `headers`.

    `api` is `anthropic`, `openai-chat`, `openai-responses` or `gemini`; `body` is the parsed JSON, or `None` if it was
    none. `rejected` is the text with which the fake turned it down, "" if it was acceptable.
    """

    api: str
    path: str
    headers: Mapping[str, str]
    body: Any
    model: str
    stream: bool
    rejected: str = ""


Step = Answer | Fail | Call | str | Callable[[Received], "Step"]


def resolve(step: Step, received: Received) -> Answer | Fail:
    """The answer a step stands for; functions are asked until they give one."""
    while callable(step):
        step = step(received)
    return _value(step)


def checked(step: Step) -> Step:
    """The step itself, if it is one."""
    return step if callable(step) else _value(step)


def _value(step: object) -> Answer | Fail:
    match step:
        case Answer() | Fail():
            return step
        case str():
            return Answer(step)
        case Call():
            return Answer(calls=[step])
        case _:
            raise OptionError(f"a step is an Answer, a Fail, a call, a text or a function of the request, not {step!r}")


Steps = Iterable[Step] | Step


class Script:
    """Hands out steps one at a time, from any thread: first those it was made with, then those added later.

    Of a mapping, a request gets a step of the first text that occurs in it and has steps left. A function in the place
    of the steps answers every request. `given` counts the steps that were handed out.
    """

    def __init__(self, steps: Steps | Mapping[str, Steps]) -> None:
        parts = cast(Mapping[str, Steps], steps) if isinstance(steps, Mapping) else {"": steps}
        self._answers_all = callable(parts.get(""))
        self._parts = {text: _steps(part) for text, part in parts.items()}
        self._added: deque[Step] = deque()
        self.given = 0
        self._lock = threading.Lock()

    def add(self, steps: Iterable[Step]) -> None:
        """Append steps."""
        if self._answers_all:
            raise OptionError("the function of this fake answers every request: no step behind it is ever played")
        self._added.extend([checked(step) for step in steps])

    def clear(self) -> None:
        """Leave out what is left."""
        with self._lock:
            self._parts.clear()
            self._added.clear()
            self._answers_all = False
            self.given = 0

    def take(self, body: object) -> Step | None:
        """The next step for a request, or nothing when all are used up."""
        with self._lock:
            step = self._next(body)
            self.given += step is not None
            return step

    def _next(self, body: object) -> Step | None:
        for text, part in self._parts.items():
            # The text first: looking whether there is a step takes it.
            if (not text or _occurs(text, body)) and (step := next(part, None)) is not None:
                return step
        return self._added.popleft() if self._added else None


def _steps(steps: Steps) -> Iterator[Step]:
    if callable(steps):
        return itertools.repeat(steps)
    given = (steps,) if isinstance(steps, str | Answer | Fail | Call) else steps
    return iter([checked(step) for step in given] if isinstance(given, Sequence) else given)


def _occurs(text: str, value: object) -> bool:
    """Whether a text is in any text of a request: what is said in it, the system text, the tools and their names."""
    match value:
        case str():
            return text in value
        case dict() | list():
            inside = cast("dict[str, object] | list[object]", value)
            return any(_occurs(text, each) for each in (inside.values() if isinstance(inside, dict) else inside))
        case _:
            return False
