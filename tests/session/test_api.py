"""The session as an object of a program: its model, its end, its options, prompts with images, bugs in tools."""

import asyncio
import dataclasses
import json
import logging
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from antiphon import AIResult, Conversation, Image, Session, ToolContext, tool
from antiphon.effects import Limits
from antiphon.errors import OptionError
from antiphon.fakes import Fake
from antiphon.session import Context, RunRecord
from antiphon.tools import Policy, Rule
from tests.session.scripted import Scripted, calls

PNG = Image(data="iVBORw0KGgo=", media_type="image/png")


class City(BaseModel):
    name: str


class TestResults:
    @pytest.mark.parametrize("value", ["text", 3, {"model": "m"}, [1, 2]])
    def test_where_pydantic_makes_json_a_result_is_its_value(self, value: Any):
        adapter: TypeAdapter[Any] = TypeAdapter(AIResult)
        assert adapter.dump_python(adapter.validate_python(AIResult(value))) == value
        assert not dataclasses.is_dataclass(AIResult(value))

    def test_of_a_type(self):
        adapter = TypeAdapter(AIResult[City])
        assert adapter.dump_json(AIResult(City(name="Oslo"))) == b'{"name":"Oslo"}'

    def test_every_name_but_three_is_the_values(self):
        assert not [name for name in dir(AIResult) if not name.startswith("_")]
        own = {name for name in dir(AIResult(3)) if not name.startswith("_")} - set(dir(3))
        assert own == {"value", "tool_calls", "run"}
        names = ({field.name for field in dataclasses.fields(RunRecord)} | {"json", "items", "keys", "copy"}) - own
        result = AIResult(dict.fromkeys(names, "mine"))
        assert [getattr(result, name) for name in sorted(names)] == ["mine"] * len(names)

    def test_a_text_is_accepted_wherever_text_is(self, tmp_path: Path):
        result = AIResult("Ada", (), RunRecord(model="m"))
        assert ", ".join([result, "Bob", result]) == "Ada, Bob, Ada"
        assert re.sub("d", "n", result) == "Ana"
        assert json.dumps({result: [result]}) == '{"Ada": ["Ada"]}'
        assert (tmp_path / "text").write_text(result) == 3
        assert "Ada Lovelace".startswith(result)
        assert result in "Ada Lovelace"
        assert {"Ada": 1}[result] == 1
        assert sqlite3.connect(":memory:").execute("select ?", (result,)).fetchone() == ("Ada",)
        assert (isinstance(result, str), type(result.upper()), type(result + "!"), type("<" + result)) == (
            True,
            str,
            str,
            str,
        )
        assert (result.run.model, result.value, type(result.value), f"{result:>4}") == ("m", "Ada", str, " Ada")
        for iterate in (list, tuple, set, sorted, enumerate):
            with pytest.raises(TypeError, match="Cannot iterate over AIResult directly"):
                iterate(result)
        with pytest.raises(AttributeError, match="does not change"):
            result.value = "x"  # type: ignore[misc]

    def test_a_text_that_is_stored_holds_no_conversation(self):
        talk = Conversation().add_user(AIResult("Hi."))
        assert type(talk.turns[0].parts[0].text) is str  # type: ignore[union-attr]

    def test_json_of_other_values_takes_a_default(self):
        with pytest.raises(TypeError, match="not JSON serializable"):
            json.dumps(AIResult({"a": 1}))
        assert json.dumps([AIResult({"a": 1}), AIResult(2)], default=vars) == '[{"a": 1}, 2]'

    def test_it_does_not_change(self):
        with pytest.raises(AttributeError, match=r"result\.value\.name"):
            AIResult({}).name = "x"  # type: ignore[attr-defined]


