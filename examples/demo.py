"""The first five minutes, without a key: a scripted team in a repository, then the embedded model at work.

Run: `make demo`, or `python examples/demo.py` where antiphon is installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = "local/0.5b"
STEPS = (
    ("A model of half a billion parameters, run in this process", ["models", "pull", "0.5b"]),
    (
        "An answer of a type that you name",
        ["ask", "Ada Lovelace was 36 when she died.", "--returns", "{name: text, age: number}", "--model", LOCAL],
    ),
    ("Typed data out of free text", ["run", "examples/extract.vibe", "--model", LOCAL]),
    ("What the programs of this checkout do, which it needs your leave for: here it is given", ["trust", "--yes"]),
    ("Mails, triaged into records", ["run", "examples/mail_triage.vibe", "--model", LOCAL]),
    ("A tool loop over local files", ["run", "examples/notes.vibe", "--model", LOCAL]),
    ("A changelog from git", ["run", "examples/changelog.vibe", "--model", LOCAL, "--", "3"]),
)
AFTER = """
That was a very small model; what it gets wrong, a larger one gets right. To use one:

    . .venv/bin/activate                 where `make demo` has put antiphon
    antiphon keys set anthropic          or openai, google, mistral, …; or set ANTHROPIC_API_KEY and the like
    antiphon models --why                which model is used, and why
    antiphon chat --tools read           talk to it; it may read the files here
    antiphon run examples/research.vibe  more programs: examples/README.md
"""


def main() -> int:
    """Show each command and what comes of it; the first that fails ends the demonstration."""
    # The team comes first: it needs nothing that has to be fetched.
    team = subprocess.run([sys.executable, ROOT / "examples" / "team" / "demo.py"], cwd=ROOT, check=False)
    if team.returncode:
        return team.returncode
    for title, arguments in STEPS:
        shown = " ".join(part if all(c.isalnum() or c in "./_-" for c in part) else f"'{part}'" for part in arguments)
        print(f"\n# {title}\n$ antiphon {shown}", flush=True)
        done = subprocess.run([sys.executable, "-m", "antiphon", *arguments], cwd=ROOT, check=False)
        if done.returncode:
            return done.returncode
    print(AFTER)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # The command that was running has said so itself.
        sys.exit(130)
