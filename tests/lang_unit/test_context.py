"""What models are shown: little enough, nothing private, and in an order that prompt caches like."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lang_unit.harness import MODELS, Ran, every_api, ran
from tests.prefix import pieces


def bodies(run: Ran) -> list[str]:
    return [json.dumps(each.body, ensure_ascii=False) for each in run.fake.requests]


class TestSize:
    PROGRAM = (
        'let n = 0\nlet s = ""\nwhile n < {rounds} {{\n  n += 1\n  s = "x"\n}}\n'
        'n = 7\ns = "y"\ndo "What now?" default\n'
    )

    def test_a_million_assignments_change_nothing(self):
        many = ran(self.PROGRAM.format(rounds=500_000), "ok")
        few = ran(self.PROGRAM.format(rounds=0), "ok")
        assert many.fake.requests[0].body == few.fake.requests[0].body

    def test_what_functions_did_is_gone(self):
        program = 'function f(n: number): number {\n  let x = n * 2\n  return x\n}\nlet y = 0\n%sdo "x" default'
        many = ran(program % "for i in 1..1000 { y = f(3) }\n", "ok")
        few = ran(program % "y = f(3)\n", "ok")
        assert many.fake.requests[0].body == few.fake.requests[0].body

    def test_forgetful_loops_ask_with_prompts_of_one_size(self):
        run = ran('for i in 1..9 { do "round {i}" } forget', *["ok"] * 9)
        assert len({len(each) for each in bodies(run)}) == 1

    def test_all_variables_together_are_bounded(self):
        lines = "\n".join(f'let v{i} = "{"x" * 1500}"' for i in range(100))
        run = ran(f'{lines}\ndo "x" default', "ok")
        assert len(run.prompts[0]) < 41_000
        assert run.prompts[0].endswith("[more variables are left out: the list is cut]\nx")

    def test_long_values_are_cut_with_a_note(self):
        run = ran('let s = "a".repeat(1_000_000)\nlet xs = 1..100000\ndo "x" default', "ok")
        assert len(run.prompts[0]) < 10_000
        assert "… [1,000,002 characters in all]" in run.prompts[0]
        assert "… [100,000 items in all]" in run.prompts[0]

    @pytest.mark.parametrize(("length", "told"), [(1_998, 'x"'), (1_999, "x… [2,001 characters in all]")])
    def test_a_value_of_two_thousand_characters_is_shown_whole(self, length: int, told: str):
        run = ran(f'let s = "x".repeat({length})\ndo "?" default', "ok")
        assert f"{told}\n" in run.prompts[0]

    def test_the_variables_of_a_function_in_a_comprehension_are_shown(self):
        ask = 'function f(n: number): text { return do "now" default }\n'
        run = ran(f"{ask}print([7].map(x => f(x)))", "ok")
        assert "Variables of a function without a name:\nx (number): 7" in run.prompts[0]

    def test_the_variable_of_a_loop_is_shown_in_its_body_alone(self):
        run = ran('for i in 1..2 {\n  for y in [do "now" default] { print(y) }\n}', "a", "b")
        assert run.prints == ["a", "b"]
        assert "y (" not in run.prompts[1]


class TestPrivacy:
    def test_a_private_name_hides_the_public_one_outside_it(self):
        run = ran(
            'let token = "pub1ic"\nif true { private let token = "s3cret"; do "one" default }\ndo "two" default',
            "ok",
            "ok",
        )
        assert "token" not in run.prompts[0]
        assert "pub1ic" in run.prompts[1]

    @every_api
    @pytest.mark.parametrize("context", ["", "default", "local", "none"])
    def test_private_values_and_models_are_in_no_request(self, api: str, context: str):
        program = f"""
