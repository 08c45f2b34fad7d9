"""Every block of the README and the guides is tested, every Python block runs, and every link leads somewhere.

What `tests/pages.py` says of blocks and their notes holds here. The commands are in `test_docs_commands.py`, programs
of the language in `test_language_docs.py`; guides to teams and to many machines have files of their own.
"""

from __future__ import annotations

import configparser
import inspect
import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from antiphon import errors
from antiphon.cli import cli
from antiphon.cli.scripted_models import list_offered_tools, make_scripted_step
from antiphon.fakes import Answer, Call, Fake, Received, Step
from tests.pages import MARK, PAGES, ROOT, Block, blocks, census

_TOOK = re.compile(r"\b\d+ ms\b")
_LINK = re.compile(r"(?<!`)\]\((?!https?:)([^)\s#]*)(#[^)\s]+)?\)")


def test_every_block_is_tested_or_says_why_not():
    assert census().get("", []) == []


# Python


def _python() -> Iterator[Any]:
    for page in PAGES:
        # They need a database and a repository: `test_scale_docs.py` and `test_team_docs.py` have them.
        for block in blocks(page) if page.name not in ("scale.md", "team.md") else ():
            if block.way == "python":
                yield pytest.param(block, id=block.name)


def obliging(received: Received) -> Answer | Call:
    """Call a tool if there is one and nothing was called since the user last spoke; else answer."""
    body = received.body
    tools = body.get("tools") or []
    declared = [f for tool in tools for f in tool.get("functionDeclarations", [tool.get("function", tool)])]
    functions = [tool for tool in declared if "name" in tool]
    last = str((body.get("messages") or body.get("input") or body.get("contents"))[-1])
    if functions and not re.search("tool_result|'tool'|function_call_output|functionResponse", last):
        first = functions[0]
        schema = next(
            (first[key] for key in ("parameters", "input_schema", "parametersJsonSchema") if key in first), {}
        )
        return Call(first["name"], dict.fromkeys(schema.get("required", []), "Oslo"))
    return Answer("Here is an answer.", reasoning="Let me think.")


