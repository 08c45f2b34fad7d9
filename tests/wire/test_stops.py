"""Every word that ends an answer is known, or it is an error that keeps the answer."""

import json
from typing import Any

import pytest

from antiphon.conversation import Conversation, Origin, ToolSpec
from antiphon.errors import OutOfCredit, QuotaExceeded, RateLimited, RequestRejected, ServerFailed, UnknownStop
from antiphon.facts import stop_reasons
from antiphon.wire import APIS, Options, RefusalDetails, Reply, ReplyState, Target, Usage, wire

ORIGINS = {api: Origin(spec.owner, api, "m") for api, spec in APIS.items()}


def body(api: str, word: str, text: str = "Half of it.", **more: Any) -> dict[str, Any]:
    """Return a whole response of an API that says a text and stops with a word."""
    match api:
        case "anthropic":
            return {"content": [{"type": "text", "text": text}], "stop_reason": word, **more}
        case "openai-chat":
            return {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": word}], **more}
        case "openai-responses":
            item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            if word in ("completed", "cancelled", "queued", "in_progress", "brand_new_status"):
                return {"output": [item], "status": word, **more}
            return {"output": [item], "status": "incomplete", "incomplete_details": {"reason": word}, **more}
        case "google-interactions":
            said = {"type": "model_output", "content": [{"type": "text", "text": text}]}
            return {"id": "v1_a", "status": word, "steps": [said], **more}
        case _:
            return {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": word}], **more}


def stream(api: str, response: dict[str, Any]) -> bytes:
    """Return the events of a stream that gives the same response."""
    match api:
        case "anthropic":
            ending = {key: value for key, value in response.items() if key != "content"}
            block = response["content"][0]
            told: list[dict[str, Any]] = [
                {"type": "message_start", "message": {"id": "m"}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "message_delta", "delta": ending},
                {"type": "message_stop"},
            ]
        case "openai-chat":
            choice = response["choices"][0]
            told = [
                {"choices": [{"index": 0, "delta": choice["message"]}]},
                {**response, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
            ]
        case "openai-responses":
            told = [{"type": "response.completed", "response": response}]
        case "google-interactions":
            start = {"id": "v1_a", "status": "in_progress"}
            told = [
                {"event_type": "interaction.created", "interaction": start},
                {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
                {"event_type": "step.delta", "index": 0, "delta": response["steps"][0]["content"][0]},
                {"event_type": "step.stop", "index": 0},
                {"event_type": "interaction.completed", "interaction": {**response, "steps": []}},
            ]
        case _:
            told = [response]
    return "".join(f"data: {json.dumps(each)}\n\n" for each in told).encode()


def decoded(api: str, response: dict[str, Any], *, streamed: bool = False) -> Reply:
    if not streamed:
        return wire(api).decode(response, ORIGINS[api])
    decoder = wire(api).Decoder(ORIGINS[api])
    decoder.feed(stream(api, response))
    return decoder.reply()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_an_unknown_word_is_an_error_that_keeps_the_answer(api: str, streamed: bool):
    with pytest.raises(UnknownStop, match=r"'brand_new'.*may be incomplete") as caught:
        decoded(api, body(api, "brand_new"), streamed=streamed)
    assert (caught.value.word, caught.value.reply.text) == ("brand_new", "Half of it.")
    assert caught.value.provider == APIS[api].owner


def test_an_unknown_status_and_a_missing_word_are_unknown_too():
    with pytest.raises(UnknownStop) as caught:
        decoded("openai-responses", body("openai-responses", "brand_new_status"))
    assert caught.value.word == "brand_new_status"
    with pytest.raises(UnknownStop, match="without a reason"):
        decoded("anthropic", {"content": []})


WORDS = {
    "done": ("end", "stop_sequence"),
    "tools": ("tool_calls", "end"),
    "continue": ("pause",),
    "truncated": ("length",),
    "refused": ("refusal",),
    "malformed": ("malformed",),
    "not_done": ("not_done",),
}


#: Outcomes that are told by parts of an answer, not by a word.
TOLD_BY_PARTS = {"function_call", "custom_tool_call", "functionCall", "mcp_approval_request", "refusal"}
LISTED = [
    (api, word)
    for api in APIS
    for word, reason in stop_reasons(api).items()
    if reason.outcome != "failed" and (api, word in TOLD_BY_PARTS) not in (("openai-responses", True), ("gemini", True))
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("api", "word"), LISTED)
def test_every_listed_word_means_what_the_table_says(api: str, word: str, streamed: bool):
    outcome = stop_reasons(api)[word].outcome
    reply = decoded(api, body(api, word), streamed=streamed)
    assert reply.stop in WORDS[outcome]
    assert (reply.stop_reason, reply.text) == (word, "Half of it.")


@pytest.mark.parametrize("word", ["error", "insufficient_system_resource", "network_error"])
def test_a_word_for_a_failure_of_the_server_is_one(word: str):
    with pytest.raises(ServerFailed, match=f"broke off the answer: {word}") as caught:
        decoded("openai-chat", body("openai-chat", word))
    assert (caught.value.status, caught.value.reply.text) == (500, "Half of it.")


def test_a_missing_signature_is_a_fault_of_the_request():
    with pytest.raises(RequestRejected, match="MISSING_THOUGHT_SIGNATURE"):
        decoded("gemini", body("gemini", "MISSING_THOUGHT_SIGNATURE"))


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropics_refusal_keeps_its_details(streamed: bool):
    details = {"type": "refusal", "category": "bio", "explanation": "No.", "recommended_model": "claude-x", "more": 1}
    reply = decoded("anthropic", body("anthropic", "refusal", stop_details=details), streamed=streamed)
    assert reply.state.refusal == RefusalDetails("bio", "No.", "claude-x")
    assert reply.state.other["stop_details"] == details


def test_other_refusals_keep_their_details():
    blocked = {"promptFeedback": {"blockReason": "JAILBREAK", "blockReasonMessage": "No."}}
    reply = decoded("gemini", blocked)
    assert (reply.stop, reply.state.refusal) == ("refusal", RefusalDetails("JAILBREAK", "No."))
    message = {"content": None, "refusal": "I will not."}
    reply = decoded("openai-chat", {"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (reply.stop, reply.state.refusal) == ("refusal", RefusalDetails("", "I will not."))
    item = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]}
    reply = decoded("openai-responses", {"output": [item], "status": "completed"})
    assert (reply.stop, reply.state.refusal) == ("refusal", RefusalDetails("", "I will not."))
    reply = decoded("openai-responses", body("openai-responses", "content_filter"))
    assert reply.state.refusal == RefusalDetails("content_filter", "")


def test_state_that_no_wire_knows_is_kept():
    for api in APIS:
        word = {"anthropic": "end_turn", "openai-chat": "stop", "openai-responses": "completed"}.get(api, "STOP")
        word = "completed" if api == "google-interactions" else word
        for streamed in (False, True):
            reply = decoded(api, body(api, word, newField={"a": 1}), streamed=streamed)
            assert reply.state.other["newField"] == {"a": 1}, api


def test_state_is_read_and_survives_json():
    reply = decoded(
        "anthropic",
        body(
            "anthropic",
            "end_turn",
            container={"id": "c1", "expires_at": "2026-11-18T05:00:00Z"},
            input_transformations=[{"type": "thinking_dropped"}],
            diagnostics={"cache_miss_reason": {"type": "tools_changed"}},
            usage={"input_tokens": 1, "service_tier": "standard"},
        ),
    )
    state = reply.state
    assert state.container == {"id": "c1", "expires_at": "2026-11-18T05:00:00Z"}
    assert (state.transformations, state.service_tier) == (({"type": "thinking_dropped"},), "standard")
    assert ReplyState.from_json(json.loads(json.dumps(state.to_json()))) == state
    sources = {"groundingMetadata": {"webSearchQueries": ["q"]}}
    response = body("gemini", "CONTINUATION", continuationToken="t1")
    response["candidates"][0] |= sources
    state = decoded("gemini", response, streamed=True).state
    assert (state.continuation_token, state.sources) == ("t1", (sources,))
    assert ReplyState.from_json(state.to_json()) == state
    diagnosed = body("openai-responses", "completed", prompt_cache_diagnostics={"type": "cache_miss"})
    assert decoded("openai-responses", diagnosed).state.diagnostics == {"type": "cache_miss"}


def test_the_window_is_the_last_step_in_which_the_model_answered():
    steps = [
        {"type": "compaction", "input_tokens": 1000, "output_tokens": 50},
        {"type": "message", "input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 10},
    ]
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 20,
        "output_tokens": 10,
        "cache_creation": {"ephemeral_1h_input_tokens": 7},
        "iterations": steps,
    }
    reply = decoded("anthropic", body("anthropic", "end_turn", usage=usage))
    assert reply.window == 130
    assert reply.usage == Usage(1120, 60, 20, None, None, 7)
    assert decoded("anthropic", body("anthropic", "end_turn", usage={"input_tokens": 5})).window == 5
    assert decoded("anthropic", body("anthropic", "end_turn")).window is None


def test_only_the_last_final_answer_is_the_text():
    def item(text: str, phase: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text}]
        return {"type": "message", "role": "assistant", "phase": phase, "content": content}

    output = [item("Let me see.", "commentary"), item("Draft.", "final_answer"), item("Done.", "final_answer")]
    reply = decoded("openai-responses", {"output": output, "status": "completed"})
    assert (reply.text, len(reply.parts)) == ("Done.", 3)


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_a_call_that_is_incomplete_is_not_run(kind: str):
    call = {"type": kind, "call_id": "c1", "name": "f", "arguments": "{}", "input": "x", "status": "incomplete"}
    for response in (
        {"output": [call], "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        {"output": [call, call | {"call_id": "c2"}], "status": "completed"},
    ):
        reply = decoded("openai-responses", response)
        assert [bool(call.problem) for call in reply.tool_calls] == [True] * len(response["output"])


FAILED = [
    ("server_error", ServerFailed),
    ("rate_limit_exceeded", RateLimited),
    ("insufficient_quota", QuotaExceeded),
    ("invalid_prompt", RequestRejected),
    ("bio_policy", RequestRejected),
    ("data_residency_mismatch", RequestRejected),
]


@pytest.mark.parametrize(("code", "kind"), FAILED)
def test_a_failed_response_is_told_by_its_code(code: str, kind: type[Exception]):
    response = {"status": "failed", "output": [], "error": {"code": code, "message": "It failed."}}
    with pytest.raises(kind) as caught:
        decoded("openai-responses", response)
    assert type(caught.value) is kind


def test_an_empty_account_in_a_stream_is_told_as_such():
    decoder = wire("anthropic").Decoder(ORIGINS["anthropic"])
    error = {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}
    with pytest.raises(OutOfCredit):
        decoder.feed(f"data: {json.dumps({'type': 'error', 'error': error})}\n\n".encode())


def test_calls_before_a_fallback_are_neither_run_nor_sent_back():
    """The refusal may have cut them off; the block that marks the boundary stays (Anthropic's `fallback` block)."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    boundary = {"type": "fallback", "from": {"model": "m"}, "to": {"model": "n"}, "trigger": {"type": "refusal"}}
    later = {"type": "tool_use", "id": "toolu_2", "name": "search", "input": {"q": "tea"}}
    blocks = [{"type": "text", "text": "I look."}, call, search, boundary, later]
    reply = wire("anthropic").decode({"content": blocks, "stop_reason": "tool_use"}, ORIGINS["anthropic"])
    assert [each.id for each in reply.tool_calls] == ["toolu_2"]
    assert reply.state.other["abandoned_calls"] == [call, search]
    conversation = Conversation(tools=[ToolSpec("search", "Search.", {"type": "object"})])
    conversation.add_user("Tea?")
    conversation.add_reply(reply.parts)
    conversation.add_tool_result("toolu_2", "Green tea.")
    sent = json.loads(wire("anthropic").encode(conversation, Target("anthropic", "anthropic", "m"), Options()).body)
    assert [each["type"] for each in sent["messages"][1]["content"]] == ["text", "fallback", "tool_use"]
    assert [each["tool_use_id"] for each in sent["messages"][2]["content"]] == ["toolu_2"]
