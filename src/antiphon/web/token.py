"""The token of the page: made once, and kept in a file of the user's alone, so that open pages outlive a restart."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from antiphon._places import user_directory
from antiphon.errors import StoreError

_BYTES = 32


def kept_token() -> str:
    """The token that whoever may read the user's files may know."""
    file = user_directory("data") / "web-token"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _read(file) or _made(file)
    except OSError as error:
        raise StoreError(f"the token of the page, {file}, cannot be kept: {error.strerror}") from None


def _read(file: Path) -> str:
    """What is in the file; nothing, where others could have read or written it."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return ""
    with os.fdopen(handle, encoding="ascii", errors="replace") as opened:
        mode = os.fstat(handle).st_mode
        token = opened.read(1000).strip()
    is_private = os.name != "posix" or not mode & 0o077
    return token if is_private and len(token) >= _BYTES else ""


def _made(file: Path) -> str:
    token = secrets.token_urlsafe(_BYTES)
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as opened:
        opened.write(token)
    new.replace(file)
    return token
