"""Rounds side by side, callers from several threads, and what is left when a run is over."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from antiphon.fakes import Fake, Received
from antiphon.lang.runtime import program as programs
from antiphon.lang.runtime.program import Host, loads
from tests.lang_unit.harness import MODELS, connecting, ran, said

TOOL = """
// Asks another model.
tool helper(q: text): text { return do "inner {q}" none }
model m = { name: "anthropic/claude-sonnet-5", tools: [helper] }
try { print(vibe "go" m) } catch e { print("caught", e) }
"""


def slow(_: Received) -> str:
    time.sleep(0.03)
    return "ok"


@pytest.mark.parametrize("most", [1, 3])
def test_rounds_side_by_side_share_the_limit_of_requests(most: int):
    program = 'const all: json[] = async for i in 1..20 { yield do "q {i}" none }\nprint(all.length)'
    run = ran(program, *[slow] * 20, max_turns=most)
    assert len(run.fake.requests) == most
    assert run.error.code == "V0922"


@pytest.mark.parametrize("most", [1, 2])
def test_a_tool_that_asks_shares_the_limit_with_the_model_that_called_it(most: int):
    run = ran(TOOL, {"tool": "helper", "args": {"q": "a"}}, "inner", "final", max_turns=most)
    assert len(run.fake.requests) == most
    assert run.error.code == "V0922"
    assert run.prints == []


def test_the_cost_of_a_call_counts_while_it_goes_on():
    calls = [{"tool": "helper", "args": {"q": "a"}}] * 3
    run = ran(TOOL, *calls, "final", max_cost=1e-9)
    assert len(run.fake.requests) == 1
    assert "limit of $1e-09" in run.error.message


def test_what_was_started_ends_with_the_run():
    program = """
        function many(): text {
          for i in 1..50 { do "q {i}" none }
          return "done"
        }
        async let a = many()
        do "main" none
        throw "stop"
    """
    asked, over = threading.Event(), threading.Event()
    workers: list[threading.Thread] = []

    def answer(received: Received) -> str:
        if "main" in said(received):
            assert asked.wait(60)
        else:
            workers.extend(each for each in threading.enumerate() if each.name == "antiphon: async")
            asked.set()
            over.wait(60)
        return "ok"

    run = ran(program, *[answer] * 60)
    assert run.error.message == "stop"
    worker = workers[0]
    worker.join(60)
    over.set()
    assert not worker.is_alive()
    assert len(run.fake.requests) == 2


def loaded(monkeypatch: pytest.MonkeyPatch, text: str, **settings: Any) -> programs.Program:
    monkeypatch.setattr(programs, "default_host", lambda: Host(**settings))
    return loads(text)


def at_once(work: Any, times: int) -> None:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(times)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def test_the_top_level_runs_once_for_callers_from_several_threads(monkeypatch: pytest.MonkeyPatch):
    printed: list[str] = []
    text = 'print("top")\nsleep(0.05)\nexport function next(n: number): number { return n + 1 }'
    program = loaded(monkeypatch, text, write=printed.append)
    given: list[int] = []
    at_once(lambda n: given.append(program.next(n)), 5)
    assert sorted(given) == [1, 2, 3, 4, 5]
    assert printed == ["top"]


def test_callers_from_several_threads_do_not_see_each_other_in_the_history(monkeypatch: pytest.MonkeyPatch):
    text = """
        const rule = do "top level"
        export function ask_twice(name: text): text {
          do "first {name}" default
          return do "second {name}" default
        }
    """
    fake = Fake([slow] * 20)
    program = loaded(monkeypatch, text, connect=connecting(fake), default_model=lambda: MODELS["openai-chat"])
    at_once(lambda n: program.ask_twice(f"caller{n}"), 4)
    asked = [said(each) for each in fake.requests[1:]]
    assert len(asked) == 8
    assert all(sum(f"caller{n}" in each for n in range(4)) == 1 for each in asked)
    assert all("top level" in each for each in asked)


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_rounds_run_at_once_than_allowed(most: int):
    lock, running, seen, all_there = threading.Lock(), [0], [0], threading.Barrier(most)

    def answer(_: Received) -> str:
        with lock:
            running[0] += 1
            seen[0] = max(seen[0], running[0])
        all_there.wait(60)
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        return "ok"

    program = 'const all: json[] = async for i in 1..9 { yield do "q {i}" none }\nprint(all.length)'
    assert ran(program, *[answer] * 9, max_parallel=most).prints == ["9"]
    assert seen[0] == most


def test_when_a_round_fails_the_others_are_cancelled_and_no_more_begin():
    program = """
        const all: json[] = async for i in 1..50 {
          if i == 3 { do "third" none; throw "third" }
          yield do "q {i}" none
        }
        print(all.length)
    """
    others, over = threading.Semaphore(0), threading.Event()
    begun: list[Received] = []

    def answer(received: Received) -> str:
        if "third" in said(received):
            assert all(others.acquire(timeout=60) for _ in range(3))
        else:
            others.release()
            begun.append(received)
            # Those that should never have begun hold nobody up.
            if len(begun) <= 3:
                over.wait(60)
        return "ok"

    run = ran(program, *[answer] * 50, max_parallel=4)
    over.set()
    assert run.error.message == "third"
    assert len(run.fake.requests) == 4


def test_what_happened_in_started_work_is_told_once_however_often_its_value_is_used():
    run = ran('async let a = do "first"\nprint(a)\nprint(a + a)\nprint(do "second" default)', "seen", "ok")
    assert said(run.fake.requests[-1]).count("first") == 1
