"""A message stays in the chat, whenever its answer is stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.chat.service import ChatOptions, ChatService
from antiphon.chat.tool_selection import ToolSelection
from antiphon.errors import AntiphonError
from antiphon.fakes import Fake

#: A file of tools that takes long to load, as a server of tools does that has to be installed.
SLOW = """\
import pathlib, time
while not pathlib.Path("go").exists():
    time.sleep(0.01)

def look() -> str:
    '''Look.'''
    return "seen"
"""


def test_a_message_whose_answer_is_stopped_before_it_began_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("slow.py").write_text(SLOW)
    options = ChatOptions(location="logs.db", tools=ToolSelection(own=(str(tmp_path / "slow.py"),)))
    with Fake("Hello yourself.") as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        monkeypatch.setenv("ANTIPHON_MODEL", "openai/gpt-5")
        with ChatService().open(options) as chat:
            reply = chat.send("Hello?")
            chat.stop()
            Path("go").touch()
            with pytest.raises(AntiphonError, match="cancelled"):
                reply.result()
            assert fake.requests == []
            assert (chat.is_unanswered, chat.state) == (True, "idle")
            assert [turn.text for turn in chat.conversation.turns] == ["Hello?"]
            assert str(chat.ask_again().result()) == "Hello yourself."
        with ChatService().open(ChatOptions(location="logs.db", resume_last=True)) as chat:
            assert [turn.text for turn in chat.conversation.turns] == ["Hello?", "Hello yourself."]
