"""A program for each of many rows: typed, in order, resumable, with errors that are results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import antiphon as library
from antiphon.durable import Journal
from antiphon.errors import ConfigurationError, LeaseLost, NotReadyError, StoreError
from antiphon.fakes import Fake
from antiphon.lang.runtime import load
from antiphon.programs.batch import begin_batch
from antiphon.programs.launch_spec import LaunchSpec
from antiphon.programs.row_sources import RowSource, enumerate_rows, read_rows
from tests import forks
from tests.lang_unit.commands import antiphon

DOUBLE = (
    'let n: number = 0\nlet who = "nobody"\nif n == 3 {\n  throw "three is bad"\n}\nprint("row", n)\n[who, n * 2]\n'
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with Fake() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        yield fake


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_rows_are_typed_in_order_and_errors_are_results():
    rows = write("rows.csv", "n,who,more\n1,Ada,x\n3,Bob,y\n5,Eve,z\n")
    ran = antiphon("map", write("p.vibe", DOUBLE), rows)
    assert ran.code == 1
    assert [each.get("value") for each in lines(ran.out)] == [["Ada", 2], None, ["Eve", 10]]
    assert [each["row"] for each in lines(ran.out)] == [1, 2, 3]
    assert lines(ran.out)[1]["error"] == "V0901: three is bad"
    assert ran.err.count("no variable 'more'") == 1
    assert "row 2: V0901" in ran.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.jsonl", '{"n": 1, "who": "Ada"}\n\n{"n": 2.5}\n'),
        ("rows.tsv", "n\twho\n1\tAda\n2.5\tnobody\n"),
    ],
)
def test_rows_come_as_json_lines_or_with_tabs(name: str, text: str):
    ran = antiphon("map", write("p.vibe", DOUBLE), write(name, text))
    assert [each["value"] for each in lines(ran.out)] == [["Ada", 2], ["nobody", 5]]


def test_files_are_rows_with_their_names_and_texts():
    write("a.txt", "one")
    write("b.txt", "two")
    program = write("p.vibe", 'let file = ""\nlet text = ""\n"{file}: {text}"\n')
    assert [each["value"] for each in lines(antiphon("map", program, "*.txt").out)] == ["a.txt: one", "b.txt: two"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("r.csv", "a,b\n1\n", "line 2 has another number of values than columns"),
        ("r.csv", "a,a\n1,2\n", "name its columns, each once"),
        ("r.csv", "", "name its columns"),
        ("r.csv", "z\n1\n", "row 1 has z; the program takes n, who"),
        ("r.jsonl", "{\n", "line 1 is not valid JSON"),
        ("r.jsonl", "[1]\n", "line 1 is not a JSON object"),
        ("r.xml", "<a/>", "rows come from"),
        (None, "", "cannot read"),
    ],
)
def test_rows_that_are_none_are_told_before_anything_runs(name: str | None, text: str, said: str):
    rows = write(name, text) if name else "gone.csv"
    ran = antiphon("map", write("p.vibe", DOUBLE), rows)
    assert (ran.code, ran.out, said in ran.err) == (2, "", True)
    assert antiphon("list").code == 1


def test_a_value_of_the_wrong_type_is_the_rows_error():
    ran = antiphon("map", write("p.vibe", DOUBLE), write("r.csv", "n\nmany\n2\n"))
    assert [each["outcome"] for each in lines(ran.out)] == ["invalid", "done"]


def test_a_value_for_all_rows_and_a_sample():
    rows = write("r.csv", "n\n" + "".join(f"{n}\n" for n in range(10, 110)))
    ran = antiphon("map", write("p.vibe", DOUBLE), rows, "--set", "who=all", "--sample", "4")
    found = lines(ran.out)
    assert (ran.code, len(found)) == (0, 4)
    assert all(each["value"] == ["all", 2 * (each["row"] + 9)] for each in found)
    again = antiphon("map", "p.vibe", rows, "--set", "who=all", "--sample", "4")
    assert [each["row"] for each in lines(again.out)] == [each["row"] for each in found]


def test_what_failed_is_tried_again_and_what_was_answered_is_not(fake: Fake):
    fake.play("one", "two", "three")
    program = write(
        "p.vibe",
        'let n = 0\nmodel m = { name: "openai-chat/gpt-5" }\nconst a = do "number {n}" m\n'
        'const ok = py(n) {\n  import os\n  if n == 2 and not os.path.exists("fixed"):\n'
        '    raise ValueError("not yet")\n  return n\n}\nok\n',
    )
    ran = antiphon("map", program, write("r.csv", "n\n1\n2\n3\n"))
    assert [each["outcome"] for each in lines(ran.out)] == ["done", "failed", "done"]
    assert len(fake.requests) == 3
    Path("fixed").touch()
    ran = antiphon("resume", "last")
    assert (ran.code, [each["value"] for each in lines(ran.out)]) == (0, [1, 2, 3])
    assert len(fake.requests) == 3
    listed = json.loads(antiphon("list", "--in", "last", "--json").out)
    assert [each["number"] for each in listed] == [1, 2, 3]


def test_a_failed_row_decides_the_exit_code_though_others_wait():
    program = write("p.vibe", 'let n: number = 0\nif n == 1 {\n  throw "no"\n}\nask "What of {n}?"\n')
    ran = antiphon("map", program, write("r.csv", "n\n1\n2\n"))
    assert (ran.code, [each["outcome"] for each in lines(ran.out)]) == (1, ["failed", "waiting"])


def test_rows_that_wait_are_answered_one_by_one():
    program = write("p.vibe", 'let n = 0\nask "What of {n}?"\n')
    ran = antiphon("map", program, write("r.csv", "n\n1\n2\n"))
    assert (ran.code, [each["outcome"] for each in lines(ran.out)]) == (3, ["waiting", "waiting"])
    for row in lines(ran.out):
        assert antiphon("answer", row["session"], f"it is {row['row']}").code == 0
    ran = antiphon("resume")
    assert (ran.code, [each["value"] for each in lines(ran.out)]) == (0, ["it is 1", "it is 2"])


def test_a_batch_that_is_killed_goes_on_where_it_was():
    text = (
        'let n = 0\nconst done = py(n) {\n  open("log", "a").write(f"{n} ")\n  return n\n}\n'
        'py(n) {\n  import os, signal\n  if n == 4 and not os.path.exists("go"):\n'
        "    os.kill(os.getpid(), signal.SIGKILL)\n}\ndone\n"
    )
    rows = write("r.csv", "n\n" + "".join(f"{n}\n" for n in range(1, 7)))
    child = forks.run("map", "--parallel", "1", write("p.vibe", text), rows)
    assert child.returncode == -signal.SIGKILL
    Path("go").touch()
    # Whether the fourth took effect is not known: that it is done again is for somebody to decide.
    for _ in range(2):
        ran = antiphon("resume", "last")
        assert [each["outcome"] for each in lines(ran.out)] == ["done", "done", "done", "failed", "done", "done"]
    assert antiphon("resume", lines(ran.out)[3]["session"], "--retry", "2").code == 0
    ran = antiphon("resume")
    assert [each.get("value") for each in lines(ran.out)] == [1, 2, 3, 4, 5, 6]
    assert Path("log").read_text().split() == ["1", "2", "3", "4", "5", "6"]


LOGGED = 'let n = 0\npy(n) {\n  open("log", "a").write(f"{n} ")\n  return n\n}\n'


def killed_while_written(count: int) -> str:
    """The rows of a batch whose process was killed when some of them were written."""
    os.symlink("/dev/stdin", "r.csv")
    child = forks.Forked("map", write("p.vibe", LOGGED), "r.csv", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    text = "n\n" + "".join(f"{n}\n" for n in range(1, count + 1))
    with TextIOWrapper(cast(IO[bytes], child.stdin)) as rows:
        rows.write(text)
        rows.flush()
        journal, end = Journal(), time.monotonic() + 60
        while not journal.database.query("SELECT 1 FROM sessions WHERE kind = 'row'", ()):
            assert time.monotonic() < end
            time.sleep(0.05)
        child.kill()
        child.wait()
    os.unlink("r.csv")
    return text


def test_a_batch_that_is_killed_while_its_rows_are_written_loses_none():
    text = killed_while_written(900)
    (entry,) = json.loads(antiphon("list", "--json").out)
    assert entry["state"] == "stopped"
    assert "it has 500 rows, and none has run" in antiphon("show").out
    assert "not all rows of its batch are written" in antiphon("resume", f"{entry['id']}.1").err
    # Without its rows it cannot be finished, and says so.
    ran = antiphon("resume", "last")
    assert (ran.code, ran.out, "cannot read r.csv" in ran.err) == (2, "", True)
    write("r.csv", text.replace("\n7\n", "\n77\n"))
    ran = antiphon("resume", "last")
    assert (ran.code, ran.out, "its row 7 is no longer among the rows" in ran.err) == (2, "", True)
    write("r.csv", text)
    ran = antiphon("resume", "last", "--max-cost", "1")
    assert (ran.code, [each["value"] for each in lines(ran.out)]) == (0, list(range(1, 901)))
    assert sorted(map(int, Path("log").read_text().split())) == list(range(1, 901))


def test_a_batch_that_somebody_still_writes_is_not_taken_from_him():
    journal, program = Journal(), load(write("p.vibe", LOGGED))

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number in range(1, 502):
            yield number, {"n": number}
        told.append(antiphon("resume", "last"))
        told.append(antiphon("show", "last"))

    told: list[Any] = []
    begun = LaunchSpec(str(Path("p.vibe").resolve()), os.getcwd(), "p.vibe", {}, rows=RowSource("r.csv"))
    begin_batch(journal, program, begun, rows())
    assert (told[0].code, "is running in process" in told[0].err) == (2, True)
    assert "is being created with 500 rows so far" in told[1].out


def test_a_cancelled_batch_gets_no_more_rows():
    journal, program = Journal(), load(write("p.vibe", LOGGED))

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number in range(1, 502):
            yield number, {"n": number}
        assert antiphon("stop", "--final", "last").code == 0

    with pytest.raises(LeaseLost, match="was stopped for good"):
        begin_batch(journal, program, LaunchSpec("p.vibe", os.getcwd(), "p.vibe", {}), rows())
    assert journal.find("last").state == "cancelled"


def test_values_for_all_rows_that_are_private_are_sealed(tmp_path: Path):
    program = write("p.vibe", 'let n = 0\nprivate let word = ""\nn + 1\n')
    ran = antiphon("map", program, write("r.csv", "n\n1\n"), "--set", "word=hush-hush")
    assert [each["outcome"] for each in lines(ran.out)] == ["done"]
    assert b"hush-hush" not in b"".join(each.read_bytes() for each in tmp_path.glob("logs.db*"))


def test_no_more_is_spent_than_may_be(fake: Fake):
    fake.play(*["word"] * 20)
    text = 'let n = 0\nmodel m = { name: "openai-chat/gpt-5" }\ndo "number {n}" m\n'
    rows = write("r.csv", "n\n" + "".join(f"{n}\n" for n in range(20)))
    ran = antiphon("map", "--parallel", "1", "--max-cost", "0.0003", write("p.vibe", text), rows)
    outcomes = [each["outcome"] for each in lines(ran.out)]
    assert (ran.code, len(outcomes)) == (4, 20)
    assert "done" in outcomes
    assert outcomes[-1] == "limit"
    asked = len(fake.requests)
    assert asked < 20
    assert "not started: the limit of $0.0003 is reached" in ran.err
    assert "antiphon resume" in ran.err
    assert "--max-cost USD` continues" in ran.err
    # Rows that were not begun are as they were, and what was spent counts when it is gone on with.
    assert json.loads(antiphon("list", "--in", "last", "--json").out)[-1]["state"] == "ready"
    assert antiphon("resume", "last").code == 4
    assert len(fake.requests) == asked
    ran = antiphon("resume", "last", "--max-cost", "9")
    assert (ran.code, {each["outcome"] for each in lines(ran.out)}) == (0, {"done"})
    assert len(fake.requests) == 20


def test_a_row_that_was_begun_goes_on_beyond_the_limit(fake: Fake):
    """It asks no model any more, and what it did would be lost."""
    fake.play("word")
    text = 'let n = 0\nmodel m = { name: "openai-chat/gpt-5" }\nconst a = do "number {n}" m\nprint(ask "Right?")\n'
    program, rows = write("p.vibe", text), write("r.csv", "n\n1\n")
    assert antiphon("map", "--max-cost", "0.0000001", program, rows).code == 3
    (row,) = json.loads(antiphon("list", "--in", "last", "--json").out)
    antiphon("answer", row["id"], "yes")
    ran = antiphon("resume", "last")
    assert (ran.code, [each["outcome"] for each in lines(ran.out)]) == (0, ["done"])
    assert len(fake.requests) == 1


class TestFromPython:
    def test_rows_are_mappings_and_the_results_come_in_order(self):
        write("p.vibe", DOUBLE)
        found = list(library.map("p.vibe", [{"n": n} for n in range(1, 30)], parallel=4))
        assert [each.number for each in found] == list(range(1, 30))
        assert [each.value for each in found if each.outcome == "done"] == [
            ["nobody", 2 * n] for n in range(1, 30) if n != 3
        ]
        assert found[2].error == "V0901: three is bad"

    def test_with_a_name_it_goes_on(self):
        write("p.vibe", 'let n = 0\npy(n) {\n  open("log", "a").write(f"{n} ")\n  return n\n}\n')
        journal = Journal()
        results = library.map("p.vibe", [{"n": 1}, {"n": 2}], parallel=1, journal=journal, id="nightly")
        assert [each.value for each in results] == [1, 2]
        again = library.map("p.vibe", [], journal=journal, id="nightly")
        assert [each.value for each in again] == [1, 2]
        assert Path("log").read_text() == "1 2 "

    def test_rows_that_were_not_written_are_given_again(self):
        write("p.vibe", LOGGED)
        journal, rows = Journal(), [{"n": n} for n in range(1, 601)]

        def broken() -> Iterator[dict[str, Any]]:
            yield from rows[:550]
            raise StoreError("the disk is full")

        with pytest.raises(StoreError, match="disk is full"):
            library.map("p.vibe", broken(), journal=journal, id="nightly")
        assert journal.find("nightly").state == "preparing"
        with pytest.raises(NotReadyError, match="row 1 is no longer among the rows"):
            library.map("p.vibe", rows[1:], journal=journal, id="nightly")
        found = library.map("p.vibe", rows, journal=journal, id="nightly")
        assert [each.value for each in found] == list(range(1, 601))


@given(st.integers(1, 60), st.integers(1, 80))
def test_a_sample_is_part_of_the_rows_in_order(count: int, size: int):
    rows = [{"n": n} for n in range(1, count + 1)]
    found = list(enumerate_rows(rows, size))
    assert len(found) == min(count, size)
    assert found == sorted(found, key=lambda each: each[0])
    assert all(row == {"n": number} for number, row in found)


def test_a_file_of_another_encoding_is_told():
    Path("r.csv").write_bytes(b"n\n\xff\xfe\n")
    with pytest.raises(ConfigurationError, match=r"r\.csv"):
        list(read_rows("r.csv"))


# Programs that declare their inputs

TYPED = (
    'input n: number\ninput who: text = "nobody"\ninput tags: text[] = []\ninput any: json = null\n'
    "input left: number | null\n[n, who, tags, any, left]\n"
)


def test_the_columns_of_a_table_are_the_inputs():
    rows = write("r.csv", 'n,who,tags,any,left,more\n1,5,"[""a""]",[1],,x\n2,b,[],null,3,y\nmany,c,[],1,,z\n')
    ran = antiphon("map", write("p.vibe", TYPED), rows)
    assert [each.get("value") for each in lines(ran.out)] == [[1, "5", ["a"], [1], None], [2, "b", [], None, 3], None]
    assert lines(ran.out)[2]["outcome"] == "invalid"
    assert '`n`: expected number, found text "many"' in lines(ran.out)[2]["error"]
    assert ran.err.count("no input 'more'") == 1
    ran = antiphon("map", "p.vibe", write("r.jsonl", '{"n": 1, "any": "[1]"}\n{"n": "1"}\n'), "--set", "tags=[]")
    assert [each["outcome"] for each in lines(ran.out)] == ["done", "invalid"]
    assert lines(ran.out)[0]["value"] == [1, "nobody", [], "[1]", None]


def test_an_empty_cell_is_not_given_unless_it_is_a_text_or_needed():
    program = write("p.vibe", 'input n: number\ninput days: number = 3\ninput who: text = "x"\n[n, days, who]\n')
    ran = antiphon("map", program, write("r.csv", "n,days,who\n1,,\n,4,a\n"))
    assert lines(ran.out)[0]["value"] == [1, 3, ""]
    assert '`n`: expected number, found text ""' in lines(ran.out)[1]["error"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("who\na\n", "row 1 has no `n`, which the program needs; it has: who"),
        ("n,any\n1,hello\n", 'row 1: `any`: expected json as JSON, found "hello"'),
    ],
)
def test_a_table_without_what_the_program_needs_is_told_before_anything_runs(text: str, said: str):
    ran = antiphon("map", write("p.vibe", TYPED), write("r.csv", text))
    assert (ran.code, ran.out, said in ran.err) == (2, "", True)
    assert antiphon("list").code == 1
