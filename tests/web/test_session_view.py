"""A session on the page: its input, its steps over time, and its output."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon.conversation import ToolCall
from antiphon.durable import Journal
from antiphon.effects import AskModel, HumanAnswer, ModelReplied, Outcome
from antiphon.effects.pipeline import private_effects
from antiphon.fakes import Fake
from antiphon.results import text
from antiphon.session import Session
from antiphon.web import app
from antiphon.wire import Reply, Usage
from tests.web.browser import TOKEN
from tests.web.journals import ask, begun, do, put, say, set_times, show
from tests.web.tabs import Tab
from tests.web.test_server import known


def get(journal: Journal, path: str) -> Any:
    (answer,) = known(app(journal=journal, token=TOKEN), ("GET", path, {}))
    return answer.json()


def finish(journal: Journal, id: str, value: Any, inputs: dict[str, Any], **options: Any) -> None:
    launch = {"file": "refund.vibe", "inputs": inputs, "arguments": []}
    running = journal.begin("program", "refund.vibe", launch, id=id, **options)
    running.finish("done", {"outcome": "done", "value": value, "error": None})


def over_time(journal: Journal) -> None:
    """A session that asks a model, calls a tool for half of the time, and asks again."""
    running = begun(journal, "r", "Refunds")
    say(running, "1", "", calls=[ToolCall("c1", "lookup", {"order": "A-16"})])
    show(running, "2", text("The cup is broken"), "lookup", {"order": "A-16"})
    show(running, "2.1", text("inside"), "inner")
    say(running, "3", "Refund it.")
    running.finish("done")
    set_times(journal, "r", {"1": (0, 2), "2": (2, 7), "2.1": (3, 4), "3": (7, 10)})


# Values


def test_a_session_tells_what_it_was_given_and_what_came_out(journal: Journal):
    finish(journal, "r", {"order": "A-16", "cents": 950}, {"mail": "The cup came broken.", "limit": 10})
    values = get(journal, "/api/sessions/r/values")
    assert [each["name"] for each in values["input"]] == ["mail", "limit"]
    assert values["input"][0]["view"]["body"]["lines"] == ["The cup came broken."]
    assert values["output"]["kind"] == "structured"
    (listed,) = get(journal, "/api/sessions")["sessions"]
    assert listed["given"] == '{"mail": "The cup came broken.", "limit": 10}'
    assert listed["gave"] == '{"order": "A-16", "cents": 950}'


def test_one_input_and_a_text_are_told_as_they_are(journal: Journal):
    finish(journal, "r", "It is\nrefunded.", {"mail": "The cup\ncame broken."})
    (listed,) = get(journal, "/api/sessions")["sessions"]
    assert (listed["given"], listed["gave"]) == ("The cup came broken.", "It is refunded.")


def test_an_id_that_is_used_again_tells_its_own_input(journal: Journal):
    finish(journal, "r", 1, {"n": 1})
    assert get(journal, "/api/sessions")["sessions"][0]["given"] == "1"
    journal.remove("r")
    finish(journal, "r", 2, {"n": 2})
    assert get(journal, "/api/sessions")["sessions"][0]["given"] == "2"


def test_the_prompt_of_a_session_in_python_is_its_input(journal: Journal):
    with Fake(["Four."]) as fake:
        run = Session(fake.connect("openai/gpt-5"), journal=journal).start("What is two and two?")
        assert run.wait().value == "Four."
    values = get(journal, f"/api/sessions/{run.id}/values")
    assert [each["name"] for each in values["input"]] == ["prompt"]
    assert values["output"]["body"]["lines"] == ["Four."]


def test_a_failed_session_has_no_output(journal: Journal):
    launch = {"file": "p.vibe", "inputs": {}, "arguments": ["a"]}
    running = journal.begin("program", "p.vibe", launch, id="r")
    running.finish("failed", {"outcome": "failed", "value": None, "error": {"message": "broken"}})
    values = get(journal, "/api/sessions/r/values")
    assert ([each["name"] for each in values["input"]], values["output"]) == (["arguments"], None)
    assert get(journal, "/api/sessions/none/values")["error"] == "session 'none' does not exist"


def test_private_values_and_secrets_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_TOKEN", "shop-0123456789abcdef")
    with closing(Journal(tmp_path / "secrets.db")) as journal:
        finish(journal, "sealed", "hidden-1", {"mail": "hidden-2"}, is_private=True)
        finish(journal, "open", "the key is shop-0123456789abcdef", {"mail": "use shop-0123456789abcdef"})
        for id in ("sealed", "open"):
            told = str(get(journal, f"/api/sessions/{id}/values")) + str(get(journal, "/api/sessions"))
            assert "hidden" not in told
            assert "0123456789" not in told
        assert get(journal, "/api/sessions/sealed/values")["isPrivate"]
        assert get(journal, "/api/sessions/open/values")["input"][0]["view"]["body"]["lines"] == ["use [$SHOP_TOKEN]"]


# In a browser


def test_a_session_reads_from_its_input_to_its_output(tab: Tab, journal: Journal):
    finish(journal, "r", {"order": "A-16"}, {"mail": "The <b>cup</b> came broken."})
    page = tab.go("sessions")
    page.wait_for_selector(".values-line .gave:has-text('A-16')")
    assert page.inner_text(".values-line span >> nth=0") == "The <b>cup</b> came broken."
    page = tab.go("sessions/r")
    page.wait_for_selector(".values.output .tree >> text=A-16")
    assert page.inner_text("[aria-label=Input] .argument code") == "The <b>cup</b> came broken."
    order = "() => [...document.querySelectorAll('h2')].map((each) => each.textContent)"
    assert page.evaluate(order) == ["Input", "Output"]


def bars(page: Any) -> dict[str, list[int]]:
    """Return where the bar of each step begins and how long it is, in per cent of the axis."""
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.step')].map((each) => {
          const bar = each.querySelector('.bar'), it = bar.firstChild, all = bar.clientWidth;
          const near = (size) => Math.round(size / all * 20) * 5;
          return [each.dataset.path, [near(it.offsetLeft), near(it.offsetWidth)]]; }))"""
    )


