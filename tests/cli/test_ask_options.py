"""`antiphon ask`: options of requests, code blocks, schemas, what an answer took, and going on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon import Store
from antiphon.fakes import Answer, Fail, Fake, call
from tests.cli.asking import ask
from tests.lang_unit.commands import antiphon

pytestmark = pytest.mark.usefixtures("fake")

# Options of requests


@pytest.mark.parametrize("command", ["ask", "chat"])
def test_options_go_along_with_every_request(fake: Fake, command: str) -> None:
    fake.play(call("now"), "Noon.")
    options = ["-o", "max_tokens=50", "-o", "extra.text.verbosity=low", "-o", "extra.seed=42", "-o", "reasoning=low"]
    message = ["When?"] if command == "ask" else []
    ran = antiphon(command, *message, "--tools", "read", *options, input="" if message else "When?\n")
    assert ran.code == 0, ran.err
    for request in fake.requests:
        body = request.body
        assert (body["max_output_tokens"], body["seed"], body["text"]) == (50, 42, {"verbosity": "low"})
        assert body["reasoning"]["effort"] == "low"
    assert len(fake.requests) == 2


def test_options_are_read_by_their_types_and_the_last_one_counts(fake: Fake) -> None:
    fake.play("A.")
    given = ["temperature=1", "temperature=0", "top_p=0.5", "stop=END", "stop=a=b", "parallel_tool_calls=false"]
    ran = ask("Go.", "-m", "openai-chat/gpt-4.1", *[word for each in given for word in ("-o", each)])
    assert ran.code == 0, ran.err
    body = fake.requests[0].body
    assert (body["temperature"], body["top_p"], body["stop"]) == (0, 0.5, ["END", "a=b"])


OPTIONS = {
    "temprature=1": "did you mean `temperature`?",
    "max-tokens=1": "did you mean `max_tokens`?",
    "max_output_tokens=1": "it is `-o max_tokens=1`",
    "seed=42": "a field of the provider's own is `-o extra.seed=42`",
    "temperature=hot": "is a number, such as 0.2, not 'hot'",
    "temperature=nan": "is a number",
    "temperature=": "is a number",
    "temperature": "`-o` takes name=value, such as `-o temperature=0`",
    "max_tokens=0": "`max_tokens` is at least 1",
    "max_tokens=1.5": "is an integer",
    "reasoning=lots": "`reasoning` is one of none, minimal",
    "cache=maybe": "is true or false",
    "schema=a.json": "use `--schema`",
    "extra.=3": "names no field",
}


def test_an_option_that_is_none_is_told_before_anything_is_asked(fake: Fake) -> None:
    for option, told in OPTIONS.items():
        ran = ask("-o", option, "Go.")
        assert (ran.code, ran.out, fake.requests) == (2, "", [])
        assert told in ran.err
    assert "did you mean `temperature`?" in antiphon("chat", "-o", "temprature=1").err


def test_an_option_inside_of_a_value_is_told() -> None:
    assert "is a field of `a`, which already has a value" in ask("Go.", "-o", "extra.a=1", "-o", "extra.a.b=2").err


def test_an_ask_that_is_gone_on_with_has_its_options_again(fake: Fake) -> None:
    fake.play(call("run_shell", command="true"), "```\ndone\n```\n")
    assert ask("Make it.", "--tools", "all", "-o", "max_tokens=50", "-x").code == 3
    antiphon("answer", "last", "yes")
    assert antiphon("resume", "last").out == "done\n"
    assert fake.requests[-1].body["max_output_tokens"] == 50


# Code blocks


@pytest.mark.parametrize(
    ("answer", "printed"),
    [
        ("Here:\n\n```python\nprint(1)\n\n\tx = '`'\n```\n\nand\n\n```\nno\n```\n", "print(1)\n\n\tx = '`'\n"),
        ("~~~\n```\ninner\n```\n~~~", "```\ninner\n```\n"),
        ("1. Do:\n\n   ```sh\n   ls\n     -l\n   ```\n", "ls\n  -l\n"),
        ("> ```\n> quoted\n> ```\n", "quoted\n"),
        ("````md\n```\na\n```\n````", "```\na\n```\n"),
        ("```\n```\n", ""),
        ("```\nnever closed\n", "never closed\n"),
        ("`no` block, and <b>\n```html\n<b>&amp;\\*</b>\n```", "<b>&amp;\\*</b>\n"),
    ],
)
def test_the_first_code_block_is_printed_as_it_is(fake: Fake, answer: str, printed: str) -> None:
    fake.play(answer)
    ran = ask("Write it.", "-x")
    assert (ran.code, ran.out, ran.err) == (0, printed, "")


def test_an_answer_without_a_code_block_is_not_lost(fake: Fake) -> None:
    fake.play("Just `words`.", "Just words.")
    ran = ask("Write it.", "--extract")
    assert (ran.code, ran.out) == (1, "")
    assert f"the answer has no code block; `antiphon show {Store().find('last').id}` shows it" in ran.err
    assert "Just words." in antiphon("show", "last").out
    assert "\nJust words.\n" in ask("Write it.", "--extract", "--no-save").err


def test_two_ways_to_print_an_answer_are_refused(fake: Fake) -> None:
    for flags in ("-x --json", "-x --stream", "-x --returns text", "--returns text --schema a", "--schema a --stream"):
        ran = ask("Go.", *flags.split())
        assert (ran.code, ran.out, fake.requests) == (2, "", [])
        assert "use one of them" in ran.err or "prints text while it arrives" in ran.err


# What it took


def test_what_an_answer_took_is_told_apart_from_it(fake: Fake) -> None:
    fake.play(Answer("A.", usage=(1200, 30)), Fail(400, "no"), Answer('{"n": 1}', usage=(10, 2)))
    ran = ask("Go.", "--usage")
    assert (ran.out, ran.err) == ("A.\n", "antiphon: openai/gpt-5: 1,200 in, 30 out, $0.0018\n")
    failed = ask("Go.", "--usage")
    assert (failed.code, failed.err.splitlines()[-1]) == (1, "antiphon: openai/gpt-5: usage is unknown")
    typed = ask("Go.", "--usage", "--returns", "{n: number}")
    assert (typed.out, typed.err) == ('{"n":1}\n', "antiphon: openai/gpt-5: 10 in, 2 out, <$0.0001\n")


# Going on


def test_any_conversation_can_be_gone_on_with(fake: Fake) -> None:
    fake.play("A.", "B.", "C.", "D.")
    ask("a", "-m", "openai/gpt-5-mini")
    first = Store().find("last").id
    ask("b")
    assert ask("c", "--resume", first).out == "C.\n"
    assert [turn.text for turn in Store().load(first).turns] == ["a", "A.", "c", "C."]
    assert fake.requests[-1].body["model"] == "gpt-5-mini"
    assert ask("d", "--resume", first, "-m", "openai/gpt-5").out == "D.\n"
    assert fake.requests[-1].body["model"] == "gpt-5"
    assert len(Store().list()) == 2


def test_a_conversation_that_is_not_there_is_told(fake: Fake) -> None:
    ran = ask("c", "--resume", "nope")
    assert (ran.code, fake.requests) == (2, [])
    assert "there is no session 'nope'" in ran.err
    assert "use one of them" in ask("c", "--resume", "nope", "-c").err


# Schemas

MODELS = """
from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pydantic import BaseModel, Field

