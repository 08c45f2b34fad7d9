"""The result of asking a model: its value, and the tool calls that led to it."""

from __future__ import annotations

import pytest

from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.session import AIResult
from tests.lang_unit.harness import MODELS, every_api, ran

TOOLS = """
// Adds two numbers.
tool add(a: number, b: number): number { return a + b }
// Fails for bad weather.
tool weather(city: text): text {
  if city == "Atlantis" { throw "no such city" }
  return "rain in {city}"
}
model m = { name: "NAME", tools: [add, weather] }
"""


def weather(city: str) -> dict:
    return {"tool": "weather", "args": {"city": city}}


def with_tools(program: str, *answers, api: str = "anthropic"):
    run = ran(TOOLS.replace("NAME", MODELS[api]) + program, *answers, api=api)
    if run.outcome.error is not None:
        raise run.outcome.error
    return run


@every_api
@pytest.mark.parametrize("word", ["do", "vibe"])
def test_basic_assignment(api: str, word: str):
    run = ran(f'const ret = {word} "What is 2+2?"\nret', "4", api=api)
    assert isinstance(run.outcome.result, AIResult)
    assert (run.outcome.result.value, run.outcome.result.tool_calls) == ("4", ())
    assert run.variables == {"ret": "4"}


@every_api
def test_value_access(api: str):
    run = ran('const ret = do "x"\nprint(ret)\nprint("Answer: " + ret)\nprint(ret.value)', "4", api=api)
    assert run.prints == ["4", "Answer: 4", "4"]


@every_api
def test_toolcalls_access(api: str):
    run = with_tools(
        'const ret = do "x"\nprint(ret.toolCalls[0].tool, ret.toolCalls.length)', weather("Oslo"), "ok", api=api
    )
    assert run.prints == ["weather 1"]


@every_api
def test_empty_toolcalls(api: str):
    run = with_tools('const ret = vibe "x"\nprint(ret.toolCalls)\nprint(ret.toolCalls.length, ret)', "4", api=api)
    assert run.prints == ["[]", "0 4"]


@every_api
def test_multiple_tool_calls(api: str):
    program = 'const ret = vibe "x"\nfor c in ret.toolCalls { print(c.tool, c.args, c.result) }'
    both = [weather("Oslo"), {"tool": "add", "args": {"a": 1, "b": 2}}]
    run = with_tools(program, both, weather("Bergen"), "ok", api=api)
    assert run.prints == [
        'weather {"city":"Oslo"} rain in Oslo',
        'add {"a":1,"b":2} 3',
        'weather {"city":"Bergen"} rain in Bergen',
    ]


@every_api
def test_string_interpolation(api: str):
    run = ran('const ret = do "x"\nprint("Result: ${ret}")\nprint("Result: {ret}")', "fine", api=api)
    assert run.prints == ["Result: fine", "Result: fine"]


@every_api
def test_comparison(api: str):
    program = 'const ret = do "x"\nprint(ret == "expected", ret != "other")\nif ret == "4" { print(0) }'
    run = ran(program, "expected", api=api)
    assert run.prints == ["true true"]


@every_api
def test_json_value(api: str):
    program = 'const ret = do "x"\nprint(ret.name, ret.value.name, ret.tags[0], ret.toolCalls)'
    assert ran(program, '{"name": "Ann", "tags": ["a"]}', api=api).prints == ["Ann Ann a []"]


@every_api
def test_tool_error_captured(api: str):
    program = 'const ret = do "x"\nconst c = ret.toolCalls[0]\nprint(c.result, c.error)'
    run = with_tools(program, weather("Atlantis"), "sorry", api=api)
    assert run.prints == ["null no such city"]
    assert "no such city" in run.prompts[-1]


@every_api
def test_mixed_success_error(api: str):
    program = 'const ret = do "x"\nfor c in ret.toolCalls { print(c.result ?? "-", c.error ?? "-") }'
    run = with_tools(program, [weather("Oslo"), weather("Atlantis")], "ok", api=api)
    assert run.prints == ["rain in Oslo -", "- no such city"]


@every_api
def test_duration_tracked(api: str):
    program = """
// Takes its time.
tool slow(): text { sleep(0.02); return "done" }
model n = { name: "NAME", tools: [slow] }
const ret = do "x" n
const took = ret.toolCalls[0].duration
"""
    run = with_tools(program.replace("NAME", MODELS[api]), {"tool": "slow"}, "ok", api=api)
    assert 20 <= run.variables["took"] < 60_000


@every_api
def test_real_call_with_tool_use_populates_toolcalls(api: str):
    program = """
const ret = do "What is the weather in Oslo?"
assert(ret == "It rains.")
assert(ret.toolCalls.length == 1)
const call = ret.toolCalls[0]
assert(call.tool == "weather" and call.args.city == "Oslo")
assert(call.result == "rain in Oslo" and call.error == null)
"""
    run = with_tools(program, weather("Oslo"), "It rains.", api=api)
    assert len(run.fake.requests) == 2
    assert all(received.api == api for received in run.fake.requests)


@every_api
def test_multi_turn_vibe_with_multiple_tool_rounds(api: str):
    program = """
const ret = vibe "Compare Oslo and Bergen, then add 1 and 2"
let seen: text[] = []
for call in ret.toolCalls { seen.push(call.tool) }
print(seen, ret)
"""
    answers = [weather("Oslo"), weather("Bergen"), {"tool": "add", "args": {"a": 1, "b": 2}}, "Both wet; 3."]
    run = with_tools(program, *answers, api=api)
    assert run.prints == ['["weather","weather","add"] Both wet; 3.']
    assert len(run.fake.requests) == 4


def test_iteration_is_refused():
    with pytest.raises(ProgramErrors, match=r"Cannot iterate over AIResult directly\. Use \.toolCalls or \.value"):
        ran('const ret = do "x"\nfor item in ret { print(item) }')


def test_nested_tool_calls_are_not_included():
    program = """
// Asks with tools of its own.
tool deeper(): text { return vibe "inner" m }
model outer = { name: "openai/gpt-5", tools: [deeper] }
const ret = vibe "outer" outer
print(ret.toolCalls.length, ret.toolCalls[0].tool)
"""
    run = with_tools(program, {"tool": "deeper"}, weather("Oslo"), {"returns": "wet"}, "done")
    assert run.prints == ["1 deeper"]


@every_api
def test_context_shows_the_value(api: str):
    run = with_tools('const ret = do "x"\ndo "y" default', weather("Oslo"), "It rains.", "ok", api=api)
    assert 'ret (json): "It rains."' in run.prompts[-1]
