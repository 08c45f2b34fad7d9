"""The `system/…` modules: data for programs, each function an effect that is done once, and confined if not trusted."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.durable import Journal
from antiphon.effects import Playback, Recording
from antiphon.lang.capabilities import describe_capabilities
from antiphon.lang.runtime.program import Host, loads
from antiphon.lang.runtime.system import SYSTEM_MODULES, load_system_functions
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.source import Source
from tests.lang_unit.harness import Ran, ran

FILES = f'import {{ {", ".join(load_system_functions("files"))} }} from "system/files"\n'
DATA = 'import { parseCsv, toCsv, parseJsonLines, toJsonLines, parseYaml, toYaml, parseToml } from "system/data"\n'
PROCESS = 'import { run } from "system/process"\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(program: str, **host: Any) -> list[str]:
    run = ran(program, **host)
    assert run.outcome.error is None, run.outcome.error.render()
    return run.prints


def failed(program: str, **host: Any) -> tuple[str, str]:
    error = ran(program, **host).error
    return error.code, error.message


def journaled(program: str, run: str, path: Path) -> Ran:
    """Run a program, or go on with it, in a journal."""
    journal = Journal(path)
    with journal.run(run):
        return ran(program)


# Files


def test_a_file_is_read_whole_and_exact(here: Path):
    rows = "".join(f"{number},x\r\n" for number in range(20_000))
    (here / "a.csv").write_bytes(rows.encode())
    (here / "empty").touch()
    assert printed(f'{FILES}print(readText("a.csv").length, readLines("a.csv").length, readLines("a.csv")[-1])') == [
        f"{len(rows)} 20000 19999,x"
    ]
    assert printed(f'{FILES}print("[" + readText("empty") + "]", readLines("empty"), readBytes("empty"))') == [
        "[] [] []"
    ]


WRITING = loads(f'{FILES}input said: text\nwriteText("a/b.txt", said)\nreadText("a/b.txt")')


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_written_is_what_is_read(text: str):
    assert WRITING.attempt(Host(), inputs={"said": text}).value == text
    assert Path("a/b.txt").read_bytes() == text.encode()


def test_a_file_may_be_in_another_encoding(here: Path):
    (here / "old.txt").write_bytes(b"caf\xe9\n")
    assert printed(f'{FILES}print(readText("old.txt", "latin-1").trim(), readBytes("old.txt"))') == [
        "café [99,97,102,233,10]"
    ]
    assert failed(f'{FILES}readText("old.txt")') == ("V0941", "`old.txt` is not UTF-8: byte 3, in line 1")
    assert failed(f'{FILES}readText("old.txt", "latin1000")')[0] == "V0941"


def test_files_are_copied_moved_listed_and_removed():
    assert printed(
        f"""{FILES}
        writeText("d/a", "1")
        appendText("d/a", "2")
        copy("d/a", "d/b")
        move("d/a", "e/c")
        print(list("d"), list("e"), readText("d/b"), readText("e/c"), exists("d/a"), exists("d"))
        remove("d/b")
        remove("d")
        print(list())
        """
    ) == ['["b"] ["c"] 12 12 false true', '["e"]']


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('readText("notes.tx")', "there is no file `notes.tx`"),
        ('readText("d")', "`d` is a directory, not a file"),
        ('list("notes.txt")', "`notes.txt` is not a directory, or contains a part that is not one"),
        ('copy("none", "d")', "there is no file `none`"),
        ('move("none", "x/y")', "there is no file `none`"),
        ('remove("none")', "there is no file `none`"),
        ('writeText("notes.txt/x", "")', "`notes.txt` is there already"),
        ('copy("notes.txt", "./notes.txt")', "`notes.txt` and `./notes.txt` are the same file"),
        ('readText("a\\u{0}b")', "'a\\x00b' can be the name of no file"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_and_can_be_caught(here: Path, call: str, said: str):
    (here / "notes.txt").write_text("hi")
    (here / "d").mkdir()
    assert printed(f"{FILES}try {{ {call} }} catch e {{ print(e.code, e.message) }}") == [f"V0940 {said}"]
    assert (here / "notes.txt").read_text() == "hi"
    assert not (here / "x").exists()


def test_a_directory_that_is_not_empty_is_kept(here: Path):
    (here / "d").mkdir()
    (here / "d" / "a").touch()
    assert failed(f'{FILES}remove("d")')[0] == "V0940"
    assert (here / "d" / "a").exists()


# Processes


def test_a_process_gives_its_outputs_and_its_code():
    assert printed(f'{PROCESS}const r = run("echo out; echo err >&2; exit 3")\nprint(r, r.code + 1)') == [
        '{"stdout":"out\\n","stderr":"err\\n","code":3} 4'
    ]
    assert printed(f'{PROCESS}print(run(["printf", "%s|", "a b", "$HOME"]).stdout)') == ["a b|$HOME|"]
    options = '{ input: "in", cwd: "/", env: { WHO: "me" } }'
    assert printed(f'{PROCESS}print(run("cat; pwd; echo $WHO", {options}).stdout)') == ["in/\nme\n"]


def test_a_process_that_cannot_run_is_an_error():
    assert failed(f'{PROCESS}run(["ls -l"])') == ("V0942", "there is no program `ls -l`")
    assert failed(f'{PROCESS}run("sleep 9", {{ timeout: 0.05 }})') == (
        "V0942",
        "`sleep 9` was ended after 0.05 seconds",
    )
    assert failed(f'{PROCESS}run("ls", {{ cwd: "nowhere" }})') == ("V0942", "there is no directory `nowhere`")
    assert failed(f'{PROCESS}run("printf \\"\\\\377\\"")')[0] == "V0941"
    assert failed(f"{PROCESS}run([])") == ("V0942", "the command is empty")
    assert failed(f'{PROCESS}run("cat", {{ input: "é", encoding: "ascii" }})')[0] == "V0941"


def test_what_a_process_began_is_ended_with_it(here: Path):
    # Children that stay behind would write into the file.
    later = "(sleep 0.4; echo late >> late.txt) & sleep 9"
    for command in (json.dumps(later), json.dumps(["sh", "-c", later])):
        assert failed(f"{PROCESS}run({command}, {{ timeout: 0.1 }})")[0] == "V0942"
    time.sleep(0.6)
    assert not (here / "late.txt").exists()


def test_a_shell_that_says_no_text_is_an_error_and_no_other_text():
    tools = 'import { runShell } from "system/tools"\n'
    assert printed(tools + r"""print(runShell("printf 'caf\\303\\251'").stdout)""") == ["café"]
    assert "is not UTF-8: byte 3" in failed(tools + r"""runShell("printf 'caf\\351'")""")[1]


# Data


def test_a_csv_is_read_as_the_type_that_is_declared():
    program = f"""{DATA}
        type Sale {{ item: text, qty: number, paid: boolean, note?: text, size: number | null }}
        const sales: Sale[] = parseCsv("item,qty,paid,note,size,more\\n007,2.5,true,,,x\\n\\"a,\\nb\\",3,false,hm,4,y")
        print(sales)
        print(sales.sum(s => s.qty))
        function counts(text: text): {{ [text]: number }}[] {{ return parseCsv(text) }}
        print(counts("a,b\\n1,2"))
        const cells: text[][] = parseCsv("a;b\\n1;2", ";")
        print(cells)
        print(parseCsv("\\u{{feff}}a,b\\n1,2")[0].a, parseCsv(""))
    """
    assert printed(program) == [
        '[{"item":"007","qty":2.5,"paid":true,"size":null,"more":"x"},'
        '{"item":"a,\\nb","qty":3,"paid":false,"note":"hm","size":4,"more":"y"}]',
        "5.5",
        '[{"a":1,"b":2}]',
        '[["a","b"],["1","2"]]',
        "1 []",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,qty\na,1\nb,two", 'line 3 of the CSV: `qty`: expected number, found "two"'),
        ("item,qty\na,", 'line 2 of the CSV: `qty`: expected number, found ""'),
        ("item\na", "line 2 of the CSV: the field `qty` is missing"),
        ("item,qty\na,1,2", "line 2 of the CSV has 3 cells, and its first 2"),
        ("qty,qty\n1,1", 'the CSV has two columns named "qty"'),
        ('item,qty\n"a,1', "this is not CSV: line 2: unexpected end of data"),
    ],
)
def test_a_csv_that_does_not_fit_names_the_line(text: str, said: str):
    program = f"{DATA}input text: text\ntype Sale {{ item: text, qty: number }}\nconst s: Sale[] = parseCsv(text)"
    error = ran(program, inputs={"text": text}).error
    assert (error.code, error.message) == ("V0943", said)


def test_what_a_csv_cannot_be_is_refused_before_it_runs():
    with pytest.raises(ProgramErrors, match="expected `text`"):
        loads(f'{DATA}const t: text = parseCsv("a")\nprint(t)').attempt()


_CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


GOING_AROUND = loads(
    f"{DATA}input rows: json\nparseCsv(toCsv(rows)) == rows and parseJsonLines(toJsonLines(rows)) == rows"
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.fixed_dictionaries({"a": _CELLS, "b": _CELLS}), min_size=1, max_size=4))
def test_rows_go_around_through_csv_and_json_lines(rows: list[dict[str, str]]):
    assert GOING_AROUND.attempt(Host(), inputs={"rows": rows}).value is True


def test_rows_of_different_objects_are_written_under_all_their_names():
    assert printed(f"{DATA}print(toCsv([{{a: 1}}, {{b: [1], a: null}}]))") == ["a,b\n1,\n,[1]\n"]
    assert printed(f'{DATA}print(toCsv([["a", 1], [true]], ";"))') == ["a;1\ntrue\n"]
    assert failed(f"{DATA}toCsv([1])") == ("V0943", "the rows of a CSV are all objects, or all arrays")


def test_yaml_and_toml_are_values_of_the_language():
    assert printed(f'{DATA}print(parseToml("a = 1\\n[t]\\nd = 2026-01-02"))') == ['{"a":1,"t":{"d":"2026-01-02"}}']
    assert printed(f'{DATA}print(parseYaml("- 1\\n- {{2: x}}\\n- 2026-01-02"))') == ['[1,{"2":"x"},"2026-01-02"]']
    assert printed(f'{DATA}print(toYaml({{b: [1, null], a: "é"}}))') == ["b:\n- 1\n- null\na: é\n"]
    assert printed(f'{DATA}type T {{ a: number }}\nconst t: T = parseToml("a = 1")\nprint(t.a + 1)') == ["2"]
    assert failed(f'{DATA}parseToml("a =")')[0] == "V0943"
    assert failed(f'{DATA}parseYaml("a: [")')[0] == "V0943"
    assert failed(f'{DATA}parseJsonLines("1\\n{{")')[1].startswith("line 2 of the JSON lines: this is not JSON")
    typed = f'{DATA}const rows: {{ n: number }}[] = parseJsonLines(\'\\{{"n": 1\\}}\\n\\n\\{{"n": "x"\\}}\')'
    assert failed(typed) == ("V0943", 'line 3 of the JSON lines: `n`: expected number, found text "x"')
    code, message = failed(f'{DATA}type T {{ a: text }}\nconst t: T = parseToml("a = 1")')
    assert (code, message) == ("V0902", "`a`: expected text, found number 1")


# Effects


DOING = f"""{FILES}{PROCESS}
appendText("log", "x")
const n = run("echo run >> ran; wc -l < ran").stdout.trim()
print(readText("log"), n)
"""


def test_what_was_done_is_not_done_again(here: Path):
    first = journaled(DOING, "r", here / "j.db")
    (here / "log").write_text("changed")
    assert first.prints == ["x 1"]
    assert journaled(DOING, "r", here / "j.db").prints == first.prints
    assert (here / "log").read_text() == "changed"
    assert (here / "ran").read_text() == "run\n"


def test_errors_are_played_back_as_they_were(here: Path):
    program = f'{FILES}try {{ readText("a") }} catch e {{ print(e.code, e.message) }}'
    recording = Recording()
    first = ran(program, performers=(recording,)).prints
    (here / "a").touch()
    assert ran(program, performers=(Playback(recording.effects),)).prints == first == ["V0940 there is no file `a`"]


def test_nothing_private_is_written_down(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SERVICE_KEY", "hush-hush-4711")
    (here / "key").write_text("tell-nobody-0815")
    program = f"""{FILES}
        private const key = readText("key")
        writeText("out", env("SERVICE_KEY"))
        print(key.length, readText("out").length)
    """
    assert journaled(program, "r", here / "j.db").prints == ["16 14"]
    kept = b"".join(each.read_bytes() for each in here.glob("j.db*"))
    assert b"hush-hush" not in kept
    assert b"tell-nobody" not in kept


# Programs that are not trusted


def untrusted(program: str, here: Path, answer: str = "") -> Ran:
    own = here / "own"
    own.mkdir(exist_ok=True)
    (own / "data.txt").write_text("mine")
    (own / ".env").write_text("KEY=1")
    (here / "outside.txt").write_text("not yours")
    (own / "link").unlink(missing_ok=True)
    (own / "link").symlink_to("../outside.txt")
    answers = [{"human": answer}] if answer else []
    return ran(FILES + PROCESS + program, *answers, untrusted=True, directory=str(own))


def test_a_program_that_is_not_trusted_reads_its_own_directory(here: Path):
    program = 'print(readText("data.txt"), list(), exists("x"), exists("data.txt"))'
    assert untrusted(program, here).prints == ['mine [".env","data.txt","link"] false true']


@pytest.mark.parametrize(
    "call",
    [
        'readText("../outside.txt")',
        'readText("link")',
        'readBytes("/etc/passwd")',
        'readText(".env")',
        'list("..")',
        'exists("/etc/passwd")',
        'writeText("new.txt", "x")',
        'remove("data.txt")',
        'copy("data.txt", "other.txt")',
        'run("touch made")',
        'run(["touch", "made"])',
    ],
)
def test_it_reaches_nothing_else_unasked(here: Path, call: str):
    run = untrusted(call, here)
    assert run.outcome.error is not None
    assert run.error.code == "V0923", run.error.render()
    assert sorted(each.name for each in (here / "own").iterdir()) == [".env", "data.txt", "link"]


def test_it_changes_a_file_of_its_own_if_it_is_allowed(here: Path):
    run = untrusted('writeText("sub/new.txt", "x")\nprint(readText("sub/new.txt"))', here, "yes")
    assert (run.prints, run.questions) == (["x"], ["The program wants to write the file sub/new.txt. Allow it?"])
    assert untrusted('writeText("../new.txt", "x")', here, "yes").error.code == "V0923"
    assert untrusted('move("data.txt", "moved.txt")', here, "yes").outcome.error is None
    assert (here / "own" / "moved.txt").read_text() == "mine"
    (here / "own" / "sub").mkdir(exist_ok=True)
    assert untrusted('copy("data.txt", "sub")', here, "yes").outcome.error is None
    assert (here / "own" / "sub" / "data.txt").read_text() == "mine"
    assert untrusted('readText("sub")', here).error.message == "`sub` is a directory, not a file"
    assert not (here / "new.txt").exists()


def test_what_a_program_reaches_is_told_before_it_is_run():
    text = 'import { readText, writeText as w } from "system/files"\nimport { run } from "system/process"\n'
    assert describe_capabilities(Source("p.vibe", text)) == [
        "reads files of this machine",
        "writes, moves or removes files of this machine",
        "runs commands as it is written now (7ce771c0d2feef60bc58941c)",
    ]


# Signatures


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ('import { readTxt } from "system/files"', "did you mean `readText`?"),
        ('import { readText } from "system/file"', 'write `from "system/files"`'),
        ('import { readText } from "system/files"\nreadText(1)', "expected `text` for `path`"),
        ('import { readText } from "system/files"\nreadText()', "`readText` expects 1 to 2 arguments, got 0"),
        ('import { run } from "system/process"\nprint(run("x").output)', "has no field `output`"),
        ('import { run } from "system/process"\nrun("x", { tiemout: 3 })', "tiemout"),
    ],
)
def test_the_checker_knows_the_signatures(program: str, said: str):
    with pytest.raises(ProgramErrors) as refused:
        loads(program).attempt()
    assert said in str(refused.value)


def test_functions_of_the_system_are_values(here: Path):
    (here / "a").write_text("1")
    (here / "b").write_text("22")
    assert printed(f'{FILES}{DATA}print(["a", "b"].map(readText), ["x\\n1"].map(t => parseCsv(t)))') == [
        '["1","22"] [[{"x":"1"}]]'
    ]


@pytest.mark.parametrize("module", SYSTEM_MODULES)
def test_every_function_has_a_signature_that_its_code_keeps(module: str):
    for name, each in load_system_functions(module).items():
        assert each.doc.endswith("."), name
        assert each.optional <= len(each.parameters), name


# Tools, called by a program

GIT = """
import { gitStatus, gitLog, gitDiff } from "system/tools"
const state = gitStatus()
print(state, gitLog().map(commit => commit.subject), gitDiff() == "")
"""


def test_what_git_says_is_data(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(here / "none"))

    def git(*command: str) -> None:
        subprocess.run(["git", "-c", "user.name=Ann", "-c", "user.email=a@b", *command], check=True)

    git("init", "-q", "-b", "main", "work")
    monkeypatch.chdir("work")
    clean = '{"branch":"main","ahead":0,"behind":0,"staged":[],"modified":[],"untracked":[],"conflicted":[]}'
    assert printed(GIT) == [f"{clean} [] true"]
    Path("a.txt").write_text("one\n")
    git("add", ".")
    git("commit", "-q", "-m", "First")
    Path("a.txt").write_text("x" * 40_000 + "\n")
    assert printed(GIT) == [clean.replace('"modified":[]', '"modified":["a.txt"]') + ' ["First"] false']
    diff = printed(
        'import { gitDiff } from "system/tools"\nconst d = gitDiff()\nprint(d.length > 40000, d.endsWith("x\\n"))'
    )
    assert diff == ["true true"]


TOOLS = 'import { readFile, listFiles, globFiles, grepFiles, runShell } from "system/tools"\n'


def test_tools_give_data_to_programs(here: Path):
    rows = "".join(f"{number}\r\n" for number in range(20_000))
    (here / "a.csv").write_bytes(rows.encode())
    (here / "sub").mkdir()
    (here / "sub" / "empty.txt").touch()
    program = f"""{TOOLS}
        print(readFile("a.csv").length, readFile("a.csv", 2, 3), [readFile("sub/empty.txt")])
        print(globFiles("*.nope"), globFiles("*.csv"), globFiles("*.txt").length, listFiles(), listFiles("sub"))
        print(grepFiles("^1999[89]", "a.csv").map(f => f.line), grepFiles("nowhere"))
        const r = runShell("seq 1 20000; echo err >&2; exit 3")
        print(r.stdout.lines().length, r.stderr, r.code)
    """
    assert printed(program) == [
        f'{len(rows)} 1\r\n2\r\n [""]',
        '[] ["a.csv"] 1 ["a.csv","sub"] ["sub/empty.txt"]',
        "[19999,20000] []",
        "20000 err\n 3",
    ]


def test_what_a_tool_cannot_do_for_a_program_is_an_error(here: Path):
    (here / "old").write_bytes(b"\xe9")
    assert failed(f'{TOOLS}readFile("old")') == ("V0917", "the tool `read_file` failed: `old` is not UTF-8: byte 0")
    assert failed(f'{TOOLS}readFile("../x")')[0] == "V0917"
    assert failed(f'{TOOLS}readFile("old", "x")')[0] == "V0917"


# What was said, or an error


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('parseJson("{\\"a\\":1,\\"a\\":2}")', 'there are two fields "a"'),
        ('parseJson("[1e400]")', "number out of range: 1e400"),
        ('parseYaml("a: 1\\nb: 2\\na: 3")', "the key 'a' is there twice, in line 3"),
        ('parseYaml("a: .inf")', "`inf` is not a number here"),
        ('parseToml("a = nan")', "`nan` is not a number here"),
    ],
)
def test_data_that_cannot_be_given_as_it_was_said_is_an_error(call: str, said: str):
    assert said in failed(f"{DATA}{call}")[1]


def test_data_is_given_as_it_was_said():
    assert printed(f'{DATA}print(parseJson("\\u{{feff}}[123456789012345678901234567890, 1e30, 0.1]"))') == [
        "[123456789012345678901234567890,1e+30,0.1]"
    ]
    yaml = "base: &b { a: 1 }\\nown: { <<: *b, a: 2 }"
    assert printed(f'{DATA}print(parseYaml("{yaml}"))') == ['{"base":{"a":1},"own":{"a":2}}']
    rows = f'{DATA}const rows: text[][] = parseCsv("\\u{{feff}}\\"a b\\",c\\n1,2\\n")\nprint(rows)'
    assert printed(rows) == ['[["a b","c"],["1","2"]]']
