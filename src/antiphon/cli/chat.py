"""`antiphon chat`: a conversation with a model in the terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from antiphon.cli.chat_front.shared_options import (
    add_conversation_options,
    add_question_options,
    check_exclusive_options,
    select_tools,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.chat.startup import ChatOptions, OpenChat
    from antiphon.chat.tool_selection import ToolSelection
    from antiphon.cli.chat_front.ask_request import AskRequest
    from antiphon.cli.chat_front.chat_loop import ChatLoop
    from antiphon.cli.chat_front.template_use import ChatOpening
    from antiphon.config.trust import Project
    from antiphon.conversation import UserPart


#: Longer project instructions, as a share of the context window, leave too little room.
_MAX_INSTRUCTION_SHARE = 0.5


@click.command()
@add_question_options("read in a trusted repository, else none; a continued session keeps its own")
@click.option("--no-instructions", is_flag=True, help="Ignore AGENTS.md and ANTIPHON.md of the project.")
@add_conversation_options("the last chat")
def chat(no_instructions: bool, **given: Any) -> None:
    """Chat with a model.

    `/help` lists the commands: switch models, choose tools, undo, save. Each answer is saved as it arrives;
    `antiphon list` finds it again. Ctrl-C stops an answer, Ctrl-D quits.
    """
    check_exclusive_options(given, "the last chat")
    from antiphon.cli.chat_front.ask_request import read_request
    from antiphon.cli.chat_front.template_use import find_requested_template, open_with_template

    question, template, opening = read_request(given), find_requested_template(given), None
    if template is not None:
        question, opening = open_with_template(question, template, given)
    with ExitStack() as stack:
        _run_chat(_chat_options(question, given), stack, opening, instructed=not no_instructions)


def _chat_options(question: AskRequest, given: dict[str, Any]) -> ChatOptions:
    from antiphon.chat.startup import ChatOptions

    only, more = select_tools(question.tools, question.own, question.mcp)
    return ChatOptions(
        "chat",
        question.model,
        question.system,
        given["go_on"],
        given["resume"],
        given["yes"],
        log=not given["no_save"],
        journal=not given["no_save"],
        about={"yes": given["yes"], "options": dict(question.options)},
        tools=only,
        more=more,
        options=question.options,
    )


def _run_chat(wishes: ChatOptions, stack: ExitStack, opening: ChatOpening | None, *, instructed: bool) -> None:
    from antiphon.chat.startup import choose_chat_tools, open_chat
    from antiphon.chat.tool_selection import ToolRegistry
    from antiphon.cli.chat_front.chat_loop import ChatLoop
    from antiphon.cli.chat_front.completion import list_completions
    from antiphon.cli.chat_front.line_editor import LineEditor
    from antiphon.cli.chat_front.local_models import require_runtime
    from antiphon.cli.chat_front.screen import Screen
    from antiphon.cli.chat_front.slash_commands import COMMANDS
    from antiphon.cli.configuration import current_configuration
    from antiphon.terminal import Person, make_console

    display = Screen(make_console(), None)
    opened = open_chat(wishes, current_configuration(), stack, display.print_note)
    saves = opened.store is not None and opened.store.is_saving
    history = opened.store.path.with_suffix(".history") if opened.store and saves else None
    reader = LineEditor(lambda line: list_completions(line, [*COMMANDS]), history)
    # Input from a file is messages only; nobody can answer questions.
    display.person = Person(reader.read_line, display.console.print, sys.stdin) if reader.is_terminal else None
    project = current_configuration().project
    is_trusted = project.is_repository and project.state == "trusted"
    toolbox = ToolRegistry(current_configuration(), stack, display.print_note)
    used = choose_chat_tools(wishes, opened, toolbox, "read" if is_trusted else "none")
    require_runtime(opened.chat.session.model)
    talk = ChatLoop(opened.chat, display, reader, toolbox, wishes.about, opening)
    talk.use_tools(used)
    _add_project_instructions(opened, project, instructed, display.print_note)
    _print_greeting(talk, opened, _describe_tools(wishes, opened, used, project))
    is_asked = bool(opened.chat.session.pending_questions) and display.person is not None
    if opened.chat.unfinished_run and not is_asked:
        display.print_note(_describe_unfinished(opened))
    elif opened.chat.conversation.open_calls and not is_asked:
        display.print_note("tool calls of the last answer did not run; /go runs them, /retry asks again")
    if opening is not None and not opening.is_whole:
        display.print_note(f"template {opening.name}: your first message is its $input")
    talk.run(talk.resume if is_asked else talk.send_opening if opening is not None and opening.is_whole else None)
    if opened.chat.id:
        display.print_note(f"saved; continue with `antiphon chat --resume {opened.chat.id}`")


def _describe_unfinished(opened: OpenChat) -> str:
    """Return a message about an unfinished answer: which process runs it, or how to resume it."""
    from antiphon.cli.telling import iter_next_steps

    journal, id = opened.journal, opened.chat.unfinished_run
    if journal is not None and journal.find(id).state == "running":
        return f"the last answer is still running: {next(iter_next_steps(journal, id))}"
    return "the last answer was interrupted; /go resumes it and repeats no completed step"


def _add_project_instructions(
    opened: OpenChat, project: Project, instructed: bool, note: Callable[[str], None]
) -> None:
    """Add the project's instructions to a new chat; a resumed one keeps its own."""
    from antiphon.chat.project_instructions import add_instructions, find_trusted_instructions, remove_instructions
    from antiphon.conversation.compaction import estimate_tokens

    conversation = opened.chat.conversation
    if not instructed:
        conversation.system = remove_instructions(conversation.system)
    elif opened.entry is None and (found := find_trusted_instructions(project)):
        system, model = add_instructions(conversation.system, found), opened.chat.session.model
        room = getattr(getattr(model, "facts", None), "context", None)
        if room is not None and estimate_tokens(system) > room * _MAX_INSTRUCTION_SHARE:
            names = ", ".join(each.name for each in found)
            note(f"ignored {names}: too long for {model.name}, whose context has {room:,} tokens")
        else:
            conversation.system = system


