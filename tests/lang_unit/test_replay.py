"""Recorded effects bring a program to the same end, whatever the timing: so a journal can stand in the door."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from antiphon.effects import EffectCall, HumanAnswer, Middleware, Outcome, Playback, Recording
from antiphon.effects.pipeline import EffectContext, PathCounter, use_context
from antiphon.fakes import Answer, Call, Fake, Received
from antiphon.lang.runtime import Host, load, loads
from antiphon.lang.runtime.errors import VibeError
from antiphon.session import Question
from tests.lang_unit.harness import connecting, ran, said, tool_names

EXAMPLES = Path(__file__).parents[2] / "examples"


def _make() -> Any:
    spec = importlib.util.spec_from_file_location("recordings_make_again", EXAMPLES / "recordings" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _make()


class Delays(Middleware):
    """Stands in the door and holds some effects back, so that what runs side by side comes in another order."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._lock = threading.Lock()

    def before(self, step: EffectCall) -> None:
        del step
        with self._lock:
            late = self._random.random() < 0.5
        if late:
            time.sleep(0.003)

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        del step, outcome


def test_a_budget_counts_requests_that_are_replayed():
    program, recording = 'print(do "one")\nprint(do "two")', Recording()
    with use_context(EffectContext(PathCounter(), (recording,))):
        assert ran(program, "a", "b").prints == ["a", "b"]
    with use_context(EffectContext(PathCounter(), (Playback(recording.effects),))):
        again = ran(program, max_turns=1)
    assert (again.prints, again.error.code, again.fake.requests) == (["a"], "V0922", [])


def nobody(*_: Any, **__: Any) -> Any:
    raise AssertionError("what was recorded is not done again")


def assert_all_played(playback: Playback) -> None:
    """Every effect was asked for again, but for what happened inside of calls that were not run again."""
    left = playback.effects.keys() - playback.replayed_paths
    assert all(any(path.startswith(f"{each}/") for each in playback.replayed_paths) for path in left), left


def as_written(recording: Recording) -> dict[str, Any]:
    """What was recorded, as it is read from a file."""
    return json.loads(json.dumps(recording.effects))


