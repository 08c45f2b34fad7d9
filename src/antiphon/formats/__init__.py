"""Histories in files: recognised by their parts, read into a conversation, checked, repaired and written.

The room knows what the four APIs, frameworks and programs write down, and what the rules say of it. It must not know
sockets or screens: it takes bytes and gives values, findings and bytes.
"""

from __future__ import annotations

from antiphon._public import publish
from antiphon.formats.checkup import Checkup
from antiphon.formats.finding import Finding
from antiphon.formats.history import READ, READ_ONLY, WRITTEN, History, Written, check_all, load, load_all, write

__all__ = [
    "READ",
    "READ_ONLY",
    "WRITTEN",
    "Checkup",
    "Finding",
    "History",
    "Written",
    "check_all",
    "load",
    "load_all",
    "write",
]

publish(globals())
