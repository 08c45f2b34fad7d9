"""Programs on the page: which there are, the form that is made of their inputs, and starting them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon.durable import Journal
from antiphon.web import app
from antiphon.web.programs import _MAX_PROGRAMS
from tests.web.browser import Site
from tests.web.tabs import AXE, PICTURES, Tab
from tests.web.test_server import OURS, TOKEN, known, wait_until

WEATHER = """// Tells what the weather will be.
//
// For the next days.
type Place { name: text, tall?: number }
input city: text "which city"
input days: number = 3 "how far ahead"
input units: "metric" | "imperial" = "metric"
input detailed: boolean "with wind and rain" = false
input places: Place[] = [{ name: "home" }] "other places"
input note: text | null
private input key: text = "" "of the service"
returns { city: text, days: number }
print("{city}: {days} {units} {detailed} ${places.length} ${note ?? "-"}")
return { city: city, days: days }
""".replace(' "with wind and rain" = false', ' = false "with wind and rain"')
HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "programs"
    (made / "below").mkdir(parents=True)
    (made / "weather.vibe").write_text(WEATHER)
    (made / "below" / "hello.vibe").write_text('/* Says hello. */\ninput name: text = "you"\nprint("Hello {name}")\n')
    return made


def asked(journal: Journal, folder: Path, method: str, path: str, data: Any = None) -> httpx2.Response:
    page = app(journal=journal, token=TOKEN, programs=folder)
    request = (method, path, OURS, {"json": data}) if method == "POST" else (method, path, {})
    return known(page, request)[0]


def started(journal: Journal, folder: Path, **given: Any) -> httpx2.Response:
    return asked(journal, folder, "POST", "/api/programs/start", {"file": "weather.vibe", **given})


def test_programs_are_listed_with_what_they_do(journal: Journal, folder: Path):
    for hidden in (".hidden/a.vibe", "node_modules/b.vibe", "__pycache__/c.vibe"):
        (folder / hidden).parent.mkdir()
        (folder / hidden).write_text("print(1)")
    (folder.parent / "outside.vibe").write_text("// secret\nprint(1)")
    (folder / "link.vibe").symlink_to(folder.parent / "outside.vibe")
    found = asked(journal, folder, "GET", "/api/programs").json()
    assert [(each["file"], each["description"].split("\n")[0]) for each in found["programs"]] == [
        ("weather.vibe", "Tells what the weather will be."),
        ("below/hello.vibe", "Says hello."),
    ]
    for number in range(_MAX_PROGRAMS):
        (folder / f"p{number}.vibe").touch()
    found = asked(journal, folder, "GET", "/api/programs").json()
    assert (len(found["programs"]), found["hasMore"]) == (_MAX_PROGRAMS, True)


def test_the_inputs_of_a_program_are_data_for_a_form(journal: Journal, folder: Path):
    found = asked(journal, folder, "GET", "/api/programs/weather.vibe").json()
    inputs = {each["name"]: each for each in found["inputs"]}
    assert {name: each["kind"] for name, each in inputs.items()} == {
        "city": "text", "days": "number", "units": "choice", "detailed": "boolean", "places": "json", "note": "text",
        "key": "text",
    }  # fmt: skip
    assert [name for name, each in inputs.items() if each["isRequired"]] == ["city"]
    assert inputs["units"]["options"] == ["metric", "imperial"]
    assert (inputs["days"]["default"], inputs["days"]["schema"]["type"]) == (3, "number")
    assert inputs["places"]["schema"]["items"]["$ref"].rpartition("/")[2] in inputs["places"]["schema"]["$defs"]
    assert inputs["key"]["isPrivate"]
    assert found["returns"] == "{city: text, days: number}"
    (folder / "wrong.vibe").write_text("// Broken\nprnt(1)\n")
    wrong = asked(journal, folder, "GET", "/api/programs/wrong.vibe").json()
    assert [(each["code"], each["line"]) for each in wrong["diagnostics"]] == [("V0201", 2)]
    assert wrong["description"] == "Broken"


@pytest.mark.parametrize(
    "file",
    [
        "../outside.vibe", "below/../../outside.vibe", "%2e%2e/outside.vibe", "link.vibe", ".hidden.vibe", "weather",
        "below", "gone.vibe", "a%00.vibe", "notes.txt",
    ],
)  # fmt: skip
def test_what_is_not_below_the_directory_is_not_there(journal: Journal, folder: Path, file: str):
    (folder.parent / "outside.vibe").write_text("print(1)")
    (folder / "link.vibe").symlink_to(folder.parent / "outside.vibe")
    (folder / ".hidden.vibe").write_text("print(1)")
    (folder / "notes.txt").write_text("print(1)")
    assert asked(journal, folder, "GET", f"/api/programs/{file}").status_code in (403, 404)
    plain = file.replace("%2e", ".").replace("%00", "\0")
    assert started(journal, folder, file=plain).status_code == 404
    assert started(journal, folder, file=str(folder / "weather.vibe")).status_code == 404
    assert journal.database.query("SELECT id FROM sessions", ()) == []


def test_what_a_form_says_is_read_and_kept_with_the_run(journal: Journal, folder: Path):
    given = {"city": "Oslo", "days": "5", "units": "imperial", "detailed": "true", "places": "[]", "key": "hush-hush"}
    answer = started(journal, folder, inputs=given)
    assert (answer.status_code, answer.json()["goesOn"]) == (200, True)
    id = answer.json()["session"]
    wait_until(lambda: journal.find(id).state not in ("ready", "running"))
    entry = journal.find(id)
    assert entry.state == "done"
    assert entry.begun_as["inputs"]["days"] == 5
    assert [each.asked["text"] for each in journal.iterate_effects(id)] == ["Oslo: 5 imperial true 0 -"]
    kept = b"".join(each.read_bytes() for each in journal.file.path.parent.glob("logs.db*"))
    assert b"weather.vibe" in kept
    assert b"hush-hush" not in kept


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, {"city": "`city` is not given (text: which city)"}),
        (
            {"city": "x", "days": "five", "units": "Metric", "detailed": "yes", "places": "home", "town": "x"},
            {
                "days": '`days`: expected number, found "five"',
                "units": '`units`: expected "metric" | "imperial", found "Metric"',
                "detailed": '`detailed`: expected boolean, found "yes"',
                "places": '`places`: expected Place[] as JSON, found "home"',
                "town": "there is no input `town`",
            },
        ),
    ],
)
def test_what_is_wrong_is_told_by_field_and_nothing_begins(journal: Journal, folder: Path, given: Any, wrong: Any):
    answer = started(journal, folder, inputs=given)
    assert (answer.status_code, answer.json()["errors"]) == (400, wrong)
    assert journal.database.query("SELECT id FROM sessions", ()) == []
    assert started(journal, folder, inputs=[]).status_code == 400
    assert started(journal, folder, file=3).status_code == 400


def test_a_program_of_a_repository_that_is_not_trusted_is_not_started(journal: Journal, folder: Path):
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "weather.vibe").write_text("const x = py() { return 1 }\nprint(x)\n")
    told = asked(journal, folder, "GET", "/api/programs/weather.vibe").json()["refused"]
    assert "runs Python" in told
    assert "antiphon setup trust" in told
    answer = started(journal, folder)
    assert (answer.status_code, answer.json()["error"]) == (409, told)


def test_only_the_page_itself_starts_programs(journal: Journal, folder: Path):
    page = app(journal=journal, token=TOKEN, programs=folder)
    data = {"json": {"file": "below/hello.vibe", "inputs": {}}}
    other = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}
    assert known(page, ("POST", "/api/programs/start", other, data))[0].status_code == 403
    assert journal.database.query("SELECT id FROM sessions", ()) == []


def test_a_program_is_started_from_its_form(browser: Any, journal: Journal, folder: Path):
    (folder / f"z{HOSTILE.replace('/', '')}.vibe").write_text(
        f"// {HOSTILE}\ninput a: text = 'x' '{HOSTILE}'\nprint(a)"
    )
    site = Site(journal, programs=folder)
    tab = Tab(browser, site)
    page = tab.go("programs")
    page.wait_for_selector("[data-program='weather.vibe']")
    _look(tab, "start-list")
    page.keyboard.press("Tab")
    page.locator("[data-program='weather.vibe'] a").press("Enter")
    page.wait_for_selector("form.start")
    _look(tab, "start")
    # Nothing is filled in: what is missing is told at its field, which has the keyboard.
    page.get_by_role("button", name="Start").press("Enter")
    page.wait_for_selector("#input-city-error")
    page.wait_for_function("() => document.activeElement.name === 'city'")
    page.keyboard.type("Oslo")
    page.get_by_label("days").fill("5")
    page.get_by_label("units").select_option("imperial")
    page.get_by_label("detailed").press("Space")
    page.get_by_label("places").fill("[1")
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector("#input-places-error")
    assert page.locator("[aria-invalid=true]").count() == 1
    page.set_viewport_size({"width": 420, "height": 900})
    _look(tab, "start-narrow")
    page.get_by_label("places").fill("[]")
    page.get_by_label("key").fill("hush-hush")
    page.get_by_label("key").press("Control+Enter")
    page.wait_for_function("() => location.hash.startsWith('#/sessions/')")
    page.get_by_text("Oslo: 5 imperial true 0 -").wait_for()
    page = tab.go("programs")
    page.locator("[data-program^=z] a").click()
    page.get_by_role("button", name="Start").wait_for()
    assert page.locator("main img").count() == 0
    assert "\u202e" not in page.inner_text("main")
    tab.close()
    site.stop()
    assert [each for each in tab.complaints if "400" not in each] == []


def _look(tab: Tab, name: str) -> None:
    """No violation of what axe knows, light and dark, and a picture for whoever looks."""
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        tab.page.evaluate(AXE.read_text())
        found = tab.page.evaluate("() => axe.run()")
        assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
        if os.environ.get("UPDATE_PICTURES") and name == "start":
            tab.page.set_viewport_size({"width": 1100, "height": 1090})
            tab.page.screenshot(path=PICTURES / f"page-start-{scheme}.png")
