"""Copying text to the clipboard: with a program of the desktop, or through the terminal."""

from __future__ import annotations

import base64
import os
import subprocess
import sys

from antiphon.cli.output import is_terminal
from antiphon.errors import NotReadyError
from antiphon.tools.process_runner import find_program

#: Programs that read the text from standard input, and the variable that says that their desktop is there.
_PROGRAMS = (
    ("", ["pbcopy"]),
    ("WAYLAND_DISPLAY", ["wl-copy"]),
    ("DISPLAY", ["xclip", "-selection", "clipboard"]),
    ("DISPLAY", ["xsel", "--clipboard", "--input"]),
    ("", ["clip.exe"]),
)
_SECONDS = 5.0


def copy_to_clipboard(text: str) -> None:
    """Copy a text. Over SSH, and without a program, the terminal is asked to do it (OSC 52)."""
    if not os.environ.get("SSH_CONNECTION") and _copy_with_program(text):
        return
    if not is_terminal(sys.stdout):
        raise NotReadyError("nothing was copied: there is neither a terminal nor a program such as xclip")
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    sys.stdout.write(f"\x1b]52;c;{data}\x07")
    sys.stdout.flush()


def _copy_with_program(text: str) -> bool:
    for variable, (name, *options) in _PROGRAMS:
        program = find_program(name) if not variable or os.environ.get(variable) else None
        if program is None:
            continue
        try:
            done = subprocess.run(
                [program, *options],
                input=text.encode("utf-8", "replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return True
    return False
