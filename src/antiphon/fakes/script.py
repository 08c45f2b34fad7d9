"""Scripts of a fake: its answers and failures, and the requests it received."""

from __future__ import annotations

import itertools
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from antiphon._base.did_you_mean import hint_arguments
from antiphon._base.json import dump_json
from antiphon.errors import AntiphonError, OptionError

#: The age of the requesting account: some models enforce bound thinking only for newer ones.
AccountAge = Literal["new", "old"]
ScriptedStop = Literal["end", "tool_calls", "length", "stop_sequence", "refusal", "pause"]
_MAX_SHOWN = 60
_STOP_WORD = re.compile(r"[A-Za-z][A-Za-z_]{0,63}")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a scripted answer; without an `id` it gets one like the real provider's."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""

    def __post_init__(self) -> None:
        dump_json(self.arguments, f"the arguments of the scripted call to `{self.name}`")


def call(name: str, /, *given: Any, **arguments: Any) -> Call:
    """Make a call to the tool `name`: `call("weather", city="Oslo")`."""
    if given or not isinstance(cast(object, name), str):
        raise OptionError(
            "a scripted call has the name of a tool and its arguments by name: `call('weather', city='Oslo')`; "
            "`Call('weather', {'city': 'Oslo'})` takes an object"
        )
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

    `sources` are the results of a search; `result` is that of any other tool, in the API's own form. Without
    either, the call has no result, as in a pause.
    """

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    result: Any = None
    sources: Sequence[Cite] = ()
    id: str = ""

    def __post_init__(self) -> None:
        dump_json([dict(self.input), self.result], f"the scripted call of the server's tool `{self.tool}`")
        object.__setattr__(self, "sources", tuple(self.sources))

    @property
    def is_done(self) -> bool:
        """Return whether the call has its result."""
        return self.result is not None or bool(self.sources)


@hint_arguments(
    {
        **dict.fromkeys(("content", "answer", "output", "message"), "write `Answer(TEXT)`"),
        **dict.fromkeys(("tool_calls", "tools", "functions"), "write `Answer(calls=[call(NAME, …)])`"),
        **dict.fromkeys(("finish_reason", "stop_reason"), "write `Answer(stop=…)`"),
        "thinking": "write `Answer(reasoning=TEXT)`",
        **dict.fromkeys(("latency", "sleep", "wait"), "write `Answer(delay=SECONDS)`"),
    }
)
@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted reply.

    Models that think by default do so without being told; `reasoning` sets the text. It is included even
    where the real API includes it only on request. OpenAI's chat has no field for it, so there it is the
    `reasoning_content` of compatible servers. A request that turns thinking off gets none. `usage` is (input,
    output) tokens; without it they are estimated, and the cache is counted. `stop_word` is the API's own word
    for why it stopped, known or not; `stop_details` goes with a refusal. `refusal` is a refusal as text.
    `blocks` are content blocks, items or parts in the API's own form, before the text. `hops` splits the text
    over so many replies of a model that continues. `as_form` puts the text into the schema that the request
    asks for; `echo` does so by itself. After `hold_after` stream events, the fake calls `hold` in a thread and
    sends the others once it returns: `hold=threading.Event().wait`.

    Faults: `cut_after` breaks the connection after so many stream events, or in the middle of a body that is
    not streamed. `malformed` leaves the last call's arguments unclosed. `same_index` streams all calls of a
    chat completion at index 0. `stop="length"` truncates the last call. APIs without text to break do what
    the real ones do: Anthropic's complete bodies lack the last argument, Gemini omits the call and gives its
    own finish reason.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    stop: ScriptedStop | None = None
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
    hold_after: int | None = None
    hold: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "server_calls", "citations", "blocks"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for given in self.calls:
            if not isinstance(given, Call):
                raise OptionError(f"the calls of an answer are made by `call(...)`, not {given!r}")
        if self.stop is not None and self.stop not in get_args(ScriptedStop):
            words = ", ".join(f"`{word}`" for word in get_args(ScriptedStop))
            raise OptionError(
                f"an answer stops with one of {words}, not {self.stop!r}; `stop_word` takes any word of an API"
            )
        if self.stop_word and not _STOP_WORD.fullmatch(self.stop_word):
            raise OptionError(f"the `stop_word` of an answer is one word of letters and `_`, not {self.stop_word!r}")
        if (self.hold_after is None) != (self.hold is None) or (self.hold_after or 0) < 0:
            raise OptionError("an answer that is held has both: `hold_after=3, hold=event.wait`")
        if self.hops < 1:
            raise OptionError(f"an answer takes at least one of `hops`, not {self.hops}")

    @property
    def ending(self) -> ScriptedStop:
        """The reason why it stopped: as given, or derived from its content."""
        if self.stop is None and self.refusal:
            return "refusal"
        return self.stop or ("tool_calls" if self.calls else "end")


@dataclass(frozen=True, slots=True)
class Fail:
    """An error in the format of the API that was asked. Without a `message` it has that API's usual one."""

    status: int
    message: str = ""
    retry_after: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(cast(object, self.status), int) or not 400 <= self.status <= 599:
            raise OptionError(f"a failure has a status from 400 to 599, not {self.status!r}")


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it was received. Keys are redacted in `headers`.

    `api` is the name of one of `wire.APIS`; `body` is the parsed JSON, or `None` if it was
    not JSON. `rejected` is the error message of the fake, "" if the request was accepted. `batch` is the id of the
    batch that held the request.
    """

    api: str
    path: str
    headers: Mapping[str, str]
    body: Any
    model: str
    stream: bool
    rejected: str = ""
    batch: str = ""


Step = Answer | Fail | Call | str | Callable[[Received], "Step"]


def resolve_step(step: Step, received: Received) -> Answer | Fail:
    """Return the answer for a step; functions are called until they return one."""
    while callable(step):
        step = step(received)
    return _to_answer(step)


def check_step(step: Step) -> Step:
    """Return the step. Raise an OptionError if it is not one."""
    return step if callable(step) else _to_answer(step)


def _to_answer(step: object) -> Answer | Fail:
    match step:
        case Answer() | Fail():
            return step
        case str():
            return Answer(step)
        case Call():
            return Answer(calls=[step])
        case _:
            raise OptionError(f"a step is an Answer, a Fail, a call, a text or a function of the request, not {step!r}")


ScriptSteps = Iterable[Step] | Step


class ScriptMismatch(AntiphonError, AssertionError):
    """Requests that a script had no answer for, or answers that nobody asked for."""


class Script:
    """A thread-safe queue of steps: first those it was made with, then those added later, then those of `answer`.

    With a mapping, a request gets a step of the first text that occurs in it and has steps left. A function
    instead of the steps answers every request. `given` counts the steps that were taken.
    """

    def __init__(
        self, steps: ScriptSteps | Mapping[str, ScriptSteps], answer: Callable[[Received], Step] | None = None
    ) -> None:
        parts = cast(Mapping[str, ScriptSteps], steps) if isinstance(steps, Mapping) else {"": steps}
        self._answers_all = callable(parts.get(""))
        self._parts = {text: _Steps(part) for text, part in parts.items()}
        self._added = _Steps(())
        self._answer = answer
        self.given = 0
        #: The requests that found no step, in words.
        self.unanswered: list[str] = []
        self._lock = threading.Lock()

    def add(self, steps: Iterable[Step]) -> None:
        """Append steps."""
        if self._answers_all:
            raise OptionError("the function of this fake answers every request: no step behind it is ever played")
        self._added.append([check_step(step) for step in steps])

    def clear(self) -> None:
        """Remove all remaining steps."""
        with self._lock:
            self._parts.clear()
            self._added = _Steps(())
            self._answers_all, self._answer = False, None
            self.given = 0
            self.unanswered.clear()

    def take(self, body: object, *, keeps: bool = False) -> Step | None:
        """Return the next step for a request, or `None` when all are used up. With `keeps`, it comes again."""
        with self._lock:
            step = self._next(body, keeps)
            self.given += step is not None and not keeps
            return step

    def take_failure(self) -> Fail | None:
        """Return the next added step if it is a failure: a list of models takes no other."""
        with self._lock:
            step = self._added.next(keeps=True)
            if not isinstance(step, Fail):
                return None
            self._added.next()
            self.given += 1
            return step

    def list_unused(self) -> list[str]:
        """Return the steps that nobody asked for, in words. What an iterator still has is not known."""
        with self._lock:
            parts = [*self._parts.items(), ("", self._added)]
            return [
                describe_step(step) + (f" for requests with {text!r}" if text else "")
                for text, part in parts
                for step in part.waiting
            ]

    def _next(self, body: object, keeps: bool) -> Step | None:
        for text, part in self._parts.items():
            # Check the text first, because checking for a step consumes it.
            if (not text or _contains_text(text, body)) and (step := part.next(keeps=keeps)) is not None:
                return step
        step = self._added.next(keeps=keeps)
        return self._answer if step is None else step


class _Steps:
    """Steps in a row: those that wait, and then those of an iterator."""

    def __init__(self, steps: ScriptSteps) -> None:
        self.waiting: deque[Step] = deque()
        self._rest: Iterator[Step] = iter(())
        given = (steps,) if isinstance(steps, str | Answer | Fail | Call) else steps
        if callable(given):
            self._rest = itertools.repeat(given)
        elif not isinstance(cast(object, given), Iterable):
            raise OptionError(f"a script is a list of steps, such as `Fake(['Hello.'])`, not {given!r:.60}")
        elif isinstance(given, Sequence):
            self.append([check_step(step) for step in given])
        else:
            self._rest = iter(given)

    def append(self, steps: Iterable[Step]) -> None:
        self.waiting.extend(steps)

    def next(self, *, keeps: bool = False) -> Step | None:
        """Return the next step, which `keeps` leaves where it is."""
        step = self.waiting.popleft() if self.waiting else next(self._rest, None)
        if keeps and step is not None:
            self.waiting.appendleft(step)
        return step


def describe_step(step: Step) -> str:
    """Return a step in a few words."""
    match step:
        case Fail():
            return f"a failure {step.status}"
        case Answer() if step.calls:
            return f"a call of {', '.join(f'`{each.name}`' for each in step.calls)}"
        case Answer():
            return f"the answer {step.text[:_MAX_SHOWN]!r}"
        case _:
            return f"the function `{getattr(step, '__name__', 'of the request')}`"


def _contains_text(text: str, value: object) -> bool:
    """Return whether a text occurs in any string of a request: messages, system text, tools and their names."""
    match value:
        case str():
            return text in value
        case dict() | list():
            inside = cast("dict[str, object] | list[object]", value)
            return any(_contains_text(text, each) for each in (inside.values() if isinstance(inside, dict) else inside))
        case _:
            return False
