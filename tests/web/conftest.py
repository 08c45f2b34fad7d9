"""The fixtures of the page's tests; says plainly where the page was not tested in a browser."""

from __future__ import annotations

import pytest

from tests.web.tabs import browser, journal, site, tab  # noqa: F401  (fixtures)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if any("chromium" in str(each.longrepr) or "playwright" in str(each.longrepr) for each in skipped):
        terminalreporter.write_line("The page was NOT tested in a browser: there is no chromium, or no playwright.")
