"""Texts from outside are read in time that grows with their length, not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from antiphon._base.json import prune_deep_json
from antiphon.lang.syntax.source import extract_first_comment
from antiphon.local.groundedness import needs_no_tool, select_required_tools
from antiphon.providers.redaction import find_request_secrets
from antiphon.session.output_type import make_output_type
from antiphon.team.known_test_runners import parse_runner_summary
from antiphon.team.secret_scan import find_secret
from antiphon.tools.process_runner import is_secret_variable
from antiphon.tools.rule_matching import ShellCommand
from antiphon.wire.context_overflow import make_overflow_error
from antiphon.wire.openai_chat.rejected_calls import read_rejected_calls
from antiphon.wire.reply import ProviderErrorInfo
from antiphon.wire.text_conventions import extract_message

_LENGTH = 5_000
#: Readers by name, each with what is before a text that repeats, what is repeated, and what is after it.
READERS: dict[str, tuple[Callable[[str], object], str, str, str]] = {
    "summary-blanks": (parse_runner_summary, "Tests", " ", ""),
    "summary-digits": (parse_runner_summary, "Tests 1 passed ", "1", "(1)\n"),
    "summary-words": (parse_runner_summary, "", "1 a", "\n"),
    "summary-colours": (parse_runner_summary, "", "\x1b[1", ""),
    "secret-address": (find_secret, "", "+z", ""),
    "secret-token": (find_secret, "", "-eyJ", ""),
    "variable-address": (lambda text: is_secret_variable("X", text), "://", ":", ""),
    "variable-token": (lambda text: is_secret_variable("X", text), "", "-eyJaaaaaaaaaa", ""),
    **{
        f"hide-{name}": (find_request_secrets({}, 'a"/-b' * 3).hide, before, repeated, "")
        for name, before, repeated in (
            *(("key", "", "sk-"), ("jwt", "", "-eyJaaaaaaaaaa."), ("pem", "", "-----BEGIN A PRIVATE KEY-----")),
            *(
                ("address", "://", ":"),
                ("addresses", "", "://a:"),
                ("blanks", "Bearer", " "),
                ("basic", "", "authorization:  "),
            ),
            *(("slashes", "a", "\\"), ("escapes", "", 'a\\\\"'), ("numbers", "a&#", "0"), ("html", "a", "&amp;")),
        )
    },
    **{
        f"computed-{name}": (lambda text: ShellCommand("command", text, None).is_computed, before, repeated, "")
        for name, before, repeated in (
            *(
                ("lines", "", "\n"),
                ("blanks", ";", " "),
                ("marks", "", "!"),
                ("words", "", "then "),
                ("values", "", "\nA= "),
            ),
            *(("value", "A=", " "), ("names", "", "\nA=b "), ("one-name", "", "A"), ("texts", "", "(a")),
        )
    },
    "summary-letters": (parse_runner_summary, "", "a", " 1 passed in 1s\n"),
    "request-blanks": (lambda text: needs_no_tool(text, []), "", " ", ""),
    "request-words": (lambda text: needs_no_tool(text, []), "", ":", ""),
    "request-marks": (lambda text: select_required_tools(text, []), "", ",", ""),
    "request-numbers": (lambda text: needs_no_tool(text, []), "what is 1", " 1", "a"),
    "first-comment": (extract_first_comment, "#!", "\t", ""),
    "json-strings": (prune_deep_json, "", '"a\\', ""),
    "json-breaks": (prune_deep_json, "", '"a\\\n', ""),
    "answer-strings": (lambda text: make_output_type(float).find_inexact_numbers(text), "", '"a\\', ""),
    "answer-digits": (lambda text: make_output_type(float).find_inexact_numbers(text), "", "1", ""),
    "refused-calls": (
        lambda text: read_rejected_calls({"code": "tool_use_failed", "failed_generation": text}),
        "",
        "<function=a>",
        "",
    ),
    "overflow-digits": (
        lambda text: make_overflow_error(ProviderErrorInfo(f"prompt is too long {text}"), ""),
        "",
        "1",
        "",
    ),
    "page-comments": (lambda text: extract_message(text.encode()), "<", "<!--", ""),
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
    assert parse_runner_summary(texts[runner]) is None


def test_an_error_with_numbers_beyond_all_measure_is_read():
    number = "1" * 5_000
    assert make_overflow_error(ProviderErrorInfo(f"maximum context length is {number} tokens"), "too long") is None
    assert (
        make_overflow_error(ProviderErrorInfo(f"prompt is too long: {number} in the completion"), "too long")
        is not None
    )
