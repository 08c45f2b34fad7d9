"""Live events of the transcript of a session: its turns, and the answer as it comes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from antiphon.conversation import Turn
from antiphon.views.markdown import MarkdownStream
from antiphon.views.run_state import describe_attempt
from antiphon.web.chat import chat_json, chat_session_json
from antiphon.web.sse import EventFeed
from antiphon.web.step_events import SseEvent
from antiphon.web.transcript import conversation_turn_json

if TYPE_CHECKING:
    from antiphon.chat.chat import Chat
    from antiphon.chat.live_reply import LiveReply
    from antiphon.durable import Journal


class TranscriptFeed(EventFeed):
    """Tracks what a page has received of a chat, and produces what is new."""

    def __init__(self, journal: Journal, chat: Chat) -> None:
        super().__init__(journal)
        self._chat = chat
        self._turns: tuple[Turn, ...] | None = None
        self._live = self._text = self._thinking = self._calls = self._retries = -1
        self._markdown = MarkdownStream()

    def subscribe(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call a function on changes of the chat; return the function that ends this."""
        return self._chat.subscribe(wake)

    def _own(self) -> Generator[SseEvent]:
        chat = self._chat
        chat.look()
        # Live output is read before the turns, so that a finished answer is in one of them.
        live, turns = chat.live, chat.conversation.turns
        yield from self._new_turns(turns)
        yield from self._if_other("accounts", chat.accounts.by_turn)
        # The state comes before the first piece of an answer, which can be stopped as soon as it is seen.
        yield from self._if_other("chat", chat_json(chat))
        if live.before is turns:
            yield from self._new_pieces(live)
        yield from self._if_other("session", chat_session_json(self._journal, chat))

    def _listed(self) -> Generator[SseEvent]:
        yield from ()

    def _new_turns(self, turns: tuple[Turn, ...]) -> Generator[SseEvent]:
        known = self._turns
        if known is turns:
            return
        same = 0
        for old, new in zip(known or (), turns, strict=False):
            if old is not new:
                break
            same += 1
        self._turns, self._live = turns, -1
        fresh = [conversation_turn_json(turn, number) for number, turn in enumerate(turns[same:], same)]
        yield "", "turns", {"from": same, "turns": fresh}

    def _new_pieces(self, live: LiveReply) -> Generator[SseEvent]:
        if self._live != live.number:
            self._live, self._text, self._thinking, self._calls, self._retries = live.number, 0, 0, 0, 0
            self._markdown = MarkdownStream()
        # Texts only grow.
        text, thinking, calls, retries = map(len, (live.text, live.thinking, live.calls, live.retries))
        if (text, thinking, calls, retries) == (self._text, self._thinking, self._calls, self._retries):
            return
        said = "".join(live.text[self._text : text])
        retried = live.retries[self._retries : retries]
        yield (
            "",
            "answer",
            {
                "number": live.number,
                "said": self._markdown.feed(said).to_json() if said else None,
                "thinking": "".join(live.thinking[self._thinking : thinking]),
                "calls": live.calls[self._calls : calls],
                "retries": [f"{each.reason}; {describe_attempt(each)}" for each in retried],
            },
        )
        self._text, self._thinking, self._calls, self._retries = text, thinking, calls, retries
