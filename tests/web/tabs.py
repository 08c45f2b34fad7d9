"""Fixtures for tests in a browser: a browser, a journal, its page, and a tab of somebody who is logged in."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Journal
from tests.web.browser import FLAGS, PATIENCE, TOKEN, Site, chromium

AXE = Path(__file__).parent / "axe" / "axe.min.js"
PICTURES = Path(__file__).parents[2] / "docs" / "img"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium()
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "logs.db")
    yield made
    made.close()


@pytest.fixture
def site(journal: Journal) -> Iterator[Site]:
    made = Site(journal)
    yield made
    made.stop()


class Tab:
    """A page of somebody who is logged in; `complaints` are what the console said, and requests to elsewhere."""

    def __init__(self, browser: Any, site: Site, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1100, "height": 800}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self._sent(request.url, site.url))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        self.url = site.url
        self.page.goto(f"{site.url}/login?token={TOKEN}")

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _sent(self, url: str, ours: str) -> None:
        if not url.startswith((ours + "/", "blob:", "data:")):
            self.complaints.append(f"a request to {url}")

    def go(self, where: str) -> Any:
        self.page.goto(f"{self.url}/#/{where}")
        return self.page

    def close(self) -> None:
        self.context.close()


@pytest.fixture
def tab(browser: Any, site: Site) -> Generator[Tab]:
    made = Tab(browser, site)
    yield made
    made.close()
    assert made.complaints == []
