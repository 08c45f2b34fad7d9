"""The language beside hand-written Python: loops, text, arrays, choices, functions as values; compiling; start-up.

Each case is a Vibe function with types and the same function in Python (`lang_cases`), some also with nothing known of
their values; then code of the top level beside the same in a Python function. All run in one process, alternating, and
the best of several rounds counts. Run: `python bench/lang.py`, or with names of cases.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

from lang_cases import twins

from antiphon.lang.runtime.program import Host, load, loads

ROUNDS = 100_000

MANY = 3_000_000
CASES = Path(__file__).parent / "lang_cases"

#: How often each case goes round; all others do so `ROUNDS` times.
COUNTS = {"fib": 23}
#: Code of the top level, and the same as the body of a Python function.
TOP_LEVEL = {
    "top: for": (
        "let total = 0\nfor i in {n} {{ if i % 2 == 0 {{ total += i }} }}\ntotal",
        "total = 0\nfor i in range({n}):\n    if i % 2 == 0: total += i\nreturn total",
    ),
    "top: while": (
        "let total = 0\nlet i = 0\nwhile i < {n} {{ total += i * 2\ni += 1 }}\ntotal",
        "total = 0\ni = 0\nwhile i < {n}:\n    total += i * 2\n    i += 1\nreturn total",
    ),
    "top: shared": (
        "let total = 0\nfunction shown(): number {{ return total }}\nfor i in {n} {{ total = total + i }}\nshown()",
        "total = 0\ndef shown(): return total\nfor i in range({n}): total = total + i\nreturn shown()",
    ),
    "top: counter": (
        "let total = 0\nfunction add(x: number) {{ total += x }}\nfor i in {n} {{ add(i) }}\ntotal",
        "total = 0\ndef add(x):\n    nonlocal total\n    total += x\nfor i in range({n}): add(i)\nreturn total",
    ),
    "top: arrays": (
        "let xs: number[] = []\nfor i in {n} {{ xs.push(i * 2) }}\nlet total = 0\nfor x in xs {{ total += x }}\ntotal",
        "xs = []\nfor i in range({n}): xs.append(i * 2)\ntotal = 0\nfor x in xs: total += x\nreturn total",
    ),
    "top: remainders": (
        "let seed = 7\nfor i in {n} {{ seed = (seed * 31 + i) % 10007 }}\nseed",
        "seed = 7\nfor i in range({n}): seed = (seed * 31 + i) % 10007\nreturn seed",
    ),
}


def seconds(function: Any, *arguments: Any) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    function(*arguments)
    return time.process_time() - began


def best(functions: list[Any], n: int, rounds: int = 7) -> list[float]:
    """The least seconds of each, alternating."""
    for function in functions:
        for _ in range(10):
            # Python makes code quicker that was called some times.
            function(min(n, 1_000))
    gc.collect()
    gc.disable()
    taken = [[seconds(function, n) for function in functions] for _ in range(rounds)]
    gc.enable()
    return [min(each) for each in zip(*taken, strict=True)]


def row(name: str, taken: list[float]) -> None:
    ratios = " | ".join(f"{each / taken[0]:6.2f}" for each in taken[1:])
    print(f"| {name:<14} | {taken[0] * 1000:10.1f} | {ratios} |" + " |" * (len(taken) < 3))


def speed(wanted: list[str]) -> None:
    """Ratios to Python, case by case."""
    typed, untyped = load(CASES / "functions.vibe"), load(CASES / "json.vibe")
    print(f"| {'case':<14} | {'Python, ms':>10} | {'typed':>6} | {'json':>6} |")
    print("|---|---|---|---|")
    for name in typed.main.exports.names:
        if wanted and name not in wanted:
            continue
        n = COUNTS.get(name, ROUNDS)
        functions = [getattr(twins, name), typed.exported(name)]
        if name in untyped.main.exports.names:
            functions.append(untyped.exported(name))
        assert len({each(n) for each in functions}) == 1, name
        row(name, best(functions, n))


def top_level(wanted: list[str]) -> None:
    """The same of code at the top level; once more where it runs once, with more rounds."""
    for name, (vibe, python) in TOP_LEVEL.items():
        if not wanted or name in wanted:
            row(name, best([in_python(python), in_vibe(vibe)], ROUNDS))
    for name, (vibe, python) in TOP_LEVEL.items():
        if not wanted or name in wanted:
            once = [[seconds(each, MANY) for each in (in_python(python), in_vibe(vibe))] for _ in range(2)]
            row(f"{name}, 3 M", [min(each) for each in zip(*once, strict=True)])


def in_python(body: str) -> Any:
    """A function of how often it goes round, made anew for each number."""

    @cache
    def made(n: int) -> Any:
        space: dict[str, Any] = {}
        exec("def run():\n" + indent(body.format(n=n), "    "), space)
        return space["run"]

    return lambda n: made(n)()


def in_vibe(text: str) -> Any:
    """The same of a program."""
    made = cache(lambda n: loads(text.format(n=n), "top.vibe"))
    return lambda n: made(n).run().value


def program(functions: int) -> str:
    """A program of ordinary code: comments, blank lines, functions, loops, text, objects."""
    part = """
