"""Turns as a plain-text transcript, used as the input of summaries."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.conversation.turns import Turn, UserTurn

#: Longer results are truncated to this many characters.
_MAX_RESULT_CHARS = 2_000


def format_transcript(turns: Iterable[Turn]) -> str:
    """Return the turns as text: the messages of each role and the results of tool calls."""
    lines: list[str] = []
    for turn in turns:
        if isinstance(turn, UserTurn):
            # A turn that contains only notes is from the program, not from a user.
            lines += [f"User: {turn.text}"] if turn.visible_parts else []
            continue
        if turn.text.strip():
            lines.append(f"Assistant: {turn.text}")
        results = {result.call_id: result for result in turn.results}
        for call in turn.calls:
            given = results[call.id].text if call.id in results else ""
            cut = f" … [{len(given):,} characters in all]" if len(given) > _MAX_RESULT_CHARS else ""
            lines.append(f"Tool {call.name}({call.arguments_json}): {given[:_MAX_RESULT_CHARS]}{cut}")
    return "\n".join(lines)
