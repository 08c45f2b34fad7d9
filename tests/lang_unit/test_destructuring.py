"""Typed fields taken from an answer: how they are read, checked, asked for and assigned."""

from __future__ import annotations

import json

import pytest

from antiphon.lang.analysis import analyse
from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from tests.lang_unit.harness import MODELS, every_api, ran, tool_names

TYPES = ["text", "number", "boolean", "json", "text[]", "number[]", "boolean[]", "json[]"]


def parsed(text: str):
    program, wrong = parse_source(Source("x.vibe", text))
    assert wrong == []
    return program.statements[0]


def codes(text: str) -> list[str]:
    return [each.code for each in analyse(Source("x.vibe", text)).diagnostics if each.severity == "error"]


class TestParser:
    def test_fields_with_types(self):
        node = parsed('const {name: text, age: number} = do "Get user info" model default')
        assert isinstance(node, nodes.Destructure)
        assert [each.name for each in node.pattern.fields] == ["name", "age"]
        assert [each.declared.name for each in node.pattern.fields] == ["text", "number"]
        assert (node.is_const, type(node.value), node.value.kind) == (True, nodes.ModelCall, "do")
        assert (node.value.says_model, node.value.context) == (True, "default")

    def test_from_vibe(self):
        node = parsed('const {summary: text, score: number} = vibe "Analyze this code" model default')
        assert node.value.kind == "vibe"

    def test_let(self):
        assert parsed('let {a: text} = do "x"').is_const is False

    def test_array_types(self):
        node = parsed('const {colors: text[], grid: number[][]} = do "x"')
        assert isinstance(node.pattern.fields[0].declared, nodes.ArrayType)

    def test_nested_patterns_defaults_and_private_fields(self):
        node = parsed('const {user: {name: text}, note: text = "", private key: text} = do "x"')
        user, note, key = node.pattern.fields
        assert (user.nested.fields[0].name, note.default is not None, key.is_private) == ("name", True, True)

    def test_over_several_lines(self):
        assert len(parsed('const {\n  a: text,\n  b: number\n} = do "x"').pattern.fields) == 2

    @pytest.mark.parametrize("text", ['const {a: text = do "x"', 'const {a:} = do "x"', "const {a: text}"])
    def test_what_cannot_be_read(self, text: str):
        assert parse_source(Source("x.vibe", text))[1] != []


class TestSemantics:
    @pytest.mark.parametrize("type_", TYPES)
    def test_valid_types(self, type_: str):
        assert codes(f'const {{a: {type_}}} = do "x"') == []

    def test_unknown_type(self):
        assert codes('const {a: string} = do "x"') == ["V0206"]

    def test_duplicates(self):
        assert codes('const {a: text, a: text} = do "x"') == ["V0407"]

    def test_untyped_field(self):
        assert codes('const {a} = do "x"') == ["V0406"]

    def test_requires_something_with_fields(self):
        assert codes("const {a: text} = 42") == ["V0408"]
        assert codes('const {a: text} = "text"') == ["V0408"]

    @pytest.mark.parametrize("value", ['do "x"', 'vibe "x"', "j", "f()"])
    def test_allowed_sources(self, value: str):
        assert codes(f"let j: json = 1\nfunction f(): json {{ return 1 }}\nconst {{a: text}} = {value}") == []

    def test_names_are_declared_with_their_types(self):
        assert codes('const {a: number} = do "x"\nprint(a + 1)\nlet t: text = a') == ["V0301"]

    def test_const_cannot_be_assigned(self):
        assert codes('const {a: number} = do "x"\na = 2') == ["V0401"]
        assert codes('let {a: number} = do "x"\na = 2') == []


