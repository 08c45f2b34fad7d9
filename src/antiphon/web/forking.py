"""Fork a session at a step: what the fork can change, and starting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import ConfigurationError, NotReadyError, OptionError, StoreError
from antiphon.programs.fork import (
    CHAT_KINDS,
    ForkChange,
    explain_fork_refusal,
    extract_prompt,
    fork_run,
    load_edited_program,
)
from antiphon.programs.launch_spec import load_launch_spec
from antiphon.storage.sessions import find_text
from antiphon.web.session_values import is_sealed
from antiphon.web.steps import load_effect_entry
from antiphon.web.stored import row_at

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry, Journal, RunEntry
    from antiphon.web.run_launcher import RunLauncher

#: The name of the result that a fork can replace, by the kind of the step.
_GIVEN = {"request": "reply", "tool": "result", "python": "value", "clock": "value"}
_NAMES = ("given", "model", "source", "prompt")


def list_fork_choices(journal: Journal, id: str, path: str) -> dict[str, Any]:
    """Return what a fork at a step can change, or why it cannot be forked."""
    row = row_at(journal, id, path)
    entry, step = journal.find(id), load_effect_entry(journal, row)
    told: dict[str, Any] = {"run": id, "path": path, "hash": row[3], "kind": step.kind}
    if why := _refused(journal, entry):
        return {**told, "why": why}
    if step.asked.get("private"):
        told |= {"whyGiven": f"this step is private: `antiphon resume {id}:{path} --fork --set VALUE` in a terminal"}
    elif sort := _sort(step):
        told |= {"given": sort}
    told |= {"model": _model(journal, entry)}
    if entry.kind in CHAT_KINDS:
        return {**told, "prompt": extract_prompt(journal, entry, path)}
    begun = load_launch_spec(entry, journal)
    return {**told, "source": {"name": begun.file, "text": begun.source}}


def start_fork(journal: Journal, going: RunLauncher, id: str, given: dict[str, Any]) -> dict[str, Any]:
    """Start a fork of a session at a step, or return the errors of its changed program."""
    path, change = _taken(given)
    row = row_at(journal, id, path)
    if row[3] != given.get("hash"):
        raise NotReadyError("this step has changed; reload it")
    entry = journal.find(id)
    if why := _refused(journal, entry):
        raise NotReadyError(f"session {id} cannot be forked: {why}")
    if change.given is not None and load_effect_entry(journal, row).asked.get("private"):
        raise NotReadyError("the step is private; run `antiphon resume --fork` in a terminal to change its result")
    if change.source is not None and (wrong := _wrong(journal, entry, change.source)):
        return {"diagnostics": wrong}
    name = fork_run(journal, entry, path, change)
    return {"id": name, "goesOn": going.go_on(name), "resume": f"antiphon resume {name}"}


def _refused(journal: Journal, entry: RunEntry) -> str:
    if why := explain_fork_refusal(entry):
        return why
    try:
        if is_sealed(journal, find_text(journal.database, entry.id, "launch")):
            return f"it is private: `antiphon resume {entry.id} --fork --at STEP` in a terminal"
        if entry.kind not in CHAT_KINDS:
            load_launch_spec(entry, journal)
    except (ConfigurationError, StoreError) as error:
        return str(error)
    return ""


def _taken(given: dict[str, Any]) -> tuple[str, ForkChange]:
    path, wishes = given.get("path"), {name: given[name] for name in _NAMES if name in given}
    if not isinstance(path, str) or not all(isinstance(each, str) for each in wishes.values()):
        raise OptionError("`path`, `given`, `model`, `source` and `prompt` must be strings")
    if not wishes:
        raise OptionError("the fork changes nothing; set `given`, `model`, `source` or `prompt`")
    if "model" in wishes and not wishes["model"].strip():
        raise OptionError("`model` must be the name of a model, such as anthropic/claude-sonnet-5")
    return path, ForkChange(**wishes)


def _sort(step: EffectEntry) -> str:
    if step.kind == "person":
        return "approval" if step.asked.get("about") == "approval" else "answer"
    return _GIVEN.get(step.kind, "")


def _model(journal: Journal, entry: RunEntry) -> str:
    """Return the model of the last request."""
    known = (
        entry.begun_as.get("model")
        if entry.kind in CHAT_KINDS
        else load_launch_spec(entry, journal).settings.get("model")
    )
    return known if isinstance(known, str) else ""


def _wrong(journal: Journal, entry: RunEntry, source: str) -> list[dict[str, Any]]:
    from antiphon.lang.runtime.errors import VibeError
    from antiphon.lang.syntax.diagnostics import ProgramErrors

    try:
        load_edited_program(journal, entry, source)
    except ProgramErrors as errors:
        return [each.to_json(of) for of, each in errors.found]
    except VibeError as error:
        return [{"code": error.code, "message": error.message, "hint": error.hint}]
    return []
