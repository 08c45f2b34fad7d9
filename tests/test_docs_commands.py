"""Every command of the README and the guides is typed into a terminal, and prints what is shown.

The commands of a page run one after the other, in a git repository `/home/me/work` with the files that the page shows;
models say what is noted above them (see `tests/pages.py`). Names of runs, times, durations and ports are any, and `…`
stands for whatever there is. With UPDATE_GOLDEN set, what they print is written instead of compared.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antiphon.cli.scripted_models import list_offered_tools, make_scripted_step
from antiphon.fakes import Fake, Received, Step
from tests.pages import PAGES, ROOT, Block, blocks
from tests.shell import STOP, Shell

#: Team and scale have tests of their own: they need roles that are played, and a database.
_PAGES = [page for page in PAGES if page.name not in ("team.md", "scale.md")]
_WITH_COMMANDS = [page for page in _PAGES if any(block.way == "commands" for block in blocks(page))]
_PROMPT = re.compile(
    r"^(.*(?:\[y\]es, \[n\]o(?:, \[a\]lways \([^)]*\))?:|›)|vibe>|\.\.\.|>|.*Ctrl-C stops\.)(?: (.*))?$",
    re.MULTILINE,
)
_ID = re.compile(r"\b3[0-9a-z]{7}\b")
_ANY = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "2026-11-17 09:30"),
    (re.compile(r"\b\d+(\.\d+)? ?m?s\b"), "1ms"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "8765"),
)


@pytest.fixture(scope="module")
def shell() -> Shell:
    return Shell()


@pytest.mark.parametrize("page", _WITH_COMMANDS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_print_what_it_shows(page: Path, shell: Shell, tmp_path: Path):
    place = Place(page, tmp_path)
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if "file" in block.notes:
            place.write({block.notes["file"]: block.body})
        elif block.way == "source":
            new = (ROOT / block.notes["source"]).read_text(encoding="utf-8")
            if os.environ.get("UPDATE_GOLDEN"):
                whole = f"{block.notes['source']} -->\n```{block.language}\n"
                text = text.replace(f"{whole}{block.body}", f"{whole}{new}")
            else:
                assert block.body == new, block.name
        elif block.way == "commands":
            new = place.run(block, shell)
            if os.environ.get("UPDATE_GOLDEN"):
                text = text.replace(f"\n{block.body}", f"\n{new}", 1)
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(text, encoding="utf-8")


class Place:
    """Where the commands of a page run, and the names that it has for what is there."""

    def __init__(self, page: Path, tmp_path: Path) -> None:
        self.root = tmp_path
        self.home = tmp_path / "home" / "me"
        self.directory = self.home / "work"
        self.directory.mkdir(parents=True)
        #: What the page calls a run or a conversation, and what it is called here.
        self._known: dict[str, str] = {}
        if re.search("examples/|make demo", page.read_text(encoding="utf-8")):
            self._check_out()
        git = ("git", "-c", "user.name=Me", "-c", "user.email=me@example.com")
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Begin", "--allow-empty")):
            subprocess.run([*git, *words], cwd=self.directory, check=True)

    def _check_out(self) -> None:
        """The examples, and what `make` needs to know what it would do."""
        shutil.copytree(ROOT / "examples", self.directory / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(ROOT / name, self.directory)

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            file = self.directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            encoded = text.removeprefix("base64:")
            file.write_bytes(text.encode() if encoded == text else base64.b64decode(encoded))

    def run(self, block: Block, shell: Shell) -> str:
        """Type the lines of a block; gives what it should be."""
        there = self.directory
        written = ""
        self.write(block.note("files", {}))
        with _models(block) as variables:
            variables = self._variables() | variables
            for line in block.note("setup", []):
                assert shell.type(line, there, variables)[0] == 0, line
            for line, shown in _lines(block):
                written += f"{'$ ' * (block.language == 'text')}{line}\n"
                words = _ID.sub(lambda found: self._known.get(found[0], found[0]), line)
                if words.startswith("cd "):
                    there = there / words.removeprefix("cd ")
                    continue
                code, seen = shell.type(_on_any_port(words), there, variables, _typed(block, shown))
                block.notes.pop("typed", None)
                seen = self._as_on_the_page(seen)
                if block.language == "sh":
                    assert code == 0, f"{block.name}: {line}\n{seen}"
                elif os.environ.get("UPDATE_GOLDEN") and not _is_shown(shown, seen):
                    written += seen
                else:
                    assert _is_shown(shown, seen), f"{block.name}: {line}\n--- shown\n{shown}\n--- seen\n{seen}"
                    written += shown
        return block.body if block.language == "sh" else written

    def _variables(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            # Nothing is fetched.
            "HF_HUB_OFFLINE": "1",
            "PIP_NO_INDEX": "1",
        }

    def _as_on_the_page(self, text: str) -> str:
        for found in _ID.findall(text):
            if found not in self._known.values():
                self._known[f"3azf{len(self._known) + 1:04}"] = found
        for shown, real in self._known.items():
            text = text.replace(real, shown)
        return text.replace(f"{self.root}/home", "/home")


@contextmanager
def _models(block: Block) -> Iterator[dict[str, str]]:
    """The variables with which the models say what is noted, and none is left unsaid."""
    variables: dict[str, str] = block.note("variables", {})
    if "answers" not in block.notes:
        yield variables
        return
    answers = block.note("answers", [])
    with Fake([_step(answer) for answer in answers]) as fake:
        yield {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": fake.base_url("anthropic")} | variables
        assert len(fake.requests) == len(answers), (
            f"{block.name}: {len(fake.requests)} of {len(answers)} were asked for"
        )


def _step(answer: object) -> Step:
    def step(received: Received) -> Step:
        return make_scripted_step(answer, list_offered_tools(received.body))

    return step


def _on_any_port(line: str) -> str:
    """The port that a page names may be taken here."""
    return f"{line} --port 0" if line.startswith(("antiphon fake", "antiphon serve")) and "users" not in line else line


def _lines(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with what is shown below it."""
    if block.language == "sh":
        for line in block.body.splitlines():
            yield line, ""
        return
    for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown


