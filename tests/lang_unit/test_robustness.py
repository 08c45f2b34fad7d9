"""Nothing that a model, a tool, a name or an impatient human does can break a run in any way but the language's own."""

from __future__ import annotations

import builtins
import json
import keyword
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.fakes import Answer, call
from antiphon.lang.runtime import recursion as depth
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.program import Host, load, loads
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.lang.syntax.foreign_syntax.table import FOREIGN_CONSTANTS
from antiphon.lang.syntax.tokens import RESERVED_WORDS
from tests.lang_unit.harness import every_api, ran

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


class TestModelAnswers:
    PROGRAM = 'const {name: text, tags: text[], n: number = 1} = do "x"\nprint(name, tags, n)'
    GOOD = '{"name": "Ann", "tags": ["a"]}'

    @every_api
    @pytest.mark.parametrize(
        "wrong",
        [
            "",
            "plain words",
            "[1, 2, 3]",
            '{"name": 5, "tags": "a"}',
            '{"name": ',
            "```json\n{}\n```",
            '{"wert": "Ann"}',
            '{"name": null, "tags": ["a"]}',
            '{"name": "Ann", "tags": {"0": "a"}}',
            '{"name": "Ann"}',
            call("answer", name="Ann", tags=["a"]),
            call("answer", name=1),
            call("rm", path="/"),
            Answer(calls=[call("answer", name="Ann")], malformed=True),
            Answer("cut", stop="length"),
        ],
        ids=str,
    )
    def test_wrong_shapes_are_asked_for_again(self, api: str, wrong: Any):
        run = ran(self.PROGRAM, wrong, self.GOOD, api=api)
        assert run.outcome.error is None, run.outcome.error.render()
        assert run.prints == ['Ann ["a"] 1']

    @settings(max_examples=40)
    @given(st.lists(JSON, min_size=4, max_size=4))
    def test_any_answer_ends_in_a_value_or_an_error_of_the_language(self, answers: list[Any]):
        steps = [json.dumps({"value": each}) for each in answers]
        run = ran('type T { a: number, b?: text[] }\nconst t: T[] = do "x"\nprint(t)', *steps, "{}", "{}")
        if run.outcome.error is None:
            value = run.variables["t"]
            assert all(isinstance(each["a"], int | float) for each in value)
        else:
            assert run.error.code == "V0916"

    def test_deep_and_large_answers(self):
        deep = "[" * 400 + "]" * 400
        run = ran('const r = do "x"\nprint(len(toJson(r)))\ndo "next"', deep, "ok")
        assert run.outcome.error is None or run.error.code.startswith("V09")
        large = json.dumps(["word"] * 100_000)
        run = ran('const r = do "x"\nprint(r.length)\ndo "next" local', large, "ok")
        assert run.prints == ["100000"]

    @every_api
    def test_text_that_no_transport_likes(self, api: str):
        run = ran('const r = do "x"\nprint(r.length)\ndo "{r}"', "\u0000\ud7ff\U0010ffff\u200b", "ok", api=api)
        assert run.prints == ["4"]

    def test_refusal_is_an_error(self):
        run = ran('do "x"', Answer("I will not.", stop="refusal"))
        assert run.error.code == "V0922"
        assert "I will not." in run.error.message


class TestTools:
    @pytest.mark.parametrize(
        "code",
        [
            "a = []; a.append(a); return a",
            "a = {}; a['a'] = a; return a",
            "return float('nan')",
            "return {'x': float('inf'), 'y': [float('-inf')]}",
            "x = 1\n  for _ in range(5000): x = [x]\n  return x",
            "return 'x' * 5_000_000",
            "return list(range(300_000))",
            "return object()",
            "return open",
            "return {1: {(2, 3): 4}}",
            "return b'bytes'",
            "return '\\ud800'",
            "return 10 ** 5000",
            "raise SystemError('odd')",
            "raise SystemExit(3)",
            "def f(): return f()\n  return f()",
        ],
    )
    def test_whatever_a_tool_gives_the_run_goes_on(self, code: str):
        program = f"""
// Odd.
tool odd(): json {{ return py() {{
  {code}
}} }}
model m = {{ name: "claude-sonnet-5", tools: [odd] }}
const ret = vibe "x"
print(ret, ret.toolCalls.length)
do "next"
"""
        run = ran(program, {"tool": "odd"}, "done", "ok")
        assert run.outcome.error is None, run.outcome.error.render()
        assert run.prints == ["done 1"]
        record = run.outcome.result
        assert all(len(each) < 2_000_000 for each in map(str, run.prompts)), record

    @pytest.mark.parametrize("value", ["float('nan')", "float('inf')", "[float('nan')]"])
    def test_numbers_that_are_none_do_not_break_prompts(self, value: str):
        run = ran(f'const r = py() {{ return {value} }}\ndo "x" default', "ok")
        assert run.outcome.error is None, run.outcome.error.render()
        assert "NaN" in run.prompts[0] or "Infinity" in run.prompts[0]

    def test_variables_that_contain_themselves_are_shown_somehow(self):
        run = ran('let a: json = []\na.push(a)\ndo "x" default', "ok")
        assert run.outcome.error is None, run.outcome.error.render()

    def test_equality_and_sorting_of_numbers_that_are_none(self):
        run = ran("const n = py() { return float('nan') }\nprint(n == n, [n, n].length)")
        assert run.prints == ["false 2"]


