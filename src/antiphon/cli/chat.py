"""`antiphon chat`: a conversation with a model in the terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.gc_pause import gc_paused
from antiphon.cli.chat_front.shared_options import (
    add_conversation_options,
    add_question_options,
    check_exclusive_options,
    select_tools,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.chat.chat import Chat
    from antiphon.chat.service import ChatOptions
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
@click.option("--no-instructions", is_flag=True, help="Ignore CLAUDE.md, AGENTS.md and ANTIPHON.md of the project.")
@click.option("--plan", is_flag=True, help="Begin in plan mode: only tools that change nothing until you agree.")
@click.option("--no-notify", is_flag=True, help="Do not ring the bell when the chat waits for you.")
@add_conversation_options("the last chat")
@click.argument("words", nargs=-1, metavar="")
def chat(words: tuple[str, ...], no_instructions: bool, plan: bool, no_notify: bool, **given: Any) -> None:
    """Chat with a model.

    `/help` lists the commands: switch models, choose tools, undo, save. Each answer is saved as it arrives;
    `antiphon list` finds it again. Ctrl-C stops an answer, Ctrl-D quits.
    """
    if words:
        if words == ("last",):
            raise click.UsageError("`chat` continues a session with `--resume`: `antiphon chat --resume last`")
        raise click.UsageError('`chat` takes no message: type it in the chat, or use `antiphon ask "…"`')
    check_exclusive_options(given, "the last chat")
    from antiphon.cli.chat_front.ask_request import read_request
    from antiphon.cli.chat_front.template_use import find_requested_template, open_with_template

    with ExitStack() as stack:
        with gc_paused():
            question, template, opening = read_request(given), find_requested_template(given), None
            if template is not None:
                question, opening = open_with_template(question, template, given)
            behaviour = _Behaviour(not no_instructions, plan, not no_notify)
            talk, first = _open_chat(_chat_options(question, given), stack, opening, behaviour)
        talk.run(first)
        if talk.talk.id:
            talk.display.print_note(f"saved; continue with `antiphon chat --resume {talk.talk.id}`")


def _chat_options(question: AskRequest, given: dict[str, Any]) -> ChatOptions:
    from antiphon.chat.service import ChatOptions

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
        fork=given["fork"],
        about={"yes": given["yes"], "options": dict(question.options)},
        tools=only,
        more=more,
        options=question.options,
    )


@dataclass(frozen=True, slots=True)
class _Behaviour:
    """Options of the chat itself: whether it follows the project, begins in plan mode, and notifies."""

    is_instructed: bool
    plans: bool
    notifies: bool


def _open_chat(
    wishes: ChatOptions, stack: ExitStack, opening: ChatOpening | None, behaviour: _Behaviour
) -> tuple[ChatLoop, Callable[[], None] | None]:
    """Open the chat and greet the user. Return it, with what it does before it reads a message."""
    from antiphon._base.user_dirs import user_directory
    from antiphon.chat.service import ChatService
    from antiphon.chat.skills import find_skills
    from antiphon.cli.chat_front.chat_loop import ChatLoop
    from antiphon.cli.chat_front.completion import CompletionMenu
    from antiphon.cli.chat_front.line_editor import LineEditor
    from antiphon.cli.chat_front.local_models import require_runtime
    from antiphon.cli.chat_front.notification import Notifier
    from antiphon.cli.chat_front.screen import Screen
    from antiphon.cli.chat_front.slash_commands import COMMANDS
    from antiphon.cli.configuration import current_configuration
    from antiphon.terminal import Person, make_console

    display = Screen(make_console(), None)
    project = current_configuration().project
    is_trusted = project.is_repository and project.state == "trusted"
    options = replace(wishes, is_held=True, default_tools="read" if is_trusted else "none")
    chat = stack.enter_context(ChatService(current_configuration, tell=display.print_note).open(options))
    saves = chat.store is not None and chat.store.is_saving
    history = chat.store.path.with_suffix(".history") if chat.store and saves else None
    menu = CompletionMenu({name: command.help for name, command in COMMANDS.items()})
    reader = LineEditor(menu, history)
    # Input from a file is messages only; nobody can answer questions.
    display.person = Person(reader.read_line, display.console.print, sys.stdin) if reader.is_terminal else None
    are_kept = chat.are_tools_kept
    if not (is_lazy := chat.can_load_tools_later):
        chat.load_tools()
    require_runtime(chat.session.model)
    talk = ChatLoop(chat, display, reader, opening)
    if behaviour.notifies and reader.is_terminal:
        display.notifier = Notifier(sys.stdout)
    if behaviour.is_instructed:
        talk.skills = find_skills(project, user_directory("config") / "skills")
    talk.is_planning = behaviour.plans
    if not is_lazy:
        talk.declare_tools()
    _add_project_instructions(chat, project, behaviour.is_instructed, display.print_note)
    _print_greeting(talk, _describe_tools(wishes, talk.tools, project, are_kept=are_kept))
    is_asked = bool(chat.session.pending_questions) and display.person is not None
    if chat.unfinished_run and not is_asked:
        display.print_note("the last answer was interrupted; /go resumes it and repeats no completed step")
    elif chat.conversation.open_calls and not is_asked:
        display.print_note("tool calls of the last answer did not run; /go runs them, /retry asks again")
    if opening is not None and not opening.is_whole:
        display.print_note(f"template {opening.name}: your first message is its $input")
    begins_whole = opening is not None and opening.is_whole
    return talk, talk.resume if is_asked else talk.send_opening if begins_whole else None


def _add_project_instructions(chat: Chat, project: Project, instructed: bool, note: Callable[[str], None]) -> None:
    """Add the project's instructions to a new chat; a resumed one keeps its own."""
    from antiphon.chat.project_instructions import add_instructions, find_trusted_instructions, remove_instructions
    from antiphon.conversation.compaction import estimate_tokens

    conversation = chat.conversation
    if not instructed:
        conversation.system = remove_instructions(conversation.system)
    elif chat.entry is None and (found := find_trusted_instructions(project)):
        system, model = add_instructions(conversation.system, found), chat.session.model
        room = getattr(getattr(model, "facts", None), "context", None)
        if room is not None and estimate_tokens(system) > room * _MAX_INSTRUCTION_SHARE:
            names = ", ".join(each.name for each in found)
            note(f"ignored {names}: too long for {model.name}, whose context has {room:,} tokens")
        else:
            conversation.system = system


