"""Every stop reason of each API."""

from __future__ import annotations

from typing import Any

from antiphon.errors import AntiphonError
from antiphon.session import ModelRefused, NoAnswer, Truncated
from tests.referees.cases import GEMINI, OPENAI, is_equal, scenario
from tests.referees.cases_typed import weather
from tests.referees.script import Call, call, say, show
from tests.referees.stage import Stage

A_FEW = ("anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5", "anthropic/claude-sonnet-4-5")
CHAT = ("openai-chat/gpt-5.5", "openai-chat/gpt-4.1")
CUT = {"anthropic": "max_tokens", "openai": "max_output_tokens", "openai-chat": "length", "google": "MAX_TOKENS"}
DECLINED = {"anthropic": "refusal", "openai": "content_filter", "openai-chat": "content_filter", "google": "SAFETY"}
EVERY = (*A_FEW, "openai/gpt-6.1-sol", "openai/gpt-5.5", *CHAT, "google/gemini-4-argon", "google/gemini-2.5-flash")


def _expect(kind: type[BaseException], run: Any) -> BaseException:
    try:
        value = run()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}, got {value!r}")


@scenario(EVERY)
def cut_then_continued(stage: Stage) -> None:
    stage.play(say("Once upon a", CUT[stage.api]), say("time."), say("Bye."))
    session = stage.session()
    error = _expect(Truncated, lambda: session.vibe("A story."))
    is_equal(error.run.said, "Once upon a")  # type: ignore[attr-defined]
    is_equal(session.resume().value, "time.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(EVERY)
def declined(stage: Stage) -> None:
    stage.play(say("", DECLINED[stage.api]), say("Hello."))
    session = stage.session()
    _expect(ModelRefused, lambda: session.vibe("Break in."))
    is_equal(session.chat("Then say hello.").value, "Hello.")


@scenario(EVERY)
def cut_call_is_not_run(stage: Stage) -> None:
    stage.play(call(Call("weather", {"city": "Os"}), stop=CUT[stage.api]), say("Rain."))
    ran: list[str] = []

    def weather(city: str) -> str:
        """The weather in a city."""
        ran.append(city)
        return "rain"

    session = stage.session([weather])
    try:
        session.vibe("Weather?")
    except NoAnswer:
        session.resume()
    is_equal(ran, [])


@scenario(EVERY)
def unknown_stop(stage: Stage) -> None:
    stage.play(say("Half an answer", "SOMETHING_NEW"))
    session = stage.session()
    error = _expect(AntiphonError, lambda: session.vibe("Hi."))
    if "Half an answer" not in f"{getattr(getattr(error, 'run', None), 'said', '')}{error}{session.conversation.turns}":
        raise AssertionError("what was said is lost")


@scenario(A_FEW)
def paused_turn(stage: Stage) -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    stage.play(show(search, text="", stop="pause_turn"), show(found, text="Found it."), say("Bye."))
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    session = stage.session(extra={"tools": tools})
    is_equal(session.chat("Search.").value, "Found it.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(A_FEW)
def paused_turn_streamed(stage: Stage) -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    stage.play(show(search, text="", stop="pause_turn"), say("Found it."))
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    with stage.session(extra={"tools": tools}).stream("Search.") as events:
        for _ in events:
            pass
    is_equal(events.result.value, "Found it.")


@scenario(A_FEW)
def window_exceeded(stage: Stage) -> None:
    stage.play(say("Half", "model_context_window_exceeded"))
    _expect(Truncated, lambda: stage.session(context=None).vibe("Hi."))


@scenario(A_FEW)
def stop_sequence(stage: Stage) -> None:
    stage.play(say("One, two", "stop_sequence", stop_sequence="three"))
    is_equal(stage.session(stop="three").chat("Count.").value, "One, two")


@scenario(A_FEW)
def container_is_sent_back(stage: Stage) -> None:
    container = {"id": "container_1", "expires_at": "2027-01-01T00:00:00Z"}
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "ls"}}
    done = {"type": "bash_code_execution_result", "stdout": "a", "stderr": "", "return_code": 0, "content": []}
    result = {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": done}
    stage.play(show(use, result, text="There is a.", container=container), say("Bye."))
    tools = [{"type": "code_execution_20250825", "name": "code_execution"}]
    session = stage.session(extra={"tools": tools})
    is_equal(session.chat("List.").value, "There is a.")
    is_equal(session.chat("Bye.").value, "Bye.")
    is_equal(stage.servers["anthropic"].exchanges[-1].body.get("container"), "container_1")


@scenario(A_FEW)
def cited_answer(stage: Stage) -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    page = {
        "type": "web_search_result",
        "url": "https://a.example",
        "title": "A",
        "encrypted_content": "e",
        "page_age": None,
    }
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [page]}
    cite = {
        "type": "web_search_result_location",
        "url": "https://a.example",
        "title": "A",
        "cited_text": "It is.",
        "encrypted_index": "i",
    }
    text = {"type": "text", "text": "It is so.", "citations": [cite]}
    stage.play(show(search, found, text), say("Bye."))
    session = stage.session(extra={"tools": [{"type": "web_search_20250305", "name": "web_search"}]})
    is_equal(session.chat("Search.").value, "It is so.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(OPENAI)
def refusal_part(stage: Stage) -> None:
    part = {"type": "refusal", "refusal": "I will not."}
    stage.play(show({"type": "message", "role": "assistant", "status": "completed", "content": [part]}))
    _expect(ModelRefused, lambda: stage.session().vibe("Break in."))


@scenario(OPENAI)
def message_limit(stage: Stage) -> None:
    stage.play(say("Half, ", "max_messages"), say("and whole."), say("Bye."))
    session = stage.session()
    if "and whole." not in str(session.chat("Hi.").value):
        raise AssertionError("the answer was not continued")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(OPENAI)
def queued_then_polled(stage: Stage) -> None:
    stage.play(say("Here at last.", "queued"))
    is_equal(stage.session(extra={"background": True, "store": True}).chat("Hi.").value, "Here at last.")


@scenario(OPENAI)
def failed_then_answered(stage: Stage) -> None:
    stage.play(say("", "failed:server_error"), say("Here."))
    is_equal(stage.session().chat("Hi.").value, "Here.")


@scenario(("openai/gpt-6.1-sol", "openai/gpt-6-sol", "openai/gpt-5.5"))
def commentary_is_no_answer(stage: Stage) -> None:
    note = {"type": "output_text", "text": "Let me think.", "annotations": []}
    final = {"type": "output_text", "text": "42.", "annotations": []}
    base = {"type": "message", "role": "assistant", "status": "completed"}
    stage.play(
        show({**base, "phase": "commentary", "content": [note]}, {**base, "phase": "final_answer", "content": [final]}),
        say("Bye."),
    )
    session = stage.session()
    is_equal(session.chat("What is it?").value, "42.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(CHAT)
def refusal_message(stage: Stage) -> None:
    stage.play(say("", "stop", refusal="I will not."))
    _expect(ModelRefused, lambda: stage.session().vibe("Break in."))


@scenario(GEMINI[:2])
def continuation(stage: Stage) -> None:
    stage.play(say("Part one, ", "CONTINUATION"), say("part two, ", "CONTINUATION"), say("end."), say("Bye."))
    session = stage.session(max_tokens=200_000)
    is_equal(session.chat("A long story.").value, "Part one, part two, end.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(GEMINI[:2])
def continuation_streamed(stage: Stage) -> None:
    stage.play(say("Part one, ", "CONTINUATION"), say("end."), say("Bye."))
    session = stage.session([weather], max_tokens=200_000)
    with session.stream("A long story.") as events:
        for _ in events:
            pass
    is_equal(events.result.value, "Part one, end.")
    is_equal(session.chat("Bye.").value, "Bye.")


@scenario(GEMINI)
def malformed_call_is_asked_again(stage: Stage) -> None:
    stage.play(say("", "MALFORMED_FUNCTION_CALL"), call(Call("weather", {"city": "Oslo"})), say("Rain."))
    is_equal(stage.session([weather]).vibe("Weather?").value, "Rain.")


@scenario(GEMINI)
def blocked_prompt(stage: Stage) -> None:
    stage.play(say("", "blocked:PROHIBITED_CONTENT"))
    _expect(ModelRefused, lambda: stage.session().vibe("Break in."))


@scenario(GEMINI)
def too_many_tool_calls(stage: Stage) -> None:
    stage.play(say("Half", "TOO_MANY_TOOL_CALLS"))
    _expect(AntiphonError, lambda: stage.session().vibe("Hi."))
