"""Makes the pictures of the guides: `python docs/img/make.py`."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from antiphon import results
from antiphon.lang import VibeLexer
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


def results_picture() -> None:
    """`results.svg`: a result of every common kind."""
    console = _console(84)
    for result in EXAMPLES:
        print_result(result, console, full=True)
    _write(console, "results.svg")


def run_picture() -> None:
    """`run.svg`: a program, and what it prints on the embedded model as the page of examples has it."""
    examples = HERE.parent.parent / "examples"
    program = (examples / "mail_triage.vibe").read_text(encoding="utf-8")
    page = (examples / "README.md").read_text(encoding="utf-8")
    found = re.search(r"run examples/mail_triage\.vibe\n```\n.*?```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    console = _console(92)
    console.print(Text("$ cat examples/mail_triage.vibe", "bold green"))
    console.print(Syntax(program.partition("\n\n")[2].rstrip(), VibeLexer(), background_color="default"))
    console.print(Text("\n$ antiphon run examples/mail_triage.vibe", "bold green"))
    console.print(Text(found[1].rstrip()))
    _write(console, "run.svg")


def _console(width: int) -> Console:
    return Console(
        file=io.StringIO(), width=width, record=True, force_terminal=True, color_system="truecolor", emoji=False
    )


def _write(console: Console, name: str) -> None:
    svg = console.export_svg(title="antiphon", unique_id="antiphon")
    # Whatever monospaced font the reader has will do: nothing is fetched.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    (HERE / name).write_text(svg, encoding="utf-8")


def main() -> None:
    """Write all pictures."""
    results_picture()
    run_picture()


if __name__ == "__main__":
    main()
