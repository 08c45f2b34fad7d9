"""The access token of the page, stored in a private file so that open pages survive a restart."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from antiphon._base.user_dirs import user_directory
from antiphon.errors import StoreError

_TOKEN_BYTES = 32
#: The longest file that is read.
_MAX_FILE_LENGTH = 1_000_000


def load_or_create_token() -> str:
    """Return the stored access token, creating it if necessary."""
    file = user_directory("data") / "web-token"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = read_private_file(file).strip()
        return token if len(token) >= _TOKEN_BYTES else _create_token(file)
    except OSError as error:
        raise StoreError(f"cannot write the access token to {file}: {error.strerror}") from None


def read_private_file(file: Path) -> str:
    """Return the content of a file; empty if it is missing, or if other users can access it."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return ""
    with os.fdopen(handle, encoding="ascii", errors="replace") as opened:
        mode = os.fstat(handle).st_mode
        text = opened.read(_MAX_FILE_LENGTH)
    return text if os.name != "posix" or not mode & 0o077 else ""


def write_private_file(file: Path, text: str) -> None:
    """Write a file atomically that only its owner can read."""
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as opened:
        opened.write(text)
    new.replace(file)


def _create_token(file: Path) -> str:
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    write_private_file(file, token)
    return token
