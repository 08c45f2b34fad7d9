"""The prompt of a chat at a terminal: keys, completion menu, history file and folded pastes, with prompt_toolkit."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, TextIO, cast

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import PromptSession
from prompt_toolkit.styles import Style

from antiphon.cli.chat_front.completion import CompletionMenu
from antiphon.cli.chat_front.line_editor import QUOTES, is_quote_closed

#: A paste with more lines or characters than this is folded.
_MAX_PASTED_LINES, _MAX_PASTED_CHARACTERS = 8, 2_000
_MAX_HISTORY_BYTES = 1_000_000
_MENU_ROWS = 8
_STYLE = Style.from_dict(
    {
        "prompt": "ansicyan",
        "bottom-toolbar": "noreverse dim",
        "completion-menu": "bg:default fg:default",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "reverse",
        "completion-menu.meta.completion": "bg:default fg:default dim",
        "completion-menu.meta.completion.current": "reverse",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "reverse",
    }
)


class _InlineOutput(Vt100_Output):
    """Draws below the cursor only what is needed, so that the position need not be asked of the terminal."""

    def get_rows_below_cursor_position(self) -> int:
        return 1


class TerminalPrompt:
    """Edits messages and answers on a `keyboard` and a `screen` that are terminals."""

    def __init__(
        self,
        keyboard: IO[str],
        screen: IO[str],
        menu: CompletionMenu | None,
        history: Path | None,
    ) -> None:
        self._keyboard, self._screen = keyboard, screen
        self._menu = menu
        self._folds = PasteFolds()
        self._history = _open_history(history, self._folds)
        self._input: Input | None = None
        self._output: Output | None = None

    def read_message(self, prompt: str, status: str, draft: str) -> str | None:
        """Return a message as it was typed, with pasted text in full; `None` at the end of the input."""
        session = self._messages
        session.bottom_toolbar = status or None
        try:
            return self._folds.expand(self._run(session, prompt, draft))
        except EOFError:
            return None
        finally:
            self._folds.clear()

    def read_answer(self, prompt: str) -> str | None:
        """Return one line, without what was typed before; `None` at the end of the input."""
        session = self._answers
        self.forget_typed()
        try:
            return self._run(session, prompt, "")
        except EOFError:
            return None

    def forget_typed(self) -> None:
        """Discard keys that were read with an earlier input."""
        if self._input is not None:
            clear_typeahead(self._input)

    def _run(self, session: PromptSession[str], prompt: str, draft: str) -> str:
        shown: StyleAndTextTuples = [("class:prompt", prompt)]
        return session.prompt(shown, default=draft, handle_sigint=threading.current_thread() is threading.main_thread())

    def _open(self) -> tuple[Input, Output]:
        if self._input is None or self._output is None:
            self._input = create_input(cast(TextIO, self._keyboard))
            self._output = _create_output(cast(TextIO, self._screen))
        return self._input, self._output

    @cached_property
    def _answers(self) -> PromptSession[str]:
        input, output = self._open()
        return PromptSession(input=input, output=output, style=_STYLE, history=InMemoryHistory())

    @cached_property
    def _messages(self) -> PromptSession[str]:
        input, output = self._open()
        menu = self._menu

        def is_completing() -> bool:
            return menu is not None and menu.is_wanted(session.default_buffer.document.text_before_cursor)

        session = PromptSession[str](
            input=input,
            output=output,
            multiline=True,
            prompt_continuation=_indent,
            history=self._history,
            completer=_MenuCompleter(menu) if menu is not None else None,
            complete_while_typing=Condition(is_completing),
            complete_in_thread=True,
            reserve_space_for_menu=_MENU_ROWS,
            key_bindings=_make_message_keys(self._folds),
            enable_open_in_editor=True,
            enable_suspend=True,
            tempfile_suffix=".md",
            style=_STYLE,
        )
        return session


def _indent(width: int, line: int, wrapped: int) -> str:  # noqa: ARG001
    return " " * width


def _create_output(screen: TextIO) -> Output:
    if os.name != "posix":
        return create_output(screen)
    return _InlineOutput.from_pty(screen, os.environ.get("TERM"))


# Keys


def _make_message_keys(folds: PasteFolds) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def accept(event: KeyPressEvent) -> None:
        """Send the message, unless a line goes on."""
        buffer = event.current_buffer
        text = buffer.text
        completion = buffer.complete_state
        if completion is not None and completion.current_completion is not None and not text.startswith("/"):
            # The key chooses a file.
            buffer.complete_state = None
        elif buffer.document.char_before_cursor == "\\":
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        elif text.lstrip().startswith(QUOTES) and not is_quote_closed(text):
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("escape", "c-j")
    def add_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        pasted = event.data.replace("\r\n", "\n").replace("\r", "\n")
        event.current_buffer.insert_text(folds.fold(pasted))

    # A Ctrl-D that was typed while nothing was read arrives as a NUL.
    @keys.add("c-@", filter=Condition(lambda: not _current_text()))
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(exception=EOFError)

    @keys.add("c-c", filter=Condition(lambda: bool(_current_text())))
    def clear(event: KeyPressEvent) -> None:
        event.current_buffer.reset()

    return keys


def _current_text() -> str:
    from prompt_toolkit.application import get_app

    return get_app().current_buffer.text


class PasteFolds:
    """Long pasted texts, of which the editor shows only `[pasted 120 lines]`."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, pasted: str) -> str:
        """Return the text to insert for a paste."""
        count = pasted.count("\n") + 1
        if count <= _MAX_PASTED_LINES and len(pasted) <= _MAX_PASTED_CHARACTERS:
            return pasted
        size = f"{count:,} lines" if count > _MAX_PASTED_LINES else f"{len(pasted):,} characters"
        number, name = 2, f"[pasted {size}]"
        while name in self._texts:
            number, name = number + 1, f"[pasted {size}, {number}]"
        self._texts[name] = pasted
        return name

    def expand(self, text: str) -> str:
        """Return a message with each folded paste in full."""
        if not self._texts:
            return text
        names = "|".join(map(re.escape, self._texts))
        return re.sub(names, lambda found: self._texts[found[0]], text)

    def clear(self) -> None:
        """Forget all pastes."""
        self._texts.clear()


