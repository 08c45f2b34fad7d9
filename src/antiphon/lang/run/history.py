"""What happened in a run, as a conversation that is a value: what came since a mark, and what is added to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from antiphon.conversation import Conversation
from antiphon.conversation.parts import Text, ToolResult
from antiphon.conversation.turns import AssistantTurn, UserTurn
from antiphon.lang.run.values import json_text
from antiphon.session.result import AIResult


def ends_open(history: Conversation) -> int:
    """Whether the last turn is the user's, to which the next words are added."""
    return int(bool(history.turns) and isinstance(history.turns[-1], UserTurn))


def since(history: Conversation, mark: Conversation) -> list[Any]:
    """The turns since a mark; of a user's turn that has grown, what was added."""
    place = len(mark.turns)
    last = mark.turns[-1] if mark.turns else None
    if isinstance(last, UserTurn) and len(history.turns) >= place:
        now = history.turns[place - 1]
        if isinstance(now, UserTurn) and len(now.parts) > len(last.parts):
            return [UserTurn(now.parts[len(last.parts) :]), *history.turns[place:]]
    return list(history.turns[place:])


def with_turns(
    history: Conversation, turns: Iterable[Any], before: Any, left_out: str, kept: Mapping[str, str]
) -> Conversation:
    """A history with turns added; without what was said in them of variables, and without what it has already."""
    out = history.fork()
    done = len(before.parts) if isinstance(before, UserTurn) else 0
    for turn in turns:
        if isinstance(turn, UserTurn):
            parts = [
                each
                for each in turn.parts[done:]
                if not (isinstance(each, Text) and each.text == left_out and left_out)
            ]
            if parts:
                out.add_user(parts)
            done = 0
            continue
        # Where only a part of the history was shown, its calls may have been numbered as others were.
        added = out.add_reply(turn.parts)
        ids = {old.id: new.id for old, new in zip(turn.calls, added.calls, strict=True)}
        if turn.results:
            out.add_tool_results([_kept(out, replace(each, call_id=ids[each.call_id]), kept) for each in turn.results])
    return out


def _kept(history: Conversation, result: ToolResult, kept: Mapping[str, str]) -> ToolResult:
    """A result of which the whole is kept here too; under another handle, where its own is taken."""
    whole = kept.get(result.handle)
    if whole is None:
        return result
    handle = result.handle
    while history.kept.get(handle, whole) != whole:
        handle = f"{handle}'"
    history.keep(handle, whole)
    if handle == result.handle:
        return result
    parts = [
        Text(each.text.replace(result.handle, handle)) if isinstance(each, Text) else each for each in result.parts
    ]
    return replace(result, content=tuple(parts), handle=handle)


def without_private(hidden: Iterable[str], prompt: str, result: AIResult) -> list[Any]:
    """What is remembered of an answer that is private: what was asked, and the part of the answer that is not."""
    value = result.value
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    public = {name: each for name, each in fields.items() if name not in hidden}
    told = json_text(public) if public and "" not in hidden else "(private)"
    return [UserTurn((Text(prompt),)), AssistantTurn((Text(told),))]
