"""One contender of loop.py in a process of its own: `loop_client.py NAME URL ROUNDS REPEATS LIMIT`.

Prints one line of JSON: the CPU seconds from the first import to the first request (`setup`), those of a first tool
loop of one round (`first`), and those of `turns` turns after that (`loop`). A turn is one request with its answer and
the tool it calls. Above LIMIT seconds the loop is left; `turns` then says how far it came.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from time import process_time

import contenders

began = process_time()


def main(name: str, url: str, rounds: int, repeats: int, limit: float) -> None:
    """Measure and print."""
    module = import_module(f"contenders.{name}")
    ask = module.connect(url)
    ready = process_time()
    _run(ask, 1)
    warm = process_time()
    measured = {"setup": ready - began, "first": warm - ready, "versions": _versions(module)}
    _watch(measured, limit)
    start = process_time()
    for _ in range(repeats):
        _run(ask, rounds)
    _report(measured, process_time() - start, repeats * (rounds + 1))


def _run(ask, rounds: int) -> None:
    said = ask(contenders.question(rounds), rounds)
    assert said == contenders.answer(rounds), said


def _versions(module) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in module.DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = import_module(name).__version__
    return found


def _watch(measured: dict, limit: float) -> None:
    """Leave the loop from inside the tool when time is up: no framework offers a better place."""
    start, count = process_time(), 0

    def look() -> None:
        nonlocal count
        count += 1
        spent = process_time() - start
        if spent > limit:
            _report(measured, spent, count)
            os._exit(0)

    contenders.watch = look


def _report(measured: dict, loop: float, turns: int) -> None:
    import json

    print(json.dumps({**measured, "loop": loop, "turns": turns}), flush=True)


if __name__ == "__main__":
    name, url, rounds, repeats, limit = sys.argv[1:]
    main(name, url, int(rounds), int(repeats), float(limit))
