"""Answers that come in several steps are one reply and one turn, whichever way the model is asked."""

import asyncio
import json
from typing import Any

import pytest

from antiphon import Conversation
from antiphon.conversation import OpaquePart, Reasoning, ServerCall, ServerResult, Text
from antiphon.errors import ContinuationFailed, OptionError, RateLimited, StreamCut, UnknownStop
from antiphon.providers import NO_RETRY, Model, Retry
from antiphon.wire import CallDelta, Reply, ReplyDelta, TextDelta, Usage
from tests.providers.scripted import Scripted, Status

CLAUDE, GEMINI, GPT = "anthropic/claude-sonnet-5-5", "google/gemini-4-hydrogen", "openai/gpt-6.1-sol"
FAST = Retry(first_wait=0.01)
FACES = ["chat", "stream", "achat", "astream"]
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def asked(text: str = "Look it up.") -> Conversation:
    return Conversation().add_user(text)


def ask(model: Model, conversation: Conversation, face: str = "chat", **options: Any) -> tuple[Reply, list[ReplyDelta]]:
    """Ask by one of the four faces, and return the reply with the pieces that came."""
    if face == "chat":
        return model.chat(conversation, **options), []
    if face == "stream":
        with model.stream(conversation, **options) as stream:
            return _read(list(stream), stream)
    return asyncio.run(_aask(model, conversation, face, options))


def _read(deltas: list[ReplyDelta], stream: Any) -> tuple[Reply, list[ReplyDelta]]:
    return stream.reply, deltas


async def _aask(
    model: Model, conversation: Conversation, face: str, options: dict[str, Any]
) -> tuple[Reply, list[ReplyDelta]]:
    async with model:
        if face == "achat":
            return await model.achat(conversation, **options), []
        async with model.astream(conversation, **options) as stream:
            return _read([delta async for delta in stream], stream)