class TestForms:
    @every_api
    def test_the_first_request_asks_natively(self, api: str):
        run = ran('const {name: text, age: number} = do "x"', {"returns": {"name": "Ann", "age": 3}}, api=api)
        assert tool_names(run.fake.requests[0]) == []
        assert run.prompts[0] == "x"
        sent = json.dumps(run.fake.requests[0].body)
        assert all(field in sent for field in ('"name": {"type": "string"', '"age": {"type": "number"'))

    @every_api
    def test_words_ask_for_the_form(self, api: str):
        program = f"""
model m = {{ name: "{MODELS[api]}", strategy: "prompted" }}
const {{name: text, age: number}} = do "Get info for user Alice" m default
"""
        run = ran(program, {"returns": {"name": "Alice", "age": 30}}, api=api)
        assert tool_names(run.fake.requests[0]) == []
        asked, said, schema = filter(None, run.prompts[0].splitlines())
        assert (asked, said) == ("Get info for user Alice", "Answer with nothing but JSON that fits this JSON Schema:")
        assert json.loads(schema)["required"] == ["name", "age"]
        assert run.variables == {"name": "Alice", "age": 30}

    @every_api
    def test_one_tool_for_all(self, api: str):
        program = f"""
model m = {{ name: "{MODELS[api]}", strategy: "tool" }}
const {{name: text, age: number}} = do "Get info for user Alice" m default
"""
        run = ran(program, {"returns": {"name": "Alice", "age": 30}}, api=api)
        assert tool_names(run.fake.requests[0]) == ["answer"]
        assert "Give the answer by calling the tool `answer`" in run.prompts[0]
        assert run.variables == {"name": "Alice", "age": 30}

    @pytest.mark.parametrize("strategy", ["native", "prompted", "tool"])
    @pytest.mark.parametrize(
        ("type_", "wrong", "right"),
        [
            ("text", 5, "five"),
            ("number", "five", 5),
            ("number", True, 1.5),
            ("boolean", "yes", True),
            ("text[]", ["a", 1], ["a", "b"]),
            ("number[]", [1, "b"], [1, 2]),
            ("boolean[]", [True, 0], [True, False]),
            ('"low" | "high"', "middle", "low"),
            ("text[][]", [["a"], "b"], [["a"], ["b"]]),
        ],
    )
    def test_values_are_validated(self, strategy: str, type_: str, wrong: object, right: object):
        program = f'model m = {{ name: "claude-sonnet-5", strategy: "{strategy}" }}\nconst {{it: {type_}}} = do "x"'
        run = ran(program, {"returns": {"it": wrong}}, {"returns": {"it": right}})
        assert run.variables == {"it": right}
        assert "does not fit" in run.prompts[-1]
        assert "'it" in run.prompts[-1]
        assert len(run.fake.requests) == 2

    def test_tools_of_the_model_are_offered_beside(self):
        program = """
// Looks.
tool look(): text { return "seen" }
model m = { name: "claude-sonnet-5", tools: [look] }
const {a: text} = vibe "x"
print(a)
"""
        run = ran(program, {"tool": "look"}, {"returns": {"a": "b"}})
        assert tool_names(run.fake.requests[0]) == ["look", "read_result"]
        assert run.prints == ["b"]

    def test_descriptions_reach_the_model(self):
        program = 'type P { age: number "in whole years" }\nconst p: P = do "x"\nconst {n: text "a nickname"} = do "y"'
        run = ran(program, {"returns": {"age": 1}}, {"returns": {"n": "x"}})
        assert "in whole years" in json.dumps(run.fake.requests[0].body)
        assert "a nickname" in json.dumps(run.fake.requests[1].body)


class TestRuntime:
    @every_api
    def test_fields_become_variables(self, api: str):
        program = 'const {name: text, age: number, active: boolean} = do "Get user info for Alice" model default'
        run = ran(program, {"returns": {"name": "Alice", "age": 30, "active": True}}, api=api)
        assert run.variables == {"name": "Alice", "age": 30, "active": True}

    @every_api
    def test_missing_field_is_asked_for(self, api: str):
        first, second = {"returns": {"a": "1"}}, {"returns": {"a": "1", "b": "2"}}
        run = ran('const {a: text, b: text} = do "x"', first, second, api=api)
        assert run.variables == {"a": "1", "b": "2"}
        assert "That does not fit ('b' " in run.prompts[-1].splitlines()[-1]

    def test_after_the_limit_an_error_says_what_came(self):
        run = ran('const {a: number} = do "How many?"', *["many"] * 4)
        assert run.error.code == "V0916"
        assert "How many?" in run.error.message
        assert "many" in run.error.message
        assert "no JSON" in run.error.message

    def test_after_the_limit_an_error_says_which_field_is_missing(self):
        run = ran('const {a: number} = do "How many?"', *['{"b": 1}'] * 4)
        assert run.error.code == "V0916"
        assert "'a' is missing" in run.error.message

    def test_failure_assigns_nothing(self):
        program = 'let a = 1\nlet b = 2\ntry {\n  let {a: number, b: number} = do "x"\n} catch e { print(a, b) }'
        assert ran(program, *['{"a": 5}'] * 5).prints == ["1 2"]

    def test_nested_types_arrays_optional_fields_and_unions(self):
        program = """
type Tag { label: text, weight?: number }
const {user: {name: text, tags: Tag[]}, severity: "low" | "high", note: text = "none"} = vibe "Triage this"
print(name, tags[1].weight ?? 0, severity, note)
"""
        value = {"user": {"name": "Ann", "tags": [{"label": "a"}, {"label": "b", "weight": 2}]}, "severity": "high"}
        assert ran(program, {"returns": value}).prints == ["Ann 2 high none"]


INTEGRATION = {
    "basic": (
        'const {name: text, age: number} = do "Get info for a person named Bob who is 25 years old" m default\n'
        'assert(name == "Bob")\nassert(age == 25)\nprint("ok")',
        {"name": "Bob", "age": 25},
    ),
    "boolean": (
        'const {valid: boolean, reason: text} = do "Is 5 > 3? Return valid (true/false) and reason" m default\n'
        'assert(valid == true)\nprint("ok")',
        {"valid": True, "reason": "5 is more"},
    ),
    "array": (
        'const {colors: text[], count: number} = do "List 3 primary colors and their count" m default\n'
        'assert(count == 3)\nassert(colors.length == 3)\nprint("ok")',
        {"colors": ["red", "yellow", "blue"], "count": 3},
    ),
}


@every_api
@pytest.mark.parametrize("name", INTEGRATION)
def test_integration(api: str, name: str):
    program, value = INTEGRATION[name]
    declared = f'model m = {{ name: "{MODELS[api]}", apiKey: env("SOME_KEY", "key") }}\n'
    run = ran(declared + program, {"returns": value}, api=api)
    assert run.outcome.error is None, run.outcome.error
    assert run.prints == ["ok"]
    assert run.fake.requests[0].api == api
