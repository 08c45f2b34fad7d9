"""The commands of a chat: what may be said to the program instead of to the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon._base.did_you_mean import suggest_name
from antiphon.chat.project_instructions import list_instruction_files, remove_instructions, replace_own_text
from antiphon.chat.tool_selection import BUNDLE_NAMES
from antiphon.errors import OptionError
from antiphon.terminal.sanitizer import is_unicode_encoding
from antiphon.terminal.state_lines import truncate_cells

if TYPE_CHECKING:
    from antiphon.cli.chat_front.chat_loop import ChatLoop
    from antiphon.tools import Tool


class QuitChat(Exception):
    """The chat is over."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something a chat can be told: how it is written, what it does, and the function that does it."""

    usage: str
    help: str
    run: Callable[[ChatLoop, str], None]


def run_command(chat: ChatLoop, line: str) -> None:
    """Do what a line that begins with a slash says."""
    name, _, argument = line.strip().partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        meant = suggest_name(name, COMMANDS)
        hint = (
            f"did you mean `{meant}`?" if meant else "`/help` lists them; a blank before the slash makes it a message"
        )
        raise OptionError(f"there is no command `{name}`; {hint}")
    command.run(chat, argument.strip())


def _model(chat: ChatLoop, name: str) -> None:
    session = chat.talk.session
    if not name:
        chat.display.note(f"model: {session.model.name}", "")
        from antiphon.chat.available_models import list_usable_models
        from antiphon.cli.configuration import current_configuration

        for each, where in list_usable_models(current_configuration()):
            chat.display.note(f"  {each}  ({where})")
        return
    before = session.model
    session.model = name
    try:
        chat.load()
    except BaseException:
        session.model = before
        raise
    chat.display.note(f"model: {session.model.name}")


def _tools(chat: ChatLoop, argument: str) -> None:
    first, *names = argument.split() or [""]
    if first in BUNDLE_NAMES and not names:
        chat.use_tools(replace(chat.tools, bundle=first, on=(), off=()))
    elif first in ("on", "off") and names:
        found = [name for pattern in names for name in chat.toolbox.find_tools(pattern)]
        chat.use_tools(chat.tools.switch(found, first == "on"))
    elif first:
        raise OptionError(f"`/tools` takes {', '.join(BUNDLE_NAMES)}, or `on NAME` and `off NAME`, not {argument!r}")
    _list_tools(chat)


def _list_tools(chat: ChatLoop) -> None:
    """Every tool there is, with a mark before those in use."""
    from antiphon.tools.builtin import all_tools

    there = {tool.name: tool for tool in chat.talk.session.tools}
    chat.display.note(f"tools: {chat.tools}", "")
    for source, tools in [("", all_tools()), *chat.toolbox.list_sources()]:
        if source:
            chat.display.note(f"  {source}", "")
        for tool in tools:
            _list_tool(chat, tool, there.get(tool.name) is not None)
    waiting = [name for name in chat.toolbox.configured_servers if name not in dict(chat.toolbox.list_sources())]
    if waiting:
        chat.display.note(f"servers that are not started: {', '.join(waiting)}")
    chat.display.note("/tools on NAME, /tools off NAME (a pattern such as git_* too), /tools none, read, all")


def _list_tool(chat: ChatLoop, tool: Tool, is_used: bool) -> None:
    from antiphon.terminal.state_lines import STATE_MARKS, first_safe_line

    encoding = chat.display.console.encoding
    sign, plain, _ = STATE_MARKS["done"]
    mark = (sign if is_unicode_encoding(encoding) else plain) if is_used else " "
    about = first_safe_line(tool.spec.description, encoding)
    room = max(chat.display.console.width - 24, 20)
    chat.display.note(f"  {mark} {tool.name:<18}  {truncate_cells(about, room)}".rstrip(), "" if is_used else "dim")


def _undo(chat: ChatLoop, argument: str) -> None:
    taken = chat.talk.undo(_number(argument, 1))
    if not taken:
        raise OptionError("there is nothing to take back")
    first = taken[-1].strip().partition("\n")[0]
    shown = first if len(first) <= 60 else f"{first[:59]}…"
    what = "1 message" if len(taken) == 1 else f"{len(taken)} messages"
    chat.display.note(f"took back {what}, from: {shown}")


def _retry(chat: ChatLoop, _: str) -> None:
    chat.ask_again()


def _go(chat: ChatLoop, _: str) -> None:
    chat.go_on()


