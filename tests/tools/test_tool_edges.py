"""Tools at their edges: odd signatures, odd values, odd ways to end, and who may allow what."""

import asyncio
import contextvars
import datetime
import threading
import time
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from antiphon.conversation import Conversation, Image, ToolCall, ToolResult
from antiphon.results import Result
from antiphon.tools import Policy, Rule, ToolContext, ToolDefinitionError, as_tool, canonicalize, execute, tool
from antiphon.tools.approval import make_standing_decision


def run(function: Any, **arguments: Any) -> ToolResult:
    made = as_tool(function)
    return asyncio.run(execute(made, ToolCall("c1", made.name, arguments), Conversation())).result


class TestEndings:
    def test_a_time_out_of_the_tools_own_is_told_as_such(self):
        async def query() -> None:
            raise TimeoutError("the database is silent")

        assert run(query).text == "TimeoutError: the database is silent"

    def test_a_tool_that_was_cancelled_from_within_has_failed(self):
        async def gives_up() -> None:
            inner = asyncio.ensure_future(asyncio.sleep(9))
            inner.cancel()
            await inner

        result = run(gives_up)
        assert (result.is_error, result.text) == (True, "CancelledError")

    def test_a_tool_that_exits_has_failed(self):
        def leaves() -> None:
            raise SystemExit("usage: leaves")

        async def leaves_too() -> None:
            raise SystemExit(2)

        assert run(leaves).text == "SystemExit: usage: leaves"
        assert run(leaves_too).text == "SystemExit: 2"

    def test_hanging_functions_take_no_place_from_others_and_hold_nobody_up(self):
        free = threading.Event()

        def hang() -> None:
            free.wait(300)

        def quick() -> str:
            return "here"

        async def main() -> list[ToolResult]:
            hanging = as_tool(hang, timeout=0.02)
            calls = [execute(hanging, ToolCall(f"h{n}", "hang"), Conversation()) for n in range(60)]
            await asyncio.gather(*calls)
            return [(await execute(as_tool(quick, timeout=60), ToolCall("q", "quick"), Conversation())).result]

        began = time.monotonic()
        try:
            assert asyncio.run(main())[0].text == "here"
            assert time.monotonic() - began < 60
        finally:
            free.set()

    def test_context_variables_reach_functions_in_threads(self):
        user = contextvars.ContextVar("user", default="nobody")

        def who() -> str:
            return user.get()

        user.set("ada")
        assert run(who).text == "ada"


class TestValues:
    def test_generators_are_read_to_their_end(self):
        where: list[threading.Thread] = []

        def count(n: int) -> Any:
            for i in range(n):
                where.append(threading.current_thread())
                yield i

        async def count_slowly(n: int) -> Any:
            for i in range(n):
                await asyncio.sleep(0)
                yield i

        assert run(count, n=3).text == "[0,1,2]"
        assert where[0] is not threading.main_thread()
        assert run(count_slowly, n=3).text == "[0,1,2]"

    def test_a_generator_that_fails_has_failed(self):
        def count() -> Any:
            yield 1
            raise ValueError("no more")

        assert run(count).text == "ValueError: no more"

    def test_a_long_line_after_a_short_one_is_shown_too(self):
        made = as_tool(lambda: "title\n" + "x" * 1000, name="dump", output_limit=100)
        assert run(made).text.startswith("title\n" + "x" * 94)


class TestSignatures:
    def test_the_context_may_be_optional(self):
        def whose(n: int, context: ToolContext | None = None) -> str:
            return f"{n} {context.call.id if context else 'nobody'}"

        made = as_tool(whose)
        assert list(made.spec.parameters["properties"]) == ["n"]
        assert run(made, n=1).text == "1 c1"
        assert made(1) == "1 nobody"

    def test_a_field_as_the_default_is_a_field(self):
        def f(n: int = Field(ge=1, description="How many"), m: int = Field(3)) -> str:
            return f"{n} {m}"

        schema = as_tool(f).spec.parameters
        assert schema["required"] == ["n"]
        assert schema["properties"]["n"] == {"type": "integer", "minimum": 1, "description": "How many"}
        assert run(f, n=1).text == "1 3"
        assert "`n`" in run(f, n=0).text

    def test_a_text_in_annotated_describes(self):
        def f(city: Annotated[str, "Where it is"]) -> str:
            return city

        assert as_tool(f).spec.parameters["properties"]["city"]["description"] == "Where it is"

    def test_strict_models_take_what_json_can_say(self):
        class Strict(BaseModel):
            model_config = ConfigDict(strict=True)
            day: datetime.date
            path: tuple[int, ...] = ()

        def f(s: Strict) -> str:
            return f"{s.day} {s.path}"

        assert run(f, s={"day": "2020-01-02", "path": [1]}).text == "2020-01-02 (1,)"

    def test_a_method_needs_its_object(self):
        class Box:
            def open(self, n: int) -> int:
                return n

        with pytest.raises(ToolDefinitionError, match=r"`self`.*bound"):
            tool(Box.open)
        assert run(Box().open, n=3).text == "3"


class TestDecidedOnceForAll:
    """Of a shell, which can do anything, only the very same call."""

    shell = as_tool(lambda: None, name="run_shell", destructive=True, is_shell=True)

    def decide(self, policy: Policy, **arguments: Any) -> str:
        return policy.decide(ToolCall("c", "run_shell", arguments), self.shell)

    def decided(self, allowed: bool = True, **arguments: Any) -> Policy:
        policy = Policy()
        policy.always(make_standing_decision(canonicalize(self.shell, ToolCall("c", "run_shell", arguments)), allowed))
        return policy

    def test_a_decision_does_not_cover_further_arguments(self):
        policy = self.decided(path="x")
        assert self.decide(policy, path="x") == "allow"
        assert self.decide(policy, path="x", force=True) == "ask"

    def test_a_call_without_arguments_allows_nothing_else(self):
        policy = self.decided()
        assert self.decide(policy) == "allow"
        assert self.decide(policy, command="rm -rf /") == "ask"

    def test_text_is_not_the_number_it_spells(self):
        assert self.decide(self.decided(n=1), n="1") == "ask"

    def test_the_order_of_arguments_does_not_matter(self):
        assert self.decide(self.decided(False, a=1, b=2), b=2, a=1) == "deny"


class TestRules:
    def test_they_see_what_the_tool_will_get(self):
        @tool
        def remove(path: str, force: bool = False, depth: int = 9) -> str:
            return f"{path} {force} {depth}"

        def decide(rule: Rule, **arguments: Any) -> str:
            return Policy((rule,)).decide(ToolCall("c", "remove", arguments), remove)

        never = Rule("deny", "remove", {"force": "true"})
        assert [decide(never, path="x", force=value) for value in (True, "yes", 1, "on", False)] == ["deny"] * 4 + [
            "allow"
        ]
        assert decide(Rule("deny", "remove", {"depth": "9"}), path="x") == "deny"


def test_an_error_shows_the_model_no_picture():
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    def shot(kind: str) -> Result:
        seen = Result("image", {"base64": pixel}, summary="a pixel")
        return seen if kind == "image" else Result(kind, {"message": "it broke", "seen": seen})

    for kind in ("image", "json", "error"):
        result = run(shot, kind=kind)
        assert result.is_error is (kind == "error")
        assert any(isinstance(part, Image) for part in result.parts) is (kind != "error")
        assert ("it broke" in result.text) is (kind != "image")
