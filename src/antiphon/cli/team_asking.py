"""Whoever sits at the terminal while a team works: shown each question in full, and asked."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from rich.text import Text

from antiphon._base.terminal import forget_typed
from antiphon.cli.chat_front.line_editor import LineEditor
from antiphon.cli.chat_front.output import print_message
from antiphon.errors import AntiphonError
from antiphon.team.queries import classify_question, find_pending_call
from antiphon.terminal import console
from antiphon.terminal.approval_prompt import format_call_lines, read_final_answer, shorten_lines
from antiphon.terminal.scrollback import Scrollback, make_markdown

if TYPE_CHECKING:
    from antiphon.conversation import ToolCall
    from antiphon.team import ChannelMessage, Team


class Human:
    """Answers questions of a team. What was `skipped` is not asked again here."""

    def __init__(self) -> None:
        self.skipped: set[int] = set()
        self._reader = LineEditor()
        self._page = Scrollback(console())

    def answered(self, team: Team, question: ChannelMessage) -> bool:
        """Show a question, and take the answer; nothing said is none, and the question stays open."""
        self._page.separate("text")
        forget_typed()
        said = self._said(team, question)
        if not said.strip():
            self.skipped.add(question.id)
            print_message(f'left open; `antiphon team answer {question.id} "…"` answers it')
            return False
        try:
            team.answer(question.id, said)
        except AntiphonError as error:
            # Somebody else was faster, or it holds what must not be kept.
            print_message(str(error))
            return question.id not in team.state.questions
        return True

    def _said(self, team: Team, question: ChannelMessage) -> str:
        if classify_question(question) == "spec" and team.state.spec is not None:
            self._head(question, "is this what you want?")
            self._page.put(make_markdown(f"# {team.state.spec['title']}\n\n{team.state.spec['text']}"), 1)
            return self._line("yes accepts it; else say what to change")
        call = find_pending_call(team.journal, question)
        if call is not None:
            return self._decision(question, call)
        self._head(question, "")
        self._page.put(make_markdown(question.text), 1)
        return self._line("Enter leaves it open")

    def _head(self, question: ChannelMessage, text: str) -> None:
        self._page.put(self._page.text(f"{question.author} asks (#{question.id}){': ' * bool(text)}{text}", "bold"))

    def _line(self, hint: str) -> str:
        self._page.put(self._page.text(f"({hint})", "dim"))
        return self._reader.message("> ") or ""

    def _decision(self, question: ChannelMessage, call: ToolCall) -> str:
        self._head(question, f"may `{call.name}` run?")
        lines = format_call_lines(call, shutil.get_terminal_size().columns)
        short, hidden = shorten_lines(lines)
        self._show(Text("\n").join(short))
        return read_final_answer(self._reader.line, self._show, lines, hidden, "[y]es, [n]o, or say why not")

    def _show(self, text: Text) -> None:
        self._page.put(text)
