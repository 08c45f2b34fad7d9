"""How deep calls may nest, and errors be thrown on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from antiphon.lang.runtime.program import Report, loads

SUM = "export function sum(n: number): number { return n == 0 ? 0 : n + sum(n - 1) }\n"


@pytest.fixture(autouse=True)
def as_python_begins() -> Iterator[None]:
    """Programs that ran before have raised the limit for all threads."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(before)


def test_an_exported_function_nests_as_deep_as_the_program():
    assert loads(SUM).exported("sum")(10_000) == 50_005_000


def test_calls_nest_in_a_thread_that_others_made():
    found: list[Report] = []
    thread = threading.Thread(target=lambda: found.append(loads(f"{SUM}sum(10000)").attempt()))
    thread.start()
    thread.join()
    assert [each.value for each in found] == [50_005_000]


def test_an_error_in_a_thread_is_that_of_the_program():
    found: list[Report] = []
    thread = threading.Thread(target=lambda: found.append(loads('throw "no"').attempt()))
    thread.start()
    thread.join()
    assert [(each.outcome, each.error and each.error.message) for each in found] == [("failed", "no")]


def test_what_is_thrown_on_leaves_behind_what_had_gone_wrong_before():
    program = """function down(n: number): number {
  if n == 0 { throw "deep" }
  try { return down(n - 1) } catch e { throw e }
}
down(50)"""
    error: BaseException | None = loads(program).attempt().error
    assert str(error) == "deep"
    length = 0
    while error is not None:
        error, length = error.__context__, length + 1
    assert length < 4
