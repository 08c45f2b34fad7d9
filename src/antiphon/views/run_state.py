"""The state of a run, folded from its events: its activity, its usage, and its pending questions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.conversation import ToolCall
from antiphon.results import to_plain_json
from antiphon.session import (
    AnswerDelta,
    CallFinished,
    CallProgressed,
    CallStarted,
    Compacted,
    Event,
    FellBack,
    FilesOmitted,
    ModelUnknown,
    PrefixChanged,
    Question,
    QuestionAnswered,
    QuestionAsked,
    RequestDelayed,
    RequestEnded,
    RequestStarted,
    RunEnded,
    RunStarted,
    RunWaits,
    UsageChanged,
)
from antiphon.session.events import EventBody
from antiphon.wire import CallDelta, FactWrong, Healed, ProgressDelta, ReasoningDelta, RetryDelta, TextDelta, Usage


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call that has started and not ended."""

    call: ToolCall
    since: float
    depth: int = 0
    #: What it last reported about its progress.
    progress: str = ""


@dataclass(slots=True)
class RunView:
    """The current state of a run. `answer_pieces`, `reasoning_pieces` and `pending_tool` belong to the
    current request.
    """

    id: str
    kind: str = ""
    title: str = ""
    model: str = ""
    parent: str | None = None
    depth: int = 0
    began: float = 0.0
    ended: float | None = None
    state: str = "running"
    detail: str = ""
    said: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    #: The tool whose call the model is writing.
    writing: str = ""
    #: How many tokens of the prompt the model has read, of how many, if it reports that.
    read: tuple[int, int] = (0, 0)
    #: The next attempt and the number of attempts, after a failed request.
    attempt: tuple[int, int] = (1, 1)
    #: Whether the request waits for a rate limit.
    is_delayed: bool = False
    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    calls: dict[str, RunningCall] = field(default_factory=dict[str, RunningCall])
    questions: dict[str, Question] = field(default_factory=dict[str, Question])

    @property
    def activity(self) -> str:
        """The current activity in a word or two."""
        if self.questions:
            return "waiting for you"
        if self.calls:
            return "1 call" if len(self.calls) == 1 else f"{len(self.calls)} calls"
        if self.writing:
            return f"calling {self.writing}"
        if self.said or self.thoughts:
            return "thinking" if self.thoughts else "answering"
        read, total = self.read
        if self.attempt[0] > 1:
            return "waiting, attempt {} of {}".format(*self.attempt)
        if self.is_delayed:
            return "waiting for a rate limit"
        return f"reading, {read:,} of {total:,} tokens" if read < total else "waiting"

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        questions = [
            {"id": each.id, "kind": each.kind, "text": to_plain_json(each.text), "who": to_plain_json(each.who)}
            for each in self.questions.values()
        ]
        calls = [
            {"id": id, "name": each.call.name, "since": each.since}
            | ({"progress": to_plain_json(each.progress)} if each.progress else {})
            for id, each in self.calls.items()
        ]
        words = {name: to_plain_json(getattr(self, name)) for name in ("kind", "title", "model", "detail")}
        words |= {"text": to_plain_json("".join(self.said)), "thought": to_plain_json("".join(self.thoughts))}
        used = {"inputTokens": self.usage.input_tokens, "outputTokens": self.usage.output_tokens, "cost": self.cost}
        times = {"began": self.began, "ended": self.ended}
        known = {"id": self.id, "parent": self.parent, "state": self.state, "requests": self.requests}
        return {**known, **words, **times, **used, "activity": self.activity, "calls": calls, "questions": questions}


class RunViews:
    """The states of a run and of all runs inside it, updated by their events in order."""

    def __init__(self) -> None:
        self.runs: dict[str, RunView] = {}

    @property
    def active(self) -> list[RunView]:
        """The runs that have not ended, the outermost first."""
        return [each for each in self.runs.values() if each.ended is None]

    def take(self, event: Event) -> RunView:
        """Apply an event and return the state of its run."""
        run = self.runs.setdefault(event.run, RunView(event.run, began=event.at))
        if isinstance(event.body, RunStarted):
            around = self.runs.get(event.body.parent or "")
            run.depth = around.depth + 1 if around is not None else 0
        _apply(run, event.body, event.at)
        return run


def _apply(run: RunView, body: EventBody, at: float) -> None:
    match body:
        case RunStarted(kind, title, model, parent):
            run.kind, run.title, run.model, run.parent, run.began = kind, title, model, parent, at
        case RequestStarted(number, _):
            run.requests, run.said, run.thoughts, run.writing, run.state = number, [], [], "", "running"
            run.read, run.attempt, run.is_delayed = (0, 0), (1, 1), False
        case RequestEnded(_, text):
            run.said, run.thoughts, run.writing = [text], [], ""
        case TextDelta(text):
            run.said.append(text)
            run.thoughts = []
        case ReasoningDelta(text):
            run.thoughts.append(text)
        case CallDelta(_, name, _):
            run.writing, run.thoughts = name or run.writing, []
        case ProgressDelta(read, total):
            run.read = (read, total)
        case RetryDelta(attempt, attempts):
            run.attempt = (attempt, attempts)
        case CallStarted(call):
            run.writing, run.said = "", []
            run.calls[call.id] = RunningCall(call, at, run.depth)
        case CallProgressed(call) if call.id in run.calls:
            run.calls[call.id] = replace(run.calls[call.id], progress=describe_progress(body))
        case CallProgressed():
            pass
        case CallFinished(call):
            run.calls.pop(call.id, None)
        case UsageChanged(usage, cost):
            run.usage, run.cost = usage, cost
        case QuestionAsked(question):
            run.questions[question.id], run.state = question, "waiting"
        case QuestionAnswered(question):
            run.questions.pop(question.id, None)
            run.state = "waiting" if run.questions else "running"
        case RunWaits():
            run.state = "waiting"
        case RequestDelayed():
            run.is_delayed = True
        case AnswerDelta() | Compacted() | PrefixChanged() | Healed() | FactWrong() | ModelUnknown() | FilesOmitted():
            pass
        case FellBack():
            run.model, run.said, run.thoughts, run.writing = body.next, [], [], ""
        case RunEnded(state, _, error):
            run.state, run.ended, run.writing, run.thoughts = state, at, "", []
            run.detail = str(error) if error is not None else ""
            run.calls.clear()
            run.questions.clear()


def describe_wrong_fact(wrong: FactWrong) -> str:
    """Return which fact is wrong, our value, and the server's."""
    theirs = f", not {wrong.theirs!r}" if wrong.theirs is not None else ""
    return f"the fact `{wrong.fact}` about {wrong.model} is wrong: {wrong.ours!r}{theirs}"


def describe_progress(event: CallProgressed) -> str:
    """Return how far a call is, and its own words about that."""
    share = f"{event.done:g} of {event.total:g}" if event.total else f"{event.done:g}" if event.done else ""
    return ", ".join(each for each in (share, event.message) if each)


def describe_attempt(retry: RetryDelta) -> str:
    """Return which attempt follows, of how many, and when."""
    return f"attempt {retry.attempt} of {retry.attempts} in {retry.seconds:.1f} s"
