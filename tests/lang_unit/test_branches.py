"""The history of a run as its models see it: each model value has a branch, and no branch is ever rewritten."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from antiphon.fakes import Call, Received
from antiphon.lang.runtime.visible_variables import KnownVariables, VariableFrame, VariableLine
from antiphon.session import PrefixChanged
from tests.lang_unit.harness import Ran, every_api, ran, said, tool_names
from tests.prefix import pieces

TOOLS = """
// Looks.
tool look(): text { return "seen" }
// Counts.
tool count(): number { return 2 }
"""


def assert_extends(requests: list[Received]) -> None:
    for earlier, later in itertools.pairwise(requests):
        assert pieces(later)[: len(pieces(earlier))] == pieces(earlier)


def told(run: Ran) -> str:
    return re.sub(r"\n+", "\n", run.prompts[-1])


class TestModels:
    PROGRAM = (
        TOOLS
        + """
model one = { name: "default", tools: [look], system: "Be one." }
model two = { name: "default", tools: [count], system: "Be two." }
let n = 0
for i in 1..3 {
  n += 1
  vibe "first {i}" one default
  vibe "second {i}" two default
}
"""
    )

    @every_api
    def test_each_model_value_has_a_prompt_that_only_grows(self, api: str):
        answers = [step for _ in range(3) for step in ({"tool": "look"}, "saw", {"tool": "count"}, "counted")]
        run = ran(self.PROGRAM, *answers, api=api)
        assert run.outcome.error is None, run.outcome.error
        by_tools = [[each for each in run.fake.requests if name in tool_names(each)] for name in ("look", "count")]
        assert [len(each) for each in by_tools] == [6, 6]
        for requests in by_tools:
            assert_extends(requests)

    def test_all_of_them_see_what_happened(self):
        answers = [step for _ in range(3) for step in ({"tool": "look"}, "saw", {"tool": "count"}, "counted")]
        last = told(ran(self.PROGRAM, *answers))
        assert all(f"first {i}" in last and f"second {i}" in last for i in (1, 2, 3))
        assert last.count("n is now") == 2

    def test_nothing_is_told_as_changed(self):
        events: list[object] = []
        answers = [step for _ in range(3) for step in ({"tool": "look"}, "saw", {"tool": "count"}, "counted")]
        ran(self.PROGRAM, *answers, watch=events.append)
        assert not [event for event in events if isinstance(event, PrefixChanged)]

    def test_another_system_text_is_another_branch(self):
        models = (
            'model one = { name: "default", system: "Be one." }\nmodel two = { name: "default", system: "Be two." }\n'
        )
        run = ran(models + 'for i in 1..2 { do "first {i}" one\n  do "second {i}" two }', *"1234")
        assert_extends(run.fake.requests[::2])
        assert_extends(run.fake.requests[1::2])

    def test_a_form_that_is_asked_for_again_stays_native(self):
        run = ran('const a: number = do "one"\nconst b: number = do "two"', 1, 2)
        assert [each.body["output_config"]["format"]["type"] for each in run.fake.requests] == ["json_schema"] * 2

    def test_a_change_of_form_is_told_to_its_own_model_alone(self):
        models = 'model one = { name: "openai/gpt-6.1-sol" }\nmodel two = { name: "openai/gpt-6.1-sol", system: "x" }\n'
        program = models + 'do "a" one\nconst n: number = do "b" one\nprint(n)\ndo "c" two'
        run = ran(program, "1", 2, "3")
        assert "configuration_update" in str(run.fake.requests[1].body)
        assert "configuration_update" not in str(run.fake.requests[2].body)

    def test_a_cut_result_can_be_read_on_by_another_model(self, tmp_path: Path):
        helper = (
            "from antiphon import tool\n\n@tool(output_limit=100)\ndef long() -> str:\n    'x'\n    return 'x' * 500\n"
        )
        (tmp_path / "helper.py").write_text(helper)
        one = 'model one = { name: "default", tools: [long] }'
        models = one + '\nmodel two = { name: "default", tools: [long], system: "x" }'
        file = tmp_path / "main.vibe"
        file.write_text(f'import {{ long }} from "./helper.py"\n{models}\nvibe "look" one\nvibe "on" two\n')

        def read_on(received: Received) -> Call:
            return Call(
                "read_result", {"handle": re.findall(r"handle '(result:[^']+)'", said(received))[-1], "start": 400}
            )

        run = ran(file, {"tool": "long"}, "seen", read_on, "read")
        assert "[characters 400 to 500 of 500]" in run.prompts[-1]


class TestViews:
    def test_a_private_ask_leaves_only_the_question(self):
        program = 'do "one"\nprivate const key = vibe "secret?"\ndo "two"\ndo "three"'
        run = ran(program, "1", "s3cret", "2", "3")
        first, _, *others = run.fake.requests
        assert_extends([first, *others])
        assert told(run) == "one\n1\nsecret?\n(private)\ntwo\n2\nthree"

    def test_a_local_ask_has_a_prompt_of_its_own_that_only_grows(self):
        program = """
