"""Forks: new runs that replay another up to a step, with a change from there on."""

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

#: Kinds of runs of the commands `ask` and `chat`.
CHAT_KINDS = ("ask", "chat")
_PROGRAM_KINDS = ("program", "row")


@dataclass(frozen=True, slots=True)
class ForkChange:
    """The change of a fork: the outcome of its first step, the model, the program text or the prompt."""

    given: str | None = None
    model: str | None = None
    source: str | None = None
    prompt: str | None = None


def explain_fork_refusal(entry: RunEntry) -> str:
    """Return why a run cannot be forked, or an empty string."""
    match entry.kind:
        case "program" | "row" | "ask" | "chat":
            return ""
        case "team" | "turn":
            team = entry.id if entry.kind == "team" else entry.parent
            return f"a team is forked at one of its messages: `antiphon resume {team} --fork --at MESSAGE`"
        case "map":
            return f"it is a batch; fork one of its rows: `antiphon list --in {entry.id}` lists them"
        case "earlier":
            return f"it holds the steps of session {entry.parent} before its restart; fork that one"
        case _:
            return "only the code that started it can resume it, so nothing could resume a fork"


def fork_run(journal: Journal, entry: RunEntry, at: str, change: ForkChange) -> str:
    """Create a fork that is ready to be resumed, and return its id."""
    if why := explain_fork_refusal(entry):
        raise NotReadyError(f"session {entry.id} cannot be forked: {why}")
    is_talk = entry.kind in CHAT_KINDS
    at = find_first_step(journal, entry) if change.prompt is not None else at
    begun = _change_chat(entry, change) if is_talk else _change_program(journal, entry, change)
    given = None if change.given is None else parse_manual_outcome(journal, entry.id, at, change.given)
    name = journal.fork(entry.id, at, given, begun)
    if change.source is not None:
        # Effects that the changed text requests too are replayed.
        running = journal.resume(name)
        set_aside_run(journal, running)
        running.finish("ready")
    return name


def extract_prompt(entry: RunEntry) -> str | None:
    """Return the prompt of a chat run; None if it has no text, or for other runs."""
    kept = entry.begun_as.get("prompt")
    if entry.kind not in CHAT_KINDS or not isinstance(kept, list):
        return None
    texts = [each.text for each in parts_from_json(cast(list[object], kept)) if isinstance(each, Text)]
    return "\n\n".join(texts) if texts else None


def load_edited_program(journal: Journal, entry: RunEntry, source: str) -> Program:
    """Load the program of a run with another text. A `ProgramErrors` lists its mistakes."""
    from antiphon.lang.runtime.program import loads

    begun = load_launch_spec(entry, journal)
    return loads(source, begun.name, untrusted=bool(begun.settings.get("untrusted")))


def find_first_step(journal: Journal, entry: RunEntry) -> str:
    """Return the path of the first step of a run."""
    found = journal.query("SELECT path FROM effects WHERE run = ? ORDER BY seq LIMIT 1", (entry.id,))
    if not found:
        raise NotReadyError(f"session {entry.id} has no steps yet")
    return found[0][0]


def _change_program(journal: Journal, entry: RunEntry, change: ForkChange) -> dict[str, Any]:
    if change.prompt is not None:
        raise NotReadyError(f"session {entry.id} is a program; its prompts are part of its text")
    begun = load_launch_spec(entry, journal)
    if change.model is not None:
        begun = replace(begun, settings={**begun.settings, "model": change.model, "every_model": True})
    if change.source is not None:
        begun = replace(begun, sources={**begun.sources, begun.name: change.source}, is_edited=True)
    return begun.to_json()


def _change_chat(entry: RunEntry, change: ForkChange) -> dict[str, Any]:
    if change.source is not None:
        raise NotReadyError(f"session {entry.id} is not a program, so it has no program text to change")
    # The fork is a separate conversation with the same beginning.
    begun: dict[str, Any] = {**entry.begun_as, "conversation": ""}
    if change.model is not None:
        begun |= {"model": change.model, "every_model": True}
    if change.prompt is not None:
        kept = [each for each in parts_from_json(begun.get("prompt") or ()) if not isinstance(each, Text)]
        begun["prompt"] = parts_to_json(cast(list[UserPart], [Text(change.prompt), *kept]))
    return begun
