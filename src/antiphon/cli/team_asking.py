"""Ask the user at the terminal the questions of a team."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from rich.text import Text

from antiphon._base.terminal import forget_typed
from antiphon.cli.chat_front.line_editor import LineEditor
from antiphon.cli.output import print_message
from antiphon.errors import AntiphonError
from antiphon.team.queries import classify_question, find_pending_call
from antiphon.terminal import make_console
from antiphon.terminal.approval_prompt import format_call_lines, read_final_answer, shorten_lines
from antiphon.terminal.scrollback import Scrollback, make_markdown

if TYPE_CHECKING:
    from antiphon.conversation import ToolCall
    from antiphon.team import ChannelMessage, Team


class TeamHuman:
    """Asks the user the questions of a team; `skipped` ones are not asked again."""

    def __init__(self) -> None:
        self.skipped: set[int] = set()
        self._reader = LineEditor()
        self._page = Scrollback(make_console())

    def ask(self, team: Team, question: ChannelMessage) -> bool:
        """Display a question and post the answer. Return False if there is none, so that it stays open."""
        self._page.separate("text")
        forget_typed()
        said = self._read_answer(team, question)
        if not said.strip():
            self.skipped.add(question.id)
            print_message(f'left open; answer it with `antiphon answer {team.id}:{question.id} "…"`')
            return False
        try:
            team.answer(question.id, said)
        except AntiphonError as error:
            # It was answered elsewhere meanwhile, or contains a secret.
            print_message(str(error))
            return question.id not in team.state.questions
        return True

    def _read_answer(self, team: Team, question: ChannelMessage) -> str:
        if classify_question(question) == "spec" and team.state.spec is not None:
            self._print_heading(question, "do you accept this specification?")
            self._page.put(make_markdown(f"# {team.state.spec['title']}\n\n{team.state.spec['text']}"), 1)
            return self._read_line("type yes to accept it, or what to change")
        call = find_pending_call(team.journal, question)
        if call is not None:
            return self._read_decision(question, call)
        self._print_heading(question, "")
        self._page.put(make_markdown(question.text), 1)
        return self._read_line("press Enter to leave it open")

    def _print_heading(self, question: ChannelMessage, text: str) -> None:
        self._page.put(self._page.text(f"{question.author} asks (#{question.id}){': ' * bool(text)}{text}", "bold"))

    def _read_line(self, hint: str) -> str:
        self._page.put(self._page.text(f"({hint})", "dim"))
        return self._reader.read_message("> ") or ""

    def _read_decision(self, question: ChannelMessage, call: ToolCall) -> str:
        self._print_heading(question, f"may `{call.name}` run?")
        lines = format_call_lines(call, shutil.get_terminal_size().columns)
        short, hidden = shorten_lines(lines)
        self._show(Text("\n").join(short))
        return read_final_answer(
            self._reader.read_line, self._show, lines, hidden, "[y]es, [n]o, or the reason against it"
        )

    def _show(self, text: Text) -> None:
        self._page.put(text)