NAMES = sorted(
    {
        *(name for name in (*keyword.kwlist, *keyword.softkwlist) if name not in RESERVED_WORDS),
        *("__builtins__", "__name__", "__file__", "__class__", "__debug__", "__doc__", "__import__", "__annotations__"),
        *("_v", "_v1", "_v2", "_vrt", "_vcode", "_vadd", "_vt0", "_vpy0", "_vtest0", "_vasync0", "_vn_x", "_vb_print"),
        *("main", "v_main", "self", "cls", "args", "kwargs", "exec", "eval", "print_", "Exception", "_vcatchable"),
        *[name for name in dir(builtins) if name[0].islower() and name not in ("print", "len")][::4],
        *("text", "model", "type", "tool", "test", "default", "local", "none", "forget", "verbose", "async_", "match"),
    }
    - set(FOREIGN_CONSTANTS)
)


class TestNames:
    @pytest.mark.parametrize("name", NAMES)
    def test_any_name_works_everywhere(self, name: str):
        program = f"""
let {name} = 1
{name} += 1
function f({name}: number): number {{
  let {name}_ = {name} * 2
  function g(): number {{
    {name}_ += 1
    return {name}_
  }}
  return g()
}}
function h(): number {{
  {name} += 10
  return {name}
}}
const o = {{ {name}: f({name}) }}
for i in 1..2 {{ let {name} = i; print("{{{name}}}") }}
try {{ throw "t" }} catch {name} {{ print({name}.message) }}
const xs = async for {name} in [1, 2] {{ yield {name} * 2 }}
const p = py({name if not keyword.iskeyword(name) and name != "__debug__" else "o"}) {{ return 7 }}
print({name}, o.{name}, h(), xs, p)
do "x" default
"""
        run = ran(program, "ok")
        assert run.outcome.error is None, run.outcome.error.render()
        assert run.prints == ["1", "2", "t", "2 5 12 [2,4] 7"]
        assert f"{name} (number): 12" in run.prompts[0]
        assert run.variables[name] == 12

    @pytest.mark.parametrize("name", NAMES)
    def test_any_name_is_one_of_a_function_a_tool_and_a_field(self, name: str):
        program = f"""
function {name}(n: number): number {{
  if n == 0 {{ return 0 }}
  return {name}(n - 1) + 1
}}
function outer(): number {{
  function {name}(): number {{ return 5 }}
  return {name}()
}}
type T {{ {name}: number }}
const t: T = {{ {name}: {name}(3) }}
const {{{name}_: number}} = {{ {name}_: 4 }}
print(t.{name}, outer(), {name}_)
"""
        run = ran(program)
        assert run.outcome.error is None, run.outcome.error.render()
        assert run.prints == ["3 5 4"]

    @pytest.mark.parametrize("name", [name for name in NAMES if name.isascii()])
    def test_any_name_is_one_of_a_tool_for_a_model(self, name: str):
        program = f"""
// Doubles.
tool {name}({name}_: number, {name}: number): number {{ return {name} * 2 + {name}_ }}
model m_ = {{ name: "claude-sonnet-5", tools: [{name}] }}
const ret = do "x" m_
print(ret.toolCalls[0].result)
"""
        run = ran(program, {"tool": name, "args": {name: 2, f"{name}_": 1}}, "ok")
        assert run.outcome.error is None, run.outcome.error.render()
        assert run.prints == ["5"]