def _policy(chat: ChatLoop, argument: str) -> None:
    policy = chat.talk.session.policy
    if argument:
        number = _number(argument, 1)
        if number > len(policy.decided):
            raise OptionError(f"{len(policy.decided)} were decided once for all, not {number}")
        decided = policy.decided[number - 1]
        policy.revoke_standing_decision(decided)
        chat.display.note(f"you are asked again about {decided}")
        return
    for number, each in enumerate(policy.decided, 1):
        chat.display.note(f"{number}. always {'allowed' if each.allowed else 'denied'}: {each}", "")
    if not policy.decided:
        chat.display.note("nothing is decided once for all")


def _fork(chat: ChatLoop, _: str) -> None:
    old = chat.talk.fork()
    if not old:
        raise OptionError("nothing of this chat is saved, so there is nothing to fork")
    chat.display.note(f"this is {chat.talk.id} now; {old} stays as it is")


def _save(chat: ChatLoop, argument: str) -> None:
    if not argument:
        raise OptionError("`/save` needs the name of a file")
    path = Path(argument).expanduser()
    if path.exists() and not (chat.display.person and chat.display.person.confirm(f"Overwrite {path}?")):
        raise OptionError(f"{path} exists and is left as it is")
    try:
        chat.talk.conversation.save(path)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror or error}") from None
    chat.display.note(f"saved to {path}; `antiphon show` shows it")


def _show(chat: ChatLoop, argument: str) -> None:
    from antiphon.terminal.state_lines import format_tool_call
    from antiphon.terminal.transcript import TranscriptPrinter, iter_calls_with_results

    found = list(iter_calls_with_results(chat.talk.conversation))
    if not found:
        raise OptionError("no tool has been called yet")
    number = _number(argument, len(found))
    if number > len(found):
        raise OptionError(f"there {'is 1 result' if len(found) == 1 else f'are {len(found)} results'}, not {number}")
    call, results = found[number - 1]
    page = TranscriptPrinter(chat.display.console, full=True)
    page.title(f"{number} of {len(found)}: {format_tool_call(call)}")
    page.results(results)


def _cost(chat: ChatLoop, _: str) -> None:
    from antiphon.terminal.state_lines import format_usage
    from antiphon.terminal.status_line import sum_run_usage

    used = chat.talk.usage_history
    told = " · ".join(format_usage(*sum_run_usage(used))) or "nothing is known of what it used"
    answers = "1 answer" if len(used) == 1 else f"{len(used)} answers"
    chat.display.note(f"since the start: {answers}, {told}" if used else "nothing was used since the start")


def _system(chat: ChatLoop, argument: str) -> None:
    conversation = chat.talk.conversation
    if argument:
        conversation.system = replace_own_text(conversation.system, "" if argument == '""' else argument)
    chat.display.note(f"system: {remove_instructions(conversation.system) or '(none)'}")
    for each in list_instruction_files(conversation.system):
        chat.display.note(f"with {each}")


def _help(chat: ChatLoop, _: str) -> None:
    chat.display.pairs([(command.usage, command.help) for command in COMMANDS.values()])
    chat.display.note("@notes.md, @src/, @long.txt:9-20: a file, a listing, some lines go along.")
    chat.display.note('Several lines: end each with \\, or put them between """ and """.')
    chat.display.note("Ctrl-C stops an answer; twice at the prompt, or Ctrl-D, leaves.")


def _quit(_: ChatLoop, __: str) -> None:
    raise QuitChat


def _number(argument: str, otherwise: int) -> int:
    if not argument:
        return otherwise
    if not argument.isascii() or not argument.isdigit() or len(argument) > 9 or int(argument) < 1:
        raise OptionError(f"a number from 1 is wanted, not {argument!r}")
    return int(argument)


COMMANDS = {
    command.usage.split()[0]: command
    for command in (
        Command("/model [NAME]", "show the model and others, or go on with another", _model),
        Command("/tools [on|off NAME]", "show the tools, turn some on or off; or none, read, all", _tools),
        Command("/undo [N]", "take back the last message, or the last N", _undo),
        Command("/retry", "ask the last message again", _retry),
        Command("/go", "go on with what was left open: calls, or an answer", _go),
        Command("/policy [N]", "show what is always allowed, or ask again about the N-th", _policy),
        Command("/fork", "go on in a copy; what is saved stays as it is", _fork),
        Command("/save FILE", "write the conversation to a file", _save),
        Command("/show [N]", "open the last result of a tool, or the N-th", _show),
        Command("/system [TEXT]", 'show the system text, or set it; "" for none', _system),
        Command("/cost", "what was used since the start", _cost),
        Command("/help", "this list", _help),
        Command("/quit", "leave", _quit),
    )
}
