"""Chats in a pseudo-terminal, with providers that are faked over HTTP."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from antiphon import Store
from antiphon.conversation import Conversation
from antiphon.fakes import Fake
from tests.cli.terminal import Terminal

GPT, CLAUDE = "openai/gpt-5", "anthropic/claude-sonnet-5"
Start = Callable[..., Terminal]


def chat_starter(fake: Fake, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts `antiphon chat` in this directory; at the end all chats are stopped."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "ANTIPHON_DB": str(tmp_path / "logs.db"),
        "OPENAI_API_KEY": "any",
        "OPENAI_BASE_URL": fake.base_url("openai"),
        "ANTHROPIC_API_KEY": "any",
        "ANTHROPIC_BASE_URL": fake.base_url("anthropic"),
    }
    open_ones: list[Terminal] = []

    def begin(*arguments: str, columns: int = 80, **more: str) -> Terminal:
        terminal = Terminal("chat", *arguments, env=env | more, cwd=tmp_path, columns=columns)
        open_ones.append(terminal)
        return terminal

    yield begin
    for terminal in open_ones:
        terminal.__exit__(None, None, None)


def saved(tmp_path: Path) -> Conversation:
    """What the store has; it has an answer when the next prompt is shown, and not yet when the answer is."""
    return Store(tmp_path / "logs.db").load("last")


def saved_texts(tmp_path: Path) -> list[str]:
    """The texts of the turns that the store has."""
    return [turn.text for turn in saved(tmp_path).turns]


def wait_for(fake: Fake, requests: int) -> None:
    """Wait until the fake has got so many requests."""
    ends = time.monotonic() + 60
    while len(fake.requests) < requests:
        assert time.monotonic() < ends
        time.sleep(0.01)
