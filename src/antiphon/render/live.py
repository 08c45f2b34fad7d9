"""A run in the terminal: finished things scroll by as ordinary lines, the last lines say what goes on now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from rich.console import Console

from antiphon.conversation import Citation
from antiphon.render import lines
from antiphon.render.blocks import Blocks
from antiphon.render.context import console as make_console
from antiphon.render.moving import Moving
from antiphon.render.scroll import Question, Scroll, markdown, opened
from antiphon.render.status import Now, Status, now_of
from antiphon.results import plain, structured
from antiphon.session import AIResult, Asked, CallFinished, Event, NoAnswer, RequestEnded, RunEnded
from antiphon.session.returns import parsed
from antiphon.views.run import RunningCall, RunView, RunViews, describe_attempt, describe_wrong_fact
from antiphon.views.server_tools import list_plain_sources
from antiphon.wire import FactWrong, ReasoningDelta, RetryDelta, TextDelta

#: How many characters of a question are shown.
QUESTION = 8000
_STATES = {"refused": "failed", "stuck": "failed", "empty": "failed", "wrong": "failed"}


@dataclass(slots=True)
class _Speech:
    """What a run says, as far as it is printed."""

    blocks: Blocks
    #: The text since it last began, to know at the end whether the answer has been seen.
    said: list[str] = field(default_factory=list[str])
    speaking: bool = False
    printed: bool = False
    gap: bool = False
    thoughts: list[str] = field(default_factory=list[str])


class LiveView:
    """Shows events as they come: `with LiveView() as view: for event in run.events(): view.show(event)`.

    In a terminal the last lines tell what is going on now; elsewhere there are only plain lines, none of which is
    ever changed. While a person is asked, nothing moves, so that there is a quiet line to answer on. However the `with`
    ends, the terminal is as it was before.
    """

    def __init__(self, console: Console | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.console = console if console is not None else make_console()
        self._page = Scroll(self.console)
        self._clock = clock
        self._views = RunViews()
        self._speeches: dict[str, _Speech] = {}
        self._moving = Moving(self.console, Status(self.now))
        self._entered = False

    def __enter__(self) -> Self:
        self._entered = True
        self._resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entered = False
        with self._moving.together():
            try:
                self._end()
            finally:
                self.pause()

    def show(self, event: Event) -> None:
        """Show one event, of the run that is watched or of one inside it."""
        with self._moving.together():
            if self._entered:
                self._resume()
            self._take(event)

    def _take(self, event: Event) -> None:
        known = self._views.runs.get(event.run)
        has_said, running = bool(known and known.said), list(known.calls.values()) if known else []
        run = self._views.take(event)
        speech, depth, body = self._speech(run.id), run.depth, event.body
        # Whatever comes next, what was streamed before it is complete.
        if not isinstance(body, ReasoningDelta):
            self._end_thoughts(speech, depth)
        if not isinstance(body, TextDelta):
            self._end_speech(speech, depth)
        match body:
            case TextDelta(text):
                self._speak(speech, text, depth)
            case ReasoningDelta(text):
                speech.thoughts.append(text)
            case RequestEnded(_, text) if text and not has_said:
                # It came in one piece.
                self._speak(speech, text, depth)
                self._end_speech(speech, depth)
                self._list_sources(body.sources, depth)
            case RequestEnded():
                self._list_sources(body.sources, depth)
            case RetryDelta():
                self._page.line(lines.StateLine("open", body.reason, "", describe_attempt(body), 2 * depth))
            case FactWrong():
                self._page.line(lines.StateLine("open", describe_wrong_fact(body), body.said, "", 2 * depth))
            case CallFinished():
                self._page.call(body.call, body.result, body.record.duration / 1000, depth)
            case Asked(question):
                self._ask(question.text, depth)
            case RunEnded(_, result, error):
                self._interrupt(running)
                self._finish(run, speech, result, error)
            case _:
                pass

    def now(self) -> Now:
        """What is going on at this moment, for the last lines of the terminal."""
        active = self._views.active
        deepest = active[-1] if active else None
        speech = self._speeches.get(deepest.id) if deepest else None
        is_apart = self._page.is_apart("text")
        return now_of(active, self._clock(), speech.blocks if speech else None, is_apart=is_apart)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was shown that stays."""
        return not self._page.is_apart("text")

    def pause(self) -> None:
        """Nothing moves until the next event is shown."""
        self._moving.stop()

    def _speech(self, run: str) -> _Speech:
        if run not in self._speeches:
            self._speeches[run] = _Speech(Blocks(by_line=self._page.is_plain))
        return self._speeches[run]

    # Text and thoughts

    def _speak(self, speech: _Speech, text: str, depth: int) -> None:
        if not speech.speaking:
            speech.speaking, speech.printed, speech.gap = True, False, False
            speech.said.clear()
        speech.said.append(text)
        for block in speech.blocks.feed(text):
            self._print_speech(speech, block, depth)

    def _print_speech(self, speech: _Speech, block: str, depth: int) -> None:
        if not block.strip():
            speech.gap = speech.printed
            return
        if not speech.printed:
            self._page.stand_apart("text")
        elif speech.gap or not self._page.is_plain:
            self.console.print()
        speech.printed, speech.gap = True, False
        self._page.put(self._page.text(block) if self._page.is_plain else markdown(block), depth)

    def _end_speech(self, speech: _Speech, depth: int) -> None:
        if speech.speaking:
            self._print_speech(speech, speech.blocks.finish(), depth)
            speech.speaking = False

    def _list_sources(self, sources: Sequence[Citation], depth: int) -> None:
        if listed := list_plain_sources(sources):
            self._page.stand_apart("text")
            self._page.put(self._page.text(listed, "dim"), depth)

    def _end_thoughts(self, speech: _Speech, depth: int) -> None:
        thought = "".join(speech.thoughts)
        speech.thoughts = []
        if thought.strip():
            self._page.line(lines.StateLine("thought", thought, indent=2 * depth))

    # Calls and questions

    def _ask(self, asked: str, depth: int) -> None:
        """The whole question: nobody can answer for what they were not shown."""
        self._page.stand_apart("line")
        if len(asked) > QUESTION:
            left_out = len(asked) - QUESTION
            asked = f"{asked[: QUESTION // 2]}\n[{left_out:,} characters not shown]\n{asked[-QUESTION // 2 :]}"
        self._page.put(Question(self._page.text(asked)), depth)
        self.pause()

    # The end

    def _finish(self, run: RunView, speech: _Speech, result: AIResult | None, error: BaseException | None) -> None:
        value = result.value if result is not None else None
        if value is not None and not self._has_said(speech, value):
            self._page.stand_apart("text")
            drawn = markdown(value) if isinstance(value, str) else opened(structured(value))
            self._page.put(drawn, run.depth)
        record = result.run if result is not None else getattr(error, "run", None)
        if record is not None and (result is not None or isinstance(error, NoAnswer)):
            calls = len(record.tool_calls)
            told = [f"{calls} call{'s' if calls > 1 else ''}"] if calls else []
            told += lines.spent(record.usage, record.cost)
            state = "done" if result is not None else _STATES.get(record.outcome, "stopped")
            taken = lines.duration((run.ended or run.began) - run.began)
            self._page.line(lines.StateLine(state, record.outcome, " · ".join(told), taken, 2 * run.depth))
            if record.detail:
                self._page.open(record.detail, run.depth)
        self._speeches.pop(run.id, None)
        if not run.depth:
            # Nothing moves any more; another run may begin in the same view.
            self.pause()

    def _has_said(self, speech: _Speech, value: Any) -> bool:
        said = "".join(speech.said)
        if isinstance(value, str):
            return value.strip() == said.strip()
        return bool(said) and plain(parsed(said)) == plain(value)

    def _end(self) -> None:
        """What is still open when the run is left: text that was cut, calls that were interrupted."""
        for run in self._views.active:
            speech = self._speech(run.id)
            self._end_thoughts(speech, run.depth)
            self._end_speech(speech, run.depth)
            self._interrupt(run.calls.values())
        self._views, self._speeches = RunViews(), {}

    def _interrupt(self, calls: Iterable[RunningCall]) -> None:
        for each in calls:
            note = lines.duration(max(self._clock() - each.since, 0))
            head = lines.call_head(each.call)
            self._page.line(lines.StateLine("stopped", head, "interrupted", note, 2 * each.depth))

    # The moving lines

    def _resume(self) -> None:
        if not self._page.is_plain:
            self._moving.start()
