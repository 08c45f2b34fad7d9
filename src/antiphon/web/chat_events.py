"""Events of a chat: one stream for each page, which also reports the open questions of all runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Turn
from antiphon.errors import AntiphonError
from antiphon.views.markdown import MarkdownStream
from antiphon.views.run_state import describe_attempt
from antiphon.web.chat import chat_json
from antiphon.web.conversation_turns import conversation_turn_json
from antiphon.web.inbox import inbox
from antiphon.web.json_response import dump_redacted_json
from antiphon.web.stored import changes

if TYPE_CHECKING:
    from antiphon.chat.chat import Chat
    from antiphon.chat.live_reply import LiveReply
    from antiphon.durable import Journal

#: Seconds between updates of an answer, between polls of the journal, and between keep-alives.
_GATHERED, _PAUSE, _QUIET = 0.03, 0.3, 15.0

Event = tuple[str, Any]


async def stream(chat: Chat, journal: Journal) -> AsyncGenerator[str]:
    """Yield the events of a chat: the current state first, then each change."""
    from starlette.concurrency import run_in_threadpool

    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    watch = ChatWatch(chat, journal)
    leave = chat.subscribe(lambda: loop.call_soon_threadsafe(changed.set))
    quiet = 0.0
    try:
        yield "retry: 2000\n\n"
        while True:
            changed.clear()
            found = await run_in_threadpool(watch.new)
            for name, data in found:
                yield f"event: {name}\ndata: {dump_redacted_json(data)}\n\n"
            quiet = 0.0 if found else quiet + _PAUSE
            if quiet >= _QUIET:
                yield ": still here\n\n"
                quiet = 0.0
            try:
                await asyncio.wait_for(changed.wait(), _PAUSE)
                await asyncio.sleep(_GATHERED)
            except TimeoutError:
                pass
    finally:
        leave()


class ChatWatch:
    """Tracks what a page has received of a chat."""

    def __init__(self, chat: Chat, journal: Journal) -> None:
        self._chat = chat
        self._journal = journal
        self._turns: tuple[Turn, ...] | None = None
        self._live = self._text = self._thinking = self._calls = self._retries = -1
        self._markdown = MarkdownStream()
        self._told: dict[str, Any] = {}

    def new(self) -> list[Event]:
        """Return what the page has not received yet."""
        try:
            return list(self._new())
        except AntiphonError as error:
            return list(self._if_other("problem", str(error)))

    def _new(self) -> Generator[Event]:
        chat = self._chat
        chat.look()
        # Live output is read before the turns, so that a finished answer is in one of them.
        live, turns = chat.live, chat.conversation.turns
        yield from self._new_turns(turns)
        if live.before is turns:
            yield from self._new_pieces(live)
        yield from self._if_other("accounts", chat.accounts.by_turn)
        yield from self._if_other("chat", chat_json(chat))
        if self._is_other("changes", changes(self._journal)):
            yield from self._if_other("inbox", inbox(self._journal))

    def _new_turns(self, turns: tuple[Turn, ...]) -> Generator[Event]:
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
        yield "turns", {"from": same, "turns": fresh}

    def _new_pieces(self, live: LiveReply) -> Generator[Event]:
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
            "live",
            {
                "number": live.number,
                "said": self._markdown.feed(said).to_json() if said else None,
                "thinking": "".join(live.thinking[self._thinking : thinking]),
                "calls": live.calls[self._calls : calls],
                "retries": [f"{each.reason}; {describe_attempt(each)}" for each in retried],
            },
        )
        self._text, self._thinking, self._calls, self._retries = text, thinking, calls, retries

    def _if_other(self, name: str, data: Any) -> Generator[Event]:
        if self._is_other(name, data):
            yield name, data

    def _is_other(self, name: str, data: Any) -> bool:
        is_other = name not in self._told or self._told[name] != data
        self._told[name] = data
        return is_other
