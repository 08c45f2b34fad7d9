"""The programs that `kills.py` kills: what each does, and what has to be there when it is over."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon import Session, Store, connect, tool
from antiphon.chat.reply import Reply
from antiphon.chat.service import ChatOptions, ChatService
from antiphon.conversation import UserTurn
from antiphon.durable import Journal
from antiphon.effects import IndeterminateEffect
from antiphon.errors import RunInUse
from antiphon.fakes import Answer, Call, Received
from antiphon.wire import TextDelta

ROWS = 24
SUMS, CHATS = 6, 3
#: The id of the chat that has one.
CHAT = "kept"
MODEL = "openai/gpt-5"


@dataclass(frozen=True)
class Case:
    """A program: the command that begins it, or a function, its files, and what it leaves.

    `trace` are the steps that nobody may do twice, `lines` what it prints, each once. `value` is its end, and
    `transcript` what its chat holds then.
    """

    name: str
    trace: Sequence[str]
    value: Any
    command: Sequence[str] = ()
    work: Callable[[], Any] | None = None
    files: Sequence[tuple[str, str]] = ()
    lines: Sequence[str] = ()
    transcript: Sequence[str] = ()


WORLD = '''
import os
from antiphon import tool

def leave(what):
    handle = os.open("trace", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(handle, f"{what}\\n".encode())
    os.close(handle)
    return what

@tool
def pay(what: str) -> str:
    """Pay."""
    return leave(what)
'''
_MARK = """\
import { leave } from "./world.py"
function mark(name: text): text {
  return py(name) {
    from world import leave
    return leave(name)
  }
}
"""
PROGRAM = (
    'import { pay } from "./world.py"\n'
    + _MARK
    + """\
for i in 20 { print("before {i}") }
print(mark("first"))
print(do "say one")
async let aside = mark("aside")
const got = async for n in 1..4 {
  print("in {n}")
  yield mark("round {n}")
}
print(pay("paid"))
try { throw "up" } catch e { print(mark("caught")) }
model m = { name: "default", tools: [pay] }
print(vibe "use tool" m)
print(aside, mark("last"))
got
"""
)
WAITING = (
    _MARK
    + """\
print(mark("first"))
const got = async for n in 1..3 {
  sleep(0.01 * n)
  const who = ask "Who is {n}?"
  const done = mark("round {n}")
  yield "{who} {done}"
}
print(got.join(", "))
print(ask "Sure?")
print(mark("last"))
got
"""
)
ROW = _MARK.replace("function", "input n: number\nfunction") + 'print("row {n}")\nmark("row {n}")\n'


def answer(received: Received) -> Any:
    """Answer as a model whose words depend on the request alone."""
    body = json.dumps(received.body)
    results = body.count("function_call_output")
    if "use tool" in body and not results:
        return Answer(calls=[Call("pay", {"what": "asked"}, "call_1")])
    if "use shell" in body and results < 3:
        return Answer(calls=[Call("run_shell", {"command": f"echo shell{results} >> trace"}, f"call_{results}")])
    chats = body.count("use chat")
    if chats and results < chats:
        return Answer(calls=[Call("_put", {"what": f"chat {results}"}, f"call_{results}")])
    if chats:
        return f"Chat {chats - 1} is done."
    return "All is done." if results else "Said."


def run_nightly() -> None:
    """Do steps and ask sessions, as plain code with a journal does."""
    journal, model = Journal(), connect(MODEL)
    with suppress(RunInUse), journal.run("nightly"):
        for number in range(SUMS):
            _add_once(journal, number)
        for number in range(2):
            Session(model, [_put]).vibe(f"use nothing {number}")


def run_messages() -> None:
    """Send messages in a session with a store, all of them in each process."""
    with suppress(RunInUse), Session(connect(MODEL), [_put], store=Store(), id=CHAT) as session:
        for number in range(CHATS):
            _show(str(session.vibe(f"use chat {number}")))


def run_chat() -> None:
    """Open a chat, continue what was interrupted in it, and send what was not sent."""
    options = ChatOptions(model=connect(MODEL), id=CHAT, tools=[_put], is_held=True)
    with suppress(RunInUse), ChatService().open(options) as chat:
        if chat.unfinished_run:
            _follow(chat.continue_answer())
        elif chat.is_unanswered:
            _follow(chat.ask_again())
        while (count := sum(isinstance(turn, UserTurn) for turn in chat.conversation.turns)) < CHATS:
            _follow(chat.send(f"use chat {count}"))


def _follow(reply: Reply) -> None:
    for event in reply.events():
        if isinstance(event.body, TextDelta):
            _show(event.body.text)
    reply.result()


def _show(text: str) -> None:
    """Print at once, so that whatever is in the file has been seen."""
    os.write(1, f"{text}\n".encode())


def _add_once(journal: Journal, number: int) -> str:
    """Do a step; where it is not known whether it took effect, look first."""
    step: Callable[[str], str] = _leave
    while True:
        try:
            return journal.step(step, f"sum {number}")
        except IndeterminateEffect:
            step = _leave_if_missing


def _leave_if_missing(what: str) -> str:
    trace = Path("trace")
    return what if trace.exists() and what in trace.read_text().splitlines() else _leave(what)


def _leave(what: str) -> str:
    handle = os.open("trace", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(handle, f"{what}\n".encode())
    os.close(handle)
    return what


@tool
def _put(what: str) -> str:
    """Put."""
    return _leave(what)


_TRANSCRIPT = [line for n in range(CHATS) for line in (f"use chat {n}", f"Chat {n} is done.")]
_ROUNDS = [f"round {n}" for n in range(1, 5)]
CASES = (
    Case(
        "program with effects",
        ["first", "aside", *_ROUNDS, "paid", "caught", "asked", "last"],
        _ROUNDS,
        ("run", "p.vibe"),
        files=(("p.vibe", PROGRAM), ("world.py", WORLD)),
        lines=[f"before {n}" for n in range(20)]
        + ["first", "Said.", "All is done.", *(f"in {n}" for n in range(1, 5)), "paid", "caught", "aside last"],
    ),
    Case(
        "map over rows",
        [f"row {n}" for n in range(1, ROWS + 1)],
        None,
        ("map", "p.vibe", "rows.csv"),
        files=(
            ("p.vibe", ROW),
            ("world.py", WORLD),
            ("rows.csv", "n\n" + "".join(f"{n}\n" for n in range(1, ROWS + 1))),
        ),
    ),
    Case(
        "ask with tools",
        ["shell0", "shell1", "shell2"],
        None,
        ("ask", "--tools", "all", "--yes", "use shell"),
    ),
    Case("session in Python", [f"sum {n}" for n in range(SUMS)], None, work=run_nightly),
    Case("messages in Python", [f"chat {n}" for n in range(CHATS)], None, work=run_messages, transcript=_TRANSCRIPT),
    Case("chat", [f"chat {n}" for n in range(CHATS)], None, work=run_chat, transcript=_TRANSCRIPT),
    Case(
        "waiting and answered",
        ["first", *_ROUNDS[:3], "last"],
        [f"a{n} round {n}" for n in range(1, 4)],
        ("run", "p.vibe"),
        files=(("p.vibe", WAITING), ("world.py", WORLD)),
        lines=["first", "a1 round 1, a2 round 2, a3 round 3", "ae", "last"],
    ),
)
