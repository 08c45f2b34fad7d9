"""The language beside hand-written Python: loops, calls, text, arrays, members; compile speed; start-up.

Each case is a Vibe function with types, the same through `json`, and the same function in Python; all run in one
process, alternating, and the best of several rounds counts. Run: `python bench/lang.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from antiphon.lang.run.program import Host, loads

ROUNDS = 100_000

TYPED = """
function arithmetic(n: number): number {
  let total = 0
  let i = 0
  while i < n {
    total = total + i * 2 - 1
    if i % 3 == 0 { total += 1 }
    i += 1
  }
  return total
}
function twice(x: number): number { return x + x }
function calls(n: number): number {
  let total = 0
  for i in n { total = twice(i) + total }
  return total
}
function strings(n: number): number {
  let s = ""
  for i in n { s += "item {i}, " }
  return s.length
}
function arrays(n: number): number {
  let xs: number[] = []
  for i in n { xs.push(i) }
  let total = 0
  for x in xs { total += x }
  return total + xs[5]
}
function fib(n: number): number {
  if n < 2 { return n }
  return fib(n - 1) + fib(n - 2)
}
type Point { x: number, y: number }
function members(n: number): number {
  let p: Point = { x: 0, y: 1 }
  for i in n { p.x = p.x + p.y }
  return p.x
}
export function run(name: text, n: number): number {
  if name == "arithmetic" { return arithmetic(n) }
  if name == "calls" { return calls(n) }
  if name == "strings" { return strings(n) }
  if name == "arrays" { return arrays(n) }
  if name == "fib" { return fib(n) }
  return members(n)
}
"""
UNTYPED = """
function arithmetic(n: json) {
  let total: json = 0
  let i: json = 0
  while i < n {
    total = total + i * 2 - 1
    if i % 3 == 0 { total += 1 }
    i += 1
  }
  return total
}
function twice(x) { return x + x }
function calls(n) {
  let total: json = 0
  for i in n { total = twice(i) + total }
  return total
}
function strings(n) {
  let s: json = ""
  for i in n { s += "item {i}, " }
  return s.length
}
function arrays(n) {
  let xs: json = []
  for i in n { xs.push(i) }
  let total: json = 0
  for x in xs { total += x }
  return total + xs[5]
}
function fib(n) {
  if n < 2 { return n }
  return fib(n - 1) + fib(n - 2)
}
function members(n) {
  let p: json = { x: 0, y: 1 }
  for i in n { p.x = p.x + p.y }
  return p.x
}
export function run(name: text, n: json) {
  if name == "arithmetic" { return arithmetic(n) }
  if name == "calls" { return calls(n) }
  if name == "strings" { return strings(n) }
  if name == "arrays" { return arrays(n) }
  if name == "fib" { return fib(n) }
  return members(n)
}
"""


def arithmetic(n: int) -> int:
    total = 0
    i = 0
    while i < n:
        total = total + i * 2 - 1
        if i % 3 == 0:
            total += 1
        i += 1
    return total


def twice(x: int) -> int:
    return x + x


def calls(n: int) -> int:
    total = 0
    for i in range(n):
        total = twice(i) + total
    return total


def strings(n: int) -> int:
    s = ""
    for i in range(n):
        s += f"item {i}, "
    return len(s)


def arrays(n: int) -> int:
    xs: list[int] = []
    for i in range(n):
        xs.append(i)
    total = 0
    for x in xs:
        total += x
    return total + xs[5]


def fib(n: int) -> int:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def members(n: int) -> int:
    p = {"x": 0, "y": 1}
    for _ in range(n):
        p["x"] = p["x"] + p["y"]
    return p["x"]


CASES = {"arithmetic": ROUNDS, "calls": ROUNDS, "strings": ROUNDS, "arrays": ROUNDS, "fib": 23, "members": ROUNDS}


def seconds(function: Any, *arguments: Any) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    function(*arguments)
    return time.process_time() - began


def speed() -> None:
    """Ratios to Python, case by case."""
    with_types, without = loads(TYPED, "typed.vibe"), loads(UNTYPED, "untyped.vibe")
    print(f"| {'case':<12} | {'Python, ms':>10} | {'typed':>6} | {'json':>6} |")
    print("|---|---|---|---|")
    for name, n in CASES.items():
        python = globals()[name]
        assert python(n) == with_types.exported("run")(name, n) == without.exported("run")(name, n)
        best = [9.0, 9.0, 9.0]
        for _ in range(9):
            best[0] = min(best[0], seconds(python, n))
            best[1] = min(best[1], seconds(with_types.exported("run"), name, n))
            best[2] = min(best[2], seconds(without.exported("run"), name, n))
        print(f"| {name:<12} | {best[0] * 1000:10.1f} | {best[1] / best[0]:6.2f} | {best[2] / best[0]:6.2f} |")


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
type Order{k} = {{ id: number, customer: text, lines: {{ name: text, price: number, count: number }}[], note?: text }}
function report{k}(orders: Order{k}[], least: number = {k}, title: text = "Orders of today"): {{ title: text, rows: text[], total: number }} {{
  const open = orders.filter(o => o.lines.length > 0 and o.customer != "" and (o.note ?? "") != "cancelled")
  const rows = open.sortBy(o => -o.id).map(o => "{{o.id}}: {{o.customer}} pays ${{o.lines.map(l => l.price * l.count).sum().toFixed(2)}}")
  let total = 0
  for {{ lines, customer }} in open {{ total += lines.map(l => l.price * l.count).sum() + (customer.length > {k} ? 1 : 0) }}
  if total < least and rows.length == 0 {{ return {{ title: "nothing of note", rows: [], total: 0 }} }}
  const size = match rows.length {{ 0 => "none", 1, 2 => "few", else => "many" }}
  return {{
    title: `${{title}} (${{size}})`,
    rows: [...rows, "total: {{total}}"],
    total: total * 100 / 100,
  }}
}}
print(report{k}([{{ id: {k}, customer: "Ann", lines: [{{ name: "pen", price: 1.5, count: 2 }}, {{ name: "ink", price: 7, count: 1 }}] }}]).title)
"""
    return "".join(part.format(k=k) for k in range(functions))


def compiling() -> None:
    """Lines a second, from text to all that is wrong with it, and to code; how long a MB takes to be formatted."""
    from antiphon.lang.formatter import format_source
    from antiphon.lang.run.modules import Modules
    from antiphon.lang.syntax.source import Source

    for name, text in (("ordinary", program(500)), ("dense", dense(500))):
        source, lines = Source("large.vibe", text), text.count("\n")
        assert not Modules().add(source).diagnostics
        best = [9.0, 9.0, 9.0]
        for _ in range(5):
            best[0] = min(best[0], seconds(lambda source: Modules().add(source), source))
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
    speed()
    compiling()
    context()
    start_up()