model m = {{ name: "{MODELS[api]}", apiKey: "k3y-s3cret", url: "" }}
private let password = "p4ss-s3cret"
private const pins = [9471, 8462]
const copy_of_model = m
function f(open: text) {{
  private let inner = "inn3r-s3cret"
  const answer = do "one" m {context}
  for i in 1..2 {{ private let deep = "d33p-s3cret"; do "two" {context} }}
  try {{ throw "x" }} catch e {{ private const late = "l4te-s3cret"; do "three" {context} }}
  return open + inner
}}
const result = f("shown")
do "four" {context}
"""
        run = ran(program, *["ok"] * 5, api=api)
        # The last variable is made of a private one, which is the program's own doing.
        everything = "".join(bodies(run)[:-1])
        assert "s3cret" not in everything
        assert "9471" not in everything
        for name in ("password", "pins", "inner", "deep", "late", "copy_of_model"):
            assert f"{name} (" not in everything
        assert ("shown" in everything) == (context in ("default", "local"))

    @every_api
    def test_private_answers_are_in_no_later_request(self, api: str):
        program = """
private const whole = do "make a secret"
private let {one: text, two: number} = do "make two"
const {open: text, private closed: text} = do "make both"
const {outer: {private inner: text, beside: text}} = do "nested"
do "last"
"""
        secrets = ("s3cret-whole", "s3cret-one", "s3cret-closed", "s3cret-inner")
        run = ran(
            program,
            secrets[0],
            {"returns": {"one": secrets[1], "two": 5527}},
            {"returns": {"open": "shown", "closed": secrets[2]}},
            {"returns": {"outer": {"inner": secrets[3], "beside": "b"}}},
            "ok",
            api=api,
        )
        assert run.outcome.error is None, run.outcome.error
        assert "s3cret" not in "".join(bodies(run))
        assert "5527" not in bodies(run)[-1]
        assert "shown" in bodies(run)[-1]
        assert "make a secret" in bodies(run)[-1]

    def test_private_variables_are_not_in_the_outcome(self):
        run = ran("private let a = 1\nlet b = 2\nprivate const {c: number} = { c: 3 }")
        assert run.variables == {"b": 2}

    @settings(max_examples=25)
    @given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True), st.data())
    def test_what_is_private_is_never_shown_wherever_it_stands(self, names: list[str], data: st.DataObject):
        private = {name: data.draw(st.booleans()) for name in names}
        lines, closing = [], ""
        for place, name in enumerate(names):
            lines.append(f'{"private " if private[name] else ""}let {name} = "value-{name}"')
            if data.draw(st.booleans()):
                lines.append("if 1 < 2 {" if data.draw(st.booleans()) else f"for i{place} in 1..1 {{")
                closing += "}\n"
        run = ran("\n".join([*lines, 'do "x" default', closing]), "ok")
        for name in names:
            assert (f"value-{name}" in run.prompts[0]) == (not private[name])


class TestWithoutAWord:
    PROGRAM = """
const token = "t0ken"
do "before {token}"
function greet(name: text, iban: text) {
  const first = do "Greet {name}."
  do "Once more."
}
greet("Ada", "DE89 3704")
do "after"
"""

    @every_api
    def test_the_prompt_and_the_history_of_its_function_are_all(self, api: str):
        run = ran(self.PROGRAM, "0", "1", "2", "3", api=api)
        assert [re.sub(r"\n+", "\n", each) for each in run.prompts] == [
            "before t0ken",
            "Greet Ada.",
            "Greet Ada.\n1\nOnce more.",
            "before t0ken\n0\nafter",
        ]

    def test_a_word_tells_what_was_left_out_and_later_asks_continue_there(self):
        program = 'let n = 1\ndo "one"\nn = 2\ndo "two" default\nn = 3\ndo "three"\ndo "four" default'
        run = ran(program, *"1234")
        told = "one\n1\nVariables:\nn (number): 2\ntwo\n2\nthree\n3\nVariables:\nn is now 3\nfour"
        assert run.prompts[-1] == told
        for earlier, later in itertools.pairwise(run.fake.requests):
            assert pieces(later)[: len(pieces(earlier))] == pieces(earlier)

    def test_rounds_side_by_side_send_no_variables(self):
        run = ran('const key = "k3y"\nasync for x in [1, 2] { do "round {x}" }', "a", "b")
        assert sorted(run.prompts) == ["round 1", "round 2"]


class TestHistory:
    PROGRAM = """
