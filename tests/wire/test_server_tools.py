"""Tools that a provider runs itself: their parts, their way back, and what another model is told of them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from antiphon.conversation import (
    Citation,
    Conversation,
    Note,
    Origin,
    ProviderPayload,
    ServerCall,
    ServerResult,
    Text,
    ToolResult,
    UserTurn,
)
from antiphon.wire import Options, Reply, Target, rules, wire
from antiphon.wire.prompt import announce_request_changes
from tests.recordings import exchanges

TARGETS = {
    "anthropic": Target("anthropic", "anthropic", "claude-sonnet-5-5"),
    "openai-responses": Target("openai", "openai-responses", "gpt-6-sol"),
    "openai-chat": Target("openai", "openai-chat", "gpt-4.1"),
    "gemini": Target("google", "gemini", "gemini-3.8-flash"),
}
PROVIDERS = {"anthropic": "anthropic", "openai-responses": "openai", "openai-chat": "openai", "gemini": "google"}
PLACEHOLDER = re.compile(r"\[[\w/.:+ -]+\]")

PAGE = {"type": "text", "media_type": "text/plain", "data": "Hello"}
SEARCH = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tallest peak"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {"type": "web_search_result", "url": "https://a.example", "title": "Peaks", "encrypted_content": "x"}
        ],
    },
    {
        "type": "text",
        "text": "Mount Columbia.",
        "citations": [
            {
                "type": "web_search_result_location",
                "url": "https://a.example",
                "title": "Peaks",
                "cited_text": "Columbia is the tallest",
                "encrypted_index": "y",
            }
        ],
    },
]


def encoded(conversation: Conversation, target: Target) -> dict[str, Any]:
    return json.loads(wire(target.api).encode(conversation, target, Options()).body)


def decoded(api: str, response: dict[str, Any]) -> Reply:
    return wire(api).decode(response, TARGETS[api].origin)


def searched() -> Conversation:
    conversation = Conversation().add_user("Which is the tallest?")
    reply = decoded("anthropic", {"content": SEARCH, "stop_reason": "end_turn"})
    conversation.add_reply(reply.parts)
    return conversation


def assistant_texts(data: dict[str, Any]) -> Iterator[str]:
    """Return every text that a body puts into the model's mouth."""
    for message in data.get("messages") or data.get("input") or data.get("contents") or []:
        if message.get("role") in ("assistant", "model"):
            content = message.get("content", message.get("parts"))
            for block in [{"text": content}] if isinstance(content, str) else content or []:
                if isinstance(block.get("text"), str):
                    yield block["text"]


def notes(conversation: Conversation) -> list[str]:
    turns = (turn for turn in conversation.turns if isinstance(turn, UserTurn))
    return [part.text for turn in turns for part in turn.parts if isinstance(part, Note)]


def _typed(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, kind: data}


