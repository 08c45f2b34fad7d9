"""Open questions of all sessions, and their answers: the first answer wins."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from antiphon.effects import HumanAnswer
from antiphon.errors import NotReadyError, OptionError, StoreError
from antiphon.storage.sessions import find_summary
from antiphon.storage.steps import StepRow, list_open_questions
from antiphon.team.queries import classify_question, open_team_questions
from antiphon.views.markdown import markdown_json
from antiphon.web.steps import MAX_CHARACTERS, get_pending_call, load_effect_entry, tool_call_json
from antiphon.web.stored import row_at, session_json

if TYPE_CHECKING:
    from antiphon.durable import Journal
    from antiphon.team import ChannelMessage
    from antiphon.web.run_launcher import RunLauncher

#: The most questions in the list, oldest first.
_MOST = 100
#: Nobody should approve hidden arguments: a call is shown completely, up to the limit of a page.
_ROWS = 100_000
#: After this many characters, further questions are shown without their content.
_LARGEST = 4_000_000


#: A question: its summary, its length, and a function that returns its content.
Item = tuple[dict[str, Any], int, Callable[[], dict[str, Any]]]


def list_questions_json(journal: Journal) -> list[dict[str, Any]]:
    """Return the open questions of all sessions and teams."""
    found: list[dict[str, Any]] = []
    size = 0
    items = sorted([*_of_runs(journal), *_of_teams(journal)], key=lambda item: item[0]["began"])
    for about, length, whole in items[:_MOST]:
        more = whole() if size <= _LARGEST else {"about": "question", "text": "", "isLater": True}
        size += length
        found.append({**about, **more})
    return found


def _of_runs(journal: Journal) -> Generator[Item]:
    for id, title, step in list_open_questions(journal.database, _MOST):
        about = {"run": id, "title": title, "seq": step.seq, "path": step.path, "hash": step.hash, "began": step.began}
        yield about, len(journal.load_raw_text(step.request)), partial(_waiting, journal, step)


def _of_teams(journal: Journal) -> Generator[Item]:
    """Yield the open questions of teams, by number."""
    for asked in open_team_questions(journal, _MOST):
        question = asked.message
        about: dict[str, Any] = {
            "run": str(question.data.get("run", asked.team)),
            "title": asked.title,
            "seq": question.id,
            "path": str(question.data.get("path", f"#{question.id}")),
            "hash": f"#{question.id}",
            "began": question.at,
            "team": asked.team,
            "author": question.author,
            "task": question.task,
        }
        yield about, len(question.text), partial(_asked, journal, question, about["run"], about["path"])


def _asked(journal: Journal, question: ChannelMessage, run: str, path: str) -> dict[str, Any]:
    sort = classify_question(question)
    if sort != "approval":
        blocks = markdown_json(question.text)
        return {"about": sort, "text": question.text, "blocks": blocks, "ways": question.data.get("ways", [])}
    try:
        return _waiting(journal, row_at(journal, run, path))
    except StoreError as error:
        return {"about": sort, "text": str(error), "isPrivate": True}


def _waiting(journal: Journal, row: StepRow) -> dict[str, Any]:
    try:
        entry = load_effect_entry(journal, row)
    except StoreError as error:
        return {"about": "question", "text": str(error), "isPrivate": True}
    if entry.asked.get("private"):
        return {"about": "question", "text": "", "isPrivate": True}
    told: dict[str, Any] = {
        "about": str(entry.asked.get("about", "question")),
        "text": str(entry.asked.get("text", "")),
    }
    call = get_pending_call(entry.asked)
    return {**told, "call": tool_call_json(call, _ROWS, MAX_CHARACTERS)} if call else told


def settle(journal: Journal, going: RunLauncher, id: str, given: dict[str, Any]) -> dict[str, Any]:
    """Record the answer to a question and resume the session; return its new state."""
    settle_as(journal, id, given)
    now = session_json(journal, id)
    goes_on = now["isRun"] or journal.is_shared or going.go_on(id)
    return {"state": now["state"], "goesOn": goes_on, "resume": f"antiphon resume {id}"}


def settle_as(journal: Journal, id: str, given: dict[str, Any]) -> None:
    """Record the answer to a question unless it has one already."""
    path, hash, said = _taken(given)
    if (asking := find_summary(journal.database, id)) is not None and asking.kind == "turn":
        raise NotReadyError(f"team {asking.parent} asks this question; answer it on the page of the team")
    row = row_at(journal, id, path)
    if row.kind != "person" or row.hash != hash:
        raise NotReadyError("the question has changed; reload it")
    entry = load_effect_entry(journal, row)
    if entry.asked.get("private"):
        raise NotReadyError(f"the question is private; run `antiphon answer {id}:{path} TEXT` in a terminal")
    if entry.asked.get("about") != "approval" and not said.allowed:
        raise OptionError("the answer to a question must be a text")
    if entry.state != "waiting":
        raise NotReadyError(_settled(entry.outcome.value if entry.outcome is not None else None))
    journal.answer(id, path, said)


def _taken(given: dict[str, Any]) -> tuple[str, str, HumanAnswer]:
    path, hash, text = given.get("path"), given.get("hash"), given.get("text", "")
    allowed, always = given.get("allowed", True), given.get("always", False)
    if not isinstance(path, str) or not isinstance(hash, str) or not isinstance(text, str):
        raise OptionError("`path`, `hash` and `text` must be strings")
    if not isinstance(allowed, bool) or not isinstance(always, bool):
        raise OptionError("`allowed` and `always` must be true or false")
    return path, hash, HumanAnswer(text, allowed, always)


def _settled(value: Any) -> str:
    if not isinstance(value, HumanAnswer):
        return "the question is already answered"
    said = value.text or ("allowed" if value.allowed else "not allowed")
    return f"the question is already answered: {said[:500]}"
