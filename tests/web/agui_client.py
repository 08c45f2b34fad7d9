"""A client of AG-UI: it puts messages together as the protocol says, and takes nothing that its types do not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
from ag_ui.core import Event, RunAgentInput
from pydantic import TypeAdapter

from tests.web.browser import TOKEN

HERE = "http://127.0.0.1:8321"
EVENTS: TypeAdapter[Any] = TypeAdapter(Event)
_OPENED = {
    "TEXT_MESSAGE": ("messageId", "CONTENT"), "REASONING_MESSAGE": ("messageId", "CONTENT"),
    "REASONING": ("messageId", ""), "TOOL_CALL": ("toolCallId", "ARGS"),
}  # fmt: skip


def posted(page: Any, data: Any, token: str = TOKEN, **headers: str) -> httpx2.Response:
    """What is answered to a request of a server."""

    async def send() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(page), base_url=HERE, timeout=60) as client:
            sent = {"authorization": f"Bearer {token}", **headers}
            return await client.post("/agui", json=data, headers=sent)

    return asyncio.run(send())


def events_of(body: str) -> list[dict[str, Any]]:
    """The events of a stream; all that is sent is one that the package knows, and nothing more than it knows."""
    lines = [line for line in body.split("\n\n") if line and not line.startswith(":")]
    found = [json.loads(line.removeprefix("data: ")) for line in lines]
    for each in found:
        read = EVENTS.validate_python(each)
        assert not read.model_extra, (each, read.model_extra)
        assert read.model_dump(mode="json", by_alias=True) == each
    check_order(found)
    return found


def check_order(events: list[dict[str, Any]]) -> None:
    """What is begun is ended, once, and nothing is added to what is not begun."""
    types = [each["type"] for each in events]
    assert types[0] == "RUN_STARTED"
    assert types[-1] in ("RUN_FINISHED", "RUN_ERROR")
    assert types.count("RUN_STARTED") == 1
    open_now: set[tuple[str, str]] = set()
    for each in events:
        for family, (key, middle) in _OPENED.items():
            item = family, each.get(key, "")
            if each["type"] == f"{family}_START":
                assert item not in open_now
                open_now.add(item)
            elif each["type"] == f"{family}_{middle}":
                assert item in open_now
            elif each["type"] == f"{family}_END":
                open_now.remove(item)
    if types[-1] == "RUN_FINISHED":
        assert not open_now


class Client:
    """One thread, as a page has it."""

    def __init__(self, page: Any, thread: str = "5f0c2a9e-thread", tools: list[dict[str, Any]] | None = None) -> None:
        self.page = page
        self.thread = thread
        self.tools = tools
        self.messages: list[dict[str, Any]] = []
        self.runs = 0

    def ask(self, text: str) -> list[dict[str, Any]]:
        self.messages.append({"id": f"u{len(self.messages)}", "role": "user", "content": text})
        return self.run()

    def answer(self, call: str, content: Any, **more: Any) -> None:
        self.messages.append({"id": f"t-{call}", "role": "tool", "toolCallId": call, "content": content, **more})

    def run(self, **more: Any) -> list[dict[str, Any]]:
        response = self.post(**more)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        events = events_of(response.text)
        self.take(events)
        return events

    def post(self, **more: Any) -> httpx2.Response:
        self.runs += 1
        given = {
            "threadId": self.thread, "runId": f"{self.thread}-run{self.runs}", "messages": self.messages,
            "protocolVersion": "1.0", **({"tools": self.tools} if self.tools else {}), **more,
        }  # fmt: skip
        RunAgentInput.model_validate(given)
        return posted(self.page, given)

    def take(self, events: list[dict[str, Any]]) -> None:
        for each in events:
            match each["type"]:
                case "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START":
                    self._add({"id": each["messageId"], "role": each["role"], "content": ""})
                case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                    self._message(each["messageId"])["content"] += each["delta"]
                case "TOOL_CALL_START":
                    self._add({"id": each["parentMessageId"], "role": "assistant"})
                    made = {"id": each["toolCallId"], "type": "function"}
                    made["function"] = {"name": each["toolCallName"], "arguments": ""}
                    self._message(each["parentMessageId"]).setdefault("toolCalls", []).append(made)
                case "TOOL_CALL_ARGS":
                    self._call(each["toolCallId"])["function"]["arguments"] += each["delta"]
                case "TOOL_CALL_RESULT":
                    more = {"toolCallId": each["toolCallId"], "content": each["content"]}
                    self.messages.append({"id": each["messageId"], "role": "tool", **more})
                case "MESSAGES_SNAPSHOT":
                    self.messages = each["messages"]
                case _:
                    pass

    def _add(self, message: dict[str, Any]) -> None:
        if all(each["id"] != message["id"] for each in self.messages):
            self.messages.append(message)

    def _message(self, id: str) -> dict[str, Any]:
        return next(each for each in self.messages if each["id"] == id)

    def _call(self, id: str) -> dict[str, Any]:
        return next(call for each in self.messages for call in each.get("toolCalls", ()) if call["id"] == id)


def types(events: list[dict[str, Any]]) -> list[str]:
    """What happened, without repetitions."""
    names = [each["type"] for each in events]
    return [each for number, each in enumerate(names) if number == 0 or names[number - 1] != each]


def outcome(events: list[dict[str, Any]]) -> dict[str, Any]:
    return events[-1]["outcome"]
