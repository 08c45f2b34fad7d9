"""What people see of a talk: answers as they come, calls in a line each, and remarks of ours."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from rich.console import Console
from rich.text import Text

from antiphon.cli.talk.echo import echoing
from antiphon.cli.talk.person import Person, described
from antiphon.render.lines import duration, spent
from antiphon.render.live import LiveView
from antiphon.render.safe import safe, safe_line
from antiphon.session import AIResult, Done, Event, Waiting
from antiphon.wire import TextDelta

#: What is said of an outcome that is no answer.
_ENDINGS = {
    "limit": "stopped",
    "blocked": "stopped",
    "stuck": "stopped",
    "empty": "no answer",
    "refused": "refused",
    "truncated": "not complete",
}


class Display:
    """Prints to a console. Without a `person` nobody is asked: a run that needs somebody ends as blocked."""

    def __init__(self, console: Console, person: Person | None) -> None:
        self.console = console
        self.person = person

    def follow(self, events: Generator[Event, None, None], *, with_text: bool = True) -> AIResult | None:
        """Show what happens until the end, and give the result; Ctrl-C ends it and is passed on."""
        result: AIResult | None = None
        with echoing(False), closing(events), LiveView(self.console) as view:
            for event in events:
                if isinstance(event, Done):
                    result = event.result
                elif isinstance(event, Waiting):
                    self._settle(event, view)
                elif with_text or not isinstance(event, TextDelta):
                    view.show(event)
        return result

    def note(self, text: str, style: str = "dim") -> None:
        """Say something that is no part of the conversation."""
        self.console.print(Text(safe(text, self.console.encoding), style, overflow="fold"))

    def error(self, error: BaseException | str) -> None:
        """Say in one line what went wrong."""
        self.note(safe_line(str(error), encoding=self.console.encoding), "red")

    def account(self, result: AIResult, seconds: float) -> None:
        """One faint line: who answered, and what it took; before it, why there is no answer."""
        if result.run.outcome != "done":
            # Of a refusal, the words have been shown as the answer.
            detail = "" if result.run.outcome == "refused" and result.value else f": {result.run.detail}"
            self.note(safe_line(f"{_ENDINGS[result.run.outcome]}{detail}"), "yellow")
        calls = len(result.tool_calls)
        told = [result.run.model, *([f"{calls} call{'s' if calls > 1 else ''}"] if calls else [])]
        # Nothing is what models of this machine cost.
        told += [*spent(result.run.usage, result.run.cost or None), duration(seconds)]
        dot = " · " if self.console.encoding.lower().startswith("utf") else " - "
        self.note(dot.join(told))

    def _settle(self, waiting: Waiting, view: LiveView) -> None:
        if self.person is None:
            return
        if self.person.allows(waiting):
            waiting.allow()
            return
        lines, hidden = list[str](), 0
        if waiting.kind == "approval":
            waiting.question, lines, hidden = described(waiting.call, self.console.width)
        view.show(waiting)
        with echoing(True):
            try:
                self.person.settle(waiting, lines, hidden, lambda text: self.note(text, ""))
            except KeyboardInterrupt:
                # The question's line has no end yet.
                self.console.print()
                raise
