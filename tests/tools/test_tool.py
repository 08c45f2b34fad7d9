"""Tools from functions: schemas, words, checked arguments, results, and wrappers."""

import asyncio
import enum
import time
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from antiphon.conversation import Conversation, Image, Text, ToolCall, ToolResult
from antiphon.results import Result
from antiphon.tools import (
    Policy,
    Rule,
    Tool,
    ToolContext,
    ToolDefinitionError,
    ToolFailure,
    Toolset,
    as_tool,
    as_tools,
    canonicalize,
    execute,
    renamed,
    tool,
)
from antiphon.tools.approval import make_standing_decision


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0


class Person(BaseModel):
    name: str
    title: str = "Dr"


class Options(TypedDict, total=False):
    deep: bool


def run(made: Tool, **arguments: Any) -> ToolResult:
    return asyncio.run(execute(made, ToolCall("c1", made.name, arguments), Conversation())).result


class TestSchemas:
    def test_annotations_become_json_schema(self):
        @tool
        def paint(
            color: Color,
            where: Point,
            who: Person | None = None,
            *,
            mode: Literal["fast", "slow"] = "fast",
            layers: Annotated[int, Field(ge=1, description="How many layers")] = 1,
            options: Options | None = None,
        ) -> str:
            """Paint a point."""
            return f"{color.name} {where} {who} {mode} {layers} {options}"

        schema = paint.spec.parameters
        assert schema["required"] == ["color", "where"]
        assert schema["properties"]["mode"] == {"default": "fast", "enum": ["fast", "slow"], "type": "string"}
        assert schema["properties"]["layers"]["description"] == "How many layers"
        assert "title" not in schema["properties"]["color"]
        assert schema["$defs"]["Person"]["properties"]["title"] == {"default": "Dr", "type": "string"}
        result = run(paint, color="red", where={"x": "3"}, who={"name": "Ada"}, options={"deep": True})
        assert result.text == "RED Point(x=3, y=0) name='Ada' title='Dr' fast 1 {'deep': True}"

    @pytest.mark.parametrize(
        "doc",
        [
            "Fetch it.\n\nSlowly.\n\nArgs:\n    url: Where it is.\n\nReturns:\n    The page.\n",
            "Fetch it.\n\nSlowly.\n\nParameters\n----------\nurl : str\n    Where it is.\n\n"
            "Returns\n-------\nstr\n    The page.\n",
            "Fetch it.\n\nSlowly.\n\n:param url: Where it is.\n:returns: The page.\n",
        ],
        ids=["Google", "NumPy", "Sphinx"],
    )
    def test_docstrings_of_every_style(self, doc: str):
        def fetch(url: str) -> str:
            return url

        fetch.__doc__ = doc
        made = as_tool(fetch)
        assert made.spec.description == "Fetch it.\n\nSlowly.\n\nReturns: The page."
        assert made.spec.parameters["properties"]["url"]["description"] == "Where it is."

    def test_names_that_pydantic_keeps_for_itself_are_fine(self):
        def odd(schema: str, copy: int, model_config: bool, _private: str = "p") -> str:
            return f"{schema} {copy} {model_config} {_private}"

        assert run(as_tool(odd), schema="s", copy=1, model_config=True, _private="q").text == "s 1 True q"

    def test_the_context_is_not_in_the_schema(self):
        def whose(context: ToolContext, n: int) -> str:
            return f"{context.call.id} {n}"

        made = as_tool(whose)
        assert list(made.spec.parameters["properties"]) == ["n"]
        assert run(made, n=1).text == "c1 1"

    def test_a_tool_is_still_a_function(self):
        @tool
        def double(n: int) -> int:
            return 2 * n

        assert double(4) == 8

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (lambda x: x, "a tool needs a name"),
            (3, "a tool is a function, not int"),
            ("search", r"a tool is a function, not str; write `tools=\[…\]` with functions, not their names"),
        ],
    )
    def test_what_is_no_tool(self, function: Any, message: str):
        with pytest.raises(ToolDefinitionError, match=message):
            as_tool(function)

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("timeuot", "a tool has no option `timeuot`; did you mean `timeout`"),
            ("ask", "a tool has no option `ask`; there are timeout, .*needs_approval"),
        ],
    )
    def test_a_setting_that_tools_do_not_have(self, setting: str, message: str):
        settings: dict[str, Any] = {setting: True}
        with pytest.raises(ToolDefinitionError, match=message):

            @tool(**settings)
            def double(n: int) -> int:
                return 2 * n

    def test_signatures_that_cannot_be_told_to_a_model(self):
        def many(*names: str) -> None: ...
        def anything(**more: str) -> None: ...
        def strange(x: asyncio.Task) -> None: ...
        def unknown(x: "Nowhere") -> None: ...  # noqa: F821

        for function in (many, anything, strange, unknown):
            with pytest.raises(ToolDefinitionError, match=f"`{function.__name__}` cannot be a tool"):
                as_tool(function)

    def test_two_tools_of_one_name(self):
        def now() -> str:
            return ""

        with pytest.raises(ToolDefinitionError, match="two tools are named `now`"):
            as_tools([now, now])


KINDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (int, st.integers(-100, 100)),
    "str": (str, st.text(max_size=5)),
    "bool": (bool, st.booleans()),
    "float": (float, st.floats(-10, 10)),
    "list": (list[int], st.lists(st.integers(0, 9), max_size=3)),
    "dict": (dict[str, bool], st.dictionaries(st.text("ab", min_size=1, max_size=2), st.booleans(), max_size=2)),
    "literal": (Literal["a", "b"], st.sampled_from(["a", "b"])),
    "optional": (int | None, st.none() | st.integers(0, 9)),
}


@given(st.lists(st.tuples(st.sampled_from(list(KINDS)), st.booleans()), max_size=5), st.data())
@settings(max_examples=100)
def test_any_signature_takes_the_arguments_its_schema_describes(parameters, data: st.DataObject):
    """From a signature to a schema, to arguments, to the call: what was given is what the function gets."""
    annotations: dict[str, Any] = {f"p{n}": KINDS[kind][0] for n, (kind, _) in enumerate(parameters)}
    values = {f"p{n}": data.draw(KINDS[kind][1]) for n, (kind, _) in enumerate(parameters)}
    needed = [f"p{n}" for n, (_, has_default) in enumerate(parameters) if not has_default]
    signature = ", ".join(["*"] * bool(annotations) + [n if n in needed else f"{n}=None" for n in annotations])
    source = f"def f({signature}): return dict({', '.join(f'{n}={n}' for n in annotations)})"
    space: dict[str, Any] = {}
    exec(source, space)
    function = space["f"]
    function.__annotations__ = annotations
    made = as_tool(function)
    assert sorted(made.spec.parameters.get("required", [])) == sorted(needed)
    given_values = {name: value for name, value in values.items() if name in needed or data.draw(st.booleans())}
    got = made.function(**made.arguments.convert(given_values)[0])
    assert got == {name: given_values.get(name) for name in annotations}


