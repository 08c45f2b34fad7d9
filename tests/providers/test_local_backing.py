"""What a local model may say without having looked, with a runtime that says what a test wants it to say."""

import io
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Conversation, Session, ToolCall, ToolSpec, connect
from antiphon.conversation import Image
from antiphon.errors import ContentError
from antiphon.local import engine, manifest
from antiphon.local import kv_cache_store as kept
from antiphon.local.engine import choose_thread_counts
from antiphon.local.groundedness import (
    ClaimFilter,
    asks_for_names,
    claims_tool_knowledge,
    needs_no_tool,
    select_required_tools,
)
from antiphon.local.progress import Report, TimeEstimate, show_download_progress
from antiphon.session import Event, RequestStarted, RunStarted
from antiphon.tools import Tool
from antiphon.tools.builtin import all_tools, read_only_tools
from antiphon.views import RunViews
from antiphon.wire import ProgressDelta, TextDelta


def told(tools: list[Tool]) -> list[dict[str, Any]]:
    """Tools as a request tells of them."""
    return [
        {"name": tool.name, "description": tool.spec.description, "parameters": tool.spec.parameters} for tool in tools
    ]


TOOLS = told(read_only_tools())
ALL_TOOLS = told(all_tools())
STOCK = [{"name": "stock", "description": "How many of a product are in stock."}]


@pytest.mark.parametrize(
    "request_",
    [
        "Which files are in this directory?",
        "what's in src/app?",
        "What does notes.txt say?",
        "Summarise the README",
        "How many lines has main.rs",
        "Where is parse_header defined?",
        "What is MAX_SIZE set to?",
        "Write a summary of docs/plan.md",
        "Which commit was the last?",
        "Are there uncommitted changes?",
        "What time is it?",
        "Who maintains this project?",
        "what does the readme say?",
        "Show me NOTES.TXT",
        "What does the function fits do?",
        "How long is the timeout that is configured?",
    ],
)
def test_what_only_a_tool_can_know_is_looked_at(request_: str):
    assert select_required_tools(request_, TOOLS)


@pytest.mark.parametrize(
    "request_",
    [
        "What is 2 + 2?",
        "What is the capital of Denmark?",
        "Write a function that reverses a list.",
        "Translate 'the file is here' into French.",
        "Thanks!",
        "What is the function of the heart?",
        "Is 3.5 larger than 3.14, i.e. is it more?",
        "Summarise this.\n\nnotes.txt:\n```\nThe file src/a.py is new.\n```",
    ],
)
def test_what_anybody_knows_or_has_been_given_is_not(request_: str):
    assert not select_required_tools(request_, TOOLS)


def test_tools_that_see_no_files_are_not_asked_about_them():
    assert not select_required_tools("What does notes.txt say?", STOCK)
    assert not claims_tool_knowledge("The file notes.txt says hello.", STOCK)


def test_an_answer_claims_when_it_speaks_of_what_nobody_has_looked_at():
    assert claims_tool_knowledge("The file says that the port is 80.", TOOLS)
    assert claims_tool_knowledge("I have checked, and it is in config.toml.", TOOLS)
    assert claims_tool_knowledge("It is 14:05.", TOOLS)
    assert not claims_tool_knowledge("It is 4.", TOOLS)
    assert not claims_tool_knowledge("Copenhagen is the capital of Denmark.", TOOLS)


def names(request: str, is_first: bool = True, tools: list[dict[str, Any]] = TOOLS) -> list[str]:
    return [tool["name"] for tool in select_required_tools(request, tools, is_first)]


def test_a_file_that_is_named_is_read_and_searched_for_where_that_failed():
    assert names("What does notes.txt say?") == ["read_file"]
    assert names("What does notes.txt say?", is_first=False) == ["read_file", "list_files", "glob_files", "grep_files"]
    assert "grep_files" in names("Which files mention notes.txt?")
    assert "list_files" in names("What is in src/app?")
    assert "grep_files" in names("Are there FIXMEs?")


