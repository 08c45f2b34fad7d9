"""What needs an extra that is not installed says which one, and the command that installs it here."""

import asyncio
import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon import Limits, Session, connect
from antiphon._base.optional_deps import build_install_command
from antiphon.cli import cli
from antiphon.durable import Dispatcher, Journal
from antiphon.effects import AskModel, Budget, BudgetExceeded, Counter, EffectCall, Spending
from antiphon.errors import AntiphonError
from antiphon.fakes import Fake
from antiphon.lang.runtime import loads
from antiphon.telemetry import export_telemetry, instrument
from antiphon.tools.mcp import McpTools, make_mcp_server
from antiphon.web import app

#: Ours that import a package of an extra at their top.
_ABOVE = (
    *("antiphon.fakes.asgi", "antiphon.fakes.server", "antiphon.durable.worker"),
    *("antiphon.telemetry.spans", "antiphon.telemetry.trace_ids"),
)
_NOWHERE = "postgresql://localhost/nowhere"


def _command(*arguments: str) -> Callable[[], object]:
    def run() -> None:
        result = CliRunner().invoke(cli, arguments)
        assert result.exception is not None, result.output
        raise result.exception

    return run


def _entered() -> None:
    with Fake():
        pass


def _program(text: str) -> Callable[[], object]:
    return lambda: loads(text).run()


async def _mcp_tools() -> None:
    async with McpTools([]):
        pass


_NEEDS = [
    ("web", "uvicorn", _command("serve", "--port", "0")),
    ("web", "starlette", _command("serve", "--port", "0")),
    ("web", "starlette", app),
    ("fakes", "starlette", _command("fake", "--port", "0")),
    ("fakes", "uvicorn", _command("fake", "--port", "0")),
    ("fakes", "starlette", _entered),
    ("fakes", "uvicorn", _entered),
    ("mcp", "mcp", _command("mcp")),
    ("mcp", "mcp", lambda: make_mcp_server([])),
    ("mcp", "mcp", lambda: asyncio.run(_mcp_tools())),
    ("local", "xllamacpp", lambda: Session("local/0.5b").do("Hello.")),
    ("otel", "opentelemetry", instrument),
    ("otel", "opentelemetry", export_telemetry),
    ("bedrock", "botocore", lambda: connect("bedrock/m", environment={"AWS_REGION": "r"})),
    ("vertex", "google", lambda: connect("vertex/gemini-m", environment={"GOOGLE_CLOUD_PROJECT": "p"})),
    ("azure", "azure", lambda: connect("azure/m", environment={"AZURE_OPENAI_ENDPOINT": "http://x"})),
    ("yaml", "yaml", _program('import { parseYaml } from "system/data"\nprint(parseYaml("a: 1"))')),
    ("postgres", "psycopg", lambda: Journal(_NOWHERE).list_runs()),
    ("postgres", "psycopg", lambda: Dispatcher(_NOWHERE).make_ready([])),
    ("postgres", "psycopg", _command("--db", _NOWHERE, "worker")),
]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def hide(package: str) -> None:
        for each in [*_ABOVE, *(name for name in sys.modules if name.startswith(f"{package}."))]:
            monkeypatch.delitem(sys.modules, each, raising=False)
        monkeypatch.setitem(sys.modules, package, None)

    return hide


@pytest.mark.parametrize(("extra", "package", "use"), _NEEDS, ids=[f"{extra}-{name}" for extra, name, _ in _NEEDS])
def test_whoever_needs_an_extra_says_how_to_install_it(
    without: Callable[[str], None], extra: str, package: str, use: Callable[[], object]
) -> None:
    without(package)
    with pytest.raises(AntiphonError, match=rf"needs?( the package)? `{package}`: pip install 'antiphon\[{extra}\]'"):
        use()


def test_each_extra_has_somebody_who_names_it() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    # A price that is missing is no failure: see below.
    assert project["optional-dependencies"].keys() - {"all", "prices"} == {extra for extra, _, _ in _NEEDS}


def test_an_extra_that_cannot_be_loaded_says_why(without: Callable[[str], None], tmp_path, monkeypatch) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ImportError('no\\n  such symbol')")
    without("uvicorn")
    monkeypatch.delitem(sys.modules, "uvicorn")
    monkeypatch.syspath_prepend(tmp_path)
    said = r"needs `antiphon\[web\]`, of which something cannot be loaded \(no such symbol\): pip install"
    with pytest.raises(AntiphonError, match=said):
        _command("serve", "--port", "0")()


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_limit_in_dollars_without_prices_says_where_they_come_from(
    without: Callable[[str], None], is_installed: bool
) -> None:
    if not is_installed:
        without("genai_prices")
    hint = " (prices come with an extra: pip install 'antiphon[prices]')" * (not is_installed)
    budget = Budget(Limits(cost=1), counter=Counter(Spending(cost=None)))
    said = f"the limit of $1 cannot be kept: the cost of a model is not known{hint}"
    for refuse in (lambda: budget.check(0, 0.0), lambda: budget.before(EffectCall("1", AskModel("m", "", ())))):
        with pytest.raises(BudgetExceeded) as refused:
            refuse()
        assert str(refused.value) == said


_ORIGIN = json.dumps({"url": "file:///wheels/antiphon.whl", "archive_info": {}})


@pytest.mark.parametrize(
    ("place", "file", "origin", "command"),
    [
        ("venvs/antiphon", "pipx_metadata.json", None, "pipx inject antiphon 'antiphon[web]'"),
        ("tools/antiphon", "uv-receipt.toml", None, "uv tool install 'antiphon[web]'"),
        (
            "tools/antiphon",
            "uv-receipt.toml",
            _ORIGIN,
            "uv tool install 'antiphon[web] @ file:///wheels/antiphon.whl'",
        ),
        ("archive-v0/x1y2", "pyvenv.cfg", None, "uvx --from 'antiphon[web]' antiphon"),
        ("venv", "pyvenv.cfg", _ORIGIN, "pip install 'antiphon[web]'"),
    ],
)
def test_the_command_is_that_of_whoever_made_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, file: str, origin: str | None, command: str
) -> None:
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / file).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / place))
    _installed(tmp_path / "packages", origin)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    assert build_install_command("web") == command


def test_an_environment_without_pip_is_one_of_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pip", None)
    assert build_install_command("web") == "uv pip install 'antiphon[web]'"


def _installed(packages: Path, origin: str | None) -> None:
    about = packages / "antiphon-9.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: antiphon\nVersion: 9\n")
    if origin:
        (about / "direct_url.json").write_text(origin)
