"""Tools of the provider in sessions: what is declared, where a local form takes their place, and that secrets stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon import Conversation, Session, connect
from antiphon.conversation import ProviderPayload, ServerCall, ToolSpec
from antiphon.errors import OptionError, RequestRejected
from antiphon.tools import (
    CodeExecution,
    Computer,
    FileSearch,
    MCPServer,
    ToolSearch,
    WebFetch,
    WebSearch,
)
from antiphon.wire import Options, Target, wire
from tests.providers.scripted import Scripted, Status

CLAUDE, GPT, GEMINI = "anthropic/claude-sonnet-5-5", "openai/gpt-6-sol", "google/gemini-3.8-flash"
CONTAINER = {"type": "auto", "file_ids": ["f1"]}
FOUND = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "news"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://a.example", "title": "A"}],
    },
    {
        "type": "text",
        "text": "Nothing new.",
        "citations": [{"type": "web_search_result_location", "url": "https://a.example", "title": "A"}],
    },
]


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": list(blocks),
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def lookup(word: str) -> str:
    """Look up a word."""
    return word


def search_here(query: str) -> str:
    """Search from this machine."""
    return query


def body(model: str, *tools: Any) -> dict[str, Any]:
    with Session(connect(model, key="k"), tools) as session:
        sent = json.loads(session.request("Hello"))
    for tool in sent["tools"]:
        tool.pop("cache_control", None)
    return sent


class TestDeclared:
    def test_search(self):
        tool = WebSearch(domains=["a.example"], max_uses=3, location={"city": "Paris"})
        (declared,) = body(CLAUDE, tool)["tools"]
        assert declared == {
            "type": "web_search_20260318",
            "name": "web_search",
            "allowed_domains": ["a.example"],
            "max_uses": 3,
            "user_location": {"type": "approximate", "city": "Paris"},
            "allowed_callers": ["direct"],
        }
        sent = body(GPT, WebSearch(domains=["a.example"]))
        assert sent["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}]
        assert "web_search_call.action.sources" in sent["include"]
        assert body(GEMINI, WebSearch())["tools"] == [{"googleSearch": {}}]

    @pytest.mark.parametrize(
        ("model", "tool", "declared"),
        [
            (CLAUDE, WebFetch(), {"type": "web_fetch_20260318", "name": "web_fetch", "citations": {"enabled": True}}),
            (CLAUDE, CodeExecution(), {"type": "code_execution_20260521", "name": "code_execution"}),
            (GPT, CodeExecution(files=["f1"]), {"type": "code_interpreter", "container": CONTAINER}),
            (GPT, FileSearch(stores=["vs_1"]), {"type": "file_search", "vector_store_ids": ["vs_1"]}),
            (GEMINI, FileSearch(stores=["s"]), {"fileSearch": {"fileSearchStoreNames": ["s"]}}),
            (GEMINI, CodeExecution(), {"codeExecution": {}}),
            (GEMINI, WebFetch(), {"urlContext": {}}),
            (
                GPT,
                WebSearch(extra={"openai": {"search_context_size": "low"}}),
                {"type": "web_search", "search_context_size": "low"},
            ),
        ],
    )
    def test_each(self, model: str, tool: Any, declared: dict[str, Any]):
        assert body(model, tool)["tools"] == [declared]

    def test_beside_functions_in_a_stable_order(self):
        sent = body(CLAUDE, WebSearch(), lookup)
        assert [tool["name"] for tool in sent["tools"]] == ["lookup", "read_result", "web_search"]
        google = body(GEMINI, WebSearch(), lookup)
        assert google["toolConfig"] == {"includeServerSideToolInvocations": True}
        assert [list(tool) for tool in google["tools"]] == [["functionDeclarations"], ["googleSearch"]]

    def test_a_search_for_tools_defers_their_declarations(self):
        sent = body(CLAUDE, ToolSearch(kind="regex", tools=["lookup"]), lookup)
        by_name = {tool["name"]: tool for tool in sent["tools"]}
        assert by_name["lookup"]["defer_loading"] is True
        assert "defer_loading" not in by_name["read_result"]
        assert by_name["tool_search_tool_regex"]["type"] == "tool_search_tool_regex_20251119"

    def test_a_native_declaration_stays_possible(self):
        target = Target("google", "gemini", "gemini-3.8-flash")
        tool = ToolSpec("maps", native=ProviderPayload(target.origin, {"googleMaps": {}}))
        conversation = Conversation(tools=[tool]).add_user("Hello")
        sent = json.loads(wire("gemini").encode(conversation, target, Options()).body)
        assert sent["tools"] == [{"googleMaps": {}}]


class TestMissing:
    @pytest.mark.parametrize(
        ("model", "tool", "missing"),
        [
            ("mistral/mistral-large-latest", WebSearch(), "web_search"),
            (CLAUDE, FileSearch(stores=["s"]), "file_search"),
            (GPT, WebSearch(max_uses=3), "max_uses"),
            (GEMINI, WebSearch(blocked=["a.example"]), "blocked"),
            (GPT, CodeExecution(packages=["numpy"]), "packages"),
        ],
    )
    def test_a_session_is_refused(self, model: str, tool: Any, missing: str):
        with pytest.raises(OptionError, match=missing) as caught:
            Session(connect(model, key="k"), [tool])
        assert "local=" in str(caught.value)

    def test_the_local_form_takes_its_place(self):
        sent = body("mistral/mistral-large-latest", WebSearch(local=search_here))
        assert [tool["function"]["name"] for tool in sent["tools"]] == ["search_here", "read_result"]
        fetched = body("mistral/mistral-large-latest", WebFetch(domains=["a.example"]))
        assert [tool["function"]["name"] for tool in fetched["tools"]] == ["fetch_url", "read_result"]
        searched = body("mistral/mistral-large-latest", ToolSearch(), lookup)
        assert [tool["function"]["name"] for tool in searched["tools"]] == ["lookup", "read_result"]

    def test_a_page_may_be_read_from_here_only_where_domains_are_named(self):
        with pytest.raises(OptionError, match="web_fetch"):
            Session(connect("mistral/mistral-large-latest", key="k"), [WebFetch()])

    def test_functions_stand_apart_where_the_model_wants_it(self):
        older = "google/gemini-2.5-flash"
        assert body(older, WebSearch())["tools"] == [{"googleSearch": {}}]
        with pytest.raises(OptionError, match="functions"):
            Session(connect(older, key="k"), [WebSearch(), lookup])

    def test_a_change_of_model_is_checked_and_undone(self):
        session = Session(connect(CLAUDE, key="k"), [WebSearch()])
        with pytest.raises(OptionError, match="web_search"):
            session.model = connect("mistral/mistral-large-latest", key="k")
        assert session.model.name == CLAUDE

    def test_a_change_of_model_changes_who_runs_it(self):
        session = Session(connect(CLAUDE, key="k"), [WebSearch(local=search_here)])
        assert json.loads(session.request("a"))["tools"][0]["name"] == "web_search"
        session.model = connect("mistral/mistral-large-latest", key="k")
        sent = json.loads(session.request("a"))
        assert [tool["function"]["name"] for tool in sent["tools"]] == ["search_here", "read_result"]
        session.model = connect(GPT, key="k")
        assert {"type": "web_search"} in json.loads(session.request("a"))["tools"]
        assert session.tools == [tool for tool in session.tools if tool.name in ("web_search", "read_result")]

    def test_a_conversation_without_a_session_is_refused_too(self):
        conversation = Conversation(tools=[WebSearch().spec]).add_user("a")
        with pytest.raises(OptionError, match="web_search"):
            connect("mistral/mistral-large-latest", key="k").request(conversation)


class TestSecrets:
    SERVER = MCPServer("https://mcp.example/mcp", "wiki", tools=["ask"], authorization="tok-123")

    def test_are_sent_where_each_provider_wants_them(self):
        claude = body(CLAUDE, self.SERVER)
        assert claude["mcp_servers"] == [
            {"type": "url", "url": "https://mcp.example/mcp", "name": "wiki", "authorization_token": "tok-123"}
        ]
        assert claude["tools"] == [
            {
                "type": "mcp_toolset",
                "mcp_server_name": "wiki",
                "default_config": {"enabled": False},
                "configs": {"ask": {"enabled": True}},
            }
        ]
        (gpt,) = body(GPT, self.SERVER)["tools"]
        assert (gpt["authorization"], gpt["server_label"], gpt["allowed_tools"]) == ("tok-123", "wiki", ["ask"])
        (gemini,) = body(GEMINI, MCPServer("https://mcp.example", "wiki", authorization="tok-123"))["tools"]
        transport = gemini["mcpServers"][0]["streamableHttpTransport"]
        assert transport == {"url": "https://mcp.example", "headers": {"Authorization": "Bearer tok-123"}}

    def test_are_neither_shown_nor_saved(self, tmp_path: Path):
        conversation = Conversation(tools=[self.SERVER.spec]).add_user("a")
        conversation.save(tmp_path / "c.json")
        assert "tok-123" not in (tmp_path / "c.json").read_text() + repr(self.SERVER) + repr(conversation.tools)
        loaded = Conversation.load(tmp_path / "c.json")
        assert loaded.tools == conversation.tools
        with pytest.raises(OptionError, match="authorization"):
            connect(GPT, key="k").request(loaded)
        with Session(connect(GPT, key="k"), [self.SERVER], conversation=loaded) as session:
            assert "tok-123" in session.request("b").decode()

    def test_are_not_recorded_and_not_told_in_errors(self, tmp_path: Path):
        def refuse(got: Any) -> Status:
            return Status(
                400, {"error": {"type": "invalid_request_error", "message": f"bad token tok-123 in {got.path}"}}
            )

        def ask(url: str, **settings: Any) -> str:
            with connect(GPT, url=url, key="k", **settings) as model, pytest.raises(RequestRejected) as caught:
                Session(model, [self.SERVER]).chat("Hello")
            return f"{caught.value} {caught.value!r}"

        path = tmp_path / "exchanges.jsonl"
        with Scripted(refuse) as server:
            url = server.connect(GPT).url
            assert "tok-123" not in ask(url, record=path)
        assert "tok-123" not in path.read_text()
        assert "bad token" in ask(url, replay=path)

    def test_the_server_is_asked_with_its_beta(self):
        with Scripted(said({"type": "text", "text": "Yes."})) as server, server.connect(CLAUDE) as model:
            Session(model, [self.SERVER]).chat("Hello")
        assert "mcp-client" in server.requests[0].headers["anthropic-beta"]


class TestRunning:
    def test_a_search_is_answered_without_a_result_of_ours(self):
        with Scripted(said(*FOUND), said({"type": "text", "text": "Yes."})) as server, server.connect(CLAUDE) as model:
            session = Session(model, [WebSearch()])
            assert session.chat("News?").value == "Nothing new."
            session.chat("Sure?")
        first, second = server.bodies
        assert second["messages"][1]["content"] == FOUND
        assert second["tools"] == first["tools"]
        turn = session.conversation.turns[1]
        assert isinstance(turn.parts[0], ServerCall)
        assert not any(block.get("type") == "tool_result" for m in second["messages"] for block in m["content"])

    def test_another_provider_is_told_once_what_was_found(self):
        answer = {"output": [{"type": "message", "role": "assistant", "content": "Yes."}], "status": "completed"}
        with Scripted(said(*FOUND), answer, answer) as server, server.connect(CLAUDE) as model:
            session = Session(model, [WebSearch()])
            session.chat("News?")
            session.model = server.connect(GPT)
            session.chat("Sure?")
            session.chat("Really?")
        _, second, third = server.bodies
        for sent in (second, third):
            texts = json.dumps(sent["input"])
            assert texts.count("A (https://a.example)") == 1
            assert "server_tool_use" not in texts
        assert third["input"][: len(second["input"])] == second["input"]

    def test_actions_of_a_computer_are_carried_out_here(self):
        done: list[Any] = []

        def act(actions: list[dict[str, Any]]) -> str:
            """Carry out actions."""
            done.extend(actions)
            return "done"

        call = {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "call_1",
            "status": "completed",
            "actions": [{"type": "click", "x": 1, "y": 2}],
            "pending_safety_checks": [],
        }
        answers = [
            {"output": [call], "status": "completed"},
            {"output": [{"type": "message", "role": "assistant", "content": "Clicked."}], "status": "completed"},
        ]
        with Scripted(*answers) as server, server.connect(GPT) as model:
            assert Session(model, [Computer(local=act)]).vibe("Click").value == "Clicked."
        assert done == [{"type": "click", "x": 1, "y": 2}]
        assert {"type": "computer"} in server.bodies[0]["tools"]

    def test_members_of_a_toolset_are_actions(self):
        done: list[Any] = []

        def act(action: str, coordinate: list[int]) -> str:
            """Carry out an action."""
            done.append((action, coordinate))
            return "done"

        use = {"type": "tool_use", "id": "t1", "name": "left_click", "toolset_name": "computer"}
        first = {**said(use | {"input": {"coordinate": [1, 2]}}), "stop_reason": "tool_use"}
        with Scripted(first, said({"type": "text", "text": "Clicked."})) as server, server.connect(CLAUDE) as model:
            assert Session(model, [Computer(local=act)]).vibe("Click").value == "Clicked."
        assert done == [("left_click", [1, 2])]
        assert server.bodies[0]["tools"][0]["type"] == "computer_toolset_20260801"
        assert server.bodies[1]["messages"][-1]["content"][0]["toolset_name"] == "computer"