class TestModel:
    def test_without_a_name_it_is_the_configured_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ANTIPHON_MODEL", "openai/gpt-5")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        assert Session().model.name == "openai/gpt-5"

    def test_one_that_the_session_made_is_closed_with_it_and_can_be_asked_again(self):
        with Fake() as fake:
            fake.play("One.", "Two.")
            model = fake.connect("anthropic/claude-sonnet-5")
            with Session(model) as here:
                here.chat("First?")
            assert Session(model).chat("Second?") == "Two."

    def test_asynchronously(self):
        async def main() -> str:
            async with Session(Scripted("Hello.")) as here:
                return (await here.achat("Hi")).value

        assert asyncio.run(main()) == "Hello."


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "hint"),
        [
            ({"max_turns": 3}, r"limits=Limits\(requests=…\)"),
            ({"max_output_tokens": 3}, r"limits=Limits\(output_tokens=…\)"),
            ({"temprature": 0.1}, "did you mean `temperature`"),
            ({"temperature": "hot"}, "`temperature` is a number"),
            ({"people": 5}, "`people` is a function that answers a `Question`, or a `HumanInput`, not 5"),
            ({"people": "me"}, "`people` is a function"),
            ({"attempts": "z"}, "`attempts` is a whole number"),
            ({"attempts": -1}, "`attempts` is a whole number"),
            ({"attempts": True}, "`attempts` is a whole number"),
            ({"policy": "x"}, r"`policy` is a `Policy`, such as .*, not 'x'"),
            ({"policy": {}}, "`policy` is a `Policy`"),
            ({"context": 5}, "`context` is a `Context`"),
            ({"limits": {"turns": 3}}, r"`limits` is a `Limits`, such as `Limits\(requests=10\)`, not {'turns': 3}"),
            ({"conversation": [{"role": "user", "content": "Hi"}]}, "`conversation` is a `Conversation`"),
            ({"conversation": []}, "`conversation` is a `Conversation`"),
            ({"strategy": "guess"}, "`strategy` is one of 'native', 'prompted', 'tool', not 'guess'"),
            ({"before_request": 3}, "`before_request` is a function"),
            ({"journal": "file.db"}, "`journal` is a `Journal`"),
            ({"name": 3}, "`name` is a text"),
            ({"system": 3}, "`system` is a text, a function that returns one, or a list of both"),
            ({"system": ["Be brief.", 3]}, "`system` is a text, a function that returns one, or a list of both"),
            ({"check": "short"}, "a check is a function, not 'short'"),
            ({"after_reply": 3}, "`after_reply` is a function"),
            ({"polcy": None}, "there is no option `polcy`; did you mean `policy`"),
            ({"tool": []}, "there is no option `tool`; did you mean `tools`"),
            ({"key": "sk-1"}, r"there is no option `key` here; `connect\(NAME, key=…\)` makes a model with it"),
            ({"record": 3}, "`record` is the path of a file"),
            ({"raise_tool_bugs": "no"}, "`raise_tool_bugs` is True or False"),
        ],
    )
    def test_a_wrong_one_is_found_at_once(self, options: dict[str, Any], hint: str):
        with pytest.raises(OptionError, match=hint):
            Session(Scripted(), **options)

    @pytest.mark.parametrize("wrong", ["3", -1, True, [3]])
    def test_wrong_numbers_are_found_at_once(self, wrong: Any):
        for name in ("requests", "tool_calls", "tokens", "cost", "seconds"):
            with pytest.raises(OptionError, match=f"the limit of {name} is a number from 0 on"):
                Limits(**{name: wrong})
        for name in ("fill", "leave"):
            with pytest.raises(OptionError, match=f"`{name}` of a context is a share"):
                Context(**{name: wrong})
        with pytest.raises(ValueError, match="the action of a rule is"):
            Rule("permit")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the rules of a policy are"):
            Policy(["allow"])  # type: ignore[list-item]


class TestPrompts:
    def test_text_and_images(self):
        with Fake() as fake:
            fake.play("A dot.", '{"value": 1}')
            here = Session(fake.connect("anthropic/claude-sonnet-5"))
            assert here.vibe(["What is this?", PNG]) == "A dot."
            assert here.do(["How many?", PNG], returns=int).value == 1
            assert [str(each.body).count("iVBORw0KGgo=") for each in fake.requests] == [1, 2]


class TestDeps:
    def test_a_tool_gets_them_typed(self):
        @tool
        def where(context: ToolContext[dict[str, str]]) -> str:
            """Where it is."""
            return context.deps["path"]

        assert where.spec.parameters.get("properties", {}) == {}
        here = Session(Scripted(calls("where"), "Done."), [where], deps={"path": "here"})
        assert here.vibe("Go.").tool_calls[0].result == "here"


class TestBugs:
    @staticmethod
    def broken() -> str:
        """Does not work."""
        return nowhere  # type: ignore[name-defined] # noqa: F821

    def test_they_are_told_to_the_model_and_logged_with_their_place(self, caplog: pytest.LogCaptureFixture):
        with caplog.at_level(logging.ERROR, "antiphon.tools"):
            ret = Session(Scripted(calls("broken"), "Done."), [self.broken]).vibe("Go.")
        assert "NameError" in str(ret.tool_calls[0].error)
        assert "the tool `broken` has a bug" in caplog.text
        assert "return nowhere" in caplog.text

    def test_they_are_raised_where_that_is_wanted_and_the_conversation_can_go_on(self):
        here = Session(Scripted(calls("broken"), "Fine."), [self.broken], raise_tool_bugs=True)
        with pytest.raises(NameError):
            here.vibe("Go.")
        assert here.conversation.ready()
        assert here.chat("And now?") == "Fine."

    def test_what_a_tool_met_is_no_bug(self):
        def missing() -> str:
            """Looks."""
            raise ValueError("no such thing")

        here = Session(Scripted(calls("missing"), "Done."), [missing], raise_tool_bugs=True)
        assert "no such thing" in str(here.vibe("Go.").tool_calls[0].error)
