"""The helpers of the seeds, and what they refuse."""

import pytest

from antiphon.conversation import (
    AssistantTurn,
    Chat,
    Conversation,
    Image,
    Item,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserTurn,
    assemble,
)
from antiphon.errors import AntiphonError, ContentError, NotReadyError, PairingError

LIST = ToolCall("call_1", "list_files", {"pattern": "*"})
READ = ToolCall("call_2", "read_file", {"path": "a.py"})


def calling(*calls: ToolCall) -> Conversation:
    conversation = Conversation("Be brief.")
    conversation.add_user("What is here?")
    conversation.add_assistant_tool_calls(calls or (LIST,), "Let me check the files...")
    return conversation


def test_calls_and_results_are_one_turn_in_call_order():
    conversation = calling(LIST, READ)
    conversation.add_tool_result("call_2", "print(1)")
    assert conversation.open_calls == (LIST,)
    conversation.add_tool_result("call_1", "a.py")
    turn = conversation.turns[-1]
    assert isinstance(turn, AssistantTurn)
    assert [result.text for result in turn.results] == ["a.py", "print(1)"]
    assert conversation.ready()


def test_add_tool_calls_and_results_adds_both_or_nothing():
    conversation = Conversation()
    conversation.add_user("hi")
    before = conversation.turns
    with pytest.raises(PairingError, match=r"no call 'other' is open; open: 'call_1' \(`list_files`\)"):
        conversation.add_tool_calls_and_results([LIST], [ToolResult("other", "x")])
    assert conversation.turns == before
    conversation.add_tool_calls_and_results([LIST], [ToolResult("call_1", "a.py")])
    assert conversation.ready()


def test_text_added_while_calls_are_open_is_kept_behind_the_results():
    conversation = calling()
    conversation.add_user("general knowledge probably...")
    assert not conversation.ready()
    conversation.add_tool_result("call_1", "file1.go\nfile2.go")
    assert conversation.ready()
    assert isinstance(conversation.turns[-1], UserTurn)
    assert conversation.turns[-1].text == "general knowledge probably..."


def test_chat_of_other_agents_is_attributed_and_the_humans_is_not():
    conversation = Conversation()
    conversation.add_user("Which file?", author="@human")
    conversation.add_user("I am on it", author="coder-2")
    (turn,) = conversation.turns
    assert turn.parts == (Text("Which file?"), Chat("@coder-2", "I am on it"))
    picture = Image(url="https://example.com/x.png")
    other = Conversation()
    other.add_user([Text("look"), picture], author="@coder-2")
    assert other.turns[0].parts == (Chat("@coder-2", "look"), picture)
    assert turn.text == "Which file?\n\n[Chat from @coder-2]: I am on it"


def test_whatever_adds_returns_the_conversation():
    conversation = Conversation()
    calls, results = [ToolCall("a", "f")], [ToolResult("a", "x")]
    assert conversation.add_user("hi").add_assistant_tool_calls(calls).add_tool_result("a", "x") is conversation
    assert conversation.add_assistant("so").add_user("and?") is conversation
    again = [ToolCall("b", "f")]
    assert conversation.add_tool_calls_and_results(again, [ToolResult("b", "y")]) is conversation
    other = Conversation().add_user("hi").add_assistant_tool_calls(calls)
    assert other.add_assistant_tool_calls(calls) is other
    assert other.add_tool_results(results) is other


def test_a_fork_keeps_what_it_kept_and_nothing_that_is_kept_later():
    conversation = Conversation().add_user("hi")
    conversation.keep("result:a", "whole")
    fork = conversation.fork()
    fork.keep("result:b", "the fork's")
    conversation.keep("result:c", "the first one's")
    assert fork.kept == {"result:a": "whole", "result:b": "the fork's"}
    assert conversation.kept == {"result:a": "whole", "result:c": "the first one's"}
    assert conversation.compact(10_000).kept == conversation.kept
    repaired, _ = conversation.repair()
    repaired.keep("result:d", "")
    assert "result:d" not in conversation.kept


