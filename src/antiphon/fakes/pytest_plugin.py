"""The pytest fixtures of fakes. Every pytest run loads this module, so it imports nothing that costs time."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from antiphon.fakes import Fake

_FAILED = pytest.StashKey[bool]()
#: The variables that lead a program to the fake, by the owner of the API.
_VARIABLES = {
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "google": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixtures."""
    group = parser.getgroup("antiphon")
    group.addoption("--antiphon-record", action="store_true", help="Ask the real models, and save their exchanges.")
    parser.addini(
        "antiphon_fake_strict", "Whether antiphon_fake fails for answers that are left over.", type="bool", default=True
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note whether a test with a fake failed: then what is left of its script is of no interest."""
    report = yield
    if report.failed and "antiphon_fake" in getattr(item, "fixturenames", ()):
        item.stash[_FAILED] = True
    return report


@pytest.fixture
def antiphon_fake(request: pytest.FixtureRequest) -> Iterator[Fake]:
    """Yield a served `Fake` with an empty script; `antiphon_fake.play(...)` adds steps.

    The test fails if a step is left over or a request finds none, unless `antiphon_fake_strict = false` is configured.
    """
    from antiphon.fakes import Fake

    with Fake(strict=False) as fake:
        yield fake
    if request.config.getini("antiphon_fake_strict") and not request.node.stash.get(_FAILED, False):
        fake.check_played()


@pytest.fixture
def antiphon_fake_everywhere(antiphon_fake: Fake, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Return `antiphon_fake`, and lead all code that connects by name to it, also that of vendors' SDKs."""
    for api, (url, key) in _VARIABLES.items():
        monkeypatch.setenv(url, antiphon_fake.base_url(api))
        monkeypatch.setenv(key, "fake")
    return antiphon_fake


@pytest.fixture
def antiphon_exchanges(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return `replay=FILE` for `Session` or `connect`, or `record=FILE` with `--antiphon-record`.

    The file is that of the test, in the directory `exchanges` beside it.
    """
    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")
    path = request.path.parent / "exchanges" / request.path.stem / f"{name}.jsonl"
    if request.config.getoption("--antiphon-record"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return {"record": path}
    if not path.is_file():
        pytest.fail(f"there are no exchanges in {path}; `pytest --antiphon-record` asks the model and saves them")
    return {"replay": path}
