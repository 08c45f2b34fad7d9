"""What people are asked about open calls, and what they said to it, as the conversation has it."""

from __future__ import annotations

from collections.abc import Sequence

from antiphon.conversation import AssistantTurn, Conversation, OpenQuestion, ToolCall, ToolResult
from antiphon.effects.values import Said
from antiphon.errors import NotReadyError
from antiphon.session.people import Question, check_kind
from antiphon.session.settings import Settings
from antiphon.tools import canonicalize
from antiphon.tools.approval import standing
from antiphon.tools.execution import failure

#: What a model reads as the result of a call that asked a person.
_ASKED = "asked; the answer follows"


def take_said(conversation: Conversation, settings: Settings, call_id: str, said: Said, kind: str) -> None:
    """What a person said about an open call, written into the conversation: the call is answered, or may run."""
    question = conversation.questions.get(call_id)
    if question is None:
        waiting = ", ".join(repr(each) for each in conversation.questions) or "none"
        raise NotReadyError(f"no question {call_id!r} is open; open: {waiting}")
    check_kind(question, kind)
    call = next(call for call in conversation.open_calls if call.id == call_id)
    if question.kind == "question":
        is_one_of_several = is_asked_more_than_once(conversation)
        conversation.add_tool_results([asked_result(call, question.text, said.text)])
        conversation.add_user(spoken([(question.text, said.text)], is_one_of_several))
        return
    if said.always:
        tool = settings.tools.get(call.name)
        settings.policy.always(standing(canonicalize(tool, call) if tool else call, said.allowed))
    if said.allowed:
        conversation.ask(call_id, OpenQuestion("approval", question.text, allowed=True))
    else:
        conversation.add_tool_results([failure(call, f"not run: {denial(said)}")])


def open_questions(conversation: Conversation, settings: Settings) -> tuple[Question, ...]:
    """What people are asked about the open calls of a conversation."""
    calls = {call.id: call for call in conversation.open_calls}
    asked = [(calls[id], each) for id, each in conversation.questions.items() if not each.allowed]
    return tuple(_question(call, each, settings) for call, each in asked)


def _question(call: ToolCall, asked: OpenQuestion, settings: Settings) -> Question:
    if asked.kind != "approval":
        return Question(call.id, asked.kind, asked.text, call=call)
    tool = settings.tools.get(call.name)
    if tool is None:
        return Question(call.id, asked.kind, asked.text, call=call, always=standing(call))
    canonical = canonicalize(tool, call)
    before = tool.before(canonical.arguments) if tool.before else None
    always = standing(canonical)
    return Question(call.id, asked.kind, canonical.question, call=canonical.call, always=always, before=before)


def asked_result(call: ToolCall, question: str, answer: str) -> ToolResult:
    """The result of a call that asked a person; people are shown both, the model reads the answer as theirs."""
    from antiphon.results import question as shown

    return ToolResult(call.id, _ASKED, semantic=shown(question, answer=answer))


def is_asked_more_than_once(conversation: Conversation) -> bool:
    """Whether several of the calls that wait, or have waited with them, ask a person something."""
    turn = next(turn for turn in reversed(conversation.turns) if isinstance(turn, AssistantTurn))
    asked = [each for each in conversation.questions.values() if each.kind == "question"]
    answered = [each for each in turn.results if each.semantic is not None and each.text == _ASKED]
    return len(asked) + len(answered) > 1


def spoken(said: Sequence[tuple[str, str]], is_one_of_several: bool) -> list[str]:
    """What people said, in their own words; of several answers, each names its question."""
    answers = [(question, text if text.strip() else "(no answer)") for question, text in said]
    if not is_one_of_several:
        return [text for _, text in answers]
    return [f"To the question {question!r}: {text}" for question, text in answers]


def denial(said: Said) -> str:
    """Why a call was not run, as the model is told."""
    return f"the call was denied: {said.text}" if said.text else "the call was denied"
