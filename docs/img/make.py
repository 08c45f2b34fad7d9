"""Makes the pictures of the guides: `python docs/img/make.py`."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from antiphon import results
from antiphon.render import print_result
from antiphon.results import Result

HERE = Path(__file__).parent
EXAMPLES = [
    results.table(
        [{"city": "Oslo", "rain": 4.5, "wet": True}, {"city": "東京", "rain": 0.0, "wet": False}],
        [{"key": "city", "label": "City"}, {"key": "rain", "label": "Rain, mm", "type": "number"}, {"key": "wet"}],
        summary="two cities",
    ),
    results.diff("greet.py", 'def greet():\n    print("hi")\n', 'def greet(name):\n    print(f"hi {name}")\n'),
    Result(
        "git.status",
        {
            "branch": "main",
            "ahead": 1,
            "behind": 0,
            "staged": ["a.py"],
            "modified": ["b.py"],
            "untracked": ["notes.md"],
        },
        summary="1 staged, 1 modified",
    ),
    results.terminal("pytest -q", "....F\n1 failed, 4 passed\n", exit_code=1),
    results.error("no such file: config.toml", details={"looked in": ["/etc", "~"]}),
    results.structured({"name": "Ada", "tags": ["first", "program"], "born": 1815}, summary="a person"),
]


def main() -> None:
    """Write `results.svg`."""
    console = Console(
        file=io.StringIO(), width=84, record=True, force_terminal=True, color_system="truecolor", emoji=False
    )
    for result in EXAMPLES:
        print_result(result, console, full=True)
    svg = console.export_svg(title="antiphon", unique_id="antiphon")
    # Whatever monospaced font the reader has will do: nothing is fetched.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    (HERE / "results.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
