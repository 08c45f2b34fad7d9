"""The independent servers, asked by the vendors' own clients."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from tests.referees.anthropic_server import AnthropicServer
from tests.referees.bodies import EMPTY, SCHEMA, post
from tests.referees.gemini_server import GeminiServer
from tests.referees.openai_server import OpenAIServer
from tests.referees.script import Call, call, fail, give, say, show


def test_claude_answers_calls_and_streams() -> None:
    script = [
        call(Call("weather", {"city": "Oslo"}), text="Let me look."),
        say("Rain."),
        give({"name": "Ada", "age": 36}),
    ]
    tools: Any = [{"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    with AnthropicServer(script) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
        messages: Any = [{"role": "user", "content": "Oslo?"}]
        first = client.messages.create(model="claude-sonnet-5-5", max_tokens=900, messages=messages, tools=tools)
        assert [block.type for block in first.content] == ["thinking", "text", "tool_use"]
        assert first.stop_reason == "tool_use"
        assert first.content[0].thinking == ""
        messages += [
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": first.content[2].id, "content": "rain"}],
            },
        ]
        with client.messages.stream(
            model="claude-sonnet-5-5", max_tokens=900, messages=messages, tools=tools
        ) as stream:
            last = stream.get_final_message()
        assert last.content[-1].text == "Rain."
        form: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
        typed = client.messages.create(
            model="claude-haiku-5-5", max_tokens=900, messages=messages[:1], output_config=form
        )
        assert json.loads(typed.content[-1].text) == {"name": "Ada", "age": 36}
        assert (server.ledger.breaks, server.refused) == (0, [])


def test_claude_resumes_a_paused_turn() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    tools: Any = [{"type": "web_search_20250305", "name": "web_search"}]
    messages: Any = [{"role": "user", "content": "Search."}]
    with AnthropicServer([show(search, stop="pause_turn"), say("Found.")]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
        paused = client.messages.create(model="claude-opus-5-5", max_tokens=900, messages=messages, tools=tools)
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in paused.content]}
        )
        other: Any = [*tools, {"name": "w", "input_schema": EMPTY}]
        with pytest.raises(anthropic.BadRequestError, match="same tools"):
            client.messages.create(model="claude-opus-5-5", max_tokens=900, messages=messages, tools=other)
        done = client.messages.create(model="claude-opus-5-5", max_tokens=900, messages=messages, tools=tools)
        assert done.content[-1].text == "Found."
        messages.append({"role": "user", "content": "Go on."})
        with pytest.raises(anthropic.BadRequestError, match="content follows"):
            client.messages.create(model="claude-opus-5-5", max_tokens=900, messages=messages, tools=tools)


def _think(server: AnthropicServer, model: str) -> tuple[anthropic.Anthropic, list[Any]]:
    client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": "One?"}]
    for number in range(2):
        reply = client.messages.create(model=model, max_tokens=900, messages=messages)
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]}
        )
        messages.append({"role": "user", "content": f"More {number}?"})
    return client, messages


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-fable-5-2", "claude-haiku-5-5"])
def test_claude_binds_thinking_to_the_prefix(model: str) -> None:
    with AnthropicServer() as server:
        client, messages = _think(server, model)
        ask: Any = {"model": model, "max_tokens": 900}
        with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
            client.messages.create(**ask, messages=messages, system="New.")
        changed = [{"role": "user", "content": "Two?"}, *messages[1:]]
        with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
            client.messages.create(**ask, messages=changed)
        front: Any = json.loads(json.dumps(messages))
        front[1]["content"] = [block for block in front[1]["content"] if block["type"] != "thinking"]
        client.messages.create(**ask, messages=front)
        drop: Any = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        with pytest.raises(anthropic.BadRequestError, match="Extra inputs are not permitted"):
            client.beta.messages.create(**ask, messages=messages, system="New.", thinking=drop)
        betas = ["thinking-binding-controls-2026-08-01"]
        client.beta.messages.create(**ask, messages=messages, system="New.", thinking=drop, betas=betas)
        assert [each["reason"] for each in server.transformations[-1]] == ["prefix_binding_mismatch"] * 2


def test_claude_refuses_thinking_left_out_between_others() -> None:
    with AnthropicServer() as server:
        client, messages = _think(server, "claude-sonnet-5-5")
        reply = client.messages.create(model="claude-sonnet-5-5", max_tokens=900, messages=messages)
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]}
        )
        messages.append({"role": "user", "content": "And?"})
        messages[3]["content"] = [block for block in messages[3]["content"] if block["type"] != "thinking"]
        with pytest.raises(anthropic.BadRequestError, match=r"messages.5.content.0.*bound to a different"):
            client.messages.create(model="claude-sonnet-5-5", max_tokens=900, messages=messages)


def test_claude_drops_thinking_of_other_models_without_error() -> None:
    with AnthropicServer() as server:
        client, messages = _think(server, "claude-opus-5-5")
        client.messages.create(model="claude-sonnet-5-5", max_tokens=900, messages=messages)
        assert [each["reason"] for each in server.transformations[-1]] == ["model_binding_mismatch"] * 2
        client.messages.create(model="claude-fable-5-1", max_tokens=900, messages=messages)
        assert server.transformations[-1] == []


def test_claude_refuses_changed_thinking() -> None:
    with AnthropicServer() as server:
        client, messages = _think(server, "claude-opus-5-5")
        messages[3]["content"][0]["thinking"] = "Else."
        with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
            client.messages.create(model="claude-opus-5-5", max_tokens=900, messages=messages)


def test_responses_answer_call_and_stream() -> None:
    script = [
        call(Call("weather", {"city": "Oslo"})),
        say("Rain."),
        give({"name": "Ada", "age": 36}),
        say("Late.", "queued"),
    ]
    tools: Any = [{"type": "function", "name": "weather", "parameters": EMPTY, "strict": False}]
    with OpenAIServer(script) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
        items: Any = [{"role": "user", "content": "Oslo?"}]
        first = client.responses.create(model="gpt-6.1-sol", input=items, tools=tools, store=False)
        assert [item.type for item in first.output] == ["reasoning", "function_call"]
        items += [item.model_dump(exclude_none=True) for item in first.output]
        items.append({"type": "function_call_output", "call_id": first.output[1].call_id, "output": "rain"})
        with client.responses.stream(model="gpt-6.1-sol", input=items, tools=tools, store=False) as stream:
            assert stream.get_final_response().output_text == "Rain."
        assert server.transformations[-1] == []
        form: Any = {"format": {"type": "json_schema", "name": "person", "schema": SCHEMA, "strict": True}}
        typed = client.responses.create(model="gpt-5.5", input="Who?", text=form)
        assert json.loads(typed.output_text) == {"name": "Ada", "age": 36}
        late = client.responses.create(model="gpt-5.5", input="Late?", background=True)
        assert late.status == "queued"
        assert [client.responses.retrieve(late.id).status for _ in range(2)] == ["in_progress", "completed"]


def test_responses_drop_reasoning_behind_a_change() -> None:
    with OpenAIServer() as server:
        client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
        first = client.responses.create(model="gpt-6-sol", input="One?", store=False)
        items: Any = [
            {"role": "user", "content": "One?"},
            *[item.model_dump(exclude_none=True) for item in first.output],
        ]
        items.append({"role": "user", "content": "Two?"})
        client.responses.create(model="gpt-6-sol", input=items, store=False, instructions="New.")
        assert [each["reason"] for each in server.transformations[-1]] == ["prefix_mismatch"]
        client.responses.create(model="gpt-6.1-sol", input=items, store=False)
        assert [each["reason"] for each in server.transformations[-1]] == ["model_mismatch"]


def test_responses_take_configuration_updates() -> None:
    form = {"type": "json_schema", "name": "person", "schema": SCHEMA, "strict": True}
    items: Any = [
        {"role": "user", "content": "Who?"},
        {"type": "configuration_update", "reasoning": {"effort": "low"}, "text": {"format": form}},
    ]
    with OpenAIServer([give({"name": "Ada", "age": 36})]) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
        typed = client.responses.create(model="gpt-6.1-sol", input=items)
        assert json.loads(typed.output_text) == {"name": "Ada", "age": 36}


def test_responses_continue_a_stored_response() -> None:
    with OpenAIServer([say("One."), say("Two.")]) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
        first = client.responses.create(model="gpt-5.5", input="Count.")
        client.responses.create(model="gpt-5.5", input="On.", previous_response_id=first.id)
        with pytest.raises(openai.BadRequestError, match="not found"):
            client.responses.create(model="gpt-5.5", input="On.", previous_response_id="resp_none")
        assert server.ledger.breaks == 0


def test_chat_answers_calls_and_streams() -> None:
    script = [call(Call("weather", {"city": "Oslo"})), say("Rain."), give({"name": "Ada", "age": 36})]
    tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": EMPTY}}]
    with OpenAIServer(script) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
        messages: Any = [{"role": "user", "content": "Oslo?"}]
        first = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=tools)
        message = first.choices[0].message
        assert first.choices[0].finish_reason == "tool_calls"
        messages += [message.model_dump(exclude_none=True)]
        messages.append({"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "rain"})
        chunks = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=tools, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Rain."
        form: Any = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}
        typed = client.chat.completions.create(model="gpt-6.1-sol", messages=messages[:1], response_format=form)
        assert json.loads(typed.choices[0].message.content or "") == {"name": "Ada", "age": 36}


def _connect_gemini(server: GeminiServer) -> genai.Client:
    return genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url))


def test_gemini_answers_calls_and_streams() -> None:
    function = types.FunctionDeclaration(name="weather", parameters_json_schema={"type": "object", "properties": {}})
    automatic = types.AutomaticFunctionCallingConfig(disable=True)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[function])], automatic_function_calling=automatic
    )
    script = [call(Call("weather", {"city": "Oslo"})), say("Rain."), give({"name": "Ada", "age": 36})]
    with GeminiServer(script) as server:
        client = _connect_gemini(server)
        contents: Any = [types.Content(role="user", parts=[types.Part(text="Oslo?")])]
        first = client.models.generate_content(model="gemini-4-argon", contents=contents, config=config)
        contents.append(first.candidates[0].content)
        answer = types.FunctionResponse(name="weather", response={"result": "rain"})
        contents.append(types.Content(role="user", parts=[types.Part(function_response=answer)]))
        chunks = client.models.generate_content_stream(model="gemini-4-argon", contents=contents, config=config)
        assert "".join(chunk.text or "" for chunk in chunks) == "Rain."
        form = types.GenerateContentConfig(response_mime_type="application/json", response_json_schema=SCHEMA)
        typed = client.models.generate_content(model="gemini-2.5-flash", contents="Who?", config=form)
        assert json.loads(typed.text or "") == {"name": "Ada", "age": 36}


def test_gemini_continues_by_token() -> None:
    with GeminiServer([say("One, ", "CONTINUATION"), say("two.")]) as server:
        config = types.GenerateContentConfig(max_output_tokens=200_000)
        client = _connect_gemini(server)
        reply = client.models.generate_content(model="gemini-4-argon", contents="Go.", config=config)
        assert reply.text == "One, two."
        assert "continuationToken" in server.exchanges[1].body


def test_gemini_refuses_a_token_with_another_request() -> None:
    url = "/v1beta/models/gemini-4-argon:generateContent"
    body: dict[str, Any] = {
        "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
        "generationConfig": {"maxOutputTokens": 9},
    }
    with GeminiServer([say("One", "MAX_TOKENS")]) as server:
        headers = {"x-goog-api-key": "k"}
        _, first = post(server.root + url, body, headers)
        token = first["candidates"][0]["continuationToken"]
        other = {**body, "contents": [{"role": "user", "parts": [{"text": "Stop."}]}], "continuationToken": token}
        assert "different request" in post(server.root + url, other, headers)[1]["error"]["message"]
        assert (
            "higher max_output_tokens"
            in post(server.root + url, {**body, "continuationToken": token}, headers)[1]["error"]["message"]
        )
        more = {**body, "continuationToken": token, "generationConfig": {"maxOutputTokens": 90}}
        assert post(server.root + url, more, headers)[0] == 200


def test_scripted_errors_have_status_and_headers() -> None:
    with AnthropicServer([fail(529, "Overloaded"), fail(429, "Slow down", retry_after="3")]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
        ask: Any = {"model": "claude-haiku-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            client.messages.create(**ask)
        with pytest.raises(anthropic.RateLimitError) as caught:
            client.messages.create(**ask)
        assert caught.value.response.headers["retry-after"] == "3"


def test_ledger_counts_breaks_and_bytes() -> None:
    with OpenAIServer() as server:
        client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
        items: Any = [{"role": "user", "content": "A question. " * 40}]
        client.responses.create(model="gpt-4.1", input=items)
        items += [{"role": "assistant", "content": "An answer."}, {"role": "user", "content": "More?"}]
        client.responses.create(model="gpt-4.1", input=items)
        assert (server.ledger.breaks, round(server.ledger.factor, 2)) == (0, 1.0)
        client.responses.create(model="gpt-4.1", input=items, instructions="Be brief.")
        assert server.ledger.breaks == 1
        assert server.ledger.factor > 1.9


def test_claude_takes_compaction_blocks_back_verbatim() -> None:
    block = {"type": "compaction", "content": "They talked.", "signature": "s", "encrypted_content": "e"}
    betas = ["compact-2026-09-04"]
    with AnthropicServer([show(block, stop="compaction"), say("On.")]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
        ask: Any = {"model": "claude-opus-5-5", "max_tokens": 900}
        user: Any = {"role": "user", "content": "Hi."}
        reply = client.beta.messages.create(**ask, messages=[user], compaction={"type": "summarize"}, betas=betas)
        assert (reply.stop_reason, [each.type for each in reply.content]) == ("compaction", ["compaction"])
        back: Any = {"role": "assistant", "content": [each.model_dump(exclude_none=True) for each in reply.content]}
        assert client.beta.messages.create(**ask, messages=[back, user], betas=betas).content[-1].text == "On."
        with pytest.raises(anthropic.BadRequestError, match="Extra inputs"):
            client.beta.messages.create(**ask, messages=[back, user])
        back["content"][0]["content"] = "Else."
        with pytest.raises(anthropic.BadRequestError, match="signature_invalid"):
            client.beta.messages.create(**ask, messages=[back, user], betas=betas)


def test_values_come_in_the_form_that_is_asked_for() -> None:
    schema = json.dumps({"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]})
    words = f"How many? Answer with JSON of this schema: {schema}"
    returns: Any = {"name": "answer", "input_schema": {"type": "object", "properties": {"value": {"type": "integer"}}}}
    with AnthropicServer([give(3), give(3), give(3)]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
        ask: Any = {"model": "claude-haiku-5-5", "max_tokens": 900}
        said = client.messages.create(**ask, messages=[{"role": "user", "content": words}])
        assert said.content[-1].text == '{"value": 3}'
        said = client.messages.create(**ask, messages=[{"role": "user", "content": "How many?"}])
        assert said.content[-1].text == "3"
        said = client.messages.create(**ask, messages=[{"role": "user", "content": "How many?"}], tools=[returns])
        assert said.content[-1].input == {"value": 3}


def test_servers_import_nothing_that_they_judge() -> None:
    for path in Path(__file__).parent.glob("*.py"):
        found = re.findall(r"^(?:from|import) (antiphon[\w.]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
        rooms = {".".join(name.split(".")[:2]) for name in found}
        assert not rooms & {"antiphon.wire", "antiphon.fakes", "antiphon.facts"}, path.name
        assert not rooms or path.name == "stage.py" or path.name.startswith("cases"), path.name