@pytest.mark.parametrize(
    ("results", "answers"),
    [
        ([("", "g", "of g")], {"b": "of g"}),
        ([("", "g", "of g"), ("", "f", "of f")], {"a": "of f", "b": "of g"}),
        ([("a", "", "of f"), ("", "", "the other")], {"a": "of f", "b": "the other"}),
        ([("", "h", "nobody's")], {}),
        ([("", "", "whose?")], {}),
    ],
)
def test_a_result_without_an_id_belongs_to_the_one_open_call_of_its_name(results, answers):
    given = tuple(ToolResult(id, text, name=name) for id, name, text in results)
    items = [
        Item("user", "1", (Text("hi"),)),
        Item("assistant", "2", (ToolCall("a", "f"), ToolCall("b", "g"))),
        Item("user", "3", results=given),
    ]
    conversation, changes = assemble(items)
    turn = conversation.turns[1]
    assert isinstance(turn, AssistantTurn)
    assert {result.call_id: result.text for result in turn.results} == answers
    nameless = [id for id, _, _ in results if not id]
    assert [change.code for change in changes] == (["bad-id"] if answers else ["orphan-result"]) * len(nameless)


def test_of_two_open_calls_of_one_name_none_is_guessed():
    items = [
        Item("assistant", "1", (ToolCall("a", "f"), ToolCall("b", "f"))),
        Item("user", "2", results=(ToolResult("", "x", name="f"),)),
    ]
    conversation, (change,) = assemble(items)
    assert change.code == "orphan-result"
    assert len(conversation.open_calls) == 2


@pytest.mark.parametrize("author", ["", "@", "two words", "@a]: b", "x" * 65, "a\nb"])
def test_an_author_is_a_plain_name(author: str):
    with pytest.raises(ContentError, match="a chat author is a name"):
        Conversation().add_user("hi", author=author)


class TestWrongOrder:
    def test_a_result_without_any_call(self):
        conversation = Conversation()
        conversation.add_user("hi")
        with pytest.raises(PairingError, match=r"no call 'call_9' is open; no call is") as caught:
            conversation.add_tool_result("call_9", "x")
        assert caught.value.call_id == "call_9"

    def test_a_second_result(self):
        conversation = calling()
        conversation.add_tool_result("call_1", "x")
        with pytest.raises(PairingError, match=r"call 'call_1' already has its result$"):
            conversation.add_tool_result("call_1", "y")

    def test_a_result_for_an_earlier_turn(self):
        conversation = calling()
        conversation.add_tool_result("call_1", "x")
        conversation.add_assistant_tool_calls([READ])
        with pytest.raises(PairingError, match="already has its result in an earlier turn"):
            conversation.add_tool_result("call_1", "y")

    def test_two_results_for_one_call_at_once(self):
        conversation = calling()
        with pytest.raises(PairingError, match="two results were given for call 'call_1'"):
            conversation.add_tool_results([ToolResult("call_1", "x"), ToolResult("call_1", "y")])
        assert conversation.open_calls == (LIST,)

    def test_one_wrong_result_among_good_ones_changes_nothing(self):
        conversation = calling(LIST, READ)
        with pytest.raises(PairingError):
            conversation.add_tool_results([ToolResult("call_1", "x"), ToolResult("nope", "y")])
        assert conversation.open_calls == (LIST, READ)

    def test_the_model_speaks_while_calls_are_open(self):
        conversation = calling()
        with pytest.raises(PairingError, match=r"the model cannot speak yet: no result for call 'call_1'"):
            conversation.add_assistant("Done.")

    def test_a_call_id_twice(self):
        conversation = calling()
        conversation.add_tool_result("call_1", "x")
        with pytest.raises(PairingError, match=r"call id 'call_1' .* is already in use"):
            conversation.add_assistant_tool_calls([LIST])

    def test_calls_that_are_open_already_are_not_added_twice(self):
        conversation = calling(LIST, READ)
        conversation.add_assistant_tool_calls([LIST, READ])
        assert len(conversation.turns) == 2


