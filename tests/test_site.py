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


def test_the_site_is_built_without_a_warning(built: tuple[Path, str]):
    _, said = built
    assert "Warning" not in said, said


def test_a_page_is_called_the_same_in_the_menu_and_at_its_head():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for name, page in re.findall(r'^ +- "?(.+?)"?: (\S+\.md)$', menu, re.MULTILINE):
        assert (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()[0] == f"# {name}"


def test_the_first_page_shows_a_picture_two_commands_and_three_examples(built: tuple[Path, str]):
    site, _ = built
    first = (site / "index.html").read_text(encoding="utf-8")
    (picture,) = re.findall(r'<img [^>]*src="(img/[^"]+)"', first)
    assert (site / picture).is_file()
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^make (\w+)", text, re.MULTILINE) == ["demo", "test"]
    assert len(re.findall(r"^\*\*.+?\.\*\*", text.partition("## Three examples")[2], re.MULTILINE)) == 3
