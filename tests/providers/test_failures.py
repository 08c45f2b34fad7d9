"""Failures are told apart by what the providers say."""

import json
from dataclasses import replace
from datetime import date
from typing import Any

import httpx2
import pytest

from antiphon import Conversation, connect
from antiphon.errors import (
    AuthenticationFailed,
    ContainerGone,
    ContextOverflow,
    NotFound,
    OutOfCredit,
    QuotaExceeded,
    RateLimited,
    RequestRejected,
    ServerFailed,
    StatusError,
)
from antiphon.facts import Facts, ModelLifecycle, register_model
from antiphon.fakes import Fail, Fake
from antiphon.providers import NO_RETRY, Model, Retry
from antiphon.wire import CallDelta, ProviderErrorInfo, ReasoningDelta, Target, wire
from antiphon.wire.context_overflow import make_overflow_error
from tests.providers.scripted import Scripted, Status


def asked() -> Conversation:
    conversation = Conversation()
    conversation.add_user("Hello.")
    return conversation


def failure(fake: Fake, model: str, *script: Fail) -> StatusError:
    fake.play(*script)
    with pytest.raises(StatusError) as caught:
        fake.connect(model, retry=NO_RETRY).chat(asked())
    return caught.value


#: The words, and what they tell of the conversation's size and of what fits.
TOO_LONG = [
    ("anthropic/claude-sonnet-5", "prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
    (
        "anthropic/claude-sonnet-5",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
        190_000,
        200_000,
    ),
    (
        "google/gemini-3-pro",
        "The input token count (210000) exceeds the maximum number of tokens allowed (200000).",
        210_000,
        200_000,
    ),
    (
        "google/gemini-3-pro",
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        None,
        1_048_576,
    ),
    (
        "deepseek/deepseek-v4",
        "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (140000 in the"
        " messages, 0 in the completion). Please reduce the length of the messages or completion.",
        140_000,
        131_072,
    ),
    (
        "openrouter/some/model",
        "This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens (69000 of"
        " text input, 1000 in the output). Please reduce the length of either one.",
        70_000,
        65_536,
    ),
    ("ollama/qwen3", "prompt too long; exceeded max context length by 1119046 tokens (ref: 961-86e)", None, None),
    (
        "vllm/m",
        "This model's maximum context length is 4096 tokens. However, you requested 500 output tokens and your prompt"
        " contains at least 3700 input tokens, for a total of at least 4200 tokens.",
        3700,
        4096,
    ),
    (
        "vllm/m",
        "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096"
        " tokens and your request has 3900 input tokens (1000 > 4096 - 3900).",
        3900,
        4096,
    ),
    (
        "vllm/m",
        "The decoder prompt (length 8825) is longer than the maximum model length of 8192. Make sure that"
        " `max_model_len` is no smaller than the number of text tokens.",
        8825,
        8192,
    ),
    (
        "vllm/m",
        "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only"
        " 4096 tokens, resulting in a maximum input length of 3996 tokens.",
        5000,
        4096,
    ),
    (
        "litellm/gpt-5",
        "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - too long",
        None,
        None,
    ),
    ("groq/llama", "Please reduce the length of the messages or completion.", None, None),
    (
        "cerebras/gpt-oss",
        "Please reduce the length of the messages or completion. Current length is 27463 while limit is 8192",
        27_463,
        8192,
    ),
    (
        "mistral/mistral-small",
        "Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        40_960,
        32_768,
    ),
    (
        "xai/grok-4",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        537_812,
        131_072,
    ),
    ("llamacpp/m", "request (5000 tokens) exceeds the available context size (4096 tokens)", 5000, 4096),
    (
        "together/m",
        "The input (70,000 tokens) is longer than the model's context length (65,536 tokens).",
        70_000,
        65_536,
    ),
    (
        "huggingface/m",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        5000,
        4096,
    ),
    ("bedrock/m", "Input is too long for requested model.", None, None),
    ("openai/gpt-5", "Your input exceeds the context window of this model. Please adjust your input.", None, None),
    ("zai/glm", "Prompt exceeds max length", None, None),
    (
        "lmstudio",
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context"
        " length of only 4096 tokens, which is not enough.",
        5000,
        4096,
    ),
    ("lmstudio", "The number of tokens to keep from the prompt is greater than the context length.", None, None),
    ("perplexity/sonar", "Requested token count exceeds the model's maximum context length.", None, None),
]
#: What sounds like it and is something else.
OTHERWISE = [
    "the prompt is bad",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
    "This model's maximum context length is 4097 tokens. However, you requested 10057 tokens (57 in the messages,"
    " 10000 in the completion).",
    "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 20"
    " input tokens (5000 > 4096 - 20).",
    "max_completion_tokens exceeds the maximum number of tokens allowed (8192)",
    "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce the length"
    " of the messages",
    "Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576",
    "Invalid 'tools[0].function.name': string too long.",
    "Input image is too large: 6 MB > 5 MB",
    "Too many tokens, please wait before trying again.",
]


@pytest.mark.parametrize(("model", "words", "tokens", "limit"), TOO_LONG)
def test_a_conversation_that_is_too_long_is_recognised_by_words_and_its_size_is_known(
    antiphon_fake: Fake, model: str, words: str, tokens: int | None, limit: int | None
) -> None:
    model = model if "/" in model else "llamacpp/m"
    for status in (400, 422):
        error = failure(antiphon_fake, model, Fail(status, words))
        assert isinstance(error, ContextOverflow)
        assert (error.tokens, error.limit) == (tokens, limit)
        assert words in str(error)


@pytest.mark.parametrize("model", ["openai/gpt-5", "vllm/m", "anthropic/claude-sonnet-5", "google/gemini-3-pro"])
@pytest.mark.parametrize("words", OTHERWISE)
def test_other_refusals_are_no_overflow(antiphon_fake: Fake, model: str, words: str) -> None:
    error = failure(antiphon_fake, model, Fail(400, words))
    assert isinstance(error, RequestRejected)
    assert not isinstance(error, ContextOverflow)


def test_words_of_overflow_do_not_change_what_other_statuses_mean(antiphon_fake: Fake) -> None:
    for status in (401, 404, 429, 503):
        error = failure(antiphon_fake, "vllm/m", Fail(status, "prompt is too long: 9 tokens > 8 maximum"))
        assert error.status == status
        assert not isinstance(error, ContextOverflow)


def test_a_limit_of_the_rate_is_no_overflow_whatever_its_words() -> None:
    said = ProviderErrorInfo("too many input tokens", "rate_limit_exceeded", "")
    assert make_overflow_error(said, "m") is None
    assert make_overflow_error(replace(said, kind="invalid_request"), "m") is not None


OVERFLOW = "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."


@pytest.mark.parametrize(
    "error",
    [
        {"message": OVERFLOW},
        {"message": OVERFLOW, "code": 400},
        {"message": "no", "code": "context_length_exceeded"},
        {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps({"error": OVERFLOW})}},
        {"message": "Provider returned error", "code": 502, "metadata": {"raw": OVERFLOW}},
    ],
)
def test_overflow_is_recognised_in_a_stream_and_in_place_of_an_answer(error: dict[str, Any]) -> None:
    target = Target("openrouter", "openai-chat", "m")
    with pytest.raises(ContextOverflow) as caught:
        wire("openai-chat").decode({"error": error}, target.origin)
    decoder = wire("openai-chat").Decoder(target.origin)
    with pytest.raises(ContextOverflow) as streamed:
        decoder.feed(b"data: " + json.dumps({"error": error}).encode() + b"\n\n")
    if error["message"] != "no":
        assert (caught.value.tokens, caught.value.limit) == (5000, 4096)
        assert (streamed.value.tokens, streamed.value.limit) == (5000, 4096)


