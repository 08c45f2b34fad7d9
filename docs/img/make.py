"""Makes the pictures of the guides: `python -m docs.img.make`, from the root."""

from __future__ import annotations

import io
import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import pyte
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from antiphon import results
from antiphon.lang import VibeLexer
from antiphon.results import Result
from antiphon.terminal import print_result
from antiphon.terminal.theme import make_code_theme
from tests.shell import Shell

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
    """`run.svg`: a program, and what a terminal shows of its run on the embedded model, from the recording."""
    root = HERE.parent.parent
    program = (root / "examples" / "mail_triage.vibe").read_text(encoding="utf-8")
    console = _console(100)
    console.print(_typed("cat examples/mail_triage.vibe"))
    console.print(Syntax(program.partition("\n\n")[2].rstrip(), VibeLexer(), theme=make_code_theme()))
    console.print()
    console.print(_typed("antiphon run examples/mail_triage.vibe"))
    recording = ("--model", "local/0.5b", "--replay", "examples/recordings/mail_triage.jsonl")
    with Shell() as shell, tempfile.TemporaryDirectory() as home:
        variables = {"PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        shell.type("antiphon setup trust --yes", root, variables)
        line = shlex.join(["antiphon", "run", "--max-parallel", "1", "examples/mail_triage.vibe", *recording])
        shell.type(line, root, variables)
        console.print(_seen(shell.obeyed))
    _write(console, "run.svg")


def _typed(command: str) -> Text:
    return Text.assemble(("$ ", "dim"), (command, "bold"))


def _seen(data: str) -> Text:
    """What is on a screen in the end, in its colours; how long a replay took is nobody's business."""
    screen = pyte.Screen(200, 200)
    pyte.Stream(screen).feed(data)
    lines = (
        Text.assemble(*((cell.data, _style(cell)) for _, cell in sorted(screen.buffer[y].items())))
        for y in range(screen.cursor.y)
    )
    shown = Text("\n").join(lines)
    return Text("\n").join(line[: len(re.sub(r" +\d+m?s *$", "", line.plain))] for line in shown.split("\n"))


def _style(cell: Any) -> str:
    colour = cell.fg if cell.fg in ("red", "green", "blue", "magenta", "cyan") else ""
    return f"{'bold ' * cell.bold}{colour}".strip()


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
