"""Encryption of private data in the journal. The key lies in a file beside it, or in an environment variable."""

from __future__ import annotations

import hashlib
import hmac
import os
import tempfile
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import StoreError
from antiphon.storage.store_location import find_old_path

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

#: The environment variable with the key, for journals that several machines share.
KEY_VARIABLE = "ANTIPHON_JOURNAL_KEY"
#: The prefix of encrypted texts; no JSON begins with it.
ENCRYPTED_MARK = "!"


class JournalCipher:
    """Encrypts texts with a key from a private file, which is created on first use; without a file, with a new key."""

    def __init__(self, file: Path | None) -> None:
        self._file = file

    def encrypt(self, text: str) -> str:
        """Return the text, encrypted."""
        return ENCRYPTED_MARK + self._fernet.encrypt(text.encode()).decode()

    def decrypt(self, sealed: str) -> str:
        """Return the text that was encrypted."""
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(sealed.removeprefix(ENCRYPTED_MARK).encode()).decode()
        except InvalidToken:
            raise self.make_wrong_key_error("the private data of this journal") from None

    def hash(self, text: str) -> str:
        """Return a keyed hash, so that nobody without the key finds the text by trying."""
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    @cached_property
    def key_id(self) -> str:
        """A short name that distinguishes this key from others."""
        return self.hash("the name of the key")[:8]

    def make_wrong_key_error(self, what: str) -> StoreError:
        """Return the error for data that was encrypted with another key."""
        return StoreError(f"{what} was encrypted with another key than the one in {self._describe_key_source()}")

    def _describe_key_source(self) -> str:
        return f"`{KEY_VARIABLE}`" if os.environ.get(KEY_VARIABLE) else str(self._file)

    @cached_property
    def _fernet(self) -> Fernet:
        # The import is slow, and only private data needs it.
        from cryptography.fernet import Fernet

        return Fernet(self._key)

    @cached_property
    def _key(self) -> bytes:
        key = os.environ.get(KEY_VARIABLE, "").encode()
        if not key:
            key = urlsafe_b64encode(os.urandom(32)) if self._file is None else _read_key_file(self._file)
        try:
            if len(urlsafe_b64decode(key)) == 32:
                return key
        except ValueError:
            pass
        raise StoreError(f"{self._describe_key_source()} has no valid key; it must be 32 bytes in URL-safe base64")


def adopt_old_key(file: Path) -> None:
    """Copy the key that an earlier version created, if there is one. Raise a StoreError if there is another key."""
    if (key := _read_old_key(file)) and _read_key_file(file) != key:
        old = find_old_path(file)
        raise StoreError(f"{old} and {file} hold different keys; move the one away that encrypted nothing")


def _read_key_file(file: Path) -> bytes:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            _create_key_file(file)
        return file.read_bytes().strip()
    except OSError as error:
        raise StoreError(f"the key of the journal, {file}, cannot be used: {error.strerror}") from None


def _read_old_key(file: Path) -> bytes:
    """Return the key that an earlier version created, or b""."""
    old = find_old_path(file)
    return old.read_bytes().strip() if old is not None and old.exists() else b""


def _create_key_file(file: Path) -> None:
    """Create the file with a complete key at once, unless another process was faster.

    The key is that of an earlier version, or a new one.
    """
    handle, new = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(_read_old_key(file) or urlsafe_b64encode(os.urandom(32)))
            opened.flush()
            os.fsync(handle)
        with suppress(FileExistsError):
            os.link(new, file)
    finally:
        os.unlink(new)