@pytest.mark.parametrize("case", make.CASES, ids=lambda case: case.name)
def test_the_effects_of_an_example_bring_it_to_the_same_end(
    case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    recording = Recording()
    (tmp_path / "first").mkdir()
    first = make.run(case, tmp_path / "first", replay=str(case.file("jsonl")), performers=(recording,))
    assert recording.effects
    for seed in range(3):
        place = tmp_path / f"again{seed}"
        place.mkdir()
        playback = Playback(as_written(recording))
        seen = _played(case, place, (Delays(seed), playback))
        assert sorted(seen) == sorted(first.removesuffix("\n").split("\n"))
        assert_all_played(playback)


def _played(case: Any, place: Path, performers: tuple[Any, ...]) -> list[str]:
    """What the program prints when everything is played back: what it prints is said by the recording, too."""
    case.prepare(place)
    host = Host(
        write=nobody, people=nobody, connect=_unreachable, default_model=lambda: case.model, performers=performers
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        outcome = load(case.program).attempt(host, arguments=case.arguments)
    assert outcome.error is None
    asked = [row["effect"] for row in performers[-1].effects.values() if row["kind"] == "person"]
    answers = [row["outcome"] for row in performers[-1].effects.values() if row["kind"] == "person"]
    told = [f"{each['text']} {answer['said']['text']}".rstrip() for each, answer in zip(asked, answers, strict=True)]
    return "\n".join([*outcome.prints, *told]).split("\n")


def _unreachable(name: str, **given: Any) -> Any:
    """A model that can be named, and not asked."""
    return connecting(Fake([nobody]))(name, **given)


# Programs of all that has effects

_LINES = (
    'print(do "say {n}")',
    'print(vibe "use {n}" m)',
    "print(twice({n}))",
    'const {{ a: text, b: number }} = do "typed {n}"\nprint(a, b)',
    "print(now())",
    'print(env("REPLAY_{n}", "none"))',
    "sleep(0.001)",
    'print(ask "who {n}?")',
    "const v{n} = py() {{\n  import random\n  return random.random()\n}}\nprint(v{n})",
    'try {{ print(do "fail {n}") }} catch e {{ print("caught", e.code) }}',
    "try {{\n  const w{n} = py() {{\n  raise KeyError('{n}')\n}}\n  print(w{n})\n}} catch e {{ print(e.message) }}",
    'print([1, 2].map(i => do "each {n} {{i}}"), [3].sortBy(i => twice(i)))',
    'const f{n} = (i: number) => {{\n  const told = do "called {n} {{i}}"\n  return told\n}}\n'
    "print(f{n}(1), [2].map(f{n}))",
    'async let l{n} = do "later {n}"\nprint(do "between {n}")\nprint(l{n})',
    'print(async for i in 1..3 {{ yield do "round {n} {{i}}" }})',
    'async let s{n} = do "shared"\nprint(async for i in 1..3 {{ if i > 1 {{ print(s{n}) }}\n  yield do "w {{i}}" }})',
    'print(async for i in 1..3 {{ print("in", i)\n  const t = ask "which {n} {{i}}?"\n  yield twice(i) }})',
    'print(async for i in 1..2 {{ yield async for j in 1..2 {{ yield vibe "deep {n} {{i}} {{j}}" m }} }})',
)
_HEAD = """\
// Says something twice.
tool twice(x: number): text {
  const said = do "twice {x}"
  return "{said}!"
}
model m = { name: "default", tools: [twice] }
"""


def program_of(random: Random) -> str:
    chosen = [random.choice(_LINES).format(n=number) for number in range(random.randint(1, 7))]
    return _HEAD + "\n".join(f"{{\n{each}\n}}" if each.startswith("const {") else each for each in chosen) + "\n"


def answering(received: Received) -> Any:
    """What a model says depends on what it was asked alone, not on when."""
    asked = [line for line in said(received).splitlines() if line.strip()]
    last = asked[-1] if asked else ""
    tools = tool_names(received)
    if last.startswith("{") or "output_schema" in str(received.body) or "json_schema" in str(received.body):
        return json.dumps({"a": last, "b": len(last)})
    if last.startswith("fail"):
        return Answer(stop="refusal") if "9" in last else Answer("")
    if "twice" in tools and last.startswith(("use", "deep")):
        return Call("twice", {"x": len(last)})
    return f"({last[-40:]})"


def human(question: Question) -> HumanAnswer:
    return HumanAnswer(f"me, of {question.text}")


def run_once(text: str, write: Any, connect: Any, people: Any, performers: tuple[Any, ...]) -> tuple[Any, ...]:
    host = Host(write=write, connect=connect, people=people, default_model=lambda: "gpt-5", performers=performers)
    outcome = loads(text, "replay.vibe").attempt(host)
    error = outcome.error
    assert error is None or isinstance(error, VibeError)
    # What was spent is summed up in the order in which it came.
    usage = {**outcome.usage, "cost": round(outcome.usage["cost"], 9)}
    return sorted(outcome.prints), outcome.variables, error and (error.code, error.message), usage


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 2**32))
@example(1, 2)
@example(0, 0)
def test_programs_come_to_the_same_end_from_their_effects(seed: int, timing: int) -> None:
    text = program_of(Random(seed))
    fake = Fake([answering for _ in range(500)])
    recording = Recording()
    first = run_once(text, lambda _: None, connecting(fake), human, (Delays(timing + 1), recording))
    playback = Playback(as_written(recording))
    again = run_once(text, nobody, _unreachable, nobody, (Delays(timing), playback))
    assert again == first, text
    assert_all_played(playback)


def test_what_happened_is_part_of_every_round_that_uses_it_and_of_no_other() -> None:
    text = 'async let s = do "shared"\nasync for i in 1..3 { if i > 1 { print(s) }\n  yield do "round {i}" }\n'
    fake = Fake([answering for _ in range(9)])
    run_once(text, lambda _: None, connecting(fake), human, (Recording(),))
    shown = {each.splitlines()[-1]: "(shared)" in each for each in map(said, fake.requests)}
    assert shown == {"shared": False, "round 1": False, "round 2": True, "round 3": True}


def test_another_prompt_than_the_recorded_one_is_not_answered_by_it() -> None:
    recording = Recording()
    fake = Fake([answering for _ in range(9)])
    run_once('print(do "one")', lambda _: None, connecting(fake), human, (recording,))
    changed = run_once('print(do "two")', lambda _: None, _unreachable, human, (Playback(as_written(recording)),))
    assert "is not the one that was recorded" in str(changed[2])
