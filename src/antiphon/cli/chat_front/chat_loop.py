"""The chat itself: what is typed goes to the model or to a command, until somebody leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

from antiphon.chat.mentions import expand_mentions
from antiphon.chat.saved_chat import SavedChat
from antiphon.chat.tool_selection import ToolRegistry, ToolSelection
from antiphon.cli.chat_front.line_editor import LineEditor
from antiphon.cli.chat_front.local_models import prepare_model
from antiphon.cli.chat_front.screen import Screen
from antiphon.cli.chat_front.slash_commands import QuitChat, run_command
from antiphon.cli.chat_front.template_use import ChatOpening
from antiphon.conversation import Text
from antiphon.errors import AntiphonError, NotReadyError
from antiphon.session import Event, NoAnswer, ReturnError
from antiphon.terminal.sanitizer import is_unicode_encoding, sanitize_line

#: A Ctrl-C so soon after one that stopped an answer meant the answer, not the chat.
_IMPATIENT_SECONDS = 2.0


#: Words that leave a chat, as they leave shells.
_LEAVING = ("exit", "quit")


class ChatLoop:
    """A talk at a terminal. `tools` is how those in use were chosen; `about` is told, for who goes on with it.

    The `opening` makes the first message of what is typed.
    """

    def __init__(
        self,
        talk: SavedChat,
        display: Screen,
        reader: LineEditor,
        toolbox: ToolRegistry,
        about: dict[str, Any] | None = None,
        opening: ChatOpening | None = None,
    ) -> None:
        self.talk = talk
        self.display = display
        self.reader = reader
        self.toolbox = toolbox
        self.tools = ToolSelection()
        self._about = {} if about is None else about
        self._opening = opening
        #: When an answer was last stopped.
        self._stopped = -_IMPATIENT_SECONDS
        self._is_answering = False
        self._was_interrupted = False

    def run(self, first: Callable[[], None] | None = None) -> None:
        """Take turns until the end of the input, `/quit`, or Ctrl-C twice at the prompt; `first` is done before."""
        is_over = False
        while not is_over:
            try:
                if first is not None:
                    begun, first, self._is_answering = first, None, True
                    self._try(begun)
                is_over = self._take_turn()
            except KeyboardInterrupt:
                is_over = self._interrupt()

    def _take_turn(self) -> bool:
        """A message and what comes of it. Whether it was the last."""
        self._is_answering = False
        said = self.reader.message(self._prompt())
        self._was_interrupted, self._stopped = False, -_IMPATIENT_SECONDS
        if said is None:
            if self.reader.is_terminal:
                self.display.console.print()
            return True
        self._is_answering = True
        try:
            self._try(lambda: self._take(said))
        except QuitChat:
            return True
        return False

    def _interrupt(self) -> bool:
        """Ctrl-C: an answer is stopped, a prompt warns and then leaves. Those that come meanwhile mean the same one."""
        while True:
            try:
                return self._tell_interrupt()
            except KeyboardInterrupt:
                continue

    def _tell_interrupt(self) -> bool:
        if self._is_answering:
            self._is_answering, self._stopped = False, time.monotonic()
            self.display.note(f"stopped{self._ways_on()}", "yellow")
            return False
        self.display.console.print()
        if time.monotonic() - self._stopped < _IMPATIENT_SECONDS:
            return False
        if self._was_interrupted:
            return True
        self._was_interrupted = True
        self.display.note("Ctrl-C again leaves")
        return False

    def say(self, text: str) -> None:
        """A message to the model, with the files it names, and its answer; whatever goes wrong is told."""
        person, model = self.display.person, self.talk.session.model
        said = expand_mentions(text, person.confirm if person else lambda _: False, getattr(model, "target", None))
        for note in said.notes:
            self.display.note(note)
        # What a template says is not looked through for files: whoever types has not seen it.
        first = said.parts[0] if self._opening is None else Text(self._opening.made(text))

        def send() -> Generator[Event, None, None]:
            self._opening = None
            return self.talk.send((first, *said.parts[1:]))

        self._follow(send)

    def open(self) -> None:
        """Say what needs nothing to be typed."""
        if self._opening is not None:
            self.display.note(self._opening.made(""), "")
        self.say("")

    def ask_again(self) -> None:
        """The last message once more, whatever came of it."""
        events = self.talk.ask_again()
        self._follow(lambda: events)

    def go_on(self) -> None:
        """Go on with what was left open: people are asked again, calls are run, the model answers."""
        if missing := self.talk.missing_tools:
            names = ", ".join(f"`{name}`" for name in missing)
            raise NotReadyError(f"what is open needs {names}: choose with /tools, then /go; or /retry asks again")
        self._follow(self.talk.continue_answer)

    def _follow(self, begin: Callable[[], Generator[Event, None, None]]) -> None:
        began = time.monotonic()
        self.display.console.print()
        try:
            self.load()
            self.display.follow(self.talk, begin())
            run = self.talk.result().run
        except NoAnswer as error:
            run = error.run
            if isinstance(error, ReturnError):
                raise
        except AntiphonError as error:
            self.display.error(f"{error}{self._ways_on()}")
            return
        self.display.console.print()
        self.display.account(run, time.monotonic() - began)

    def load(self) -> None:
        """Fetch and load a model of this machine while nothing else moves on the screen."""
        prepare_model(self.talk.session.model)

    def use_tools(self, chosen: ToolSelection) -> None:
        """Let the model use these tools from now on."""
        self.talk.session.tools = self.toolbox.load_tools(chosen)
        self.tools = chosen
        self._about.update(chosen.to_json())
        conversation = self.talk.conversation
        provided = [spec for spec in conversation.tools if spec.is_provider_defined]
        conversation.tools = [*provided, *(tool.spec for tool in self.talk.session.tools)]
        if self.talk.id:
            # Whoever goes on with it has the tools that were chosen last, though nothing was said with them.
            self.talk.save_now()

    def _take(self, said: str) -> None:
        if said.startswith("/"):
            run_command(self, said)
        elif said.strip().lower() in _LEAVING:
            raise QuitChat
        elif said.strip():
            self.say(said)

    def _try(self, what: Callable[[], None]) -> None:
        try:
            what()
        except AntiphonError as error:
            self.display.error(error)

    def _ways_on(self) -> str:
        """Say what can be done about a message that has no answer, or only the beginning of one."""
        if self.talk.is_interrupted:
            return "; what was said stays: /go continues it, /retry asks again, /undo takes it back"
        return "; /retry asks again, /undo takes the message back" if self.talk.is_unanswered else ""

    def _prompt(self) -> str:
        console = self.display.console
        room = max(console.width // 3, 4)
        name = sanitize_line(self.talk.session.model.name.rpartition("/")[2], encoding=console.encoding)
        name = name if len(name) <= room else name[:room]
        sign = "›" if is_unicode_encoding(console.encoding) else ">"
        if console.color_system is None or console.no_color:
            return f"{name} {sign} "
        # The marks tell the line editor what takes no room.
        return f"\001\033[36m\002{name} {sign}\001\033[0m\002 "
