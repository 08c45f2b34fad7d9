"""Owners of runs: ids of processes, whether such a process is still alive, and its script."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from pathlib import Path


def make_owner_id() -> str:
    """Return a new owner id of this process; other processes can tell from it whether this one is alive."""
    return f"{identify_process()}:{secrets.token_hex(4)}"


def identify_process() -> str:
    """Return the name of this process, unique among all machines."""
    return f"{socket.gethostname()}:{os.getpid()}:{_read_start_time(os.getpid())}"


def may_owner_be_alive(owner: str) -> bool:
    """Return whether the process with this owner id may be alive. For another machine the answer is always True."""
    host, process, started, *_ = *owner.split(":"), "", ""
    if process and host != socket.gethostname():
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        # An owner id without a process number is invalid.
        return False
    except PermissionError:
        pass
    return _read_start_time(int(process)) == started


def describe_owner(owner: str, run: str) -> str:
    """Describe the owner of a run and how to take the run from it."""
    host, process, *_ = *owner.split(":"), "", ""
    if host == socket.gethostname():
        return f"process {process}; wait for it, or end it"
    again = f"if it has died, run `antiphon resume {run} --force`"
    return f"process {process} on {host}, which this machine cannot check; {again}"


def find_main_script() -> str:
    """Return the path of the Python script that this process runs; empty if it runs none."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(file) if file else ""


def _read_start_time(process: int) -> str:
    """Return the start time of a process in clock ticks, because process numbers are reused."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