class TestDepth:
    @pytest.mark.parametrize(
        "program",
        [
            "function f(n: number): number { return f(n + 1) }\nf(0)",
            "function f(n) { return g(n) }\nfunction g(n) { return f([n]) }\nf(0)",
            "function f(n: number): number { try { return f(n + 1) } catch e { throw e } }\nf(0)",
            "let j: json = 0\nfor i in 1..100000 { j = [j] }\nprint(j)",
            "let j: json = 0\nfor i in 1..100000 { j = [j] }\nlet k = j.copy()",
            "let j: json = 0\nlet k: json = 0\nfor i in 1..100000 { j = [j]; k = [k] }\nprint(j == k)",
            "type N { n?: N }\nlet j: json = {}\nfor i in 1..100000 { j = { n: j } }\nlet n: N = j",
            "let j: json = 0\nfor i in 1..100000 { j = [j] }\nprint(toJson(j))",
            "let j: json = 0\nfor i in 1..100000 { j = [j] }\nconst r = py(j) { return 1 }",
            'parseJson("[".repeat(100000))',
        ],
    )
    def test_too_deep_is_an_error_of_the_language(self, program: str, monkeypatch: pytest.MonkeyPatch):
        # The limit of Python will do; ten times as deep takes its time.
        monkeypatch.setattr(depth, "_FRAMES", 0)
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(2000)
        try:
            run = ran(program)
        finally:
            sys.setrecursionlimit(before)
        assert run.error.code in ("V0913", "V0906", "V0910"), run.error.render()
        assert "Traceback" not in run.error.render()

    def test_ask_with_a_deep_variable(self):
        run = ran('let j: json = 0\nfor i in 1..100000 { j = [j] }\ndo "x" default', "ok")
        assert run.outcome.error is None, run.outcome.error.render()


