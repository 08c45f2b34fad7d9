"""Send the prompt of `antiphon ask`, display the events, and print the answer in the requested form."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.chat_front.failure_report import NO_ANSWER, describe_answer_location, report_failure
from antiphon.cli.chat_front.local_models import prepare_model
from antiphon.cli.configuration import current_configuration
from antiphon.cli.output import (
    AnswerWriter,
    is_terminal,
    print_json,
    print_message,
    print_text,
    print_without_newline,
)
from antiphon.cli.style import style_faint
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.chat.attachments import Attachment
    from antiphon.chat.chat import Chat
    from antiphon.chat.service import ChatOptions
    from antiphon.conversation import UserPart
    from antiphon.durable import RunEntry
    from antiphon.session import AIResult, Event
    from antiphon.terminal import Person


@dataclass(frozen=True, slots=True)
class AskOutput:
    """A prompt, and the form in which its answer is printed."""

    text: str = ""
    attachments: Sequence[Attachment] = ()
    #: The type of the answer.
    returns: Any = None
    as_json: bool = False
    stream: bool | None = None
    extract: bool = False
    usage: bool = False
    #: The id of a run that is resumed; then there is no prompt.
    run: str = ""

    @property
    def is_text(self) -> bool:
        """Return whether the answer is printed as text."""
        return self.returns is None and not self.as_json and not self.extract

    @property
    def is_streamed(self) -> bool:
        """Return whether the answer is printed while it arrives."""
        return self.is_text and (is_terminal(sys.stdout) if self.stream is None else self.stream)


def run_ask(wishes: ChatOptions, wanted: AskOutput) -> int:
    """Send the prompt, print the answer, and return the exit code."""
    from antiphon.chat.service import ChatService

    with ExitStack() as stack:
        talk = stack.enter_context(ChatService(current_configuration, tell=print_message).open(wishes))
        person = _find_approver(stack)
        # Reject unsupported attachments before a model is loaded.
        message = [] if wanted.run else _build_message(talk, wanted)
        talk.load_tools()
        if is_terminal(sys.stderr):
            told = f"model: {talk.session.model.name} ({talk.model_reason})" + (
                f"; tools: {talk.tools}, as before" if talk.tools and talk.are_tools_kept else ""
            )
            click.echo(style_faint(escape_unprintable(told)) + "\n", err=True)
        return _print_answer(talk, wanted, message, person)


def resume_ask(entry: RunEntry, as_json: bool, place: str | None = None) -> int:
    """Resume an interrupted `ask` and return the exit code. `place` is the journal, unless it is the user's own."""
    from antiphon._base.json_access import as_object
    from antiphon.chat.service import ChatOptions
    from antiphon.chat.tool_selection import ToolSelection
    from antiphon.cli.chat_front.ask_request import resolve_answer_type

    about = entry.begun_as
    returns = resolve_answer_type(about.get("returns"), about.get("schema"))
    wishes = ChatOptions(
        entry.kind,
        about.get("model"),
        id=entry.id,
        allow_all=bool(about.get("yes")),
        journal=True,
        about={name: about.get(name) for name in ("returns", "schema", "options", "extract", "yes")},
        location=place,
        tools=ToolSelection.from_json(about),
        options=as_object(about.get("options")),
    )
    return run_ask(
        wishes, AskOutput(returns=returns, as_json=as_json, extract=bool(about.get("extract")), run=entry.id)
    )


def _print_answer(talk: Chat, wanted: AskOutput, message: list[UserPart], person: Person | None) -> int:
    from antiphon.session import NeedsHuman

    before = talk.conversation.fork()
    try:
        prepare_model(talk.session.model)
        result = _follow_events(talk, wanted, message, person)
    except BaseException as error:
        # Remove the prompt from a continued conversation, unless it waits for a person. A new one keeps it.
        if before.turns and not isinstance(error, NeedsHuman):
            talk.restore(before)
        if not isinstance(error, AntiphonError):
            raise
        saved = "" if before.turns else talk.id
        return report_failure(error, talk, as_json=wanted.as_json, is_seen=wanted.is_streamed, saved=saved)
    finally:
        if wanted.usage:
            _print_usage(talk)
    if wanted.as_json:
        from antiphon.views.stream import final_json

        print_json({**final_json(result), "id": talk.id or None})
    elif result.value is not None and wanted.returns is not None:
        from antiphon.results import to_plain_json

        print_json(to_plain_json(result.value))
    return _print_first_code(result, talk) if wanted.extract else 0


def _follow_events(talk: Chat, wanted: AskOutput, message: list[UserPart], person: Person | None) -> AIResult:
    """Run to the end and return the result. Display events in a terminal, and print text but no values."""
    from antiphon.cli.chat_front.screen import Screen
    from antiphon.terminal import make_console

    reply = talk.resume_run(wanted.run, wanted.returns) if wanted.run else talk.send(message, wanted.returns)
    events = reply.follow()
    if wanted.is_streamed and is_terminal(sys.stdout):
        Screen(make_console(), person).follow(talk, events)
        return talk.result()
    write = AnswerWriter() if wanted.is_streamed else None
    if write is not None:
        events = write.write_through(events)
    display = Screen(make_console(sys.stderr), person) if is_terminal(sys.stderr) else None
    try:
        if display:
            display.follow(talk, events, with_text=False)
        else:
            _drain(events)
        result = talk.result()
    finally:
        if write is not None:
            write.end()
    if write is None and wanted.is_text and result.value is not None:
        print_text(str(result.value))
    return result


def _drain(events: Generator[Event, None, None]) -> None:
    with closing(events):
        for _ in events:
            pass


def _print_first_code(result: AIResult, talk: Chat) -> int:
    """Print the first code block and return the exit code. Without one, say where the answer is."""
    from antiphon.views.markdown_tokens import extract_first_code

    said = str(result.value)
    code = extract_first_code(said)
    if code is not None:
        print_without_newline(code)
        return 0
    print_message(f"the answer has no code block; {describe_answer_location(said, talk.id)}")
    return NO_ANSWER


def _print_usage(talk: Chat) -> None:
    from antiphon.terminal.state_lines import format_usage, sum_run_usage

    used = format_usage(*sum_run_usage(talk.usage_history))
    print_message(f"{talk.session.model.name}: {', '.join(used) or 'usage is unknown'}")


def _build_message(talk: Chat, wanted: AskOutput) -> list[UserPart]:
    """Return the parts of the message: attachments in the form of the model's API, and the text."""
    from antiphon.chat.attachments import make_attachment_part
    from antiphon.conversation import Text

    target = getattr(talk.session.model, "target", None)
    found = [make_attachment_part(each, target) for each in wanted.attachments]
    return [*(each for each in found if each is not None), Text(wanted.text)]


def _find_approver(stack: ExitStack) -> Person | None:
    """Return the user at the terminal, if there is one; `/dev/tty` is read if standard input is redirected."""
    if not is_terminal(sys.stderr):
        return None
    from antiphon.cli.chat_front.line_editor import LineEditor
    from antiphon.terminal import Person

    source = sys.stdin
    if not is_terminal(source):
        try:
            source = stack.enter_context(open("/dev/tty", encoding="utf-8", errors="replace"))  # noqa: SIM115
        except OSError:
            return None

    return Person(LineEditor(keyboard=source).read_line, keyboard=source)
