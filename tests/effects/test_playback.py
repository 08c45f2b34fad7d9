"""What sessions did, recorded and played back: the same end, nothing asked or run again, whatever the timing."""

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.conversation import Conversation
from antiphon.effects import (
    EffectCall,
    EffectContext,
    EffectMismatch,
    Outcome,
    Playback,
    Print,
    ReadEnvironment,
    Recording,
    use_context,
)
from antiphon.errors import RateLimited, ServerFailed
from antiphon.session import AIResult, Cancelled, NeedsHuman, Question, Session
from antiphon.tools import FinishRun, NeedsHumanInput, Toolset, tool
from antiphon.wire import Reply
from tests.session.scripted import Scripted, calls, within


@contextmanager
def standing(*performers: Any) -> Iterator[None]:
    with use_context(EffectContext(performers=performers)):
        yield


class Failing(Scripted):
    """Steps that are errors are raised."""

    def _reply(self, conversation: Conversation) -> Reply:
        if isinstance(self.script[0], Exception):
            raise self.script.pop(0)
        return super()._reply(conversation)


class Nothing(Scripted):
    """Must not be asked."""

    def _reply(self, conversation: Conversation) -> Reply:
        raise AssertionError(f"a model was asked: {conversation.turns[-1]}")


class World:
    """Tools that count what they do, and take as long as a seed says."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.done: list[str] = []
        self.lock = threading.Lock()

    async def _shuffled(self) -> None:
        for _ in range(self.random.randrange(6)):
            await asyncio.sleep(0)

    def tools(self, is_played: bool = False) -> list[Any]:
        async def look(n: int) -> str:
            await self._shuffled()
            self.done.append(f"look {n}")
            if n == 3:
                raise ValueError("three is not there")
            return f"seen {n}"

        def research(n: int) -> str:
            inner = Nothing() if is_played else Scripted(calls("look", n=n), f"researched {n}")
            return str(Session(inner, [look]).vibe(f"Research {n}"))

        async def aresearch(n: int) -> str:
            inner = Nothing() if is_played else Scripted(calls("look", n=n), f"aresearched {n}")
            await self._shuffled()
            return str(await Session(inner, [look]).avibe(f"Research {n}"))

        @tool(destructive=True)
        def remove(n: int) -> str:
            with self.lock:
                self.done.append(f"remove {n}")
            return f"removed {n}"

        def consult(n: int) -> str:
            raise NeedsHumanInput(f"which {n}?")

        @tool(output_limit=20)
        def dump(n: int) -> str:
            return f"{n}: " + "long " * 50

        return [look, research, aresearch, remove, consult, dump]


def answers(question: Question) -> Any:
    return question.text.upper() if question.kind == "question" else "2" not in question.text


def finished(here: Session) -> Any:
    """How it ends, in words that can be compared."""
    try:
        result = within(60, lambda: here.vibe("Go."))
    except Exception as error:
        return type(error).__name__, str(error), json.loads(json.dumps(getattr(error, "retry_after", None)))
    return result.value, result.run.usage, [(each.tool, each.result, each.error) for each in result.tool_calls]


names = ["look", "research", "aresearch", "remove", "consult", "dump", "gone"]
steps = st.lists(st.tuples(st.sampled_from(names), st.integers(1, 4)), min_size=1, max_size=4)
scripts = st.lists(steps.map(lambda each: calls(*[(name, {"n": n}) for name, n in each])), max_size=3)
ends = st.sampled_from(["Done.", "", ServerFailed("down", status=503), RateLimited("slow", retry_after=1.5)])


@settings(max_examples=40)
@given(scripts, ends, st.integers(0, 99), st.integers(0, 99))
def test_the_same_end_and_nothing_done_again(script: list[Any], end: Any, first: int, second: int):
    recording, there = Recording(), World(first)
    live = Session(Failing(*script, end, "Reminded."), there.tools(), people=answers)
    with standing(recording):
        expected = finished(live)
    # A file is all that is left of it.
    playback, here = Playback(json.loads(json.dumps(recording.effects))), World(second)
    played = Session(Nothing(), here.tools(is_played=True), people=lambda _: pytest.fail("a person was asked"))
    with standing(playback):
        assert finished(played) == expected
    assert here.done == []
    assert played.conversation.turns == live.conversation.turns
    assert played.conversation.kept == live.conversation.kept
    # What tools did inside is in the outcome of their calls.
    assert playback.replayed_paths == {path for path in recording.effects if path.count("/") == 1}


def recorded(script: list[Any], **settings: Any) -> dict[str, Any]:
    recording = Recording()
    with standing(recording):
        finished(Session(Scripted(*script), World(1).tools(), people=answers, **settings))
    return recording.effects


def test_paths_say_where_an_effect_belongs():
    effects = recorded([calls(("research", {"n": 1}), ("remove", {"n": 1})), "Done."])
    ids = [path.split("/")[1] for path, row in effects.items() if row["kind"] == "tool" and path.count("/") == 1]
    assert {path.replace(ids[0], "ID").replace(ids[-1], "ID") for path in effects if "look" not in path} >= {
        "1/r1",
        "1/r2",
        "1/ID",
        "1/ID!",
        "1/ID/1/r1",
        "1/ID/1/r2",
    }


def test_what_was_cut_off_goes_on_from_where_it_was():
    """The part of a recording that a crash left is enough: the rest happens."""
    whole = recorded([calls(("look", {"n": 1})), calls(("look", {"n": 2})), "Done."])
    paths = list(whole)
    for kept in range(len(paths) + 1):
        world = World(2)
        script = [calls(("look", {"n": 1})), calls(("look", {"n": 2})), "Done."]
        asked = sum(whole[path]["kind"] == "request" for path in paths[:kept])
        model = Scripted(*script[asked:])
        model._number = 9
        with standing(Playback({path: whole[path] for path in paths[:kept]})):
            assert finished(Session(model, world.tools()))[0] == "Done."
        assert len(world.done) == 2 - sum(whole[path]["kind"] == "tool" for path in paths[:kept])


def test_something_else_than_was_recorded_is_told_with_both_sides():
    effects = recorded(["Done."])
    with standing(Playback(effects)), pytest.raises(EffectMismatch, match="1/r1 is not the one that was recorded"):
        Session(Nothing()).vibe("Something else.")


def test_a_tool_that_ends_the_run_ends_it_again():
    def stop() -> None:
        raise FinishRun({"a": [1]})

    recording = Recording()
    with standing(recording):
        assert Session(Scripted(calls("stop")), [stop]).vibe("Go.").value == {"a": [1]}
    with standing(Playback(recording.effects)):
        assert Session(Nothing(), [stop]).vibe("Go.").value == {"a": [1]}


def test_a_call_that_is_asked_about_and_then_asks_is_two_effects():
    def consult() -> str:
        raise NeedsHumanInput("which?")

    recording = Recording()
    with standing(recording):
        here = Session(Scripted(calls("consult"), "Done."), Toolset([consult]).requiring_approval(), people=answers)
        assert here.vibe("Go.") == "Done."
    assert sorted(row["kind"] for row in recording.effects.values()) == [
        "person",
        "person",
        "request",
        "request",
        "tool",
    ]


def test_what_waits_for_a_person_has_no_outcome_yet():
    recording = Recording()
    with standing(recording), pytest.raises(NeedsHuman):
        Session(Scripted(calls(("consult", {"n": 1}))), World(1).tools()).vibe("Go.")
    assert [row["kind"] for row in recording.effects.values()] == ["request", "tool"]


def test_a_run_that_goes_on_after_an_answer_is_still_recorded():
    recording = Recording()
    with standing(recording):
        run = Session(Scripted(calls(("remove", {"n": 1})), "Done."), World(1).tools()).start("Go.")
        assert within(60, lambda: run.wait(raises=False)) is None

    # Whoever answers stands elsewhere.
    threading.Thread(target=lambda: run.allow(run.waiting[0].id)).start()
    assert within(60, lambda: _ended(run)) == "Done."
    assert sorted(row["kind"] for row in recording.effects.values()) == ["person", "request", "request", "tool"]


def _ended(run: Any) -> AIResult:
    while True:
        list(run.events())
        try:
            return run.wait()
        except NeedsHuman:
            continue
        except Cancelled:
            raise


def test_another_kind_of_effect_than_the_one_without_a_fingerprint_is_told() -> None:
    """What was read of the environment is recorded without its value, and so without a fingerprint."""
    recorded = {"1": {"kind": "environment", "fingerprint": None, "effect": {}, "outcome": {"value": "x"}}}
    playback = Playback(recorded)
    assert playback.before(EffectCall("1", ReadEnvironment("HOME"))) == Outcome("x")
    with pytest.raises(EffectMismatch, match=r"print .* now, environment then"):
        playback.before(EffectCall("1", Print("hello")))
