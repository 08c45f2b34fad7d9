"""Questions about open calls and their answers, as stored in the conversation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from antiphon.conversation import AssistantTurn, Conversation, OpenQuestion, ToolCall, ToolResult
from antiphon.effects.types import HumanAnswer
from antiphon.errors import NotReadyError, OptionError
from antiphon.session.human_input import Question, check_question_kind
from antiphon.session.settings import SessionSettings
from antiphon.tools import canonicalize
from antiphon.tools.approval import make_standing_decision
from antiphon.tools.deferred import find_called_tool
from antiphon.tools.execution import make_error_result, to_tool_result

#: The result that the model sees for a call that asked a person.
_QUESTION_RESULT = "asked; the answer follows"


def record_answer(
    conversation: Conversation, settings: SessionSettings, call_id: str, said: HumanAnswer, kind: str
) -> None:
    """Record a person's answer about an open call in the conversation: the call is answered, or may run."""
    question = conversation.questions.get(call_id)
    if question is None:
        waiting = ", ".join(repr(each) for each in conversation.questions) or "none"
        raise NotReadyError(f"no question {call_id!r} is open; open: {waiting}")
    check_question_kind(question, kind)
    called = next(call for call in conversation.open_calls if call.id == call_id)
    call, tool = find_called_tool(called, settings.tools) or (called, None)
    if question.kind == "result":
        kept: dict[str, str] = {}
        conversation.add_tool_results([read_delivered_result(call, said, tool.output_limit if tool else None, kept)])
        for handle, text in kept.items():
            conversation.keep(handle, text)
        return
    if question.kind == "question":
        is_one_of_several = has_several_questions(conversation)
        conversation.add_tool_results([make_question_result(call, question.text, said.text)])
        conversation.add_user(format_answers([(question.text, said.text)], is_one_of_several))
        return
    if said.always:
        settings.policy.always(make_standing_decision(canonicalize(tool, call) if tool else call, said.allowed))
    if said.allowed:
        conversation.ask(call_id, OpenQuestion("approval", question.text, allowed=True))
    else:
        conversation.add_tool_results([make_error_result(call, f"not run: {format_denial(said)}")])


def list_pending_questions(conversation: Conversation, settings: SessionSettings) -> tuple[Question, ...]:
    """Return the unanswered questions about the open calls of a conversation."""
    calls = {call.id: call for call in conversation.open_calls}
    asked = [(calls[id], each) for id, each in conversation.questions.items() if not each.allowed]
    return tuple(_build_question(call, each, settings) for call, each in asked)


def _build_question(call: ToolCall, asked: OpenQuestion, settings: SessionSettings) -> Question:
    call, tool = find_called_tool(call, settings.tools) or (call, None)
    if asked.kind != "approval":
        return Question(call.id, asked.kind, asked.text, call=call)
    if tool is None:
        return Question(call.id, asked.kind, asked.text, call=call, always=make_standing_decision(call))
    canonical = canonicalize(tool, call)
    before = tool.before(canonical.arguments) if tool.before else None
    always = make_standing_decision(canonical)
    return Question(call.id, asked.kind, canonical.question, call=canonical.call, always=always, before=before)


def make_question_result(call: ToolCall, question: str, answer: str) -> ToolResult:
    """Return the result of a call that asked a person.

    People see the question and the answer. The model reads the answer as a user message.
    """
    from antiphon.results import question as shown

    return ToolResult(call.id, _QUESTION_RESULT, semantic=shown(question, answer=answer))


def make_delivery(value: object, error: str) -> HumanAnswer:
    """Return the answer that delivers the result of a call that ran elsewhere, or says why there is none."""
    if error and value is not None:
        raise OptionError("give a value or an `error`, not both")
    call = ToolCall("result", "result", {})
    result = make_error_result(call, error) if error else to_tool_result(call, value, sys.maxsize, {})
    return HumanAnswer(result=replace(result, call_id=""))


def read_delivered_result(call: ToolCall, said: HumanAnswer, limit: int | None, kept: dict[str, str]) -> ToolResult:
    """Return the delivered result of a call, truncated for the model; its full text is stored in `kept`."""
    most = sys.maxsize if limit is None else limit
    return to_tool_result(call, said.text if said.result is None else said.result, most, kept)


def has_several_questions(conversation: Conversation) -> bool:
    """Return whether several calls of the last turn ask a person something, answered or not."""
    turn = next(turn for turn in reversed(conversation.turns) if isinstance(turn, AssistantTurn))
    asked = [each for each in conversation.questions.values() if each.kind == "question"]
    answered = [each for each in turn.results if each.semantic is not None and each.text == _QUESTION_RESULT]
    return len(asked) + len(answered) > 1


def format_answers(said: Sequence[tuple[str, str]], is_one_of_several: bool) -> list[str]:
    """Return the answers in the person's own words. If there are several, each names its question."""
    answers = [(question, text if text.strip() else "(no answer)") for question, text in said]
    if not is_one_of_several:
        return [text for _, text in answers]
    return [f"To the question {question!r}: {text}" for question, text in answers]


def format_denial(said: HumanAnswer) -> str:
    """Return the reason for a denied call, as the model is told."""
    return f"the call was denied: {said.text}" if said.text else "the call was denied"
