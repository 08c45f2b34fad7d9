"""What a typed ask leaves behind: the question, the answer as it came, and notes that views leave out."""

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, Field

from antiphon.conversation import AssistantTurn, Conversation, Note, Origin, ProviderPayload, ToolSpec, UserTurn
from antiphon.effects import Limits
from antiphon.errors import OptionError
from antiphon.fakes import Answer, Fake, call
from antiphon.session import CallFinished, LimitReached, ModelRefused, NoAnswer, ReturnError, Session
from antiphon.wire import CallDelta, Reply
from tests.session.scripted import STRATEGIES, Scripted, answering, calls

APIS = ["anthropic/claude-sonnet-5", "openai-chat/gpt-4o", "openai/gpt-5", "google/gemini-3-pro"]
WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


def accepted(fake: Fake) -> bool:
    return all(not received.rejected for received in fake.requests)


def entries(body: Any) -> list[Any]:
    """The messages of a request, without cache marks."""
    found = body.get("messages") or body.get("input") or body.get("contents")
    return json.loads(json.dumps(found).replace(', "cache_control": {"type": "ephemeral"}', ""))


def note_parts(conversation: Conversation) -> list[Note]:
    parts = [part for turn in conversation.turns if isinstance(turn, UserTurn) for part in turn.parts]
    return [part for part in parts if isinstance(part, Note)]


def notes(conversation: Conversation) -> list[str]:
    return [note.kind for note in note_parts(conversation)]


def form_notes(conversation: Conversation) -> list[str]:
    return [note.text for note in note_parts(conversation) if note.kind == "form"]


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
    def test_the_question_and_the_answer_stay_as_they_were(self):
        here = Session(Scripted('{"name": "Al", "age": 3}', "Hello."))
        here.do("Who?", returns={"name": str, "age": int})
        here.chat("Thanks.")
        assert told(here.conversation) == ["Who?", '{"name": "Al", "age": 3}', "Thanks.", "Hello."]

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_refused_answers_and_reminders_stay_as_notes(self, strategy: Any):
        script = "About forty.", answering(strategy, value="x"), answering(strategy, value=40)
        here = Session(Scripted(*script), strategy=strategy)
        here.do("How old?", returns=int)
        kinds = {"native": ["reminder", "reminder"], "prompted": ["form", "reminder", "reminder"]}
        assert notes(here.conversation) == kinds.get(strategy, ["form", "reminder"])
        assert [text for text in told(here.conversation) if text][:2] == ["How old?", "About forty."]
        assert len(here.conversation.turns) == (5 if strategy == "tool" else 6)

    def test_calls_of_real_tools_stay_with_their_results(self):
        script = [calls(("weather", {"city": "Oslo"}), ("answer", {"wet": "yes"})), calls("answer", wet=True)]
        here = Session(Scripted(*script), [weather], strategy="tool")
        assert here.vibe("Wet?", returns={"wet": bool}).value == {"wet": True}
        _, worked, answered = here.conversation.turns
        assert isinstance(worked, AssistantTurn)
        assert [each.name for each in worked.calls] == ["weather", "answer"]
        assert [each.text for each in worked.results][:1] == ["Rain in Oslo"]
        assert isinstance(answered, AssistantTurn)
        assert [each.text for each in answered.results] == ["Received."]

    def test_an_answer_that_was_the_value_itself_stays_as_it_was(self):
        here = Session(Scripted('```json\n{"a": 1}\n```'))
        here.do("…", returns={"a": int})
        assert told(here.conversation) == ["…", '```json\n{"a": 1}\n```']

    @pytest.mark.parametrize(
        ("end", "left"),
        [
            (["no", "never", "no", "not"], ["no", "", "never", "", "no", "", "not"]),
            ([("Never.", "refusal")], ["Never."]),
        ],
    )
    def test_after_a_failure_all_of_it_stays(self, end: list[Any], left: list[str]):
        here = Session(Scripted(*end))
        with pytest.raises(NoAnswer):
            here.do("How old?", returns=int)
        assert told(here.conversation) == ["How old?", *left]
        assert here.conversation.tools == ()

    def test_what_somebody_says_meanwhile_stays_visible_even_in_the_words_of_a_note(self):
        said: list[str] = []

        class Interrupting(Scripted):
            async def achat(self, conversation: Conversation, **options: Any) -> Reply:
                if self.options:
                    note = conversation.turns[-1].parts[-1]
                    assert isinstance(note, Note)
                    said.append(note.text)
                    here.conversation.add_user(said[0])
                return await super().achat(conversation, **options)

        here = Session(Interrupting("nonsense", '{"value": 4}'))
        assert here.do("How old?", returns=int).value == 4
        users = [turn.text for turn in here.conversation.turns if isinstance(turn, UserTurn)]
        assert users == ["How old?", "", said[0]]

    @pytest.mark.parametrize("model", APIS)
    @pytest.mark.parametrize("strategy", [None, *STRATEGIES])
    def test_each_request_begins_with_the_one_before_it(self, model: str, strategy: Any):
        def typed(**fields: Any) -> Any:
            return call("answer", **fields) if strategy == "tool" else Answer(json.dumps(fields))

        with Fake() as fake:
            fake.play(
                Answer("Let me see.", [call("weather", city="Oslo")], reasoning="Hm."),
                typed(name=3, age=30),
                typed(name="Al", age=30),
                typed(name="Bo", age=31),
                "You are welcome.",
            )
            here = Session(fake.connect(model), [weather], strategy=strategy)
            assert here.vibe("Who?", returns={"name": str, "age": int}).value == {"name": "Al", "age": 30}
            assert here.vibe("And?", returns={"name": str, "age": int}).value == {"name": "Bo", "age": 31}
            here.chat("Thanks.")
            bodies = [request.body for request in fake.requests]
            assert accepted(fake)
        assert len(bodies) == 5
        for before, after in itertools.pairwise(bodies):
            assert before.get("tools") == after.get("tools")
            assert entries(after)[: len(entries(before))] == entries(before)
        assert "Rain in Oslo" in json.dumps(bodies[-1])

    def test_streams_do_not_show_the_calls_that_return(self):
        with Fake() as fake:
            fake.play(Answer(calls=[call("weather", city="Oslo"), call("answer", wet=True)]))
            here = Session(fake.connect(APIS[0]), [weather], strategy="tool")
            with here.stream("Wet?", returns={"wet": bool}) as events:
                seen = [event.body for event in events]
        names = {each.name for each in seen if isinstance(each, CallDelta)} - {""}
        assert names == {"weather"}
        assert [each.call.name for each in seen if isinstance(each, CallFinished)] == ["weather"]
        text = "".join(each.arguments for each in seen if isinstance(each, CallDelta))
        assert "true" not in text


