"""What prefix.py measures: sessions of many asks, and programs with the answers that are scripted for them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypedDict

import httpx2

from antiphon.cli.scripted_models import ScriptedTestModels
from antiphon.effects import HumanAnswer
from antiphon.errors import AntiphonError
from antiphon.fakes import Call, Fake, Received, Step
from antiphon.lang.runtime import Host, loads
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.providers import NO_RETRY, connect
from antiphon.session import Context, Session
from antiphon.tools import Policy, Rule, tool
from prefix import Watch

ROOT = Path(__file__).resolve().parent.parent
MODELS = {
    "anthropic": "anthropic/claude-sonnet-5-5",
    "openai": "openai/gpt-6.1-sol",
    "openai-chat": "openai-chat/gpt-5.2",
    "google": "google/gemini-3.8-flash",
    "google-interactions": "google-interactions/gemini-3.8-flash",
}
Make = Callable[..., Session]


class Person(TypedDict):
    """Somebody."""

    name: str
    age: int


class Verdict(TypedDict):
    """What is thought of something."""

    verdict: Literal["good", "bad"]
    reasons: list[str]


@tool(output_limit=200)
def look(place: str) -> str:
    """Look at a place, and tell what is there."""
    return f"At {place} there is: " + "something worth seeing, " * 40


@tool
def count(things: str) -> int:
    """Count things."""
    return len(things)


class Script:
    """What the model says next."""

    def __init__(self) -> None:
        self.steps: deque[Step] = deque()
        self.fake = Fake(self._next)

    def _next(self, _: Received) -> Step:
        return self.steps.popleft() if self.steps else "Nothing more."

    def connect(self, name: str, **given: Any) -> Any:
        """Return a model that says it."""
        transport = httpx2.ASGITransport(app=self.fake.app)
        url = "http://fake" + ("/v1" if name.startswith("openai") else "")
        return connect(name, **{**given, "url": url, "key": "fake", "retry": NO_RETRY, "transport": transport})


def _tools_only(make: Make, say: deque[Step], asks: int) -> None:
    session = make(tools=[count])
    for number in range(asks):
        say.extend([Call("count", {"things": f"sheep {number}"}), f"There are {number}."])
        session.vibe(f"How many sheep are in field {number}?")


def _typed_only(make: Make, say: deque[Step], asks: int) -> None:
    session = make()
    for number in range(asks):
        say.append(json.dumps({"name": f"Ann {number}", "age": number}))
        session.do(f"Who is number {number}?", returns=Person)


def _mixed(make: Make, say: deque[Step], asks: int) -> None:
    """Ask for text, with a result that is cut and read on, and for a value, in turn."""
    session = make(tools=[look, count])
    for number in range(asks):
        if number % 3 == 0:
            say.extend([Call("look", {"place": f"hill {number}"}), _read_on, "It is nice there."])
            session.vibe(f"What is at hill {number}?")
        elif number % 3 == 1:
            say.append(json.dumps({"verdict": "good", "reasons": [f"reason {number}"]}))
            session.do(f"What do you think of hill {number}?", returns=Verdict)
        else:
            say.append(f"Hill {number} was seen.")
            session.do(f"Sum up hill {number}.")


def _read_on(received: Received) -> Step:
    found = re.findall(r"handle '(result:[^']+)'", json.dumps(received.body))
    return Call("read_result", {"handle": found[-1], "start": 200})


def _forms(make: Make, say: deque[Step], asks: int) -> None:
    session = make()
    for number in range(asks):
        kind = number % 3
        value: Any = [{"name": "Ann", "age": number}, {"verdict": "bad", "reasons": []}, {"value": number}][kind]
        say.append(json.dumps(value))
        session.do(f"Question {number}.", returns=[Person, Verdict, int][kind])


def _interruption(make: Make, say: deque[Step], asks: int) -> None:
    @tool
    def wait(minutes: int) -> str:
        """Wait."""
        session.conversation.add_user(f"Make it quick: {minutes} is too long.")
        return "Waited."

    session = make(tools=[wait])
    for number in range(asks):
        say.extend([Call("wait", {"minutes": number}), "Done."])
        session.vibe(f"Wait a little, {number}.")


def _approval(make: Make, say: deque[Step], asks: int) -> None:
    policy = Policy([Rule("ask", "count")])
    session = make(tools=[count], policy=policy, people=lambda _: HumanAnswer("", allowed=True))
    for number in range(asks):
        say.extend([Call("count", {"things": f"sheep {number}"}), "Counted."])
        session.vibe(f"Count, if you may, {number}.")


def _added_tool(make: Make, say: deque[Step], asks: int) -> None:
    session = make(tools=[count])
    for number in range(asks):
        if number == asks // 2:
            session.tools = [count, look]
        say.extend([Call("count", {"things": f"sheep {number}"}), "Counted."])
        session.vibe(f"Count, {number}.")


def _variables(make: Make, say: deque[Step], asks: int) -> None:
    """A program whose variables change from ask to ask."""
    text = f"""