def test_bars_show_when_each_step_was_and_how_long(tab: Tab, journal: Journal):
    over_time(journal)
    page = tab.go("sessions/r")
    page.wait_for_selector("[data-path='3'] .bar")
    assert bars(page) == {"1": [0, 20], "2": [20, 50], "2.1": [30, 10], "3": [70, 30]}
    assert page.inner_text("header .tokens") == "2,400 → 160 tokens"
    assert page.inner_text("header .models") == "claude-sonnet-5"
    # Zoomed to one step, that step fills the axis; everything is by the keyboard.
    page.locator("[data-path='2'] > details:not(.inner) > summary").press("Enter")
    page.get_by_role("button", name="Zoom to this step").press("Enter")
    page.wait_for_function("() => document.querySelector('.ruler').textContent.startsWith('1.5')")
    assert bars(page)["2"] == [10, 85]
    page.get_by_role("button", name="Show the whole time").press("Enter")
    page.get_by_role("button", name="Zoom in").press("Enter")
    page.wait_for_function("() => document.querySelector('.ruler').textContent.startsWith('2.5')")
    assert bars(page)["1"][0] < 0
    page.get_by_role("button", name="Zoom out").press("Enter")
    page.wait_for_function("() => document.querySelector('.ruler').textContent.startsWith('0 s')")
    assert bars(page)["1"] == [0, 20]


def test_the_bar_of_a_running_step_grows(tab: Tab, journal: Journal):
    running = begun(journal, "r")
    put(running, "1", "one")
    do(running, "2", AskModel("m", "", ()))
    page = tab.go("sessions/r")
    page.wait_for_selector("[data-path='2'] .bar")
    width = "() => getComputedStyle(document.querySelector('.axis')).getPropertyValue('--now')"
    before = page.evaluate(width)
    page.wait_for_function(f"() => Number(({width})()) > {before}")
    reply = Reply((), "end", usage=Usage(10, 2, cache_read_tokens=8))
    do(running, "3", AskModel("m", "", ()), Outcome(ModelReplied(reply, None)))
    page.wait_for_selector("header .tokens:has-text('10 → 2 tokens, 8 cached')")