class TestNamedForms:
    LARGE: ClassVar[dict[str, Any]] = {f"a_field_with_a_long_name_{n}": int for n in range(20)}

    def test_a_long_form_is_stated_once_and_then_named(self):
        large = json.dumps(dict.fromkeys(self.LARGE, 1))
        here = Session(Scripted(large, '{"a": 1}', large, '{"a": 1}'))
        for returns in (self.LARGE, {"a": int}, self.LARGE, {"a": int}):
            here.do("…", returns=returns)
        first, second, third, fourth = form_notes(here.conversation)
        assert "JSON Schema (form 1):\n{" in first
        assert "JSON Schema:\n{" in second
        assert third == "Answer with nothing but JSON of form 1."
        assert fourth == second

    def test_another_long_form_has_a_number_of_its_own(self):
        other = {f"{name}_too": int for name in self.LARGE}
        here = Session(Scripted(*[json.dumps(dict.fromkeys(each, 1)) for each in (self.LARGE, other, other)]))
        for returns in (self.LARGE, other, other):
            here.do("…", returns=returns)
        first, second, third = form_notes(here.conversation)
        assert "(form 1)" in first
        assert "(form 2)" in second
        assert third == "Answer with nothing but JSON of form 2."

    def test_a_form_keeps_its_number_when_the_one_before_it_is_gone(self):
        other = {f"{name}_too": int for name in self.LARGE}
        here = Session(Scripted(*[json.dumps(dict.fromkeys(each, 1)) for each in (self.LARGE, other, other)]))
        here.do("…", returns=self.LARGE)
        here.do("…", returns=other)
        later = Conversation()
        later.add_user(here.conversation.turns[2].parts)  # type: ignore[arg-type]
        later.add_assistant("{}")
        Session(here.model, conversation=later).do("…", returns=other)
        assert form_notes(later)[1] == "Answer with nothing but JSON of form 2."

    def test_what_is_no_longer_there_is_stated_again(self):
        large = json.dumps(dict.fromkeys(self.LARGE, 1))
        here = Session(Scripted(large, large))
        here.do("…", returns=self.LARGE)
        fresh = Session(here.model, conversation=Conversation())
        fresh.do("…", returns=self.LARGE)
        assert "JSON Schema (form 1)" in form_notes(fresh.conversation)[0]

    def test_a_saved_conversation_knows_its_forms(self, tmp_path: Path):
        path = tmp_path / "talk.json"
        large = json.dumps(dict.fromkeys(self.LARGE, 1))
        here = Session(Scripted(large, large))
        here.do("…", returns=self.LARGE)
        here.conversation.save(path)
        again = Session(here.model, conversation=Conversation.load(path))
        again.do("…", returns=self.LARGE)
        assert form_notes(again.conversation)[1] == "Answer with nothing but JSON of form 1."


