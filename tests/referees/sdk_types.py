"""The vendors' SDK types as judges of request bodies."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from tests.referees.refusal import Refusal


@cache
def _make_judge(params: type) -> type[BaseModel]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return create_model("Judge", __config__=ConfigDict(extra="forbid"), body=(params, ...))


def judge(params: type, body: Mapping[str, Any], newer: Collection[str] = ()) -> None:
    """Raise a Refusal unless the body is of the SDK's type; `newer` names fields that it does not know yet."""
    known = {name: value for name, value in body.items() if name not in newer}
    try:
        consume(_make_judge(params).model_validate({"body": known}).body)  # type: ignore[attr-defined]
    except ValidationError as error:
        worst = error.errors(include_url=False)[0]
        where = ".".join(str(each) for each in worst["loc"][1:])
        raise Refusal(f"{where}: {worst['msg']} (SDK types)", param=where) from error


def consume(value: Any) -> None:
    """Read every lazy iterable to its end, since pydantic checks them only then, and refuse unknown fields."""
    if isinstance(value, BaseModel):
        if value.model_extra:
            raise Refusal(f"{next(iter(value.model_extra))}: Extra inputs are not permitted (SDK types)")
    elif isinstance(value, Mapping):
        for inner in value.values():
            consume(inner)
    elif isinstance(value, list | tuple) or type(value).__name__ == "ValidatorIterator":
        for inner in value:
            consume(inner)
