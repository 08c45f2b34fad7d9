"""Past and what-if: runs and conversations of before, steps gone through, forks, and two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.conversation import Conversation, Note, Text, ToolCall, ToolResult
from antiphon.durable import Journal
from antiphon.effects import (
    AskModel,
    AskPerson,
    CallTool,
    EffectCall,
    HumanAnswer,
    ModelReplied,
    Outcome,
    Print,
    ToolReturned,
)
from antiphon.effects.pipeline import private_effects
from antiphon.lang.runtime.program import load
from antiphon.programs.launch_spec import LaunchSpec, collect_program_sources
from antiphon.results import table
from antiphon.storage import Store
from antiphon.web import app
from antiphon.web import search as searching
from antiphon.web.run_launcher import RunLauncher
from antiphon.wire import Reply
from tests.terminal.cases import HOSTILE
from tests.web.journals import ask, begun, do, put, say, show
from tests.web.tabs import AXE, Tab
from tests.web.test_server import OURS, TOKEN, known

WHO = 'print("hello")\nconst who = ask "Who are you?"\nprint("hi {who}")\nwho\n'


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were gone on with, without a process for each."""
    found: list[str] = []
    monkeypatch.setattr(RunLauncher, "go_on", lambda _, id: found.append(id) or True)
    return found


def got(journal: Journal, *paths: str) -> list[Any]:
    page = app(journal=journal, token=TOKEN)
    return [each.json() for each in known(page, *(("GET", path, {}) for path in paths))]


def posted(journal: Journal, path: str, data: dict[str, Any]) -> tuple[int, Any]:
    page = app(journal=journal, token=TOKEN)
    (answer,) = known(page, ("POST", path, OURS, {"json": data}))
    return answer.status_code, answer.json()


def names(listed: dict[str, Any]) -> list[str]:
    return [each["id"] for each in listed["runs"]]


def programmed(journal: Journal, home: Path, text: str = WHO, id: str = "first", **options: Any) -> Any:
    """A run of a program that has printed, asked somebody and printed again."""
    file = home / "who.vibe"
    file.write_text(text)
    program = load(file)
    how = LaunchSpec(
        str(file), str(home), program.source.name, collect_program_sources(program), settings={"model": "openai/gpt-5"}
    )
    running = journal.begin("program", str(file), how.to_json(), id=id, **options)
    do(running, "1", Print("hello"), Outcome())
    do(running, "2", AskPerson("question", "Who are you?"), Outcome(HumanAnswer("Ada")))
    do(running, "3", Print("hi Ada"), Outcome())
    running.finish("done")
    return running


def fork_at(journal: Journal, path: str, run: str = "first", **wishes: Any) -> tuple[int, Any]:
    (choices,) = got(journal, f"/api/runs/{run}/fork?path={path}")
    return posted(journal, f"/api/runs/{run}/fork", {"path": path, "hash": choices["hash"], **wishes})


# Runs