def texts(deltas: list[ReplyDelta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def message(*blocks: dict[str, Any], stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    """Return a message of Anthropic's."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {"id": "msg_1", "type": "message", "content": list(blocks), "stop_reason": stop, "usage": usage, **more}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def candidate(*parts: dict[str, Any], stop: str = "STOP", output: int = 5, **more: Any) -> dict[str, Any]:
    """Return a response of Gemini's."""
    usage = {"promptTokenCount": 100, "candidatesTokenCount": output}
    return {
        "candidates": [{"content": {"parts": list(parts)}, "finishReason": stop}],
        "usageMetadata": usage,
        "responseId": f"r{output}",
        **more,
    }


def events(face: str, response: dict[str, Any]) -> Any:
    """Return a response whole, or as the stream of it."""
    if not face.endswith("stream"):
        return response
    if "content" not in response:
        return [response]
    told: list[dict[str, Any]] = [{"type": "message_start", "message": {**response, "content": []}}]
    for index, block in enumerate(response["content"]):
        start = {**block, "input": {}} if "input" in block else block
        told.append({"type": "content_block_start", "index": index, "content_block": start})
        if "input" in block:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            told.append({"type": "content_block_delta", "index": index, "delta": delta})
    ending = {"stop_reason": response["stop_reason"]}
    return [*told, {"type": "message_delta", "delta": ending, "usage": response["usage"]}, {"type": "message_stop"}]


class TestPausedTurns:
    @pytest.mark.parametrize("face", FACES)
    def test_the_turn_goes_back_last_and_all_steps_are_one_reply(self, face: str):
        steps = [
            message(said("Searching."), SEARCH, stop="pause_turn"),
            message(FOUND, SEARCH | {"id": "srvtoolu_2"}, stop="pause_turn"),
            message(FOUND | {"tool_use_id": "srvtoolu_2"}, said(" Found.")),
        ]
        conversation = asked()
        with Scripted(*(events(face, step) for step in steps)) as server:
            reply, deltas = ask(server.connect(CLAUDE), conversation, face)
        assert (reply.text, reply.stop, reply.hops) == ("Searching. Found.", "end", 3)
        assert [type(part) for part in reply.parts] == [Text, ServerCall, ServerResult, ServerCall, ServerResult, Text]
        assert [turn.parts for turn in conversation.turns][1:] == [reply.parts]
        if deltas:
            assert texts(deltas) == reply.text
        first, second, third = server.bodies
        for body, contents in ((second, steps[:1]), (third, steps[:2])):
            content = [block for step in contents for block in step["content"]]
            assert body["messages"] == [*first["messages"], {"role": "assistant", "content": content}]
            assert {k: v for k, v in body.items() if k != "messages"} == {
                k: v for k, v in first.items() if k != "messages"
            }

    def test_usage_adds_up_and_the_window_is_the_last_one(self):
        steps = [
            message(said("a"), stop="pause_turn"),
            message(said("b"), usage={"input_tokens": 20, "output_tokens": 7}),
        ]
        with Scripted(*steps) as server:
            reply, _ = ask(server.connect(CLAUDE), asked())
        assert (reply.usage, reply.window) == (Usage(30, 12), 27)

    @pytest.mark.parametrize("face", ["chat", "stream"])
    def test_calls_of_later_steps_are_counted_on(self, face: str):
        def use(name: str) -> dict[str, Any]:
            return {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": {"a": 1}}

        steps = [message(said("a"), stop="pause_turn"), message(use("f"), use("g"), stop="tool_use")]
        with Scripted(*(events(face, step) for step in steps)) as server:
            reply, deltas = ask(server.connect(CLAUDE), asked(), face)
        assert (reply.stop, [call.name for call in reply.tool_calls]) == ("tool_calls", ["f", "g"])
        names = {delta.index: delta.name for delta in deltas if isinstance(delta, CallDelta) and delta.name}
        assert names == ({0: "f", 1: "g"} if deltas else {})

    def test_what_users_say_meanwhile_is_no_part_of_the_steps(self):
        conversation = asked()

        def interrupt(_: Any) -> dict[str, Any]:
            conversation.add_user("And hurry.")
            return message(said("a"), stop="pause_turn")

        with Scripted(interrupt, message(said("b"))) as server:
            ask(server.connect(CLAUDE), conversation)
        assert server.bodies[1]["messages"][-1] == {"role": "assistant", "content": [said("a")]}
        assert [turn.text for turn in conversation.turns] == ["Look it up.", "ab", "And hurry."]

    def test_calls_of_ours_are_answered_before_it_goes_on(self):
        use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
        with Scripted(message(use, stop="pause_turn")) as server:
            reply, _ = ask(server.connect(CLAUDE), asked())
        assert (len(server.requests), reply.stop, len(reply.tool_calls)) == (1, "pause", 1)

    @pytest.mark.parametrize("face", FACES)
    @pytest.mark.parametrize(("continuations", "requests"), [(0, 1), (1, 2), (3, 4)])
    def test_the_limit_is_an_error_that_keeps_what_was_said(self, face: str, continuations: int, requests: int):
        conversation = asked()
        step = events(face, message(said("on and "), stop="pause_turn"))
        with Scripted(*[step] * 10) as server, pytest.raises(ContinuationFailed, match="`continuations`") as caught:
            ask(server.connect(CLAUDE, continuations=continuations), conversation, face)
        assert len(server.requests) == requests
        assert caught.value.reply.text == caught.value.partial == "on and " * requests
        assert len(conversation.turns) == 1

    def test_twenty_steps_follow_the_first_unless_told_otherwise(self):
        with Scripted(*[message(said("x"), stop="pause_turn")] * 30) as server, pytest.raises(ContinuationFailed):
            ask(server.connect(CLAUDE), asked())
        assert len(server.requests) == 21

    @pytest.mark.parametrize("bad", [-1, True, "3", None, 1.5])
    def test_the_limit_is_checked(self, bad: Any):
        with Scripted() as server, pytest.raises(OptionError, match="`continuations` is a whole number"):
            server.connect(CLAUDE, continuations=bad)

    def test_a_step_that_passes_by_is_tried_again_alone(self):
        overloaded = Status(529, {"error": {"message": "busy"}}, {"retry-after": "0"})
        steps = [message(said("a"), stop="pause_turn"), overloaded, message(said("b"))]
        with Scripted(*steps) as server:
            reply, _ = ask(server.connect(CLAUDE), asked())
        assert (reply.text, reply.hops) == ("ab", 2)
        assert server.bodies[1] == server.bodies[2]

    def test_a_step_that_fails_keeps_what_was_said(self):
        conversation = asked()
        failed = Status(429, {"error": {"type": "rate_limit_error", "message": "slow down"}})
        with (
            Scripted(message(said("Half"), stop="pause_turn"), failed) as server,
            pytest.raises(ContinuationFailed, match=r"step 2 failed.*slow down") as caught,
        ):
            ask(server.connect(CLAUDE, retry=NO_RETRY), conversation)
        assert caught.value.reply.text == "Half"
        assert isinstance(caught.value.__cause__, RateLimited)
        assert len(conversation.turns) == 1

    def test_a_stream_that_is_cut_in_a_later_step_says_all_that_came(self):
        cut = events("stream", message(said(" of it")))[:2]
        with (
            Scripted(events("stream", message(said("Half"), stop="pause_turn")), cut) as server,
            pytest.raises(ContinuationFailed) as caught,
        ):
            ask(server.connect(CLAUDE, retry=NO_RETRY), asked(), "stream")
        assert caught.value.partial == "Half of it"
        assert isinstance(caught.value.__cause__, StreamCut)

    def test_an_unknown_word_in_a_later_step_keeps_all_of_them(self):
        steps = [message(said("a"), stop="pause_turn"), message(said("b"), stop="brand_new")]
        with Scripted(*steps) as server, pytest.raises(UnknownStop) as caught:
            ask(server.connect(CLAUDE), asked())
        assert caught.value.reply.text == "ab"

    def test_a_compaction_block_goes_back_and_stays_in_place(self):
        block = {"type": "compaction", "content": "They talked."}
        with Scripted(message(block, stop="compaction"), message(said("Go on."))) as server:
            reply, _ = ask(server.connect(CLAUDE), asked())
        assert server.bodies[1]["messages"][-1] == {"role": "assistant", "content": [block]}
        assert (reply.text, type(reply.parts[0])) == ("Go on.", OpaquePart)


class TestTokens:
    @pytest.mark.parametrize("face", FACES)
    def test_the_same_request_goes_with_the_token_and_texts_are_joined(self, face: str):
        steps = [
            candidate({"text": "Once upon"}, stop="CONTINUATION", continuationToken="t1"),
            candidate({"text": " a ti"}, stop="CONTINUATION", continuationToken="t2", output=6),
            candidate({"text": "me."}, output=7),
        ]
        conversation = asked()
        with Scripted(*(events(face, step) for step in steps)) as server:
            reply, deltas = ask(server.connect(GEMINI, max_tokens=50_000), conversation, face)
        assert (reply.text, reply.parts, reply.stop) == (
            "Once upon a time.",
            (Text("Once upon a time."),),
            "end",
        )
        assert (reply.hops, reply.usage.input_tokens, reply.usage.output_tokens, reply.window) == (3, 300, 18, 118)
        assert [turn.text for turn in conversation.turns][1:] == [reply.text]
        if deltas:
            assert texts(deltas) == reply.text
        first, second, third = server.bodies
        assert second == {**first, "continuationToken": "t1"}
        assert third == {**first, "continuationToken": "t2"}
        assert reply.state.continuation_token == ""

    def test_signed_parts_and_thoughts_stay_as_they_came(self):
        thought = {"text": "Hm", "thought": True}
        signed = {"text": "a", "thoughtSignature": "c2ln"}
        steps = [
            candidate(signed, thought, stop="CONTINUATION", continuationToken="t1"),
            candidate(thought | {"text": "m."}, {"text": "b"}, output=6),
        ]
        with Scripted(*steps) as server:
            reply, _ = ask(server.connect(GEMINI), asked())
        assert [part.text for part in reply.parts if isinstance(part, Reasoning)] == ["Hmm."]
        assert (reply.text, reply.reasoning) == ("ab", "Hmm.")
        assert [part.native.data for part in reply.parts[:1] if part.native] == [signed]

    def test_sources_of_all_steps_are_kept(self):
        first = candidate({"text": "a"}, stop="CONTINUATION", continuationToken="t1")
        first["candidates"][0]["groundingMetadata"] = {"webSearchQueries": ["one"]}
        second = candidate({"text": "b"}, output=6)
        second["candidates"][0]["groundingMetadata"] = {"webSearchQueries": ["two"]}
        with Scripted(first, second) as server:
            reply, _ = ask(server.connect(GEMINI), asked())
        queries = [source["groundingMetadata"]["webSearchQueries"] for source in reply.state.sources]
        assert queries == [["one"], ["two"]]

    def test_calls_at_the_end_are_calls_of_the_whole(self):
        call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}
        steps = [candidate(call, stop="CONTINUATION", continuationToken="t1"), candidate({"text": "b"}, output=6)]
        with Scripted(*steps) as server:
            reply, _ = ask(server.connect(GEMINI), asked())
        assert (reply.stop, len(reply.tool_calls)) == ("tool_calls", 1)

    def test_streamed_calls_are_counted_over_all_steps(self):
        def call(name: str) -> dict[str, Any]:
            return {"functionCall": {"name": name, "args": {}}, "thoughtSignature": "c2ln"}

        steps = [candidate(call("f"), stop="CONTINUATION", continuationToken="t1"), candidate(call("g"), output=6)]
        with Scripted(*([step] for step in steps)) as server:
            reply, deltas = ask(server.connect(GEMINI), asked(), "stream")
        assert [(each.index, each.name) for each in deltas if isinstance(each, CallDelta)] == [(0, "f"), (1, "g")]
        assert [call.name for call in reply.tool_calls] == ["f", "g"]

    @pytest.mark.parametrize("options", [{}, {"max_tokens": 5}])
    def test_a_spent_budget_is_the_end_and_its_token_is_kept(self, options: dict[str, Any]):
        cut = candidate({"text": "Half"}, stop="MAX_TOKENS", continuationToken="t1")
        with Scripted(cut) as server:
            reply, _ = ask(server.connect(GEMINI), asked(), **options)
        assert (len(server.requests), reply.stop, reply.state.continuation_token) == (1, "length", "t1")

    def test_without_a_token_it_is_cut(self):
        with Scripted(candidate({"text": "Half"}, stop="MAX_TOKENS")) as server:
            assert ask(server.connect(GEMINI), asked())[0].stop == "length"
        with Scripted(candidate({"text": "Half"}, stop="CONTINUATION")) as server:
            assert ask(server.connect(GEMINI), asked())[0].stop == "pause"


class TestUnreadable:
    def test_it_is_asked_for_again_at_most_twice(self):
        broken = candidate(stop="MALFORMED_FUNCTION_CALL")
        with Scripted(broken, broken, candidate({"text": "ok"})) as server:
            reply, _ = ask(server.connect(GEMINI), asked())
        assert (reply.text, reply.usage.input_tokens, reply.hops) == ("ok", 300, 1)
        assert server.bodies[0] == server.bodies[1] == server.bodies[2]
        with Scripted(*[broken] * 5) as server:
            reply, _ = ask(server.connect(GEMINI), asked())
        assert (len(server.requests), reply.stop) == (3, "malformed")

    def test_not_where_a_part_was_seen_or_no_retry_is_wanted(self):
        broken = candidate({"text": "Hm"}, stop="MALFORMED_FUNCTION_CALL")
        with Scripted([broken], [broken]) as server:
            reply, _ = ask(server.connect(GEMINI), asked(), "stream")
        assert (len(server.requests), reply.stop, reply.text) == (1, "malformed", "Hm")
        with Scripted(broken, broken) as server:
            assert ask(server.connect(GEMINI, retry=NO_RETRY), asked())[0].stop == "malformed"
        assert len(server.requests) == 1


def response(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    """Return a response of OpenAI's."""
    return {"id": "resp_1", "object": "response", "status": status, "output": list(output), **more}


def item(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


class TestResponses:
    @pytest.mark.parametrize("face", FACES)
    def test_items_go_back_where_the_server_counts_messages(self, face: str):
        limit = {"incomplete_details": {"reason": "max_messages"}}
        steps = [response(item("One. "), status="incomplete", **limit), response(item("Two."))]
        kinds = {"incomplete": "response.incomplete", "completed": "response.completed"}
        told = [
            [{"type": kinds[step["status"]], "response": step}] if face.endswith("stream") else step for step in steps
        ]
        with Scripted(*told) as server:
            reply, deltas = ask(server.connect(GPT), asked(), face)
        assert (reply.text, reply.stop, reply.hops) == ("One. Two.", "end", 2)
        assert server.bodies[1]["input"][:-1] == server.bodies[0]["input"]
        assert server.bodies[1]["input"][-1]["content"] == "One. "
        if deltas:
            assert texts(deltas) == reply.text

    @pytest.mark.parametrize("face", FACES)
    def test_a_response_in_the_background_is_fetched_until_it_is_finished(self, face: str):
        steps = [response(status="queued"), response(item("Ha"), status="in_progress"), response(item("Half."))]
        with Scripted(*steps) as server:
            model = server.connect(GPT, retry=FAST, extra={"background": True, "store": True})
            reply, deltas = ask(model, asked(), face)
        assert [(got.method, got.path) for got in server.requests] == [
            ("POST", "/v1/responses"),
            ("GET", "/v1/responses/resp_1"),
            ("GET", "/v1/responses/resp_1"),
        ]
        assert (reply.text, reply.stop, reply.hops) == ("Half.", "end", 1)
        assert texts(deltas) == (reply.text if deltas else "")

    def test_the_wait_is_bounded_and_the_id_is_kept(self):
        with (
            Scripted(*[response(status="queued")] * 50) as server,
            pytest.raises(ContinuationFailed, match=r"resp_1 after 0.3 s.*max_seconds") as caught,
        ):
            ask(server.connect(GPT, retry=FAST, max_seconds=0.3), asked())
        assert caught.value.reply.id == "resp_1"

    def test_one_that_cannot_be_fetched_keeps_its_id(self):
        gone = Status(404, {"error": {"message": "no such response"}})
        with (
            Scripted(response(status="queued"), gone) as server,
            pytest.raises(ContinuationFailed, match=r"resp_1 .*could not be fetched.*no such response") as caught,
        ):
            ask(server.connect(GPT, retry=FAST), asked())
        assert caught.value.reply.id == "resp_1"

    def test_a_request_for_approval_is_left_to_a_person(self):
        approval = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}", "server_label": "s"}
        with Scripted(response(approval)) as server:
            reply, _ = ask(server.connect(GPT), asked())
        assert (reply.stop, reply.stop_reason, len(server.requests)) == ("pause", "mcp_approval_request", 1)

    @pytest.mark.parametrize("status", ["queued", "in_progress"])
    def test_one_without_an_id_is_not_asked_for_again(self, status: str):
        with Scripted(response(status=status, id="")) as server:
            reply, _ = ask(server.connect(GPT, retry=FAST), asked())
        assert (reply.stop, reply.stop_reason, len(server.requests)) == ("pause", status, 1)


def test_steps_are_recorded_and_played_back(tmp_path: Any):
    from antiphon import connect

    scripts = {
        CLAUDE: [message(said("a"), stop="pause_turn"), message(said("b"))],
        GPT: [response(status="queued"), response(status="in_progress"), response(item("ab"))],
        GEMINI: [candidate(stop="MALFORMED_RESPONSE"), candidate({"text": "ab"})],
    }
    for model, steps in scripts.items():
        path = tmp_path / "record.jsonl"
        with Scripted(*steps) as server:
            recorded, _ = ask(server.connect(model, record=path, retry=FAST), asked())
        played = connect(model, replay=path).chat(asked())
        assert (played.text, played.hops, played.usage) == ("ab", recorded.hops, recorded.usage)
