"""Going on with runs that are begun, answered or forked on the page: each in a process of its own, as in a terminal.

So a program that fails, hangs or is stopped takes nothing with it, and the page may be stopped while it runs.
A run that waits has no process: this one waits for all of them, and begins another when there is something to do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

from antiphon.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.journal import Journal, RunEntry

#: So much is told of what a process said before it failed, in characters.
_TOLD = 4000
#: How a process ends that has left a run because it waits for somebody, or for a time.
_WAITS = 3
#: How often it is looked whether a run that waits can go on, in seconds.
_OFTEN = 0.5
#: Runs that a process of this machine can go on with by itself.
_KINDS = ("program", "map", "team", "ask", "chat")


class Going:
    """The processes that were begun here, and what those said that could not go on."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._begun: dict[str, subprocess.Popen[bytes]] = {}
        self._failed: dict[str, str] = {}
        #: Who goes on with runs of a kind here, in this process.
        self.here: dict[str, Callable[[RunEntry], bool]] = {}

    def go_on(self, id: str) -> bool:
        """Go on with a run, unless somebody does; whether a process was begun. A shared journal has workers for it."""
        entry = self._journal.find(id)
        if (here := self.here.get(entry.kind)) is not None and here(entry):
            return True
        if entry.kind not in _KINDS or self._journal.is_shared:
            return False
        with self._lock:
            at_it = self._begun.get(entry.id)
            if at_it is not None and at_it.poll() is None:
                return False
            self._failed.pop(entry.id, None)
            self._begun[entry.id] = self._process(entry.id)
        return True

    def failure(self, id: str) -> str:
        """What the process said that could not go on with a run."""
        return self._failed.get(id, "")

    def _process(self, id: str) -> subprocess.Popen[bytes]:
        told = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the process is over)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "antiphon", "runs", "resume", "--", id],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,
            env={**os.environ, "ANTIPHON_DB": str(self._journal.file.path)},
            start_new_session=True,
        )
        threading.Thread(target=self._await, args=(id, process, told), daemon=True).start()
        return process

    def _await(self, id: str, process: subprocess.Popen[bytes], told: Any) -> None:
        code = process.wait()
        with told:
            told.seek(max(0, told.seek(0, os.SEEK_END) - _TOLD))
            if code not in (0, _WAITS):
                self._failed[id] = told.read().decode("utf-8", "replace").strip() or f"exit {code}"
        if code == _WAITS:
            self._wait(id, process)

    def _wait(self, id: str, process: subprocess.Popen[bytes]) -> None:
        """Go on with a program when somebody has answered, or when it is time, unless somebody else does before."""
        while self._begun[id] is process:
            try:
                rows = self._journal.read("SELECT state, wake_at FROM runs WHERE id = ? AND kind = 'program'", (id,))
            except StoreError as error:
                self._failed[id] = str(error)
                return
            state, wake_at = rows[0] if rows else ("", None)
            if state == "ready" or (state == "waiting" and wake_at is not None and wake_at <= self._journal.now()):
                self.go_on(id)
                return
            if state != "waiting":
                return
            time.sleep(_OFTEN)
