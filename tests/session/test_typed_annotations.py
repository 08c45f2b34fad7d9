"""Typed answers by annotations that are lazy, or are texts because of `from __future__ import annotations`."""

from __future__ import annotations

import collections.abc
import typing
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Required

import pytest
import typing_extensions
from pydantic import BaseModel, Field

from antiphon import tool
from antiphon.errors import AntiphonError, OptionError
from antiphon.session import ReturnError, Session
from tests.session.scripted import Scripted

LISTS = [collections.abc.Iterable, collections.abc.Collection, collections.abc.Container, collections.abc.Reversible]
LAZY = [
    collections.abc.Generator[int, None, None],
    typing.Generator[int, None, None],
    collections.abc.Iterator[int],
    collections.abc.AsyncIterable[int],
    collections.abc.Awaitable[int],
    collections.abc.Callable[[], int],
    type[int],
]


def ask(wanted: Any, *script: Any) -> Any:
    return Session(Scripted(*script), attempts=0).do("…", returns=wanted).value


class Ticket(typing.TypedDict):
    title: str
    owner: NotRequired[str]
    labels: Annotated[NotRequired[list[str]], Field(max_length=2)]


class Patch(typing.TypedDict, total=False):
    title: Required[str]
    owner: str


class Late(Ticket):
    due: NotRequired[str]
    by: str


class Board(typing.TypedDict):
    first: Ticket
    others: NotRequired[list[Patch]]


class Frozen(typing.TypedDict):
    title: typing_extensions.ReadOnly[str]
    owner: NotRequired[typing_extensions.ReadOnly[str]]
    due: typing_extensions.ReadOnly[NotRequired[str]]


class Modern(typing_extensions.TypedDict, total=False):
    title: typing_extensions.Required[str]
    owner: str


@dataclass
class Plain:
    title: str
    owner: str | None = None


class Holder(BaseModel):
    numbers: collections.abc.Iterable[int]


@dataclass
class DataHolder:
    inside: list[Holder]


@pytest.mark.parametrize("kind", LISTS)
def test_what_a_list_can_stand_for_is_a_list_that_is_checked(kind: Any):
    assert ask(kind[int], "[1, 2]") == [1, 2]
    assert ask(kind, '[1, "b"]') == [1, "b"]
    assert ask(dict[str, kind[int]] | None, '{"value": {"a": [1]}}') == {"a": [1]}
    assert ask({"n": Annotated[kind[int], "numbers"]}, '{"n": [3]}') == {"n": [3]}
    with pytest.raises(ReturnError, match=r"'value\.1' expected number, got text"):
        ask(kind[int], '[1, "b"]')


@pytest.mark.parametrize("lazy", LAZY)
def test_what_would_not_be_checked_is_refused_before_the_model_is_asked(lazy: Any):
    model = Scripted("[1, 2]")
    for wanted in (lazy, list[lazy], {"x": lazy}, lazy | None):
        with pytest.raises(OptionError, match="`returns` cannot be"):
            Session(model).do("…", returns=wanted)
    assert not model.seen


@pytest.mark.parametrize("wanted", [Holder, DataHolder, list[Holder], Holder | None, dict[str, Holder]])
def test_a_lazy_field_of_a_class_is_refused_with_what_to_write(wanted: Any):
    with pytest.raises(OptionError, match=r"checked only when they are used; write `list\[\.\.\.\]`"):
        ask(wanted, "{}")


@pytest.mark.parametrize(
    ("wanted", "required"),
    [
        (Ticket, {"title"}),
        (Patch, {"title"}),
        (Late, {"title", "by"}),
        (Board, {"first"}),
        (Frozen, {"title"}),
        (Modern, {"title"}),
        (Plain, {"title"}),
    ],
)
def test_optional_fields_stay_optional_where_annotations_are_texts(wanted: Any, required: set[str]):
    model = Scripted("{}")
    with pytest.raises(ReturnError) as caught:
        Session(model, attempts=0).do("…", returns=wanted)
    assert {each for each in wanted.__annotations__ if f"'{each}' is missing" in str(caught.value)} == required


def test_values_without_their_optional_fields_are_taken_as_they_came():
    assert ask(Ticket, '{"title": "a"}') == {"title": "a"}
    assert ask(list[Ticket], '[{"title": "a", "owner": "b"}]') == [{"title": "a", "owner": "b"}]
    assert ask(Board, '{"first": {"title": "a"}}') == {"first": {"title": "a"}}
    assert ask(Board, '{"first": {"title": "a"}, "others": [{"title": "b"}]}')["others"] == [{"title": "b"}]
    with pytest.raises(ReturnError, match=r"'others\.0\.title' is missing"):
        ask(Board, '{"first": {"title": "a"}, "others": [{"owner": "b"}]}')
    with pytest.raises(ReturnError, match="labels"):
        ask(Ticket, '{"title": "a", "labels": ["1", "2", "3"]}')


def test_a_tool_gets_a_checked_list_for_an_iterable():
    got: list[Any] = []

    def add(numbers: collections.abc.Iterable[int], note: Ticket | None = None) -> str:
        got.append((numbers, note))
        return "added"

    made = tool(add)
    fields = made.spec.parameters["properties"]
    assert fields["numbers"] == {"type": "array", "items": {"type": "integer"}}
    model = Scripted([("add", {"numbers": [1, "x"]})], [("add", {"numbers": [1, 2], "note": {"title": "a"}})], "Done.")
    Session(model, [made]).vibe("…")
    assert got == [([1, 2], {"title": "a"})]


def test_a_tool_with_a_lazy_parameter_is_refused():
    def count(numbers: collections.abc.Generator[int, None, None]) -> str:
        return str(sum(numbers))

    def hold(holder: Holder) -> str:
        return str(holder)

    for function in (count, hold):
        with pytest.raises(AntiphonError, match="checked only when they are used"):
            tool(function)
