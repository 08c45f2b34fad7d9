"""Every program of the documentation runs and prints what stands below it, and every generated table is up to date.

A block of `vibe` must check and run; under `<!-- checked -->` it must check, under `<!-- fails -->` be refused or fail.
What is printed (and the error) stands in the block of `text` that follows; a block of `text` under `<!-- sent -->` is
all that the last request said. Comments above a block: `<!-- answers: [...] -->`, what models and people say, as
`answers` takes it; `<!-- inputs: {...} -->`, values of variables; `<!-- file: lib.vibe -->`, a file for the programs
further down the page. With UPDATE_GOLDEN set, outputs and tables are written instead of compared.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import antiphon
from antiphon.cli import cli
from antiphon.fakes import Fake
from antiphon.lang.runtime.modules import ModuleLoader
from antiphon.lang.runtime.program import Program
from antiphon.lang.runtime.python_interop import SYSTEM_TOOLS, TOOL_BUNDLES
from antiphon.lang.runtime.system import SYSTEM_MODULES, load_system_functions
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck.codes import list_codes
from antiphon.lang.typecheck.methods import (
    ARRAY_METHODS,
    BUILTIN_VALUES,
    BUILTINS,
    MAP_METHODS,
    NUMBER_METHODS,
    OBJECT_METHODS,
    TEXT_METHODS,
    BuiltinSignature,
    MethodSignature,
)
from antiphon.lang.typecheck.model_settings import MODEL_SETTINGS
from antiphon.lang.typecheck.type_printer import format_type
from antiphon.lang.typecheck.types import NULL
from tests.lang_unit.harness import Ran, ran, step

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_NOTE = re.compile(r"<!-- (\w+)(?:: (.*?))? -->", re.DOTALL)
_BLOCK = re.compile(
    r"(?P<notes>(?:^<!-- (?:answers|inputs|file|checked|fails|source).*? -->\n)*)"
    r"^```(?P<language>vibe|python|csv)\n(?P<code>.*?)^```\n"
    # What begins with a `$` are commands, which are tested with the others.
    r"(?:\n```text\n(?!\$ )(?P<output>.*?)^```\n)?"
    r"(?:\n(?:[^`\n]+\n\n)?<!-- sent -->\n```text\n(?P<sent>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_TABLE = re.compile(r"^<!-- generated: ([\w ]+) -->\n(.*?)^<!-- end -->\n", re.MULTILINE | re.DOTALL)


@dataclass
class Example:
    """A program of a page, and what is written around it."""

    page: Path
    line: int
    whole: str
    code: str
    notes: dict[str, str]
    output: str | None
    sent: str | None
    #: The files that the page has shown up to here.
    files: dict[str, str] = field(default_factory=dict)


@cache
def _examples(page: Path) -> list[Example]:
    text = page.read_text(encoding="utf-8")
    files: dict[str, str] = {}
    found: list[Example] = []
    for match in _BLOCK.finditer(text):
        notes = dict(_NOTE.findall(match["notes"]))
        if "file" in notes:
            files[notes["file"]] = match["code"]
        if match["language"] == "vibe" and "source" not in notes:
            line = text.count("\n", 0, match.start("code")) + 1
            found.append(
                Example(page, line, match[0], match["code"], notes, match["output"],
                        match["sent"], dict(files))
            )  # fmt: skip
    return found


def _every_example() -> Iterator[Any]:
    for page in PAGES:
        for each in _examples(page):
            yield pytest.param(each, id=f"{page.stem}:{each.line}")


@pytest.mark.parametrize("example", list(_every_example()))
def test_a_program_of_the_documentation_does_what_is_written_below_it(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for name, text in example.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    name = tmp_path / example.notes.get("file", "program.vibe")
    modules = ModuleLoader()
    main = modules.add(Source(str(name), example.code))
    wrong = [each.render(source) for source, each in modules.list_problems() if each.severity == "error"]
    if wrong:
        assert "fails" in example.notes, "\n".join(wrong)
        _compare(example, _here("\n".join(wrong), tmp_path), None)
        return
    assert [each.code for each in main.diagnostics] == [], "there are warnings"
    if "checked" not in example.notes:
        _run(example, Program(modules, main), tmp_path)


def _run(example: Example, program: Program, place: Path) -> None:
    answers = json.loads(example.notes.get("answers", "[]"))
    run = ran(program, *answers, inputs=json.loads(example.notes.get("inputs", "{}")))
    printed = list(run.prints)
    if "fails" in example.notes:
        printed.append(_here(run.error.render(), place))
    elif run.outcome.error is not None:
        pytest.fail(run.outcome.error.render())
    assert _asked(run) == len(answers), "there are answers that nobody asked for"
    _compare(example, "\n".join(printed), run.prompts[-1] if run.prompts else None)
    _run_tests(example, place)


def _with_default_model() -> Iterator[Any]:
    """The programs that ask a model and name none but the default one, and no person."""
    for page in PAGES:
        for each in _examples(page):
            names = set(re.findall(r'name: "([^"]*)"', each.code)) | set(re.findall(r'provider: "([^"]*)"', each.code))
            is_told = "fails" in each.notes or "checked" in each.notes or "human" in each.notes.get("answers", "")
            if "answers" in each.notes and names <= {"default"} and not is_told:
                yield pytest.param(each, id=f"{page.stem}:{each.line}")


@pytest.mark.parametrize("how", ["command", "python"])
@pytest.mark.parametrize("example", list(_with_default_model()))
def test_a_program_of_the_documentation_runs_from_the_command_and_from_python(
    example: Example, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    for name, text in {**example.files, "program.vibe": example.code}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    inputs = json.loads(example.notes.get("inputs", "{}"))
    with Fake([step(each) for each in json.loads(example.notes["answers"])]) as fake:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.base_url("anthropic"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        monkeypatch.setenv("ANTIPHON_MODEL", "anthropic/claude-sonnet-5")
        if how == "python":
            antiphon.load("program.vibe").run(**inputs)
            printed = capsys.readouterr().out
        else:
            given = [part for name, value in inputs.items() for part in ("--set", f"{name}={json.dumps(value)}")]
            result = CliRunner().invoke(cli, ["run", "program.vibe", "--yes", "--no-save", *given])
            assert result.exit_code == 0, result.output
            printed = result.stdout
    assert printed.rstrip("\n") == (example.output or "").rstrip("\n")


def _run_tests(example: Example, place: Path) -> None:
    """The `test` blocks of an example pass."""
    if "\ntest " not in example.code:
        return
    file = place / "program.test.vibe"
    file.write_text(example.code, encoding="utf-8")
    result = CliRunner().invoke(cli, ["test", str(file)])
    assert result.exit_code == 0, result.output


def _asked(run: Ran) -> int:
    return len(run.fake.requests) + len(run.questions)


def _here(text: str, place: Path) -> str:
    return text.replace(f"{place}{os.sep}", "")


def _compare(example: Example, output: str, sent: str | None) -> None:
    output, sent = output.rstrip("\n"), sent.rstrip("\n") if sent else sent
    if os.environ.get("UPDATE_GOLDEN"):
        _write(example, output, sent)
        return
    if example.output is not None:
        assert output == example.output.rstrip("\n")
    else:
        assert output == "", "what it prints is not shown"
    if example.sent is not None:
        assert sent == example.sent.rstrip("\n")


def _write(example: Example, output: str, sent: str | None) -> None:
    new = example.whole
    if example.output is None and output:
        head, fence, rest = new.partition(f"{example.code}```\n")
        new = f"{head}{fence}\n```text\n```\n{rest}"
    new = re.sub(r"(\n\n```text\n).*?(^```\n)", lambda m: f"{m[1]}{output}\n{m[2]}", new, count=1, flags=re.M | re.S)
    new = re.sub(r"(<!-- sent -->\n```text\n).*?(^```\n)", lambda m: f"{m[1]}{sent}\n{m[2]}", new, flags=re.M | re.S)
    text = example.page.read_text(encoding="utf-8")
    example.page.write_text(text.replace(example.whole, new, 1), encoding="utf-8")


# Tables


def _method_rows(methods: dict[str, MethodSignature]) -> Iterator[str]:
    yield from ("| method | returns | meaning |", "|---|---|---|")
    for name, each in methods.items():
        doc = each.doc
        yield f"| `{name}({_parameters(each)})` | {_type(each.returns)} | {doc} |"


def _builtin_rows() -> Iterator[str]:
    yield from ("| function | returns | meaning |", "|---|---|---|")
    for name, each in BUILTINS.items():
        doc = f"{each.doc}{' In `test` blocks only.' if each.in_tests else ''}"
        yield f"| `{name}({_parameters(each)})` | {_type(each.returns)} | {doc} |"
    for name, type_ in BUILTIN_VALUES.items():
        yield f"| `{name}` | `{format_type(type_)}` | What stands after `--` on the command line. |"


def _parameters(each: MethodSignature | BuiltinSignature) -> str:
    parts = [f"{name}{'?' * (at >= each.required)}" for at, name in enumerate(each.parameters)]
    if isinstance(each, BuiltinSignature) and each.variadic:
        parts[-1] = f"{parts[-1].removesuffix('?')}, …"
    return ", ".join(parts)


def _type(name: str) -> str:
    written = name.replace("|", "\\|")
    return {"self": "the same type", "T": "`T`", "null": ""}.get(name, f"`{written}`")


def _setting_rows() -> Iterator[str]:
    yield from ("| setting | type | meaning |", "|---|---|---|")
    for name, each in MODEL_SETTINGS.items():
        type_ = "tools" if name == "tools" else f"`{format_type(each.type)}`".replace(" | ", "`, `")
        yield f"| `{name}` | {type_} | {each.doc} |"


def _tool_rows() -> Iterator[str]:
    from antiphon.tools.builtin import all_tools

    tools = {tool.name: tool.spec for tool in all_tools()}
    yield from ("| tool | meaning |", "|---|---|")
    for name, inner in SYSTEM_TOOLS.items():
        parameters = ", ".join(tools[inner].parameters.get("properties", {}))
        yield f"| `{name}({parameters})` | {tools[inner].description.splitlines()[0]} |"
    yield (
        f"| {', '.join(f'`{each}`' for each in TOOL_BUNDLES)} | Arrays of tools: those that only"
        f" read, and all of them. |"
    )


def _code_rows() -> Iterator[str]:
    yield from ("| code | meaning |", "|---|---|")
    for code, title in list_codes().items():
        yield f"| `{code}` | {title} |"


TABLES = {
    "text methods": lambda: _method_rows(TEXT_METHODS),
    "number methods": lambda: _method_rows(NUMBER_METHODS),
    "array methods": lambda: _method_rows(ARRAY_METHODS),
    "map methods": lambda: _method_rows(MAP_METHODS),
    "object methods": lambda: _method_rows(OBJECT_METHODS),
    "builtins": _builtin_rows,
    "model settings": _setting_rows,
    "system tools": _tool_rows,
    "codes": _code_rows,
}


def _system_rows(module: str) -> Iterator[str]:
    yield from (f'| from `"system/{module}"` | returns | meaning |', "|---|---|---|")
    for name, each in load_system_functions(module).items():
        last = len(each.parameters) - each.optional
        given = ", ".join(f"{one}{'?' * (at >= last)}" for at, one in enumerate(each.parameters))
        returns = "" if each.returns == NULL else f"`{format_type(each.returns)}`".replace(" | ", "` or `")
        yield f"| `{name}({given})` | {returns} | {each.doc} |"


TABLES |= {f"system {each}": partial(_system_rows, each) for each in SYSTEM_MODULES}


@pytest.mark.parametrize("name", TABLES)
def test_a_generated_table_is_up_to_date(name: str):
    is_data = name.removeprefix("system ") in SYSTEM_MODULES
    page = ROOT / "docs" / "language" / ("data.md" if is_data else "reference.md")
    text = page.read_text(encoding="utf-8")
    (old,) = (match for match in _TABLE.finditer(text) if match[1] == name)
    new = "".join(f"{row}\n" for row in TABLES[name]())
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(text[: old.start(2)] + new + text[old.end(2) :], encoding="utf-8")
    else:
        assert old[2] == new