class TestRunning:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("text", "text"),
            (None, ""),
            (4, "4"),
            (True, "true"),
            ({"a": [1, 2.5]}, '{"a":[1,2.5]}'),
            (["x", "y"], '["x","y"]'),
            (Person(name="Ada"), '{"name":"Ada","title":"Dr"}'),
            (Point(1), '{"x":1,"y":0}'),
            (Color.RED, '"red"'),
            (float("nan"), '"NaN"'),
            (b"\xff", '"_w=="'),
        ],
    )
    def test_values_become_text(self, value: Any, text: str):
        assert run(as_tool(lambda: value, name="f")).text == text

    def test_images_stay_images(self):
        picture = Image(data="aGk=", media_type="image/png")
        assert run(as_tool(lambda: picture, name="f")).parts == (picture,)

    @pytest.mark.parametrize("data", ["no base64!", "AAA", "é"])
    def test_a_broken_image_in_a_result_is_told(self, data: str):
        pictures = [Result("image", {"base64": each}, mime_type="image/png") for each in ("aGk=", data)]
        text, good, bad = run(as_tool(lambda: Result("gallery", {"images": pictures}), name="f")).parts
        assert isinstance(text, Text)
        assert good == Image("aGk=", "image/png")
        assert isinstance(bad, Text)
        assert bad.text.startswith("[an image that is not shown: an image's `data` is base64")

    def test_cycles_and_strange_objects_do_not_crash(self):
        def identity(value: Any, /) -> Any:
            return value

        cycle: list[Any] = []
        cycle.append(cycle)
        for value in (cycle, object(), lambda: 1):
            assert run(as_tool(partial(identity, value), name="f")).text

    @pytest.mark.parametrize(
        ("error", "text"),
        [
            (ToolFailure("no such file"), "no such file"),
            (ValueError("bad"), "ValueError: bad"),
            (KeyError(), "KeyError"),
            (RecursionError("deep"), "RecursionError: deep"),
        ],
    )
    def test_exceptions_become_error_results(self, error: Exception, text: str):
        def fails() -> None:
            raise error

        async def fails_too() -> None:
            raise error

        for function in (fails, fails_too):
            result = run(as_tool(function))
            assert (result.is_error, result.text) == (True, text)

    def test_time_outs_of_both_kinds_of_functions(self):
        @tool(timeout=0.05)
        def sleepy() -> None:
            time.sleep(3)

        @tool(timeout=0.05)
        async def drowsy() -> None:
            await asyncio.sleep(60)

        for made in (sleepy, drowsy):
            assert run(made).text == f"`{made.name}` did not finish within 0.05 seconds"

    def test_long_results_are_cut_at_a_line_and_kept_whole(self):
        text = "\n".join(f"line {n}" for n in range(100))
        made = as_tool(lambda: text, name="dump", output_limit=50)
        done = asyncio.run(execute(made, ToolCall("c1", "dump"), Conversation()))
        result = done.result
        assert result.text.splitlines()[-1].startswith("[49 of 789 characters shown; `read_result` with handle")
        assert result.text.splitlines()[-2] == "line 6"
        assert done.kept[result.handle] == text

    def test_arguments_that_do_not_fit_are_all_named(self):
        def f(city: str, n: int, color: Color, flag: bool = False) -> None: ...

        result = run(as_tool(f), n="many", color="green", extra=1)
        assert result.text == (
            "the arguments of `f` do not fit: `city` is missing; `n`: input should be a valid integer, unable to parse"
            ' string as an integer; got "many" (text); '
            "`color`: input should be 'red' or 'blue'; got \"green\" (text); `extra` is not a parameter"
        )


class TestWrappers:
    def tools(self) -> list[Tool]:
        def read() -> str:
            return "r"

        def write() -> str:
            return "w"

        return as_tools([read, write])

    def test_they_compose(self):
        made = [*Toolset(self.tools()).filtered("r*").prefixed("fs_").requiring_approval()]
        assert [(t.name, t.needs_approval) for t in made] == [("fs_read", True)]
        assert run(made[0]).text == "r"
        assert renamed(made[0], "look").name == "look"
        assert [t.name for t in Toolset(self.tools()).filtered(lambda t: t.name != "read")] == ["write"]


