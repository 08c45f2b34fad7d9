"""What servers that speak the Chat Completions API send besides what its owner does: none of it is lost in silence."""

import json
from typing import Any

import pytest

from antiphon import Reasoning, Text
from antiphon.conversation import Citation, OpaquePart
from antiphon.errors import ContextOverflow, RateLimited, ServerFailed, StatusError
from antiphon.wire import CallDelta, Reply, ReplyDelta, Target, TextDelta, openai_chat

ORIGIN = Target("perplexity", "openai-chat", "m").origin
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}


def whole(message: object, reason: object = "stop", **fields: Any) -> Reply:
    return openai_chat.decode({"choices": [{"message": message, "finish_reason": reason}], **fields}, ORIGIN)


def chunk(delta: object, reason: object = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **fields}


def streamed(*events: object, ending: str = "data: [DONE]\n\n") -> tuple[Reply, list[ReplyDelta]]:
    decoder = openai_chat.Decoder(ORIGIN)
    texts = [event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n" for event in events]
    deltas = decoder.feed("".join([*texts, ending]).encode())
    return decoder.reply(), deltas


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning": {"text": "hm"}},
        {"reasoning": {"content": "hm", "signature": "s"}},
        {"reasoning_content": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]},
        {"reasoning_content": ["h", "m"]},
        {"thinking": "hm"},
    ],
)
def test_thinking_is_read_in_every_shape(fields: dict[str, Any]) -> None:
    for reply in (whole({"content": "a", **fields}), streamed(chunk(fields), chunk({"content": "a"}, "stop"))[0]):
        assert (reply.reasoning, reply.text) == ("hm", "a")
        assert isinstance(reply.parts[0], Reasoning)
        assert reply.parts[0].native
        assert reply.parts[0].native.data == fields


@pytest.mark.parametrize(
    ("content", "text"),
    [({"a": 1}, '{"a":1}'), ({}, "{}"), (5, "5"), (["a", "b"], "ab"), ([{"text": "a"}], '{"text":"a"}'), ([{}], "")],
)
def test_content_that_is_no_text_is_not_lost(content: object, text: str) -> None:
    assert whole({"content": content}).text == text
    reply, deltas = streamed(chunk({"content": content}), chunk({}, "stop"))
    assert reply.text == text == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def test_what_stands_beside_the_answer_is_kept() -> None:
    found = {"citations": ["u"], "search_results": [{"url": "u", "title": "t"}]}
    for reply in (
        whole({"content": "a"}, **found),
        streamed(chunk({"content": "a"}, **found), chunk({}, "stop", **found))[0],
    ):
        assert reply.parts[0] == Text("a", citations=(Citation("u", "t"),))
        assert isinstance(reply.parts[1], OpaquePart)
        assert reply.parts[1].native.data == {"_received": found}


def test_a_single_call_without_its_list() -> None:
    for reply in (whole({"tool_calls": CALL}), streamed(chunk({"tool_calls": CALL}, "tool_calls"))[0]):
        assert [(call.name, call.arguments) for call in reply.tool_calls] == [("f", {"x": 1})]
        assert reply.stop == "tool_calls"


@pytest.mark.parametrize("together", [True, False])
def test_a_call_said_in_both_ways_is_one_call(together: bool) -> None:
    old, new = {"function_call": CALL["function"]}, {"tool_calls": [CALL | {"index": 0}]}
    deltas = [old | new] if together else [new, old]
    reply, pieces = streamed(*map(chunk, deltas), chunk({}, "tool_calls"))
    assert [call.id for call in reply.tool_calls] == ["c1"]
    assert pieces == [CallDelta(0, "f", '{"x":1}')]


