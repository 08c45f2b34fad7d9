"""Saving and loading: nothing lost, nothing half-written, nothing read that is not there."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    Image,
    OpaquePart,
    Origin,
    ProviderPayload,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from antiphon.conversation import serialization as storage
from antiphon.errors import AntiphonError, FormatError, VersionError
from antiphon.results import Display, Location, Result
from tests.strategies import conversations, json_values


def small() -> Conversation:
    conversation = Conversation("Be brief.")
    conversation.add_user("hi")
    conversation.add_tool_calls_and_results([ToolCall("c1", "f", {"a": 1})], [ToolResult("c1", "x")])
    return conversation


@given(conversations())
@settings(max_examples=100)
def test_save_and_load_are_inverse(conversation: Conversation):
    text = json.dumps(storage.conversation_to_json(conversation))
    loaded, changes = storage.conversation_from_json(json.loads(text))
    assert changes == []
    assert loaded == conversation
    assert json.dumps(storage.conversation_to_json(loaded)) == text


@given(conversations())
@settings(max_examples=50)
def test_json_data_and_back(conversation: Conversation):
    assert Conversation.from_json(json.loads(json.dumps(conversation.to_json()))) == conversation


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"format": "other"}, "this is not a saved conversation"),
        ({"turns": 3}, "turns"),
        ({"turns": [{"role": "assistant", "parts": [], "results": [{"id": "c9", "text": "x"}]}]}, "turn 1"),
    ],
)
def test_broken_json_data_is_refused(change: dict[str, object], hint: str):
    with pytest.raises(FormatError, match=hint):
        Conversation.from_json({**small().to_json(), **change})
    with pytest.raises(VersionError):
        Conversation.from_json({**small().to_json(), "version": 99})


ODD = "a\ud800\x00é\udfff"


@pytest.mark.parametrize(
    "conversation",
    [
        Conversation(ODD).add_user(ODD).add_user(ODD, author="@ann"),
        Conversation("", [ToolSpec("f", ODD, {"properties": {ODD: {"enum": (ODD, 1)}}})]).add_user("hi"),
        Conversation().add_user(Image(url=f"https://example.com/{ODD}")),
        Conversation().add_user(OpaquePart(ProviderPayload(Origin(ODD, ODD, ODD), {ODD: [ODD, ("x",)]}), ODD)),
        small().add_assistant([Reasoning(ODD), Text(ODD), ToolCall("d", "f", {ODD: {"a": [ODD, (1, 2)], 1: None}})]),
        small().add_assistant([ToolCall.read("d", "f", '{"a": "\\ud800"}')]),
        small().add_assistant([ToolCall("d", "f", problem=ODD)]),
        small().add_assistant([ToolCall("d", "f")]).add_tool_results([ToolResult("d", ODD, handle=ODD)]),
        small().add_assistant([ToolCall("d", "f")]).add_tool_results([ToolResult("d", (Text(ODD),), is_error=True)]),
        small()
        .add_assistant([ToolCall("d", "f")])
        .add_tool_results(
            [
                ToolResult(
                    "d",
                    "x",
                    semantic=Result(
                        "a.b",
                        {ODD: ODD},
                        ODD,
                        ODD,
                        Display(language=ODD, field_types={ODD: "url"}),
                        ODD,
                        (Location(ODD, 1),),
                    ),
                )
            ]
        ),
    ],
)
def test_whatever_text_comes_in_comes_back_from_a_file(tmp_path: Path, conversation: Conversation):
    conversation.keep(ODD, ODD)
    path = tmp_path / "c.json"
    conversation.save(path)
    assert Conversation.load(path) == conversation
    assert conversation.whole(ODD) == "a\ufffd\ufffdé\ufffd"


def test_the_arguments_of_a_call_do_not_change_with_the_object_they_came_in():
    arguments = {"paths": ["a"]}
    call = ToolCall("c", "f", arguments)
    arguments["paths"].append("b")
    assert call.arguments == {"paths": ["a"]}


def test_the_file_is_readable(tmp_path: Path):
    path = tmp_path / "c.json"
    small().save(path)
    data = json.loads(path.read_text())
    assert data["format"] == "antiphon/conversation"
    assert data["version"] == 1
    assert data["turns"][1] == {
        "role": "assistant",
        "parts": [{"type": "call", "id": "c1", "name": "f", "arguments": {"a": 1}}],
        "results": [{"content": "x", "call_id": "c1"}],
    }


def test_saving_again_keeps_the_old_file_if_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "c.json"
    small().save(path)
    before = path.read_bytes()
    path.chmod(0o600)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    longer = small()
    longer.add_user("more")
    with pytest.raises(FormatError, match=r"cannot write .*c\.json: No space left on device"):
        longer.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c.json"]
    monkeypatch.undo()
    longer.save(path)
    assert path.stat().st_mode & 0o777 == 0o600, "the permissions stay"
    assert Conversation.load(path) == longer


def test_a_link_is_followed_not_replaced(tmp_path: Path):
    small().save(tmp_path / "real.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    small().save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", FormatError, "is not JSON"),
        (b'{"format": "antiphon/conv', FormatError, "is not JSON"),
        (b"\xff\xfe{}", FormatError, "is not UTF-8: byte 0 is 0xff"),
        (b"[" * 100_000, FormatError, "is nested too deeply"),
        (b'{"a": NaN}', FormatError, "NaN is not JSON"),
        (b"[]", FormatError, "the file is an object, not list"),
        (b"{}", FormatError, "this is not a saved conversation"),
        (
            b'{"format": "antiphon/conversation", "version": 3}',
            VersionError,
            "version 3, and this release reads versions 1 and 2",
        ),
    ],
)
def test_files_that_are_no_conversation(tmp_path: Path, content: bytes, error: type[Exception], message: str):
    path = tmp_path / "c.json"
    path.write_bytes(content)
    with pytest.raises(error, match=message) as caught:
        Conversation.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_bare_results_may_come_after_loading_too(tmp_path: Path):
    conversation = Conversation(auto_assistant_tool_calls=True)
    conversation.add_user("hi")
    conversation.save(tmp_path / "c.json")
    loaded = Conversation.load(tmp_path / "c.json")
    loaded.add_tool_result("x", "y")
    assert loaded.ready()


def test_no_file(tmp_path: Path):
    with pytest.raises(FormatError, match=r"cannot read .*none\.json: No such file or directory"):
        Conversation.load(tmp_path / "none.json")
    with pytest.raises(FormatError, match="cannot read"):
        Conversation.load("a\0b")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d["turns"][1]["results"].append({"call_id": "zz", "content": "y"}),
            "turn 2: a result for call 'zz'",
        ),
        (lambda d: d["turns"][1]["results"].append({"call_id": "c1", "content": "y"}), "turn 2: a second result"),
        (lambda d: d["turns"][1].update(role="tool"), "turn 2: `role` is 'user' or 'assistant', not 'tool'"),
        (lambda d: d["turns"][1]["parts"][0].update(id=""), "turn 2, part 1: a call id is"),
        (
            lambda d: d["turns"][1]["parts"][0].update(arguments=[]),
            "turn 2, part 1: `arguments` is an object, not list",
        ),
        (lambda d: d["turns"][0]["parts"][0].update(type="smell"), "turn 1, part 1: there is no part of type 'smell'"),
        (lambda d: d["turns"][0]["parts"][0].update(text=3), "turn 1, part 1: `text` is text, not int"),
        (lambda d: d["turns"][0]["parts"].append({"type": "reasoning"}), "turn 1, part 2: a part of type 'reasoning'"),
        (lambda d: d["turns"][1]["results"][0].update(content=3), "turn 2, result 1: `content` is text or a list"),
        (lambda d: d.update(turns={}), "`turns` is a list, not dict"),
        (lambda d: d.update(kept=[]), "`kept` is an object"),
        (lambda d: d.update(tools=[{"name": "a b"}]), "tool 1: a tool name is"),
    ],
)
def test_what_is_wrong_is_named_by_turn_and_part(tmp_path: Path, change, message: str):
    data = storage.conversation_to_json(small())
    change(data)
    path = tmp_path / "c.json"
    path.write_text(json.dumps(data))
    with pytest.raises(FormatError, match=message.replace("(", r"\(")):
        Conversation.load(path)


@given(json_values, st.sampled_from(["turns", "tools", "kept", "system", "version"]))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_in_any_place_gives_our_own_errors_only(value: object, key: str):
    data = storage.conversation_to_json(small())
    data[key] = value if key != "turns" else [{"role": "user", "parts": value}, {"role": "assistant", "parts": value}]
    with contextlib.suppress(AntiphonError):
        storage.conversation_from_json(data)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_permissions_that_files_have_here(tmp_path: Path, mask: int, mode: int):
    before = os.umask(mask)
    try:
        small().save(tmp_path / "c.json")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "c.json").stat().st_mode & 0o777 == mode


def test_the_permissions_of_a_file_stay(tmp_path: Path):
    path = tmp_path / "c.json"
    small().save(path)
    path.chmod(0o640)
    small().save(path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path):
    path = tmp_path / "c.json"
    small().save(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Conversation.load(path) == small()


def test_arguments_and_their_spelling_say_the_same():
    data = storage.conversation_to_json(small())
    call = data["turns"][1]["parts"][0]
    call["arguments_json"] = '{ "a": 1 }'
    assert storage.conversation_from_json(data)[0].turns[1].calls[0].arguments_json == '{ "a": 1 }'  # type: ignore[union-attr]
    call["arguments_json"] = '{"a": 2}'
    with pytest.raises(FormatError, match="`arguments` and `arguments_json` differ"):
        storage.conversation_from_json(data)


@pytest.mark.parametrize("origin", [[], ["a", "b"], ["a", "b", "c", "d"], ["a", "b", 3]])
def test_an_origin_is_three_texts(origin: list[object]):
    data = storage.conversation_to_json(small())
    data["turns"][0]["parts"][0]["native"] = {"origin": origin, "data": {}}
    with pytest.raises(FormatError, match="`origin` is three texts"):
        storage.conversation_from_json(data)


def test_thoughts_that_say_nothing_leave_no_gap():
    turn = AssistantTurn((Reasoning("a"), Reasoning(""), Text("x"), Reasoning("b")))
    assert (turn.reasoning, turn.text) == ("a\n\nb", "x")