let city = "Oslo"
let total = 0
const notes = ["a", "b"]
for n in 1..{asks} {{
  total += n
  if n == 3 {{ let inner = "seen"; do "inside {{n}}" }}
  do "round {{n}} in {{city}}"
}}
"""
    say.extend(f"Round {number}." for number in range(asks + 1))
    given: Any = make
    loads(text).run(Host(write=lambda _: None, connect=given.connect, default_model=lambda: given.name))


SCENARIOS: dict[str, Callable[[Make, deque[Step], int], None]] = {
    "tools only": _tools_only,
    "typed only": _typed_only,
    "mixed, cut results": _mixed,
    "switches of form": _forms,
    "variables": _variables,
    "interruption": _interruption,
    "approval": _approval,
    "added tool": _added_tool,
}


class _Making:
    """Makes the sessions of a scenario."""

    def __init__(self, name: str, connect: Callable[..., Any]) -> None:
        self.name = name
        self.connect = connect

    def __call__(self, **settings: Any) -> Session:
        # Compaction is no part of what is measured.
        return Session(self.connect(self.name), system="Be brief.", context=_NO_COMPACTION, **settings)


_NO_COMPACTION: Context | None = None


def run(scenario: str, api: str, asks: int) -> Watch:
    """Run a scenario with a model of an API, and return its requests."""
    watch, script = Watch(), Script()
    making = _Making(MODELS[api], watch.connecting(script.connect))
    SCENARIOS[scenario](making, script.steps, asks)
    return watch


# Programs

Programs = list[tuple[str, Callable[[], Watch]]]


def examples() -> Programs:
    """Return the example programs, which their recordings answer."""
    spec = importlib.util.spec_from_file_location("prefix_make", ROOT / "examples" / "recordings" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    return [(case.name, lambda case=case: _replayed(make, case)) for case in make.CASES]


def _replayed(make: Any, case: Any) -> Watch:
    from antiphon.providers.recording import ReplayTransport

    watch, replayer = Watch(), ReplayTransport(str(case.file("jsonl")))

    def connected(name: str, **given: Any) -> Any:
        return connect(name, **{**given, "key": "replay", "transport": replayer})

    with tempfile.TemporaryDirectory() as place:
        make.run(case, Path(place), connect=watch.connecting(connected), max_parallel=1)
    return watch


_PROGRAM = re.compile(
    r"^<!-- answers: ((?:(?!-->).)*) -->\n(?:<!-- [^\n]* -->\n)*```vibe\n(.*?)^```\n", re.MULTILINE | re.DOTALL
)


def docs() -> Programs:
    """Return the programs of the documentation that have answers."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    found = [(page.name, match) for page in pages for match in _PROGRAM.finditer(page.read_text(encoding="utf-8"))]
    return [(f"{name} {match.start()}", lambda match=match: _scripted(match[2], match[1])) for name, match in found]


def _scripted(text: str, answers: str) -> Watch:
    watch, scripted = Watch(), ScriptedTestModels()
    scripted.play(json.loads(answers))
    host = Host(
        write=lambda _: None,
        people=scripted.answer,
        connect=watch.connecting(scripted.connect),
        default_model=scripted.default_model,
        max_parallel=1,
    )
    # Some of them are there to fail, others need files: what they asked counts all the same.
    with contextlib.suppress(VibeError, ProgramErrors, AntiphonError):
        loads(text).run(host)
    return watch