def _typed(block: Block, shown: str) -> list[tuple[str, str]]:
    """What somebody types at the prompts that are shown, and where it is not seen."""
    # A prompt that is nothing but a mark begins a line.
    known = [("\n> " if found[1] == ">" else found[1], found[2] or "") for found in _PROMPT.finditer(shown)]
    return [(prompt, _keys(prompt, text)) for prompt, text in [*block.note("typed", []), *known]]


def _keys(prompt: str, text: str) -> str:
    """What is typed; where nothing is shown behind a prompt, Ctrl-D leaves."""
    if prompt.endswith("Ctrl-C stops."):
        return STOP
    return f"{text}\n" if text else "\x04"


def _as_any_length(line: str) -> str:
    """A card is cut where its duration leaves off, and that has any length."""
    return re.sub(r".{8}…", "…", line) if re.match(r" *[✓✗] ", line) else line


def _in_any_order(text: str) -> str:
    """Those who work side by side are done in any order."""
    return re.sub(r"(?:^✓ .*\n)+", lambda found: "".join(sorted(found[0].splitlines(True))), text, flags=re.MULTILINE)


def _is_shown(shown: str, seen: str) -> bool:
    for pattern, text in _ANY:
        shown, seen = pattern.sub(text, shown), pattern.sub(text, seen)
    shown = "\n".join(_as_any_length(line.rstrip()) for line in shown.splitlines()).rstrip("\n")
    shown, seen = _in_any_order(shown), _in_any_order(seen)
    # Of a server, what it says of the one who waited for it.
    seen = re.sub(r"^(\^C)?INFO: .*\n?", "", seen, flags=re.MULTILINE)
    seen = seen.rstrip("\n").removesuffix("^C").rstrip("\n")
    wanted = re.escape(shown).replace("…", ".*")
    return re.fullmatch(wanted, seen, re.DOTALL) is not None