GENERATED = '{"name": "find", "arguments": {"foo": "bar"}}'
INVALID = "Tool call validation failed: parameters for tool find did not match schema: [missing properties: 'name']"


def failed_generation(wrote: str, message: str = INVALID) -> dict[str, Any]:
    error = {"message": message, "type": "invalid_request_error", "code": "tool_use_failed"}
    return {"error": error | {"failed_generation": wrote}}


def groq(answer: dict[str, Any]) -> Model:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(400, json=answer))
    return connect("groq/openai/gpt-oss-120b", key="any", url="http://fake/v1", transport=transport, retry=NO_RETRY)


@pytest.mark.parametrize(
    ("wrote", "calls"),
    [
        (GENERATED, [("find", {"foo": "bar"})]),
        (f"[{GENERATED}, {GENERATED}]", [("find", {"foo": "bar"})] * 2),
        ('{"name": "find", "parameters": {"foo": 1}}', [("find", {"foo": 1})]),
        ('<function=find>{"foo": 1}</function>', [("find", {"foo": 1})]),
        ('<function=find>{"foo": </function>', [("find", {"_malformed": '{"foo": '})]),
        ('{"name": "find", "arguments": "no"}', [("find", {"_malformed": "no"})]),
    ],
)
def test_calls_that_the_server_refused_are_told_to_the_model_and_never_run(
    wrote: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    conversation = asked()
    reply = groq(failed_generation(wrote)).chat(conversation)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == calls
    assert {call.problem for call in reply.tool_calls} == {INVALID}
    assert (reply.stop, reply.stop_reason) == ("tool_calls", "tool_use_failed")
    assert [call.id for call in conversation.open_calls] == [call.id for call in reply.tool_calls]


@pytest.mark.parametrize(
    "wrote", ["maybe", "", "{}", "[]", '{"name": "find"}', '{"arguments": {}}', '[{"name": 1}]', "7"]
)
def test_what_is_no_call_stays_an_error(wrote: str) -> None:
    conversation = asked()
    with pytest.raises(RequestRejected, match="model did not call a tool"):
        groq(failed_generation(wrote, "Tool choice is required, but model did not call a tool")).chat(conversation)
    assert len(conversation.turns) == 1


def test_refused_calls_at_the_end_of_a_stream_keep_what_came_before() -> None:
    target = Target("groq", "openai-chat", "m")
    first = {"id": "1", "choices": [{"index": 0, "delta": {"role": "assistant", "reasoning": "Hm."}}]}
    stream = f"data: {json.dumps(first)}\n\nevent: error\ndata: {json.dumps(failed_generation(GENERATED))}\n\n".encode()
    for size in (1, len(stream)):
        decoder = wire("openai-chat").Decoder(target.origin)
        deltas = [delta for at in range(0, len(stream), size) for delta in decoder.feed(stream[at : at + size])]
        assert deltas == [ReasoningDelta("Hm."), CallDelta(0, "find", '{"foo":"bar"}')]
        reply = decoder.reply()
        assert (reply.reasoning, reply.stop, reply.tool_calls[0].problem) == ("Hm.", "tool_calls", INVALID)
    alone = wire("openai-chat").decode(failed_generation(GENERATED), target.origin)
    assert alone.tool_calls == reply.tool_calls


def test_a_response_that_fails_for_its_length_is_an_overflow() -> None:
    target = Target("openai", "openai-responses", "gpt-5")
    error = {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}
    event = {"type": "response.failed", "response": {"status": "failed", "error": error, "output": []}}
    decoder = wire("openai-responses").Decoder(target.origin)
    with pytest.raises(ContextOverflow):
        decoder.feed(b"event: response.failed\ndata: " + json.dumps(event).encode() + b"\n\n")


PER_DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
PER_MINUTE = {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]}


