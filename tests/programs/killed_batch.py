"""`antiphon` in a process that dies before or after a statement that writes to the database."""

from __future__ import annotations

import os
import signal
import sqlite3
from typing import Any

from tests import forks

#: The environment variable with the number of the moment, counted from 1.
MOMENT = "ANTIPHON_TEST_MOMENT"
#: The file that receives the number of moments.
COUNT = "moments"


def run(words: list[str]) -> None:
    """Run a command, and die at the moment that the environment names."""
    _install(int(os.environ[MOMENT]))
    forks.antiphon(words)


def _install(at: int) -> None:
    connect, reached = sqlite3.connect, 0

    def reach() -> None:
        nonlocal reached
        reached += 1
        with open(COUNT, "w", encoding="utf-8") as file:
            file.write(str(reached))
        if reached == at:
            os.kill(os.getpid(), signal.SIGKILL)

    class Dying(sqlite3.Connection):
        def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:  # type: ignore[override]
            if statement.lstrip()[:6].upper() in ("SELECT", "PRAGMA", "BEGIN ", "BEGIN"):
                return super().execute(statement, *given)
            reach()
            try:
                return super().execute(statement, *given)
            finally:
                reach()

    def connect_dying(*given: Any, **named: Any) -> sqlite3.Connection:
        return connect(*given, **{"factory": Dying, **named})

    sqlite3.connect = connect_dying  # type: ignore[assignment]
