"""Bodies and schemas that the tests of the servers share."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

HI = {"role": "user", "content": "Hi"}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
OPEN = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
EMPTY = {"type": "object", "properties": {}}


def post(url: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
    """Post JSON; return the status and the JSON of the answer."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def closed(**properties: Any) -> dict[str, Any]:
    """Return a closed object of which all properties are required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