class TestAutoAssistantToolCalls:
    def test_bare_results_bring_their_calls_along(self):
        conversation = Conversation(auto_assistant_tool_calls=True)
        conversation.add_user("hi")
        conversation.add_tool_results([ToolResult("call_1", "x", name="list_files"), ToolResult("call_2", "y")])
        turn = conversation.turns[-1]
        assert isinstance(turn, AssistantTurn)
        assert [(call.id, call.name) for call in turn.calls] == [("call_1", "list_files"), ("call_2", "tool")]
        assert conversation.ready()

    def test_known_calls_are_not_invented_again(self):
        conversation = Conversation(auto_assistant_tool_calls=True)
        conversation.add_user("hi")
        conversation.add_assistant_tool_calls([LIST])
        conversation.add_tool_result("call_1", "x")
        assert len(conversation.turns) == 2
        with pytest.raises(PairingError, match="already has its result"):
            conversation.add_tool_result("call_1", "x")

    def test_it_is_off_by_default(self):
        with pytest.raises(PairingError):
            Conversation().add_tool_result("call_1", "x")


class TestReady:
    def test_it_says_what_is_missing(self):
        conversation = Conversation()
        assert conversation.ready().reason == "the conversation is empty; add a user turn"
        conversation.add_user("hi")
        assert conversation.ready()
        conversation.add_assistant_tool_calls([LIST])
        ready = conversation.ready()
        assert ready.open_calls == (LIST,)
        assert ready.reason.startswith("no result yet for call 'call_1' (`list_files`)")
        conversation.add_tool_result("call_1", "x")
        assert conversation.ready()
        conversation.add_assistant("Done.")
        assert conversation.ready().reason == "the model has answered; add a user turn"


class TestRepair:
    def test_open_calls_are_answered_as_interrupted(self):
        conversation = calling(LIST, READ)
        conversation.add_tool_result("call_2", "print(1)")
        conversation.add_user("stop")
        repaired, changes = conversation.repair()
        assert [(c.code, c.where, c.call_id) for c in changes] == [("unanswered-call", "turn 2", "call_1")]
        turn = repaired.turns[1]
        assert isinstance(turn, AssistantTurn)
        assert [(r.call_id, r.is_error) for r in turn.results] == [("call_1", True), ("call_2", False)]
        assert turn.results[1].text == "print(1)"
        assert conversation.open_calls == (LIST,), "repair is pure"

    def test_nothing_to_repair_changes_nothing(self):
        conversation = calling()
        conversation.add_tool_result("call_1", "x")
        repaired, changes = conversation.repair()
        assert changes == []
        assert all(a is b for a, b in zip(repaired.turns, conversation.turns, strict=True))


class TestForkAndUndo:
    def test_a_fork_goes_its_own_way(self):
        conversation = calling()
        other = conversation.fork()
        other.add_tool_result("call_1", "x")
        assert conversation.open_calls == (LIST,)
        assert conversation.fork(1).turns == conversation.turns[:1]

    def test_undo_takes_back_whole_turns_and_frees_their_ids(self):
        conversation = calling()
        conversation.add_tool_result("call_1", "x")
        (removed,) = conversation.undo()
        assert isinstance(removed, AssistantTurn)
        assert len(removed.results) == 1
        conversation.add_assistant_tool_calls([LIST])
        assert conversation.open_calls == (LIST,)

    def test_more_turns_than_there_are(self):
        with pytest.raises(ContentError, match="there are 2 turns, so 3 cannot be taken back"):
            calling().undo(3)
        with pytest.raises(ContentError, match="there are 2 turns"):
            calling().fork(3)


class TestReplies:
    def test_an_id_that_is_taken_is_replaced(self):
        conversation = calling()
        conversation.add_tool_result("call_1", "x")
        turn = conversation.add_reply([ToolCall("call_1", "list_files"), ToolCall("call_1", "read_file")])
        assert [call.name for call in turn.calls] == ["list_files", "read_file"]
        assert len({"call_1", *(call.id for call in turn.calls)}) == 3
        assert conversation.open_calls == turn.calls

    def test_what_is_said_while_the_model_answers_comes_after_the_answer(self):
        conversation = Conversation()
        conversation.add_user("first")
        seen = conversation.turns
        conversation.add_user("second")
        conversation.add_reply([Text("to the first")], seen=seen)
        assert [turn.text for turn in conversation.turns] == ["first", "to the first", "second"]

    def test_after_results_too(self):
        conversation = calling()
        conversation.add_tool_result("call_1", "x")
        seen = conversation.turns
        conversation.add_user("wait")
        conversation.add_reply([ToolCall("call_2", "read_file")], seen=seen)
        assert conversation.open_calls[0].id == "call_2"
        assert conversation.turns[-1].text == "wait"

    @pytest.mark.parametrize("change", ["undo", "reply"])
    def test_a_reply_to_something_else_is_refused(self, change: str):
        conversation = Conversation()
        conversation.add_user("first")
        seen = conversation.turns
        if change == "undo":
            conversation.undo()
        else:
            conversation.add_reply([Text("other")], seen=seen)
        before = conversation.turns
        with pytest.raises(NotReadyError, match="does not fit in"):
            conversation.add_reply([Text("late")], seen=seen)
        assert conversation.turns == before