def quota(violations: dict[str, Any]) -> dict[str, Any]:
    detail = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", **violations}
    return {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded it.", "details": [detail]}}


CLASSES: list[tuple[str, int, dict[str, Any], type[StatusError], int]] = [
    ("openai/gpt-5", 429, {"error": {"code": "insufficient_quota", "message": "Check billing."}}, QuotaExceeded, 1),
    ("openai/gpt-5", 429, {"error": {"code": "rate_limit_exceeded", "message": "Slow down."}}, RateLimited, 2),
    ("google/gemini-3-pro", 429, quota(PER_DAY), QuotaExceeded, 1),
    ("google/gemini-3-pro", 429, quota(PER_MINUTE), RateLimited, 2),
    (
        "anthropic/claude-sonnet-5",
        400,
        {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}},
        OutOfCredit,
        1,
    ),
    ("anthropic/claude-sonnet-5", 402, {"error": {"type": "billing_error", "message": "Pay."}}, OutOfCredit, 1),
    ("deepseek/deepseek-v4", 402, {"error": {"message": "Insufficient Balance"}}, OutOfCredit, 1),
    ("openrouter/a/b", 402, {"error": {"code": 402, "message": "More credits are required."}}, OutOfCredit, 1),
    ("openai/gpt-5", 408, {"error": {"message": "timeout"}}, ServerFailed, 2),
    ("openai/gpt-5", 409, {"error": {"message": "conflict"}}, ServerFailed, 2),
    ("anthropic/claude-sonnet-5", 529, {"error": {"type": "overloaded_error", "message": "busy"}}, ServerFailed, 2),
    ("anthropic/claude-sonnet-5", 504, {"error": {"type": "timeout_error", "message": "late"}}, ServerFailed, 2),
    ("anthropic/claude-sonnet-5", 413, {"error": {"type": "request_too_large", "message": "x"}}, RequestRejected, 1),
    ("openai/gpt-5", 403, {"error": {"message": "not for you"}}, AuthenticationFailed, 1),
    ("openai/gpt-5", 404, {"error": {"message": "no such thing"}}, NotFound, 1),
]