def test_runs_are_listed_a_page_at_a_time(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("antiphon.web.stored.LISTED", 3)
    monkeypatch.setattr(searching, "LISTED", 3)
    for number in range(7):
        begun(journal, f"r{number}").finish("done" if number % 2 else "failed")
    (first,) = got(journal, "/api/runs")
    assert (names(first), first["next"]) == (["r6", "r5", "r4"], "r4")
    second, failed = got(journal, "/api/runs?after=r4", "/api/runs?state=failed&kind=program&after=r6")
    assert (names(second), names(failed)) == (["r3", "r2", "r1"], ["r4", "r2", "r0"])
    last, none = got(journal, "/api/runs?after=r1", "/api/runs?kind=team")
    assert (names(last), last["next"], names(none)) == (["r0"], None, [])


def test_the_newest_runs_are_found_without_sorting_all_of_them(journal: Journal):
    begun(journal, "one").finish("done")
    for more in ("", " AND (created, id) < (SELECT created, id FROM runs WHERE id = 'x')"):
        plan = journal.query(
            f"EXPLAIN QUERY PLAN SELECT id, title FROM runs WHERE parent IS NULL{more} ORDER BY created DESC, id DESC",
            (),
        )
        assert not any("B-TREE" in str(each) for each in plan)


def test_runs_are_found_by_their_words_and_by_what_they_did(journal: Journal):
    one = begun(journal, "one", "The weather")
    put(one, "1", "It rains in Zürich")
    say(one, "2", "Take an **umbrella**.", calls=[ToolCall("c", "forecast", {"city": "Bern"})])
    show(one, "3", table([{"town": "Basel"}]), "look", {"where": "north gate"})
    one.finish("done")
    two = begun(journal, "two", "The news")
    ask(two, "1", "Which paper?")
    two.finish("waiting")
    part = journal.begin("row", "row 1", {}, id="two.1", parent="two", number=1)
    put(part, "1", "a needle inside")
    part.finish("done")

    def found(query: str) -> list[str]:
        return names(got(journal, f"/api/runs?q={query}")[0])

    assert found("the") == ["two", "one"]
    assert found("weather") == found("zurich") == found("umbr") == found("forecast bern") == ["one"]
    assert found("%22north gate%22") == ["one"]
    assert found("%22gate north%22") == found("eather") == found("umbrella paper") == []
    assert found("waiting") == found("paper") == found("needle") == ["two"]
    (listed,) = got(journal, "/api/runs?q=rains")
    place = listed["runs"][0]["found"]
    assert (place["run"], place["path"], place["pieces"]) == (
        "one",
        "1",
        [["It ", False], ["rains", True], [" in Zürich", False]],
    )
    assert got(journal, "/api/runs?q=needle")[0]["runs"][0]["found"]["run"] == "two.1"
    assert names(got(journal, "/api/runs?q=the&state=done")[0]) == ["one"]


def test_a_search_looks_at_so_much_and_goes_on_where_somebody_says_so(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
):
    for number in range(6):
        running = begun(journal, f"r{number}")
        put(running, "1", "a needle" if number == 0 else "hay " * 500)
        running.finish("done")
    monkeypatch.setattr(searching, "_AT_ONCE", 5_000)
    first = searching.searched(journal, ("needle",), searching.Which())
    assert (first["runs"], first["next"]) == ([], "r3")
    second = searching.searched(journal, ("needle",), searching.Which(after="r3"))
    assert (names(second), second["next"]) == (["r0"], None)
    monkeypatch.setattr(searching, "_OF_RUN", 1_000)
    assert searching.searched(journal, ("hay",), searching.Which())["cut"] > 0


def test_what_is_private_is_not_found(journal: Journal):
    running = begun(journal, "one")
    with private_effects():
        do(running, "1", Print("the hidden word"), Outcome())
    running.finish("done")
    assert names(got(journal, "/api/runs?q=hidden")[0]) == []


# Conversations


@pytest.fixture
def talked(journal: Journal) -> Iterator[Store]:
    with Store(journal.file.path) as store:
        conversation = Conversation(system="Be kind.")
        conversation.add_user("Where is the <b>cat</b>?")
        conversation.add_reply([Text("I look."), ToolCall("c1", "find", {"what": "cat"})])
        conversation.add_tool_results([ToolResult("c1", "under the sofa", semantic=table([{"place": "sofa"}]))])
        conversation.add_reply([Text("It is *there*.")])
        store.save(conversation, model="openai/gpt-5", command="chat")
        other = Conversation()
        other.add_user("Something else")
        other.add_reply([Text("Well.")])
        store.save(other, model="openai/gpt-5", command="ask")
        yield store


@pytest.mark.usefixtures("talked")
def test_conversations_are_listed_searched_and_opened(journal: Journal):
    listed, found, none = got(
        journal, "/api/conversations", "/api/conversations?q=sofa", "/api/conversations?q=nowhere"
    )
    assert [each["command"] for each in listed["conversations"]] == ["ask", "chat"]
    (one,) = found["conversations"]
    assert (one["title"], one["models"], one["turns"]) == ("Where is the <b>cat</b>?", ["openai/gpt-5"], 3)
    assert ["sofa", True] in one["found"]["pieces"]
    assert none["conversations"] == []
    (opened,) = got(journal, f"/api/conversations/{one['id']}")
    assert (opened["system"], opened["next"]) == ("Be kind.", None)
    assert [(turn["who"], [part["type"] for part in turn["parts"]]) for turn in opened["said"]] == [
        ("user", ["text"]),
        ("assistant", ["text", "call"]),
        ("assistant", ["text"]),
    ]
    call = opened["said"][1]["parts"][1]
    assert (call["call"]["name"], call["state"], call["views"][0]["kind"]) == ("find", "done", "table")


def test_notes_of_the_program_are_not_shown(journal: Journal):
    with Store(journal.file.path) as store:
        conversation = Conversation().add_user(["How old?", Note("Answer with JSON.", "form")])
        conversation.add_reply([Text("forty")])
        conversation.add_user(Note("That does not fit.", "reminder")).add_reply([Text("40")])
        id = store.save(conversation, model="m", command="ask")
    (opened,) = got(journal, f"/api/conversations/{id}")
    said = [(turn["number"], turn["who"], [part["text"] for part in turn["parts"]]) for turn in opened["said"]]
    assert said == [(0, "user", ["How old?"]), (1, "assistant", ["forty"]), (3, "assistant", ["40"])]


def test_a_long_conversation_is_opened_piece_by_piece(journal: Journal):
    with Store(journal.file.path) as store:
        conversation = Conversation()
        for number in range(30):
            conversation.add_user(f"question {number}")
            conversation.add_reply([Text(f"answer {number}")])
        id = store.save(conversation, model="m", command="chat")
    first, second, wrong = got(
        journal, f"/api/conversations/{id}", f"/api/conversations/{id}?from=40", f"/api/conversations/{id}?from=-1"
    )
    assert (len(first["said"]), first["next"], len(second["said"]), second["next"]) == (40, 40, 20, None)
    assert second["said"][0]["parts"][0]["text"] == "question 20"
    assert "must be a number" in wrong["error"]


def test_lists_of_conversations_go_on_after_one(talked: Store):
    everything = talked.list()
    assert [each.id for each in talked.list(after=everything[0].id)] == [everything[1].id]
    assert talked.list(after=everything[1].id) == []


# Forks


def test_a_fork_with_another_answer_is_another_run(journal: Journal, tmp_path: Path, gone: list[str]):
    programmed(journal, tmp_path)
    (choices,) = got(journal, "/api/runs/first/fork?path=2")
    assert (choices["given"], choices["model"], choices["source"]["text"]) == ("answer", "openai/gpt-5", WHO)
    status, made = fork_at(journal, "2", given="Bob")
    assert (status, gone) == (200, [made["id"]])
    entry = journal.find(made["id"])
    assert (entry.fork_of, entry.fork_at, entry.state) == ("first", "2", "ready")
    assert [(each.path, each.state) for each in journal.iterate_effects(entry.id)] == [("1", "done"), ("2", "done")]
    assert journal.find_effect(entry.id, "2").outcome == Outcome(HumanAnswer("Bob"))
    (about,) = got(journal, f"/api/runs/{entry.id}/about")
    assert (about["forkOf"], about["forkAt"]) == ("first", "2")


def test_a_fork_asks_another_model_from_there_on(journal: Journal, tmp_path: Path, gone: list[str]):
    programmed(journal, tmp_path)
    _, made = fork_at(journal, "3", model="openai/gpt-5-mini")
    settings = journal.find(made["id"]).begun_as["settings"]
    assert (settings["model"], settings["every_model"]) == ("openai/gpt-5-mini", True)
    assert gone == [made["id"]]


def test_a_fork_with_another_text_of_the_program_is_checked_and_does_nothing_twice(
    journal: Journal, tmp_path: Path, gone: list[str], monkeypatch: pytest.MonkeyPatch
):
    programmed(journal, tmp_path)
    status, refused = fork_at(journal, "3", source=WHO.replace('"hi {who}"', "nobody"))
    assert (status, gone, len(journal.list_runs())) == (200, [], 1)
    (wrong,) = refused["diagnostics"]
    assert (wrong["line"], "nobody" in wrong["message"]) == (3, True)
    _, made = fork_at(journal, "3", source='print("first")\n' + WHO.replace("hi {who}", "good day, {who}"))
    monkeypatch.setenv("ANTIPHON_DB", str(journal.file.path))
    from tests.lang_unit.commands import antiphon

    ran = antiphon("resume", made["id"])
    assert (ran.code, ran.out) == (0, "first\ngood day, Ada\n"), ran.err
    assert (tmp_path / "who.vibe").read_text() == WHO


@pytest.mark.usefixtures("gone")
def test_a_fork_of_an_ask_has_another_prompt(journal: Journal):
    before = Conversation()
    before.add_user("Hello")
    before.add_reply([Text("Hi.")])
    running = journal.begin_request(before, "chat", (Text("Make it."),), "Make it.", "ask", {"conversation": "abc"})
    assert running is not None
    say(running, "r1", "Made.")
    running.finish("done")
    (choices,) = got(journal, f"/api/runs/{running.id}/fork?path=r1")
    assert (choices["prompt"], "source" in choices, choices["given"]) == ("Make it.", False, "reply")
    _, made = fork_at(journal, "r1", running.id, prompt="Break it.")
    conversation, mode, prompt = journal.load_request(made["id"])
    assert (conversation.turns, mode, prompt) == (before.turns, "chat", (Text("Break it."),))
    assert (list(journal.iterate_effects(made["id"])), journal.find(made["id"]).begun_as["conversation"]) == ([], "")


@pytest.mark.parametrize(
    ("kind", "parent", "said"),
    [
        ("team", None, "antiphon resume"),
        ("turn", "t1", "antiphon resume t1"),
        ("map", None, "it is a batch; fork one of its rows"),
        ("python", None, "only the code that started it"),
        ("session", None, "only the code that started it"),
        ("earlier", "first", "the steps of session first before its restart"),
        ("program", None, "is not a program; resume it"),
    ],
)
def test_what_cannot_be_forked_says_why(journal: Journal, gone: list[str], kind: str, parent: str | None, said: str):
    running = journal.begin(kind, "x", {}, id="one", parent=parent)
    put(running, "1", "hello")
    running.finish("done")
    (choices,) = got(journal, "/api/runs/one/fork?path=1")
    assert said in choices["why"]
    status, refused = fork_at(journal, "1", "one", model="m")
    assert (status, said in refused["error"], gone, len(journal.list_runs())) == (409, True, [], parent is None)


def test_what_is_private_is_forked_in_a_terminal(journal: Journal, tmp_path: Path, gone: list[str]):
    programmed(journal, tmp_path, is_private=True)
    (choices,) = got(journal, "/api/runs/first/fork?path=2")
    assert "it is private" in choices["why"]
    assert "source" not in choices
    assert fork_at(journal, "2", given="Bob")[0] == 409
    running = programmed(journal, tmp_path, id="second")
    running = journal.resume("second")
    with private_effects():
        do(running, "4", AskPerson("question", "The hidden word?"), Outcome(HumanAnswer("xyzzy")))
    running.finish("done")
    (choices,) = got(journal, "/api/runs/second/fork?path=4")
    assert ("given" in choices, "private" in choices["whyGiven"], "xyzzy" in json.dumps(choices)) == (
        False,
        True,
        False,
    )
    assert fork_at(journal, "4", "second", given="plugh")[0] == 409
    assert gone == []


def test_a_fork_of_a_private_run_stays_sealed(journal: Journal, tmp_path: Path):
    programmed(journal, tmp_path, WHO + "// the hidden word\n", is_private=True)
    name = journal.fork("first", "2", None, journal.find("first").begun_as)
    ((kept,),) = journal.query("SELECT begun_as FROM runs WHERE id = ?", (name,))
    assert "hidden" not in journal.load_raw_text(kept)
    assert "hidden" in journal.find(name).begun_as["sources"][str(tmp_path / "who.vibe")]


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"given": "x", "hash": "another"}, 409, "has changed"),
        ({}, 400, "changes nothing"),
        ({"given": 3}, 400, "must be strings"),
        ({"model": " "}, 400, "the name of a model"),
        ({"prompt": "x"}, 409, "part of its text"),
    ],
)
def test_a_fork_that_says_nothing_sensible_is_none(
    journal: Journal, tmp_path: Path, gone: list[str], given: dict[str, Any], status: int, said: str
):
    programmed(journal, tmp_path)
    found, refused = fork_at(journal, "2", **given)
    assert (found, said in refused["error"], gone, len(journal.list_runs())) == (status, True, [], 1)


