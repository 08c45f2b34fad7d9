"""Scripted teams that hand in the solution of a story: they show that the machine works, and nothing of any model."""

from __future__ import annotations

from collections.abc import Mapping

from stories import Story

from antiphon.fakes import Answer, Call, Step

_APPROVES = Answer(calls=[Call("review", {"decision": "approve", "notes": "As it was asked for."})])


def play(story: Story, *, solo: bool) -> dict[str, list[Step]]:
    """What each role answers."""
    if solo:
        return {"You are @coder,": [_written(story.solution()), _handed_in(story.kind)]}
    parts = [story.files(f"parts/{part}") for part in story.parts] or [story.solution()]
    tasks = [{"title": f"{story.kind} {number}", "spec": story.prompt} for number, _ in enumerate(parts, 1)]
    return {
        "You are @pm": [Answer(calls=[Call("submit_spec", {"title": story.kind, "text": story.prompt})])],
        "Review what @": [_APPROVES] * 2 * len(parts),
        "You are @architect": [Answer(calls=[Call("create_tasks", {"tasks": tasks})])],
        **{f"You are @coder-{number}": _coder(story, files) for number, files in enumerate(parts, 1)},
    }


def _coder(story: Story, files: Mapping[str, str]) -> list[Step]:
    own = ["I change " + ", ".join(files), _written(files), _handed_in(story.kind)]
    # Whoever comes second is shown a conflict.
    together = {name: text for name, text in story.files("solution").items() if name in files}
    return [*own, *([_written(together), _handed_in("Bring both together")] if story.parts else [])]


def _written(files: Mapping[str, str]) -> Answer:
    return Answer(calls=[Call("write_file", {"path": name, "content": text}) for name, text in files.items()])


def _handed_in(summary: str) -> Answer:
    return Answer(calls=[Call("submit_work", {"summary": summary})])
