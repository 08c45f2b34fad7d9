"""The documentation as a site: it builds offline, every page is in it, and its links lead somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_WARNING = re.compile(r"Warning: (.+)\n.*?\[ (\S+?):(\d+):\d+ \]\s+│\s+\d+ │ (.*)")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The site, built from a copy, and what the build said."""
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", place / "docs")
    shutil.copy(ROOT / "mkdocs.yml", place)
    program = Path(sys.executable).parent / "zensical"
    done = subprocess.run([program, "build"], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "build" / "site", _COLOURS.sub("", done.stdout + done.stderr)


def test_every_page_is_in_the_site_and_in_its_menu(built: tuple[Path, str]):
    site, _ = built
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("**/*.md"):
        name = page.relative_to(ROOT / "docs")
        assert (site / name.with_suffix(".html")).is_file(), name
        assert f" {name.as_posix()}\n" in menu, f"{name} is not in the menu"


def test_nothing_is_fetched_from_elsewhere(built: tuple[Path, str]):
    site, _ = built
    for page in site.glob("**/*.html"):
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page.read_text(encoding="utf-8"))


def test_links_within_the_site_lead_somewhere(built: tuple[Path, str]):
    # Files of the repository outside of docs/ are no pages; that they exist is tested elsewhere.
    _, said = built
    wrong = [found.groups() for found in _WARNING.finditer(said)]
    inside = [each for each in wrong if not (each[0] == "page does not exist" and "](../" in each[3])]
    assert not inside
