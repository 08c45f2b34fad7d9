"""The conversations that tokens.py counts: what was said, which tools were called, what they returned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SAMPLES = Path(__file__).resolve().parent / "samples"


@dataclass(frozen=True)
class Done:
    """A call with what it returned: `data` as the tool made it, `text` as one would write it for a reader."""

    name: str
    arguments: dict[str, Any]
    data: dict[str, Any]
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Said:
    """A text of the user or of the assistant."""

    role: str
    text: str


@dataclass(frozen=True)
class Story:
    """A conversation up to the last request; a tuple is one assistant turn with its calls."""

    title: str
    steps: tuple[Said | tuple[Done, ...], ...]


def stories() -> list[Story]:
    """All of them."""
    return [_reading(), _parallel(), _interview(), _small_calls(), _planning(), _coding()]


def tools() -> list[tuple[str, str, dict[str, Any]]]:
    """Name, description and schema of the tools, the same in every conversation."""
    text, flag = {"type": "string"}, {"type": "boolean"}
    return [
        ("list_files", "List the files of the workspace that match a pattern.", _schema(pattern=text)),
        ("read_file", "Read a file of the workspace.", _schema(path=text)),
        ("write_file", "Replace a file of the workspace.", _schema(path=text, content=text)),
        ("shell", "Run a command in the workspace and return its output.", _schema(command=text)),
        ("get_status", "The state of a task.", _schema(task=text)),
        ("chat_ask_user", "Post a question to the user and wait for the answer.", _schema(message=text, urgent=flag)),
    ]


def _schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [name for name in properties if name != "urgent"]}


# Calls


def _list(pattern: str, *files: str) -> Done:
    data = {"success": True, "files": list(files), "count": len(files)}
    return Done("list_files", {"pattern": pattern}, data, "\n".join(files))


def _read(path: str, sample: str) -> Done:
    content = (_SAMPLES / sample).read_text()
    data = {"success": True, "path": path, "content": content, "size": len(content)}
    return Done("read_file", {"path": path}, data, content)


def _read_fails(path: str) -> Done:
    error = f"open {path}: no such file or directory"
    return Done("read_file", {"path": path}, {"success": False, "error": error}, error, is_error=True)


def _write(path: str, content: str) -> Done:
    data = {"success": True, "path": path, "bytes": len(content)}
    return Done("write_file", {"path": path, "content": content}, data, f"{len(content)} bytes written")


def _shell(command: str, output: str, code: int = 0) -> Done:
    data = {"exit_code": code, "stdout": output, "stderr": ""}
    return Done("shell", {"command": command}, data, f"exit code {code}\n{output}")


def _status(number: int) -> Done:
    state = ("open", "running", "done")[number % 3]
    return Done("get_status", {"task": f"T-{number}"}, {"state": state}, state)


def _ask(message: str) -> Done:
    data = {"success": True, "await_user": True, "message": "Question posted, waiting for the user's answer"}
    return Done("chat_ask_user", {"message": message}, data, "posted")


# Conversations


def _reading() -> Story:
    return Story(
        "listing and reading files, one call a turn",
        (
            Said("user", "How does the queue decide when to wait, and which settings change that?"),
            (_list("*", "README.md", "config.yaml", "go.mod", "go.sum", "main.go", "queue/", "worker/"),),
            (_list("queue/*.go", "queue/queue.go", "queue/queue_test.go", "queue/doc.go"),),
            (_read("queue/queue.go", "queue.go"),),
            (_read("config.yaml", "config.yaml"),),
            (_read_fails("docs/queue.md"),),
            (_read("README.md", "notes.md"),),
            Said("assistant", "Push waits while the queue holds `limit` items; `queue.limit` in config.yaml sets it."),
            Said("user", "And what do the tests say about closing?"),
            (_shell("go test ./queue -v", (_SAMPLES / "tests.log").read_text(), 1),),
        ),
    )


def _parallel() -> Story:
    return Story(
        "parallel calls, three and four a turn",
        (
            Said("user", "Give me an overview of this repository."),
            (
                _list("*", "README.md", "config.yaml", "go.mod", "main.go", "queue/", "worker/", "board/"),
                _list("queue/*", "queue/queue.go", "queue/queue_test.go"),
                _list("worker/*", "worker/worker.go", "worker/pool.go", "worker/worker_test.go"),
                _list("board/*", "board/board.go", "board/story.go"),
            ),
            (
                _read("README.md", "notes.md"),
                _read("config.yaml", "config.yaml"),
                _read("queue/queue.go", "queue.go"),
            ),
            (
                _shell("git log --oneline | wc -l", "412\n"),
                _shell("go vet ./...", ""),
                _shell("go test ./queue -v", (_SAMPLES / "tests.log").read_text(), 1),
            ),
            Said("assistant", "A small service of four packages; one test of the queue fails at the moment."),
            Said("user", "Which tasks are open?"),
            (_status(3), _status(4), _status(5), _status(6)),
            Said("assistant", "T-3 and T-6 are open, T-4 is running, T-5 is done."),
            Said("user", "Thanks. Is anything in the workspace that is not committed?"),
            (_shell("git status --short", " M queue/queue.go\n?? notes.txt\n"),),
        ),
    )


def _interview() -> Story:
    questions = [
        ("What should the quiz be about?", "general knowledge probably, nothing too hard"),
        ("How many questions does a round have?", "ten, and a player can stop at any time"),
        ("Are the questions written by hand or fetched from somewhere?", "by hand, in a file that we can edit"),
        ("Do players have accounts?", "no, only a nickname"),
        ("Should the results be kept?", "a list of the best twenty for each week would be nice"),
        ("Where will it run?", "on one small server, behind our usual proxy"),
        ("Which languages must the interface have?", "English and Dutch"),
        ("Is there a date by which it must be ready?", "the fair in June, so let us say the end of May"),
    ]
    steps: list[Said | tuple[Done, ...]] = [Said("user", "I want a quiz for our stand at the fair.")]
    for question, reply in questions:
        steps += [(_ask(question),), Said("user", reply)]
    return Story("asking the user, eight questions", tuple(steps))


def _small_calls() -> Story:
    calls = tuple((_status(number),) for number in range(1, 31))
    return Story("thirty small calls with one-word results", (Said("user", "Check tasks T-1 to T-30."), *calls))


def _planning() -> Story:
    return Story(
        "planning: files, then questions to the user",
        (
            Said("user", "Plan the work for retries in the dispatcher."),
            (_list("*", "README.md", "config.yaml", "go.mod", "main.go", "queue/", "worker/", "board/"),),
            (_read("README.md", "notes.md"), _read("config.yaml", "config.yaml")),
            (_ask("Should a task that failed five times be dropped or be shown on the board?"),),
            Said("user", "show it on the board, in a column of its own"),
            (_read("queue/queue.go", "queue.go"),),
            (_ask("Attempts are counted in memory only. May they be lost when the service restarts?"),),
            Said("user", "no, please keep them"),
            (_list("storage/*", "storage/db.go", "storage/schema.sql"),),
            (_ask("Is it acceptable to add a column to the table of tasks?"),),
            Said("user", "yes, but write a migration, we have data in there"),
            (
                _write(
                    "plan.md", "# Retries\n\n1. Migration: attempts.\n2. Count in Push.\n3. A column on the board.\n"
                ),
            ),
        ),
    )


def _coding() -> Story:
    log = (_SAMPLES / "tests.log").read_text()
    source = (_SAMPLES / "queue.go").read_text()
    steps: list[Said | tuple[Done, ...]] = [
        Said("user", "TestPushAfterClose fails. Find out why and repair it."),
        (_list("queue/*", "queue/queue.go", "queue/queue_test.go", "queue/close.go"),),
        (_read("queue/queue.go", "queue.go"), _shell("go test ./queue -v", log, 1)),
    ]
    for attempt in range(1, 6):
        changed = source.replace("return ErrClosed", f"return ErrClosed // attempt {attempt}")
        steps += [
            (_shell(f"grep -n closed queue/*.go | head -{attempt}0", "queue/queue.go:29:\tclosed bool\n"),),
            (_write("queue/queue.go", changed),),
            (_shell("gofmt -l queue", ""), _shell("go test ./queue -v", log, 1)),
        ]
    steps += [
        Said("assistant", "The test closes a copy of the queue, not the queue. Shall I change the test?"),
        Said("user", "Yes, please."),
        (_shell("sed -i 's/q := \\*queue/q := queue/' queue/queue_test.go", ""),),
        (_shell("go test ./queue", "ok  \texample.org/dispatcher/queue\t0.402s\n"),),
    ]
    return Story("coding: read, write, test, five attempts", tuple(steps))