// Looks.
tool look(q: text): text {{ return "found {{q}}" }}
model m = {{ name: "{model}", tools: [look] }}
let count = 0
do "first" default
count += 1
vibe "second" default
note("a remark")
count += 1
const n: number = do "third" default
let more = "m"
do "fourth"
print(n, count, more)
"""

    @every_api
    def test_each_request_begins_as_the_one_before(self, api: str):
        run = ran(
            self.PROGRAM.format(model=MODELS[api]),
            "1",
            {"tool": "look", "args": {"q": "cats"}},
            "2",
            {"returns": 3},
            "4",
            api=api,
        )
        assert run.outcome.error is None, run.outcome.error
        for earlier, later in itertools.pairwise(run.fake.requests):
            assert pieces(later)[: len(pieces(earlier))] == pieces(earlier)

    @every_api
    def test_variables_are_said_once(self, api: str):
        run = ran(
            'let a = 1\nlet b = 2\ndo "first" default\nb = 3\ndo "second" default\ndo "third" default',
            "1",
            "2",
            "3",
            api=api,
        )
        told = "Variables:\na (number): 1\nb (number): 2\nfirst\n1\nVariables:\nb is now 3\nsecond\n2\nthird"
        assert re.sub(r"\n+", "\n", run.prompts[-1]) == told

    def test_several_providers_share_one_history(self):
        declared = "\n".join(
            f'model m{i} = {{ name: "{name}", tools: [look] }}' for i, name in enumerate(MODELS.values())
        )
        asks = "\n".join(f'vibe "question {i}" m{i}' for i in range(4))
        program = f'// Looks.\ntool look(q: text): text {{ return "found {{q}}" }}\n{declared}\n{asks}\n{asks}'
        answers = [step for i in range(8) for step in ({"tool": "look", "args": {"q": f"thing {i}"}}, f"answer {i}")]
        run = ran(program, *answers)
        assert run.outcome.error is None, run.outcome.error
        assert [each.api for each in run.fake.requests][::2] == [*MODELS, *MODELS]
        last = run.prompts[-1]
        for i in range(7):
            assert f"found thing {i}" in last
            assert f"answer {i}" in last

    def test_calls_numbered_alike_in_parts_of_the_history(self):
        """A function that sees only its own history gets call ids that others have had."""
        program = """
// Looks.
tool look(): text { return "seen" }
model m = { name: "google/gemini-3-pro", tools: [look] }
function f() {
  vibe "inner" local
  vibe "inner again" default
}
vibe "outer"
f()
vibe "last"
"""
        run = ran(program, *[{"tool": "look"}, "ok"] * 4)
        assert run.outcome.error is None, run.outcome.error

    def test_an_ask_that_failed_leaves_nothing(self):
        run = ran('try { do "broken" } catch e { print(e.code) }\ndo "x"', {"error": "no", "status": 400}, "ok")
        assert run.prints == ["V0920"]
        assert "broken" not in run.prompts[-1]

    def test_frames_of_functions_and_their_history_are_dropped(self):
        program = 'function f(p: text) { do "in f" default; do "in f again" default }\nf("arg")\ndo "after" default'
        run = ran(program, "1", "2", "3")
        assert "in f" in run.prompts[1]
        assert "in f" not in run.prompts[2]
        assert "arg" not in run.prompts[2]


def test_a_variable_that_each_round_has_anew_is_shown_as_it_is():
    program = """for i in 2 {
  let seen = "s{i}"
  const more = () => { seen += "!" }
  more()
  do "x" default
}"""
    prompts = ran(program, "a", "b").prompts
    assert 'seen (text): "s0!"' in prompts[0]
    assert prompts[1].endswith('Variables:\ni is now 1\nseen is now "s1!"\nx')
