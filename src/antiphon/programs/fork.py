"""Forks: another run that has done what one had done before a step, and goes on differently from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from antiphon.conversation import Text, UserPart
from antiphon.conversation.serialization import parts_from_json, parts_to_json
from antiphon.durable.replay_cache import set_aside_run
from antiphon.errors import NotReadyError
from antiphon.programs.launch_spec import load_launch_spec
from antiphon.programs.manual_outcome import parse_manual_outcome

if TYPE_CHECKING:
    from antiphon.durable import Journal, RunEntry
    from antiphon.lang.runtime import Program

#: Questions to a model that a command of ours has asked, and can ask again.
CHAT_KINDS = ("ask", "chat")
_PROGRAM_KINDS = ("program", "row")


@dataclass(frozen=True, slots=True)
class ForkChange:
    """What is different in a fork: what came of its first step, the model that is asked from there on, the text of the
    program, or what a model was asked in the beginning.
    """

    given: str | None = None
    model: str | None = None
    source: str | None = None
    prompt: str | None = None


def explain_fork_refusal(entry: RunEntry) -> str:
    """Why there can be no fork of a run that somebody else could go on with; nothing, where there can."""
    match entry.kind:
        case "program" | "row" | "ask" | "chat":
            return ""
        case "team" | "turn":
            team = entry.id if entry.kind == "team" else entry.parent
            return f"a team is forked at one of its messages: `antiphon team fork {team} --at MESSAGE`"
        case "map":
            return f"each row of it is a run of its own, which can be forked: `antiphon runs list --of {entry.id}`"
        case "earlier":
            return f"this is what run {entry.parent} did before it was begun anew; fork that one"
        case _:
            return "only the code that began it can go on with it, so nothing could go on with a fork"


def fork_run(journal: Journal, entry: RunEntry, at: str, change: ForkChange) -> str:
    """A new run, which is ready to be gone on with; its name."""
    if why := explain_fork_refusal(entry):
        raise NotReadyError(f"run {entry.id} cannot be forked: {why}")
    is_talk = entry.kind in CHAT_KINDS
    at = find_first_step(journal, entry) if change.prompt is not None else at
    begun = _change_chat(entry, change) if is_talk else _change_program(journal, entry, change)
    given = None if change.given is None else parse_manual_outcome(journal, entry.id, at, change.given)
    name = journal.fork(entry.id, at, given, begun)
    if change.source is not None:
        # What the changed text asks for as well is not done again.
        running = journal.resume(name)
        set_aside_run(journal, running)
        running.finish("ready")
    return name


def extract_prompt(entry: RunEntry) -> str | None:
    """What a model was asked in the beginning; nothing, where that is no text, or the run is none of a talk."""
    kept = entry.begun_as.get("prompt")
    if entry.kind not in CHAT_KINDS or not isinstance(kept, list):
        return None
    texts = [each.text for each in parts_from_json(cast(list[object], kept)) if isinstance(each, Text)]
    return "\n\n".join(texts) if texts else None


def load_edited_program(journal: Journal, entry: RunEntry, source: str) -> Program:
    """The program of a run with another text; `ProgramErrors` says what is wrong with that."""
    from antiphon.lang.runtime.program import loads

    begun = load_launch_spec(entry, journal)
    return loads(source, begun.name, untrusted=bool(begun.settings.get("untrusted")))


def find_first_step(journal: Journal, entry: RunEntry) -> str:
    """Where a run began."""
    found = journal.query("SELECT path FROM effects WHERE run = ? ORDER BY seq LIMIT 1", (entry.id,))
    if not found:
        raise NotReadyError(f"run {entry.id} has done nothing yet")
    return found[0][0]


def _change_program(journal: Journal, entry: RunEntry, change: ForkChange) -> dict[str, Any]:
    if change.prompt is not None:
        raise NotReadyError(f"run {entry.id} is a program; what it asks models is part of its text")
    begun = load_launch_spec(entry, journal)
    if change.model is not None:
        begun = replace(begun, settings={**begun.settings, "model": change.model, "every_model": True})
    if change.source is not None:
        begun = replace(begun, sources={**begun.sources, begun.name: change.source}, is_edited=True)
    return begun.to_json()


def _change_chat(entry: RunEntry, change: ForkChange) -> dict[str, Any]:
    if change.source is not None:
        raise NotReadyError(f"run {entry.id} is no program: there is no text of one to change")
    # What is said in the fork is a conversation of its own, which begins as the other one did.
    begun: dict[str, Any] = {**entry.begun_as, "conversation": ""}
    if change.model is not None:
        begun |= {"model": change.model, "every_model": True}
    if change.prompt is not None:
        kept = [each for each in parts_from_json(begun.get("prompt") or ()) if not isinstance(each, Text)]
        begun["prompt"] = parts_to_json(cast(list[UserPart], [Text(change.prompt), *kept]))
    return begun
