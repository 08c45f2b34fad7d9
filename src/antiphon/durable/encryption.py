"""What is private, sealed: whoever has the file of the journal, and not the key beside it, cannot read it."""

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

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

#: The environment variable that has the key, for journals that several machines share.
KEY_VARIABLE = "ANTIPHON_JOURNAL_KEY"
#: What a text begins with that is sealed; no JSON does.
ENCRYPTED_MARK = "!"


class JournalCipher:
    """Seals texts with the key in a file of the user's alone, which is made when it is first needed."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def encrypt(self, text: str) -> str:
        """The text, sealed."""
        return ENCRYPTED_MARK + self._fernet.encrypt(text.encode()).decode()

    def decrypt(self, sealed: str) -> str:
        """What was sealed."""
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(sealed.removeprefix(ENCRYPTED_MARK).encode()).decode()
        except InvalidToken:
            raise self.make_wrong_key_error("what is private in this journal") from None

    def hash(self, text: str) -> str:
        """What two texts have in common that are the same; nobody without the key finds the text by trying."""
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    @cached_property
    def key_id(self) -> str:
        """What tells this key from others."""
        return self.hash("the name of the key")[:8]

    def make_wrong_key_error(self, what: str) -> StoreError:
        """What is said where something was written down with another key."""
        return StoreError(f"{what} was sealed with another key than that of {self._describe_key_source()}")

    def _describe_key_source(self) -> str:
        return f"`{KEY_VARIABLE}`" if os.environ.get(KEY_VARIABLE) else str(self._file)

    @cached_property
    def _fernet(self) -> Fernet:
        # Only what is private needs it, and it takes its time to load.
        from cryptography.fernet import Fernet

        return Fernet(self._key)

    @cached_property
    def _key(self) -> bytes:
        key = os.environ.get(KEY_VARIABLE, "").encode() or self._read_key_file()
        try:
            if len(urlsafe_b64decode(key)) == 32:
                return key
        except ValueError:
            pass
        raise StoreError(f"{self._describe_key_source()} has no key: 32 bytes in URL-safe base64 are wanted")

    def _read_key_file(self) -> bytes:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._file.exists():
                self._create_key_file()
            return self._file.read_bytes().strip()
        except OSError as error:
            raise StoreError(f"the key of the journal, {self._file}, cannot be used: {error.strerror}") from None

    def _create_key_file(self) -> None:
        """Put a whole key there, unless somebody else was faster: half of one would be another key."""
        handle, new = tempfile.mkstemp(prefix=f".{self._file.name}.", dir=self._file.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(urlsafe_b64encode(os.urandom(32)))
            with suppress(FileExistsError):
                os.link(new, self._file)
        finally:
            os.unlink(new)
