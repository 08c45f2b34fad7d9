"""The slash commands of a chat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from antiphon._base.did_you_mean import suggest_name
from antiphon.chat.context_meter import get_context_size, measure_parts
from antiphon.chat.project_instructions import list_instruction_files, remove_instructions, replace_own_text
from antiphon.chat.tool_selection import BUNDLE_NAMES
from antiphon.cli.chat_front import conversation_commands as commands
from antiphon.cli.chat_front.conversation_commands import parse_number
from antiphon.errors import OptionError
from antiphon.terminal.sanitizer import is_unicode_encoding
from antiphon.terminal.state_lines import truncate_cells

if TYPE_CHECKING:
    from antiphon.cli.chat_front.chat_loop import ChatLoop
    from antiphon.tools import Tool


class QuitChat(Exception):
    """Raised to end the chat."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command of a chat: its syntax, its help text, and its function."""

    usage: str
    help: str
    run: Callable[[ChatLoop, str], None]


def run_command(chat: ChatLoop, line: str) -> None:
    """Run the command in a line that begins with a slash."""
    name, _, argument = line.strip().partition(" ")
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        meant = suggest_name(name, COMMANDS)
        hint = f"did you mean `{meant}`?" if meant else "`/help` lists them; begin with a space to send it as a message"
        raise OptionError(f"there is no command `{name}`; {hint}")
    command.run(chat, argument.strip())


def _switch_model(chat: ChatLoop, name: str) -> None:
    session = chat.talk.session
    if not name:
        chat.display.print_note(f"model: {session.model.name}", "")
        from antiphon.chat.available_models import list_usable_models
        from antiphon.cli.configuration import current_configuration

        for each, where in list_usable_models(current_configuration()):
            chat.display.print_note(f"  {each}  ({where})")
        return
    before = session.model
    session.model = name
    try:
        chat.load_model()
    except BaseException:
        session.model = before
        raise
    chat.display.print_note(f"model: {session.model.name}")


def _choose_tools(chat: ChatLoop, argument: str) -> None:
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
    """Print all tools, with a mark before those in use."""
    from antiphon.tools.builtin import all_tools

    there = {tool.name: tool for tool in chat.talk.session.tools}
    chat.display.print_note(f"tools: {chat.tools}", "")
    for source, tools in [("", all_tools()), *chat.toolbox.list_sources()]:
        if source:
            chat.display.print_note(f"  {source}", "")
        for tool in tools:
            _list_tool(chat, tool, there.get(tool.name) is not None)
    waiting = [name for name in chat.toolbox.configured_servers if name not in dict(chat.toolbox.list_sources())]
    if waiting:
        chat.display.print_note(f"servers not started: {', '.join(waiting)}")
    chat.display.print_note("/tools on NAME, /tools off NAME (or a pattern such as git_*), /tools none, read, all")


def _list_tool(chat: ChatLoop, tool: Tool, is_used: bool) -> None:
    from antiphon.terminal.state_lines import STATE_MARKS, first_safe_line

    encoding = chat.display.console.encoding
    sign, plain, _ = STATE_MARKS["done"]
    mark = (sign if is_unicode_encoding(encoding) else plain) if is_used else " "
    about = first_safe_line(tool.spec.description, encoding)
    room = max(chat.display.console.width - 24, 20)
    chat.display.print_note(
        f"  {mark} {tool.name:<18}  {truncate_cells(about, room)}".rstrip(), "" if is_used else "dim"
    )


def _set_plan_mode(chat: ChatLoop, argument: str) -> None:
    if argument == "go" and chat.is_planning:
        chat.agree_to_plan()
        return
    if argument not in ("", "off"):
        raise OptionError("`/plan` begins plan mode, `/plan go` agrees to the plan, and `/plan off` ends plan mode")
    chat.set_planning(argument != "off")
    done = "plan mode: only tools that change nothing, until you agree to a plan"
    chat.display.print_note(done if chat.is_planning else "plan mode is off")


def _review_policy(chat: ChatLoop, argument: str) -> None:
    policy = chat.talk.session.policy
    if argument:
        number = parse_number(argument, 1)
        if number > len(policy.decided):
            raise OptionError(f"there is no standing decision {number}; there are {len(policy.decided)}")
        decided = policy.decided[number - 1]
        policy.revoke_standing_decision(decided)
        chat.display.print_note(f"you will be asked again about {decided}")
        return
    for number, each in enumerate(policy.decided, 1):
        chat.display.print_note(f"{number}. always {'allowed' if each.allowed else 'denied'}: {each}", "")
    if not policy.decided:
        chat.display.print_note("there are no standing decisions")