@pytest.mark.parametrize(("model", "status", "body", "kind", "tries"), CLASSES)
def test_each_failure_has_its_class_and_only_what_passes_is_tried_again(
    model: str, status: int, body: dict[str, Any], kind: type[StatusError], tries: int
) -> None:
    with Scripted(*[Status(status, body, {"retry-after": "0"})] * 3) as server, pytest.raises(kind) as caught:
        server.connect(model, retry=Retry(attempts=2, first_wait=0.01)).chat(asked())
    assert (type(caught.value), caught.value.status, len(server.requests)) == (kind, status, tries)


def test_a_quota_of_the_day_is_named_and_so_is_what_to_do() -> None:
    with Scripted(Status(429, quota(PER_DAY))) as server, pytest.raises(QuotaExceeded, match="PerDayPerProject"):
        server.connect("google/gemini-3-pro").chat(asked())
    with (
        Scripted(Status(402, {"error": {"message": "Pay."}})) as server,
        pytest.raises(OutOfCredit, match="add credit"),
    ):
        server.connect("anthropic/claude-sonnet-5").chat(asked())


def test_a_quota_in_a_stream_is_final_too() -> None:
    with Scripted([quota(PER_DAY)]) as server, pytest.raises(QuotaExceeded):
        list(server.connect("google/gemini-3-pro").stream(asked()))
    error = {"error": {"code": "insufficient_quota", "type": "insufficient_quota", "message": "Check billing."}}
    with Scripted([error]) as server, pytest.raises(QuotaExceeded):
        list(server.connect("openai-chat/gpt-5").stream(asked()))
    assert len(server.requests) == 1


def test_a_retired_model_is_said_to_be_one() -> None:
    life = ModelLifecycle(retires=date(2025, 1, 31), replaced_by="claude-new")
    register_model("anthropic/claude-gone", Facts(lifecycle=life))
    gone = Status(404, {"error": {"type": "not_found_error", "message": "model: claude-gone"}})
    words = "anthropic/claude-gone is retired since 2025-01-31; use anthropic/claude-new"
    with Scripted(gone) as server, pytest.raises(NotFound, match=words):
        server.connect("anthropic/claude-gone").chat(asked())


def test_a_container_that_is_gone_has_its_class() -> None:
    gone = Status(404, {"error": {"type": "not_found_error", "message": "Container not found: c1"}})
    with Scripted(gone) as server, pytest.raises(ContainerGone, match="files in it are lost"):
        server.connect("anthropic/claude-sonnet-5").chat(asked())
