"""What is private, sealed: whoever has the file of the journal, and not the key beside it, cannot read it."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import StoreError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

#: The environment variable that has the key, for journals that several machines share.
VARIABLE = "ANTIPHON_JOURNAL_KEY"
#: What a text begins with that is sealed; no JSON does.
MARK = "!"


class Seal:
    """Seals texts with the key in a file of the user's alone, which is made when it is first needed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._made: tuple[bytes, Fernet] | None = None

    def close(self, text: str) -> str:
        """The text, sealed."""
        return MARK + self._key()[1].encrypt(text.encode()).decode()

    def open(self, sealed: str) -> str:
        """What was sealed."""
        from cryptography.fernet import InvalidToken

        try:
            return self._key()[1].decrypt(sealed.removeprefix(MARK).encode()).decode()
        except InvalidToken:
            raise StoreError(
                f"what is private in this journal was sealed with another key than that of {self._place()}"
            ) from None

    def hash(self, fingerprint: str) -> str:
        """A fingerprint from which nobody without the key finds what it is of by trying."""
        return hmac.new(self._key()[0], fingerprint.encode(), hashlib.sha256).hexdigest()

    def _place(self) -> str:
        return f"`{VARIABLE}`" if os.environ.get(VARIABLE) else str(self._file)

    def _key(self) -> tuple[bytes, Fernet]:
        if self._made is None:
            from cryptography.fernet import Fernet

            key = os.environ.get(VARIABLE, "").encode() or self._kept()
            try:
                self._made = key, Fernet(key)
            except ValueError:
                raise StoreError(f"{self._place()} has no key: 32 bytes in URL-safe base64 are wanted") from None
        return self._made

    def _kept(self) -> bytes:
        from cryptography.fernet import Fernet

        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                return self._file.read_bytes().strip()
            with os.fdopen(handle, "wb") as file:
                file.write(made := Fernet.generate_key())
            return made
        except OSError as error:
            raise StoreError(f"the key of the journal, {self._file}, cannot be used: {error.strerror}") from None