def _show_result(chat: ChatLoop, argument: str) -> None:
    from antiphon.terminal.state_lines import format_tool_call
    from antiphon.terminal.transcript import TranscriptPrinter, iter_calls_with_results

    found = list(iter_calls_with_results(chat.talk.conversation))
    if not found:
        raise OptionError("no tool has been called yet")
    number = parse_number(argument, len(found))
    if number > len(found):
        raise OptionError(f"there {'is 1 result' if len(found) == 1 else f'are {len(found)} results'}, not {number}")
    call, results = found[number - 1]
    page = TranscriptPrinter(chat.display.console, full=True)
    page.title(f"{number} of {len(found)}: {format_tool_call(call)}")
    page.results(results)


def _show_context(chat: ChatLoop, _: str) -> None:
    conversation, size = chat.talk.conversation, get_context_size(chat.talk.session.model)
    used, parts = chat.meter.measure(conversation), measure_parts(conversation)
    # The provider counts all of it; the parts are estimates.
    ratio = used / max(sum(tokens for _, tokens in parts), 1) if chat.meter.is_counted else 1.0
    chat.display.print_note(f"{chat.format_context()}: {used:,} tokens", "")
    rows = [(name, round(tokens * ratio)) for name, tokens in parts if tokens]
    chat.display.print_pairs([(f"  {name}", f"about {tokens:,}") for name, tokens in rows])
    if size is not None:
        chat.display.print_pairs([("  free", f"{max(size - used, 0):,}")])
    chat.display.print_note("/compact summarizes the older turns, /new begins an empty conversation")


def _show_usage(chat: ChatLoop, _: str) -> None:
    from antiphon.terminal.state_lines import format_usage, sum_run_usage

    used = chat.talk.usage_history
    told = " · ".join(format_usage(*sum_run_usage(used))) or "usage is unknown"
    answers = "1 answer" if len(used) == 1 else f"{len(used)} answers"
    chat.display.print_note(f"since the start: {answers}, {told}" if used else "no request was sent since the start")


def _set_system(chat: ChatLoop, argument: str) -> None:
    conversation = chat.talk.conversation
    if argument:
        conversation.system = replace_own_text(conversation.system, "" if argument == '""' else argument)
    chat.display.print_note(f"system: {remove_instructions(conversation.system) or '(none)'}")
    for each in list_instruction_files(conversation.system):
        chat.display.print_note(f"instructions: {each}")


def _show_help(chat: ChatLoop, _: str) -> None:
    chat.display.print_pairs([(command.usage, command.help) for command in COMMANDS.values()])
    chat.display.print_note("@notes.md adds a file, @src/ a listing, @long.txt:9-20 some lines.")
    chat.display.print_note('Alt-Enter adds a line, as does \\ at its end; or write between """ and """.')
    chat.display.print_note("Ctrl-C stops an answer. Ctrl-D, or Ctrl-C twice at the prompt, leaves.")


def _quit_chat(_: ChatLoop, __: str) -> None:
    raise QuitChat


COMMANDS = {
    command.usage.split()[0]: command
    for command in (
        SlashCommand("/new", "begin an empty conversation; this one stays saved", commands.start_new_chat),
        SlashCommand("/clear", "clear the screen and begin an empty conversation", commands.clear_chat),
        SlashCommand("/rename NAME", "name this chat; `antiphon show NAME` finds it", commands.rename_chat),
        SlashCommand("/compact [FOCUS]", "let the model summarize the older turns", commands.compact_conversation),
        SlashCommand("/edit [N]", "change the last message, or the N-th last, and send it", commands.edit_message),
        SlashCommand(
            "/undo [N]", "take back the last message, or the last N, with its files", commands.remove_messages
        ),
        SlashCommand("/retry", "send the last message again", commands.retry_message),
        SlashCommand("/go", "resume an unfinished answer or its open calls", commands.resume_answer),
        SlashCommand("/copy [code]", "copy the last answer, or its last code block", commands.copy_answer),
        SlashCommand("/show [N]", "show the last result of a tool, or the N-th", _show_result),
        SlashCommand("/fork", "continue in a copy; the saved chat is unchanged", commands.fork_chat),
        SlashCommand("/save FILE", "write the conversation to a file", commands.save_chat),
        SlashCommand("/model [NAME]", "show the model and others, or switch to another", _switch_model),
        SlashCommand(
            "/tools [on|off NAME]", "show the tools, enable or disable some; or none, read, all", _choose_tools
        ),
        SlashCommand("/plan [go|off]", "only read until you agree to a plan; go agrees", _set_plan_mode),
        SlashCommand("/policy [N]", "show standing decisions, or revoke the N-th", _review_policy),
        SlashCommand("/system [TEXT]", 'show the system text, or set it; "" for none', _set_system),
        SlashCommand("/context", "show what fills the context window", _show_context),
        SlashCommand("/cost", "show usage since the start", _show_usage),
        SlashCommand("/help", "show this list", _show_help),
        SlashCommand("/exit", "leave; exit, quit and Ctrl-D do too", _quit_chat),
    )
}
#: Other names of commands, which are not listed.
_ALIASES = {"/quit": "/exit"}
