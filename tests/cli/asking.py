"""`antiphon ask` in this process; the fixture `fake` is there in place of OpenAI."""

from __future__ import annotations

from antiphon.fakes import Fake
from tests.lang_unit.commands import Ran, antiphon


def ask(*arguments: str, input: str | bytes = "") -> Ran:
    return antiphon("ask", *arguments, input=input)


def said(fake: Fake, request: int = -1) -> str:
    """What the user said in a request."""
    turn = fake.requests[request].body["input"][-1]["content"]
    return turn if isinstance(turn, str) else "".join(part.get("text", "") for part in turn)
