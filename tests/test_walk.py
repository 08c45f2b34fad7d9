"""How much code a run of a session passes through: function calls and changes of package of two tool rounds.

A call is the start of a function of `src/antiphon`, except for the fake server. Comprehensions, generator expressions
and lambdas do not count, and neither do resumptions of a generator or coroutine: they count only in `resumed`. A change
of package is a call in another package than the call before. The bounds keep the path from a session to a socket short.
"""

import asyncio
import inspect
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import pytest

import antiphon
from antiphon import Session, tool
from antiphon.fakes import Fake, call

_SOURCE = str(Path(antiphon.__file__).parent)
_SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@dataclass
class Walk:
    calls: int = 0
    changes: int = 0
    #: Calls including every resumption of a generator or coroutine.
    resumed: int = 0
    _last: str = ""
    _known: dict[CodeType, str] = field(default_factory=dict)
    _suspendable: set[FrameType] = field(default_factory=set)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not (package := self._package(frame.f_code)):
            return
        self.resumed += 1
        if frame.f_code.co_flags & _SUSPENDABLE:
            if frame in self._suspendable:
                return
            self._suspendable.add(frame)
        self.calls += 1
        self.changes += package != self._last
        self._last = package

    def _package(self, code: CodeType) -> str:
        """The package of a function that counts, or nothing."""
        if code not in self._known:
            place = code.co_filename.removeprefix(_SOURCE)
            package = place.split("/")[1] if place != code.co_filename and not code.co_name.startswith("<") else ""
            self._known[code] = "" if package == "fakes" else package
        return self._known[code]


async def _walk(model: str) -> Walk:
    with Fake([call("weather", city="Oslo"), call("weather", city="Bergen"), "Take a coat."]) as fake:
        session, walk = Session(fake.connect(model), tools=[weather]), Walk()
        sys.setprofile(walk)
        try:
            result = await session.avibe("Do I need a coat?")
        finally:
            sys.setprofile(None)
    assert result.value == "Take a coat."
    assert len(result.tool_calls) == 2
    return walk


async def _walk_warm(model: str) -> Walk:
    await _walk(model)
    return await _walk(model)


@pytest.mark.parametrize(
    ("model", "calls", "changes", "resumed"),
    [
        ("anthropic/claude-sonnet-5-5", 635, 135, 865),
        ("openai/gpt-5.2", 770, 160, 985),
        ("google/gemini-3.1-pro-preview", 760, 140, 975),
        ("deepseek/deepseek-chat", 665, 140, 890),
    ],
)
def test_two_tool_rounds_pass_through_few_functions(model, calls, changes, resumed):
    walk = asyncio.run(_walk_warm(model))
    assert walk.calls <= calls
    assert walk.changes <= changes
    assert walk.resumed <= resumed
