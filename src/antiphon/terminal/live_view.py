"""Live display of a run: finished items are ordinary lines, the last lines show the current activity."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from rich.console import Console

from antiphon.conversation import Citation
from antiphon.results import structured, to_plain_json
from antiphon.session import (
    AIResult,
    CallFinished,
    Event,
    FellBack,
    NoAnswer,
    QuestionAsked,
    RequestDelayed,
    RequestEnded,
    RunEnded,
)
from antiphon.session.typed_output import parse_untyped_answer
from antiphon.terminal import state_lines as lines
from antiphon.terminal.approval_prompt import truncate_question
from antiphon.terminal.live_region import LiveRegion
from antiphon.terminal.markdown_blocks import MarkdownBlocks
from antiphon.terminal.render_context import make_console
from antiphon.terminal.scrollback import ConsentText, Scrollback, make_expanded, make_markdown
from antiphon.terminal.status_line import StatusRenderable, StatusSnapshot
from antiphon.views.run_state import (
    RunningCall,
    RunView,
    RunViews,
    describe_attempt,
    describe_wrong_fact,
)
from antiphon.views.server_tools import format_plain_sources
from antiphon.wire import FactWrong, ReasoningDelta, RetryDelta, TextDelta

_MAX_OUTPUT_CHARACTERS = 4_000
_OUTCOME_STATES = {"refused": "failed", "stuck": "failed", "empty": "failed", "wrong": "failed"}


@dataclass(slots=True)
class _SpeechState:
    """The text of a run, and how much of it is printed."""

    blocks: MarkdownBlocks
    #: The text since it last began, to decide at the end whether the answer was already printed.
    said: list[str] = field(default_factory=list[str])
    speaking: bool = False
    printed: bool = False
    gap: bool = False
    thoughts: list[str] = field(default_factory=list[str])


class LiveView:
    """Displays events as they arrive: `with LiveView() as view: for event in run.events():
    view.show(event)`.

    In a terminal the last lines show the current activity; elsewhere there are only plain lines that never
    change. While a person is asked, nothing is redrawn, so that there is a stable line to answer on. However
    the `with` block ends, the terminal is restored. With `output_lines`, so many lines of the output of
    commands are displayed. `typed` returns what the person types meanwhile.
    """

    def __init__(
        self,
        console: Console | None = None,
        *,
        clock: Callable[[], float] = time.time,
        output_lines: int = 0,
        typed: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self.console = console if console is not None else make_console()
        self._page = Scrollback(self.console, output_lines)
        #: The end of what the running command has printed.
        self._output = ""
        #: The calls whose changes were displayed before, and how long a person was waited for.
        self._typed = typed
        self._known_changes: set[str] = set()
        self._waited = 0.0
        self._clock = clock
        self._views = RunViews()
        self._speeches: dict[str, _SpeechState] = {}
        self._moving = LiveRegion(self.console, StatusRenderable(self.now))
        self._entered = False

    def __enter__(self) -> Self:
        self._entered = True
        self._resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entered = False
        with self._moving.batch():
            try:
                self._end()
            finally:
                self.pause()

    def show(self, event: Event) -> None:
        """Display one event of the watched run or of one inside it."""
        with self._moving.batch():
            if self._entered:
                self._resume()
            self._take(event)

    def _take(self, event: Event) -> None:
        known = self._views.runs.get(event.run)
        has_said, running = bool(known and known.said), list(known.calls.values()) if known else []
        run = self._views.take(event)
        speech, depth, body = self._speech(run.id), run.depth, event.body
        # Any other event completes the text streamed before it.
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
                # The text arrived in one piece.
                self._speak(speech, text, depth)
                self._end_speech(speech, depth)
                self._list_sources(body.sources, depth)
            case RequestEnded():
                self._list_sources(body.sources, depth)
            case RetryDelta():
                self._page.line(lines.StateLine("open", body.reason, "", describe_attempt(body), 2 * depth))
            case RequestDelayed():
                told = f"the request is sent in {body.seconds:.1f} s"
                self._page.line(lines.StateLine("open", told, body.reason, "", 2 * depth))
            case FellBack():
                if body.text:
                    told = "the text above is not part of the answer"
                    self._page.line(lines.StateLine("open", told, "", "", 2 * depth))
                told = f"{body.model} failed; {body.next} is asked"
                self._page.line(lines.StateLine("open", told, body.reason, "", 2 * depth))
            case FactWrong():
                self._page.line(lines.StateLine("open", describe_wrong_fact(body), body.said, "", 2 * depth))
            case CallFinished():
                self._output = ""
                is_known = body.call.id in self._known_changes
                seconds = body.record.duration / 1000
                self._page.call(body.call, body.result, seconds, depth, is_change_known=is_known)
            case QuestionAsked(question):
                self._ask(question.text, depth)
            case RunEnded(_, result, error):
                self._interrupt(running)
                self._finish(run, speech, result, error)
            case _:
                pass

    def now(self) -> StatusSnapshot:
        """Return the current activity, for the last lines of the terminal."""
        active = self._views.active
        deepest = active[-1] if active else None
        speech = self._speeches.get(deepest.id) if deepest else None
        blocks, is_apart = speech.blocks if speech else None, self._page.is_apart("text")
        return StatusSnapshot(active, self._clock(), blocks, is_apart, self._waited, self._output, self._typed())

    def hear(self, text: str) -> None:
        """Display output of the running command in the last lines."""
        self._output = (self._output + text)[-_MAX_OUTPUT_CHARACTERS:]

    def show_message(self, text: str) -> None:
        """Print a message that the person sent meanwhile."""
        with self._moving.batch():
            self._page.paragraph(text, "bold")

    def note_answer(self, call: str, seconds: float) -> None:
        """Take into account that a person has seen a call, and how long that took."""
        self._known_changes.add(call)
        self._waited += seconds

    @property
    def is_empty(self) -> bool:
        """Return whether nothing permanent has been printed."""
        return not self._page.is_apart("text")

    def pause(self) -> None:
        """Stop redrawing until the next event is displayed."""
        self._moving.stop()

    def _speech(self, run: str) -> _SpeechState:
        if run not in self._speeches:
            self._speeches[run] = _SpeechState(MarkdownBlocks(by_line=self._page.is_plain))
        return self._speeches[run]

    # Text and thoughts

    def _speak(self, speech: _SpeechState, text: str, depth: int) -> None:
        if not speech.speaking:
            speech.speaking, speech.printed, speech.gap = True, False, False
            speech.said.clear()
        speech.said.append(text)
        for block in speech.blocks.feed(text):
            self._print_speech(speech, block, depth)

    def _print_speech(self, speech: _SpeechState, block: str, depth: int) -> None:
        if not block.strip():
            speech.gap = speech.printed
            return
        if not speech.printed:
            self._page.separate("text")
        elif speech.gap or not self._page.is_plain:
            self.console.print()
        speech.printed, speech.gap = True, False
        self._page.put(self._page.text(block) if self._page.is_plain else make_markdown(block), depth)

    def _end_speech(self, speech: _SpeechState, depth: int) -> None:
        if speech.speaking:
            self._print_speech(speech, speech.blocks.finish(), depth)
            speech.speaking = False

    def _list_sources(self, sources: Sequence[Citation], depth: int) -> None:
        if listed := format_plain_sources(sources):
            self._page.paragraph(listed, "dim", depth)

    def _end_thoughts(self, speech: _SpeechState, depth: int) -> None:
        thought = "".join(speech.thoughts)
        speech.thoughts = []
        if thought.strip():
            self._page.line(lines.StateLine("thought", thought, indent=2 * depth))

    # Calls and questions

    def _ask(self, asked: str, depth: int) -> None:
        """Print the complete question: a person cannot answer for what was not displayed."""
        self._page.separate("line")
        self._page.put(ConsentText(self._page.text(truncate_question(asked))), depth)
        self.pause()

    # The end

    def _finish(self, run: RunView, speech: _SpeechState, result: AIResult | None, error: BaseException | None) -> None:
        value = result.value if result is not None else None
        if value is not None and not self._is_already_printed(speech, value):
            self._page.separate("text")
            drawn = make_markdown(value) if isinstance(value, str) else make_expanded(structured(value))
            self._page.put(drawn, run.depth)
        record = result.run if result is not None else getattr(error, "run", None)
        if record is not None and (result is not None or isinstance(error, NoAnswer)):
            calls = len(record.tool_calls)
            told = [f"{calls} call{'s' if calls > 1 else ''}"] if calls else []
            told += lines.format_usage(record.usage, record.cost)
            state = "done" if result is not None else _OUTCOME_STATES.get(record.outcome, "stopped")
            taken = lines.format_duration((run.ended or run.began) - run.began)
            self._page.line(lines.StateLine(state, record.outcome, " · ".join(told), taken, 2 * run.depth))
            if record.detail:
                self._page.open(record.detail, run.depth)
        self._speeches.pop(run.id, None)
        if not run.depth:
            # Stop redrawing; another run may begin in the same view.
            self.pause()

    def _is_already_printed(self, speech: _SpeechState, value: Any) -> bool:
        said = "".join(speech.said)
        if isinstance(value, str):
            return value.strip() == said.strip()
        return bool(said) and to_plain_json(parse_untyped_answer(said)) == to_plain_json(value)

    def _end(self) -> None:
        """Print what is still open when the view is left: incomplete text, interrupted calls."""
        for run in self._views.active:
            speech = self._speech(run.id)
            self._end_thoughts(speech, run.depth)
            self._end_speech(speech, run.depth)
            self._interrupt(run.calls.values())
        self._views, self._speeches = RunViews(), {}

    def _interrupt(self, calls: Iterable[RunningCall]) -> None:
        for each in calls:
            note = lines.format_duration(max(self._clock() - each.since, 0))
            head = lines.format_tool_call(each.call)
            self._page.line(lines.StateLine("stopped", head, "interrupted", note, 2 * each.depth))

    # The live region

    def _resume(self) -> None:
        if not self._page.is_plain:
            self._moving.start()