def _describe_tools(wishes: ChatOptions, opened: OpenChat, used: ToolSelection, project: Project) -> str:
    """Return which tools are available and why; without any, how to get them."""
    if wishes.tools is None and opened.entry is not None:
        return f"tools: {used}, as before"
    if wishes.tools is not None or used.bundle == "read":
        return f"tools: {used}" + ("" if wishes.tools is not None else " (you trust this repository)")
    by_trust = "; `antiphon setup trust` allows it for every chat in this repository" if project.is_repository else ""
    return f"tools: {used}\n`--tools read` lets the model read this directory{by_trust}"


def _print_greeting(chat: ChatLoop, opened: OpenChat, tools: str) -> None:
    from antiphon.chat.project_instructions import list_instruction_files

    note, conversation = chat.display.print_note, chat.talk.conversation
    note(f"model: {chat.talk.session.model.name} ({opened.model_reason}); {tools}")
    for each in list_instruction_files(conversation.system):
        note(f"instructions: {each}")
    note("/help lists commands, @ adds a file, Ctrl-D quits")
    if opened.entry is not None:
        turns = "1 turn" if len(conversation.turns) == 1 else f"{len(conversation.turns)} turns"
        note(f"continuing {opened.entry.id}, {turns}: {opened.entry.title or '(no text)'}")
        _print_last_exchange(chat)


def _print_last_exchange(chat: ChatLoop) -> None:
    """Print the last user message of a resumed chat and the reply to it."""
    from antiphon.conversation import Conversation, UserTurn
    from antiphon.terminal.transcript import TranscriptPrinter

    turns = chat.talk.conversation.turns
    last = max(
        (place for place, turn in enumerate(turns) if isinstance(turn, UserTurn) and turn.visible_parts),
        default=len(turns),
    )
    tail = Conversation()
    for turn in turns[last:]:
        if isinstance(turn, UserTurn):
            tail.add_user([_fold_attachment(part) for part in turn.parts])
        else:
            tail.add_reply(turn.parts)
            tail.add_tool_results(turn.results)
    TranscriptPrinter(chat.display.console).conversation(tail)
    chat.display.console.print()


def _fold_attachment(part: UserPart) -> UserPart:
    """Return an attached file as its name only."""
    from antiphon.chat.mentions import extract_headline
    from antiphon.conversation import Text

    return Text(head) if isinstance(part, Text) and (head := extract_headline(part.text)) else part
