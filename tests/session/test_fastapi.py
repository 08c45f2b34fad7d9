"""Results that an endpoint of FastAPI returns: what goes out is the value."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import pickle
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.encoders import jsonable_encoder
from pydantic import BaseModel

from antiphon import AIResult


class City(BaseModel):
    name: str


@dataclasses.dataclass
class Place:
    keys: list[str]


VALUES = [
    ("text", "text"),
    ("", ""),
    (3, 3),
    (True, True),
    (None, None),
    (2.5, 2.5),
    ([1, {"a": "b"}], [1, {"a": "b"}]),
    ({"a": 1, "items": [2]}, {"a": 1, "items": [2]}),
    ({"keys": 1}, {"keys": 1}),
    (City(name="Oslo"), {"name": "Oslo"}),
    ([City(name="Oslo")], [{"name": "Oslo"}]),
    (Place(["a"]), {"keys": ["a"]}),
]


async def answer_of(app: FastAPI) -> tuple[int, Any]:
    transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        response = await client.get("/")
        return response.status_code, response.json()


@pytest.mark.parametrize(("value", "sent"), VALUES)
@pytest.mark.parametrize("wrap", [lambda result: result, lambda result: {"answer": [result]}])
def test_an_endpoint_without_a_type_sends_the_value(value: Any, sent: Any, wrap: Any):
    app = FastAPI()
    app.get("/", response_model=None)(lambda: wrap(AIResult(value)))
    assert asyncio.run(answer_of(app)) == (200, wrap(sent))


@pytest.mark.parametrize(("value", "sent"), VALUES)
def test_an_endpoint_that_says_it_returns_a_result_sends_the_value(value: Any, sent: Any):
    app = FastAPI()
    app.get("/", response_model=AIResult[Any])(lambda: AIResult(value))
    assert asyncio.run(answer_of(app)) == (200, sent)


@pytest.mark.parametrize(("value", "sent"), VALUES)
def test_the_encoder_by_itself_knows_results_too(value: Any, sent: Any):
    assert jsonable_encoder(AIResult(value)) == sent
    assert jsonable_encoder([AIResult(value)]) == [sent]


@pytest.mark.parametrize("value", ["text", {"a": 1}, [1]])
def test_copies_and_pickles_stay_results(value: Any):
    result = AIResult(value)
    for made in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert isinstance(made, AIResult)
        assert made.value == value
    assert {"run", "tool_calls", "value"} <= set(dir(result))