class TestATypeOrAnError:
    @pytest.mark.parametrize("model", APIS)
    @pytest.mark.parametrize("strategy", [None, *STRATEGIES])
    def test_a_field_that_may_be_left_out_is_not_lost(self, model: str, strategy: Any):
        value = {"name": "Al", "iban": "NO93"}
        with Fake() as fake:
            fake.play(call("answer", **value) if strategy == "tool" else json.dumps(value))
            here = Session(fake.connect(model), strategy=strategy)
            assert here.do("Who?", returns=Person).value == Person(name="Al", iban="NO93")
            assert accepted(fake)

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_a_misspelt_field_is_told_back_and_not_dropped(self, strategy: Any):
        model = Scripted(answering(strategy, name="Al", ibann="NO93"), answering(strategy, name="Al", iban="N"))
        assert Session(model, strategy=strategy).do("Who?", returns=Person).value == Person(name="Al", iban="N")
        assert "there is no field 'ibann'" in model.seen[1].replace("\\'", "'")

    @pytest.mark.parametrize(
        ("script", "settings", "error", "outcome", "reason"),
        [
            ([("I would rather not.", "refusal")], {}, ModelRefused, "refused", "I would rather not."),
            (
                [calls("weather", city="Oslo")] * 9,
                {"limits": Limits(requests=2)},
                LimitReached,
                "limit",
                "of 2 requests",
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

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_the_error_remembers_what_was_refused_and_why(self, strategy: Any):
        script = [*["I told you.", "Really.", "No."], answering(strategy, name="Al", age="old")]
        with pytest.raises(ReturnError) as caught:
            Session(Scripted(*script), strategy=strategy).do("Who?", returns={"name": str, "age": int})
        assert "'age' expected number, got text: \"old\"" in str(caught.value)
        assert [each.what for each in caught.value.refused[:3]] == script[:3]
        assert {each.why for each in caught.value.refused[:3]} == {"no JSON with name, age"}
        whole = 'answer({"name":"Al","age":"old"})' if strategy == "tool" else script[3]
        assert caught.value.refused[3].what == whole
        assert "expected number" in caught.value.refused[3].why

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
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_a_value_of_another_type_is_told_back_by_name(self, strategy: Any, wanted: Any, given: Any, reason: str):
        model = Scripted(*[answering(strategy, value=given)] * 9)
        with pytest.raises(ReturnError) as caught:
            Session(model, strategy=strategy).do("…", returns=wanted)
        assert reason in str(caught.value)
        assert reason in model.seen[1].replace("\\'", "'")

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_a_whole_number_may_be_written_as_a_fraction(self, strategy: Any):
        model = Scripted(answering(strategy, value=3.0))
        assert Session(model, strategy=strategy).do("…", returns=int).value == 3


class TestWhatIsSent:
    def body(self, wanted: Any, model: str = APIS[0], **settings: Any) -> dict[str, Any]:
        with Fake() as fake:
            return json.loads(Session(fake.connect(model), **settings).request("Who?", returns=wanted))

    @pytest.mark.parametrize("model", APIS)
    @pytest.mark.parametrize("strategy", [None, *STRATEGIES])
    def test_the_types_own_words_and_those_of_its_fields(self, model: str, strategy: Any):
        text = json.dumps(self.body(Person, model, strategy=strategy))
        assert text.count("Somebody with a bank account.") == 1
        assert text.count("First name") == 1
        assert text.count("iban") == 1

    def test_by_a_tool_it_is_one_tool(self):
        for wanted in (Person, Wide, Tree, {"a": str, "b": list[int]}, int):
            assert [each["name"] for each in self.body(wanted, strategy="tool")["tools"]] == ["answer"]

    def test_in_words_nothing_is_declared(self):
        body = self.body(Wide, strategy="prompted")
        assert "tools" not in body
        assert "output_config" not in body
        assert body["messages"][0]["content"][0]["text"] == "Who?"
        assert body["messages"][0]["content"][1]["text"].startswith("Answer with nothing but JSON that fits this JSON")

    @pytest.mark.parametrize("model", APIS)
    @pytest.mark.parametrize("strategy", [*STRATEGIES, None])
    def test_a_type_that_holds_itself(self, model: str, strategy: Any):
        value = {"name": "a", "children": [{"name": "b", "children": []}]}
        with Fake() as fake:
            here = Session(fake.connect(model), strategy=strategy)
            if strategy == "native" and "claude" in model:
                with pytest.raises(OptionError, match="no structured output of its own for this type"):
                    here.do("…", returns=Tree)
                assert fake.requests == []
                return
            fake.play(call("answer", **value) if strategy == "tool" else json.dumps(value))
            assert here.do("…", returns=Tree).value == Tree(name="a", children=[Tree(name="b")])
            assert accepted(fake)


class TestOfAConversation:
    def test_tools_that_the_provider_runs_stay_declared(self):
        search = ToolSpec("web_search", native=ProviderPayload(Origin("anthropic", "anthropic", ""), WEB_SEARCH))
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
        with pytest.raises(ModelRefused, match="I cannot") as caught:
            Session(Scripted(("I cannot.", "refusal"))).do("…", returns=int)
        assert caught.value.run.said == "I cannot."

    def test_an_empty_answer_is_called_one(self):
        with pytest.raises(ReturnError, match="an empty answer") as caught:
            Session(Scripted("", " "), attempts=1).do("…", returns=int)
        assert caught.value.received == ["an empty answer"] * 2