def test_files_of_a_kind_are_found_by_a_pattern_of_their_names():
    for request in ("Is there a CSV file here? What is it called?", "List all Python files.", "Show me the .md files"):
        assert names(request) == ["glob_files"]
    assert "grep_files" in names("Which Python files mention harbour?")
    assert "list_files" in names("Which files are here?")


def test_only_tools_of_the_matter_are_asked_for():
    assert names("Which commit was the last?") == ["git_status", "git_diff", "git_log"]
    assert names("What time is it?") == ["now"]


def test_what_can_do_more_than_look_is_for_orders_only():
    assert names("What does notes.txt say?", tools=ALL_TOOLS) == ["read_file"]
    looking = ["read_file", "list_files", "glob_files", "grep_files"]
    assert names("Which files are in this folder?", tools=ALL_TOOLS) == looking
    assert names("Which port is set in settings.toml?", is_first=False, tools=ALL_TOOLS) == looking
    for order, tool in (
        ("Write hello to notes.txt", "write_file"),
        ("Look at notes.txt, and replace red by blue.", "edit_file"),
        ("Could you fix the typo in notes.txt?", "edit_file"),
        ("Run the tests", "run_shell"),
    ):
        assert tool in names(order, tools=ALL_TOOLS)


def test_what_is_only_to_be_written_offers_no_call():
    assert needs_no_tool("Write a short greeting to Mira.", TOOLS)
    assert not needs_no_tool("Write a summary of the last commit.", TOOLS)


@pytest.mark.parametrize(
    "request_",
    [
        "What is the capital of Denmark?",
        "How many legs does a spider have?",
        "Which planet is the largest of the solar system?",
        "What is 2 + 2?",
        "How many days are there in a week?",
        "Who painted the Mona Lisa?",
        "Who wrote Hamlet?",
        "What is a monad?",
        "What does ubiquitous mean?",
    ],
)
def test_what_everybody_knows_offers_no_tool_that_looks_around_here(request_: str):
    assert needs_no_tool(request_, ALL_TOOLS)


@pytest.mark.parametrize(
    "request_",
    [
        "When does the flour come?",
        "Who is the captain?",
        "What does a rye bread cost?",
        "Which is the longest ship in the table?",
        "When does the Santa Rosa arrive?",
        "Who is Ingrid Solberg?",
        "How many berths are there?",
        "Which recipes need butter?",
        "What is the largest file here?",
        "What does a rye bread cost according to prices.json?",
        "Who wrote the README?",
        "When does the ship from Oslo arrive?",
        "What is the first line of notes.txt?",
    ],
)
def test_what_may_stand_in_a_file_is_left_to_the_model_or_looked_at(request_: str):
    assert not needs_no_tool(request_, ALL_TOOLS)


def test_tools_of_other_kinds_are_offered_for_what_everybody_knows(file: Path, monkeypatch: pytest.MonkeyPatch):
    def encyclopedia(word: str) -> str:
        """Look up a word."""
        return word

    runtime = play(monkeypatch, _READING, said('{"answer": "Copenhagen."}'))
    tools = [encyclopedia, *read_only_tools()]
    Session(f"local/{file}", tools=tools).chat("What is the capital of Denmark?")
    assert list(paths(runtime.asked[1])) == ["encyclopedia"]


# Held back


def piece(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}


@given(st.text(max_size=900), st.lists(st.integers(0, 1000), max_size=8))
def test_what_is_held_back_comes_whole_and_in_order_or_not_at_all(text: str, places: list[int]):
    marks = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    pieces = [piece(text[start:end]) for start, end in itertools.pairwise(marks)] + [piece("", "stop")]
    held = ClaimFilter(lambda said: "!" in said)
    came = [held.take(each) for each in pieces]
    if None in came:
        assert "!" in text
        assert not any(came[: came.index(None)])
    else:
        assert [each for ready in came for each in ready or ()] == pieces
        assert "!" not in text[:400]


