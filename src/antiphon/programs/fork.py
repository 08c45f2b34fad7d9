"""Forks: new runs that replay another up to a step, with a change from there on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from antiphon.conversation import Text, UserPart
from antiphon.conversation.serialization import parts_from_json
from antiphon.durable.replay_cache import set_aside_run
from antiphon.durable.turn_history import session_request_to_json
from antiphon.effects import EffectCall, SendMessage
from antiphon.errors import NotReadyError
from antiphon.programs.launch_spec import load_launch_spec
from antiphon.programs.manual_outcome import parse_manual_outcome

if TYPE_CHECKING:
    from antiphon.durable import Journal, RunEntry
    from antiphon.lang.runtime import Program

#: Kinds of runs of the commands `ask` and `chat`.
CHAT_KINDS = ("ask", "chat")


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
    is_chat = entry.kind in CHAT_KINDS
    begun = _change_chat(journal, entry, change) if is_chat else _change_program(journal, entry, change)
    if is_chat and change.prompt is not None:
        return _fork_with_prompt(journal, entry, at, change.prompt, begun)
    given = None if change.given is None else parse_manual_outcome(journal, entry.id, at, change.given)
    name = journal.fork(entry.id, at, given, begun)
    if change.source is not None:
        # Effects that the changed text requests too are replayed.
        running = journal.resume(name)
        set_aside_run(journal, running)
        running.finish("ready")
    return name


def extract_prompt(journal: Journal, entry: RunEntry, at: str) -> str | None:
    """Return the prompt of the message that a step of a chat belongs to; None if it has no text, or for other runs."""
    if entry.kind not in CHAT_KINDS:
        return None
    kept = journal.find_effect(entry.id, find_message(at)).asked.get("prompt")
    texts = [each.text for each in parts_from_json(kept or []) if isinstance(each, Text)]
    return "\n\n".join(texts) if texts else None


def find_message(at: str) -> str:
    """Return the path of the message that a step of a chat belongs to."""
    return at.partition("/")[0]


def load_edited_program(journal: Journal, entry: RunEntry, source: str) -> Program:
    """Load the program of a run with another text. A `ProgramErrors` lists its mistakes."""
    from antiphon.lang.runtime.program import loads

    begun = load_launch_spec(entry, journal)
    return loads(source, begun.name, untrusted=bool(begun.settings.get("untrusted")))


def _fork_with_prompt(journal: Journal, entry: RunEntry, at: str, prompt: str, begun: dict[str, Any]) -> str:
    """Fork a chat before a message, and begin that one with another prompt."""
    message = find_message(at)
    asked = journal.find_effect(entry.id, message).asked
    before, mode, parts = journal.load_request(entry.id, message)
    changed: list[UserPart] = [Text(prompt), *(each for each in parts or () if not isinstance(each, Text))]
    name = journal.fork(entry.id, message, None, begun)
    running = journal.resume(name)
    running.middleware.skip_replay()
    request = session_request_to_json(before, mode, changed)
    turn, model = int(asked["turn"]), str(begun.get("model", ""))
    effect = SendMessage(prompt, mode, request["prompt"], request["head"], turn, model, "", before.turns)
    running.middleware.before(EffectCall(message, effect))
    running.finish("ready")
    return name


def _change_program(journal: Journal, entry: RunEntry, change: ForkChange) -> dict[str, Any]:
    if change.prompt is not None:
        raise NotReadyError(f"session {entry.id} is a program; its prompts are part of its text")
    begun = load_launch_spec(entry, journal)
    if change.model is not None:
        begun = replace(begun, settings={**begun.settings, "model": change.model, "every_model": True})
    if change.source is not None:
        begun = replace(begun, sources={**begun.sources, begun.name: change.source}, is_edited=True)
    return begun.to_json()


def _change_chat(journal: Journal, entry: RunEntry, change: ForkChange) -> dict[str, Any]:
    if change.source is not None:
        raise NotReadyError(f"session {entry.id} is not a program, so it has no program text to change")
    # The fork is a separate conversation with the same beginning.
    begun: dict[str, Any] = {**journal.load_launch(entry.id), "conversation": ""}
    if change.model is not None:
        begun |= {"model": change.model, "every_model": True}
    return begun