class TestPlaces:
    PROGRAM = """let total = 0
function add(n: number): number {
  let twice = n * 2
  return twice / (n - 3)
}
for i in 1..5 {
  total += add(i)
}
"""

    def _program(self, tmp_path: Path) -> Path:
        file = tmp_path / "places.vibe"
        file.write_text(self.PROGRAM)
        return file

    def test_tracebacks_show_lines_of_the_program(self, tmp_path: Path):
        file = self._program(tmp_path)
        with pytest.raises(VibeError) as caught:
            load(file).run(Host())
        error = caught.value
        found = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == str(file)]
        if not found and error.__cause__ is not None:
            found = [each for each in traceback.extract_tb(error.__cause__.__traceback__) if each.filename == str(file)]
        assert [(each.lineno, each.line) for each in found][-2:] == [
            (7, "total += add(i)"),
            (4, "return twice / (n - 3)"),
        ]
        assert [each.function for each in error.frames] == ["the top level", "add"]

    def test_a_tracer_sees_every_line(self, tmp_path: Path):
        file = self._program(tmp_path)
        lines: list[int] = []
        local: dict[int, dict[str, Any]] = {}

        def trace(frame: Any, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != str(file):
                return None
            if event == "line":
                lines.append(frame.f_lineno)
                local[frame.f_lineno] = dict(frame.f_locals)
            return trace

        program = load(file)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            program.attempt(Host())
        finally:
            sys.settrace(before)
        assert {1, 3, 4, 6, 7} <= set(lines)
        assert local[4] == {"n": 3, "twice": 6}

    def test_a_profiler_sees_functions_by_name(self, tmp_path: Path):
        import cProfile
        import pstats

        file = self._program(tmp_path)
        profile = cProfile.Profile()
        profile.runcall(load(file).attempt, Host())
        named = {(Path(name).name, line, function) for name, line, function in pstats.Stats(profile).stats}
        assert ("places.vibe", 2, "add") in named

    def test_a_debugger_stops_in_the_program(self, tmp_path: Path):
        file = self._program(tmp_path)
        script = f"""
import pdb, io
from antiphon.lang.runtime.program import load, Host
debugger = pdb.Pdb(stdin=io.StringIO("c\\np n * 100\\nw\\nc\\n"), stdout=None)
debugger.use_rawinput = False
program = load({str(file)!r})
debugger.set_break({str(file)!r}, 4)
debugger.reset()
import sys
sys.settrace(debugger.trace_dispatch)
program.attempt(Host())
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert "return twice / (n - 3)" in done.stdout, done.stderr
        assert "places.vibe(4)add()" in done.stdout
        assert "\n(Pdb) 100\n" in f"\n{done.stdout}"


BUSY = 'print("started")\nlet n = 0\nwhile true { n = (n + 1) % 1000 }\n'
BUSY_IN_TRY = 'print("started")\nlet n = 0\nwhile true { try { n = (n + 1) % 1000 } catch e { print("caught") } }\n'
ASKING = 'print("started")\nconst r = do "slow"\nprint("never")\n'
ASYNC = 'print("started")\nconst xs = async for i in 1..20 { yield do "slow {i}" }\nprint("never")\n'
RUN = """
import sys, httpx2
from antiphon.fakes import Answer, Fake
from antiphon.lang.runtime.program import Host, load
sys.path.insert(0, {root!r})
from tests.lang_unit.harness import connecting
program = load({file!r})
connect = connecting(Fake([Answer("late", delay=30) for _ in range(30)]))
write = lambda text: print(text, flush=True)
outcome = program.attempt(Host(write=write, default_model=lambda: "anthropic/claude-sonnet-5", connect=connect))
if outcome.outcome == "interrupted":
    print("interrupted", outcome.usage["outputTokens"])
    sys.exit(130)
"""


@pytest.mark.parametrize("program", [BUSY, BUSY_IN_TRY, ASKING, ASYNC], ids=["busy", "busy in try", "ask", "async"])
def test_ctrl_c_ends_a_run(program: str, tmp_path: Path):
    file = tmp_path / "busy.vibe"
    file.write_text(program)
    script = RUN.format(file=str(file), root=str(Path(__file__).parents[2]))
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    # Any moment will do; mostly it is one in the middle of the work.
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (130, "interrupted 0\n", "")


def test_ctrl_c_cannot_be_caught():
    program = "function f() { py() { raise KeyboardInterrupt } }\ntry { f() } catch e { print(e) }"
    run = ran(program)
    assert (run.outcome.outcome, run.prints) == ("interrupted", [])


def test_programs_are_independent_of_one_another():
    program = loads("let n = 0\nexport function count(): number { n += 1\nreturn n }\nprint(count())", "a.vibe")
    assert [program.attempt(Host(write=lambda _: None)).prints for _ in range(3)] == [["1"]] * 3


def test_numbers_too_large_are_infinite():
    assert ran("let x = 1.5e308\nx = x * 10\nprint(x, -x)\nconst y: json = x\nprint(y - y)").prints == [
        "Infinity -Infinity",
        "NaN",
    ]


def test_modules_that_import_one_another_are_told_in_order(tmp_path: Path):
    for one, other in (("a", "b"), ("b", "c"), ("c", "a")):
        text = f'import {{ {other} }} from "./{other}.vibe"\nexport function {one}(): number {{ return {other}() }}\n'
        (tmp_path / f"{one}.vibe").write_text(text)
    with pytest.raises(ProgramErrors, match=r"a\.vibe → b\.vibe → c\.vibe → a\.vibe"):
        load(tmp_path / "a.vibe")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"print(1)\n\xc3(", b"\x00" * 50])
def test_files_that_are_no_programs_are_refused_in_words(content: bytes, tmp_path: Path):
    (tmp_path / "bad.vibe").write_bytes(content)
    with pytest.raises((VibeError, ProgramErrors)):
        load(tmp_path / "bad.vibe")
    with pytest.raises(VibeError, match="cannot read"):
        load(tmp_path / "missing.vibe")
    with pytest.raises(VibeError, match="cannot read"):
        load(tmp_path)


def test_a_message_as_long_as_a_model_likes_is_cut_for_people_and_whole_as_data():
    error = ran('throw do "q"', "A" * 100_000).error
    assert len(error.render()) < 5_000
    assert "[100,000 characters in all]" in error.render()
    assert len(error.to_json()["message"]) == 100_000


def test_errors_of_python_that_cannot_tell_what_they_are_get_a_message():
    block = "class E(ValueError):\n      def __str__(self): raise ValueError('no')\n  raise E()"
    error = ran(f"print(py() {{\n  {block}\n}})").error
    assert (error.code, error.message) == ("V0915", "Python code failed: E")


@pytest.mark.parametrize("name", ["x\ud800", "x\0", "x" * 5000, "x/" * 3000 + "x"])
@pytest.mark.parametrize("kind", [".vibe", ".py"])
def test_a_path_that_no_file_can_have_is_no_module(name: str, kind: str):
    with pytest.raises(ProgramErrors, match="no module with such a name"):
        loads(f'import {{ a }} from "./{name}{kind}"\nprint(a)')


def test_what_python_suspects_of_a_block_is_no_warning_of_ours():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ran('const n = py() { return len("\\d") }\nprint(n)').prints == ["2"]
        assert ran('const n = py() { return "twelve"(int) }').error.code == "V0915"