def test_only_the_page_itself_forks(journal: Journal, tmp_path: Path, gone: list[str]):
    programmed(journal, tmp_path)
    page = app(journal=journal, token=TOKEN)
    foreign = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}
    (answer,) = known(page, ("POST", "/api/runs/first/fork", foreign, {"json": {"path": "2", "given": "x"}}))
    assert (answer.status_code, gone) == (403, [])


# Two runs


def two_runs(journal: Journal) -> None:
    for id, who in (("a", "Ada"), ("b", "Bob")):
        running = begun(journal, id)
        for number in range(1, 4):
            put(running, str(number), "the same")
        do(running, "4", AskPerson("question", "Who?"), Outcome(HumanAnswer(who)))
        if id == "b":
            put(running, "4/1", "only here")
        do(
            running,
            "5",
            AskModel("m", f"Greet {who}.", ()),
            Outcome(ModelReplied(Reply((Text(f"Hi {who}\nBye"),), "end"))),
        )
        do(running, "6", CallTool("look", {}), Outcome(ToolReturned(ToolResult("c", "seen"))))
        if id == "a":
            put(running, "7", "only there")
        running.finish("done")


def test_two_runs_are_compared_step_by_step(journal: Journal):
    two_runs(journal)
    (found,) = got(journal, "/api/compare?first=a&second=b")
    rows = [(each["what"], each["path"], each.get("count")) for each in found["rows"]]
    assert rows == [
        ("same", "3", 3),
        ("outcome", "4", None),
        ("second only", "4/1", None),
        ("asked", "5", None),
        ("same", "6", 1),
        ("first only", "7", None),
    ]
    assert (found["differing"], found["same"]) == (4, 4)
    assert (found["first"]["id"], found["second"]["id"]) == ("a", "b")
    same, step = got(journal, "/api/compare/same?run=a&from=1&to=3", "/api/compare/step?first=a&second=b&path=5")
    assert [each["path"] for each in same["steps"]] == ["1", "2", "3"]
    assert [each["name"] for each in step["views"]] == ["asked", "came"]
    lines = [
        (line["mark"], line["text"]) for hunk in step["views"][1]["view"]["body"]["hunks"] for line in hunk["lines"]
    ]
    assert lines == [("-", "Hi Ada"), ("+", "Hi Bob"), (" ", "Bye")]


