"""`antiphon test`: scripted models, recordings, what is told of failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from antiphon.fakes import Fake
from tests.lang_unit.commands import antiphon

HEAD = """\
type Person { name: text, age: number }
model claude = { name: "claude-sonnet-5" }
model gpt = { name: "gpt-5" }
model gemini = { name: "gemini-3-pro" }
model mine = { name: "whatever", url: "http://example.invalid/v1" }
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def result(text: str, *options: str) -> tuple[int, list[tuple[str, str]]]:
    """The exit code, and how each test went."""
    Path("a.vibe").write_text(text, encoding="utf-8")
    ran = antiphon("test", "a.vibe", "--json", *options)
    return ran.code, [(each["name"], each["outcome"]) for each in json.loads(ran.out)["tests"]]


@pytest.mark.parametrize("model", ["claude", "gpt", "gemini", "mine", "model"])
def test_models_of_every_kind_say_what_the_script_says(model: str):
    program = f"""{HEAD}
tool weather(city: text): json
  @description "Weather"
{{
  return {{ city: city, temp: 18 }}
}}
model seer = {{ name: "claude-sonnet-5", tools: [weather] }}
test "text" {{
  answers(["hello"])
  assert(do "hi" {model} == "hello")
}}
test "an object, at once and when asked again" {{
  answers([{{ name: "Ada", age: 36 }}, {{ returns: {{ name: "Bob" }} }}, {{ name: "Bob", age: 3 }}])
  const first: Person = do "who?" {model}
  const second: Person = do "who else?" {model}
  assert(first.age == 36 and second.name == "Bob" and second.age == 3)
}}
test "numbers, booleans, arrays" {{
  answers([4, true, ["a", "b"]])
  const n: number = do "n?" {model}
  const b: boolean = do "b?" {model}
  const tags: text[] = do "tags?" {model}
  assert(n == 4 and b and tags.length == 2)
}}
test "calls" {{
  answers([[{{ tool: "weather", args: {{ city: "Oslo" }} }}, {{ tool: "weather", args: {{ city: "Rome" }} }}], "warm"])
  const r = vibe "weather?" seer
  assert(r == "warm" and r.toolCalls.length == 2)
  assert(r.toolCalls[1].args.city == "Rome")
}}
test "failures are not tried again" {{
  answers([{{ error: "too busy", status: 503 }}, "next"])
  let said = ""
  try {{
    const _r = do "x" {model}
  }} catch e {{
    said = e.message
  }}
  assert(said.includes("too busy"), said)
  assert(do "y" {model} == "next")
}}
"""
    code, tests = result(program)
    assert [outcome for _, outcome in tests] == ["passed"] * 5
    assert code == 0


def test_humans_say_what_the_script_says_and_allow_calls(here: Path):
    program = """\
import { runShell } from "system/tools"
model m = { name: "gpt-5", tools: [runShell] }
test "asked" {
  answers([{ human: "7" }])
  const n: number = ask "how many?"
  assert(n == 7)
}
test "allowed and not" {
  answers([{ tool: "run_shell", args: { command: "touch yes" } }, { human: "yes" }, "ok"])
  assert(vibe "go" m == "ok")
  answers([{ tool: "run_shell", args: { command: "touch no" } }, { human: "no" }, "ok"])
  assert(vibe "go" m == "ok")
}
"""
    assert result(program)[0] == 0
    assert ((here / "yes").exists(), (here / "no").exists()) == (True, False)


def test_a_test_fails_if_an_answer_is_missing_whatever_the_program_catches():
    Path("a.vibe").write_text(
        'test "t" {\n  try {\n    print(do "who is there?")\n  } catch _e {\n    print("caught")\n  }\n}'
    )
    ran = antiphon("test", "a.vibe")
    assert ran.code == 100
    assert "no answer left for 'who is there?'" in ran.out
    assert "caught" in ran.out
    assert "no human answer for 'name?'" in antiphon("test", "-", input="").out + _told(
        'test "t" { print(ask "name?") }'
    )


def test_a_test_fails_if_an_answer_is_left():
    told = _told('test "t" { answers(["a", "b", {human: "c"}])\n  print(do "x") }')
    assert """unused answers in `answers([…])`: "b", {"human":"c"}""" in told


def test_an_assertion_that_compares_tells_both_sides():
    told = _told('test "t" {\n  const xs = [1, 2]\n  assert(xs.length > 2, "too few")\n}')
    assert "the assertion does not hold: too few" in told
    assert "left:  2" in told
    assert "right: 2" in told
    assert "left:  null" in _told('test "t" { const x: text | null = null\n  assert(x != null) }')


