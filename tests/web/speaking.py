"""A model that says what it is told to say, when it is told: here, or as a program of its own."""

from __future__ import annotations

import asyncio
import json
import queue
import sys
from collections.abc import AsyncIterator
from typing import Any

from antiphon.conversation import Conversation, Text, ToolCall
from antiphon.durable import Journal
from antiphon.session import Session
from antiphon.wire import Reply, TextDelta, Usage

#: What is put after the last piece of an answer.
END = None


class Speaker:
    """Answers with the pieces that are put into `pieces`, up to `END`; an error among them is raised."""

    name = "speaker"

    def __init__(self) -> None:
        self.pieces: queue.Queue[str | ToolCall | Exception | None] = queue.Queue()

    def cost(self, usage: Usage) -> float | None:  # noqa: ARG002
        return None

    async def achat(self, conversation: Conversation, **options: Any) -> Reply:
        raise NotImplementedError

    def astream(self, conversation: Conversation, **options: Any) -> _Answer:  # noqa: ARG002
        return _Answer(self.pieces)


class _Answer:
    def __init__(self, pieces: queue.Queue[str | ToolCall | Exception | None]) -> None:
        self._pieces = pieces
        self._parts: list[Any] = []

    async def __aenter__(self) -> _Answer:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def __aiter__(self) -> AsyncIterator[TextDelta]:
        while (piece := await asyncio.to_thread(self._pieces.get)) is not END:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, ToolCall):
                self._parts.append(piece)
            else:
                self._parts.append(Text(piece))
                yield TextDelta(piece)

    @property
    def reply(self) -> Reply:
        text = "".join(part.text for part in self._parts if isinstance(part, Text))
        calls = [part for part in self._parts if isinstance(part, ToolCall)]
        return Reply((*([Text(text)] if text else ()), *calls), "tool_calls" if calls else "end", usage=Usage(10, 5))


def main(place: str) -> None:
    """Ask in a run of a journal; each line of the input is a piece, as JSON."""
    model = Speaker()
    run = Session(model, system="Be kind.", journal=Journal(place)).start("Tell me *everything*.")
    print(run.id, flush=True)
    for line in sys.stdin:
        model.pieces.put(json.loads(line))
    run.wait()


if __name__ == "__main__":
    main(sys.argv[1])