def test_a_call_and_the_reading_of_the_prompt_are_never_held_back():
    held = ClaimFilter(lambda _: True)
    reading = {"prompt_progress": {"processed": 1, "total": 2}}
    assert held.take(reading) == [reading]
    assert held.take(piece('{"tool"')) == [piece('{"tool"')]


# A runtime that says what it is told to


class Runtime:
    """In the place of `xllamacpp`: answers from a script, and notes what it was asked."""

    __version__ = "1"

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self.answers = iter(answers)
        self.asked: list[dict[str, Any]] = []
        self.settings: Any = None
        self.loaded = 0

    def CommonParams(self) -> Any:
        return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())

    def get_device_info(self) -> list[Any]:
        return [{"name": "CPU"}]

    def Server(self, settings: Any) -> Any:
        self.settings, self.loaded = settings, self.loaded + 1
        return self

    def handle_chat_completions(self, request: dict[str, Any], heard: Callable[[dict[str, Any]], bool]) -> None:
        self.asked.append(request)
        for each in next(self.answers):
            if heard(each):
                return


def said(text: str) -> list[dict[str, Any]]:
    return [*map(piece, text), piece("", "stop")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A model file with nothing in it."""
    path = tmp_path / "empty.gguf"
    path.write_bytes(b"GGUF\3\0\0\0" + bytes(56))
    yield path
    engine._engines.pop(path.resolve(), None)


def play(monkeypatch: pytest.MonkeyPatch, *answers: list[dict[str, Any]]) -> Runtime:
    runtime = Runtime(*answers)
    monkeypatch.setitem(sys.modules, "xllamacpp", runtime)  # type: ignore[arg-type]
    return runtime


def paths(request: dict[str, Any]) -> dict[str, Any]:
    """What each tool that may be called takes for its path."""
    options = [each["properties"] for each in json.loads(request["grammar"].partition("%json ")[2])["anyOf"]]
    calls = [each for each in options if "tool" in each]
    return {each["tool"]["const"]: each["arguments"]["properties"].get("path") for each in calls}


def may_answer(request: dict[str, Any]) -> bool:
    options = json.loads(request["grammar"].partition("%json ")[2])["anyOf"]
    return any("answer" in option["properties"] for option in options)


_READING = [piece("x", "stop")]


def test_a_question_about_a_file_is_asked_for_a_call(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "motto.txt").write_text("Slow and steady.")
    call = '{"tool": "read_file", "arguments": {"path": "motto.txt"}}'
    runtime = play(monkeypatch, _READING, said(call), said('{"answer": "Slow and steady."}'))
    result = Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("What does motto.txt say?")
    assert [kept.tool for kept in result.tool_calls] == ["read_file"]
    assert result.value == "Slow and steady."
    assert [may_answer(request) for request in runtime.asked[1:]] == [False, True]


def test_a_claim_that_no_call_backs_is_asked_again_for_a_call(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made_up = '{"answer": "The file says 42, I have read it."}'
    call = '{"tool": "grep_files", "arguments": {"pattern": "says"}}'
    (tmp_path / "a.txt").write_text("It says 7.")
    runtime = play(monkeypatch, _READING, said(made_up), said(call), said('{"answer": "It says 7."}'))
    result = Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("What does it say?")
    assert [kept.tool for kept in result.tool_calls] == ["grep_files"]
    assert "42" not in str(result.value)
    assert [may_answer(request) for request in runtime.asked[1:]] == [True, False, True]


def test_an_answer_that_needs_no_call_is_given_at_once(file: Path, monkeypatch: pytest.MonkeyPatch):
    runtime = play(monkeypatch, _READING, said('{"answer": "It is 4."}'))
    result = Session(f"local/{file}", tools=all_tools()).chat("What is 2 + 2?")
    assert (result.value, len(runtime.asked)) == ("It is 4.", 2)


def test_git_and_the_clock_are_not_offered_to_who_does_not_speak_of_them(file: Path, monkeypatch: pytest.MonkeyPatch):
    runtime = play(monkeypatch, _READING, said('{"answer": "Copenhagen."}'))
    Session(f"local/{file}", tools=read_only_tools()).chat("When does the flour come?")
    assert list(paths(runtime.asked[1])) == ["list_files", "glob_files", "grep_files"]


def test_a_file_that_nobody_has_named_is_found_before_it_is_read(file: Path, monkeypatch: pytest.MonkeyPatch):
    for request, is_named in (("What is the temperature according to the configuration?", False), ("See a.txt", True)):
        call = '{"tool": "grep_files", "arguments": {"pattern": "degrees"}}'
        runtime = play(monkeypatch, _READING, said(call), said('{"answer": "11."}'), said('{"answer": "11."}'))
        engine._engines.pop(file.resolve(), None)
        Session(f"local/{file}", tools=read_only_tools()).chat(request)
        assert ("read_file" in paths(runtime.asked[1])) == is_named


def test_arguments_that_may_be_left_out_need_not_be_called_null(file: Path, monkeypatch: pytest.MonkeyPatch):
    runtime = play(monkeypatch, _READING, said('{"answer": "It is 4."}'))
    Session(f"local/{file}", tools=read_only_tools()).chat("When does the flour come?")
    options = json.loads(runtime.asked[1]["grammar"].partition("%json ")[2])["anyOf"]
    search = next(each["properties"] for each in options if each["properties"].get("tool") == {"const": "grep_files"})
    assert search["arguments"]["required"] == ["pattern"]


def test_the_request_stands_behind_the_results_of_its_calls(file: Path, monkeypatch: pytest.MonkeyPatch):
    runtime = play(monkeypatch, _READING, said('{"answer": "a"}'))
    conversation = Conversation(tools=[ToolSpec("look", "Look at a file.", {"type": "object"})])
    conversation.add_user("What does a.txt say?")
    conversation.add_assistant_tool_calls([ToolCall("1", "look", {})])
    conversation.add_tool_result("1", "much " * 50)
    connect(f"local/{file}").chat(conversation)
    assert runtime.asked[1]["messages"][-1]["content"].endswith("The request was: What does a.txt say?")


def test_a_call_that_found_nothing_backs_nothing(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "INSTALL").write_text("Install it with pip.")
    reading = [f'{{"tool": "read_file", "arguments": {{"path": "{path}"}}}}' for path in ("README", "INSTALL")]
    calls = [reading[0], '{"tool": "list_files", "arguments": {}}', reading[1]]
    runtime = play(monkeypatch, _READING, *map(said, calls), said('{"answer": "With pip."}'))
    result = Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("How is it installed? See the README.")
    assert [may_answer(request) for request in runtime.asked[1:]] == [False, False, False, True]
    # What failed is not tried again at once.
    assert '"read_file"' not in runtime.asked[2]["grammar"]
    assert result.value == "With pip."


def test_a_file_that_is_not_there_is_read_where_it_may_be_meant(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "README.md").write_text("Install it with pip.")
    calls = [f'{{"tool": "read_file", "arguments": {{"path": "{path}"}}}}' for path in ("README", "README.md")]
    runtime = play(monkeypatch, _READING, *map(said, calls), said('{"answer": "With pip."}'))
    Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("How is it installed? See the README.")
    assert [may_answer(request) for request in runtime.asked[1:]] == [False, False, True]
    assert paths(runtime.asked[2]) == {"read_file": {"enum": ["README.md"]}}


def test_names_of_files_are_no_answer_to_what_is_in_them(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "setup.cfg").write_text("needs click")
    calls = [
        '{"tool": "list_files", "arguments": {}}',
        '{"tool": "grep_files", "arguments": {"pattern": "requires"}}',
        '{"tool": "read_file", "arguments": {"path": "setup.cfg"}}',
    ]
    runtime = play(monkeypatch, _READING, *map(said, calls), said('{"answer": "It needs click."}'))
    Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("Which dependencies does the project have?")
    assert [may_answer(request) for request in runtime.asked[1:]] == [False, False, False, True]
    listed = {"enum": ["empty.gguf", "setup.cfg"]}
    assert [paths(request) for request in runtime.asked[2:4]] == [
        {"read_file": listed, "grep_files": None},
        # A search that finds nothing is not made again at once.
        {"read_file": listed},
    ]


def test_names_are_an_answer_to_which_files_there_are_and_not_to_what_they_say():
    listed = "recipes/brioche.md\nrecipes/notes.txt"
    for request in ("Which files are here?", "What is in docs?", "Which folders are there?", "List all of it."):
        assert asks_for_names(request, listed)
    assert asks_for_names("Which recipes are in the recipes folder?", listed)
    assert not asks_for_names("Which errors are in the recipes folder?", listed)
    assert not asks_for_names("Which dependencies does the project have?", listed)


def test_a_name_that_was_not_listed_is_looked_for(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "ships.csv").write_text("name")
    calls = ['{"tool": "list_files", "arguments": {}}', '{"tool": "glob_files", "arguments": {"pattern": "*.csv"}}']
    answers = ['{"answer": "There is data.csv."}', '{"answer": "It is a/ships.csv."}']
    runtime = play(monkeypatch, _READING, said(calls[0]), said(answers[0]), said(calls[1]), said(answers[1]))
    result = Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("Is there a CSV file here? Its name?")
    assert [may_answer(request) for request in runtime.asked[1:]] == [False, True, False, True]
    assert (result.value, [kept.tool for kept in result.tool_calls]) == (
        "It is a/ships.csv.",
        ["list_files", "glob_files"],
    )


@pytest.mark.parametrize("lines", [3, 9_000])
def test_lines_are_counted_only_where_somebody_counts_them_or_there_are_more(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int
):
    (tmp_path / "a.txt").write_text("a line\n" * lines)
    replies = ['{"tool": "read_file", "arguments": {"path": "a.txt"}}', '{"answer": "Lines."}']
    runtime = play(monkeypatch, _READING, *map(said, replies))
    Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("What does a.txt say?")
    assert ["start_line" in request["grammar"] for request in runtime.asked[1:]] == [False, lines > 1000]


def test_a_place_of_which_nobody_spoke_is_not_gone_to(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    runtime = play(
        monkeypatch, _READING, *map(said, ['{"tool": "list_files", "arguments": {}}', '{"answer": "None."}'])
    )
    Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("Which files of the project are new?")
    assert paths(runtime.asked[1])["list_files"] is None


def test_a_search_that_found_nothing_is_made_again_everywhere(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "usage.md").write_text("HARBOUR_LANG chooses the language.")
    calls = [f'{{"tool": "grep_files", "arguments": {{"pattern": "LANG"{more}}}}}' for more in (', "glob": "*.py"', "")]
    runtime = play(monkeypatch, _READING, *map(said, calls), said('{"answer": "HARBOUR_LANG."}'))
    chat = Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat
    assert chat("Which variable do the Python files use for the language?").value == "HARBOUR_LANG."
    assert ['"glob"' in request["grammar"] for request in runtime.asked[1:3]] == [True, False]


def test_what_went_astray_is_tried_without_its_path(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls = ['{"tool": "list_files", "arguments": {"path": "doc"}}', '{"tool": "list_files", "arguments": {}}']
    runtime = play(monkeypatch, _READING, *map(said, calls), said('{"answer": "None."}'))
    Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("Which files are in the folder of the documents?")
    assert [paths(request).get("list_files") is None for request in runtime.asked[1:3]] == [False, True]
    assert '"list_files"' in runtime.asked[2]["grammar"]


def test_a_call_that_is_made_again_word_for_word_is_the_last(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a.txt").write_text("A")
    call = '{"tool": "read_file", "arguments": {"path": "a.txt"}}'
    runtime = play(monkeypatch, _READING, said(call), said(call), said('{"answer": "It says A."}'))
    result = Session(f"local/{file}", tools=read_only_tools(tmp_path)).chat("What does a.txt say?")
    assert [may_answer(request) for request in runtime.asked[1:]] == [False, True, True]
    assert ['"read_file"' in request["grammar"] for request in runtime.asked[1:]] == [True, True, False]
    assert result.value == "It says A."


def test_how_far_the_prompt_is_read_is_told_in_between(file: Path, monkeypatch: pytest.MonkeyPatch):
    reading = [{"prompt_progress": {"processed": at, "total": 1837, "cache": 0}} for at in (0, 1200)]
    play(monkeypatch, [*reading, piece("Hello."), piece("", "stop")])
    conversation = Conversation()
    conversation.add_user("Hi")
    with connect(f"local/{file}").stream(conversation) as stream:
        deltas = list(stream)
    assert deltas[:2] == [ProgressDelta(0, 1837), ProgressDelta(1200, 1837)]
    assert stream.reply.text == "Hello."


def test_an_image_is_refused_before_anything_is_loaded(file: Path, monkeypatch: pytest.MonkeyPatch):
    runtime = play(monkeypatch)
    conversation = Conversation()
    conversation.add_user(["What is this?", Image.from_bytes(b"\x89PNG\r\n\x1a\n", "image/png")])
    with pytest.raises(ContentError, match="cannot see images; describe it, or ask a model that can, such as anthro"):
        connect(f"local/{file}").chat(conversation)
    assert not runtime.loaded


def test_all_cores_read_and_those_that_are_free_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ANTIPHON_LOCAL_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    now = tmp_path / "loadavg"
    monkeypatch.setattr(engine, "_LOADAVG", now)
    for load, running, writing in ((0.2, 1, 8), (2.1, 9, 6), (30.0, 40, 4), (30.0, 1, 8), (3.0, 3, 6), (0.2, 9, 8)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0, 0))
        now.write_text(f"{load} 0.00 0.00 {running}/345 6789\n")
        assert choose_thread_counts() == (writing, 8)
    now.unlink()
    # Where only the minute is known, that counts.
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 0, 0))
    assert choose_thread_counts() == (5, 8)
    monkeypatch.setenv("ANTIPHON_LOCAL_THREADS", "3")
    assert choose_thread_counts() == (3, 3)


@pytest.mark.parametrize(("devices", "is_asked"), [(["CPU"], False), (["CPU", "Metal"], True)])
def test_how_much_fits_is_asked_only_where_there_is_another_device(
    file: Path, monkeypatch: pytest.MonkeyPatch, devices: list[str], is_asked: bool
):
    runtime = play(monkeypatch, said("Hello."))
    monkeypatch.setattr(runtime, "get_device_info", lambda: [{"name": name} for name in devices])
    Session(f"local/{file}").chat("Hi")
    assert (runtime.settings.fit_params, runtime.settings.warmup) == (is_asked, False)


@pytest.mark.parametrize("is_known", [True, False])
def test_of_a_file_only_what_is_not_in_memory_is_read_before_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
):
    path, sought = tmp_path / "model.gguf", list[int]()
    path.write_bytes(bytes(3 << 20) + b"end")

    def preadv(_file: int, _buffers: list[bytearray], at: int, _flags: int) -> int:
        sought.append(at)
        if not is_known:
            raise OSError("not supported")
        return 1

    class Watched(io.FileIO):
        read_bytes = 0

        def readinto(self, buffer: Any) -> int | None:
            count = super().readinto(buffer)
            Watched.read_bytes += count or 0
            return count

    monkeypatch.setattr(os, "preadv", preadv, raising=False)
    monkeypatch.setattr(os, "RWF_NOWAIT", 8, raising=False)
    monkeypatch.setattr(Path, "open", lambda self, *_args, **_more: Watched(self))
    engine._preload_file(path)
    assert sought == [0, 1 << 20, 2 << 20, 3 << 20]
    assert Watched.read_bytes == (0 if is_known else (3 << 20) + 3)


# What was read is kept


def test_what_is_kept_comes_back_as_it_was_and_only_under_its_own_key():
    kept.save_state("model a, opening", b"state")
    assert kept.load_state("model a, opening") == b"state"
    assert kept.load_state("model b, opening") is None


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"\0" + data[1:], lambda _: b""])
def test_a_file_that_is_damaged_is_never_given_to_the_runtime(damage: Callable[[bytes], bytes]):
    kept.save_state("opening", b"state" * 100)
    (path,) = kept.get_store_directory().iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert kept.load_state("opening") is None
    assert not path.exists()


def test_the_file_of_another_model_is_not_taken_under_this_one_s_name():
    kept.save_state("one", b"state")
    (path,) = kept.get_store_directory().iterdir()
    kept.save_state("other", b"other state")
    other = next(each for each in kept.get_store_directory().iterdir() if each != path)
    other.write_bytes(path.read_bytes())
    assert kept.load_state("other") is None


def test_what_was_not_used_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "MAX_STORE_SIZE", 1000)
    for number in range(3):
        kept.save_state(f"{number}", bytes(300))
        os.utime(kept._get_path(f"{number}"), (number, number))
    assert kept.load_state("0") is not None
    kept.save_state("3", bytes(300))
    assert [kept.load_state(f"{number}") is not None for number in range(4)] == [True, False, True, True]
    kept.save_state("too large", bytes(2000))
    assert kept.load_state("too large") is None


def test_what_is_kept_is_the_user_s_alone_and_a_full_disk_is_no_error(monkeypatch: pytest.MonkeyPatch):
    kept.save_state("opening", b"state")
    (path,) = kept.get_store_directory().iterdir()
    assert path.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("ANTIPHON_CACHE", str(path))
    kept.save_state("opening", b"state")
    assert kept.load_state("opening") is None


# How long a pull takes


def test_the_time_that_is_left_is_told_once_there_is_a_pace():
    now = itertools.count(0, 10)
    pace = TimeEstimate(lambda: next(now))
    assert pace.left(0, 1000) == ""
    assert pace.left(0, 1000) == ""
    # A few bytes in ten seconds are no pace.
    assert pace.left(3, 1000) == ""
    assert pace.left(503, 1000) == "20 s left"
    assert pace.left(1000, 1000) == ""


def test_what_a_stopped_pull_left_does_not_count_as_speed():
    now = itertools.count(0, 60)
    pace = TimeEstimate(lambda: next(now))
    assert [pace.left(done, 1000) for done in (900, 900, 910, 920)] == ["", "", "9 min left", "8 min left"]


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_a_bar_has_no_other_colour_than_ours_and_moves_only_where_it_can(
    terminal: str, monkeypatch: pytest.MonkeyPatch
):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", terminal)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    small = manifest.find_weights("0.5b")
    with show_download_progress() as tell:
        for done in (0, small.bytes // 2):
            tell(Report(small, done, "fetching"))
    told = screen.getvalue()
    assert ("246 MB of 491 MB" if terminal != "dumb" else "0.5b: 50 % (246 MB of 491 MB)") in told
    colours = set(re.findall(r"\x1b\[([\d;]+)m", told))
    assert colours == ({"36", "2", "0"} if terminal != "dumb" else set())
    assert ("\x1b" in told) == (terminal != "dumb")


def test_the_status_line_says_how_much_of_the_prompt_is_read():
    views = RunViews()
    told = [RunStarted("chat", "Hi", "local/x", None), RequestStarted(1, "local/x"), ProgressDelta(1200, 1837)]
    for number, body in enumerate(told):
        run = views.take(Event("1", number, 0.0, body))
    assert run.activity == "reading, 1,200 of 1,837 tokens"
    assert views.take(Event("1", 3, 0.0, ProgressDelta(1837, 1837))).activity == "waiting"
    assert views.take(Event("1", 4, 0.0, TextDelta("Hello"))).activity == "answering"
