"""The display of a chat: streamed answers, a line for each call, and messages of the program."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.text import Text

from antiphon.chat.chat import Chat
from antiphon.conversation import ToolCall
from antiphon.session import Event, Question, QuestionAsked, RequestEnded, RequestStarted, RunEnded, RunRecord
from antiphon.terminal.approval_prompt import Offer, Person
from antiphon.terminal.sanitizer import is_unicode_encoding, sanitize_line, sanitize_text
from antiphon.terminal.state_lines import format_duration, format_usage
from antiphon.tools import Tool
from antiphon.tools.approval import offer_command_decision
from antiphon.tools.canonical_call import canonicalize
from antiphon.tools.live_output import hear_output
from antiphon.wire import TextDelta

if TYPE_CHECKING:
    from antiphon.cli.chat_front.busy_keyboard import BusyKeyboard
    from antiphon.cli.chat_front.notification import Notifier
    from antiphon.terminal.live_view import LiveView

#: The last lines of a command's output that are displayed.
_OUTPUT_LINES = 8
#: The label of each outcome without an answer.
_ENDINGS = {
    "limit": "stopped",
    "waiting": "stopped",
    "stuck": "stopped",
    "empty": "no answer",
    "refused": "refused",
    "truncated": "not complete",
    "wrong": "no answer",
}


class Typing(Protocol):
    """The messages that a person types while the model works."""

    @property
    def keyboard(self) -> BusyKeyboard | None: ...
    def list_lines(self) -> tuple[str, ...]: ...
    def take_delivered(self) -> list[str]: ...


class Screen:
    """Prints to a console. Without a `person`, a run that needs approval or an answer waits."""

    def __init__(self, console: Console, person: Person | None) -> None:
        self.console = console
        self.person = person
        #: How long the person was waited for during the last answer, in seconds.
        self.waited = 0.0
        self.notifier: Notifier | None = None
        self._keyboard: BusyKeyboard | None = None
        self._view: LiveView | None = None

    @property
    def is_live(self) -> bool:
        """Return whether the console shows current activity in its last lines."""
        return self.console.is_terminal and self.console.is_interactive and not self.console.legacy_windows

    @property
    def is_unicode(self) -> bool:
        """Return whether the console shows Unicode."""
        return is_unicode_encoding(self.console.encoding)

    def follow(
        self,
        talk: Chat,
        events: Generator[Event, None, None],
        *,
        with_text: bool = True,
        describe_lasting: Callable[[ToolCall, Tool], str] | None = None,
        typing: Typing | None = None,
    ) -> None:
        """Display events until the end; Ctrl-C ends it and is raised again.

        `describe_lasting` returns why a call cannot be undone, which is displayed before it is allowed. `typing`
        is what the person types meanwhile.
        """
        self.waited = 0.0
        self._keyboard = typing.keyboard if typing is not None and self.is_live else None
        typed = typing.list_lines if typing is not None and self.is_live else tuple[str, ...]
        # Imported late, as everything that only an answer needs: the prompt comes first.
        from antiphon.terminal.live_view import LiveView

        self._view = view = LiveView(self.console, output_lines=_OUTPUT_LINES, typed=typed)
        listening = self._keyboard.listening() if self._keyboard is not None else nullcontext()
        with hear_output(view.hear), closing(events), listening, view:
            for event in events:
                if typing is not None and isinstance(event.body, RequestStarted):
                    for text in typing.take_delivered():
                        view.show_message(text)
                if isinstance(event.body, QuestionAsked):
                    self._answer_question(talk, event.body.question, view, describe_lasting)
                elif not isinstance(event.body, RunEnded) and (shown := event if with_text else _remove_text(event)):
                    view.show(shown)

    def end(self) -> None:
        """Stop what is live, however the last answer ended."""
        if self._view is not None:
            self._view.pause()
        if self._keyboard is not None:
            self._keyboard.end()

    def notify(self, text: str) -> None:
        """Notify the person of a wait."""
        if self.notifier is not None:
            self.notifier.notify(text)

    def note_input(self) -> None:
        """Note that the person has typed something."""
        if self.notifier is not None:
            self.notifier.note_input()

    def print_markdown(self, text: str) -> None:
        """Print Markdown."""
        self.console.print()
        from antiphon.terminal.scrollback import make_markdown

        self.console.print(make_markdown(text))

    def print_note(self, text: str, style: str = "dim") -> None:
        """Print a message of the program."""
        self.console.print(Text(sanitize_text(text, self.console.encoding), style, overflow="fold"))

    def print_pairs(self, rows: Iterable[tuple[str, str]]) -> None:
        """Print names with their descriptions in two columns."""
        from rich.table import Table

        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for name, about in rows:
            table.add_row(
                Text(sanitize_text(name, self.console.encoding)), Text(sanitize_text(about, self.console.encoding))
            )
        self.console.print(table)

    def print_error(self, error: BaseException | str) -> None:
        """Print an error in one line."""
        self.print_note(sanitize_line(str(error), encoding=self.console.encoding), "red")

    def print_summary(self, run: RunRecord, seconds: float) -> None:
        """Print the model, usage and duration of a run; before that, why it has no answer."""
        if run.outcome != "done":
            # The words of a refusal were displayed as the answer.
            detail = "" if run.outcome == "refused" and run.said else f": {run.detail}"
            self.print_note(sanitize_line(f"{_ENDINGS.get(run.outcome, run.outcome)}{detail}"), "yellow")
        calls = len(run.tool_calls)
        told = [run.model, *([f"{calls} call{'s' if calls > 1 else ''}"] if calls else [])]
        told += [*format_usage(run.usage, run.cost), format_duration(seconds)]
        dot = " · " if self.is_unicode else " - "
        self.print_note(dot.join(told))

    def _answer_question(
        self,
        talk: Chat,
        question: Question,
        view: LiveView,
        describe_lasting: Callable[[ToolCall, Tool], str] | None,
    ) -> None:
        if self.person is None or talk.run is None:
            return
        view.pause()
        if self._keyboard is not None:
            self._keyboard.pause()
        self.notify("a question waits for you")
        began = time.monotonic()
        try:
            offer, warning = None, ""
            if (found := _find_asked_tool(talk, question)) is not None:
                offer = _find_offer(talk, *found)
                warning = describe_lasting(*found) if describe_lasting is not None else ""
            said = self.person.answer(question, apart=not view.is_empty, offer=offer, warning=warning)
        finally:
            seconds = time.monotonic() - began
            self.waited += seconds
            self.note_input()
        if self._keyboard is not None:
            self._keyboard.resume()
        view.note_answer(question.call.id if question.call is not None else "", seconds)
        talk.run.settle(question, said)


def _find_asked_tool(talk: Chat, question: Question) -> tuple[ToolCall, Tool] | None:
    """Return the call to approve and its tool."""
    call = question.call if question.kind == "approval" else None
    tool = next((each for each in talk.session.tools if call is not None and each.name == call.name), None)
    return (call, tool) if call is not None and isinstance(tool, Tool) else None


def _find_offer(talk: Chat, call: ToolCall, tool: Tool) -> Offer | None:
    """Return the offer to allow the commands of a call always, with any arguments."""
    session = talk.session
    decision = offer_command_decision(canonicalize(tool, call))
    if decision is None:
        return None
    return Offer(", ".join(decision.commands), lambda: session.policy.always(decision))


def _remove_text(event: Event) -> Event | None:
    """Return the event without text, which is printed elsewhere; `None` if nothing remains."""
    body = event.body
    if isinstance(body, TextDelta):
        return None
    return event._replace(body=replace(body, text="")) if isinstance(body, RequestEnded) else event