def test_what_is_private_is_not_compared(journal: Journal):
    for id, word in (("a", "xyzzy"), ("b", "plugh")):
        running = begun(journal, id)
        with private_effects():
            do(running, "1", AskPerson("question", f"Say {word}"), Outcome(HumanAnswer(word)))
        running.finish("done")
    found = got(journal, "/api/compare?first=a&second=b", "/api/compare/step?first=a&second=b&path=1")
    assert found[1] == {"isPrivate": True, "views": []}
    assert "xyzzy" not in json.dumps(found)


def test_a_comparison_with_nothing_says_so(journal: Journal):
    begun(journal, "a").finish("done")
    missing, gone_ = got(journal, "/api/compare?first=a", "/api/compare?first=a&second=zzz")
    assert (missing["error"], gone_["error"]) == ("`second` is missing", "session 'zzz' does not exist")


# In a browser


def looked_at(tab: Tab, scheme: str) -> None:
    """What is seen has no fault that axe finds, and fits a narrow screen."""
    page = tab.page
    page.emulate_media(color_scheme=scheme)
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run()")
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]] == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1100, "height": 800})


def texts(page: Any, selector: str) -> list[str]:
    return page.locator(selector).all_inner_texts()


def test_runs_are_searched_narrowed_and_two_of_them_compared(tab: Tab, journal: Journal):
    for number in range(198):
        journal.begin("map" if number == 5 else "program", f"older {number}", id=f"r{number:03}").finish("done")
    two_runs(journal)
    begun(journal, "hostile", HOSTILE).finish("failed")
    page = tab.go("runs")
    page.wait_for_selector(".runs li:nth-child(200)", state="attached")
    assert page.locator(".runs li").count() == 200
    page.click("button.more")
    page.wait_for_selector("[data-run=r000]", state="attached")
    assert page.locator(".runs li").count() == 201
    page.fill(".find input", "ada bye")
    page.wait_for_function("() => document.querySelectorAll('.runs li').length === 1")
    assert texts(page, ".found mark") == ["Ada", "Bye"]
    assert page.get_attribute(".run .place", "href") == "#/runs/a/5"
    assert page.url.endswith("#/runs?q=ada+bye")
    page.fill(".find input", "")
    page.select_option(".find select >> nth=1", "map")
    page.wait_for_function("() => document.querySelectorAll('.runs li').length === 1")
    assert texts(page, ".runs .title") == ["older 5"]
    page = tab.go("runs?kind=team")
    page.wait_for_function("() => document.querySelector('main').innerText.includes('Nothing found.')")
    page = tab.go("runs?q=same")
    for id in ("a", "b"):
        page.check(f"[data-run={id}] input")
    looked_at(tab, "light")
    page.click("text=Compare the two")
    page.wait_for_selector(".pair")
    assert page.url.endswith("#/compare/a/b")
    assert texts(page, "header [role=status]") == ["4 steps differ, 4 are the same"]
    assert page.eval_on_selector_all(".pair", "(all) => all.map((each) => each.dataset.what)") == [
        *("same", "outcome", "second only", "asked", "same", "first only"),
    ]
    page.click(".pair[data-path='5'] summary")
    page.wait_for_selector(".pair[data-path='5'] .diff >> nth=1")
    assert page.locator(".pair[data-path='5'] .diff .added").count() == 2
    page.click(".pair[data-what=same] >> nth=0 >> summary")
    page.wait_for_selector(".pair.same .line >> nth=2")
    page.click(".pair[data-path='7'] summary")
    page.wait_for_selector(".pair[data-path='7'] .opened")
    looked_at(tab, "dark")


