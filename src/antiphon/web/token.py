"""The token of the page: made once, and kept in a file of the user's alone, so that open pages outlive a restart."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from antiphon._places import user_directory
from antiphon.errors import StoreError

_BYTES = 32
#: No file of ours is longer.
_LARGEST = 1_000_000


def kept_token() -> str:
    """The token that whoever may read the user's files may know."""
    file = user_directory("data") / "web-token"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = private_text(file).strip()
        return token if len(token) >= _BYTES else _made(file)
    except OSError as error:
        raise StoreError(f"the token of the page, {file}, cannot be kept: {error.strerror}") from None


def private_text(file: Path) -> str:
    """What is in a file; nothing, where there is none, or others could have read or written it."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return ""
    with os.fdopen(handle, encoding="ascii", errors="replace") as opened:
        mode = os.fstat(handle).st_mode
        text = opened.read(_LARGEST)
    return text if os.name != "posix" or not mode & 0o077 else ""


def write_privately(file: Path, text: str) -> None:
    """Write a file that nobody else can read: the old one or the new one, never half of it."""
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as opened:
        opened.write(text)
    new.replace(file)


def _made(file: Path) -> str:
    token = secrets.token_urlsafe(_BYTES)
    write_privately(file, token)
    return token
