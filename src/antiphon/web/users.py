"""Other people who may use the page: each has a token of his own, and may look, or also act.

They are in a file of the user's alone, without the tokens: who reads it cannot log in.
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

from antiphon._places import user_directory
from antiphon._shape import arr, obj
from antiphon.errors import NotSavedError, OptionError, StoreError
from antiphon.web.token import private_text, write_privately

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may use the page; `key` is made of his token. The owner has no name."""

    name: str
    key: str
    may_act: bool = True


def key_of(token: str) -> str:
    """What is known of a token, and what it is known by."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class Users:
    """The users in a file, as it is now: one who is removed there is not known from then on."""

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else user_directory("data") / "web-users.json"
        self._read: tuple[Any, tuple[User, ...]] = (None, ())

    @property
    def all(self) -> tuple[User, ...]:
        """All of them; none, where others could have written the file."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        mark = found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode
        if self._read[0] != mark:
            self._read = mark, self._users()
        return self._read[1]

    def add(self, name: str, may_act: bool = True) -> str:
        """Let somebody in; his token, which is known nowhere else."""
        if not _NAME.fullmatch(name):
            raise OptionError(f"a user has a name of letters, digits and `_.@-`, such as 'ada', not {name!r}")
        if any(each.name == name for each in self.all):
            raise OptionError(f"there is a user {name!r} already; `antiphon serve users remove {name}` first")
        token = secrets.token_urlsafe(32)
        self._write((*self.all, User(name, key_of(token), may_act)))
        return token

    def remove(self, name: str) -> None:
        """Let somebody in no more; what he looks at ends."""
        left = tuple(each for each in self.all if each.name != name)
        if len(left) == len(self.all):
            known = ", ".join(each.name for each in self.all) or "none"
            raise NotSavedError(f"there is no user {name!r}; there are: {known}")
        self._write(left)

    def _users(self) -> tuple[User, ...]:
        try:
            found: object = json.loads(private_text(self.path) or "{}")
        except (OSError, ValueError):
            return ()
        read = (_user(obj(each)) for each in arr(obj(found).get("users")))
        return tuple(each for each in read if each is not None)

    def _write(self, users: tuple[User, ...]) -> None:
        data = [{"name": each.name, "key": each.key, "mayAct": each.may_act} for each in users]
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_privately(self.path, json.dumps({"users": data}, indent=2) + os.linesep)
        except OSError as error:
            raise StoreError(f"the users of the page, {self.path}, cannot be kept: {error.strerror}") from None


def _user(data: dict[str, Any]) -> User | None:
    name, key = data.get("name"), data.get("key")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(key, str) or not _KEY.fullmatch(key):
        return None
    return User(name, key, data.get("mayAct") is True)
