"""Past and what-if: runs and conversations of before, steps gone through, forks, and two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon import Store
from antiphon.conversation import Conversation, Note, Text, ToolCall, ToolResult
from antiphon.durable import Journal
from antiphon.durable.session_run import SessionRun
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
    return [each["id"] for each in listed["sessions"]]


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
    (choices,) = got(journal, f"/api/sessions/{run}/fork?path={path}")
    return posted(journal, f"/api/sessions/{run}/fork", {"path": path, "hash": choices["hash"], **wishes})


# Runs


def test_runs_are_listed_a_page_at_a_time(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("antiphon.web.stored.LISTED", 3)
    monkeypatch.setattr(searching, "LISTED", 3)
    for number in range(7):
        begun(journal, f"r{number}").finish("done" if number % 2 else "failed")
    (first,) = got(journal, "/api/sessions")
    assert (names(first), first["next"]) == (["r6", "r5", "r4"], "r4")
    second, failed = got(journal, "/api/sessions?after=r4", "/api/sessions?state=failed&kind=program&after=r6")
    assert (names(second), names(failed)) == (["r3", "r2", "r1"], ["r4", "r2", "r0"])
    last, none = got(journal, "/api/sessions?after=r1", "/api/sessions?kind=team")
    assert (names(last), last["next"], names(none)) == (["r0"], None, [])


def test_the_newest_runs_are_found_without_sorting_all_of_them(journal: Journal):
    begun(journal, "one").finish("done")
    for more in ("", " AND (created, id) < (SELECT created, id FROM sessions WHERE id = 'x')"):
        plan = journal.database.query(
            "EXPLAIN QUERY PLAN SELECT id, title FROM sessions WHERE parent IS NULL AND kind <> 'conversation'"
            f"{more} ORDER BY created DESC, id DESC",
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
        return names(got(journal, f"/api/sessions?q={query}")[0])

    assert found("the") == ["two", "one"]
    assert found("weather") == found("zurich") == found("umbr") == found("forecast bern") == ["one"]
    assert found("%22north gate%22") == ["one"]
    assert found("%22gate north%22") == found("eather") == found("umbrella paper") == []
    assert found("waiting") == found("paper") == found("needle") == ["two"]
    (listed,) = got(journal, "/api/sessions?q=rains")
    place = listed["sessions"][0]["found"]
    assert (place["run"], place["path"], place["pieces"]) == (
        "one",
        "1",
        [["It ", False], ["rains", True], [" in Zürich", False]],
    )
    assert got(journal, "/api/sessions?q=needle")[0]["sessions"][0]["found"]["run"] == "two.1"
    assert names(got(journal, "/api/sessions?q=the&state=done")[0]) == ["one"]


def test_a_search_looks_at_so_much_and_goes_on_where_somebody_says_so(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
):
    for number in range(6):
        running = begun(journal, f"r{number}")
        put(running, "1", "a needle" if number == 0 else "hay " * 500)
        running.finish("done")
    monkeypatch.setattr(searching, "_AT_ONCE", 5_000)
    first = searching.searched(journal, ("needle",), journal.make_filter())
    assert (first["sessions"], first["next"]) == ([], "r3")
    second = searching.searched(journal, ("needle",), journal.make_filter(after="r3"))
    assert (names(second), second["next"]) == (["r0"], None)
    monkeypatch.setattr(searching, "_OF_RUN", 1_000)
    assert searching.searched(journal, ("hay",), journal.make_filter())["cut"] > 0


def test_what_is_private_is_not_found(journal: Journal):
    running = begun(journal, "one")
    with private_effects():
        do(running, "1", Print("the hidden word"), Outcome())
    running.finish("done")
    assert names(got(journal, "/api/sessions?q=hidden")[0]) == []


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
def test_what_was_said_is_listed_searched_and_opened(journal: Journal):
    begun(journal, "program", "a sofa for sale").finish("done")
    listed, found, none, chats = got(
        journal,
        "/api/sessions",
        "/api/sessions?q=sofa",
        "/api/sessions?q=nowhere",
        "/api/sessions?kind=chat&state=done",
    )
    assert [(each["kind"], each["state"], each["hasTranscript"]) for each in listed["sessions"]] == [
        ("program", "done", False),
        ("chat", "done", True),
        ("chat", "done", True),
    ]
    assert [each["id"] for each in chats["sessions"]] == [each["id"] for each in listed["sessions"][1:]]
    program, one = found["sessions"]
    assert program["id"] == "program"
    assert (one["title"], one["models"]) == ("Where is the <b>cat</b>?", ["openai/gpt-5"])
    assert ["sofa", True] in one["found"]["pieces"]
    assert none["sessions"] == []
    (opened,) = got(journal, f"/api/sessions/{one['id']}/transcript")
    assert opened["chat"]["system"] == "Be kind."
    assert [(turn["role"], [piece["type"] for piece in turn["pieces"]]) for turn in opened["turns"]] == [
        ("user", ["text"]),
        ("assistant", ["text", "call"]),
        ("assistant", ["text"]),
    ]
    call = opened["turns"][1]["pieces"][1]
    assert (call["name"], call["state"], call["came"]["kind"]) == ("find", "done", "table")


def test_the_messages_of_older_files_are_not_listed_beside_their_chat(journal: Journal, talked: Store):
    chat = talked.list()[0].id
    journal.begin("ask", "Something else", {"conversation": chat, "mode": "chat"}, id="message").finish("done")
    assert "message" not in names(got(journal, "/api/sessions")[0])
    assert posted(journal, f"/api/sessions/{chat}/delete", {}) == (200, {"deleted": chat})
    assert (journal.has_run("message"), [each.id for each in talked.list() if each.id == chat]) == (False, [])


def test_notes_of_the_program_are_not_shown(journal: Journal):
    with Store(journal.file.path) as store:
        conversation = Conversation().add_user(["How old?", Note("Answer with JSON.", "form")])
        conversation.add_reply([Text("forty")])
        conversation.add_user(Note("That does not fit.", "reminder")).add_reply([Text("40")])
        id = store.save(conversation, model="openai/gpt-5", command="ask")
    (opened,) = got(journal, f"/api/sessions/{id}/transcript")
    said = [(turn["turn"], turn["role"], [each["text"] for each in turn["pieces"]]) for turn in opened["turns"]]
    assert said == [(0, "user", ["How old?"]), (1, "assistant", ["forty"]), (2, "user", []), (3, "assistant", ["40"])]


def test_a_chat_whose_model_is_gone_can_still_be_read(journal: Journal):
    with Store(journal.file.path) as store:
        id = store.save(Conversation().add_user("Hello").add_assistant("Hi."), model="nobody/x", command="ask")
    (opened,) = got(journal, f"/api/sessions/{id}/transcript")
    assert [turn["pieces"][0]["text"] for turn in opened["turns"]] == ["Hello", "Hi."]
    assert "nobody/x" in opened["chat"]["notes"][0]


@pytest.mark.parametrize("which", ["last", "firs", "first"])
def test_a_session_is_found_by_the_beginning_of_its_id(journal: Journal, which: str):
    begun(journal, "another")
    begun(journal, "first")
    journal.begin("row", "row 1", {}, id="first.1", parent="first", number=1)
    about, row = got(journal, f"/api/sessions/{which}/about", f"/api/sessions/{which}.1/about")
    assert (about["id"], row["id"]) == ("first", "first.1")


def test_what_is_deleted_is_gone_and_what_runs_is_not_deleted(journal: Journal):
    begun(journal, "one").finish("done")
    begun(journal, "two")
    journal.begin("row", "row 1", {}, id="one.1", parent="one", number=1).finish("done")
    for id, said in (("one.1", "only the whole can be deleted"), ("two", "is running")):
        status, refused = posted(journal, f"/api/sessions/{id}/delete", {})
        assert (status, said in refused["error"]) == (409, True)
    assert posted(journal, "/api/sessions/one/delete", {})[0] == 200
    assert names(got(journal, "/api/sessions")[0]) == ["two"]
    assert posted(journal, "/api/sessions/two/stop", {}) == (200, {"stops": True})
    assert posted(journal, "/api/sessions/none/delete", {})[0] == 404


def test_lists_of_conversations_go_on_after_one(talked: Store):
    everything = talked.list()
    assert [each.id for each in talked.list(after=everything[0].id)] == [everything[1].id]
    assert talked.list(after=everything[1].id) == []


# Forks


def test_a_fork_with_another_answer_is_another_run(journal: Journal, tmp_path: Path, gone: list[str]):
    programmed(journal, tmp_path)
    (choices,) = got(journal, "/api/sessions/first/fork?path=2")
    assert (choices["given"], choices["model"], choices["source"]["text"]) == ("answer", "openai/gpt-5", WHO)
    status, made = fork_at(journal, "2", given="Bob")
    assert (status, gone) == (200, [made["id"]])
    entry = journal.find(made["id"])
    assert (entry.fork_of, entry.fork_at, entry.state) == ("first", "2", "ready")
    assert [(each.path, each.state) for each in journal.iterate_effects(entry.id)] == [("1", "done"), ("2", "done")]
    assert journal.find_effect(entry.id, "2").outcome == Outcome(HumanAnswer("Bob"))
    (about,) = got(journal, f"/api/sessions/{entry.id}/about")
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
    chat = SessionRun(journal, "ask", lambda: {"conversation": "abc"})
    for number, text in enumerate(["Make it.", "And now?"], 1):
        step = chat.begin_request(before, "chat", (Text(text),), text)
        assert step is not None
        say(step, f"{number}/r1", f"Answer {number}.")
        step.finish("done")
    for number, text in enumerate(["Make it.", "And now?"], 1):
        path = f"{number}/r1"
        (choices,) = got(journal, f"/api/sessions/{chat.id}/fork?path={path}")
        assert (choices["prompt"], "source" in choices, choices["given"]) == (text, False, "reply")
        _, made = fork_at(journal, path, chat.id, prompt="Break it.")
        conversation, mode, prompt = journal.load_request(made["id"])
        assert (conversation.turns, mode, prompt) == (before.turns, "chat", (Text("Break it."),))
        steps = [each.path for each in journal.iterate_effects(made["id"])]
        assert steps == ["1", "1/r1", "2"][: 2 * number - 1]
        assert journal.find(made["id"]).begun_as["conversation"] == ""


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
    (choices,) = got(journal, "/api/sessions/one/fork?path=1")
    assert said in choices["why"]
    status, refused = fork_at(journal, "1", "one", model="m")
    assert (status, said in refused["error"], gone, len(journal.list_runs())) == (409, True, [], parent is None)


def test_what_is_private_is_forked_in_a_terminal(journal: Journal, tmp_path: Path, gone: list[str]):
    programmed(journal, tmp_path, is_private=True)
    (choices,) = got(journal, "/api/sessions/first/fork?path=2")
    assert "it is private" in choices["why"]
    assert "source" not in choices
    assert fork_at(journal, "2", given="Bob")[0] == 409
    running = programmed(journal, tmp_path, id="second")
    running = journal.resume("second")
    with private_effects():
        do(running, "4", AskPerson("question", "The hidden word?"), Outcome(HumanAnswer("xyzzy")))
    running.finish("done")
    (choices,) = got(journal, "/api/sessions/second/fork?path=4")
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
    ((kept,),) = journal.database.query("SELECT launch FROM sessions WHERE id = ?", (name,))
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
    (answer,) = known(page, ("POST", "/api/sessions/first/fork", foreign, {"json": {"path": "2", "given": "x"}}))
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
    same, step = got(journal, "/api/compare/same?session=a&from=1&to=3", "/api/compare/step?first=a&second=b&path=5")
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
    page = tab.go("sessions")
    page.wait_for_selector(".runs li:nth-child(200)", state="attached")
    assert page.locator(".runs li").count() == 200
    page.click("button.more")
    page.wait_for_selector("[data-session=r000]", state="attached")
    assert page.locator(".runs li").count() == 201
    page.fill(".find input", "ada bye")
    page.wait_for_function("() => document.querySelectorAll('.runs li').length === 1")
    assert texts(page, ".found mark") == ["Ada", "Bye"]
    assert page.get_attribute(".run .place", "href") == "#/sessions/a:5"
    assert page.url.endswith("#/sessions?q=ada+bye")
    page.fill(".find input", "")
    page.select_option(".find select >> nth=1", "batch")
    page.wait_for_function("() => document.querySelectorAll('.runs li').length === 1")
    assert texts(page, ".runs .title") == ["older 5"]
    page = tab.go("sessions?kind=team")
    page.wait_for_function("() => document.querySelector('main').innerText.includes('Nothing found.')")
    page = tab.go("sessions?q=same")
    for id in ("a", "b"):
        page.check(f"[data-session={id}] input")
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
    page = tab.go("sessions/nested")
    page.wait_for_selector(".past input")
    assert page.get_attribute(".past input", "aria-valuetext") == "Step 5 of 5: model claude-sonnet-5"
    assert (page.locator(".step").count(), "$0.75 so far" in page.inner_text(".past")) == (5, True)
    page.focus(".past input")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelectorAll('.step').length === 2")
    page.wait_for_function("() => location.hash === '#/sessions/nested?at=1'")
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
    page = tab.go("sessions/first?at=1")
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
    assert gone == [page.url.rpartition("/")[2].partition("?")[0]]
    page.click("text=Compare with the original")
    page.wait_for_selector(".pair[data-path='2'][data-what=outcome]")
    page = tab.go("sessions/nested:1/c1")
    page.click(".opened .forking summary")
    page.wait_for_selector(".opened .note:has-text('This step cannot be forked')")


def test_what_was_said_is_found_and_read_in_a_browser(tab: Tab, talked: Store):
    hostile = Conversation(system=HOSTILE)
    hostile.add_user(HOSTILE)
    hostile.add_reply([Text(f"{HOSTILE} **bold**"), ToolCall("c1", "look", {HOSTILE: HOSTILE})])
    talked.save(hostile, model="openai/gpt-5", command=HOSTILE)
    page = tab.go("sessions?kind=chat")
    page.wait_for_selector(".runs li >> nth=2")
    looked_at(tab, "dark")
    page.fill(".find input", "sofa")
    page.wait_for_function("() => document.querySelectorAll('.runs li').length === 1")
    assert texts(page, ".found mark") == ["sofa"]
    page.click(".runs li a")
    page.wait_for_selector(".message.model >> nth=1")
    assert page.inner_text(".message.user .text") == "Where is the <b>cat</b>?"
    page.wait_for_selector(".message em:has-text('there')")
    page.click(".call summary")
    page.wait_for_selector(".call [data-kind=table]")
    looked_at(tab, "light")
    page = tab.go(f"sessions/{talked.list(1)[0].id}")
    page.wait_for_selector(".message.model .call")
    assert page.title() == "Antiphon"
    assert "\u202e" not in page.inner_text("main")


def test_a_session_is_opened_by_what_people_type(tab: Tab, journal: Journal):
    running = begun(journal, "first", "Sorts mails")
    show(running, "4/c1", table([{"place": "sofa"}]), "look")
    row = journal.begin("row", "row 1", {}, id="first.17", parent="first", number=17)
    put(row, "1", "inside")
    for typed, wanted in (("firs", "first"), ("last", "first"), ("first.17", "first.17")):
        page = tab.go(f"sessions/{typed}")
        page.wait_for_selector(f"header[data-session='{wanted}']")
        assert page.url.endswith(f"#/sessions/{wanted}")
    page = tab.go("sessions/first:4/c1")
    page.wait_for_selector("[data-path='4/c1'].target .opened")
    assert page.get_attribute("[data-path='4/c1'] .ends a", "href") == "#/sessions/first:4/c1"
    page = tab.go("sessions/nothing")
    page.wait_for_selector("text=This session does not exist.")
    assert [each for each in tab.complaints if "404" not in each] == []
    tab.complaints.clear()