def test_a_run_is_gone_through_and_forked_where_one_stands(
    tab: Tab, journal: Journal, tmp_path: Path, gone: list[str], monkeypatch: pytest.MonkeyPatch
):
    running = programmed(journal, tmp_path)
    moments = iter(range(1_000, 9_000))
    monkeypatch.setattr(type(journal), "now", lambda _: next(moments))
    running = begun(journal, "nested", HOSTILE)
    outer = EffectCall("1/c1", CallTool("outer", {}))
    running.middleware.before(outer)
    put(running, "1/c1/1", "first line")
    say(running, "1/c1/2/r1", "Well.", 0.5)
    put(running, "1/c1/3", HOSTILE)
    running.middleware.after(outer, Outcome(ToolReturned(ToolResult("c1", "the end"))))
    say(running, "2/r1", "Over.", 0.25)
    running.finish("done")
    page = tab.go("runs/nested")
    page.wait_for_selector(".past input")
    assert page.get_attribute(".past input", "aria-valuetext") == "Step 5 of 5: model claude-sonnet-5"
    assert (page.locator(".step").count(), "$0.75 so far" in page.inner_text(".past")) == (5, True)
    page.focus(".past input")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelectorAll('.step').length === 2")
    page.wait_for_function("() => location.hash === '#/runs/nested?at=1'")
    # What the first step is inside of is not over yet.
    assert page.get_attribute("[data-path='1/c1']", "data-state") == "begun"
    assert "the end" not in page.inner_text("main")
    assert "$" not in page.inner_text(".past")
    page.click(".soFar summary")
    assert page.inner_text(".soFar pre") == "first line"
    page.keyboard.press("Home")
    page.focus(".past input")
    page.keyboard.press("End")
    page.wait_for_selector("[data-path='1/c1'][data-state=done]")
    page = tab.go("runs/first?at=1")
    page.wait_for_selector(".past input")
    page.wait_for_function("() => document.querySelectorAll('.step').length === 2")
    page.click(".past .plain >> nth=1")
    page.wait_for_selector("form.fork textarea")
    looked_at(tab, "light")
    page.click("text=Program source")
    page.fill("form.fork textarea", "nonsense(")
    page.click("form.fork .primary")
    page.wait_for_selector(".diagnostics li")
    page.click("form.fork label:has-text('Answer')")
    page.fill("form.fork textarea", "Bob")
    page.click("form.fork .primary")
    page.wait_for_selector(".forkOf")
    assert page.inner_text(".forkOf") == "Fork of first at 2"
    assert gone == [page.url.rpartition("/")[2]]
    page.click("text=Compare with the original")
    page.wait_for_selector(".pair[data-path='2'][data-what=outcome]")
    page = tab.go("runs/nested/1%2Fc1")
    page.click(".opened .forking summary")
    page.wait_for_selector(".opened .note:has-text('This step cannot be forked')")