class Provider:
    """Says what a block notes; what it notes nothing of is obliged."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def steps(self) -> Iterator[Any]:
        while True:
            yield self._say

    def _say(self, received: Received) -> Step:
        return (
            make_scripted_step(self.answers.pop(0), list_offered_tools(received.body))
            if self.answers
            else obliging(received)
        )


@pytest.fixture(scope="module")
def playing() -> Iterator[tuple[Provider, Fake]]:
    provider = Provider()
    with Fake(provider.steps()) as fake:
        yield provider, fake


@pytest.mark.parametrize("block", list(_python()))
def test_the_code_of_the_documentation_runs(
    block: Block,
    playing: tuple[Provider, Fake],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
):
    provider, fake = playing
    provider.answers = block.note("answers", [])
    for name, key, url in (
        ("ANTHROPIC", "ANTHROPIC_API_KEY", fake.url),
        ("OPENAI", "OPENAI_API_KEY", f"{fake.url}/v1"),
        ("GOOGLE_GEMINI", "GEMINI_API_KEY", fake.url),
    ):
        monkeypatch.setenv(f"{name}_BASE_URL", url)
        monkeypatch.setenv(key, "any")
    monkeypatch.chdir(tmp_path)
    for other in blocks(block.page):
        if "file" in other.notes:
            Path(other.notes["file"]).write_text(other.body, encoding="utf-8")
    # What an example registers is gone when it is over.
    import antiphon.terminal  # noqa: F401
    from antiphon.facts.statements import forget_stated_facts
    from antiphon.providers.registry import PROVIDERS
    from antiphon.terminal import custom_renderers as registry

    for name in ("_renderers", "page_description"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    request.addfinalizer(forget_stated_facts)
    for name in PROVIDERS:
        # Whatever is added beside them is taken out below; these come back as they were.
        monkeypatch.setitem(PROVIDERS, name, PROVIDERS[name])
    known = set(PROVIDERS)
    if "local" in block.notes:
        # The embedded model, which is not here, is played too.
        monkeypatch.setitem(PROVIDERS, "local", PROVIDERS["anthropic"])
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile("\n" * (block.line - 1) + block.body, str(block.page), "exec", dont_inherit=True), names)
    # A warning adds a name to the module that it is about.
    for name, test in list(names.items()):
        fixtures = inspect.signature(test).parameters if name.startswith("test_") else ()
        if fixtures and all(each.startswith("antiphon_") for each in fixtures):
            test(*map(request.getfixturevalue, fixtures))
    for name in set(PROVIDERS) - known:
        del PROVIDERS[name]
    assert provider.answers == [], "there are answers that nobody asked for"
    if (shown := _last_of(block)) is not block:
        _compare(shown, capsys.readouterr().out)


def _compare(shown: Block, printed: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        text = shown.page.read_text(encoding="utf-8")
        assert shown.before
        above = f"{shown.before.body}```\n{shown.between}```text\n"
        shown.page.write_text(text.replace(f"{above}{shown.body}", f"{above}{printed}"), encoding="utf-8")
    else:
        assert _TOOK.sub("1 ms", printed) == _TOOK.sub("1 ms", shown.body)


# What stands in blocks besides


def _of_way(*ways: str) -> list[Any]:
    found = (block for page in PAGES for block in blocks(page) if block.way in ways)
    return [pytest.param(block, id=block.name) for block in found]


@pytest.mark.parametrize("block", _of_way("data", "file"))
def test_data_is_what_its_language_says(block: Block):
    match block.language:
        case "json":
            json.loads(block.body)
        case "toml":
            tomllib.loads(block.body)
        case "ini":
            configparser.RawConfigParser(delimiters=("=",), strict=True).read_string(block.body)


@pytest.mark.parametrize("block", _of_way("synopsis"))
def test_a_synopsis_names_options_that_there_are(block: Block):
    for line in block.body.splitlines():
        name = line.split()[1]
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        taken = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[\w-]+", line)) <= taken, line


@pytest.mark.parametrize("block", _of_way("tree"))
def test_the_tree_of_errors_is_the_one_of_the_classes(block: Block):
    above: list[tuple[int, type]] = []
    for line in block.body.splitlines():
        (name,) = re.findall(r"^[│├└─ ]*(\w+)", line)
        depth, one = line.index(name), getattr(errors, name)
        above = [(at, each) for at, each in above if at < depth]
        assert not above or one.__bases__ == (above[-1][1],), name
        above.append((depth, one))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_model_said_is_marked(page: Path):
    """By a line that the reader sees: behind the block, or above all that it holds for."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if [each for each in block.note("answers", []) if not (isinstance(each, dict) and "human" in each)]:
            read = text[: text.index(block.body)] + _last_of(block).behind
            assert MARK in read, f"{block.name}: {MARK} says nowhere that a model said this"


def _last_of(block: Block) -> Block:
    """The last of the blocks that show what comes of this one."""
    for each in blocks(block.page):
        if each.before is block and each.way == "output":
            block = each
    return block


# Links


def _anchors(page: Path) -> set[str]:
    """What headings are called in links, as GitHub and the site do."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[`*]|\[|\]\([^)]*\)", "", head).lower() for head in heads)
    return {re.sub(r"[^\w\- ]", "", head).strip().replace(" ", "-") for head in plain}


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md"), ROOT / "bench" / "README.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target, anchor in _LINK.findall(text):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        assert "docs" not in page.relative_to(ROOT).parts or ROOT / "docs" in file.parents, (
            f"{target} is not on the site"
        )
        if anchor and file.suffix == ".md":
            assert anchor[1:] in _anchors(file), f"{target}{anchor}"