def test_an_empty_object_before_the_arguments_says_nothing() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": {}}}
    rest = {"index": 0, "function": {"arguments": '{"x":1}'}}
    reply, _ = streamed(chunk({"tool_calls": [first]}), chunk({"tool_calls": [rest]}), chunk({}, "tool_calls"))
    assert reply.tool_calls[0].arguments == {"x": 1}
    assert streamed(chunk({"tool_calls": [first]}, "tool_calls"))[0].tool_calls[0].problem is None


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        *[("STOP", "end"), ("end_turn", "end"), ("COMPLETE", "end"), ("eos_token", "end"), ("eos", "end")],
        *[("MAX_TOKENS", "length"), ("max_tokens", "length"), ("model_length", "length")],
        *[("stop_sequence", "stop_sequence"), ("SAFETY", "refusal"), ("recitation", "refusal")],
        *[(None, "end"), (["stop"], "end")],
    ],
)
def test_words_for_the_end(word: object, stop: str) -> None:
    assert whole({"content": "a"}, word).stop == stop
    assert streamed(chunk({"content": "a"}), chunk({}, word))[0].stop == stop


def test_a_call_cut_off_under_another_word_is_not_run() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":1'}}
    assert "token limit" in (whole({"tool_calls": [call]}, "MAX_TOKENS").tool_calls[0].problem or "")


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"detail": "boom"}, "boom"),
        ({"detail": [{"loc": ["body", "x"], "msg": "boom"}]}, "boom"),
        ('event: error\ndata: boom\n\n', "boom"),
        (chunk({}, None, x_groq={"id": "r", "error": "boom"}), "boom"),
        ({"choices": [{"index": 0, "delta": {}, "error": {"message": "boom", "code": 502}}]}, "boom"),
        ({"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "boom"}}]}, "boom"),
    ],
)  # fmt: skip
def test_an_error_within_the_stream_is_told(event: object, message: str) -> None:
    with pytest.raises(ServerFailed, match=message):
        streamed(chunk({"content": "a"}), event, ending="")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"detail": "Not Found"}, StatusError),
        ({"object": "error", "message": "maximum context length is 10 tokens", "code": 400}, ContextOverflow),
        ({"choices": [{"message": {"content": "half"}, "error": {"code": 429, "message": "slow"}}]}, RateLimited),
    ],
)
def test_an_error_in_place_of_an_answer_is_told(body: dict[str, Any], kind: type[StatusError]) -> None:
    with pytest.raises(kind):
        openai_chat.decode(body, ORIGIN)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"detail": {"error": "no"}}, "no"),
        ({"detail": {"message": "no"}}, "no"),
        ({"detail": ["no", {"msg": "way"}]}, "no; way"),
        ({"error": {"detail": "no"}}, "no"),
        ([{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}], "no"),
    ],
)
def test_errors_are_read_in_every_shape(body: object, message: str) -> None:
    assert openai_chat.parse_error(body).message == message


@pytest.mark.parametrize("rest", ["data: DONE\n\n", "data: {half\n\n", "data: null\n\n"])
def test_what_follows_a_complete_answer_cannot_break_it(rest: str) -> None:
    assert streamed(chunk({"content": "a"}, "stop"), rest, ending="")[0].text == "a"


def test_the_only_choice_counts_whatever_its_number() -> None:
    choice = {"index": 1, "message": {"content": "a"}, "finish_reason": "stop"}
    assert openai_chat.decode({"choices": [choice]}, ORIGIN).text == "a"


def test_whole_numbers_of_tokens_may_be_written_as_decimals() -> None:
    usage = whole({"content": "a"}, usage={"prompt_tokens": 3.0, "completion_tokens": 2.0}).usage
    assert (usage.input_tokens, usage.output_tokens) == (3, 2)


def test_nothing_counts_after_the_end_of_the_stream() -> None:
    assert streamed(chunk({"content": "a"}), "data: [DONE]\n\n", chunk({"content": "b"}))[0].text == "a"


def test_calls_whose_ids_become_the_same_are_two() -> None:
    calls = [CALL | {"id": id} for id in ("a.b", "a/b", "a_b")]
    assert len({call.id for call in whole({"tool_calls": calls}).tool_calls}) == 3


def test_the_sizes_that_a_server_tells_apart_are_those_of_the_error() -> None:
    error = {"message": "it exceeds the available context size", "n_prompt_tokens": 30, "n_ctx": 20, "code": 400}
    with pytest.raises(ContextOverflow) as caught:
        openai_chat.decode({"error": error}, ORIGIN)
    assert (caught.value.tokens, caught.value.limit) == (30, 20)
