"""The input and the output of a session as JSON for the page: what it was given, and its value."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.effects.codec import decode_value
from antiphon.errors import NotSavedError, StoreError
from antiphon.results import Result, structured, text
from antiphon.storage.encryption import ENCRYPTED_MARK
from antiphon.storage.secret_refs import REFERENCES_MARK, parse_redacted_json
from antiphon.storage.sessions import SessionRow, find_text, has_session
from antiphon.web.steps import one_line_json, render_result_json, to_displayed_json

if TYPE_CHECKING:
    from antiphon.durable import Journal

#: The most inputs in one response; the longest text that is an input in one line.
_MAX_INPUTS, _MAX_SHORT = 100, 100


def session_values_json(journal: Journal, id: str, rows: int) -> dict[str, Any]:
    """Return up to `rows` rows of each input of a session, and of its output if it has one."""
    if not has_session(journal.database, id):
        raise NotSavedError(f"session {id[:60]!r} does not exist")
    try:
        launch, ending = (
            load_public_json(journal, find_text(journal.database, id, column), id) for column in ("launch", "result")
        )
    except StoreError as damage:
        return {"input": [], "output": None, "damage": str(damage)}
    if launch is None or ending is None:
        return {"input": [], "output": None, "isPrivate": True}
    inputs = [
        {"name": name, "view": render_result_json(_input_result(value), rows)}
        for name, value in list(_list_inputs(launch).items())[:_MAX_INPUTS]
    ]
    output = _get_output(ending)
    return {"input": inputs, "output": None if output is None else render_result_json(_value_result(output), rows)}


def describe_values(journal: Journal, row: SessionRow) -> dict[str, str]:
    """Return the inputs and the output of a session in one line each; nothing of a private one."""
    given = _describe_input(journal, row.id, row.created)
    if given is None:
        return {}
    try:
        output = _get_output(load_public_json(journal, row.result, row.id) or {})
    except StoreError:
        output = None
    return {"given": given, **({} if output is None else {"gave": _describe_value(output)})}


@lru_cache(maxsize=2000)
def _describe_input(journal: Journal, id: str, created: float) -> str | None:  # noqa: ARG001 - an id may be used again
    """Return the inputs of a session in one line; `None` if they are private."""
    try:
        launch = load_public_json(journal, find_text(journal.database, id, "launch"), id)
    except StoreError:
        return ""
    if launch is None:
        return None
    inputs = _list_inputs(launch)
    if len(inputs) == 1:
        return _describe_value(next(iter(inputs.values())))
    return one_line_json(inputs) if inputs else ""


def _describe_value(value: Any) -> str:
    """Return a value in one line: a text as it is, and other values as JSON."""
    line = one_line_json(value)
    return " ".join(value[: len(line)].split()) if isinstance(value, str) else line


def _get_output(ending: dict[str, Any]) -> Any:
    """Return the value of a session; `None` if it has none."""
    return ending.get("value") if ending.get("outcome") == "done" else None


def load_public_json(journal: Journal, kept: str | None, id: str) -> dict[str, Any] | None:
    """Return a stored object with names instead of secrets; `None` if it is encrypted."""
    if kept is None:
        return {}
    if is_sealed(journal, kept):
        return None
    # The inputs of a program are stored as they were given.
    text = journal.secret_refs.insert_references(journal.load_text(kept).removeprefix(REFERENCES_MARK))
    return parse_redacted_json(text, f"session {id}")


def is_sealed(journal: Journal, kept: str | None) -> bool:
    """Return whether a stored value is encrypted."""
    return kept is not None and journal.load_raw_text(kept).startswith(ENCRYPTED_MARK)


def _list_inputs(launch: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of a program or a row, or the prompt of a session in Python."""
    inputs = as_object(decode_value(launch.get("inputs")))
    if arguments := launch.get("arguments"):
        inputs = {**inputs, "arguments": arguments}
    said = [as_string(as_object(part).get("text")) for part in as_array(launch.get("prompt"))]
    return {**inputs, "prompt": "\n\n".join(filter(None, said))} if any(said) else inputs


def _input_result(value: Any) -> Result:
    is_short = isinstance(value, str) and len(value) <= _MAX_SHORT
    return text(value, preferred_view="code") if is_short else _value_result(value)


def _value_result(value: Any) -> Result:
    return text(value) if isinstance(value, str) else structured(to_displayed_json(value))