def _describe_tools(wishes: ChatOptions, used: ToolSelection, project: Project, *, are_kept: bool) -> str:
    """Return which tools are available and why; without any, how to get them."""
    if are_kept:
        return f"tools: {used}, as before"
    if wishes.tools is not None or used.bundle == "read":
        return f"tools: {used}" + ("" if wishes.tools is not None else " (you trust this repository)")
    by_trust = "; `antiphon setup trust` allows it for every chat in this repository" if project.is_repository else ""
    return f"tools: {used}\n`--tools read` lets the model read this directory{by_trust}"


def _print_greeting(chat: ChatLoop, tools: str) -> None:
    from antiphon.chat.project_instructions import list_instruction_files

    note, conversation = chat.display.print_note, chat.talk.conversation
    note(f"model: {chat.talk.session.model.name} ({chat.talk.model_reason}); {tools}")
    for each in list_instruction_files(conversation.system):
        note(f"instructions: {each}")
    if chat.is_planning:
        note("plan mode: only tools that change nothing, until you agree to a plan")
    if chat.skills:
        note(f"skills: {', '.join(skill.name for skill in chat.skills)}")
    note("/help lists commands, @ adds a file, Ctrl-D quits")
    if (entry := chat.talk.entry) is not None:
        turns = "1 turn" if len(conversation.turns) == 1 else f"{len(conversation.turns)} turns"
        note(f"continuing {entry.id}, {turns}: {entry.title or '(no text)'}")
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
