"""`antiphon repl`, and the session behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.cli.program_host import TerminalFrontend, make_terminal_host
from antiphon.fakes import Fake
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.interactive import ReplSession
from antiphon.lang.runtime.program import Host
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.session import Event
from tests.lang_unit.commands import antiphon


class Talk:
    """A session with a scripted model, and what it printed."""

    def __init__(self, fake: Fake) -> None:
        self.fake = fake
        self.prints: list[str] = []
        host = Host(
            write=self.prints.append,
            connect=lambda name, **_: fake.connect(name),
            default_model=lambda: "openai-chat/m",
        )
        self.session = ReplSession(host)

    def feed(self, *pieces: str) -> Any:
        value = None
        for piece in pieces:
            value = self.session.feed(piece).value
        return value


@pytest.fixture
def talk() -> Iterator[Talk]:
    with Fake() as fake:
        yield Talk(fake)


def test_names_go_on_from_piece_to_piece(talk: Talk):
    assert talk.feed("let x = 5", "function f(n: number): number { return n * x }", "x = 6", "f(2)") == 12
    assert talk.feed("type P { name: text }", 'const p: P = { name: "Ada" }', "p.name.upper()") == "ADA"
    assert talk.feed("const y = py(x) { return x + 1 }", "const z = py(y) { return y * 10 }", "z + y") == 77


def test_a_name_may_be_declared_again(talk: Talk):
    talk.feed("let x = 5", 'let x = "text"', "const x = [1]")
    assert talk.session.infer_type("x") == "number[]"
    assert [(name, type_) for name, type_, _ in talk.session.variables()] == [("x", "number[]")]


def test_a_mistake_declares_nothing_and_ends_nothing(talk: Talk):
    talk.feed("let x = 1")
    with pytest.raises(ProgramErrors) as found:
        talk.feed('let y = 2\nlet x: number = "a"')
    assert "<repl>:3:17" in str(found.value)
    with pytest.raises(ProgramErrors):
        talk.feed("y")
    assert talk.feed("x") == 1


def test_an_error_knows_the_lines_of_earlier_pieces(talk: Talk):
    talk.feed("let a = 1", 'function g() {\n  throw "deep {a}"\n}')
    with pytest.raises(VibeError) as failed:
        talk.feed("g()")
    assert [frame.source.line_number(frame.start) for frame in failed.value.frames] == [5, 3]
    assert 'throw "deep {a}"' in failed.value.render()


def test_models_see_the_history_and_the_variables_of_all_pieces(talk: Talk):
    talk.fake.play("first", "second", '{"value": 3}')
    talk.feed('let city = "Oslo"', "private let key = 1", 'do "one"', "const n = 5", 'const r = do "two"')
    assert talk.feed('const k: number = do "three {city}" default', "k + n") == 8
    sent = str(talk.fake.requests[-1].body)
    for shown in ("one", "first", "two", "second", "three Oslo", "city (text)", "n (number): 5"):
        assert shown in sent
    assert "key" not in sent


def test_a_prompt_is_shown_and_leaves_no_trace(talk: Talk):
    talk.feed('let city = "Oslo"', 'function f(): text { return do "inner {city}" }')
    for asked in ('"weather in {city}"', 'do "weather in {city}"', "f()"):
        shown = talk.session.preview_prompt(asked)
        assert shown is not None
        assert b"Oslo" in shown.body
    assert talk.fake.requests == []
    talk.fake.play("real")
    assert talk.feed('do "real"') == "real"
    assert talk.session.infer_type("let x = 1") is None
    with pytest.raises(ProgramErrors):
        talk.session.infer_type("nosuch")


def test_completion_knows_names_members_and_words(talk: Talk):
    talk.feed("const person = { name: 'Ada', tags: ['a'] }", "const answer = parseJson('1')")
    complete = talk.session.complete
    assert complete("per") == ["person"]
    assert complete("print(person.na") == ["person.name"]
    assert "person.tags.push" in complete("person.tags.pu")
    assert {"while", "print"} <= set(complete(""))
    assert complete("nosuch.") == []


def test_imports_of_a_piece_are_read_again_after_a_mistake(talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.vibe").write_text("export const a: number = 'x'")
    with pytest.raises(ProgramErrors, match="expected `number`"):
        talk.feed('import { a } from "./m.vibe"')
    (tmp_path / "m.vibe").write_text("export const a: number = 4")
    assert talk.feed('import { a } from "./m.vibe"', "a") == 4


@given(st.lists(st.text(alphabet="abx=+1\"'{}()[]\n .let", max_size=12), max_size=5))
def test_whatever_is_typed_the_session_goes_on(pieces: list[str]):
    session = ReplSession(Host(write=lambda _: None))
    for piece in pieces:
        session.complete(piece)
        try:
            session.feed(piece)
        except (ProgramErrors, VibeError):
            continue
    assert session.feed("let fresh = 1\nfresh").value == 1


def test_the_command_reads_pieces_of_several_lines_and_tells_of_mistakes():
    lines = ["let x = 5", "function f(n: number): number {", "  return n * x", "}", "f(2)", "nosuch", "f(3)"]
    ran = antiphon("repl", input="\n".join([*lines, ":type x", ":vars", ":nosuch", ":help", ":quit", "f(100)"]))
    assert ran.code == 0
    assert ran.out.splitlines()[:4] == ["10", "15", "number", "x (number): 5"]
    assert ":prompt EXPR" in ran.out
    assert "500" not in ran.out
    assert "V0201" in ran.err
    assert "there is no command ':nosuch'" in ran.err


def test_the_command_shows_prompts_without_sending(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ran = antiphon("repl", "--model", "openai-chat/gpt-5", input='let x = 1\n:prompt "hi {x}"\n')
    assert ran.out.startswith("openai-chat/gpt-5\n")
    assert "hi 1" in ran.out


def test_a_prompt_that_is_only_shown_is_no_work_that_is_told_of(talk: Talk):
    seen: list[Event] = []
    terminal = TerminalFrontend(has_human=False)
    terminal.watch = seen.append
    host = make_terminal_host(terminal, model="openai-chat/gpt-5", connect=talk.session.host.connect)
    session = ReplSession(host)
    assert session.preview_prompt('"hi"') is not None
    assert seen == []
    talk.fake.play("real")
    assert session.feed('do "hi"').value == "real"
    assert seen


def test_a_file_is_run_first(tmp_path: Path):
    (tmp_path / "lib.vibe").write_text("export const two = 2")
    (tmp_path / "a.vibe").write_text(
        'import { two } from "./lib.vibe"\nfunction f(): number { return two }\nprint("in")'
    )
    assert antiphon("repl", str(tmp_path / "a.vibe"), input="f() + 1").out == "in\n3\n"
    assert antiphon("repl", str(tmp_path / "nosuch.vibe"), input="1").code == 2


def test_a_failure_that_nobody_waited_for_is_told_once(talk: Talk):
    talk.feed('function f(): number { throw "boom" }')
    with pytest.raises(VibeError, match="boom"):
        talk.feed("async let x = f()")
    assert talk.feed("1 + 1") == 2
