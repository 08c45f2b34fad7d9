"""Fields of typed answers that may be empty, and values that must come from the text: nothing is made up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from antiphon import Session
from antiphon.local.grammar import build_source_grammar, extract_numbers
from antiphon.local.groundedness import find_unseen_file
from antiphon.local.optional_fields import has_nullable_parts, require_nullable_fields, restore_optional_fields
from antiphon.local.weights import ensure
from tests.providers.test_local_backing import file as file
from tests.providers.test_local_backing import play, said


class Person(BaseModel):
    name: str
    phone: str | None = None
    is_member: bool = False


class Guest(TypedDict):
    name: str
    phone: NotRequired[str]


@pytest.fixture(scope="module")
def smallest() -> Path:
    """A real model: what its grammar does not let through, it cannot say."""
    return ensure("135m")


TEXT = "Extract the data from this text: Lena Vogt lives in Bonn."


def asked(file: Path, monkeypatch: pytest.MonkeyPatch, returns: Any, answer: str) -> tuple[Any, list[dict[str, Any]]]:
    """What a session makes of an answer, and the messages that the model was asked."""
    runtime = play(monkeypatch, said(answer))
    value = Session(f"local/{file}").do(TEXT, returns=returns).value
    return value, runtime.asked[0]["messages"]


@pytest.mark.parametrize("phone", ["null", '"null"'])
@pytest.mark.parametrize("returns", [Person, Guest])
def test_what_the_text_does_not_say_is_null_or_left_out(
    file: Path, monkeypatch: pytest.MonkeyPatch, phone: str, returns: Any
):
    more = ', "is_member": null' if returns is Person else ""
    value, _ = asked(file, monkeypatch, returns, f'{{"name": "Lena Vogt", "phone": {phone}{more}}}')
    assert value == (Person(name="Lena Vogt") if returns is Person else {"name": "Lena Vogt"})


def test_the_word_null_is_a_text_where_there_must_be_one(file: Path, monkeypatch: pytest.MonkeyPatch):
    value, _ = asked(file, monkeypatch, Person, '{"name": "null", "phone": "Null", "is_member": true}')
    assert value == Person(name="null", phone="Null", is_member=True)


def test_where_something_may_be_empty_a_rule_and_an_example_say_so(file: Path, monkeypatch: pytest.MonkeyPatch):
    _, messages = asked(file, monkeypatch, Guest, '{"name": "Lena Vogt", "phone": null}')
    *example, request = messages
    assert [each["role"] for each in example] == ["user", "assistant"]
    assert "null" in example[1]["content"]
    assert "Write null for what the text does not say." in request["content"]
    assert request["content"].endswith(TEXT)
    # The schema that is told is the one that the grammar has: it asks for the field.
    assert '"required": ["name", "phone"]' in request["content"]


def test_where_nothing_may_be_empty_nothing_is_said_of_it(file: Path, monkeypatch: pytest.MonkeyPatch):
    _, messages = asked(file, monkeypatch, TypedDict("Plain", {"name": str}), '{"name": "Lena Vogt"}')
    assert len(messages) == 1
    assert "null" not in messages[0]["content"]


def test_nulls_are_read_at_every_depth():
    text, maybe = {"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}
    inner = {"type": "object", "properties": {"a": maybe, "type": text, "required": text}, "required": ["a", "type"]}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"one": {"$ref": "#/$defs/inner"}, "many": {"type": "array", "items": {"$ref": "#/$defs/inner"}}},
        "required": ["one"],
        "$defs": {"inner": inner},
    }
    told = require_nullable_fields(schema)
    assert has_nullable_parts(told)
    assert told["required"] == ["one", "many"]
    assert told["$defs"]["inner"]["required"] == ["a", "type", "required"]
    value = {"a": "null", "type": "null", "required": None}
    assert restore_optional_fields(
        {"one": value, "many": [value, {"a": "x", "type": "y", "required": "z"}]}, schema
    ) == {
        "one": {"a": None, "type": "null"},
        "many": [{"a": None, "type": "null"}, {"a": "x", "type": "y", "required": "z"}],
    }
    assert restore_optional_fields({"one": value, "many": None}, schema) == {"one": {"a": None, "type": "null"}}
    assert not has_nullable_parts({"type": "object", "properties": {"null": text}, "required": ["null"]})


# Values from the text


def test_numbers_of_a_text():
    found = extract_numbers("12 lamps at 1,250.50 and 3,5 kilos, -4 degrees, 1'000")
    assert {12, 1250.5, 3.5, -4, 1000} <= set(found)
    assert 2031 not in extract_numbers("flight LH2031")
    assert extract_numbers("none") == []


class Item(BaseModel):
    product: str
    count: int | None


class Order(BaseModel):
    buyer: str
    kind: Literal["order", "praise"]
    phone: str | None
    total: float | None
    items: Annotated[list[Item], Field(max_length=2)]


@pytest.mark.parametrize(
    "source",
    ['"Lena Vogt" ordered 12 lamps for 1,250 euros.', "The \\ sea.\nNothing was bought: Größe 38, für Ödön 🐟"],
)
def test_a_value_that_is_not_in_the_text_is_not_possible(source: str, smallest: Path):
    prompt = f"Make up an order of ten chairs by Bob Smith, phone 555-1234. {source}"
    session = Session(f"local/{smallest}", extra={"values_from_text": True}, max_tokens=300)
    order = session.do(prompt, returns=Order).value
    plain = " ".join(prompt.replace('"', " ").replace("\\", " ").split())
    for text in (order.buyer, order.phone, *(item.product for item in order.items)):
        assert text is None or text in plain
    for number in (order.total, *(item.count for item in order.items)):
        assert number is None or number in extract_numbers(prompt)


def test_a_grammar_of_copied_values_names_what_cannot_be_copied_as_it_is():
    schema = {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "sure": {"type": "boolean"},
            "n": {"type": "integer"},
        },
        "required": ["day", "sure", "n"],
    }
    held = build_source_grammar(schema, "on the third, three of them")
    assert held.count("%json") == 3
    assert '"enum":' not in held


# Files that nothing can see


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ("How many lines does notes.txt have?", "notes.txt"),
        ("What does README.md say about installing?", "README.md"),
        ("summarize docs/guide.md", "guide.md"),
        ("Which port is set in config/server.yaml?", "server.yaml"),
        ("What is package.json used for?", ""),
        ("How many spaces does a Makefile need?", ""),
        ("Write a README.md for a chess engine.", ""),
        ("What is the difference between setup.py and pyproject.toml?", ""),
        ("How many km/h is that in mph?", ""),
        ("notes.txt:\n```\na\n```\nHow many lines does notes.txt have?", ""),
    ],
)
def test_a_question_about_a_file_that_nobody_has_shown(request_: str, name: str):
    assert find_unseen_file([{"role": "user", "content": request_}]) == name
    shown = [{"role": "user", "content": f"Here is {name or 'it'}: a, b, c"}, {"role": "user", "content": request_}]
    assert not name or find_unseen_file(shown) == ""


def test_such_a_question_gets_no_invented_answer(smallest: Path):
    said = Session(f"local/{smallest}").chat("How many lines does notes.txt have?").value
    assert said.startswith("I cannot see notes.txt: there is no tool that reads files.")
