"""What is published: a wheel with the package and nothing else, an sdist that makes the same, and what is pinned."""

import ast
import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from packaging.requirements import Requirement
from trove_classifiers import classifiers

import antiphon

_ROOT = Path(__file__).parents[1]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
#: What the package holds besides modules: what is not named here was not meant to be published.
_DATA = (
    "antiphon/py.typed",
    "antiphon/lang/typecheck/explain/V*.md",
    "antiphon/lang/syntax/grammar.txt",
    "antiphon/facts/facts.json",
    "antiphon/facts/data/*.toml",
    "antiphon/local/manifest.toml",
    "antiphon/web/static/index.html",
    "antiphon/web/static/icon.svg",
    "antiphon/web/static/*.css",
    "antiphon/web/static/*.js",  # in `vendor` too
    "antiphon/web/static/vendor/*.mjs",
    "antiphon/web/static/vendor/LICENSE.*",
    "antiphon/web/static/vendor/vendored.toml",
)
#: Besides the package, an sdist holds what its documents and tests need; README, LICENSE and pyproject.toml always.
_TOP = {
    *("src", "tests", "docs", "examples", "bench", "editors"),
    *("CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "SECURITY.md", "constraints.txt", "mkdocs.yml"),
}
_PIN = re.compile(r"^([a-z0-9-]+)==(\S+)( ; .+)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)


@pytest.fixture(scope="module")
def wheel() -> dict[str, str]:
    """The files of the wheel, and where each comes from."""
    return {each.distribution_path: each.path for each in WheelBuilder(str(_ROOT)).recurse_included_files()}


def test_the_wheel_holds_the_package_and_nothing_else(wheel: dict[str, str]) -> None:
    package = Path(antiphon.__file__).parent
    there = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    assert wheel.keys() == {each for each in there if "/__pycache__/" not in each}
    assert not [each for each in wheel if not each.endswith(".py") and not any(fnmatch(each, one) for one in _DATA)]
    assert not [one for one in _DATA if not any(fnmatch(each, one) for each in wheel)]


def test_the_sdist_holds_what_makes_the_same_wheel_and_nothing_that_lies_about(wheel: dict[str, str]) -> None:
    files = {each.path for each in SdistBuilder(str(_ROOT)).recurse_included_files()}
    assert set(wheel.values()) < files
    names = {Path(each).relative_to(_ROOT) for each in files}
    assert {each.parts[0] for each in names} == _TOP
    assert not [each for each in names if "__pycache__" in each.parts]


def test_what_is_published_says_what_it_is() -> None:
    about = ProjectMetadata(str(_ROOT), PluginManager())
    assert about.version == antiphon.__version__
    assert about.core.scripts == {"antiphon": "antiphon.cli:main"}
    assert set(_PROJECT["classifiers"]) <= classifiers
    vendored = tomllib.loads((_ROOT / "src/antiphon/web/static/vendor/vendored.toml").read_text())
    licences = {"Apache-2.0", *(each["licence"] for each in vendored["file"])}
    assert set(about.core.license_expression.split(" AND ")) == licences


def test_the_version_is_the_same_everywhere() -> None:
    extension = _ROOT / "editors/vscode"
    assert json.loads((extension / "package.json").read_text())["version"] == antiphon.__version__
    assert f"vibe-language-{antiphon.__version__}\n" in (extension / "README.md").read_text()


def test_all_that_is_needed_is_pinned_with_hashes_and_from_nowhere_in_particular() -> None:
    text = (_ROOT / "constraints.txt").read_text()
    pins = {found[1]: found[2] for found in _PIN.finditer(text)}
    assert _PIN.sub("", text) == "", "`make constraints` writes it"
    wanted = [_PROJECT["dependencies"], *_PROJECT["optional-dependencies"].values()]
    needed = [Requirement(each) for some in wanted for each in some if not each.startswith("antiphon[")]
    assert [str(each) for each in needed if pins.get(each.name, "none") not in each.specifier] == [], (
        "`make constraints` writes it anew"
    )


def test_the_guide_names_each_extra_and_what_it_brings() -> None:
    text = (_ROOT / "docs/install.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z]+)` \| .+ \| (.*)\|$", text, re.MULTILINE))
    extras = _PROJECT["optional-dependencies"]
    assert {name: said.strip() for name, said in rows.items()} == {
        name: ", ".join(Requirement(each).name for each in needed if name != "all") for name, needed in extras.items()
    }
    assert f"dist/antiphon-{antiphon.__version__}-py3-none-any.whl" in text


def test_no_pattern_has_what_the_first_releases_of_python_3_11_match_wrongly():
    """Groups that give nothing back, `(…)*+` and `(?>…)`: up to 3.11.4, also in Debian's 3.11.2, they lose matches."""
    misread = re.compile(r"(?<!\\)\)(?:[?*+]|\{[0-9,]+\})\+|\(\?>")
    for path in (_ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not misread.search(node.value), f"{path}:{node.lineno}"
