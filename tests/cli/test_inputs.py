"""The inputs of a program as flags of `antiphon run`: typed, told, completed, kept with the run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from mcp import StdioServerParameters
from mcp.client import Client

from antiphon.cli import cli
from antiphon.durable import Journal
from tests import forks
from tests.lang_unit.commands import antiphon

WEATHER = """// Tells the weather.
//
// Of some days.
input city: text "which city"
input days: number = 3 "how far ahead"
input max_wind: number | null "in m/s"
input level: "low" | "high" = "low"
input loud: boolean = false "shouts"
input tags: text[] = []
input sizes: number[][] = []
input model: text = "none" "not the option of the command"
print(city, days, max_wind, level, loud, tags, sizes, model, args)
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("weather.vibe").write_text(WEATHER)


@pytest.mark.parametrize(
    "flags", ["--urgent-only --max-age 3", "--urgentOnly --maxAge 3", "--no-urgent-only --max-age=3"]
)
def test_a_name_of_several_words_is_a_flag_with_dashes(flags: str):
    Path("triage.vibe").write_text(
        "input urgentOnly: boolean = false\ninput maxAge: number\nprint(urgentOnly, maxAge)\n"
    )
    ran = antiphon("run", "triage.vibe", *flags.split())
    assert (ran.code, ran.out) == (0, f"{'false' if '--no' in flags else 'true'} 3\n")


@pytest.mark.parametrize(
    ("flags", "printed"),
    [
        ("--city Oslo", 'Oslo 3 null low false [] [] none []'),
        ("--city=Oslo --days=5", 'Oslo 5 null low false [] [] none []'),
        ("--city= --days -5", ' -5 null low false [] [] none []'),
        ("--city a=b --max-wind 2.5", 'a=b 3 2.5 low false [] [] none []'),
        ("--city x --max_wind 2", 'x 3 2 low false [] [] none []'),
        ("--city --json --level high", '--json 3 null high false [] [] none []'),
        ("--city x --loud", 'x 3 null low true [] [] none []'),
        ("--loud --city x --no-loud=false", None),
        ("--city x --no-loud", 'x 3 null low false [] [] none []'),
        ("--city x --loud=true", 'x 3 null low true [] [] none []'),
        ("--city x --loud false", 'x 3 null low false [] [] none []'),
        ("--loud true --city x", 'x 3 null low true [] [] none []'),
        ("--city x --tags a --tags b,c", 'x 3 null low false ["a","b,c"] [] none []'),
        ("--city x --tags a", 'x 3 null low false ["a"] [] none []'),
        ('--city x --tags ["a","b"]', 'x 3 null low false ["a","b"] [] none []'),
        ("--city x --sizes [1] --sizes [2,3]", 'x 3 null low false [] [[1],[2,3]] none []'),
        ("--city x --sizes [[1]]", 'x 3 null low false [] [[1]] none []'),
        ("--city x --model big", 'x 3 null low false [] [] big []'),
        ("--city x --max-turns 3 -- --days 9", 'x 3 null low false [] [] none ["--days","9"]'),
        ("--set city=Oslo --set days=4", 'Oslo 4 null low false [] [] none []'),
    ],
)  # fmt: skip
def test_flags_are_read_as_the_types_of_the_inputs(flags: str, printed: str | None):
    ran = antiphon("run", "weather.vibe", *flags.split(" "))
    if printed is None:
        assert ran.code == 2
        return
    assert (ran.code, ran.out.rstrip("\n"), ran.err) == (0, printed, "")


@pytest.mark.parametrize(
    ("flags", "printed"),
    [
        ("", "null 5"),
        ("--dry --max-url-len 2", "true 2"),
        ("--no-dry", "false 5"),
        ("--dry false", "false 5"),
    ],
)
def test_a_boolean_that_may_be_null_is_a_flag_too(flags: str, printed: str):
    Path("p.vibe").write_text("input dry: boolean | null\ninput maxURLLen: number = 5\nprint(dry, maxURLLen)\n")
    ran = antiphon("run", "p.vibe", *flags.split())
    assert (ran.code, ran.out) == (0, f"{printed}\n")


