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
from pydantic import BaseModel, ValidationError

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


async def answer_of(app: FastAPI, path: str = "/") -> tuple[int, Any]:
    transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        response = await client.get(path)
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


class Capital(City):
    mayor: str = "secret"


class Node(BaseModel):
    name: str
    inside: list[Node] = []


TYPED: list[tuple[Any, Any, Any, dict[str, Any]]] = [
    (AIResult[City], AIResult(City(name="Oslo")), {"name": "Oslo"}, {"$ref": "#/components/schemas/City"}),
    (AIResult[City], AIResult(Capital(name="Oslo")), {"name": "Oslo"}, {"$ref": "#/components/schemas/City"}),
    (AIResult[int], AIResult(3), 3, {"type": "integer"}),
    (AIResult[list[str]], AIResult(["a"]), ["a"], {"type": "array", "items": {"type": "string"}}),
    (list[AIResult[int]], [AIResult(1)], [1], {"type": "array", "items": {"type": "integer"}}),
    (AIResult[int] | None, None, None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (AIResult[Place], AIResult(Place(["a"])), {"keys": ["a"]}, {"$ref": "#/components/schemas/Place"}),
    (
        AIResult[Node],
        AIResult(Node(name="a", inside=[Node(name="b")])),
        {"name": "a", "inside": [{"name": "b", "inside": []}]},
        {"$ref": "#/components/schemas/Node"},
    ),
    (AIResult[Any], AIResult({"a": 1}), {"a": 1}, {}),
    (AIResult, AIResult("text"), "text", {}),
]


@pytest.mark.parametrize(("declared", "given", "sent", "schema"), TYPED)
def test_the_schema_of_an_application_describes_the_value(declared: Any, given: Any, sent: Any, schema: dict[str, Any]):
    app = FastAPI()
    app.get("/", response_model=declared)(lambda: given)
    assert asyncio.run(answer_of(app)) == (200, sent)
    answer = app.openapi()["paths"]["/"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert {key: value for key, value in answer.items() if key != "title"} == schema


def test_an_annotation_of_an_endpoint_is_enough():
    app = FastAPI()

    @app.get("/")
    def city() -> AIResult[City]:
        return AIResult(City(name="Oslo"))

    assert asyncio.run(answer_of(app)) == (200, {"name": "Oslo"})
    status, described = asyncio.run(answer_of(app, "/openapi.json"))
    assert (status, described["components"]["schemas"]["City"]["required"]) == (200, ["name"])


def test_a_result_in_a_model_stays_one_and_comes_back_from_json():
    class Report(BaseModel):
        city: AIResult[City]

    report = Report(city=AIResult(City(name="Oslo")))
    assert isinstance(report.city, AIResult)
    assert report.model_dump() == {"city": {"name": "Oslo"}}
    again = Report.model_validate_json(report.model_dump_json())
    assert (type(again.city), again.city.value) == (AIResult, City(name="Oslo"))
    with pytest.raises(ValidationError, match="name"):
        Report.model_validate_json('{"city": {"nam": "Oslo"}}')
    for mode in ("validation", "serialization"):
        assert Report.model_json_schema(mode=mode)["properties"]["city"] == {"$ref": "#/$defs/City"}