class TestReading:
    def test_a_search_of_anthropic(self):
        call, result, text = searched().turns[1].parts
        assert call == ServerCall(
            "srvtoolu_1",
            "web_search",
            {"query": "tallest peak"},
            native=ProviderPayload(TARGETS["anthropic"].origin, SEARCH[0]),
        )
        assert isinstance(result, ServerResult)
        assert (result.call_id, result.sources) == ("srvtoolu_1", (Citation("https://a.example", "Peaks"),))
        cited = Citation("https://a.example", "Peaks", "Columbia is the tallest")
        assert isinstance(text, Text)
        assert text.citations == (cited,)

    @pytest.mark.parametrize(
        ("block", "text", "files"),
        [
            ({"type": "bash_code_execution_result", "stdout": "1\n", "stderr": "w", "return_code": 0}, "1\n\nw", ()),
            ({"type": "code_execution_result", "stdout": "", "content": [{"file_id": "f1"}]}, "", ("f1",)),
            ({"type": "web_fetch_tool_result_error", "error_code": "url_not_allowed"}, "failed: url_not_allowed", ()),
            ({"type": "web_fetch_result", "url": "https://a.example", "content": {"source": PAGE}}, "Hello", ()),
            ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo", ()),
            ({"tool_references": [{"tool_name": "a"}, {"tool_name": "b"}]}, "a, b", ()),
        ],
    )
    def test_results_of_anthropic(self, block: Any, text: str, files: tuple[str, ...]):
        content = [{"type": "x_tool_result", "tool_use_id": "s", "content": block}]
        (part,) = decoded("anthropic", {"content": content, "stop_reason": "end_turn"}).parts
        assert isinstance(part, ServerResult)
        assert (part.text, part.files) == (text, files)

    def test_items_of_openai_are_a_call_and_its_result(self):
        item = {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "wiki",
            "name": "ask",
            "arguments": '{"q":"x"}',
            "output": "It is so.",
            "status": "completed",
        }
        call, result = decoded("openai-responses", {"output": [item], "status": "completed"}).parts
        assert isinstance(call, ServerCall)
        assert isinstance(result, ServerResult)
        assert (call.tool, call.status) == ("mcp", "completed")
        assert call.input == {"server": "wiki", "tool": "ask", "arguments": {"q": "x"}}
        assert (result.call_id, result.text, result.native) == ("mcp_1", "It is so.", None)

    def test_sources_of_openai(self):
        search = {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "q", "sources": [{"type": "url", "url": "https://a.example"}]},
        }
        note = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 3}
        texts = [
            {"type": "output_text", "text": "One"},
            {"type": "output_text", "text": ". "},
            {"type": "output_text", "text": "Two.", "annotations": [note]},
        ]
        said = {"type": "message", "role": "assistant", "id": "msg_1", "content": texts}
        reply = decoded("openai-responses", {"output": [search, said], "status": "completed"})
        assert isinstance(reply.parts[1], ServerResult)
        assert reply.parts[1].sources == (Citation("https://a.example"),)
        assert reply.citations == (Citation("https://a.example", "A", "", 5, 8),)
        assert reply.text[5:8] == "Two"

    def test_code_of_gemini_is_paired_without_an_id(self):
        parts = [
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
        ]
        response = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
        call, result = decoded("gemini", response).parts
        assert isinstance(call, ServerCall)
        assert isinstance(result, ServerResult)
        assert (call.tool, call.input["code"]) == ("code_execution", "print(1)")
        assert (result.call_id, result.text) == (call.id, "1\n")

    def test_grounding_of_gemini_is_counted_in_characters(self):
        grounding = {
            "groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}],
            "groundingSupports": [
                {
                    "groundingChunkIndices": [0],
                    "segment": {"startIndex": 7, "endIndex": 12, "text": "Zwei."},
                }
            ],
        }
        candidate = {
            "content": {"parts": [{"text": "Größe Zwei."}]},
            "finishReason": "STOP",
            "groundingMetadata": grounding,
        }
        reply = decoded("gemini", {"candidates": [candidate]})
        (cited,) = reply.citations
        assert (cited.url, reply.text[cited.start : cited.end]) == ("https://a.example", "Zwei.")

    def test_sources_of_chat_completions(self):
        noted = {"url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}
        message = {"role": "assistant", "content": "So it is.", "annotations": [_typed("url_citation", noted)]}
        response = {"choices": [{"message": message, "finish_reason": "stop"}], "citations": ["https://b.example"]}
        found = decoded("openai-chat", response).citations
        assert found == (Citation("https://a.example", "A", "", 0, 2), Citation("https://b.example"))

    def test_no_call_waits_for_a_result(self):
        conversation = searched()
        assert conversation.open_calls == ()
        assert conversation.add_user("And?").ready()


class TestTheWayBack:
    def test_blocks_go_back_as_they_came(self):
        conversation = searched().add_user("And?")
        assert announce_request_changes(conversation, TARGETS["anthropic"], Options()) is None
        data = encoded(conversation, TARGETS["anthropic"])
        assert data["messages"][1]["content"] == SEARCH
        assert notes(conversation) == []

    def test_a_saved_conversation_holds_them(self, tmp_path: Any):
        conversation = searched().add_user("And?")
        conversation.save(tmp_path / "c.json")
        assert json.loads((tmp_path / "c.json").read_text())["version"] == 2
        assert Conversation.load(tmp_path / "c.json").turns == conversation.turns

    def test_a_call_alone_needs_the_new_version_of_the_file(self, tmp_path: Any):
        conversation = Conversation().add_user("a")
        conversation.add_reply(decoded("anthropic", {"content": SEARCH[:1], "stop_reason": "pause_turn"}).parts)
        conversation.save(tmp_path / "c.json")
        assert json.loads((tmp_path / "c.json").read_text())["version"] == 2

    def test_a_toolset_is_named_in_the_result(self):
        use = {"type": "tool_use", "id": "t1", "name": "left_click", "input": {}, "toolset_name": "computer"}
        conversation = Conversation().add_user("Click")
        conversation.add_reply(decoded("anthropic", {"content": [use], "stop_reason": "tool_use"}).parts)
        conversation.add_tool_result("t1", "done")
        result = encoded(conversation, TARGETS["anthropic"])["messages"][-1]["content"][0]
        assert result["toolset_name"] == "computer"

    def test_a_caller_is_named_in_the_output_and_a_namespace_in_the_call(self):
        call = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "f",
            "arguments": "{}",
            "namespace": "tools",
            "caller": {"type": "program", "id": "p1"},
        }
        conversation = Conversation().add_user("Go")
        conversation.add_reply(decoded("openai-responses", {"output": [call], "status": "completed"}).parts)
        conversation.add_tool_result("c1", "done")
        items = encoded(conversation, TARGETS["openai-responses"])["input"]
        assert items[-1]["caller"] == {"type": "program", "id": "p1"}
        assert items[-2]["namespace"] == "tools"