def test_conversations_are_read_in_a_browser(tab: Tab, talked: Store):
    hostile = Conversation(system=HOSTILE)
    hostile.add_user(HOSTILE)
    hostile.add_reply([Text(f"{HOSTILE} **bold**"), ToolCall("c1", "look", {HOSTILE: HOSTILE})])
    talked.save(hostile, model=HOSTILE, command=HOSTILE)
    page = tab.go("conversations")
    page.wait_for_selector(".talks li >> nth=2")
    looked_at(tab, "dark")
    page.fill(".find input", "sofa")
    page.wait_for_function("() => document.querySelectorAll('.talks li').length === 1")
    assert texts(page, ".found mark") == ["sofa"]
    page.click(".talks li a")
    page.wait_for_selector(".turn >> nth=2")
    assert page.locator(".turn [data-kind=table]").count() == 1
    assert page.inner_text(".turn.user .asked") == "Where is the <b>cat</b>?"
    page.wait_for_selector(".turn em:has-text('there')")
    id = page.url.rpartition("/")[2]
    assert page.get_attribute("main a.button", "href") == f"#/chat/{id}"
    looked_at(tab, "light")
    page = tab.go(f"conversations/{talked.list(1)[0].id}")
    page.wait_for_selector(".call")
    assert page.title() == "Antiphon"
    assert "\u202e" not in page.inner_text("main")