def _told(text: str) -> str:
    Path("b.vibe").write_text(text)
    return antiphon("test", "b.vibe").out


def test_each_test_has_a_fresh_program_and_the_top_level_does_nothing():
    program = """\
print("never")
let count = 0
const asked = do "never asked"
const name = ask "never asked"
function next(): number {
  count += 1
  return count
}
count = 10
test "first" { assert(next() == 1) }
test "second" { assert(next() == 1) }
"""
    code, tests = result(program)
    assert (code, [name for name, _ in tests]) == (0, ["first", "second"])


def test_failures_are_told_with_place_and_prints_and_the_rest_goes_on():
    Path("a.vibe").write_text(
        'test "bad" {\n  print("seen")\n  assert(1 == 2, "no")\n}\ntest "good" {\n  print("unseen")\n}\n'
    )
    ran = antiphon("test")
    assert ran.code == 100
    lines = ran.out.splitlines()
    assert lines[1].startswith("✗ bad ")
    assert "    error[V0928]: the assertion does not hold: no" in lines
    assert "    seen" in lines
    assert any(line.startswith("✓ good ") for line in lines)
    assert "unseen" not in ran.out
    assert lines[-1].startswith("1 passed, 1 failed in ")


def test_tests_are_found_and_chosen(here: Path):
    (here / "sub").mkdir()
    (here / "sub" / "x.test.vibe").write_text('test "one apple" { assert(true) }')
    (here / "y.vibe").write_text('test "two pears" { assert(true) }')
    (here / "broken-but-no-test.vibe").write_text("prnt(")
    assert antiphon("test").out.splitlines()[-1].startswith("2 passed")
    assert antiphon("test", "-k", "PEAR").out.splitlines()[-1].startswith("1 passed")
    assert antiphon("test", "sub").out.splitlines()[0] == "sub/x.test.vibe"


def test_where_nothing_can_be_tested_the_exit_code_says_so(here: Path):
    assert antiphon("test").code == 2
    (here / "a.vibe").write_text('test "x" { prnt(1) }')
    ran = antiphon("test")
    assert ran.code == 2
    assert "V0201" in ran.err
    assert antiphon("test", "nosuch.vibe").code == 2
    assert antiphon("test", "--replay", "nosuch.jsonl").code == 2


@pytest.mark.parametrize(
    "steps", ["[{ error: 'x', status: 200 }]", "[{ tool: 'f', args: [1] }]", "[[[]]]", "[null]", "['']", "5"]
)
def test_a_script_that_makes_no_sense_is_a_failure_of_the_test(steps: str):
    code, tests = result(f'test "t" {{\n  answers({steps})\n  const n: number = do "x"\n  print(n)\n}}')
    assert (code, tests) == (100, [("t", "failed")])


def test_a_recording_beside_the_program_answers_for_tests_without_a_script(here: Path, monkeypatch: pytest.MonkeyPatch):
    program = """\
model m = { name: "openai-chat/gpt-5" }
export function add(): text {
  return do "2+2?" m none
}
"""
    (here / "a.vibe").write_text(program + "print(add())")
    with Fake(["four"]) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        assert antiphon("run", "a.vibe", "--record", "a.recording.jsonl").out == "four\n"
    monkeypatch.delenv("OPENAI_API_KEY")
    tests = 'test "recorded" { assert(add() == "four") }\n'
    tests += 'test "scripted" {\n  answers(["five"])\n  assert(add() == "five")\n}\n'
    assert result(program + tests)[0] == 0
    (here / "a.recording.jsonl").rename(here / "other.jsonl")
    assert result(program + tests)[0] == 100
    assert result(program + tests, "--replay", "other.jsonl")[0] == 0


def test_a_test_of_a_module_with_a_server_says_that_none_is_started():
    Path("a.vibe").write_text(
        'import { find } from "mcp:docs"\nmodel m = { name: "x", tools: [find] }\ntest "t" { do "x" m }'
    )
    assert "no test starts the MCP server `docs`" in antiphon("test", "a.vibe").out


def test_no_test_reaches_a_network():
    head = 'import { get } from "system/http"\nimport { fetchUrl } from "system/tools"\n'
    tests = 'test "a" { get("http://127.0.0.1:9/") }\ntest "b" { fetchUrl("http://127.0.0.1:9/") }\n'
    Path("a.vibe").write_text(head + tests, encoding="utf-8")
    ran = antiphon("test", "a.vibe")
    assert ran.out.count("[V0946]: no test reaches a network") == 2
