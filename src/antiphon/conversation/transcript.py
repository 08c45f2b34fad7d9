"""Turns as plain text, for whoever has to sum them up."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.conversation.turns import Turn, UserTurn

#: How much of one result is told.
_RESULT = 2_000


def transcript(turns: Iterable[Turn]) -> str:
    """Who said what, and which tools gave what."""
    lines: list[str] = []
    for turn in turns:
        if isinstance(turn, UserTurn):
            # A turn of notes alone is the program's, and nobody said it.
            lines += [f"User: {turn.text}"] if turn.visible_parts else []
            continue
        if turn.text.strip():
            lines.append(f"Assistant: {turn.text}")
        results = {result.call_id: result for result in turn.results}
        for call in turn.calls:
            given = results[call.id].text if call.id in results else ""
            cut = f" … [{len(given):,} characters in all]" if len(given) > _RESULT else ""
            lines.append(f"Tool {call.name}({call.arguments_json}): {given[:_RESULT]}{cut}")
    return "\n".join(lines)
