"""Start and resume runs for the page, each in its own process, as in a terminal.

A program that fails, hangs or is killed affects nothing else, and the page may stop while it runs. A
waiting run has no process: a thread here watches it and starts a new process when it can resume.
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
from antiphon.storage.sessions import find_state, has_session
from antiphon.web.stored import RESUMABLE_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.durable import Journal, RunEntry

#: Characters kept of the error output of a failed process.
_MAX_ERROR_LENGTH = 4000
#: The exit code of a process that suspended its run, for a person or a time.
_WAITING_EXIT_CODE = 3
#: How often a waiting run is checked, in seconds.
_POLL_SECONDS = 0.5


class RunLauncher:
    """The processes started for runs, and the errors of those that failed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._begun: dict[str, subprocess.Popen[bytes]] = {}
        self._failed: dict[str, str] = {}
        #: Resumes a run in this process, if it is one of its chats.
        self.resume_here: Callable[[RunEntry], bool] = lambda _: False

    def go_on(self, id: str) -> bool:
        """Resume a run unless a process is at work on it; return whether one was started.

        Runs of a shared journal are left to its workers. No other process can read a journal in memory.
        """
        entry = self._journal.find(id)
        if entry.kind == "chat" and self.resume_here(entry):
            return True
        if entry.kind not in RESUMABLE_KINDS or not self._journal.is_file:
            return False
        with self._lock:
            at_it = self._begun.get(entry.id)
            if at_it is not None and at_it.poll() is None:
                return False
            self._failed.pop(entry.id, None)
            self._begun[entry.id] = self._process(entry.id)
        return True

    def failure(self, id: str) -> str:
        """Return the error output of a process that could not resume a run."""
        return self._failed.get(id, "")

    def _process(self, id: str) -> subprocess.Popen[bytes]:
        told = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the process is over)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "antiphon", "resume", "--", id],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,
            env={**os.environ, "ANTIPHON_DB": str(self._journal.file.path)},
            start_new_session=True,
        )
        threading.Thread(target=self._await_process, args=(id, process, told), daemon=True).start()
        return process

    def _await_process(self, id: str, process: subprocess.Popen[bytes], told: Any) -> None:
        code = process.wait()
        with told:
            told.seek(max(0, told.seek(0, os.SEEK_END) - _MAX_ERROR_LENGTH))
            if code not in (0, _WAITING_EXIT_CODE):
                self._failed[id] = told.read().decode("utf-8", "replace").strip() or f"exit {code}"
        if code == _WAITING_EXIT_CODE and has_session(self._journal.database, id, "program"):
            self._wait(id, process)

    def _wait(self, id: str, process: subprocess.Popen[bytes]) -> None:
        """Resume a program once it is answered or due, unless another process resumes it first."""
        while self._begun[id] is process:
            try:
                found = find_state(self._journal.database, id)
            except StoreError as error:
                self._failed[id] = str(error)
                return
            state, _, wake_at = found or ("", "", None)
            if state == "ready" or (state == "waiting" and wake_at is not None and wake_at <= self._journal.now()):
                self.go_on(id)
                return
            if state != "waiting":
                return
            time.sleep(_POLL_SECONDS)
