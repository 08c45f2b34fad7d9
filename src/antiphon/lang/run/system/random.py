"""`system/random`: chance. A run draws one seed, which is written down; all that follows comes of it."""

from __future__ import annotations

import uuid
from random import Random
from typing import TYPE_CHECKING, Any, cast

from antiphon.lang.check.types import JSON, NULL, NUMBER, TEXT, Array
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.system.function import Function
from antiphon.lang.run.values import kind_of

if TYPE_CHECKING:
    from antiphon.lang.run.execution import Execution


def _random(execution: Execution) -> float:
    return execution.chance().random()


def _choice(execution: Execution, items: Any) -> Any:
    given = _items(items, "choice")
    if not given:
        raise VibeError("V0903", "`choice` has nothing to choose from: the array is empty")
    return execution.chance().choice(given)


def _shuffle(execution: Execution, items: Any) -> list[Any]:
    given = _items(items, "shuffle")
    return execution.chance().sample(given, len(given))


def _uuid(execution: Execution) -> str:
    return str(uuid.UUID(int=execution.chance().getrandbits(128), version=4))


def _seed(execution: Execution, number: float) -> None:
    execution.state.chance = Random(number)


def _items(items: Any, name: str) -> list[Any]:
    if not isinstance(items, list):
        raise VibeError("V0902", f"`{name}` wants an array, not {kind_of(items)}")
    return cast(list[Any], items)


_ITEMS = {"items": JSON}
FUNCTIONS = {
    "random": Function("A number from 0 up to, but not including, 1.", _random, {}, NUMBER, again="inside"),
    "choice": Function("One item of an array.", _choice, _ITEMS, JSON, again="inside", gives="item"),
    "shuffle": Function(
        "A new array with the items in another order.", _shuffle, _ITEMS, Array(JSON), again="inside", gives="items"
    ),
    "uuid": Function("A random UUID.", _uuid, {}, TEXT, again="inside"),
    "seed": Function("From here on the same numbers in every run.", _seed, {"number": NUMBER}, NULL, again="inside"),
}
