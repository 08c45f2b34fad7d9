"""Further users of the page: each has a token and may read, or also act.

They are stored in a private file without their tokens, so reading it does not allow a login.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from antiphon._base.json_access import as_array, as_object
from antiphon._base.user_dirs import user_directory
from antiphon.errors import NotSavedError, OptionError, StoreError
from antiphon.web.access_token import read_private_file, write_private_file

_USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_KEY_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class PageUser:
    """A user of the page; `key` is the digest of the token. The owner has no name."""

    name: str
    key: str
    may_act: bool = True


def hash_token(token: str) -> str:
    """Return the digest by which a token is known."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class UserFile:
    """The users in a file, read again when it changes: a user who is removed loses access at once."""

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else user_directory("data") / "web-users.json"
        self._read: tuple[Any, tuple[PageUser, ...]] = (None, ())

    @property
    def all(self) -> tuple[PageUser, ...]:
        """All users; none if other users of the system could have written the file."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        mark = found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode
        if self._read[0] != mark:
            self._read = mark, self._users()
        return self._read[1]

    def add(self, name: str, may_act: bool = True) -> str:
        """Add a user and return the new token, which is stored nowhere."""
        if not _USER_NAME.fullmatch(name):
            raise OptionError(f"{name!r} is not a user name; use letters, digits and `_.@-`, such as 'ada'")
        if any(each.name == name for each in self.all):
            raise OptionError(f"user {name!r} already exists; run `antiphon serve users remove {name}` first")
        token = secrets.token_urlsafe(32)
        self._write((*self.all, PageUser(name, hash_token(token), may_act)))
        return token

    def remove(self, name: str) -> None:
        """Remove a user; open responses to that user end."""
        left = tuple(each for each in self.all if each.name != name)
        if len(left) == len(self.all):
            known = ", ".join(each.name for each in self.all) or "none"
            raise NotSavedError(f"user {name!r} does not exist; there are: {known}")
        self._write(left)

    def _users(self) -> tuple[PageUser, ...]:
        try:
            found: object = json.loads(read_private_file(self.path) or "{}")
        except (OSError, ValueError):
            return ()
        read = (_parse_user(as_object(each)) for each in as_array(as_object(found).get("users")))
        return tuple(each for each in read if each is not None)

    def _write(self, users: tuple[PageUser, ...]) -> None:
        data = [{"name": each.name, "key": each.key, "mayAct": each.may_act} for each in users]
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private_file(self.path, json.dumps({"users": data}, indent=2) + os.linesep)
        except OSError as error:
            raise StoreError(f"cannot write the users of the page to {self.path}: {error.strerror}") from None


def _parse_user(data: dict[str, Any]) -> PageUser | None:
    name, key = data.get("name"), data.get("key")
    if (
        not isinstance(name, str)
        or not _USER_NAME.fullmatch(name)
        or not isinstance(key, str)
        or not _KEY_DIGEST.fullmatch(key)
    ):
        return None
    return PageUser(name, key, data.get("mayAct") is True)
