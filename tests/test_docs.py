"""Every Python block of the README and the guides runs, against the fake in place of the providers.

So does every command in a block of `text` under `<!-- commands -->`, in a terminal and one after the other, in a git
repository `/home/me/cloned` with the files that the page shows under `<!-- file: NAME -->`; what somebody types is what
follows `[y]es, [n]o: `. With UPDATE_GOLDEN set, what they print is written instead of compared.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.fakes import Answer, Call, Fake, Received
from tests.cli.terminal import Terminal

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^<!-- file: (\S+) -->\n(?:<!-- .*? -->\n)*```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMANDS = re.compile(r"^<!-- commands -->\n```text\n\$ antiphon (.*?)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TYPED = "[y]es, [n]o: "
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def blocks() -> Iterator[Any]:
    for page in PAGES:
        if page.name in ("scale.md", "team.md"):
            # They need a database and a repository: `test_scale_docs.py` and `test_team_docs.py` have them.
            continue
        text = page.read_text(encoding="utf-8")
        for match in _BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            yield pytest.param(page, line, match[1], id=f"{page.name}:{line}")


def obliging(received: Received) -> Answer | Call:
    """Call a tool if there is one and nothing was called since the user last spoke; else answer."""
    body = received.body
    tools = body.get("tools") or []
    declared = [f for tool in tools for f in tool.get("functionDeclarations", [tool.get("function", tool)])]
    names = [tool["name"] for tool in declared if "name" in tool]
    last = str((body.get("messages") or body.get("input") or body.get("contents"))[-1])
    if names and not re.search("tool_result|'tool'|function_call_output|functionResponse", last):
        return Call(names[0], {"city": "Oslo"})
    return Answer("Here is an answer.", reasoning="Let me think.")


@pytest.fixture(scope="module")
def provider() -> Iterator[Fake]:
    def forever() -> Iterator[Any]:
        while True:
            yield obliging

    with Fake(forever()) as fake:
        yield fake


@pytest.mark.parametrize(("page", "line", "code"), list(blocks()))
def test_the_code_of_the_documentation_runs(
    page: Path,
    line: int,
    code: str,
    provider: Fake,
    antiphon_fake: Fake,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    for name, key, url in (
        ("ANTHROPIC", "ANTHROPIC_API_KEY", provider.url),
        ("OPENAI", "OPENAI_API_KEY", f"{provider.url}/v1"),
        ("GOOGLE_GEMINI", "GEMINI_API_KEY", provider.url),
    ):
        monkeypatch.setenv(f"{name}_BASE_URL", url)
        monkeypatch.setenv(key, "any")
    monkeypatch.chdir(tmp_path)
    # What an example registers is gone when it is over.
    import antiphon.render  # noqa: F401
    from antiphon.providers import catalog
    from antiphon.providers.registry import PROVIDERS
    from antiphon.render import registry

    for name in ("_renderers", "page_description"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    monkeypatch.setattr(catalog, "_overrides", dict(catalog._overrides))
    for name in PROVIDERS:
        # Whatever is added beside them is taken out below; these come back as they were.
        monkeypatch.setitem(PROVIDERS, name, PROVIDERS[name])
    known = set(PROVIDERS)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)
    for name, test in names.items():
        if name.startswith("test_"):
            test(antiphon_fake)
    for name in set(PROVIDERS) - known:
        del PROVIDERS[name]


@pytest.mark.parametrize("page", [each for each in PAGES if _COMMANDS.search(each.read_text(encoding="utf-8"))])
def test_the_commands_of_the_documentation_print_what_is_shown(page: Path, tmp_path: Path):
    text = page.read_text(encoding="utf-8")
    place = tmp_path / "home" / "me" / "cloned"
    (place / ".git").mkdir(parents=True)
    for name, content in _FILE.findall(text):
        (place / name).write_text(content, encoding="utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(place.parent), "TERM": "xterm", "LANG": "C.UTF-8"}
    for match in _COMMANDS.finditer(text):
        printed = typed_in(place, env, match[1], match[2]).replace(f"{tmp_path}/home", "/home")
        if os.environ.get("UPDATE_GOLDEN"):
            text = text.replace(match[0], f"<!-- commands -->\n```text\n$ antiphon {match[1]}\n{printed}```")
        else:
            assert printed == match[2]
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(text, encoding="utf-8")


def typed_in(place: Path, env: dict[str, str], command: str, shown: str) -> str:
    with Terminal(*shlex.split(command), env=env, cwd=place) as terminal:
        _, asked, answer = shown.partition(_TYPED)
        if asked:
            terminal.expect(_TYPED)
            terminal.send(answer.partition("\n")[0] + "\n")
        terminal.ends()
        return terminal.seen


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_four_apis_are_what_the_page_of_examples_shows(capsys: pytest.CaptureFixture[str]):
    names: dict[str, Any] = {"__name__": "demo"}
    path = ROOT / "examples" / "four_apis.py"
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    names["main"]()
    shown = capsys.readouterr().out.split("\n\n4 requests")[0].strip()
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert shown in page