// Work number {k}: sums, texts and records.
function work{k}(n: number, label: text): text {{
  let total = 0
  for i in 1..n {{
    if i % 2 == 0 {{
      total += i * {k}
    }} else {{
      total = total - 1
    }}
  }}
  const record = {{ label: label, total: total, tags: ["a", "b"] }}

  // What comes of it.
  let lines: text[] = []
  lines.push("label: {{record.label}}")
  lines.push("total: {{total}}")
  return lines.join(", ")
}}
print(work{k}(10, "run {k}"))
"""
    return "".join(part.format(k=k) for k in range(functions))


def dense(functions: int) -> str:
    """A program of full lines: types, functions as values, choices, objects over several lines, text with holes."""
    part = """
type Order{k} {{ id: number, customer: text, lines: Line{k}[], note?: text }}
type Line{k} {{ name: text, price: number, count: number }}
function report{k}(orders: Order{k}[], least: number = {k}): {{ title: text, rows: text[] }} {{
  const open = orders.filter(o => o.lines.length > 0 and (o.note ?? "") != "cancelled")
  const rows = open.sortBy(o => -o.id).map(o => "{{o.id}}: {{o.customer}} ${{o.lines.length * 2}}")
  let total = 0
  for {{ lines, customer }} in open {{
    total += lines.map(l => l.price * l.count).sum() + (customer.length > {k} ? 1 : 0)
  }}
  if total < least and rows.length == 0 {{ return {{ title: "nothing of note", rows: [] }} }}
  const size = match rows.length {{ 0 => "none", 1, 2 => "few", else => "many" }}
  return {{
    title: `Orders (${{size}}) of ${{total * 100 / 100}}`,
    rows: [...rows, "total: {{total}}", "least: {{least}}"],
  }}
}}
const pen{k}: Line{k} = {{ name: "pen", price: 1.5, count: 2 }}
print(report{k}([{{ id: {k}, customer: "Ann", lines: [pen{k}] }}]).title.upper().length)
"""
    return "".join(part.format(k=k) for k in range(functions))


def compiling() -> None:
    """Lines a second, from text to all that is wrong with it, and to code; how long a MB takes to be formatted."""
    from antiphon.lang.formatter import format_source
    from antiphon.lang.runtime.modules import ModuleLoader
    from antiphon.lang.syntax.source import Source

    for name, text in (("ordinary", program(500)), ("dense", dense(500))):
        source, lines = Source("large.vibe", text), text.count("\n")
        assert not ModuleLoader().add(source).diagnostics
        best = [9.0, 9.0, 9.0]
        for _ in range(5):
            best[0] = min(best[0], seconds(lambda source: ModuleLoader().add(source), source))
            best[1] = min(best[1], seconds(loads, text, "large.vibe"))
            best[2] = min(best[2], seconds(format_source, source))
        print(
            f"{name}, {lines:,} lines of {len(text) / lines:.0f} characters: check {lines / best[0]:,.0f} lines/s, "
            f"compile {lines / best[1]:,.0f} lines/s, fmt {best[2] / len(text) * 1e6:.2f} s/MB"
        )


def context() -> None:
    """A million assignments before the first question, and none."""
    from antiphon.fakes import Fake

    sizes: list[int] = []
    with Fake(["yes", "yes"]) as fake:
        host = Host(connect=lambda name, **_: fake.connect(name), default_model=lambda: "gpt-5", write=lambda _: None)
        for rounds in (1, 1_000_000):
            source = f'let x = 0\nfor i in {rounds} {{ x = i % 2 }}\nx = 1\nprint(do "ready?")'
            loads(source, "ask.vibe").run(host)
            sizes.append(len(str(fake.requests[-1].body)))
    print(f"prompt after 1 and after 1,000,000 assignments: {sizes[0]:,} and {sizes[1]:,} characters")


def start_up() -> None:
    """CPU of `antiphon run hello.vibe`, beside Python's own start."""
    with tempfile.TemporaryDirectory() as folder:
        hello = Path(folder) / "hello.vibe"
        hello.write_text('print("hello")\n')
        ours = min(cpu([sys.executable, "-m", "antiphon", "run", str(hello)]) for _ in range(7))
        bare = min(cpu([sys.executable, "-c", "print('hello')"]) for _ in range(7))
    print(f"`antiphon run hello.vibe`: {ours:.3f} s CPU; `python -c`: {bare:.3f} s")


def cpu(command: list[str]) -> float:
    """CPU seconds of a child process, user and system."""
    import resource

    # As a user has it: with Python's own cache of compiled modules.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    speed(sys.argv[1:])
    top_level(sys.argv[1:])
    if not sys.argv[1:]:
        compiling()
        context()
        start_up()
