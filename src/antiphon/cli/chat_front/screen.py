"""What people see of a talk: answers as they come, calls in a line each, and remarks of ours."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from antiphon.chat.saved_chat import SavedChat
from antiphon.session import Event, Question, QuestionAsked, RequestEnded, RunEnded, RunRecord
from antiphon.terminal.approval_prompt import Person
from antiphon.terminal.live_view import LiveView
from antiphon.terminal.sanitizer import safe, sanitize_line
from antiphon.terminal.state_lines import format_duration, format_usage
from antiphon.wire import TextDelta

#: What is said of an outcome that is no answer.
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
    """Prints to a console. Without a `person` nobody is asked: a run that needs somebody waits."""

    def __init__(self, console: Console, person: Person | None) -> None:
        self.console = console
        self.person = person

    def follow(self, talk: SavedChat, events: Generator[Event, None, None], *, with_text: bool = True) -> None:
        """Show what happens until the end; Ctrl-C ends it and is passed on."""
        with closing(events), LiveView(self.console) as view:
            for event in events:
                if isinstance(event.body, QuestionAsked):
                    self._settle(talk, event.body.question, view)
                elif not isinstance(event.body, RunEnded) and (shown := event if with_text else _wordless(event)):
                    view.show(shown)

    def note(self, text: str, style: str = "dim") -> None:
        """Say something that is no part of the conversation."""
        self.console.print(Text(safe(text, self.console.encoding), style, overflow="fold"))

    def pairs(self, rows: Iterable[tuple[str, str]]) -> None:
        """Words with what is said of each beside it, also where that takes several lines."""
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for name, about in rows:
            table.add_row(Text(safe(name, self.console.encoding)), Text(safe(about, self.console.encoding)))
        self.console.print(table)

    def error(self, error: BaseException | str) -> None:
        """Say in one line what went wrong."""
        self.note(sanitize_line(str(error), encoding=self.console.encoding), "red")

    def account(self, run: RunRecord, seconds: float) -> None:
        """One faint line: who answered, and what it took; before it, why there is no answer."""
        if run.outcome != "done":
            # Of a refusal, the words have been shown as the answer.
            detail = "" if run.outcome == "refused" and run.said else f": {run.detail}"
            self.note(sanitize_line(f"{_ENDINGS.get(run.outcome, run.outcome)}{detail}"), "yellow")
        calls = len(run.tool_calls)
        told = [run.model, *([f"{calls} call{'s' if calls > 1 else ''}"] if calls else [])]
        told += [*format_usage(run.usage, run.cost), format_duration(seconds)]
        dot = " · " if self.console.encoding.lower().startswith("utf") else " - "
        self.note(dot.join(told))

    def _settle(self, talk: SavedChat, question: Question, view: LiveView) -> None:
        if self.person is None or talk.run is None:
            return
        view.pause()
        try:
            talk.run.settle(question, self.person.answer(question, apart=not view.is_empty))
        except KeyboardInterrupt:
            # The question's line has no end yet.
            self.console.print()
            raise


def _wordless(event: Event) -> Event | None:
    """What happened without what was said, which is printed elsewhere."""
    body = event.body
    if isinstance(body, TextDelta):
        return None
    return event._replace(body=replace(body, text="")) if isinstance(body, RequestEnded) else event
