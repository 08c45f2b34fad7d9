"""What it takes to show a run of 2,000 events on the page, in chromium: all in one go, and as they happen.

`to be drawn` is from the first steps that the page gets to the frame in which all are drawn; as they happen, `lag` is
from the last write into the journal to that frame. `CPU` is what the page's thread has taken of a processor. The last
lines are what it costs a process to have its answers heard: for each piece of an answer, where nobody looks and where
somebody does. Needs chromium, and `antiphon[web]` with playwright.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from antiphon.conversation import ToolCall
from antiphon.durable import ActiveRun, Journal
from antiphon.results import table, terminal
from antiphon.terminal import print_result
from tests.web.browser import FLAGS, TOKEN, Site, chromium
from tests.web.journals import begun, put, say, show

#: When the first steps came.
WATCHED = """(() => {
  const added = EventSource.prototype.addEventListener;
  window.first = null;
  EventSource.prototype.addEventListener = function (name, heard) {
    added.call(this, name, (event) => { if (name === "steps") window.first ??= performance.now(); heard(event); });
  };
})()"""
DRAWN = """(count) => new Promise((done) => {
  const told = () => done({ now: performance.now(), first: window.first, at: Date.now() / 1000 });
  // The slider has all steps; of a long list only a part is in the document.
  const is_there = () => Number(document.querySelector(".past input")?.max) >= count - 1;
  const look = () => requestAnimationFrame(is_there() ? () => setTimeout(told) : look);
  look();
})"""


class Page:
    """A page, and how much of a processor it has taken, in milliseconds."""

    def __init__(self, browser: Any, site: Site) -> None:
        self.tab = browser.new_page()
        self.tab.set_default_timeout(300_000)
        self.tab.add_init_script(WATCHED)
        self._metrics = self.tab.context.new_cdp_session(self.tab)
        self._metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._site = site
        self.tab.goto(f"{site.url}/login?token={TOKEN}")

    @property
    def taken(self) -> float:
        found = {each["name"]: each["value"] for each in self._metrics.send("Performance.getMetrics")["metrics"]}
        return found["TaskDuration"] * 1000

    def look_at(self, run: str) -> None:
        self.tab.goto(f"{self._site.url}/#/sessions/{run}")
        self.tab.reload()


def do(running: ActiveRun, number: int) -> None:
    """A step as runs have them: a third requests, a third calls with results inside of them, a third prints."""
    match number % 3:
        case 0:
            say(running, f"{number}/r1", f"I **look** at file {number}.", calls=[ToolCall("c", "run_shell", {})])
        case 1:
            output = terminal(f"cat {number}", f"line {number}\n" * 20, exit_code=0)
            show(running, f"{number - 1}/r1/c", output, "run_shell", {"command": f"cat {number}"})
        case _:
            put(running, str(number), f"done with {number}")


def in_one_go(page: Page, journal: Journal, count: int, run: str) -> dict[str, Any]:
    running = begun(journal, run)
    for number in range(count):
        do(running, number)
    page.look_at(run)
    before = page.taken
    found = page.tab.evaluate(DRAWN, count)
    return {"to be drawn, ms": found["now"] - found["first"], "lag, ms": None, "CPU, ms": page.taken - before}


def as_it_happens(page: Page, journal: Journal, count: int, run: str, pause: float) -> dict[str, Any]:
    running = begun(journal, run)
    page.look_at(run)
    page.tab.wait_for_selector("h1")
    before = page.taken
    for number in range(count):
        do(running, number)
        if pause:
            time.sleep(pause)
    last = time.time()
    found = page.tab.evaluate(DRAWN, count)
    lag = (found["at"] - last) * 1000
    return {"to be drawn, ms": found["now"] - found["first"], "lag, ms": lag, "CPU, ms": page.taken - before}


def page_rows(count: int, pause: float) -> list[dict[str, Any]]:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        journal = Journal(Path(home) / "logs.db")
        site = Site(journal)
        page = Page(playwright.chromium.launch(executable_path=chromium(), args=FLAGS), site)
        rows = [
            {"events": f"{count:,}, in one go", **in_one_go(page, journal, count, "one")},
            {"events": f"{count:,}, in a burst", **as_it_happens(page, journal, count, "burst", 0)},
            {
                "events": f"{count:,}, each after {pause * 1000:g} ms",
                **as_it_happens(page, journal, count, "slow", pause),
            },
        ]
        site.stop()
    return [{name: round(each) if isinstance(each, float) else each for name, each in row.items()} for row in rows]


def piece_rows(count: int) -> list[dict[str, Any]]:
    """Nanoseconds for each piece of an answer."""

    async def heard(journal: Journal, is_looked_at: bool) -> float:
        live = journal.live_output
        assert live is not None
        if is_looked_at:
            live.mark_watched("r")
        with live.publish("r", "1", journal.secret_refs) as hear:
            began = time.perf_counter()
            for number in range(count):
                hear("word ")
                if number % 200 == 0:
                    # As answers do, it lets others have their turn.
                    await asyncio.sleep(0)
            return (time.perf_counter() - began) / count * 1e9

    async def unheard() -> float:
        began = time.perf_counter()
        for number in range(count):
            if number % 200 == 0:
                await asyncio.sleep(0)
        return (time.perf_counter() - began) / count * 1e9

    with tempfile.TemporaryDirectory() as home:
        journal = Journal(Path(home) / "logs.db")
        bare = min(asyncio.run(unheard()) for _ in range(5))
        return [
            {"pieces": name, "ns each": round(min(asyncio.run(heard(journal, is_looked_at)) for _ in range(5)) - bare)}
            for name, is_looked_at in (("nobody looks", False), ("somebody looks", True))
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--pause", type=float, default=0.005, help="seconds between events that trickle")
    given = parser.parse_args()
    print_result(table(page_rows(given.events, given.pause), summary="a run on the page"), full=True)
    print_result(table(piece_rows(1_000_000), summary="pieces of answers"), full=True)


if __name__ == "__main__":
    main()
