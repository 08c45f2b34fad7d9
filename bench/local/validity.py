"""Typed answers by the hundred, over types that vary, to count those that are not valid."""

from __future__ import annotations

import datetime
import random
import sys
import uuid
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import AnyUrl, BaseModel, Field, TypeAdapter, ValidationError, create_model

from antiphon import AntiphonError, Conversation, connect

_TOPICS = ("a harbor", "a school trip", "an invoice", "a recipe", "a football match", "a server", "a garden", "a book")


class Mood(Enum):
    """An enumeration."""

    GLAD = "glad"
    SAD = "sad"


class Node(BaseModel):
    """A type that holds itself."""

    label: str = Field(max_length=10)
    children: list[Node] = Field(default=[], max_length=2)


class Cat(BaseModel):
    """One of a tagged union."""

    kind: Literal["cat"]
    lives: int = Field(ge=1, le=9)


class Dog(BaseModel):
    """The other one."""

    kind: Literal["dog"]
    tricks: list[Annotated[str, Field(max_length=12)]] = Field(max_length=3)


_SIMPLE: tuple[Any, ...] = (
    Annotated[str, Field(max_length=30)],
    int,
    float,
    bool,
    Decimal,
    datetime.date,
    datetime.time,
    datetime.datetime,
    datetime.timedelta,
    uuid.UUID,
    AnyUrl,
    Mood,
    Node,
    Literal["a", "b", 'a "quoted" word', "é"],
    Literal[1, 2, None],
    int | None,
    Annotated[str, Field(max_length=20)] | int | None,
    Cat | Dog,
    Annotated[Cat | Dog, Field(discriminator="kind")],
    Annotated[int, Field(ge=10, lt=20)],
    Annotated[int, Field(multiple_of=5, ge=0)],
    Annotated[float, Field(gt=0, le=1)],
    Annotated[str, Field(min_length=3, max_length=8)],
    Annotated[str, Field(pattern=r"^[A-Z]{2}-\d{3}$")],
    tuple[int, Annotated[str, Field(max_length=15)]],
    Annotated[dict[str, int], Field(max_length=4)],
    set[Literal["x", "y", "z"]],
    dict[Literal["n", "s"], float],
)


def invalid_answers(model: str, count: int, show: bool, seed: int = 6) -> int:
    """How many of so many typed answers do not fit their type. One that is cut off says so, and is none."""
    asked, chance, invalid, cut = connect(f"local/{model}"), random.Random(seed), 0, 0
    for number in range(count):
        adapter = TypeAdapter[Any](_type(chance, 2))
        conversation = Conversation()
        conversation.add_user(f"Make up data about {_TOPICS[number % len(_TOPICS)]}. Keep it short.")
        try:
            # Some luck, so that no two answers are alike.
            reply = asked.chat(
                conversation,
                output_schema=adapter.json_schema(),
                temperature=0.8,
                max_tokens=400,
                extra={"seed": seed + number},
            )
            if reply.stop == "length":
                cut += 1
                continue
            adapter.validate_json(reply.text)
        except (ValidationError, AntiphonError) as error:
            invalid += 1
            if show:
                print(f"  {adapter.json_schema()}\n    -> {error}", file=sys.stderr)
        if show and number % 50 == 49:
            print(f"  {number + 1} done, {invalid} invalid, {cut} cut off", file=sys.stderr, flush=True)
    print(f"{cut} were cut off by the token limit and told so", file=sys.stderr)
    return invalid


def _type(chance: random.Random, depth: int) -> Any:
    """An object type of a few fields, some of them optional, some of them lists or objects again."""
    fields: dict[str, Any] = {}
    for place in range(chance.randint(1, 3)):
        kind = chance.choice(_SIMPLE)
        if depth and chance.random() < 0.25:
            kind = _type(chance, depth - 1)
        if chance.random() < 0.2:
            kind = Annotated[list[kind], Field(max_length=3)]
        optional = chance.random() < 0.25
        fields[f"{chance.choice(('name', 'size', 'part', 'note'))}_{place}"] = (
            (kind | None, None) if optional else (kind, ...)
        )
    return create_model("Data", **fields)
