"""Tools that block, hang or ignore their cancellation: their session goes on in time, and so do all others."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest

from antiphon import Limits, Session
from antiphon.session import LimitReached, entered
from antiphon.tools import tool
from tests.session.scripted import Scripted, calls

#: Much longer than any test may take.
FOREVER = 600


@pytest.fixture
def released() -> Generator[threading.Event]:
    """An event for which stubborn tools wait; it is set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def make_stubborn(kind: str, released: threading.Event) -> Callable[[], Any]:
    async def swallow() -> str:
        """Ignore every cancellation."""
        while not released.is_set():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue
        return "at last"

    async def block() -> str:
        """Block the event loop."""
        released.wait(FOREVER)
        return "at last"

    def hang() -> str:
        """Block a thread."""
        released.wait(FOREVER)
        return "at last"

    async def wait_politely() -> str:
        """Wait, and end when cancelled."""
        await asyncio.sleep(FOREVER)
        return "at last"

    return {each.__name__: each for each in (swallow, block, hang, wait_politely)}[kind]


class TestTimeouts:
    @pytest.mark.parametrize(
        ("kind", "is_running"), [("swallow", True), ("block", True), ("hang", True), ("wait_politely", False)]
    )
    def test_a_timeout_holds(self, kind: str, is_running: bool, released: threading.Event, caplog: Any):
        stubborn = tool(timeout=0.05)(make_stubborn(kind, released))
        with caplog.at_level(logging.WARNING, "antiphon.tools"):
            done = Session(Scripted(calls(kind), "It took too long."), [stubborn]).vibe("Go.")
        assert not released.is_set()
        assert done.tool_calls[0].error == f"`{kind}` did not finish within 0.05 seconds"
        told = [each.message for each in caplog.records if f"`{kind}` keeps running after its time-out" in each.message]
        assert len(told) == is_running

    @pytest.mark.parametrize("kind", ["swallow", "wait_politely"])
    def test_also_in_asynchronous_sessions(self, kind: str, released: threading.Event):
        stubborn = tool(timeout=0.05)(make_stubborn(kind, released))
        done = asyncio.run(Session(Scripted(calls(kind), "Too long."), [stubborn]).avibe("Go."))
        assert not released.is_set()
        assert "did not finish within" in str(done.tool_calls[0].error)

    @pytest.mark.parametrize("kind", ["swallow", "block", "hang"])
    def test_the_time_of_a_session_holds_too(self, kind: str, released: threading.Event):
        session = Session(Scripted(calls(kind)), [make_stubborn(kind, released)], limits=Limits(seconds=0.1))
        with pytest.raises(LimitReached):
            session.vibe("Go.")
        assert not released.is_set()

    def test_cleaning_up_is_awaited(self):
        steps: list[str] = []

        @tool(timeout=0.05)
        async def careful() -> None:
            """Clean up."""
            try:
                await asyncio.sleep(FOREVER)
            finally:
                await asyncio.sleep(0)
                steps.append("cleaned up")

        Session(Scripted(calls("careful"), "Done."), [careful]).vibe("Go.")
        assert steps == ["cleaned up"]

    def test_a_time_error_of_the_tool_is_its_own(self):
        @tool(timeout=FOREVER)
        async def impatient() -> None:
            """Give up."""
            raise TimeoutError("the printer is silent")

        done = Session(Scripted(calls("impatient"), "Done."), [impatient]).vibe("Go.")
        assert done.tool_calls[0].error == "TimeoutError: the printer is silent"

    def test_a_tool_that_exits_ends_nothing_else(self):
        async def leave() -> None:
            """Leave."""
            sys.exit(3)

        done = Session(Scripted(calls("leave"), "Done."), [leave]).vibe("Go.")
        assert done.tool_calls[0].error == "SystemExit: 3"

    @pytest.mark.parametrize("face", ["session.vibe('Go.')", "asyncio.run(session.avibe('Go.'))"])
    @pytest.mark.parametrize("kind", ["await asyncio.sleep(1)", "time.sleep(600)"])
    def test_what_keeps_running_does_not_hold_the_process_up(self, face: str, kind: str):
        if "avibe" in face and "time" in kind:
            pytest.skip("it blocks the program's own event loop")
        program = f"""
import asyncio, time
from antiphon import Session
from antiphon.tools import tool
from tests.session.scripted import Scripted, calls

@tool(timeout=0.05)
async def stubborn():
    while True:
        try:
            {kind}
        except asyncio.CancelledError:
            pass

session = Session(Scripted(calls("stubborn"), "Done."), [stubborn])
print({face}.tool_calls[0].error)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
        assert (done.stdout, done.returncode) == ("`stubborn` did not finish within 0.05 seconds\n", 0), done.stderr
        assert "Traceback" not in done.stderr


class TestOtherSessions:
    def test_a_blocking_coroutine_stalls_no_other_session(self, released: threading.Event):
        block, started = make_stubborn("block", released), threading.Event()

        async def begin_blocking() -> Any:
            """Block the event loop."""
            started.set()
            return await block()

        async def greet() -> str:
            """Greet."""
            await asyncio.sleep(0)
            return "hello"

        with ThreadPoolExecutor(1) as threads:
            session = Session(Scripted(calls("begin_blocking"), "Late."), [begin_blocking])
            blocked = threads.submit(session.vibe, "Go.")
            assert started.wait(FOREVER)
            other = Session(Scripted(calls("greet"), "Early."), [greet, begin_blocking])
            assert other.vibe("Go.").tool_calls[0].result == "hello"
            assert not blocked.done()
            released.set()
            assert blocked.result() == "Late."

    def test_calls_of_one_reply_share_a_loop(self):
        meeting: dict[str, asyncio.Event] = {}

        async def meet(me: str, other: str) -> str:
            """Wait for another call."""
            meeting.setdefault(other, asyncio.Event()).set()
            await meeting.setdefault(me, asyncio.Event()).wait()
            return f"{me} met {other}"

        both = calls(("meet", {"me": "a", "other": "b"}), ("meet", {"me": "b", "other": "a"}))
        done = Session(Scripted(both, "Done."), [meet]).vibe("Go.")
        assert [each.result for each in done.tool_calls] == ["a met b", "b met a"]

    def test_a_later_session_has_the_same_loop(self):
        loops: list[Any] = []

        async def look() -> None:
            """Look at the loop."""
            loops.append(asyncio.get_running_loop())

        for _ in range(3):
            Session(Scripted(calls("look"), calls("look"), "Done."), [look]).vibe("Go.")
        assert len(loops) == 6
        assert len(set(loops)) == 1

    def test_a_cooperative_tool_runs_where_entered_opens_things(self):
        class Resource:
            async def __aenter__(self) -> Resource:
                self.loop = asyncio.get_running_loop()
                return self

            async def __aexit__(self, *_: object) -> None: ...

        with entered(Resource()) as resource:

            @tool(is_cooperative=True)
            async def use() -> str:
                """Use the resource."""
                return str(resource.loop is asyncio.get_running_loop())

            with ThreadPoolExecutor(1) as threads:
                done = threads.submit(Session(Scripted(calls("use"), "Done."), [use]).vibe, "Go.").result()
        assert done.tool_calls[0].result == "True"

    def test_it_sees_the_context_of_the_caller(self):
        name = ContextVar("name", default="nobody")

        async def whoami() -> str:
            """Name the user."""
            return name.get()

        name.set("Ada")
        assert Session(Scripted(calls("whoami"), "Done."), [whoami]).vibe("Go.").tool_calls[0].result == "Ada"

    def test_a_tool_may_ask_a_model(self):
        async def ask() -> str:
            """Ask somebody else."""
            return str(await Session(Scripted("Oslo."), name="inner").avibe("Where?"))

        done = Session(Scripted(calls("ask"), "Done."), [ask]).vibe("Go.")
        assert done.tool_calls[0].result == "Oslo."
        assert done.run.usage.input_tokens == 30