class TestAnotherModel:
    @pytest.mark.parametrize("api", ["openai-responses", "openai-chat", "gemini"])
    def test_is_told_once_in_a_note_and_nothing_is_put_into_its_mouth(self, api: str):
        conversation = searched().add_user("And?")
        announce_request_changes(conversation, TARGETS[api], Options())
        (note,) = notes(conversation)
        assert "web_search with" in note
        assert "tallest peak" in note
        assert "Peaks (https://a.example)" in note
        before = conversation.turns
        announce_request_changes(conversation, TARGETS[api], Options())
        assert conversation.turns == before
        data = encoded(conversation, TARGETS[api])
        assert list(assistant_texts(data)) == ["Mount Columbia."]
        assert json.dumps(data).count("tallest peak") == 1
        conversation.add_assistant("Yes.").add_user("Sure?")
        announce_request_changes(conversation, TARGETS[api], Options())
        assert notes(conversation) == [note]

    def test_the_note_stays_when_the_conversation_goes_back(self):
        conversation = searched().add_user("And?")
        announce_request_changes(conversation, TARGETS["gemini"], Options())
        conversation.add_assistant("Yes.").add_user("Sure?")
        announce_request_changes(conversation, TARGETS["anthropic"], Options())
        assert len(notes(conversation)) == 1
        assert encoded(conversation, TARGETS["anthropic"])["messages"][1]["content"] == SEARCH

    def test_a_turn_of_which_nothing_is_left_is_joined_to_its_neighbours(self):
        conversation = Conversation().add_user("a")
        conversation.add_reply(decoded("anthropic", {"content": SEARCH[:2], "stop_reason": "pause_turn"}).parts)
        conversation.add_user("b")
        (content,) = encoded(conversation, TARGETS["gemini"])["contents"]
        assert [part["text"] for part in content["parts"]] == ["a", "b"]

    def test_a_sealed_part_of_another_model_is_told(self):
        part = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "1", "args": {"queries": ["q"]}}}
        origin = Origin("google", "gemini", "gemini-3-pro")
        conversation = Conversation().add_user("a")
        conversation.add_reply(
            [ServerCall("1", "web_search", {"queries": ["q"]}, native=ProviderPayload(origin, part))]
        )
        conversation.add_user("b")
        announce_request_changes(conversation, TARGETS["gemini"], Options())
        assert len(notes(conversation)) == 1
        assert "toolCall" not in json.dumps(encoded(conversation, TARGETS["gemini"]))


class TestRecordings:
    @pytest.mark.parametrize("api", list(TARGETS))
    def test_no_placeholder_is_put_into_the_mouth_of_a_model(self, api: str):
        faults: list[str] = []
        for exchange in exchanges(api):
            for conversation in conversations(exchange, api):
                for target in TARGETS.values():
                    asked = conversation.fork()
                    announce_request_changes(asked, target, Options())
                    asked.tools = [tool for tool in asked.tools if not tool.is_provider_defined]
                    data = encoded(asked, target)
                    found: list[object] = list(rules.check(data, target.api, target.model, provider=target.provider))
                    given = set(texts_of(exchange))
                    found += [
                        text
                        for text in assistant_texts(data)
                        if PLACEHOLDER.fullmatch(text.strip()) and text not in given
                    ]
                    faults += [f"{exchange['id']} for {target.api}: {each}" for each in found]
        assert "\n".join(faults) == ""


def texts_of(exchange: dict[str, Any]) -> Iterator[str]:
    """Return every text in a recorded exchange: a model may say such things itself."""
    waiting: list[Any] = [exchange["request"], exchange["response"]]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        else:
            waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []


def conversations(exchange: dict[str, Any], api: str) -> Iterator[Conversation]:
    """Return the recorded request, and what it goes on to be with its response."""
    model = exchange["request"].get("model") or exchange["uri"].rpartition("/models/")[2].partition(":")[0]
    origin = Origin(PROVIDERS[api], api, model)
    conversation = wire(api).read(exchange["request"], origin).conversation
    answered, _ = conversation.fork().repair()
    if not answered.ready():
        answered.add_user("Go on.")
    yield answered
    if exchange["status"] == 200:
        conversation, _ = conversation.repair()
        conversation.add_reply(reply_of(exchange, api, origin).parts)
        conversation.add_tool_results([ToolResult(call.id, "done") for call in conversation.open_calls])
        yield conversation.add_user("Go on.")


def reply_of(exchange: dict[str, Any], api: str, origin: Origin) -> Reply:
    if not exchange["stream"]:
        return wire(api).decode(exchange["response"], origin)
    decoder = wire(api).Decoder(origin)
    decoder.feed(exchange["response"].encode())
    return decoder.reply()
