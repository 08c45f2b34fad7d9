"""The loop of a chat: typed lines go to the model or to a slash command, until the user quits."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from typing import Any

from antiphon.chat.chat import Chat
from antiphon.chat.context_meter import ContextMeter, format_context, get_context_size
from antiphon.chat.file_undo import FileUndo
from antiphon.chat.mentions import expand_mentions
from antiphon.chat.plan_mode import AGREEMENT, SUBMIT_PLAN, make_plan_note, select_harmless_tools
from antiphon.chat.skills import Skill, make_skill_tool
from antiphon.chat.tool_selection import ToolRegistry, ToolSelection
from antiphon.cli.chat_front.line_editor import LineEditor
from antiphon.cli.chat_front.local_models import prepare_model
from antiphon.cli.chat_front.screen import Screen
from antiphon.cli.chat_front.slash_commands import QuitChat, run_command
from antiphon.cli.chat_front.template_use import ChatOpening
from antiphon.cli.chat_front.typed_messages import TypedMessages
from antiphon.conversation import Text
from antiphon.errors import AntiphonError, NotReadyError
from antiphon.session import Event, NoAnswer, RequestEnded, ReturnError, RunRecord
from antiphon.terminal.sanitizer import sanitize_line
from antiphon.terminal.state_lines import sum_run_usage
from antiphon.tools import ProviderTool, Tool, Toolset
from antiphon.views.cost_format import format_cost
from antiphon.wire import Usage

#: A Ctrl-C this soon after one that stopped an answer is ignored: it was meant for the answer.
_IMPATIENT_SECONDS = 2.0
#: So many times Ctrl-C ends a chat whose answer cannot be stopped.
_MAX_INTERRUPTS = 10


#: Words that quit a chat, as in shells.
_QUIT_WORDS = ("exit", "quit")


class ChatLoop:
    """A chat at a terminal. `opening` turns the first typed line into the first message."""

    def __init__(
        self,
        talk: Chat,
        display: Screen,
        reader: LineEditor,
        opening: ChatOpening | None = None,
    ) -> None:
        self.talk = talk
        self.display = display
        self.reader = reader
        #: The tools of the selection, to which a chat adds its own.
        self._loaded: list[Tool | ProviderTool | Toolset[Any]] = []
        self._are_tools_declared = False
        self._first_specs = {spec.name: spec for spec in talk.conversation.tools}
        self.skills: list[Skill] = []
        self.is_planning = False
        self._opening = opening
        self.meter = ContextMeter()
        self.files = FileUndo(talk)
        self.typed = TypedMessages(talk, reader, lambda: display.is_unicode)
        #: Text for the next input, and the number of the message from the end that it replaces.
        self._draft, self._edited = "", 0
        #: A message that follows from a decision of the person.
        self._next = ""
        #: When an answer was last stopped.
        self._stopped = -_IMPATIENT_SECONDS
        self._is_answering = False
        self._was_interrupted = False

    def run(self, first: Callable[[], None] | None = None) -> None:
        """Read and answer until the end of the input, `/quit`, or Ctrl-C twice at the prompt; call `first` before."""
        is_over = False
        if first is not None:
            self.declare_tools()
        while not is_over:
            try:
                if first is not None:
                    begun, first, self._is_answering = first, None, True
                    self._run_reporting_errors(begun)
                is_over = self._take_turn()
            except KeyboardInterrupt:
                is_over = self._handle_interrupt()

    def _take_turn(self) -> bool:
        """Read one input and handle it. Return whether the chat is over."""
        self._is_answering = False
        said = self._read_input()
        self.display.note_input()
        self._was_interrupted, self._stopped = False, -_IMPATIENT_SECONDS
        if said is None:
            return True
        self._is_answering = True
        try:
            self._run_reporting_errors(lambda: self._handle_input(said))
        except QuitChat:
            return True
        return False

    def _read_input(self) -> str | None:
        """Return the next message: one that was typed while the model worked, or the next input."""
        following, self._next = self._next, ""
        if (queued := following or self.typed.take_next()) is not None:
            self.display.print_note(f"{self._format_prompt()}{queued}", "")
            return queued
        draft, self._draft = self._draft or self.typed.take_draft(), ""
        if self.typed.is_closed:
            self.display.print_note(self._format_prompt(), "")
            return None
        try:
            return self.reader.read_message(self._format_prompt(), self._format_status(), draft)
        except KeyboardInterrupt:
            self._edited = 0
            raise

    def _take_back_typed(self) -> None:
        """Put what was typed while the model worked into the next input."""
        self._draft = self.typed.take_back() or self._draft

    def _handle_interrupt(self) -> bool:
        """Handle Ctrl-C and return whether the chat is over. Of further ones meanwhile, only many end it."""
        for _ in range(_MAX_INTERRUPTS):
            try:
                return self._report_interrupt()
            except KeyboardInterrupt:
                continue
        return True

    def _report_interrupt(self) -> bool:
        # A second Ctrl-C may have kept the display and the run from ending.
        self.display.end()
        if self._is_answering and self.talk.run is not None and self.talk.run.state in ("running", "waiting"):
            self.talk.run.cancel()
            self.talk.run.wait(raises=False)
        if self._is_answering:
            if self.talk.reply is not None:
                # Ctrl-C may come before the answer is displayed.
                self.talk.reply.close()
            self._is_answering, self._stopped = False, time.monotonic()
            self._take_back_typed()
            self.display.print_note(f"stopped{self._describe_next_steps()}", "yellow")
            return False
        if time.monotonic() - self._stopped < _IMPATIENT_SECONDS:
            return False
        if self._was_interrupted:
            return True
        self._was_interrupted = True
        self.display.print_note("press Ctrl-C again to quit")
        return False

    def send(self, text: str, *, replaces: int = 0) -> None:
        """Send a message with the files it mentions, and display the answer; errors are printed.

        It replaces that message from the end, in a copy of the chat.
        """
        person, model = self.display.person, self.talk.session.model
        said = expand_mentions(text, person.confirm if person else lambda _: False, getattr(model, "target", None))
        for note in said.notes:
            self.display.print_note(note)
        # Mentions in a template are not read: the user has not seen its text.
        first = said.parts[0] if self._opening is None else Text(self._opening.render(text))

        def begin() -> Generator[Event, None, None]:
            self._opening = None
            if replaces:
                self.talk.fork()
                self.talk.undo(replaces)
            notes = [make_plan_note()] if self.is_planning else []
            self.arrange_tools(is_resumed=False)
            reply = self.talk.send((first, *said.parts[1:], *notes))
            self.files.note_message(replaced=replaces)
            yield from reply.follow()

        self._follow(begin)

    def send_opening(self) -> None:
        """Send the first message of a template that needs no input."""
        if self._opening is not None:
            self.display.print_note(self._opening.render(""), "")
        self.send("")

    def retry(self) -> None:
        """Send the last message again."""

        def begin() -> Generator[Event, None, None]:
            reply = self.talk.ask_again()
            self.files.note_message(replaced=1)
            yield from reply.follow()

        self._follow(begin)

    def resume(self) -> None:
        """Resume an unfinished answer: ask open questions again, run open calls, and let the model answer."""
        if missing := self.talk.missing_tools:
            names = ", ".join(f"`{name}`" for name in missing)
            raise NotReadyError(
                f"the open calls need {names}: enable them with /tools, then /go; or send the message again with /retry"
            )
        if self.talk.unfinished_run:
            self.typed.repeat_earlier()

        def begin() -> Generator[Event, None, None]:
            yield from self.talk.continue_answer().follow()

        self._follow(begin)

    def _follow(self, begin: Callable[[], Generator[Event, None, None]]) -> None:
        """Display the events of an answer, whose work begins with the first of them, inside the live display."""
        began = time.monotonic()
        self.display.console.print()
        try:
            self.load_model()
            with self.files.recording():
                self.display.follow(
                    self.talk,
                    self._record_usage(begin()),
                    describe_lasting=self.files.describe_lasting,
                    typing=self.typed,
                )
            run = self.talk.result().run
        except NoAnswer as error:
            run = error.run
            self._take_back_typed()
            if isinstance(error, ReturnError):
                raise
        except AntiphonError as error:
            self._take_back_typed()
            self.display.print_error(f"{error}{self._describe_next_steps()}")
            return
        self.display.console.print()
        self.display.print_summary(run, time.monotonic() - began - self.display.waited)
        self._decide_about_plan(run)
        self.display.notify("the answer is complete")

    def _record_usage(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        used: Usage | None = None
        with closing(events):
            for event in events:
                if isinstance(event.body, RequestEnded) and not event.body.failed and self._is_outermost(event):
                    used = event.body.usage
                yield event
        if used is not None:
            self.meter.record(self.talk.conversation, used)

    def _is_outermost(self, event: Event) -> bool:
        return self.talk.run is not None and event.run == self.talk.run.id

    def format_context(self) -> str:
        """Return how much of the context window is used."""
        return format_context(self.meter.measure(self.talk.conversation), get_context_size(self.talk.session.model))

    def _format_status(self) -> str:
        """Return the line below the input: the model, the context used and the cost."""
        _, cost = sum_run_usage(self.talk.usage_history)
        shown = [self.talk.session.model.name, self.format_context(), format_cost(cost)]
        shown += ["plan mode"] if self.is_planning else []
        dot = " · " if self.display.is_unicode else " - "
        return sanitize_line(dot.join(filter(None, shown)), encoding=self.display.console.encoding)

    def begin_edit(self, number: int, text: str) -> None:
        """Put a message into the next input. If it is sent, it replaces the number-th message from the end."""
        self._edited, self._draft = number, text

    def load_model(self) -> None:
        """Download and load a local model before the live display starts."""
        prepare_model(self.talk.session.model)

    def use_tools(self, chosen: ToolSelection) -> None:
        """Offer these tools to the model from now on."""
        self.talk.use_tools(chosen)
        self.declare_tools()

    @property
    def tools(self) -> ToolSelection:
        """The selected tools."""
        return self.talk.tools or ToolSelection()

    @property
    def toolbox(self) -> ToolRegistry:
        """The tools that can be selected."""
        return self.talk.toolbox

    def declare_tools(self) -> None:
        """Load the selected tools, add the chat's own, and declare all in the conversation."""
        self.talk.load_tools()
        self._are_tools_declared = True
        self._loaded = list(self.talk.session.tools)
        self.arrange_tools(is_resumed=bool(self.talk.unfinished_run))
        self.talk.declare_tools()

    def arrange_tools(self, *, is_resumed: bool) -> None:
        """Offer the selected tools, in plan mode only harmless ones, and those of the chat itself."""
        more = [make_skill_tool(self.skills)] if self._loaded and self.skills else []
        if self.tools.bundle == "all":
            # Imported here, because a chat without tools starts faster without them.
            from antiphon.tools.builtin import todo_tool

            more.append(todo_tool())
        if is_resumed:
            # A resumed answer must have the tools that it had.
            more = [replace(tool, spec=spec) for tool in more if (spec := self._first_specs.get(tool.name)) is not None]
            self.is_planning = self.is_planning or SUBMIT_PLAN in self._first_specs
        tools = [*self._loaded, *more]
        self.talk.session.tools = select_harmless_tools(tools) if self.is_planning else tools

    def set_planning(self, is_planning: bool) -> None:
        """Begin or end plan mode."""
        self.is_planning = is_planning
        self.arrange_tools(is_resumed=bool(self.talk.unfinished_run))

    def _decide_about_plan(self, run: RunRecord) -> None:
        """Ask about a plan that was submitted. If the person agrees, it is carried out next."""
        plan = next((call.args.get("plan") for call in run.tool_calls if call.tool == SUBMIT_PLAN), None)
        if not self.is_planning or plan is None or run.outcome != "done":
            return
        self.display.print_markdown(str(plan))
        person = self.display.person
        if person is None:
            self.display.print_note("/plan go carries it out")
            return
        self.display.notify("a plan waits for your decision")
        said = person.ask("Carry out this plan? [y]es, [n]o, or what to change: ").strip()
        if said.lower() in ("y", "yes"):
            self.set_planning(False)
            self._next = AGREEMENT
        elif said.lower() not in ("", "n", "no"):
            self._next = said

    def agree_to_plan(self) -> None:
        """End plan mode, and let the model carry out its plan."""
        self.set_planning(False)
        self.send(AGREEMENT)

    def _handle_input(self, said: str) -> None:
        if not self._are_tools_declared:
            self.declare_tools()
        edited, self._edited = self._edited, 0
        if edited and (said.startswith("/") or not said.strip()):
            self.display.print_note("the message was not changed")
        if said.startswith("/"):
            run_command(self, said)
        elif said.strip().lower() in _QUIT_WORDS:
            raise QuitChat
        elif said.strip():
            self.send(said, replaces=edited)

    def _run_reporting_errors(self, what: Callable[[], None]) -> None:
        try:
            what()
        except AntiphonError as error:
            self.display.print_error(error)

    def _describe_next_steps(self) -> str:
        """Return a hint for a message without a complete answer."""
        if self.talk.is_interrupted:
            return "; the partial answer is kept: /go continues it, /retry asks again, /undo removes it"
        return "; /retry asks again, /undo removes the message" if self.talk.is_unanswered else ""

    def _format_prompt(self) -> str:
        console = self.display.console
        room = max(console.width // 3, 4)
        name = sanitize_line(self.talk.session.model.name.rpartition("/")[2], encoding=console.encoding)
        name = name if len(name) <= room else name[:room]
        sign = "›" if self.display.is_unicode else ">"
        return f"{name} {sign} "
