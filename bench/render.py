"""What it takes to show far too much: a table of 100,000 rows, a log of 20 MB, a diff of 50,000 lines.

Only what is shown is rendered, so the time does not follow the size of the data. Memory is the peak of what rendering
allocates; the data itself is there before. Needs nothing but antiphon and rich.
"""

from __future__ import annotations

import argparse
import io
import random
import time
import tracemalloc
from collections.abc import Callable

from antiphon.results import Result, structured, table, terminal, text
from antiphon.terminal import make_console, make_renderable, print_result


def large_table(scale: float) -> Result:
    names = ("Ada", "Grace", "高橋", "Zoë")
    return table(
        {"id": n, "name": names[n % 4], "score": n * 1.5, "note": "words " * 8} for n in range(int(1e5 * scale))
    )


def large_log(scale: float) -> Result:
    line = "2025-11-15T12:00:00Z \x1b[32mINFO\x1b[0m request served in 12 ms by worker 7 with status 200\n"
    return terminal("tail -c 20M log", line * int(20e6 * scale / len(line)), exit_code=0)


def large_diff(scale: float) -> Result:
    dice = random.Random(1)
    old = [f"    value_{n} = compute({n})" for n in range(int(50_000 * scale))]
    new = [line if dice.random() > 0.1 else line + "  # changed" for line in old if dice.random() > 0.02]
    # The summary is given: to count the changed lines is the work of whoever makes the result.
    return Result("diff", {"path": "big.py", "original": "\n".join(old), "modified": "\n".join(new)}, "many changes")


def large_tree(scale: float) -> Result:
    return structured({f"key_{n}": {"list": list(range(10)), "text": "x" * 50} for n in range(int(20_000 * scale))})


def large_markdown(scale: float) -> Result:
    return text(
        "## Title\n\nSome *words* and a [link](https://example.com).\n\n- item\n\n" * int(20_000 * scale), markdown=True
    )


CASES: dict[str, Callable[[float], Result]] = {
    "table, 100,000 rows": large_table,
    "log, 20 MB": large_log,
    "diff, 50,000 lines": large_diff,
    "tree, 20,000 branches": large_tree,
    "Markdown, 120,000 lines": large_markdown,
}
#: One line; opened with the default height; everything, which is 10,000 lines at most.
MODES = {"closed": {}, "open": {"state": "failed"}, "full": {"full": True}}


def measured(result: Result, **options: object) -> tuple[float, float, int]:
    """Seconds, megabytes at the peak, and lines written."""

    def show() -> str:
        file = io.StringIO()
        make_console(file, 100, True).print(make_renderable(result, **options))  # pyright: ignore[reportArgumentType]
        return file.getvalue()

    began = time.perf_counter()
    shown = show()
    seconds = time.perf_counter() - began
    tracemalloc.start()
    show()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak / 1e6, shown.count("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="size of the data, against the sizes named")
    scale = parser.parse_args().scale
    rows: list[dict[str, object]] = []
    measured(text("# warm up", markdown=True), full=True)
    for name, make in CASES.items():
        result = make(scale)
        for mode, options in MODES.items():
            seconds, megabytes, lines = measured(result, **options)
            rows.append(
                {"case": name, "mode": mode, "ms": round(seconds * 1000, 1), "MB": round(megabytes, 1), "lines": lines}
            )
    print_result(table(rows, summary=f"rendering, scale {scale:g}"), full=True)


if __name__ == "__main__":
    main()