def test_help_says_what_declared_types_stand_for():
    program = 'type Level = "low" | "high"\ntype P { name: text | null }\ninput p: P\ninput level: Level = "low"\n'
    shown = " ".join(antiphon("run", _written("p.vibe", program), "--help").out.split())
    assert '--p { name: text | null } [required] --level "low" | "high" [default: "low"]' in shown


def test_options_before_the_file_are_the_commands_own():
    ran = antiphon("run", "--model", "openai/gpt-5", "--json", "weather.vibe", "--city", "x", "--model", "y")
    assert json.loads(ran.out)["variables"]["model"] == "y"
    ran = antiphon("run", "--city", "Oslo", "weather.vibe")
    assert (ran.code, "No such option" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--days 3", ["`city` is not given (text: which city)", "antiphon run weather.vibe --city …"]),
        ("--days five --level LOW", ["`city` is not given", '`days`: expected number, found "five"', '"low" | "high"']),
        ("--citty Oslo", ["No such option: --citty", "Did you mean '--city'?", "--days"]),
        ("--city Oslo --jsno", ["No such option: --jsno", "'--json'"]),
        ("--city", ["'--city' requires an argument"]),
        ("--city a --city b", ["`--city` takes one value, but is given 2 times"]),
        ("--city x --tags [1]", ["`tags[0]`: expected text, found number 1"]),
        ("--city x --sizes a", ["`sizes[0]`: expected number[] as JSON, found \"a\""]),
        ("--city x --no-days", ["No such option: --no-days"]),
        ("--city New York", ["`York` belongs to no flag", "quote a value", "after `--`"]),
        ("--city x --loud yes", ["`yes` belongs to no flag", "`--loud` for true, and `--no-loud` for false"]),
        ("Oslo", ["`Oslo` belongs to no flag"]),
        ("--set town=x --city y", ["there is no input `town`"]),
        ("--set days --city y", ["NAME=VALUE"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before_anything_runs(flags: str, said: list[str]):
    ran = antiphon("run", "weather.vibe", *flags.split(" "))
    assert (ran.code, ran.out) == (2, "")
    assert [each for each in said if each not in ran.err] == []
    assert antiphon("list").code == 1


def test_what_is_wrong_is_data_too():
    ran = antiphon("run", "weather.vibe", "--json", "--days", "x")
    report = json.loads(ran.out)
    assert (ran.code, report["outcome"], report["diagnostics"][0]["code"]) == (2, "invalid", "V0925")


def test_help_tells_of_the_command_and_below_it_of_the_program():
    shown = antiphon("run", "weather.vibe", "--help").out
    head, _, own = shown.partition("The program weather.vibe:")
    assert "--max-turns" in head
    assert "Tells the weather." in own
    for line in (
        "--city text             which city  [required]",
        "--days number           how far ahead  [default: 3]",
        "--max-wind number | null  in m/s",
        '--level "low" | "high"  [default: "low"]',
        "--loud / --no-loud      shouts  [default: false]",
    ):
        assert " ".join(line.split()) in " ".join(own.split())
    assert "It declares no inputs" in antiphon("run", "--help", _written("p.vibe", "print(1)")).out
    assert "The program" not in antiphon("run", "--help").out
    assert "cannot read" in antiphon("run", "gone.vibe", "--city", "x").err


def _written(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_a_program_through_a_pipe_has_flags_too():
    ran = antiphon("run", "-", "--n", "4", input="input n: number\nprint(n + 1)\n")
    assert (ran.code, ran.out) == (0, "5\n")


def test_flags_are_completed():
    def completed(*words: str) -> list[str]:
        environment = {
            "_ANTIPHON_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("antiphon", *words)),
            "COMP_CWORD": str(len(words)),
        }  # fmt: skip
        done = forks.run(env=os.environ | environment, text=True)
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("run", "weather.vibe", "--ci") == ["--city"]
    assert completed("run", "weather.vibe", "--city", "x", "--ma")[0] == "--max-wind"
    assert completed("run", "weather.vibe", "--level", "") == ["low", "high"]
    assert completed("run", "weather.vibe", "--level", "h") == ["high"]


@pytest.mark.parametrize(
    "words", ["run w", "check w", "fmt w", "test w", "map w", "map weather.vibe w", "mcp w", "repl w"]
)
def test_files_are_completed(words: str):
    given = words.split()
    found = ShellComplete(cli, {}, "antiphon", "_ANTIPHON_COMPLETE").get_completions(given[:-1], given[-1])
    assert [(each.type, each.value) for each in found] == [("file", "w")]


def test_what_was_given_is_kept_with_the_run_and_used_again():
    Path("ask.vibe").write_text('input n: number\nprivate input key: text = ""\nconst a = ask "Go?"\nprint(n + 1, a)\n')
    assert antiphon("run", "ask.vibe", "--n", "4", "--key", "hush-hush").code == 3
    journal = Journal()
    (entry,) = [each for each in journal.list_runs() if each.kind == "program"]
    assert entry.begun_as["inputs"] == {"n": 4, "key": "hush-hush"}
    journal.close()
    kept = b"".join(each.read_bytes() for each in Path("..").glob("logs.db*"))
    assert b"ask.vibe" in kept
    assert b"hush-hush" not in kept
    assert antiphon("answer", "last", "yes").code == 0
    assert antiphon("resume", "last").out.endswith("5 yes\n")
    assert antiphon("resume", "--fork", "last", "--at", "1", "--answer", "no").out.endswith("5 no\n")


# `antiphon mcp FILE`

SERVED = """// Adds up.
type Sum { total: number, parts?: number[] }
input numbers: number[] "what to add"
input name: text | null
private input key: text = ""
returns Sum
print("this is not JSON")
const noise = py() { print("nor is this") }
let total = 0
for each in numbers { total += each }
if total < 0 { throw "too little" }
if total == 99 { const who = ask "Really?" }
return { total: total, parts: numbers }
"""


def test_a_program_is_a_tool_of_any_mcp_client():
    Path("add-up.vibe").write_text(SERVED)
    Path("words.vibe").write_text('input n: number = 1\nreturns text[]\nconst out: text[] = ["a"]\nout\n')
    Path("loud.vibe").write_text('print("one")\nprint("two")\n')

    async def main() -> Any:
        async with Client(_server("add-up.vibe")) as client:
            (tool,) = (await client.list_tools()).tools
            calls = ({"numbers": [1, 2]}, {"numbers": ["1"], "nmae": "x"}, {"numbers": [-1]}, {"numbers": [99]})
            first = tool, [await client.call_tool("add-up", given) for given in calls]
        async with Client(_server("words.vibe")) as client:
            second = (await client.list_tools()).tools[0], await client.call_tool("words", {})
        async with Client(_server("loud.vibe")) as client:
            return first, second, await client.call_tool("loud", {})

    (tool, (done, wrong, failed, waits)), (words, listed), loud = asyncio.run(main())
    assert (tool.name, tool.description) == ("add-up", "Adds up.")
    assert tool.input_schema["required"] == ["numbers"]
    assert tool.input_schema["properties"]["numbers"]["description"] == "what to add"
    assert tool.output_schema["properties"]["total"] == {"type": "number"}
    assert (done.is_error, done.structured_content) == (False, {"total": 3, "parts": [1, 2]})
    assert json.loads(done.content[0].text) == done.structured_content
    assert wrong.is_error
    assert '`numbers[0]`: expected number, found text "1"' in wrong.content[0].text
    assert "did you mean `name`?" in wrong.content[0].text
    assert (failed.is_error, "too little" in failed.content[0].text) == (True, True)
    assert (waits.is_error, "antiphon show" in waits.content[0].text) == (True, True)
    assert words.output_schema["properties"]["value"]["type"] == "array"
    assert listed.structured_content == {"value": ["a"]}
    assert loud.content[0].text == "one\ntwo"
    journal = Journal()
    assert sorted(each.state for each in journal.list_runs() if each.kind == "program")[-1] == "waiting"
    journal.close()


def _server(file: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", "antiphon", "mcp", file], env=dict(os.environ))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("weather.vibe", "--all"), "built-in tools"),
        (("--yes",), "antiphon mcp FILE"),
        (("gone.vibe",), "cannot read"),
    ],
)
def test_what_does_not_belong_together_is_told(arguments: tuple[str, ...], said: str):
    ran = antiphon("mcp", *arguments)
    assert (ran.code, said in ran.err) == (2, True)