from words import Word


class Person(BaseModel):
    name: Word
    age: int = Field(ge=0)
    born: date | None = None


@dataclass
class Point:
    x: float
    y: float


COUNT = int
count = 3
"""
VIBE = """type Person { name: text, age: number, mood: Mood }
type Mood = "good" | "bad"
const said = ask "Never asked."
"""


@pytest.fixture
def files(fake: Fake) -> None:  # noqa: ARG001
    Path("words.py").write_text("Word = str\n")
    Path("models.py").write_text(MODELS)
    Path("types.vibe").write_text(VIBE)
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    Path("person.json").write_text(json.dumps({"$schema": "any", **schema, "required": ["name", "age"]}))
    Path("list.json").write_text(json.dumps({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("schema", "answers", "printed"),
    [
        ("person.json", [{"name": "Ada", "age": "36"}, {"name": "Ada", "age": 36}], '{"name":"Ada","age":36}'),
        ("list.json", [[], ["c"], ["a", "b"]], '["a","b"]'),
        ("models.py:Person", [{"name": "Ada", "age": -1}, {"name": "Ada", "age": 36, "born": "1815-12-10"}],
         '{"name":"Ada","age":36,"born":"1815-12-10"}'),
        ("models.py:Point", [{"x": 1, "y": 2.5}], '{"x":1.0,"y":2.5}'),
        ("models.py:COUNT", [3], "3"),
        ("types.vibe:Person", [{"name": "Ada", "age": 36, "mood": "none"}, {"name": "Ada", "age": 36, "mood": "good"}],
         '{"name":"Ada","age":36,"mood":"good"}'),
        ("types.vibe:Mood", ["good"], '"good"'),
    ],
)  # fmt: skip
def test_an_answer_of_a_type_that_is_declared_somewhere(
    fake: Fake, schema: str, answers: list[Any], printed: str
) -> None:
    fake.play(*[json.dumps(each) for each in answers])
    ran = ask("Who?", "--schema", schema)
    assert (ran.code, ran.out) == (0, f"{printed}\n"), ran.err
    assert len(fake.requests) == len(answers)


SCHEMAS = {
    "models.py:Persn": "models.py has no `Persn`; did you mean `Person`?",
    "models.py:Nothing": "it has Person, Point",
    "models.py": "write `models.py:NAME`",
    "models.py:count": "is no type that an answer can have",
    "types.vibe:Moood": "did you mean `Mood`?",
    "gone.json": "cannot read 'gone.json': No such file or directory; `--schema` takes `person.json`",
    "gone.py:A": "there is no file 'gone.py'",
    "gone.vibe:A": "cannot read gone.vibe",
    "{name: text}": "a type that is written out goes to `--returns`",
    "name, age int": "cannot read 'name, age int'",
    "broken.py:A": "broken.py cannot be loaded: line 2: ZeroDivisionError: division by zero",
    "unread.py:A": "unread.py cannot be loaded: line 1",
    "leaves.py:A": "leaves.py cannot be loaded",
    "broken.vibe:A": "broken.vibe",
    "broken.json": "broken.json is not JSON",
    "none.json": "none.json is no JSON Schema",
}


@pytest.mark.usefixtures("files")
def test_a_schema_that_is_none_is_told_before_anything_is_asked(fake: Fake) -> None:
    Path("broken.py").write_text("a = 0\nb = 1 / a\n")
    Path("unread.py").write_text("def (:\n")
    Path("leaves.py").write_text("import sys\nsys.exit(0)\n")
    Path("broken.vibe").write_text("type A { x: txt }\n")
    Path("broken.json").write_text("{")
    Path("none.json").write_text('{"name": "text"}')
    for schema, told in SCHEMAS.items():
        ran = ask("Who?", "--schema", schema)
        assert (ran.code, ran.out, fake.requests) == (2, "", [])
        assert told in ran.err


@pytest.mark.usefixtures("files")
def test_an_ask_that_is_gone_on_with_has_its_schema_again(fake: Fake) -> None:
    fake.play(call("run_shell", command="true"), '{"name": "Ada", "age": 36}')
    ask("Who?", "--tools", "all", "--schema", "person.json")
    antiphon("answer", "last", "yes")
    assert json.loads(antiphon("resume").out) == {"name": "Ada", "age": 36}
