"""`antiphon chat`: a conversation with a model in the terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from antiphon.cli.completing import CONVERSATION, MODEL

if TYPE_CHECKING:
    from antiphon.cli.talk.chatting import Chatting
    from antiphon.talks.opening import Opened, Wishes


@click.command()
@click.option("-m", "--model", type=MODEL, help="The model, such as anthropic/claude-sonnet-5 or local/0.5b.")
@click.option(
    "--tools",
    type=click.Choice(["none", "read", "all"]),
    default="none",
    show_default=True,
    help="What the model may use: to read this directory, or also to write, to run commands, and MCP servers.",
)
@click.option("-s", "--system", metavar="TEXT", help="What the model is told before everything else.")
@click.option("-c", "--continue", "go_on", is_flag=True, help="Go on with the last chat.")
@click.option(
    "--resume",
    metavar="ID",
    type=CONVERSATION,
    help="Go on with this conversation; `antiphon logs` lists them.",
)
@click.option("-y", "--yes", is_flag=True, help="Allow every tool call without asking.")
@click.option("--no-log", is_flag=True, help="Save nothing.")
@click.option("--no-journal", is_flag=True, help="Do not write down what is done for an answer while it comes.")
def chat(
    model: str | None,
    tools: str,
    system: str | None,
    go_on: bool,
    resume: str | None,
    yes: bool,
    no_log: bool,
    no_journal: bool,
) -> None:
    """Talk with a model.

    `/help` lists what else can be said: another model in mid-conversation, tools, taking back, saving. Each answer is
    saved as it comes; `antiphon logs` finds it again. Ctrl-C stops an answer, Ctrl-D leaves.
    """
    if go_on and resume is not None:
        raise click.UsageError("`--continue` is the last chat, `--resume` another; give one of them")
    from antiphon.talks.opening import Wishes

    about = {"tools": tools, "yes": yes}
    wishes = Wishes("chat", model, system, go_on, resume, yes, not no_log, journal=not no_journal, about=about)
    with ExitStack() as stack:
        _begin(wishes, about, stack)


def _begin(wishes: Wishes, about: dict[str, Any], stack: ExitStack) -> None:
    from antiphon.cli.configured import configuration
    from antiphon.cli.talk.chatting import Chatting
    from antiphon.cli.talk.commands import COMMANDS
    from antiphon.cli.talk.reader import Reader
    from antiphon.cli.talk.screen import Screen
    from antiphon.render import Person, console
    from antiphon.talks.opening import open_talk, suit_tools
    from antiphon.talks.toolbox import Toolbox

    display = Screen(console(), None)
    opened = open_talk(wishes, configuration(), stack, display.note)
    saves = opened.store is not None and opened.store.saves
    history = opened.store.path.with_suffix(".history") if opened.store and saves else None
    reader = Reader([*COMMANDS], history)
    # Lines that come from a file are messages; nobody is there who could be asked.
    display.person = Person(reader.line, display.console.print, sys.stdin) if reader.is_terminal else None
    toolbox = Toolbox(configuration(), stack, display.note)
    talk = Chatting(opened.talk, display, reader, toolbox, about)
    talk.use_tools(about["tools"])
    suit_tools(opened)
    _greet(talk, opened)
    is_asked = bool(opened.talk.session.waiting) and display.person is not None
    if opened.talk.unfinished and not is_asked:
        display.note("the last answer was interrupted; /go goes on with it, and does nothing twice")
    elif opened.talk.conversation.open_calls and not is_asked:
        display.note("calls of the last answer were not run; /go runs them, /retry asks again")
    talk.run("/go" if is_asked else None)
    if opened.talk.id:
        display.note(f"saved; `antiphon chat --resume {opened.talk.id}` goes on")


def _greet(chat: Chatting, opened: Opened) -> None:
    note, conversation = chat.display.note, chat.talk.conversation
    note(f"model: {chat.talk.session.model.name} ({opened.why})")
    note("/help lists commands, Ctrl-D leaves")
    if opened.entry is not None:
        turns = "1 turn" if len(conversation.turns) == 1 else f"{len(conversation.turns)} turns"
        note(f"going on with {opened.entry.id}, {turns}: {opened.entry.title or '(no text)'}")
        _recall(chat)


def _recall(chat: Chatting) -> None:
    """Show where the conversation stood: the last message and what came of it."""
    from antiphon.conversation import Conversation, UserTurn
    from antiphon.render.show import Show

    turns = chat.talk.conversation.turns
    last = max((place for place, turn in enumerate(turns) if isinstance(turn, UserTurn)), default=len(turns))
    tail = Conversation()
    for turn in turns[last:]:
        if isinstance(turn, UserTurn):
            tail.add_user(turn.parts)
        else:
            tail.add_reply(turn.parts)
            tail.add_tool_results(turn.results)
    Show(chat.display.console).conversation(tail)
    chat.display.console.print()
