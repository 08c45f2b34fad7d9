"""Typical mistakes in Python: each has an error that says what happened and what to write instead.

`python_mistakes.txt` holds the expressions and their errors. With UPDATE_GOLDEN set, it is written anew.
"""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import antiphon
from antiphon import Agent, Conversation, Limits, Session, connect
from antiphon._base.did_you_mean import HOMES
from antiphon.fakes import Fake, echo
from antiphon.session import Context
from antiphon.tools import Policy, Rule

TABLE = Path(__file__).with_name("python_mistakes.txt")
_ENTRY = re.compile(r"^>>> (.*)\n(.*)\n", re.MULTILINE)
MISTAKES = _ENTRY.findall(TABLE.read_text(encoding="utf-8"))


def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@pytest.fixture(scope="module")
def names() -> Iterator[dict[str, Any]]:
    """What the expressions may use."""
    with Fake(echo) as fake:
        model = fake.connect("openai/gpt-4o")
        conversation = Conversation().add_user("Hello.")
        reply = model.chat(conversation)
        agent, session = Agent(model), Session(model)
        known: dict[str, Any] = {"weather": weather, "Rule": Rule, "Policy": Policy, "Context": Context}
        for package in ("antiphon.fakes", "antiphon.durable", "antiphon.tools", "antiphon"):
            module = import_module(package)
            known |= {name: getattr(module, name) for name in module.__all__}
        known |= {"fake": fake, "model": model, "conversation": conversation, "reply": reply, "antiphon": antiphon}
        yield known | {"agent": agent, "session": session, "result": session.chat("Hello.")}


def tell(expression: str, names: dict[str, Any]) -> str:
    try:
        value = eval(expression, dict(names))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"no error: {value!r}"


@pytest.mark.skipif("UPDATE_GOLDEN" not in os.environ, reason="writes the table")
def test_the_table_is_written(names: dict[str, Any]) -> None:
    whole = "".join(f">>> {expression}\n{tell(expression, names)}\n" for expression, _ in MISTAKES)
    TABLE.write_text(whole, encoding="utf-8")


def test_there_are_many() -> None:
    assert len(MISTAKES) >= 100
    assert len({expression for expression, _ in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize(("expression", "told"), MISTAKES, ids=[expression for expression, _ in MISTAKES])
def test_a_mistake_is_told(names: dict[str, Any], expression: str, told: str) -> None:
    assert tell(expression, names) == told
    assert re.match(r"(TypeError|AttributeError|\w+Error): .", told)


def test_hints_change_nothing_for_those_who_look(names: dict[str, Any]) -> None:
    for each in (names["agent"], names["session"], names["model"], names["conversation"], names["reply"]):
        assert not hasattr(each, "run_sync")
        assert getattr(each, "messages", None) is None
        assert not hasattr(each, "_repr_html_")
        assert not hasattr(each, "__wrapped__")
    assert copy.copy(names["reply"]).text == names["reply"].text
    assert pickle.loads(pickle.dumps(Conversation("s"))).system == "s"
    assert pickle.loads(pickle.dumps(Limits(cost=1))) == copy.copy(Limits(cost=1))


def test_signatures_are_those_of_the_class() -> None:
    assert [*inspect.signature(Limits).parameters][:2] == ["requests", "tool_calls"]
    assert [*inspect.signature(Conversation).parameters] == ["system", "tools", "auto_assistant_tool_calls"]


def test_an_error_within_is_not_taken_for_a_wrong_call() -> None:
    class Odd(Conversation):
        def __init__(self) -> None:
            super().__init__("")
            len(5)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len"):
        Odd()


def test_the_error_of_a_property_is_its_own() -> None:
    class Mine(Session[None, str]):
        @property
        def answers(self) -> int:
            return self.conversation.nothing  # type: ignore[attr-defined]

    with Fake(echo) as fake, pytest.raises(AttributeError, match="'Conversation' object has no attribute 'nothing'"):
        _ = Mine(fake.connect("openai/gpt-4o")).answers


@pytest.mark.parametrize("name", HOMES)
def test_a_name_is_where_the_hint_says(name: str) -> None:
    assert hasattr(import_module(f"antiphon.{HOMES[name]}"), name)


def test_a_name_of_a_model_is_still_checked_where_it_is_connected() -> None:
    with pytest.raises(antiphon.AntiphonError, match="did you mean 'openai/gpt-4o'"):
        connect("openai:gpt-4o")
