"""Chats and sessions with a store that are killed at any moment go on, and nothing is lost or done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon import connect
from antiphon.chat.service import ChatOptions, ChatService
from antiphon.fakes import Fake
from tests.forks import Forked

ROOT = Path(__file__).parents[2]
KILLS = os.environ.get("ANTIPHON_KILLS", "12")


@pytest.mark.parametrize("program", ["chat", "messages"])
def test_a_chat_that_is_killed_goes_on(program: str) -> None:
    command = [sys.executable, "bench/kills.py", "--kills", KILLS, "--only", program]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert told.returncode == 0, told.stderr + told.stdout


def test_a_message_that_is_saved_is_answered_wherever_the_process_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Fake(lambda received: "First." if "Two" not in str(received.body) else "Second.") as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        status, at = -signal.SIGKILL, 0
        while status == -signal.SIGKILL:
            at += 1
            monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / f"{at}.db"))
            with Forked(str(at), work="tests.chat.killing:send_twice") as process:
                status = process.wait(60)
            with ChatService().open(ChatOptions(model=connect("openai/gpt-5"), id="kept")) as chat:
                assert chat.saved_run is not None
                if chat.unfinished_run:
                    chat.continue_answer().result()
                said = [turn.text for turn in chat.conversation.turns]
                sent = len(chat.saved_run.journal.list_messages("kept"))
            assert said == ["One", "First.", "Two", "Second."][: 2 * sent], at
        assert (status, at > 5) == (0, True)