class TestPolicies:
    def made(self, name: str) -> Tool:
        return as_tool(lambda command=None: command, name=name, destructive=True, is_shell=name == "run_shell")

    def decide(self, policy: Policy, name: str = "run", **arguments: Any) -> str:
        return policy.decide(ToolCall("c", name, arguments), self.made(name))

    def always(self, policy: Policy, name: str, arguments: dict[str, Any], allowed: bool = True) -> None:
        policy.always(make_standing_decision(canonicalize(self.made(name), ToolCall("c", name, arguments)), allowed))

    def test_the_first_rule_that_matches_decides(self):
        policy = Policy((Rule("allow", "run", {"command": "git *"}), Rule("deny", "r*"), Rule("ask")))
        assert self.decide(policy, command="git status") == "allow"
        assert self.decide(policy, command="rm -rf /") == "deny"
        assert self.decide(policy, command=["git", "x"]) == "deny"
        assert self.decide(policy, "other") == "ask"

    def test_without_a_rule_destructive_tools_are_asked_about(self):
        assert self.decide(Policy()) == "ask"
        plain = as_tool(lambda: None, name="f")
        assert Policy().decide(ToolCall("c", "f"), plain) == "allow"

    def test_what_was_decided_of_a_shell_holds_for_the_same_command_alone(self):
        policy = Policy()
        self.always(policy, "run_shell", {"command": "ls *[a]?"})
        assert self.decide(policy, "run_shell", command="ls *[a]?") == "allow"
        assert self.decide(policy, "run_shell", command="ls xa?") == "ask"
        assert self.decide(policy, "other", command="ls *[a]?") == "ask"

    @pytest.mark.parametrize(
        ("settings", "is_whole"),
        [({"destructive": True}, True), ({"needs_approval": True}, True), ({}, False)],
    )
    def test_always_covers_the_tool_if_every_call_is_asked_about(self, settings: dict[str, bool], is_whole: bool):
        def run(place: str) -> str:
            return place

        made = as_tool(run, asks_about=lambda place: place == "here", **settings)
        decided = make_standing_decision(canonicalize(made, ToolCall("c", "run", {"place": "here"})))
        assert (decided.arguments is None) == is_whole

    def test_what_was_decided_of_another_tool_holds_for_all_its_calls(self):
        policy = Policy((Rule("deny", "run"),))
        self.always(policy, "run", {"command": "ls"})
        assert self.decide(policy, command="rm") == "allow"
        assert self.decide(policy, "runner") == "ask"

    @pytest.mark.parametrize("allowed", [True, False])
    def test_what_was_decided_of_a_tool_that_asks_about_some_calls_holds_for_the_same_call_alone(self, allowed: bool):
        reads = as_tool(lambda path: path, name="read", asks_about=lambda path: path.startswith("."))
        policy = Policy()
        policy.always(make_standing_decision(canonicalize(reads, ToolCall("c", "read", {"path": ".env"})), allowed))
        decided = [policy.decide(ToolCall("c", "read", {"path": path}), reads) for path in (".env", ".pem", "a.txt")]
        assert decided == ["allow" if allowed else "deny", "ask", "allow"]

    def test_what_was_decided_of_a_tool_that_always_asks_holds_for_all_its_calls(self):
        reads = as_tool(lambda path: path, name="read", asks_about=lambda path: path is None)
        [asks] = Toolset([reads]).requiring_approval()
        assert str(make_standing_decision(canonicalize(asks, ToolCall("c", "read", {"path": ".env"})))) == "read"

    def test_what_was_decided_of_a_tool_that_is_gone_holds_for_the_same_call_alone(self):
        assert str(make_standing_decision(ToolCall("c", "gone", {"n": 1}))) == 'gone({"n": 1})'

    def test_what_was_decided_is_listed_and_can_be_revoked(self):
        policy = Policy()
        self.always(policy, "run", {}, False)
        self.always(policy, "run_shell", {"command": "ls"})
        assert [str(each) for each in policy.decided] == ["run", 'run_shell({"command": "ls"})']
        assert [each.allowed for each in policy.decided] == [False, True]
        assert self.decide(policy) == "deny"
        policy.revoke_standing_decision(policy.decided[0])
        assert self.decide(policy) == "ask"
        assert self.decide(policy, "run_shell", command="ls") == "allow"

    def test_the_last_decision_holds(self):
        policy = Policy()
        for allowed in (True, False):
            self.always(policy, "run", {}, allowed)
        assert self.decide(policy) == "deny"
        assert len(policy.decided) == 1
