"""Thinking and reasoning that are bound to what stands before them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.fakes import Answer, Fake, call, echo
from tests.fakes.conftest import HEADERS

SINCE = HEADERS | {"anthropic-version": "2026-10-21"}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
CONTROLS = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
TOOL = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}
BOUND = "Invalid `signature` in `thinking` block. The block is bound to a different conversation."
MODELS = ["claude-fable-5-2", "claude-fable-5-1", "claude-mythos-5-1", "claude-opus-5-5", "claude-sonnet-5-5"]


def post(fake: Fake, body: dict[str, Any], **headers: str) -> httpx2.Response:
    return httpx2.post(f"{fake.url}/v1/messages", json=body, headers=SINCE | headers)


def begun(model: str = "claude-sonnet-5-5", **more: Any) -> dict[str, Any]:
    question = {"role": "user", "content": "Weather?"}
    return {"model": model, "max_tokens": 1000, "system": "Be brief.", "messages": [question], **more}


def say(fake: Fake, body: dict[str, Any], said: str = "And now?", **headers: str) -> dict[str, Any]:
    """Send a request, add the answer and the next words to it, and return the answer."""
    response = post(fake, body, **headers)
    assert response.status_code == 200, response.text
    body["messages"] += [
        {"role": "assistant", "content": response.json()["content"]},
        {"role": "user", "content": said},
    ]
    return response.json()


@pytest.fixture
def new() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def echoing() -> Iterator[Fake]:
    with Fake(echo) as fake:
        yield fake


@pytest.mark.parametrize("model", [*MODELS, "claude-haiku-5-5", "claude-sonnet-5", "claude-opus-5"])
def test_models_that_think_by_default_do(new: Fake, model: str) -> None:
    new.play("Rain.")
    thought, text = say(new, begun(model))["content"]
    assert (thought["type"], text["text"]) == ("thinking", "Rain.")
    assert thought["signature"]


def test_thinking_is_shown_to_those_who_ask_and_left_out_where_it_is_off(new: Fake) -> None:
    new.play("1", "2", "3", Answer("4", reasoning="Hm."), Answer("5", reasoning="Hm."), Answer("6", reasoning="Hm."))
    kinds = [
        (begun(), [("thinking", "")]),
        (begun(thinking={"type": "adaptive", "display": "summarized"}), [("thinking", "Let me think.")]),
        (begun(thinking={"type": "between_tools"}), []),
        (begun(), [("thinking", "Hm.")]),
        (begun("claude-opus-5", thinking={"type": "disabled"}), []),
        (begun("claude-opus-4-8"), [("thinking", "Hm.")]),
    ]
    for number, (body, wanted) in enumerate(kinds, 1):
        *thoughts, text = say(new, body)["content"]
        assert [(block["type"], block["thinking"]) for block in thoughts] == wanted
        assert text["text"] == str(number)


@pytest.mark.parametrize("model", MODELS)
def test_a_changed_prefix_is_refused(echoing: Fake, model: str) -> None:
    body = begun(model, tools=[TOOL])
    say(echoing, body)
    say(echoing, body)
    assert post(echoing, body).status_code == 200
    for change, place in (
        ({"system": "Be long."}, "messages.1.content.0"),
        ({"tools": []}, "messages.1.content.0"),
        ({"tools": [TOOL | {"description": "x"}]}, "messages.1.content.0"),
    ):
        refused = post(echoing, body | change)
        assert refused.status_code == 400
        assert refused.json()["error"]["message"].startswith(f"{place}: {BOUND}")
    later = deepcopy(body)
    later["messages"][2]["content"] = "And then?"
    assert post(echoing, later).json()["error"]["message"].startswith(f"messages.3.content.0: {BOUND}")


def test_what_does_not_count_as_a_change(echoing: Fake) -> None:
    body = begun(tools=[TOOL])
    say(echoing, body)
    say(echoing, body)
    mark = {"cache_control": {"type": "ephemeral"}}
    same = body | {
        "system": [{"type": "text", "text": "Be brief."} | mark],
        "tools": [TOOL | mark],
        "tool_choice": {"type": "none"},
        "output_config": {"effort": "low"},
    }
    assert post(echoing, same).status_code == 200
    first, answer, *rest = deepcopy(body["messages"])
    first["content"] = [{"type": "text", "text": "Weather?"} | mark]
    split = [{"role": "assistant", "content": [block]} for block in answer["content"]]
    assert post(echoing, body | {"messages": [first, *split, *rest]}).status_code == 200


def test_thinking_may_be_left_out_from_the_front_only(echoing: Fake) -> None:
    body = begun()
    for _ in range(3):
        say(echoing, body)

    def without(*places: int) -> httpx2.Response:
        sent = deepcopy(body)
        for place in places:
            del sent["messages"][place]["content"][0]
        return post(echoing, sent)

    assert [without(*places).status_code for places in ((1,), (1, 3), (1, 3, 5), (5,))] == [200] * 4
    assert without(3).json()["error"]["message"].startswith(f"messages.5.content.0: {BOUND}")
    assert without(1, 3).status_code == 200


def test_dropping_is_told_and_must_be_asked_for_with_its_beta(echoing: Fake) -> None:
    body = begun()
    say(echoing, body)
    say(echoing, body)
    changed = body | {"system": "Be long."}
    assert "Extra inputs are not permitted" in post(echoing, changed | {"thinking": DROP}).text
    told = say(echoing, changed | {"thinking": DROP}, **CONTROLS)
    assert told["input_transformations"] == [
        {"type": "thinking_dropped", "path": f"messages.{place}.content.0", "reason": "prefix_mismatch"}
        for place in (1, 3)
    ]
    # The answer is bound to what was sent, but the older blocks have to be dropped again.
    again = post(echoing, changed | {"thinking": DROP}, **CONTROLS).json()
    assert len(again["input_transformations"]) == 2
    assert post(echoing, changed).status_code == 400
    dropped = deepcopy(changed)
    for place in (1, 3):
        del dropped["messages"][place]["content"][0]
    assert "input_transformations" not in post(echoing, dropped).json()


def test_after_a_drop_in_the_middle_the_next_answer_is_bound_to_what_was_read(echoing: Fake) -> None:
    body = begun()
    say(echoing, body)
    say(echoing, body)
    body["messages"][2]["content"] = "And then?"
    for _ in range(3):
        told = say(echoing, body | {"thinking": DROP}, **CONTROLS)
        assert [each["path"] for each in told["input_transformations"]] == ["messages.3.content.0"]


def test_an_old_account_is_let_pass_by_some_models() -> None:
    with Fake(echo, account="old") as fake:
        body = begun()
        say(fake, body)
        told = post(fake, body | {"system": "Be long."}).json()
        assert [each["type"] for each in told["input_transformations"]] == ["thinking_mismatch_allowed"]
        strict = begun("claude-fable-5-2")
        say(fake, strict)
        assert BOUND in post(fake, strict | {"system": "Be long."}).text


def test_other_models_are_not_bound(echoing: Fake) -> None:
    body = begun("claude-opus-5")
    say(echoing, body)
    assert "input_transformations" not in post(echoing, body | {"system": "Be long."}).json()


def test_thinking_of_another_model_is_dropped_without_a_fault(echoing: Fake) -> None:
    body = begun("claude-opus-5-5")
    say(echoing, body)
    body["model"] = "claude-sonnet-5-5"
    told = say(echoing, body)
    assert told["input_transformations"][0]["reason"] == "model_mismatch"
    assert post(echoing, body).status_code == 200
    related = begun("claude-fable-5-2")
    say(echoing, related)
    assert "input_transformations" not in post(echoing, related | {"model": "claude-mythos-5-2"}).json()


def test_a_compaction_begins_a_new_prefix(new: Fake) -> None:
    block = {"type": "compaction", "content": "It rains.", "signature": "c2ln"}
    new.play(Answer(blocks=[block], stop_word="compaction"), echo, echo)
    compacted = post(new, begun()).json()
    assert (compacted["content"], compacted["stop_reason"]) == ([block], "compaction")
    body = begun(messages=[{"role": "assistant", "content": [block]}, {"role": "user", "content": "And now?"}])
    say(new, body)
    body["messages"].insert(0, {"role": "user", "content": "Something older."})
    assert post(new, body).status_code == 200


WORDS = st.text("abc ", min_size=1, max_size=6).filter(str.strip)
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FEW
@given(said=st.lists(WORDS, min_size=2, max_size=5), data=st.data())
def test_any_change_makes_all_later_thinking_invalid(new: Fake, said: list[str], data: st.DataObject) -> None:
    # Drawn first: an example that ends here leaves no answers.
    place = data.draw(st.sampled_from(range(0, 2 * len(said) - 3, 2)))
    body = begun(messages=[{"role": "user", "content": said[0]}])
    for words in said[1:]:
        new.play(Answer(words, reasoning=words))
        say(new, body, words)
    new.play("Read.", "Read in part.")
    sent = deepcopy(body)
    assert post(new, sent).status_code == 200
    sent["messages"][place]["content"] += "!"
    refused = post(new, sent)
    assert refused.json()["error"]["message"].startswith(f"messages.{place + 1}.content.0: {BOUND}")
    told = post(new, sent | {"thinking": DROP}, **CONTROLS).json()["input_transformations"]
    later = range(place + 1, len(sent["messages"]), 2)
    assert [each["path"] for each in told] == [f"messages.{index}.content.0" for index in later]


# OpenAI


def respond(fake: Fake, items: list[Any], **more: Any) -> dict[str, Any]:
    body = {"model": "gpt-6.1-sol", "input": items, "store": False, **more}
    response = httpx2.post(f"{fake.url}/v1/responses", json=body, headers=HEADERS)
    assert response.status_code == 200, response.text
    return response.json()


ASK = {"role": "user", "content": "Weather?"}


def test_models_that_reason_answer_with_encrypted_reasoning(echoing: Fake) -> None:
    for model, effort, kinds in (
        ("gpt-6.1-sol", None, ["reasoning", "message"]),
        ("gpt-6-sol", "none", ["message"]),
        ("gpt-6-sol", "low", ["reasoning", "message"]),
        ("gpt-5.4", None, ["message"]),
        ("gpt-4o", None, ["message"]),
        ("unheard-of", None, ["message"]),
    ):
        more = {"reasoning": {"effort": effort}} if effort else {}
        output = respond(echoing, [ASK], model=model, **more)["output"]
        assert [item["type"] for item in output] == kinds
        assert all(item["encrypted_content"] and not item["summary"] for item in output[:-1])


def test_reasoning_behind_a_change_is_removed_and_told(new: Fake) -> None:
    new.play(Answer("Rain.", reasoning="Oslo."), call("now"), *[echo] * 6)
    first = respond(new, [ASK])
    history = [ASK, *first["output"], {"role": "user", "content": "When?"}]
    second = respond(new, history)
    history += [
        *second["output"],
        {"type": "function_call_output", "call_id": second["output"][-1]["call_id"], "output": "7"},
    ]
    assert "input_transformations" not in respond(new, history)
    # As it came without what only the server adds, too.
    bare = [{k: v for k, v in item.items() if k not in ("status",)} for item in history]
    assert "input_transformations" not in respond(new, bare)
    ids = [item["id"] for item in history if item.get("type") == "reasoning"]
    told = respond(new, history, instructions="Be long.")["input_transformations"]
    assert told == [{"id": each, "action": "removed", "reason": "prefix_mismatch"} for each in ids]
    later = [*history[:3], {"role": "user", "content": "Where?"}, *history[4:]]
    assert [each["id"] for each in respond(new, later)["input_transformations"]] == ids[1:]
    other = respond(new, history, model="gpt-6-sol")["input_transformations"]
    assert {each["reason"] for each in other} == {"model_mismatch"}
    assert "input_transformations" not in respond(new, history, model="gpt-5.4", instructions="Be long.")
