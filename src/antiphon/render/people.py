"""Answers from whoever sits at the terminal: for `Session(approve=approve_in_terminal, ask=answer_in_terminal)`."""

from __future__ import annotations

import shutil
import sys

from antiphon.render.safe import safe, safe_line
from antiphon.tools import ApprovalRequest, Decision


def approve_in_terminal(request: ApprovalRequest) -> Decision:
    """Show the call and ask: yes, no, or always for this very call. No answer is a no."""
    print(f"\n{safe_line(request.call.name)} wants to run with", file=sys.stderr)
    print(_fenced(safe_line(request.call.arguments_json, 4000)), file=sys.stderr)
    said = _line("Allow it? [y]es, [n]o, [a]lways: ").lower()
    if said in ("a", "always"):
        return Decision(True, remember=True)
    if said in ("y", "yes"):
        return Decision(True)
    return Decision(False, "" if said in ("", "n", "no") else f"the user said: {said}")


def _fenced(text: str) -> str:
    """Text in lines that fit, each behind a bar: what the terminal would fold could pass for a line of ours."""
    width = max(8, shutil.get_terminal_size().columns - 6)
    # Half the width where a character may take two columns.
    width = width if text.isascii() else width // 2
    return "\n".join(f"  | {text[start : start + width]}" for start in range(0, max(1, len(text)), width))


def answer_in_terminal(question: str) -> str:
    """Put a tool's question to the user."""
    print(f"\n{safe(question[:4000])}", file=sys.stderr)
    return _line("> ")


def _line(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
