"""The documentation as a site: it builds offline, every page is in it, and its links lead somewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.wire.rules.table import RULES

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


def test_the_menu_has_six_groups_and_at_most_28_pages():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    groups = re.findall(r"^  - (.+):$", menu, re.MULTILINE)
    assert groups == ["Get started", "Guides", "Language", "Python", "Operate", "Reference"]
    assert len(re.findall(r"\.md$", menu, re.MULTILINE)) <= 28


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("retry", "providers.html"),
        ("rate limit", "providers.html"),
        ("rate limit", "scale.html"),
        ("resume", "sessions.html"),
        ("approve", "safety.html"),
        ("embedding", "providers.html"),
        ("opentelemetry", "durable.html"),
        ("agent", "session.html"),
    ],
)
def test_the_search_finds_a_heading_with_the_words(built: tuple[Path, str], words: str, page: str):
    site, _ = built
    items: list[dict[str, str]] = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    assert page in {item["location"].partition("#")[0] for item in items if words in item["title"].lower()}


def test_the_first_page_and_the_readme_tell_the_same_story(built: tuple[Path, str]):
    site, _ = built
    first = (site / "index.html").read_text(encoding="utf-8")
    (picture,) = re.findall(r'<img [^>]*src="(img/[^"]+)"', first)
    assert (site / picture).is_file()
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/index.md")]
    stories = [text.partition("# Antiphon\n")[2].partition("\n## Install\n")[0] for text in texts]
    # Outputs have times, and links begin at different places.
    told = [re.sub(r"^```text\n.*?^```$|\]\([^)]*\)", "", story, flags=re.MULTILINE | re.DOTALL) for story in stories]
    assert told[0] == told[1]
    for text in texts:
        assert re.findall(r"^make (\w+)", text, re.MULTILINE) == ["demo", "test"]
    assert len(texts[0].splitlines()) <= 170


def _reasons() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.partition("\n## Why it is better\n")[2].partition("\n## ")[0]


def test_each_reason_names_its_script():
    scripts = re.findall(r"\[`?([\w/.]+\.py)`?\]", _reasons())
    assert len(scripts) == 4
    assert [name for name in scripts if not (ROOT / name).is_file()] == []


def test_each_figure_of_a_reason_is_measured():
    measured = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    figures = re.findall(r"\d+\.\d+|\d+,\d+", _reasons())
    assert len(figures) == 8
    assert [figure for figure in figures if figure not in measured] == []
    assert f"{len(RULES)} [rules]" in _reasons()