# Completion


class _MenuCompleter(Completer):
    def __init__(self, menu: CompletionMenu) -> None:
        self._menu = menu

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        line = document.text_before_cursor
        begin, found = self._menu.list(line)
        for each in found:
            about = self._menu.describe(each)
            yield Completion(each, begin - len(line), display=each.rstrip() or each, display_meta=about)


# History


def _open_history(path: Path | None, folds: PasteFolds) -> History:
    if path is None:
        return _SessionHistory(folds)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        _shorten(path)
    return _SavedHistory(path, folds)


def _shorten(path: Path) -> None:
    """Drop the older half of a history file that has become large."""
    if path.stat().st_size <= _MAX_HISTORY_BYTES:
        return
    entries = path.read_bytes()[-_MAX_HISTORY_BYTES // 2 :].partition(b"\n\n# ")[2]
    path.write_bytes(b"\n# " + entries)


class _SessionHistory(InMemoryHistory):
    def __init__(self, folds: PasteFolds) -> None:
        super().__init__()
        self._folds = folds

    def append_string(self, string: str) -> None:
        super().append_string(self._folds.expand(string))


class _SavedHistory(FileHistory):
    """A history file; one that cannot be read or written is left alone."""

    def __init__(self, path: Path, folds: PasteFolds) -> None:
        super().__init__(path)
        self._folds = folds

    def append_string(self, string: str) -> None:
        super().append_string(self._folds.expand(string))

    def load_history_strings(self) -> Iterable[str]:
        with suppress(OSError):
            return list(super().load_history_strings())
        return []

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)
