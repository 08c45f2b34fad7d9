"""The keyboard while the model works: typed lines are messages for it, and the rest is the next input.

Keys are read as they are typed and shown by the live display. Ctrl-C stays a signal.
"""

from __future__ import annotations

import codecs
import os
import select
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import IO

from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from antiphon._base.terminal import delay_interrupts, register_live_region, unregister_live_region

_ESCAPE_SECONDS = 0.2
_BRACKETED_PASTE = ("\x1b[?2004h", "\x1b[?2004l")


class BusyKeyboard:
    """Reads the keys of a terminal in a thread, while `listening`. `send` is called with each finished line."""

    def __init__(self, keyboard: IO[str], screen: IO[str], send: Callable[[str], object]) -> None:
        self._keyboard, self._screen = keyboard, screen
        self._send = send
        #: What is typed and not sent.
        self.draft = ""
        #: Whether Ctrl-D was pressed.
        self.is_closed = False
        self._is_after_escape = False
        self._reader: threading.Thread | None = None
        self._wake = -1
        self._restore: Callable[[], None] = lambda: None
        self._lock = threading.RLock()

    @contextmanager
    def listening(self) -> Generator[None]:
        """Listen inside the block."""
        self.resume()
        try:
            yield
        finally:
            self.pause()

    def take_draft(self) -> str:
        """Remove and return what is typed and not sent."""
        taken, self.draft = self.draft, ""
        return taken

    def resume(self) -> None:
        """Begin to listen."""
        with delay_interrupts(), self._lock:
            if self._reader is not None or not register_live_region(self.pause):
                return
            self._restore = _read_single_keys(self._keyboard.fileno())
            waker, self._wake = os.pipe()
            self._write(_BRACKETED_PASTE[0])
            self._reader = threading.Thread(target=self._read, args=(waker,), name="keyboard", daemon=True)
            self._reader.start()

    def pause(self) -> None:
        """Stop listening. Keys that are typed from here on are left to others."""
        with delay_interrupts(), self._lock:
            reader, self._reader = self._reader, None
            if reader is None:
                return
            unregister_live_region(self.pause)
            os.close(self._wake)
            reader.join()
            self._write(_BRACKETED_PASTE[1])
            self._restore()

    def end(self) -> None:
        """Stop listening, and restore the modes that the terminal had before the first time."""
        self.pause()
        self._restore()

    def _read(self, waker: int) -> None:
        parser = Vt100Parser(self._take)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        keyboard = self._keyboard.fileno()
        try:
            while True:
                ready, _, _ = select.select([keyboard, waker], [], [], _ESCAPE_SECONDS)
                if waker in ready:
                    break
                if not ready:
                    # A lone Escape is complete if nothing follows.
                    parser.flush()
                elif data := os.read(keyboard, 1024):
                    parser.feed(decoder.decode(data))
                else:
                    break
            parser.flush()
        except OSError:
            # The terminal is gone.
            pass
        finally:
            os.close(waker)

    def _take(self, pressed: KeyPress) -> None:
        """Edit the draft by a key."""
        after_escape, self._is_after_escape = self._is_after_escape, pressed.key == Keys.Escape
        match pressed.key:
            case Keys.ControlM | Keys.ControlJ if after_escape or self.draft.endswith("\\"):
                self.draft = self.draft.removesuffix("\\") + "\n"
            case Keys.ControlM | Keys.ControlJ:
                if (text := self.take_draft()).strip():
                    self._send(text)
            case Keys.BracketedPaste:
                self.draft += pressed.data.replace("\r\n", "\n").replace("\r", "\n")
            case Keys.ControlH | Keys.Backspace:
                self.draft = self.draft[:-1]
            case Keys.ControlU:
                self.draft = ""
            case Keys.ControlW:
                self.draft = self.draft.rstrip()[: self.draft.rstrip().rfind(" ") + 1]
            case Keys.ControlD | Keys.ControlAt:
                # Ctrl-D arrives as a NUL if it was typed while nothing was read.
                self.is_closed = self.is_closed or not self.draft
            case str(key) if not isinstance(key, Keys) and len(key) == 1 and key.isprintable():
                self.draft += key
            case _:
                pass

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._screen.write(text)
            self._screen.flush()


def _read_single_keys(keyboard: int) -> Callable[[], None]:
    """Let the terminal pass on each key without echo. Return the function that restores it."""
    if sys.platform == "win32":
        return lambda: None
    import termios

    before = termios.tcgetattr(keyboard)
    changed = termios.tcgetattr(keyboard)
    changed[3] &= ~(termios.ECHO | termios.ICANON)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    termios.tcsetattr(keyboard, termios.TCSADRAIN, changed)

    def restore() -> None:
        with suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)

    return restore
