"""The cost of checking a history grows with its length and no faster."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from antiphon.formats import parse_histories, validate_histories
from tests.effort import calls_of

Messages = list[dict[str, Any]]


def anthropic(count: int, broken: bool) -> dict[str, Any]:
    messages: Messages = []
    for n in range(count):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "weather", "input": {"city": f"Oslo {n}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"Rain {n}"}
        messages += [
            {"role": "user", "content": f"Question {n}?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, call]},
            {"role": "user", "content": [{"type": "text", "text": "Well?"} if broken else result]},
            {"role": "assistant", "content": "" if broken else f"It rains {n}."},
        ]
    messages.append({"role": "user", "content": "Thanks."})
    return {"model": "claude-sonnet-5", "max_tokens": 100, "messages": messages}


def openai_chat(count: int, broken: bool) -> dict[str, Any]:
    messages: Messages = [{"role": "system", "content": "Be brief."}]
    for n in range(count):
        function = {"name": "weather", "arguments": json.dumps({"city": f"Oslo {n}"}) + "}" * broken}
        messages += [
            {"role": "user", "content": f"Question {n}?"},
            {"role": "assistant", "tool_calls": [{"id": f"call_{n}", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": f"call_{n + broken}", "content": f"Rain {n}"},
            {"role": "assistant", "content": f"It rains {n}."},
        ]
    return {"model": "gpt-5.5", "messages": messages}


def openai_responses(count: int, broken: bool) -> dict[str, Any]:
    items: Messages = []
    for n in range(count):
        call_id = f"call_{n}"
        items += [
            {"role": "user", "content": f"Question {n}?"},
            {"type": "function_call", "call_id": call_id, "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": call_id + "x" * broken, "output": f"Rain {n}"},
            {"role": "assistant", "content": [{"type": "output_text", "text": f"It rains {n}."}]},
        ]
    return {"model": "gpt-5.5", "input": items}


def gemini(count: int, broken: bool) -> dict[str, Any]:
    contents: Messages = []
    for n in range(count):
        call = {"functionCall": {"name": "weather", "args": {"city": f"Oslo {n}"}}, "thoughtSignature": "c2ln"}
        result = {"functionResponse": {"name": "weather", "response": {"output": f"Rain {n}"}}}
        contents += [
            {"role": "user", "parts": [{"text": f"Question {n}?"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [{"text": ""} if broken else result]},
            {"role": "model", "parts": [{"text": f"It rains {n}."}]},
        ]
    return {"contents": [*contents, {"role": "user", "parts": [{"text": "Thanks."}]}]}


def rows(count: int, broken: bool) -> str:
    """A history on each line."""
    return "\n".join([json.dumps({"body": anthropic(1, broken)})] * count)


def work(text: str | dict[str, Any]) -> int:
    data = (text if isinstance(text, str) else json.dumps(text)).encode()
    return calls_of(lambda: validate_histories(parse_histories(data, "it")))


@pytest.mark.parametrize("broken", [False, True], ids=["healthy", "broken"])
@pytest.mark.parametrize("make", [anthropic, openai_chat, openai_responses, gemini, rows])
def test_a_history_of_twice_the_length_costs_twice_as_much(make: Callable[[int, bool], Any], broken: bool):
    work(make(2, broken))
    once, twice = work(make(60, broken)), work(make(120, broken))
    assert twice < 2.1 * once
    # Nothing is read, copied or checked once more without need.
    messages = 120 * 4
    assert twice / messages < (1600 if broken else 850)
