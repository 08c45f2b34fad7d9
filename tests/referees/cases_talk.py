"""Talk, tools, changes within a conversation, options, and models that are switched."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from antiphon import Conversation, Image, Session
from antiphon.errors import OptionError
from antiphon.session import NeedsHuman
from antiphon.tools import tool
from tests.referees.cases import ALL, CLAUDE, FEW, GEMINI, OPENAI, is_equal, scenario
from tests.referees.cases_typed import FIELDS, weather
from tests.referees.script import Answer, Call, call, fail, give, say
from tests.referees.stage import Stage

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
OSLO = call(Call("weather", {"city": "Oslo"}))


def read_log(name: str) -> str:
    """Read a log file."""
    return "\n".join(f"{name} line {number}: nothing happened" for number in range(20_000))


def clock() -> str:
    """The time now."""
    return "12:00"


@tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def fail_always(city: str) -> str:
    """Fail for a city."""
    raise ValueError(f"no such city: {city}")


@scenario(ALL)
def chat_three_turns(stage: Stage) -> None:
    stage.play(say("One."), say("Two."), say("Three."))
    session = stage.session(system="Count.")
    is_equal([session.chat("Go on.").value for _ in range(3)], ["One.", "Two.", "Three."])


@scenario(ALL)
def tool_loop(stage: Stage) -> None:
    stage.play(OSLO, call(Call("weather", {"city": "Rome"})), say("Rain and sun."), say("Bye."))
    session = stage.session([weather], "Be brief.")
    is_equal(session.vibe("Oslo and Rome?").value, "Rain and sun.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(FEW)
def parallel_calls(stage: Stage) -> None:
    stage.play(call(Call("weather", {"city": "Oslo"}), Call("clock", {}), text="Let me look."), say("Rain at noon."))
    is_equal(stage.session([weather, clock]).vibe("Oslo, and the time?").value, "Rain at noon.")


@scenario(FEW)
def failing_tool(stage: Stage) -> None:
    stage.play(call(Call("fail_always", {"city": "Oslo"})), call(Call("unknown", {})), say("I give up."))
    is_equal(stage.session([fail_always]).vibe("Try.").value, "I give up.")


@scenario(FEW)
def one_call_then_answer(stage: Stage) -> None:
    stage.play(OSLO, say("Rain."), say("Bye."))
    session = stage.session([weather])
    is_equal(session.do("Oslo?").value, "Rain.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(ALL)
def large_result(stage: Stage) -> None:
    stage.play(call(Call("read_log", {"name": "a"})), say("Nothing."), OSLO, say("Rain."))
    session = stage.session([read_log, weather])
    is_equal(session.vibe("Read the log.").value, "Nothing.")
    is_equal(session.vibe("And the weather?").value, "Rain.")


@scenario(FEW)
def typed_after_large_result(stage: Stage) -> None:
    stage.play(call(Call("read_log", {"name": "a"})), say("Nothing."), give(FIELDS), say("Bye."))
    session = stage.session([read_log])
    session.vibe("Read the log.")
    is_equal(session.do("Who wrote it?", returns={"name": str, "age": int}).value, FIELDS)
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(ALL)
def added_tool(stage: Stage) -> None:
    stage.play(OSLO, say("Rain."), call(Call("clock", {})), say("Noon."))
    session = stage.session([weather])
    session.vibe("Weather?")
    session.tools = [weather, clock]
    is_equal(session.vibe("Time?").value, "Noon.")


@scenario(FEW)
def removed_tool(stage: Stage) -> None:
    stage.play(OSLO, say("Rain."), say("I cannot."))
    session = stage.session([weather, clock])
    session.vibe("Weather?")
    session.tools = [clock]
    is_equal(session.vibe("Weather again?").value, "I cannot.")


@scenario(ALL)
def changed_system(stage: Stage) -> None:
    stage.play(say("Hello."), say("Ahoy."), say("Arr."))
    session = stage.session(system="Be brief.")
    session.chat("Hi.")
    session.conversation.system = "Talk like a pirate."
    is_equal(session.chat("Hi.").value, "Ahoy.")
    is_equal(session.chat("Hi.").value, "Arr.")


@contextmanager
def refused_early(stage: Stage) -> Iterator[None]:
    """Accept an OptionError that comes before anything is sent: what the model cannot do may be said at once."""
    try:
        yield
    except OptionError:
        for server in stage.servers.values():
            if server.exchanges:
                raise
            server.script.clear()


def _ask_with_effort(stage: Stage, effort: str) -> None:
    stage.play(OSLO, say("Rain."), give(FIELDS))
    with refused_early(stage):
        session = stage.session([weather], reasoning=effort)
        is_equal(session.vibe("Weather?").value, "Rain.")
        is_equal(session.do("Who?", returns={"name": str, "age": int}).value, FIELDS)


@scenario(ALL)
def reasoning_none(stage: Stage) -> None:
    _ask_with_effort(stage, "none")


@scenario(ALL)
def reasoning_low(stage: Stage) -> None:
    _ask_with_effort(stage, "low")


@scenario(ALL)
def reasoning_high(stage: Stage) -> None:
    _ask_with_effort(stage, "high")


@scenario(ALL)
def reasoning_max(stage: Stage) -> None:
    _ask_with_effort(stage, "max")


@scenario(FEW)
def reasoning_changed(stage: Stage) -> None:
    stage.play(say("One."), say("Two."), say("Three."))
    with refused_early(stage):
        session = stage.session(reasoning="low")
        session.chat("Go on.")
        later = Session(session.model, conversation=session.conversation, reasoning="high")
        is_equal([later.chat("Go on.").value for _ in range(2)], ["Two.", "Three."])


def _switch(stage: Stage, other: str) -> None:
    stage.play(OSLO, say("Rain."), say("Back again."))
    stage.play(say("Over here."), model=other)
    if other.split("/")[0] == stage.api:
        server = stage.servers[stage.api]
        server.script[:] = [OSLO, say("Rain."), say("Over here."), say("Back again.")]
    session = stage.session([weather])
    session.vibe("Weather?")
    first = session.model
    session.model = stage.connect(other)
    is_equal(session.chat("Are you another?").value, "Over here.")
    session.model = first
    is_equal(session.chat("And you?").value, "Back again.")


@scenario(FEW)
def switched_to_claude(stage: Stage) -> None:
    _switch(stage, "anthropic/claude-opus-5-5")


@scenario(FEW)
def switched_to_openai(stage: Stage) -> None:
    _switch(stage, "openai/gpt-6-sol")


@scenario(FEW)
def switched_to_gemini(stage: Stage) -> None:
    _switch(stage, "google/gemini-4-hydrogen")


@scenario(FEW)
def saved_and_loaded(stage: Stage) -> None:
    stage.play(OSLO, say("Rain."), give(FIELDS), say("Bye."))
    session = stage.session([weather], "Be brief.")
    session.vibe("Weather?")
    session.do("Who?", returns={"name": str, "age": int})
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "talk.json"
        session.conversation.save(path)
        loaded = Conversation.load(path)
    is_equal(Session(session.model, [weather], conversation=loaded).chat("Bye.").value, "Bye.")


@scenario(FEW, breaks=1)
def forked(stage: Stage) -> None:
    stage.play(say("One."), say("Two."), say("Left."), say("Right."))
    session = stage.session(system="Count.")
    session.chat("Go on.")
    session.chat("Go on.")
    other = Session(session.model, conversation=session.conversation.fork())
    is_equal(session.chat("Turn left.").value, "Left.")
    is_equal(other.chat("Turn right.").value, "Right.")


@scenario(FEW, breaks=1)
def undone(stage: Stage) -> None:
    stage.play(OSLO, say("Rain."), say("No."), say("Yes."))
    session = stage.session([weather])
    session.vibe("Weather?")
    session.chat("Is that all?")
    session.conversation.undo(2)
    is_equal(session.chat("Is it cold?").value, "Yes.")


@scenario(FEW, breaks=1)
def compacted(stage: Stage) -> None:
    stage.play(*(say(f"Answer {number}. " + "word " * 300) for number in range(6)), say("Short."), say("Bye."))
    session = stage.session(system="Be brief.")
    for _ in range(6):
        session.chat("Tell me more.")
    session.conversation = session.conversation.compact(900, summary="They talked.")
    is_equal(session.chat("Go on.").value, "Short.")
    is_equal(session.chat("Bye.").value, "Bye.")


OVERFLOW = {
    "anthropic": "prompt is too long: 2500 tokens > 2400 maximum",
    "google": "The input token count (2500) exceeds the maximum number of tokens allowed (2400).",
}


@scenario(CLAUDE, GEMINI, breaks=1)
def overflowed(stage: Stage) -> None:
    said = OVERFLOW[stage.api]
    long = [say(f"Answer {number}. " + "word " * 300) for number in range(6)]
    stage.play(*long, fail(400, said), say("A summary."), say("Short."))
    session = stage.session()
    for _ in range(6):
        session.chat("Tell me more.")
    is_equal(session.chat("Go on.").value, "Short.")


@scenario(ALL)
def streamed(stage: Stage) -> None:
    stage.play(OSLO, say("Rain and wind."), say("Bye."))
    session = stage.session([weather])
    for prompt, wanted in (("Weather?", "Rain and wind."), ("Bye.", "Bye.")):
        with session.stream(prompt) as events:
            for _ in events:
                pass
        is_equal(events.result.value, wanted)


@scenario(FEW)
def model_without_session(stage: Stage) -> None:
    stage.play(say("Hello."), say("Bye."))
    conversation = Conversation("Be brief.")
    model = stage.connect()
    conversation.add_user("Hi.")
    is_equal(model.chat(conversation).text, "Hello.")
    conversation.add_user("Bye.")
    with model.stream(conversation) as stream:
        for _ in stream:
            pass
    is_equal(stream.reply.text, "Bye.")


@scenario(FEW)
def approved(stage: Stage) -> None:
    stage.play(call(Call("delete", {"path": "old.log"})), say("It is gone."))
    session = stage.session([delete])
    try:
        session.vibe("Clean up.")
    except NeedsHuman:
        for question in session.pending_questions:
            session.allow(question.id)
    is_equal(session.resume().value, "It is gone.")


@scenario(FEW)
def interrupted_by_person(stage: Stage) -> None:
    def look(city: str) -> str:
        """Look at a city."""
        session.conversation.add_user("And hurry.")
        return f"rain in {city}"

    stage.play(call(Call("look", {"city": "Oslo"})), say("Rain."), say("Bye."))
    session = stage.session([look])
    is_equal(session.vibe("Look.").value, "Rain.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(FEW)
def busy_then_answered(stage: Stage) -> None:
    stage.play(fail(429, "Rate limited", retry_after="0"), fail(503, "Unavailable"), say("Here."))
    is_equal(stage.session().chat("Hi.").value, "Here.")


@scenario(ALL)
def mixed_session(stage: Stage) -> None:
    stage.play(*[OSLO, say("Rain."), give(FIELDS), say("Bye."), give(["a"])] * 3)
    session = stage.session([weather], "Be brief. " * 3_000)
    for number in range(3):
        is_equal(session.vibe(f"Weather {number}?").value, "Rain.")
        is_equal(session.do(f"Who {number}?", returns={"name": str, "age": int}).value, FIELDS)
        is_equal(session.chat(f"Bye {number}.").value, "Bye.")
        is_equal(session.do(f"List {number}.", returns=list[str]).value, ["a"])


@scenario(CLAUDE, OPENAI, GEMINI)
def switched_within_vendor(stage: Stage) -> None:
    others = {"anthropic": "claude-opus-5", "openai": "gpt-5.6", "google": "gemini-3.8-flash"}
    _switch(stage, f"{stage.api}/{others[stage.api]}")


@scenario(ALL)
def sampling_option(stage: Stage) -> None:
    stage.play(say("Hello."))
    with refused_early(stage):
        is_equal(stage.session(temperature=0.2).chat("Hi.").value, "Hello.")


@scenario(ALL)
def required_choice(stage: Stage) -> None:
    stage.play(OSLO)
    conversation = Conversation(tools=[tool.spec for tool in stage.session([weather]).tools])
    conversation.add_user("Weather?")
    with refused_early(stage):
        reply = stage.connect().chat(conversation, tool_choice="required")
        is_equal([each.name for each in reply.tool_calls], ["weather"])


@scenario(FEW)
def max_tokens_too_large(stage: Stage) -> None:
    stage.play(say("Hello."))
    with refused_early(stage):
        is_equal(stage.session(max_tokens=1_000_000).chat("Hi.").value, "Hello.")


@scenario(FEW)
def picture(stage: Stage) -> None:
    stage.play(say("A dot."), say("Bye."))
    session = stage.session()
    is_equal(session.chat(["What is this?", Image.from_bytes(DOT, "image/png")]).value, "A dot.")
    is_equal(session.chat("Bye.").value, "Bye.")


def _read_on(body: Mapping[str, Any]) -> Answer:
    """Read on from a handle that the request shows."""
    found = re.search(r"with handle '([^']+)'", json.dumps(body, ensure_ascii=False))
    return call(Call("read_result", {"handle": found[1] if found else "none", "start": 50_000}))


@scenario(ALL)
def read_result(stage: Stage) -> None:
    stage.play(call(Call("read_log", {"name": "a"})), _read_on, say("Line ten."))
    result = stage.session([read_log]).vibe("Read the log.")
    is_equal(result.value, "Line ten.")
    is_equal([each.error for each in result.tool_calls], [None, None])


def _run_command(stage: Stage, *words: str, **files: str) -> str:
    """Run the command line against the servers, as a user who has set an address and a key."""
    root = stage.servers[stage.api].root
    addresses = {
        "ANTHROPIC_BASE_URL": root,
        "OPENAI_BASE_URL": f"{root}/v1",
        "GOOGLE_GEMINI_BASE_URL": root,
        "ANTHROPIC_API_KEY": "k",
        "OPENAI_API_KEY": "k",
        "GEMINI_API_KEY": "k",
    }
    with tempfile.TemporaryDirectory() as home:
        for name, text in files.items():
            Path(home, name).write_text(text, encoding="utf-8")
        environment = {**os.environ, **addresses, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home}
        done = subprocess.run(
            [sys.executable, "-m", "antiphon", *words],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
    if done.returncode:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


@scenario(FEW)
def command_line_typed(stage: Stage) -> None:
    stage.play(give(FIELDS))
    said = _run_command(stage, "ask", "Ada was 36.", "--returns", "{name: text, age: number}", "-m", stage.model)
    is_equal("Ada" in said and "36" in said, True)


PROGRAM = """\
type Item { name: text, quantity: number }

const {customer: text, items: Item[]} = do "Read this order: three boxes of tea for Tom."
const greeting = vibe "Greet {customer}."
print("{customer} wants {items[0].quantity} {items[0].name}: {greeting}")
"""


@scenario(FEW)
def program(stage: Stage) -> None:
    stage.play(give({"customer": "Tom", "items": [{"name": "tea", "quantity": 3}]}), say("Hello Tom."))
    said = _run_command(stage, "run", "--model", stage.model, "order.vibe", **{"order.vibe": PROGRAM})
    is_equal(said.strip().splitlines()[-1], "Tom wants 3 tea: Hello Tom.")
