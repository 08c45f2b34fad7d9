"""Texts from outside are read in time that grows with their length, not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from antiphon._json import pruned
from antiphon.agents.runners import read_summary
from antiphon.agents.scanning import secret_in
from antiphon.session.wanted import wanted
from antiphon.tools.processes import is_secret
from antiphon.wire.openai_chat.refused import refused_calls
from antiphon.wire.overflow import overflow
from antiphon.wire.reply import ErrorText
from antiphon.wire.wording import page_text

_LENGTH = 5_000
#: Readers by name, each with what is before a text that repeats, what is repeated, and what is after it.
READERS: dict[str, tuple[Callable[[str], object], str, str, str]] = {
    "summary-blanks": (read_summary, "Tests", " ", ""),
    "summary-digits": (read_summary, "Tests 1 passed ", "1", "(1)\n"),
    "summary-words": (read_summary, "", "1 a", "\n"),
    "summary-colours": (read_summary, "", "\x1b[1", ""),
    "secret-address": (secret_in, "", "+z", ""),
    "secret-token": (secret_in, "", "-eyJ", ""),
    "variable-address": (lambda text: is_secret("X", text), "://", ":", ""),
    "variable-token": (lambda text: is_secret("X", text), "", "-eyJaaaaaaaaaa", ""),
    "json-strings": (pruned, "", '"a\\', ""),
    "json-breaks": (pruned, "", '"a\\\n', ""),
    "answer-strings": (lambda text: wanted(float).inexact(text), "", '"a\\', ""),
    "answer-digits": (lambda text: wanted(float).inexact(text), "", "1", ""),
    "refused-calls": (
        lambda text: refused_calls({"code": "tool_use_failed", "failed_generation": text}),
        "",
        "<function=a>",
        "",
    ),
    "overflow-digits": (
        lambda text: overflow(ErrorText(f"prompt is too long {text}"), ""),
        "",
        "1",
        "",
    ),
    "page-comments": (lambda text: page_text(text.encode()), "<", "<!--", ""),
}


def seconds(read: Callable[[str], object], text: str) -> float:
    """Return the CPU time of reading a text, the least of three."""
    taken: list[float] = []
    for _ in range(3):
        began = time.process_time()
        read(text)
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_length(name: str):
    read, before, repeated, after = READERS[name]
    short, long = (
        seconds(read, before + repeated * (length // len(repeated)) + after) for length in (_LENGTH, 4 * _LENGTH)
    )
    # The square would be 16 times as long.
    assert long < 9 * short + 0.03


@pytest.mark.parametrize("runner", ["pytest", "unittest", "vitest"])
def test_numbers_beyond_all_measure_are_no_counts(runner: str):
    number = "1" * 5_000
    texts = {
        "pytest": f"{number} passed in 1s\n",
        "unittest": f"Ran {number} tests in 1s\n\nOK\n",
        "vitest": f" Tests  {number} passed ({number})\n",
    }
    assert read_summary(texts[runner]) is None


def test_an_error_with_numbers_beyond_all_measure_is_read():
    number = "1" * 5_000
    assert overflow(ErrorText(f"maximum context length is {number} tokens"), "too long") is None
    assert overflow(ErrorText(f"prompt is too long: {number} in the completion"), "too long") is not None
