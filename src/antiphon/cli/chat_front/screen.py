"""The display of a chat: streamed answers, a line for each call, and messages of the program."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from antiphon.chat.chat import Chat
from antiphon.session import Event, Question, QuestionAsked, RequestEnded, RunEnded, RunRecord
from antiphon.terminal.approval_prompt import Person
from antiphon.terminal.live_view import LiveView
from antiphon.terminal.sanitizer import sanitize_line, sanitize_text
from antiphon.terminal.state_lines import format_duration, format_usage
from antiphon.wire import TextDelta

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


class Screen:
    """Prints to a console. Without a `person`, a run that needs approval or an answer waits."""

    def __init__(self, console: Console, person: Person | None) -> None:
        self.console = console
        self.person = person

    def follow(self, talk: Chat, events: Generator[Event, None, None], *, with_text: bool = True) -> None:
        """Display events until the end; Ctrl-C ends it and is raised again."""
        with closing(events), LiveView(self.console) as view:
            for event in events:
                if isinstance(event.body, QuestionAsked):
                    self._answer_question(talk, event.body.question, view)
                elif not isinstance(event.body, RunEnded) and (shown := event if with_text else _remove_text(event)):
                    view.show(shown)

    def print_note(self, text: str, style: str = "dim") -> None:
        """Print a message of the program."""
        self.console.print(Text(sanitize_text(text, self.console.encoding), style, overflow="fold"))

    def print_pairs(self, rows: Iterable[tuple[str, str]]) -> None:
        """Print names with their descriptions in two columns."""
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
        dot = " · " if self.console.encoding.lower().startswith("utf") else " - "
        self.print_note(dot.join(told))

    def _answer_question(self, talk: Chat, question: Question, view: LiveView) -> None:
        if self.person is None or talk.run is None:
            return
        view.pause()
        try:
            talk.run.settle(question, self.person.answer(question, apart=not view.is_empty))
        except KeyboardInterrupt:
            # End the line of the question.
            self.console.print()
            raise


def _remove_text(event: Event) -> Event | None:
    """Return the event without text, which is printed elsewhere; `None` if nothing remains."""
    body = event.body
    if isinstance(body, TextDelta):
        return None
    return event._replace(body=replace(body, text="")) if isinstance(body, RequestEnded) else event
