"""The contenders of loop.py, one module each, and the work that is the same for all of them.

A module has `connect(url)`, which sets everything up and returns a function `ask(text, rounds) -> final text` that runs
one tool loop. `rounds` is there for those that must be allowed so many.
"""

from __future__ import annotations

from collections.abc import Callable

MODEL = "gpt-4o"
KEY = "any"
SYSTEM = "You are a careful clerk. Look up every record you are asked for, one at a time, before you answer."
DESCRIPTION = "Look up one record by its number."
PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"type": "function", "function": {"name": "lookup", "description": DESCRIPTION, "parameters": PARAMETERS}}

#: Called at every lookup; the client puts its time limit here.
watch: Callable[[], None] = lambda: None  # noqa: E731


def lookup(n: int) -> str:
    """Look up one record by its number."""
    watch()
    return f"Record {n}: " + "all quiet on the northern line, nothing to report; " * 4


def question(rounds: int) -> str:
    """The user's text, from which the server learns how many calls to make."""
    return f"Please look up {rounds} records."


def answer(rounds: int) -> str:
    """The server's last word."""
    return f"Done after {rounds} lookups."