do "before"
function f(n: number) {
  do "a" local
  do "b" default
  do "c" local
}
f(1)
"""
        run = ran(program, *"0123")
        before, a, b, c = run.fake.requests
        assert_extends([a, c])
        assert_extends([before, b])
        assert told(run) == "Variables of f:\nn (number): 1\na\n1\nb\n2\nc"

    def test_what_an_async_let_asked_comes_without_its_notes(self):
        program = 'let n = 1\nasync let a = do "aside"\nprint(a)\nn = 2\ndo "after" default'
        last = told(ran(program, "A", "B"))
        assert last == 'aside\nA\nVariables:\nn (number): 2\na (json): "A"\nafter'

    def test_a_form_is_named_only_where_it_was_stated(self):
        fields = ", ".join(f'field{i}: text "what is wanted of number {i}, in words"' for i in range(8))
        program = f"""
type Long {{ {fields} }}
do "first"
function f() {{
  const a: Long = do "inside" local
  const b: Long = do "outside" default
  const c: Long = do "again" default
}}
f()
"""
        value = {"returns": {f"field{i}": "x" for i in range(8)}}
        run = ran(program, "0", value, value, value)
        stated = "Answer with nothing but JSON that fits this JSON Schema (form 1):"
        assert [prompt.count(stated) for prompt in run.prompts] == [0, 0, 1, 1]
        assert told(run).endswith("Answer with nothing but JSON of form 1.")


class TestVariables:
    def test_changes_alone_are_said(self):
        text, known = KnownVariables().update([_frame(0, a="1", b="2")])
        assert text == "Variables:\na (number): 1\nb (number): 2"
        text, known = known.update([_frame(0, a="1", b="3", c="4")])
        assert text == "Variables:\nb is now 3\nc (number): 4"
        assert known.update([_frame(0, a="1", b="3", c="4")])[0] == ""
        assert known.update([_frame(0, a="1")])[0] == "Variables:\nb is gone\nc is gone"

    def test_functions_that_ended_are_named(self):
        _, known = KnownVariables().update([_frame(0, a="1"), _frame(1, "Variables of f:", b="2")])
        assert known.update([_frame(0, a="1")])[0] == "Variables of f are gone."

    def test_what_is_too_much_is_left_out_and_said_once(self):
        inner, outer = _frame(1, "Variables of f:", a="x" * 30_000), _frame(0, b="y" * 30_000)
        text, known = KnownVariables().update([outer, inner])
        assert text.startswith("[more variables of outer functions are left out]\n\nVariables of f:\na (number): xxx")
        assert "y" not in text.partition("\na ")[2]
        assert known.update([outer, inner])[0] == ""

    def test_what_was_told_and_no_longer_fits_is_not_left_as_it_was(self):
        _, known = KnownVariables().update([_frame(0, b="1")])
        text, known = known.update([_frame(0, b="y" * 30_000), _frame(1, "Variables of f:", a="x" * 30_000)])
        assert "Variables:\nb has another value now, which is left out" in text
        assert known.update([_frame(0, b="1")])[0] == "Variables of f are gone.\n\nVariables:\nb (number): 1"


def _frame(place: int, title: str = "Variables:", **values: str) -> VariableFrame:
    return VariableFrame(place, title, {name: VariableLine("number", value) for name, value in values.items()})
