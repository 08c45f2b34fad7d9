"""The page in a browser: what is drawn, what can be done, and what nothing in a result can do."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon._base.escape import UNPRINTABLE
from antiphon.durable import Journal
from antiphon.effects import HumanAnswer
from antiphon.results import Display, Result, diff, file_content, image, structured, table, terminal, text
from antiphon.views import view, view_json
from tests.terminal.cases import CASES, HOSTILE, HOSTILE_MARKDOWN
from tests.web.browser import Site
from tests.web.journals import ask, begun, put, say, set_times, show, want
from tests.web.tabs import AXE, PICTURES, Tab


def opened(tab: Tab, journal: Journal, result: Result, run: str = "one") -> Any:
    """The result of a step, drawn."""
    running = begun(journal, run)
    show(running, "1", result)
    running.finish("done")
    page = tab.go(f"sessions/{run}:1")
    page.wait_for_selector(".opened")
    return page


# What is drawn


@pytest.fixture(scope="module")
def drawn(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Every case as it is on the page."""
    journal = Journal(tmp_path_factory.mktemp("cases") / "logs.db")
    running = begun(journal, "cases")
    for number, (name, result) in enumerate(CASES.items(), 1):
        show(running, str(number), result, name)
    running.finish("done")
    site = Site(journal)
    tab = Tab(browser, site)
    page = tab.go("sessions/cases")
    page.wait_for_selector(f"[data-path='{len(CASES)}']", state="attached")
    page.evaluate("() => { for (const each of document.querySelectorAll('.step > details')) each.open = true; }")
    page.wait_for_function(
        """(count) => { const all = [...document.querySelectorAll('.step')];
        for (const each of all) if (!each.querySelector('.opened')) { each.scrollIntoView(); break; }
        return all.length === count && all.every((each) => each.querySelector('.opened')); }""",
        arg=len(CASES),
    )
    found = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.step')].map((step) => {
        const result = step.querySelector('.opened > .result');
        return [step.querySelector('strong').textContent, result === null ? {} : {
            kind: result.dataset.kind, view: result.dataset.view, open: result.open, run: step.dataset.run,
            seq: step.dataset.seq, text: result.textContent, limited: !!result.querySelector('.limited') }]; }))"""
    )
    tab.close()
    site.stop()
    journal.close()
    assert tab.complaints == []
    return found


@pytest.mark.parametrize("name", CASES)
def test_each_case_is_drawn_as_its_view_says(drawn: dict[str, dict[str, Any]], name: str):
    wanted, found = view_json(view(CASES[name])), drawn[name]
    if wanted.get("isHidden"):
        assert found == {}
        return
    body = wanted.get("body", {"type": "none"})["type"]
    assert (found["kind"], found["view"], found["run"]) == (wanted["kind"], body, "cases")
    assert found["seq"] == str(list(CASES).index(name))
    assert found["open"] is (wanted.get("collapsed") is not True)
    if found["open"] and "maxHeight" in wanted and body != "table":
        assert found["limited"]
    if "\x1b" in str(CASES[name].data):
        assert "\x1b" not in found["text"]
        assert "\u202e" not in found["text"]


def test_tables_are_sorted_and_filtered(tab: Tab, journal: Journal):
    rows = [{"city": city, "rain": rain} for city, rain in (("Oslo", 4.5), ("Rome", 10), ("Bern", None), ("Ulm", 2))]
    page = opened(tab, journal, table([*rows, *({"city": f"x{n}", "rain": 99} for n in range(9))], collapsed=False))
    cities = "() => [...document.querySelectorAll('.table tbody tr td:first-child')].map((each) => each.textContent)"
    page.fill(".table input", "M")
    page.wait_for_function("() => document.querySelector('.table [role=status]').textContent === '2 of 13 rows'")
    assert page.evaluate(cities) == ["Rome", "Ulm"]
    page.fill(".table input", "")
    page.click(".table th:nth-child(2) button")
    page.wait_for_selector("th[aria-sort=ascending]")
    assert page.evaluate(cities)[:3] == ["Ulm", "Oslo", "Rome"]
    assert page.evaluate(cities)[-1] == "Bern"
    page.click(".table th:nth-child(2) button")
    page.wait_for_selector("th[aria-sort=descending]")
    assert page.evaluate(cities)[-4:] == ["Rome", "Oslo", "Ulm", "Bern"]


def test_a_hundred_thousand_rows_are_scrolled_and_searched(tab: Tab, journal: Journal):
    page = opened(tab, journal, table([{"n": n} for n in range(100_000)], collapsed=False))
    page.wait_for_function("() => document.querySelector('.table [role=status]')?.textContent === '100,000 rows'")
    page.evaluate("() => { const box = document.querySelector('.table .scroll'); box.scrollTop = box.scrollHeight; }")
    page.wait_for_function("() => document.querySelector('.table tbody tr:last-child').textContent === '99999'")
    assert page.evaluate("() => document.querySelectorAll('.table tr').length") < 60
    page.fill(".table input", "9999")
    page.wait_for_function("() => document.querySelector('.table [role=status]').textContent === '19 of 100,000 rows'")


def test_numbers_of_any_length_are_what_they_are(tab: Tab, journal: Journal):
    number = 2**70 + 1
    page = opened(tab, journal, table([{"id": 2**70}, {"id": number}, {"id": 5}, {"id": 2**53 + 1}], collapsed=False))
    page.click(".table th button")
    page.wait_for_selector("th[aria-sort=ascending]")
    cells = page.evaluate("() => [...document.querySelectorAll('.table tbody td')].map((each) => each.textContent)")
    assert cells == ["5", str(2**53 + 1), str(2**70), str(number)]
    page = opened(tab, journal, structured({"id": number}, collapsed=False), "two")
    page.wait_for_selector(f".tree >> text={number}")


def test_trees_are_made_as_they_are_opened(tab: Tab, journal: Journal):
    page = opened(tab, journal, structured({"a": {"b": {"c": {"d": "deep"}}}}, collapsed=False))
    assert page.locator(".tree details").count() == 3
    assert page.locator(".tree >> text=deep").count() == 0
    page.locator(".tree summary").last.click()
    page.wait_for_selector(".tree details >> nth=3")
    page.locator(".tree summary").last.click()
    page.wait_for_selector("text=deep")


def test_diffs_are_shown_side_by_side(tab: Tab, journal: Journal):
    page = opened(tab, journal, CASES["diff"])
    page.wait_for_selector(".diff table.unified .added")
    page.click("text=Side by side")
    page.wait_for_selector(".diff table.paired .removed + .number + .added")


def test_colours_come_with_code_and_fences(tab: Tab, journal: Journal):
    page = opened(tab, journal, CASES["code_vibe"])
    page.wait_for_selector(".code .t-k")
    page = opened(tab, journal, CASES["markdown"], "two")
    page.wait_for_selector(".markdown pre .t-s")
    assert page.get_attribute(".markdown a", "href") == "https://example.com/a"


def test_the_theme_follows_the_system_until_one_is_chosen(browser: Any, site: Site, journal: Journal):
    put(begun(journal, "r"), "1", "hi")
    tab = Tab(browser, site, color_scheme="dark")
    paper = "() => getComputedStyle(document.body).backgroundColor"
    tab.page.wait_for_selector(".runs li")
    dark = tab.page.evaluate(paper)
    tab.page.select_option(".theme select", "light")
    assert tab.page.evaluate(paper) != dark
    tab.page.reload()
    tab.page.wait_for_selector(".runs li")
    assert tab.page.evaluate(paper) != dark
    tab.page.select_option(".theme select", "auto")
    assert tab.page.evaluate(paper) == dark
    tab.close()
    assert tab.complaints == []


def test_users_draw_kinds_of_their_own(browser: Any, journal: Journal, tmp_path: Path):
    own = tmp_path / "renderers"
    own.mkdir()
    (own / "acme.js").write_text(
        'import { ResultRenderers, html } from "antiphon";\n'
        'ResultRenderers.register("acme.report", ({ data }) => html`<b id="own">${data.name}</b>`);\n'
        'ResultRenderers.register("acme.broken", () => { throw new Error("no"); });\n'
    )
    running = begun(journal, "r")
    show(running, "1", Result("acme.report", {"name": "<i>Q3</i>"}))
    show(running, "2", Result("acme.broken", {"name": "Q4"}))
    site = Site(journal, renderers=own)
    tab = Tab(browser, site)
    page = tab.go("sessions/r:1")
    assert page.text_content("#own") == "<i>Q3</i>"
    page = tab.go("sessions/r:2")
    page.wait_for_selector("[data-path='2'] .tree")
    tab.close()
    site.stop()
    assert tab.complaints == []


# What happens


def test_twenty_thousand_steps_are_a_few_rows_in_the_document(tab: Tab, journal: Journal):
    running = begun(journal, "long")
    for number in range(1, 20_001):
        put(running, str(number), f"line {number}")
    page = tab.go("sessions/long")
    page.wait_for_function("() => document.querySelector('.past input')?.max === '19999'")
    rows = "() => document.querySelectorAll('.step').length"
    page.wait_for_selector("[data-path='1']")
    assert 0 < page.evaluate(rows) <= 200
    # To the end, through steps that were not drawn yet; the size of what is not drawn is guessed until it was.
    page.wait_for_function(
        "() => { scrollTo(0, document.body.scrollHeight); return document.querySelector(\"[data-path='20000']\"); }"
    )
    assert page.evaluate(rows) <= 200
    # A link leads to a step in the middle.
    page = tab.go("sessions/long:10000")
    page.wait_for_selector("[data-path='10000'].target >> text=line 10000")
    page.wait_for_function("() => scrollY > 1000")
    assert page.evaluate(rows) <= 200


def test_steps_appear_under_what_they_are_part_of(tab: Tab, journal: Journal):
    running = begun(journal, "r", "Sorts mails")
    page = tab.go("sessions/r")
    page.wait_for_selector("h1:has-text('Sorts mails')")
    show(running, "1", text("outer"), "outer")
    show(running, "1.1", text("inner"), "inner")
    page.wait_for_selector("[data-path='1'] > .inner [data-path='1.1']")
    page.click(".inner > summary")
    page.wait_for_function("() => !document.querySelector(\"[data-path='1.1']\")")
    say(running, "2", "Done.")
    page.wait_for_selector("[data-path='2'] >> text=$0.01")
    assert page.text_content("header .cost") == "$0.0125"
    running.finish("done")
    page.wait_for_selector("header .state.done")


def test_a_restart_in_the_middle_loses_nothing_and_doubles_nothing(tab: Tab, journal: Journal, site: Site):
    running = begun(journal, "r")
    put(running, "1", "one")
    ask(running, "2", "Which?")
    page = tab.go("sessions/r")
    page.wait_for_selector("[data-path='2']")
    site.stop()
    put(running, "3", "three")
    journal.answer("r", "2", HumanAnswer("this"))
    page.wait_for_selector(".banner")
    site.start()
    page.wait_for_selector("[data-path='3']")
    page.wait_for_selector("[data-path='2'][data-state=done]")
    paths = page.evaluate("() => [...document.querySelectorAll('.step')].map((each) => each.dataset.path)")
    assert paths == ["1", "2", "3"]
    # A server that is gone is an error in every browser's console.
    assert all("ERR_" in each for each in tab.complaints)
    tab.complaints.clear()


# People


def test_a_question_is_answered_once_and_all_pages_show_it(browser: Any, tab: Tab, site: Site, journal: Journal):
    running = begun(journal, "r", "Sorts mails")
    ask(running, "1", "Which folder?")
    want(running, "2", "write_file", {"path": "a.txt", "content": "hidden \u202e text\nmore\n"})
    running.finish("waiting")
    other = Tab(browser, site)
    for each in (tab, other):
        each.go("questions").wait_for_selector(".waiting >> nth=1")
    # What shows the content comes after the page.
    tab.page.wait_for_selector("[data-about=approval] >> text=hidden")
    assert "hidden \\u202e text" in tab.page.text_content("[data-about=approval]")
    tab.page.fill("[data-about=question] textarea", "archive")
    tab.page.click("[data-about=question] button")
    tab.page.wait_for_selector("text=It resumes by itself.")
    other.page.wait_for_function("() => document.querySelectorAll('.waiting').length === 1")
    other.page.fill("[data-about=approval] input", "not this file")
    other.page.click("text=Deny")
    other.page.wait_for_selector("text=Denied")
    tab.page.wait_for_selector(".empty")
    said = [each.outcome.value for each in journal.iterate_effects("r") if each.outcome is not None]
    assert said == [HumanAnswer("archive"), HumanAnswer("not this file", allowed=False)]
    other.close()
    assert other.complaints == []


def test_everything_can_be_done_with_the_keyboard(tab: Tab, journal: Journal):
    for name in ("a", "b"):
        running = begun(journal, name)
        show(running, "1", text("words"), "first")
        ask(running, "2", "Which?")
        running.finish("waiting")
    page = tab.go("sessions")
    page.wait_for_selector(".runs li >> nth=1")
    page.wait_for_selector(".find input")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('a')")
    page.focus("[data-path='1'] summary")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".opened")
    page.focus("textarea")
    page.keyboard.type("this")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("[data-path='2'][data-state=done]")


# What nothing in a result can do

SCRIPT = "document.title='owned';fetch('https://evil.example/')"
SVG = f"<svg xmlns='http://www.w3.org/2000/svg' onload=\"{SCRIPT}\"><script>{SCRIPT}</script></svg>"
HOSTILES = [
    f'<script>{SCRIPT}</script><img src=https://evil.example/p.png onerror="{SCRIPT}">',
    f"[a](javascript:{SCRIPT}) ![p](https://evil.example/p.png) <iframe src=https://evil.example></iframe>",
    f'</pre></code></script><svg onload="{SCRIPT}">',
    "\"><base href=https://evil.example/><style>@import 'https://evil.example/x.css'</style>",
    HOSTILE_MARKDOWN,
    HOSTILE,
    "__proto__",
]


def hostile_results() -> Iterator[Result]:
    for words in HOSTILES:
        for name in ("text", "markdown", "code", "diff", "table", "tree", "image", "raw"):
            yield Result("acme.report", words, words, display=Display(name, language=words[:40]))
        types = {"url": "url", "path": "path", "date": "date"}
        yield table([{"url": words, "path": words, words: words}], [{"key": each, "type": each} for each in types])
        yield structured({words: words, "url": f"javascript:{words}", "path": words}, field_types=types)
        yield file_content(words, words)
        yield terminal(words, words, exit_code=1)
        yield Result("git.status", {"branch": words, "modified": [words]}, words)
        yield Result("question", {"question": words, "options": [words], "answer": words}, words)
        yield Result("file_list", {"path": words, "entries": [{"name": words, "type": "file", "modified": words}]})
        yield Result("image", {"url": words, "alt": words}, words, "image/png")
        yield text(words, markdown=True)
    yield image(base64=base64.b64encode(SVG.encode()).decode(), mime_type="image/svg+xml", alt=SVG)
    yield image(base64=base64.b64encode(b"<html>").decode(), mime_type="text/html", alt="no image")
    yield image(base64="%%%", mime_type="image/png", alt="none")


def test_hostile_results_do_nothing(tab: Tab, journal: Journal):
    running = begun(journal, "<script>", HOSTILES[0])
    results = list(hostile_results())
    for number, result in enumerate(results, 1):
        show(running, str(number), result, HOSTILES[number % 4], {HOSTILES[0]: HOSTILES[1]})
    ask(running, "a", HOSTILES[0])
    want(running, "b", "rm", {HOSTILES[0]: HOSTILES[1], "path": HOSTILES[3]})
    running.finish("waiting", {"error": {"message": HOSTILES[0]}})
    page = tab.go("sessions")
    page.wait_for_selector(".runs li")
    page = tab.go("sessions/%3Cscript%3E")
    page.wait_for_selector(f"[data-path='{len(results)}']", state="attached")
    page.wait_for_function(
        """() => { let left = 0;
        for (const each of document.querySelectorAll('.step > details')) each.open = true;
        for (const each of document.querySelectorAll('.step.tool')) if (!each.querySelector('.opened')) {
            if (!left++) each.scrollIntoView(); }
        return left === 0; }"""
    )
    page.wait_for_timeout(300)
    tab.go("questions").wait_for_selector("[data-about=approval]")
    assert "owned" not in page.title()
    hrefs = page.evaluate("() => [...document.querySelectorAll('a[href]')].map((each) => each.href)")
    assert not [each for each in hrefs if each.lower().startswith(("javascript:", "data:"))]
    assert page.evaluate("() => document.querySelectorAll('iframe, object, embed, base, main script').length") == 0


# For everybody


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_main_views_have_no_barrier_and_are_pictured(browser: Any, site: Site, journal: Journal, scheme: str):
    main_views(journal)
    tab = Tab(browser, site, color_scheme=scheme, reduced_motion="reduce", bypass_csp=True)
    for name, where, ready, height in (
        ("sessions", "sessions", ".runs li", 340),
        ("session", "sessions/release-notes", "[data-path='6'] .opened .result", 1120),
        ("questions", "questions", ".waiting textarea", 480),
    ):
        page = tab.go(where)
        page.wait_for_selector(ready)
        page.wait_for_timeout(200)
        if os.environ.get("UPDATE_PICTURES"):
            page.set_viewport_size({"width": 1100, "height": height})
            page.screenshot(path=PICTURES / f"page-{name}-{scheme}.png")
        page.evaluate(AXE.read_text())
        found = page.evaluate("() => axe.run()")
        assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]] == []
        page.set_viewport_size({"width": 360, "height": 700})
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        page.set_viewport_size({"width": 1100, "height": 800})
    tab.close()
    assert tab.complaints == []


def main_views(journal: Journal) -> None:
    """What a morning could look like."""
    done = begun(journal, "mails", "Sorts the mails of the night")
    say(done, "1", "Twelve mails, two of them urgent.", 0.0132)
    done.finish("done", {"outcome": "done", "value": {"urgent": 2, "other": 10}, "error": None})
    failed = begun(journal, "prices", "Compares the prices of three shops")
    failed.finish("failed", {"error": {"message": "shop.example did not answer within 30 s"}})
    asks = begun(journal, "release", "Publishes release 2.4")
    want(asks, "1", "run_shell", {"command": "git push origin v2.4"})
    ask(asks, "2", "Shall the announcement go to the mailing list, too?")
    asks.finish("waiting")
    launch = {"file": "notes.vibe", "inputs": {"since": "v2.3", "audience": "people who upgrade"}, "arguments": []}
    run = begun(journal, "release-notes", "Writes the release notes", launch)
    put(run, "1", "Reading what has changed since 2.3 …")
    say(run, "2", "I look at the repository first.")
    show(run, "3", CASES["git_status"], "git_status")
    show(run, "3.1", CASES["file_list"], "list_files", {"path": "src"})
    show(
        run,
        "4",
        terminal("make test", "ran 312 tests\nall passed\n", exit_code=0),
        "run_shell",
        {"command": "make test"},
    )
    cities = [{"area": area, "changes": n, "since": f"2026-11-{d:02}"} for area, n, d in
              (("language", 41, 3), ("journal", 28, 7), ("page", 93, 12), ("wire", 7, 1))]  # fmt: skip
    show(run, "5", table(cities, summary="4 areas", collapsed=False), "count_changes", {"since": "v2.3"})
    old = 'def greet():\n    print("hi")\n'
    new = 'def greet(name: str) -> None:\n    print(f"hi {name}")\n'
    show(run, "6", diff("src/greet.py", old, new, collapsed=False), "edit_file", {"path": "src/greet.py"})
    say(run, "7", "The notes are written.", 0.0211)
    times = {"1": (0, 0), "2": (0, 4.1), "3": (4.1, 4.6), "3.1": (4.2, 4.5), "4": (4.6, 9.8), "5": (9.8, 10.3)}
    set_times(journal, "release-notes", {**times, "6": (10.3, 10.4), "7": (10.4, 16.9)})


def test_more_of_a_text_is_shown_until_its_end(tab: Tab, journal: Journal):
    lines = "\n".join(f"line {number}" for number in range(1, 25_001))
    page = opened(tab, journal, text(lines, collapsed=False))
    while page.locator("button.more").count():
        shown = page.locator(".opened .line").count()
        page.click("button.more")
        page.wait_for_function("(n) => document.querySelectorAll('.opened .line').length > n", arg=shown)
    assert page.locator(".opened .line").last.text_content() == "line 25000"


def test_a_run_that_waits_has_not_failed(tab: Tab, journal: Journal):
    running = begun(journal, "one")
    ask(running, "1", "Which colour?")
    running.finish("waiting", {"outcome": "waiting", "error": {"message": "a person is needed: Which colour?"}})
    page = tab.go("sessions/one")
    page.wait_for_selector(".waiting")
    assert page.locator("p.failure").count() == 0
    assert page.locator(".dot.failed, .failed .dot").count() == 0


def test_what_nobody_sees_is_written_out_where_somebody_decides(tab: Tab):
    unseen = [code for code in range(0x110000) if re.match(f"[{UNPRINTABLE}]", chr(code))]
    page = tab.go("sessions")
    left = """async (codes) => {
      const { visible } = await import(new URL("plain.js", document.baseURI).href);
      return codes.filter((code) => visible(`a${String.fromCodePoint(code)}b`).length <= (code > 0xffff ? 4 : 3));
    }"""
    assert page.evaluate(left, unseen) == []
    reads = """async (text) => (await import(new URL("plain.js", document.baseURI).href)).clean(text)"""
    assert page.evaluate(reads, "naïve ❤️ 👩‍💻 日本語 �") == "naïve ❤️ 👩‍💻 日本語 �"
    assert page.evaluate(reads, "a\u200bb\U000e0041") == "a\\u200bb\\U000e0041"
