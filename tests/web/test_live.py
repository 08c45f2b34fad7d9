"""Runs as they happen on the page: what is being said, what a model was shown, what was changed, runs inside runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from antiphon.conversation import Text, ToolCall, ToolResult
from antiphon.conversation.turns import UserTurn
from antiphon.durable import Journal
from antiphon.effects import AskModel, CallTool, ModelReplied, Outcome, ToolReturned
from antiphon.effects.pipeline import private_effects
from antiphon.errors import LeaseLost
from antiphon.results import Result, diff
from antiphon.session import Session
from antiphon.tools import tool
from antiphon.web.run_launcher import RunLauncher
from antiphon.web.sse import StepFeed
from antiphon.web.step_details import changed_files_json, request_prompt_json
from antiphon.web.stored import session_json as known_run
from antiphon.wire import Reply, Usage
from tests.web.browser import Site
from tests.web.journals import begun, do, put, say, show
from tests.web.speaking import END, Speaker
from tests.web.tabs import AXE, Tab

PATIENCE = 60
#: More than the page shows at first, and after one more look.
LINES = 12_000
ROOT = Path(__file__).parents[2]


def told(watch: StepFeed) -> list[Any]:
    found: list[Any] = []
    while new := watch.new():
        found += new
    return found


def words(live: dict[str, Any]) -> str:
    """The text of the blocks that are open."""
    return "".join(each for _, _, *inside in live["said"]["open"] for each in inside)


def heard(watch: StepFeed, wanted: str) -> list[dict[str, Any]]:
    """What was sent of what is being said, once what is wanted was."""
    found: list[dict[str, Any]] = []
    end = time.monotonic() + PATIENCE
    while wanted not in "".join(map(words, found)):
        assert time.monotonic() < end, found
        found += [data for _, name, data in watch.take_live_output() if name == "live"]
        time.sleep(0.02)
    return found


# What is being said


def test_what_is_being_said_is_sent_without_an_id_and_from_its_beginning(journal: Journal):
    model = Speaker()
    run = Session(model, journal=journal).start("Hi")
    watch = StepFeed(journal, RunLauncher(journal), run.id)
    assert not watch.has_live_output
    told(watch)
    assert watch.has_live_output
    model.pieces.put("One ")
    said = {"closed": [], "open": [["p", {}, "One"]], "rest": ""}
    assert heard(watch, "One") == [{"run": run.id, "path": "1/r1", "number": 0, "said": said}]
    model.pieces.put("two")
    assert [each["number"] for each in heard(watch, "two")] == [1]
    again = StepFeed(journal, RunLauncher(journal), run.id)
    told(again)
    assert [(each["number"], words(each)) for each in heard(again, "two")] == [(0, "One"), (1, "One two")]
    model.pieces.put(END)
    run.wait()
    assert watch.take_live_output() == []
    told(watch)
    assert not watch.has_live_output


def test_a_key_that_only_the_server_knows_is_not_sent_in_pieces(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = Speaker()
    run = Session(model, journal=journal).start("Hi")
    monkeypatch.setenv("OTHER_TOKEN", "other-0123456789")
    server = Journal(tmp_path / "logs.db")
    watch = StepFeed(server, RunLauncher(server), run.id)
    told(watch)
    model.pieces.put("It is other-01")
    sent = heard(watch, "It is")
    model.pieces.put("23456789.")
    model.pieces.put(END)
    run.wait()
    assert "other" not in "".join(map(words, sent))
    server.close()


# Runs inside runs


def test_parts_that_are_open_are_told_with_their_own_marks(journal: Journal):
    begun(journal, "outer")
    inner = begun(journal, "inner", parent="outer", number=1)
    put(inner, "1", "one")
    watch = StepFeed(journal, RunLauncher(journal), "outer", "", [("inner", "")])
    found = [data for _, name, data in told(watch) if name == "part"]
    assert [(each["run"], each["name"], each["mark"]) for each in found] == [
        ("inner", "session", ""),
        ("inner", "steps", "0"),
    ]
    put(inner, "2", "two")
    again = [
        data
        for _, name, data in told(StepFeed(journal, RunLauncher(journal), "outer", "", [("inner", "0")]))
        if name == "part"
    ]
    assert [[step["path"] for step in each["data"]] for each in again if each["name"] == "steps"] == [["2"]]


def test_costs_are_exact_and_unknown_ones_are_said_to_be(journal: Journal):
    outer = begun(journal, "outer")
    say(outer, "1", "one", 0.0125)
    do(outer, "2", AskModel("m", "", ()), Outcome(ModelReplied(Reply((), "end", usage=Usage()), None)))
    for number, cost in ((1, 0.25), (2, None)):
        inner = begun(journal, f"i{number}", parent="outer", number=number)
        say(inner, "1", "inside", cost)
        inner.finish("done")
    begun(journal, "deep", parent="i1")
    found = known_run(journal, "outer")
    assert (found["cost"], found["unpriced"]) == (0.0125, 1)
    assert (found["partsCost"], found["partsUnpriced"], found["partStates"]) == (0.25, 1, {"done": 2})
    assert "partsCost" not in known_run(journal, "i2")


# What a model was shown


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return f"a cat at {where}"


def test_each_request_shows_what_the_model_was_shown(journal: Journal):
    model = Speaker()
    session = Session(model, [look], system="Be kind.", journal=journal)
    run = session.start("Where is it?")
    for piece in ("I look.", ToolCall("c1", "look", {"where": "home"}), END, "At home.", END):
        model.pieces.put(piece)
    run.wait()
    first, second = request_prompt_json(journal, run.id, "1/r1"), request_prompt_json(journal, run.id, "1/r2")
    assert [each["name"] for each in first["about"]] == ["system", "tools"]
    assert "Be kind." in json.dumps(first["about"][0])
    assert [each["role"] for each in first["turns"]] == ["user"]
    assert "Where is it?" in json.dumps(first["turns"])
    assert [each["role"] for each in second["turns"]] == ["user", "assistant"]
    assert [each["type"] for each in second["turns"][1]["parts"]] == ["text", "call", "result"]
    assert "a cat at home" in json.dumps(second["turns"][1])
    assert request_prompt_json(journal, run.id, "1/c1") == {"turns": [], "before": ""}


def test_long_histories_come_in_parts_and_private_ones_not_at_all(journal: Journal):
    turns = tuple(UserTurn((Text(f"line {number}"),)) for number in range(45))
    running = begun(journal, "r")
    do(running, "1", AskModel("m", "", turns))
    with private_effects():
        do(running, "2", AskModel("m", "secret", turns))
    found = request_prompt_json(journal, "r", "1")
    last, seen = found["turns"][-1], len(found["turns"])
    assert "line 44" in json.dumps(last)
    while found["before"]:
        found = request_prompt_json(journal, "r", "1", found["before"])
        seen += len(found["turns"])
    assert (seen, "line 0" in json.dumps(found["turns"][0])) == (45, True)
    assert request_prompt_json(journal, "r", "2") == {"turns": [], "before": ""}
    assert journal.database.query("SELECT turn FROM steps WHERE path = '2'", ()) == [(None,)]


def test_a_prompt_is_read_to_its_last_line(tab: Tab, journal: Journal):
    long = "\n".join(f"line {number} of {LINES}" for number in range(1, LINES + 1))
    running = begun(journal, "r")
    turns = [UserTurn((Text(f"turn {number}"),)) for number in range(30)]
    turns[-2] = UserTurn((Text("short"), Text(f"```\n{long}\n```")))
    do(running, "1", AskModel("m", long, tuple(turns)), Outcome(ModelReplied(Reply((Text("Yes."),), "end"), 0.1)))
    running.finish("done")
    page = tab.go("sessions/r:1")
    page.click(".shown > summary")
    page.wait_for_selector(".shown .turn:has-text('turn 29')")
    page.click(".shown > button.more")
    page.wait_for_selector(".shown .turn:has-text('turn 0')")
    for place in (".shown > .result", ".shown .turn:has-text('short') .said-part:nth-of-type(2)"):
        more = page.locator(f"{place} button.more")
        while more.count():
            before = more.text_content()
            more.click()
            page.wait_for_function(
                "([place, before]) => document.querySelector(`${place} button.more`)?.textContent !== before",
                arg=[place.replace(":has-text('short')", ":nth-of-type(29)"), before],
            )
        assert f"line {LINES} of {LINES}" in page.text_content(place)
    assert page.locator(".shown .turn").count() == 30


def test_what_was_shown_is_kept_for_forks_and_goes_with_the_last_run(journal: Journal):
    running = begun(journal, "r")
    do(running, "1", AskModel("m", "", (UserTurn((Text("words"),)),)), Outcome(ModelReplied(Reply((), "end"))))
    put(running, "2", "more")
    fork = journal.fork("r", "2")
    journal.remove("r")
    assert "words" in json.dumps(request_prompt_json(journal, fork, "1"))
    journal.remove(fork)
    assert journal.database.query("SELECT count(*) FROM turns", ()) == [(0,)]


def test_what_a_model_is_shown_is_never_without_the_request_that_names_it(journal: Journal):
    turns = (UserTurn((Text("words"),)),)
    running = begun(journal, "r")
    journal.resume("r", by_force=True)
    with pytest.raises(LeaseLost):
        do(running, "1", AskModel("m", "", turns))
    assert journal.database.query("SELECT count(*) FROM turns", ()) == [(0,)]
    do(begun(journal, "other"), "1", AskModel("m", "", turns))
    assert "words" in json.dumps(request_prompt_json(journal, "other", "1"))


# What was changed so far


def test_changes_of_a_file_are_one_as_far_as_they_follow_each_other(journal: Journal):
    running = begun(journal, "r")
    for number, result in enumerate(
        (
            diff("a.txt", None, "one\n"),
            diff("b.txt", "x\n", "y\n"),
            diff("a.txt", "one\n", "two\n"),
            diff("b.txt", "somebody\n", "z\n"),
            Result("diff", {"path": "c.txt", "modified": "new\n", "isNew": False}, "now 1 line"),
            diff("d.txt", "same\n", "other\n"),
            diff("d.txt", "other\n", "same\n"),
            Result("git.diff", {"content": "diff --git a/e b/e"}, "", "text/x-diff"),
        ),
        1,
    ):
        show(running, str(number), result, "edit_file")
    do(running, "9", CallTool("edit_file", {}), Outcome(ToolReturned(ToolResult("c", '"diff"', is_error=True))))
    with private_effects():
        show(running, "10", diff("secret.txt", "a\n", "b\n"))
    found = {
        file["path"]: [each["view"]["body"] for each in file["changes"]] for file in changed_files_json(journal, "r")
    }
    assert list(found) == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert [(body["change"], body["added"]) for body in found["a.txt"]] == [("new", 1)]
    assert found["a.txt"][0]["hunks"][0]["lines"][0]["text"] == "two"
    assert [(body["added"], body["removed"]) for body in found["b.txt"]] == [(1, 1), (1, 1)]
    assert ["change" in body for body in found["c.txt"]] == [False]
    assert [body["change"] for body in found["d.txt"]] == ["unchanged"]


# In a browser


class Other:
    """A session in a process of its own, which says what it is told to."""

    def __init__(self, place: Path) -> None:
        command = [sys.executable, "-m", "tests.web.speaking", str(place)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        self.run = self._process.stdout.readline().strip()

    def say(self, piece: str | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(piece) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        self._process.communicate(timeout=PATIENCE)


def test_an_answer_of_another_process_is_drawn_as_it_comes(tab: Tab, site: Site, tmp_path: Path):
    other = Other(tmp_path / "logs.db")
    page = tab.go(f"sessions/{other.run}")
    other.say("# A title\n\nSome **bo")
    page.wait_for_selector("[data-state=begun] .saying p:has-text('Some **bo')")
    page.evaluate("() => { document.querySelector('.saying h2').dataset.kept = 'yes'; }")
    other.say("ld** words <img src=x onerror=alert(1)> [a](javascript:alert(1))\n\n")
    page.wait_for_selector(".saying strong:has-text('bold')")
    # What was read is not read again.
    page.wait_for_selector(".saying h2[data-kept=yes]")
    assert page.text_content("header .cost") == ""
    site.stop()
    other.say("after a restart\n\n")
    page.wait_for_selector(".banner")
    site.start()
    page.wait_for_selector(".saying p:has-text('after a restart')")
    other.say("the end\n\n")
    page.wait_for_selector(".saying p:has-text('the end')")
    assert page.text_content(".saying").count("A title") == 1
    assert page.evaluate("() => document.querySelectorAll('.saying img').length") == 0
    assert all("ERR_" in each for each in tab.complaints)
    tab.complaints.clear()
    other.say(END)
    other.close()
    page.wait_for_selector("[data-path='1/r1'][data-state=done]")
    page.wait_for_function("() => !document.querySelector('.saying')")
    assert page.text_content("header .cost") == "cost unknown"
    assert "s" in page.text_content("header .elapsed")
    page.click("[data-path='1/r1'] summary")
    page.click(".shown > summary")
    page.wait_for_selector(".shown .turn.user em:has-text('everything')")
    assert "Be kind." in page.text_content(".shown")


def test_runs_inside_are_opened_in_place_and_changes_are_told(browser: Any, site: Site, journal: Journal):
    outer = begun(journal, "outer", "A team")
    show(outer, "1", diff("src/a.py", "old = 1\n", "new = 2\n"), "edit_file")
    parts = [begun(journal, f"outer.{number}", f"turn {number}", parent="outer", number=number) for number in (1, 2)]
    put(parts[0], "1", "inside one")
    tab = Tab(browser, site, bypass_csp=True)
    page = tab.go("sessions/outer")
    page.wait_for_selector(".step[data-path='1'] .diff .added:has-text('new = 2')")
    page.click(".changes > summary")
    page.wait_for_selector(".changes [data-file='src/a.py'] .diff .added")
    show(outer, "2", diff("src/b.py", None, "x = 1\n"), "write_file")
    page.wait_for_selector(".changes [data-file='src/b.py'] .diff .added")
    page.click(".parts:not(.changes) > summary")
    page.wait_for_selector(".part >> nth=1")
    for number in (1, 2):
        page.click(f".part[data-run='outer.{number}'] > summary")
    page.wait_for_selector(".part [data-run='outer.1'][data-path='1'] >> text=inside one")
    put(parts[1], "1", "inside two")
    page.wait_for_selector(".part [data-run='outer.2'][data-path='1'] >> text=inside two")
    parts[1].finish("done")
    page.wait_for_selector(".part[data-run='outer.2'] > summary .state.done")
    assert page.locator(".part [data-path='1']").count() == 2
    page.evaluate(AXE.read_text())
    assert page.evaluate("async () => (await axe.run()).violations.map((each) => each.id)") == []
    page.click(".part[data-run='outer.1'] > summary")
    page.wait_for_function("() => document.querySelectorAll('.part [data-path]').length === 1")
    tab.close()
    assert tab.complaints == []
