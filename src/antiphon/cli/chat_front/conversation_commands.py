"""The slash commands that change the conversation of a chat, or take something out of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.cli.style import format_noun_count
from antiphon.conversation import Text, UserTurn
from antiphon.errors import OptionError
from antiphon.terminal.state_lines import format_tool_call

if TYPE_CHECKING:
    from antiphon.cli.chat_front.chat_loop import ChatLoop

_MAX_SHOWN_CHARACTERS = 60
#: The most files or calls named in a line.
_MAX_NAMED = 8


def start_new_chat(chat: ChatLoop, _: str) -> None:
    """Begin an empty conversation; the saved one stays."""
    old = chat.talk.start_new()
    saved = f"; the one before is saved as {old}" if old else ""
    chat.display.print_note(f"new conversation{saved}")


def clear_chat(chat: ChatLoop, argument: str) -> None:
    """Clear the screen and begin an empty conversation."""
    chat.display.console.clear()
    start_new_chat(chat, argument)


def rename_chat(chat: ChatLoop, name: str) -> None:
    """Give the chat a name."""
    chat.talk.rename(name)
    id = chat.talk.id
    chat.display.print_note(f"session {id} is now {chat.talk.title!r}" if name else f"session {id} has no name now")


def compact_conversation(chat: ChatLoop, focus: str) -> None:
    """Let the model summarize the older turns."""
    chat.load_model()
    before = chat.meter.measure(chat.talk.conversation)
    chat.display.print_note("summarizing the conversation …" if chat.display.is_unicode else "summarizing ...")
    done = chat.talk.compact(focus)
    saved = f"; the full conversation is saved as {done.full_id}" if done.full_id else ""
    after = chat.meter.measure(chat.talk.conversation)
    chat.display.print_note(
        f"{format_noun_count(done.turns, 'turn')} summarized; of {before:,} tokens {after:,} are left{saved}"
    )


def edit_message(chat: ChatLoop, argument: str) -> None:
    """Put a message back into the input; sending it continues from there in a copy."""
    number = parse_number(argument, 1)
    found = chat.talk.find_message(number)
    if found is None:
        raise OptionError("there is no message to edit")
    chat.begin_edit(number, _find_typed_text(found))
    chat.display.print_note("change the message and send it; the answers after it stay in the saved conversation")


def remove_messages(chat: ChatLoop, argument: str) -> None:
    """Remove the last messages with their answers, and restore the files that their calls changed."""
    undone = chat.files.undo(parse_number(argument, 1))
    if not undone.texts:
        raise OptionError("there is no message to remove")
    count = format_noun_count(len(undone.texts), "message")
    chat.display.print_note(f"removed {count}, from: {_shorten(undone.texts[-1])}")
    for what, names in (("restored", undone.files.restored), ("removed", undone.files.removed)):
        if names:
            chat.display.print_note(f"  {what}: {_list_some(names)}", "dim")
    for name, reason in undone.files.kept:
        chat.display.print_note(f"  kept {name}: {reason}", "yellow")
    if undone.lasting_calls:
        calls = [format_tool_call(each) for each in undone.lasting_calls]
        chat.display.print_note(f"  not undone: {_list_some(calls)}", "yellow")


def _list_some(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join([*names[:_MAX_NAMED], f"and {more} more"] if more > 0 else names)


def copy_answer(chat: ChatLoop, argument: str) -> None:
    """Copy the last answer, or its last code block, to the clipboard."""
    from antiphon.cli.chat_front.clipboard import copy_to_clipboard
    from antiphon.views.markdown_tokens import iter_code_blocks

    if argument not in ("", "code"):
        raise OptionError(f"`/copy` copies the last answer, `/copy code` its last code block, not {argument!r}")
    turns = reversed(chat.talk.conversation.turns)
    said = next((turn.text for turn in turns if not isinstance(turn, UserTurn) and turn.text.strip()), "")
    if not said:
        raise OptionError("there is no answer to copy")
    if argument:
        blocks = list(iter_code_blocks(said))
        if not blocks:
            raise OptionError("the last answer has no code block")
        said = blocks[-1]
    copy_to_clipboard(said)
    what = "the last code block" if argument else "the last answer"
    chat.display.print_note(f"copied {what}: {format_noun_count(said.count(chr(10)) + 1, 'line')}")


def retry_message(chat: ChatLoop, _: str) -> None:
    """Send the last message again."""
    chat.retry()


def resume_answer(chat: ChatLoop, _: str) -> None:
    """Resume an unfinished answer."""
    chat.resume()


def fork_chat(chat: ChatLoop, _: str) -> None:
    """Continue in a copy."""
    old = chat.talk.fork()
    if not old:
        raise OptionError("this chat is not saved, so it cannot be copied")
    chat.display.print_note(f"continuing in the copy {chat.talk.id}; {old} is unchanged")


def save_chat(chat: ChatLoop, argument: str) -> None:
    """Write the conversation to a file."""
    if not argument:
        raise OptionError("`/save` needs a file name: `/save FILE`")
    path = Path(argument).expanduser()
    if path.exists() and not (chat.display.person and chat.display.person.confirm(f"Overwrite {path}?")):
        raise OptionError(f"{path} exists and was not changed; choose another name")
    try:
        chat.talk.conversation.save(path)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror or error}") from None
    chat.display.print_note(f"saved to {path}; `antiphon show` shows it")


def parse_number(argument: str, otherwise: int) -> int:
    """Return a positive number, or the default for an empty argument."""
    if not argument:
        return otherwise
    if not argument.isascii() or not argument.isdigit() or len(argument) > 9 or int(argument) < 1:
        raise OptionError(f"expected a number from 1, not {argument!r}")
    return int(argument)


def _find_typed_text(message: UserTurn) -> str:
    """Return the text of a message without attached files."""
    return next((part.text for part in message.visible_parts if isinstance(part, Text)), "")


def _shorten(text: str) -> str:
    first = text.strip().partition("\n")[0]
    return first if len(first) <= _MAX_SHOWN_CHARACTERS else f"{first[: _MAX_SHOWN_CHARACTERS - 1]}…"