class TestContent:
    @pytest.mark.parametrize("text", ["", "  \n\t"])
    def test_empty_text_is_refused(self, text: str):
        with pytest.raises(ContentError, match="the text is empty"):
            Conversation().add_user(text)

    def test_no_content_is_refused(self):
        with pytest.raises(ContentError, match="needs text, an image or a file"):
            Conversation().add_user([])

    @pytest.mark.parametrize("wrong", [3, None, {"role": "user"}, [3], [None], [LIST], [Reasoning("hm")]])
    def test_content_of_the_wrong_kind(self, wrong: object):
        with pytest.raises(ContentError, match="a user turn holds text, images, files and chat, not "):
            Conversation().add_user(wrong)  # type: ignore[arg-type]

    @pytest.mark.parametrize("wrong", [3, None, [3], [Image(url="https://x")]])
    def test_the_model_cannot_say_this(self, wrong: object):
        with pytest.raises(ContentError, match="an assistant turn holds text, reasoning and calls, not "):
            Conversation().add_assistant(wrong)  # type: ignore[arg-type]

    def test_what_cannot_travel_is_replaced(self):
        assert Text("a\0b\ud800c").text == "a�b�c"
        assert ToolResult("x", "a\0b").text == "a�b"
        assert ToolCall("x", "f", {"a": "\udfff"}).arguments_json == '{"a":"�"}'

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: ToolCall("", "f"), "a call id is 1 to 40"),
            (lambda: ToolCall("a b", "f"), "a call id is 1 to 40"),
            (lambda: ToolCall("x" * 41, "f"), "a call id is 1 to 40"),
            (lambda: ToolCall("x\n", "f"), "a call id is 1 to 40"),
            (lambda: ToolCall("x", ""), "a tool name is"),
            (lambda: ToolCall("x", "1f"), "a tool name is"),
            (lambda: ToolCall("x", "a.b"), "a tool name is"),
            (lambda: ToolCall("x", "f", [1]), "the arguments of call 'x' are an object, not list"),  # type: ignore[arg-type]
            (lambda: ToolCall("x", "f", {"a": float("nan")}), "the arguments of call 'x' to `f` has no JSON form"),
            (lambda: ToolCall("x", "f", {"a": {1}}), "has no JSON form"),
            (lambda: ToolResult("x", 3), "the result of call 'x' is text or a list of parts, not int"),  # type: ignore[arg-type]
            (lambda: ToolResult("x", (3,)), "holds text, images and files, not int"),  # type: ignore[arg-type]
            (lambda: ToolResult("x", (Image(url="https://x"),), True), "error result of call 'x' holds text only"),
            (lambda: ToolResult("x", {"temp": 4}), "is text or a list of parts, not dict"),  # type: ignore[arg-type]
            (lambda: Image(data="not base64!!", media_type="image/png"), "an image's `data` is base64"),
            (lambda: ToolSpec("f", "", [1]), "a JSON Schema of type object"),  # type: ignore[arg-type]
            (lambda: Conversation(tools=ToolSpec("f")), "a list of ToolSpec is wanted, not ToolSpec"),  # type: ignore[arg-type]
            (lambda: Conversation().add_assistant(""), "an assistant turn needs text or a call"),
            (lambda: Conversation().add_assistant([]), "an assistant turn needs text or a call"),
            (lambda: Conversation().add_assistant_tool_calls("x"), "a list of ToolCall is wanted, not str"),  # type: ignore[arg-type]
            (lambda: Image(), "either `data`"),
            (lambda: Image(data="x", url="y"), "either `data`"),
            (lambda: Image(data="x", media_type="text/html"), "media_type"),
            (lambda: ToolSpec("f", "", {"type": "string"}), "a JSON Schema of type object"),
            (lambda: Conversation(tools=[ToolSpec("f"), ToolSpec("f")]), "two tools are named `f`"),
        ],
    )
    def test_what_no_provider_takes_is_refused_at_once(self, make, message: str):
        with pytest.raises(AntiphonError, match=message):
            make()

    @pytest.mark.parametrize(
        "mistake",
        [
            lambda: Conversation(3),
            lambda: Conversation(tools=["now"]),
            lambda: Conversation().add_user("hi", author=3),
            lambda: Conversation().add_tool_results([3]),
            lambda: Conversation().add_tool_result(3, "x"),
            lambda: ToolCall(3, "f"),
            lambda: ToolCall("x", None),
            lambda: Text(b"bytes"),
            lambda: ToolSpec("f", 3),
        ],
    )
    def test_values_of_the_wrong_type_are_our_own_errors(self, mistake):
        with pytest.raises(AntiphonError):
            mistake()

    def test_deep_and_cyclic_arguments(self):
        deep: dict[str, object] = {}
        for _ in range(100_000):
            deep = {"a": deep}
        cycle: dict[str, object] = {}
        cycle["a"] = cycle
        for value in (deep, cycle):
            with pytest.raises(ContentError):
                ToolCall("x", "f", value)


