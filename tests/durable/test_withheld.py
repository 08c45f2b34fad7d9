"""What is written down without values of the environment is read back with them, whatever it holds besides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.effects import (
    AskPerson,
    CallTool,
    Effect,
    HumanAnswer,
    ModelReplied,
    Outcome,
    Print,
    RunPython,
    Sleep,
    ToolReturned,
)
from antiphon.effects.codec import (
    dump_ascii_json,
    effect_from_json,
    effect_to_json_without_turns,
    outcome_from_json,
    outcome_to_json,
)
from antiphon.storage.encryption import JournalCipher
from antiphon.storage.secret_matcher import is_matchable
from antiphon.storage.secret_refs import SecretMissing, SecretRefs, parse_redacted_json
from antiphon.tools.execution import make_call_record
from antiphon.wire import Reply, Usage
from tests.strategies import any_text

SIGNS = '\x1a\\"/ nur&%ö😀\n~[$'
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
secrets = st.text(st.sampled_from(f"{SIGNS}abcdef0123456789"), min_size=8, max_size=20).filter(is_matchable)


@pytest.fixture(scope="module")
def seal(tmp_path_factory: pytest.TempPathFactory) -> JournalCipher:
    return JournalCipher(tmp_path_factory.mktemp("seal") / "logs.key")


def knowing(seal: JournalCipher, *values: str) -> SecretRefs:
    withheld = SecretRefs(seal)
    for number, value in enumerate(values):
        withheld.add(f"V\x1a{number}", value)
    return withheld


def leaves(data: Any) -> list[str]:
    if isinstance(data, dict):
        return [leaf for key, each in data.items() for leaf in (key, *leaves(each))]
    if isinstance(data, list):
        return [leaf for each in data for leaf in leaves(each)]
    return [data] if isinstance(data, str) else []


@given(data=json_values, values=st.lists(secrets, min_size=1, max_size=2), around=st.text(SIGNS, max_size=3))
def test_a_text_is_read_back_with_the_values_it_was_written_without(
    seal: JournalCipher, data: Any, values: list[str], around: str
) -> None:
    withheld = knowing(seal, *values)
    value = values[0]
    told = {"said": f"{around}{value}{around}", value: data, "nested": json.dumps(f"{value}"), "more": [around, value]}
    text = dump_ascii_json(told)
    out = withheld.insert_references(text)
    assert withheld.parse_with_values(out, "it") == json.loads(text)
    assert [leaf for leaf in leaves(json.loads(out.removeprefix("~"))) if value in leaf] == []
    assert out == withheld.insert_references(text)


@given(data=json_values)
def test_what_holds_none_is_written_as_it_is(seal: JournalCipher, data: Any) -> None:
    text = dump_ascii_json({"": data})
    assert knowing(seal, "a value that is nowhere else").insert_references(text) == text


def test_a_number_that_a_value_was_read_as_is_none_to_be_written_down(seal: JournalCipher) -> None:
    withheld = knowing(seal, "4815162342")
    out = withheld.insert_references('{"value":[4815162342,12.5,true,null]}')
    assert "4815162342" not in out
    assert withheld.parse_with_values(out, "it") == {"value": [4815162342, 12.5, True, None]}


def test_of_two_values_that_begin_alike_each_is_itself(seal: JournalCipher) -> None:
    withheld = knowing(seal, "long-value", "long-value-and-more")
    told = {"value": "long-value-and-more long-value"}
    out = withheld.insert_references(dump_ascii_json(told))
    assert "and-more" not in out
    assert withheld.parse_with_values(out, "it") == told


def test_a_value_that_is_another_by_now_is_not_filled_in(seal: JournalCipher, monkeypatch: pytest.MonkeyPatch) -> None:
    withheld = SecretRefs(seal)
    withheld.add("TOKEN", "the value of then")
    out = withheld.insert_references('{"value":"the value of then"}')
    later = SecretRefs(seal)
    monkeypatch.setenv("TOKEN", "the value of then")
    assert later.parse_with_values(out, "it") == {"value": "the value of then"}
    monkeypatch.setenv("TOKEN", "the value of now")
    later.add("TOKEN", "the value of now")
    with pytest.raises(SecretMissing, match="TOKEN"):
        later.parse_with_values(out, "it")
    assert parse_redacted_json(out, "it") == {"value": "[$TOKEN]"}


CALL = ToolCall("c", "see", {"a": 1})
RESULT = ToolResult("c", [Text("seen")], is_error=True)
ASKED: list[Effect] = [
    CallTool("see", {"a": 1}),
    AskPerson("approval", "May it?", CALL),
    Print("x"),
    Sleep(1),
    RunPython("x", {"a": [1]}),
]
CAME = [
    Outcome(ModelReplied(Reply((Text("x"), CALL), stop="end", usage=Usage(1, 2)), 0.5)),
    Outcome(ToolReturned(RESULT, make_call_record(CALL, RESULT))),
    Outcome(HumanAnswer("x")),
    Outcome({"a": [1]}),
    Outcome(error=ValueError("x")),
]


def test_a_word_of_the_journal_itself_hides_nothing_that_is_needed_to_look_at_it(seal: JournalCipher) -> None:
    effects, outcomes = map(effect_to_json_without_turns, ASKED), map(outcome_to_json, CAME)
    for data, read in [*((each, effect_from_json) for each in effects), *((e, outcome_from_json) for e in outcomes)]:
        for word in {leaf for leaf in leaves(data) if len(leaf) >= 4}:
            read(parse_redacted_json(knowing(seal, word).insert_references(dump_ascii_json(data)), word))


def test_a_key_is_made_once_and_is_the_users_alone(tmp_path: Path) -> None:
    first, second = (JournalCipher(tmp_path / "new" / "logs.key") for _ in range(2))
    assert first.hash("x") == second.hash("x") != JournalCipher(tmp_path / "logs.key").hash("x")
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["logs.key"]
    assert (tmp_path / "new" / "logs.key").stat().st_mode & 0o777 == 0o600
