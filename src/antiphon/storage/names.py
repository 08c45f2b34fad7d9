"""Names that users give to sessions. A name finds its session, as its id does."""

from __future__ import annotations

import re

from antiphon.errors import OptionError
from antiphon.storage import sessions
from antiphon.storage.database import Database

_MAX_LENGTH = 80
#: An address may continue with a colon and a step.
_NAME = re.compile(r"[^\W_][^:\x00-\x1f\x7f]*")
_RESERVED = ("last",)


def rename_session(database: Database, id: str, name: str) -> str:
    """Give a session a name, and return it without surrounding spaces. An empty one takes its name away."""
    name = " ".join(name.split())
    if name and (len(name) > _MAX_LENGTH or name in _RESERVED or not name.isprintable() or not _NAME.fullmatch(name)):
        raise OptionError(
            f"a name begins with a letter or a digit, has at most {_MAX_LENGTH} characters and no colon,"
            " and is not `last`"
        )
    if other := sessions.rename(database, id, name):
        raise OptionError(f"session {other} has the name {name!r} already")
    return name
