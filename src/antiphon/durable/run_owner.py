"""Which process has a run, and whether it is still there."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path


def make_owner_id() -> str:
    """This process, so that another one can tell whether it is still there."""
    return f"{identify_process()}:{secrets.token_hex(4)}"


def identify_process() -> str:
    """The name of this process, among those of all machines."""
    return f"{socket.gethostname()}:{os.getpid()}:{_read_start_time(os.getpid())}"


def is_owner_alive(owner: str) -> bool:
    """Whether the process that holds a run still lives; of another machine's nothing is known, so it may."""
    host, process, started, *_ = *owner.split(":"), "", ""
    if process and host != socket.gethostname():
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        # Also where this names no process at all.
        return False
    except PermissionError:
        pass
    return _read_start_time(int(process)) == started


def describe_owner(owner: str, run: str) -> str:
    """Who has a run, and what can be done about that."""
    host, process, *_ = *owner.split(":"), "", ""
    if host == socket.gethostname():
        return f"process {process}; wait for it, or end it"
    again = f"`antiphon runs resume {run} --force` takes the run from it, if it is gone"
    return f"process {process} of {host}, of which nothing is known here; {again}"


def _read_start_time(process: int) -> str:
    """When a process was started, in the system's own count: numbers of processes are used again."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