class TestCallsAsModelsSendThem:
    @pytest.mark.parametrize("text", ["", "  ", "{}"])
    def test_no_arguments(self, text: str):
        call = ToolCall.read("x", "f", text)
        assert call.arguments == {}
        assert call.problem is None

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('{"a": ', "the argument text is not JSON"),
            ("null", "the arguments are a JSON object, not null"),
            ("5", "the arguments are a JSON object, not 5"),
            ('"x"', "the arguments are a JSON object"),
            ("NaN", "the argument text is not JSON: NaN is not JSON"),
            ('{"a": 1e999}', "number out of range"),
        ],
    )
    def test_what_is_no_object_must_not_be_run_and_is_not_lost(self, text: str, problem: str):
        call = ToolCall.read("x", "f", text)
        assert call.problem is not None
        assert problem in call.problem
        assert "_malformed" in call.arguments

    def test_the_models_own_spelling_is_kept(self):
        assert ToolCall.read("x", "f", '{"a" :  1}').arguments_json == '{"a" :  1}'

    def test_later_changes_of_the_given_object_have_no_effect(self):
        given = {"paths": ["a"]}
        call = ToolCall.read("x", "f", given)
        given["paths"].append("b")
        assert (call.arguments, call.arguments_json) == ({"paths": ["a"]}, '{"paths":["a"]}')

    def test_a_call_that_was_cut_off_is_marked(self):
        call = ToolCall.read("x", "f", '{"a": 1}', truncated=True)
        assert call.problem == "cut off by the token limit before its arguments were complete"

    def test_an_illegal_name_or_id_is_made_legal(self):
        call = ToolCall.read("functions.Bash:0", "default_api.run", "{}")
        assert call.name == "default_api_run"
        assert call.problem == "there is no tool named 'default_api.run'"
        assert (
            call.id
            == ToolCall.read("functions.Bash:0", "f", "{}").id
            != ToolCall.read("functions.Bash:1", "f", "{}").id
        )


def test_a_copy_for_a_request_is_made_only_if_one_can_be_sent():
    conversation = Conversation()
    with pytest.raises(NotReadyError, match="cannot be sent: the conversation is empty"):
        conversation.fork_for_request()
    assert conversation.snapshot() == conversation
    assert conversation.add_user("Go.").fork_for_request().request_heads == conversation.heads


def test_an_object_without_a_json_form_is_a_malformed_call():
    call = ToolCall.read("x", "f", {"a": {1}})
    assert call.arguments == {"_malformed": "a dict"}
    assert "has no JSON form" in (call.problem or "")
