"""What people see of a provider's tools: calls by their kind, and the sources of an answer."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from antiphon import Session
from antiphon.conversation import (
    AssistantTurn,
    Citation,
    Conversation,
    Origin,
    ProviderPayload,
    ServerCall,
    ServerResult,
    Text,
)
from antiphon.session import RequestEnded
from antiphon.terminal.live_view import LiveView
from antiphon.terminal.transcript import TranscriptPrinter
from antiphon.views.server_tools import (
    format_markdown_sources,
    format_server_call,
    get_server_call_kind,
    list_server_results,
)
from antiphon.views.stream import event_json
from antiphon.web.transcript import conversation_call_json, conversation_turn_json
from tests.providers.scripted import Scripted

NATIVE = ProviderPayload(Origin("anthropic", "anthropic", "m"), {"type": "x"})
PAGE = Citation("https://a.example/p", "A [page]")
SEARCH = ServerCall("s1", "web_search", {"query": "peaks"}, native=NATIVE)
CODE = ServerCall("s2", "code_execution", {"code": "print(1)"}, native=NATIVE)
TURN = AssistantTurn(
    (
        SEARCH,
        ServerResult("s1", (PAGE,), native=NATIVE),
        CODE,
        ServerResult("s2", (), "1\n", ("plot.png",), NATIVE),
        Text("It is so.", NATIVE, (Citation(PAGE.url, PAGE.title, "quote", 0, 5),)),
    )
)


def conversation() -> Conversation:
    made = Conversation().add_user("Well?")
    made.add_reply(TURN.parts)
    return made


def test_calls_have_kinds_and_titles():
    assert (get_server_call_kind(SEARCH), format_server_call(SEARCH)) == ("search", "web_search: peaks")
    assert (get_server_call_kind(CODE), format_server_call(CODE)) == ("code", "code_execution: print(1)")
    asked = ServerCall("s", "mcp", {"server": "wiki", "tool": "ask", "arguments": {"q": 1}})
    assert (get_server_call_kind(asked), format_server_call(asked)) == ("tool", "mcp wiki.ask")


def test_results_are_of_kinds_that_can_be_drawn():
    assert [each.kind for each in list_server_results(SEARCH, TURN)] == ["table"]
    assert [each.kind for each in list_server_results(CODE, TURN)] == ["terminal", "structured"]


def test_sources_are_a_list_in_which_only_web_addresses_are_links():
    given = [PAGE, Citation("javascript:alert(1)", "B"), Citation(title="notes.txt")]
    assert format_markdown_sources(given).splitlines()[2:] == [
        "1. A \\[page\\] <https://a.example/p>",
        "2. B",
        "3. notes.txt",
    ]
    assert format_markdown_sources([]) == ""


@pytest.mark.parametrize("full", [True, False])
def test_a_saved_conversation_lists_calls_and_sources(full: bool):
    out = Console(file=io.StringIO(), width=100)
    TranscriptPrinter(out, full=full).conversation(conversation())
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "web_search: peaks" in shown
    assert shown.count("https://a.example/p") == 1 + full
    assert "Sources:" in shown


def test_the_page_has_them_as_calls():
    pieces = conversation_turn_json(TURN, 1)["pieces"]
    assert [(each["type"], each.get("name")) for each in pieces] == [
        ("call", "web_search"),
        ("call", "code_execution"),
        ("text", None),
        ("text", None),
    ]
    assert "https://a.example/p" in pieces[-1]["text"]
    opened = conversation_call_json(conversation(), 1, "s2", 20)
    assert opened["call"]["name"] == "code_execution"
    assert len(opened["views"]) == 2


def test_a_run_tells_the_sources_of_its_answer():
    cited = {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "cited_text": "q"}
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "So.", "citations": [cited]}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    events: list[Any] = []
    out = Console(file=io.StringIO(), width=100)
    with Scripted(answer) as server, server.connect("anthropic/claude-sonnet-5-5") as model:
        session = Session(model)
        with LiveView(out) as live:
            for event in session.start("Well?").events():
                events.append(event)
                live.show(event)
    ended = [event for event in events if isinstance(event.body, RequestEnded)]
    assert [each.body.sources for each in ended] == [(Citation("https://a.example", "A"),)]
    assert json.loads(json.dumps(event_json(ended[0])))["sources"] == [{"url": "https://a.example", "title": "A"}]
    assert "https://a.example" in out.file.getvalue()  # type: ignore[attr-defined]