def test_steps_are_searched_and_narrowed(tab: Tab, journal: Journal):
    over_time(journal)
    page = tab.go("sessions/r")
    page.wait_for_selector("[data-path='3'] .bar")
    paths = "() => [...document.querySelectorAll('.step')].map((each) => each.dataset.path)"
    page.get_by_role("searchbox", name="Search these steps").fill("cup BROKEN")
    page.wait_for_function(f"() => ({paths})().join() === '2'")
    assert page.inner_text(".axis-tools [role=status]") == "1 of 4 steps"
    page.get_by_role("searchbox", name="Search these steps").fill("")
    page.get_by_label("Kind of step").select_option("request")
    page.wait_for_function(f"() => ({paths})().join() === '1,3'")
    page.get_by_label("Kind of step").select_option("tool")
    page.wait_for_function(f"() => ({paths})().join() === '2,2.1'")
    page.get_by_label("Kind of step").select_option("failed")
    page.wait_for_selector("text=No step matches.")
    # Another session begins with all of its steps.
    put(begun(journal, "other"), "1", "one")
    page = tab.go("sessions/other")
    page.wait_for_selector("[data-run=other][data-path='1']")


def test_all_steps_are_opened_and_closed(tab: Tab, journal: Journal):
    over_time(journal)
    page = tab.go("sessions/r")
    page.wait_for_selector("[data-path='3'] .bar")
    opened = "() => document.querySelectorAll('.step > details[open]:not(.inner)').length"
    page.get_by_role("button", name="Open all").press("Enter")
    page.wait_for_function(f"() => ({opened})() === 4")
    page.locator("[data-path='1'] > details:not(.inner) > summary").press("Enter")
    page.wait_for_function(f"() => ({opened})() === 3")
    page.get_by_role("button", name="Close all").press("Enter")
    page.wait_for_function(f"() => ({opened})() === 0")


def test_a_private_step_is_not_searched(tab: Tab, journal: Journal):
    running = begun(journal, "r")
    with private_effects():
        show(running, "1", text("hidden word"), "lookup")
    put(running, "2", "plain word")
    page = tab.go("sessions/r")
    page.wait_for_selector("[data-path='2']")
    page.get_by_role("searchbox", name="Search these steps").fill("word")
    page.wait_for_selector(".axis-tools [role=status]:has-text('1 of 2 steps')")


def test_a_server_that_fails_once_is_asked_again(tab: Tab, journal: Journal):
    running = begun(journal, "r")
    put(running, "1", "one")
    failed: list[str] = []

    def fail_once(route: Any) -> None:
        if len(failed) < 2:
            failed.append(route.request.url)
            route.fulfill(status=500, json={"error": "broken"})
        else:
            route.continue_()

    tab.page.route("**/api/sessions/r/events**", fail_once)
    tab.page.route("**/api/sessions/r/about", lambda route: fail_once(route) if failed else route.continue_())
    page = tab.go("sessions/r")
    page.wait_for_selector("[data-path='1']")
    assert len(failed) == 2
    tab.complaints.clear()


def test_the_title_counts_what_waits_and_ages_go_on(tab: Tab, journal: Journal):
    running = begun(journal, "r", "Sorts mails")
    page = tab.page
    page.clock.install()
    page = tab.go("sessions")
    page.wait_for_selector(".run time:has-text('just now')")
    assert page.title() == "Antiphon"
    ask(running, "1", "Which folder?")
    running.finish("waiting")
    page.wait_for_function("() => document.title === '(1) Antiphon'")
    page.clock.fast_forward(125_000)
    page.wait_for_selector(".run time:has-text('2 min ago')")
    journal.answer("r", "1", HumanAnswer("that"))
    page.wait_for_function("() => document.title === 'Antiphon'")
