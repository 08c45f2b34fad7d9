"""What a typed ask leaves behind: the question and the answer, and nothing of how the answer was got."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, Field

from antiphon.conversation import AssistantTurn, Conversation, Native, Origin, ToolSpec, UserTurn
from antiphon.fakes import Answer, Fake, call
from antiphon.session import CallFinished, LimitReached, Limits, NoAnswer, Refused, ReturnError, Session
from antiphon.wire import CallDelta, Reply
from tests.session.scripted import Scripted, calls

APIS = ["anthropic/claude-sonnet-5", "openai-chat/gpt-4o", "openai/gpt-5", "google/gemini-3-pro"]
WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
MACHINERY = ("__vibe_return", "MUST", "Still missing", "does not fit", "Received")


def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


def returning(**values: Any) -> list[tuple[str, dict[str, Any]]]:
    return calls(*[(f"__vibe_return_{name}", {"value": value}) for name, value in values.items()])


def accepted(fake: Fake) -> bool:
    return all(not received.rejected for received in fake.requests)


def told(conversation: Conversation) -> list[str]:
    return [turn.text for turn in conversation.turns]


class Person(BaseModel):
    """Somebody with a bank account."""

    name: str = Field(description="First name")
    iban: str | None = None


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


@dataclass
class Inner:
    a: int
    b: str


@dataclass
class Wide:
    """A wide one."""

    f1: str
    f2: Inner
    f3: list[Inner] = field(default_factory=list)


class TestHistory:
    def test_the_question_and_the_answer_stay(self):
        here = Session(Scripted(returning(name="Al", age=3), "Hello."))
        here.do("Who?", returns={"name": str, "age": int})
        assert told(here.conversation) == ["Who?", '{"name":"Al","age":3}']
        here.chat("Thanks.")
        assert told(here.conversation) == ["Who?", '{"name":"Al","age":3}', "Thanks.", "Hello."]

    def test_refused_answers_and_reminders_go(self):
        here = Session(Scripted("About forty.", returning(value="x"), returning(value=40)))
        here.do("How old?", returns=int)
        assert told(here.conversation) == ["How old?", "40"]

    def test_calls_of_real_tools_stay_with_their_results(self):
        script = [calls(("weather", {"city": "Oslo"}), ("__vibe_return_wet", {"value": "yes"})), returning(wet=True)]
        here = Session(Scripted(*script), [weather])
        here.vibe("Wet?", returns={"wet": bool})
        _, worked, answered = here.conversation.turns
        assert isinstance(worked, AssistantTurn)
        assert [each.name for each in worked.calls] == ["weather"]
        assert [each.text for each in worked.results] == ["Rain in Oslo"]
        assert answered.text == '{"wet":true}'

    def test_an_answer_that_was_the_value_itself_stays_as_it_was(self):
        here = Session(Scripted('```json\n{"a": 1}\n```'))
        here.do("…", returns={"a": int})
        assert told(here.conversation) == ["…", '```json\n{"a": 1}\n```']

    @pytest.mark.parametrize(
        ("end", "left"), [(["no", "never", "no", "not"], ["not"]), ([("Never.", "refusal")], ["Never."])]
    )
    def test_after_a_failure_the_question_stays(self, end: list[Any], left: list[str]):
        here = Session(Scripted(*end))
        with pytest.raises(NoAnswer):
            here.do("How old?", returns=int)
        assert told(here.conversation) == ["How old?", *left]
        assert here.conversation.tools == ()

    def test_what_somebody_says_meanwhile_stays_even_in_the_words_of_the_machinery(self):
        here = Session(Scripted("nonsense", returning(value=4)))
        said: list[str] = []

        class Interrupting(Scripted):
            async def achat(self, conversation: Conversation, **options: Any) -> Reply:
                if self.options:
                    said.append(conversation.turns[-1].text)
                    here.conversation.add_user(said[0])
                return await super().achat(conversation, **options)

        here.model = Interrupting("nonsense", returning(value=4))
        here.do("How old?", returns=int)
        first = here.conversation.turns[0]
        assert isinstance(first, UserTurn)
        assert [getattr(part, "text", "") for part in first.parts] == ["How old?", said[0]]

    @pytest.mark.parametrize("model", APIS)
    def test_no_api_is_sent_anything_of_it_later(self, model: str):
        with Fake() as fake:
            fake.play(
                Answer("Let me see.", [call("weather", city="Oslo")], reasoning="Hm."),
                Answer(calls=[call("__vibe_return_name", value=3), call("__vibe_return_age", value=30)]),
                call("__vibe_return_name", value="Al"),
                "You are welcome.",
            )
            here = Session(fake.connect(model), [weather])
            assert here.vibe("Who?", returns={"name": str, "age": int}).value == {"name": "Al", "age": 30}
            here.chat("Thanks.")
            body = json.dumps(fake.requests[-1].body)
            assert accepted(fake)
        assert not [word for word in MACHINERY if word in body]
        assert "Rain in Oslo" in body

    def test_streams_do_not_show_the_calls_that_return(self):
        with Fake() as fake:
            fake.play(Answer(calls=[call("weather", city="Oslo"), call("__vibe_return_wet", value=True)]))
            with Session(fake.connect(APIS[0]), [weather]).stream("Wet?", returns={"wet": bool}) as events:
                seen = [event.body for event in events]
        names = {each.name for each in seen if isinstance(each, CallDelta)} - {""}
        assert names == {"weather"}
        assert [each.call.name for each in seen if isinstance(each, CallFinished)] == ["weather"]
        text = "".join(each.arguments for each in seen if isinstance(each, CallDelta))
        assert "true" not in text


class TestATypeOrAnError:
    @pytest.mark.parametrize("model", APIS)
    def test_a_field_that_may_be_left_out_is_not_lost_with_one_call_a_reply(self, model: str):
        with Fake() as fake:
            fake.play(call("__vibe_return_name", value="Al"), call("__vibe_return_iban", value="NO93"))
            here = Session(fake.connect(model), strategy="fields")
            assert here.do("Who?", returns=Person).value == Person(name="Al", iban="NO93")

    def test_with_one_object_it_needs_one_call(self):
        model = Scripted(calls("__vibe_return_object", name="Al", iban="NO93"))
        assert Session(model).do("Who?", returns=Person).value == Person(name="Al", iban="NO93")

    def test_a_misspelt_field_is_told_back_and_not_dropped(self):
        model = Scripted(
            calls("__vibe_return_object", name="Al", ibann="NO93"), calls("__vibe_return_object", name="Al", iban="N")
        )
        assert Session(model).do("Who?", returns=Person).value == Person(name="Al", iban="N")
        assert "there is no field 'ibann'" in model.seen[1]

    @pytest.mark.parametrize(
        ("script", "settings", "error", "outcome", "reason"),
        [
            ([("I would rather not.", "refusal")], {}, Refused, "refused", "I would rather not."),
            (
                [calls("weather", city="Oslo")] * 9,
                {"limits": Limits(turns=2)},
                LimitReached,
                "limit",
                "of 2 turns",
            ),
            (["forty"] * 9, {}, ReturnError, "wrong", "'value' expected number, got text: \"forty\""),
            ([("for", "length")] * 9, {}, ReturnError, "wrong", "cut off by the token limit"),
            ([""] * 9, {}, ReturnError, "wrong", "an empty answer"),
        ],
    )
    def test_what_ends_a_run_without_a_value_is_raised(
        self, script: list[Any], settings: dict[str, Any], error: type[NoAnswer], outcome: str, reason: str
    ):
        with pytest.raises(error) as caught:
            Session(Scripted(*script), [weather], **settings).vibe("How old?", returns=int)
        assert caught.value.run.outcome == outcome
        assert reason in str(caught.value)
        assert caught.value.run.usage.input_tokens
        assert caught.value.run.id

    def test_the_error_remembers_what_was_refused_and_why(self):
        script = [returning(name="Al", age="old"), "I told you.", "Really.", "No.", "Stop."]
        with pytest.raises(ReturnError) as caught:
            Session(Scripted(*script)).do("Who?", returns={"name": str, "age": int})
        assert "missing: age" in str(caught.value)
        assert "'age' expected number, got text: \"old\"" in str(caught.value)
        assert caught.value.refused[0].what == '__vibe_return_age({"value":"old"})'
        assert "expected number" in caught.value.refused[0].why

    @pytest.mark.parametrize("text", ['"12"', "1_000", "1e3 or so", "about 12", "12.", "'12'", "1,000", "0x10", "NaN"])
    def test_text_that_is_no_number_is_none(self, text: str):
        with pytest.raises(ReturnError, match="expected number"):
            Session(Scripted(*[text] * 9)).do("…", returns=int)

    @pytest.mark.parametrize(
        ("wanted", "given", "reason"),
        [
            (int, "12", "'value' expected number, got text: \"12\""),
            (float, "1e3", "'value' expected number, got text: \"1e3\""),
            (bool, "true", "'value' expected boolean, got text: \"true\""),
            (bool, 1, "'value' expected boolean, got number: 1"),
            (str, 5, "'value' expected text, got number: 5"),
            (int, 3.5, "'value' expected whole number, got number: 3.5"),
            (int, True, "'value' expected number, got boolean: true"),
            (list[int], "[1]", "'value' expected list, got text: \"[1]\""),
            (list[int], [1, "2"], "'value.1' expected number, got text: \"2\""),
        ],
    )
    def test_a_value_of_another_type_is_told_back_by_name(self, wanted: Any, given: Any, reason: str):
        model = Scripted(*[returning(value=given)] * 9)
        with pytest.raises(ReturnError) as caught:
            Session(model).do("…", returns=wanted)
        assert reason in str(caught.value)
        assert reason in model.seen[1].replace("\\'", "'")

    def test_a_whole_number_may_be_written_as_a_fraction(self):
        assert Session(Scripted(returning(value=3.0))).do("…", returns=int).value == 3


class TestWhatIsSent:
    def body(self, wanted: Any, model: str = APIS[0], **settings: Any) -> dict[str, Any]:
        with Fake() as fake:
            return json.loads(Session(fake.connect(model), **settings).request("Who?", returns=wanted))

    def test_the_types_own_words_and_those_of_its_fields(self):
        text = json.dumps(self.body(Person))
        assert text.count("Somebody with a bank account.") == 1
        assert text.count("First name") == 1
        assert "iban (text or null)" in text

    def test_one_tool_where_a_field_is_nested_or_may_be_left_out(self):
        for wanted in (Person, Wide, Tree, dict.fromkeys([f"f{n}" for n in range(9)], str), {"a": Inner}):
            assert [each["name"] for each in self.body(wanted)["tools"]] == ["__vibe_return_object"]

    def test_a_tool_for_each_field_of_a_small_flat_pattern(self):
        assert [each["name"] for each in self.body({"a": str, "b": list[int]})["tools"]] == [
            "__vibe_return_a",
            "__vibe_return_b",
        ]

    def test_only_the_definitions_that_are_used(self):
        tools = self.body({"a": Inner, "b": int, "c": Person}, strategy="fields")["tools"]
        assert [sorted(each["input_schema"].get("$defs", {})) for each in tools] == [["Inner"], [], ["Person"]]

    @pytest.mark.parametrize("model", APIS)
    @pytest.mark.parametrize("strategy", ["object", "native", None])
    def test_a_type_that_holds_itself(self, model: str, strategy: Any):
        value = {"name": "a", "children": [{"name": "b", "children": []}]}
        with Fake() as fake:
            here = Session(fake.connect(model), strategy=strategy)
            sent = json.loads(here.request("…", returns=Tree))
            fake.play(call("__vibe_return_object", **value) if sent.get("tools") else json.dumps(value))
            assert here.do("…", returns=Tree).value == Tree(name="a", children=[Tree(name="b")])
            assert accepted(fake)


class TestOfAConversation:
    def test_tools_that_the_provider_runs_stay_declared(self):
        search = ToolSpec("web_search", native=Native(Origin("anthropic", "anthropic", ""), WEB_SEARCH))
        with Fake() as fake:
            fake.play("One.", "Two.")
            here = Session(fake.connect(APIS[0]), [weather], conversation=Conversation(tools=[search]))
            here.chat("First?")
            here.chat("Second?")
            assert all("web_search_20250305" in json.dumps(each.body) for each in fake.requests)
        assert search in here.conversation.tools


def test_a_call_that_was_refused_in_the_last_round_is_none_of_the_run():
    model = Scripted(calls("weather", city="Oslo"), calls("weather", city="Bergen"), "Rain.")
    here = Session(model, [weather])
    ret = here.do("Weather?")
    assert [each.args for each in ret.tool_calls] == [{"city": "Oslo"}]
    assert len([turn for turn in here.conversation.turns if isinstance(turn, AssistantTurn)]) == 3


class TestWhatCame:
    def test_a_refusal_came(self):
        with pytest.raises(Refused, match="I cannot") as caught:
            Session(Scripted(("I cannot.", "refusal"))).do("…", returns=int)
        assert caught.value.run.said == "I cannot."

    def test_an_empty_answer_is_called_one(self):
        with pytest.raises(ReturnError, match="an empty answer") as caught:
            Session(Scripted("", " "), attempts=1).do("…", returns=int)
        assert caught.value.received == ["an empty answer"] * 2
