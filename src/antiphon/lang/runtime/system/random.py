"""`system/random`: random numbers. A run draws one seed, which is journaled; all numbers derive from it."""

from __future__ import annotations

import uuid
from random import Random
from typing import TYPE_CHECKING, Any, cast

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.system import SystemFunction
from antiphon.lang.runtime.values import get_kind_name
from antiphon.lang.typecheck import types as t

if TYPE_CHECKING:
    from antiphon.lang.runtime.execution import ProgramExecution


def _random(execution: ProgramExecution) -> float:
    return execution.get_random_generator().random()


def _choice(execution: ProgramExecution, items: Any) -> Any:
    given = _require_array(items, "choice")
    if not given:
        raise VibeError("V0903", "`choice` has nothing to choose from: the array is empty")
    return execution.get_random_generator().choice(given)


def _shuffle(execution: ProgramExecution, items: Any) -> list[Any]:
    given = _require_array(items, "shuffle")
    return execution.get_random_generator().sample(given, len(given))


def _uuid(execution: ProgramExecution) -> str:
    return str(uuid.UUID(int=execution.get_random_generator().getrandbits(128), version=4))


def _seed(execution: ProgramExecution, number: float) -> None:
    execution.state.random_generator = Random(number)


def _require_array(items: Any, name: str) -> list[Any]:
    if not isinstance(items, list):
        raise VibeError("V0902", f"`{name}` needs an array, not {get_kind_name(items)}")
    return cast(list[Any], items)


_ITEMS = {"items": t.JSON}
FUNCTIONS = {
    "random": SystemFunction("A number from 0 up to, but not including, 1.", _random, {}, t.NUMBER, again="inside"),
    "choice": SystemFunction("One item of an array.", _choice, _ITEMS, t.JSON, again="inside", gives="item"),
    "shuffle": SystemFunction(
        "A new array with the items in another order.", _shuffle, _ITEMS, t.Array(t.JSON), again="inside", gives="items"
    ),
    "uuid": SystemFunction("A random UUID.", _uuid, {}, t.TEXT, again="inside"),
    "seed": SystemFunction(
        "From here on the same numbers in every run.", _seed, {"number": t.NUMBER}, t.NULL, again="inside"
    ),
}
