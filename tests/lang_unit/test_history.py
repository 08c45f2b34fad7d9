"""The history that models are shown, against a plain model of it: lists of what was said."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from antiphon.fakes import Call, Received, Step
from tests.lang_unit.harness import MODELS, every_api, ran, said, tool_names

_TOKEN = re.compile(r"\b[PAN]\d+\b")


def tokens(text: str) -> list[str]:
    """The prompts (P), answers (A) and notes (N) in a text, in order."""
    return _TOKEN.findall(text)


@dataclass
class Writer:
    """Writes a program that asks, and works out what each ask should be shown."""

    random: Random
    lines: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    numbers: count = field(default_factory=lambda: count(1))

    def block(self, depth: int) -> list:
        """Some statements, as lines and as a tree."""
        ways = [self.ask, self.ask, self.ask, self.note]
        if depth:
            ways += [self.loop, self.function, self.attempt]
        return [self.random.choice(ways)(depth) for _ in range(self.random.randint(1, 3))]

    def ask(self, _: int) -> tuple:
        prompt, word = f"P{next(self.numbers)}", self.random.choice(("do", "vibe"))
        context = self.random.choice(("", "default", "local", "none"))
        self.lines.append(f'{word} "{prompt}" {context}')
        return "ask", prompt, context

    def note(self, _: int) -> tuple:
        said = f"N{next(self.numbers)}"
        self.lines.append(f'note("{said}")')
        return "note", said

    def loop(self, depth: int) -> tuple:
        rounds, mode = self.random.randint(0, 2), self.random.choice(("verbose", "forget", "compress", "compress('x')"))
        self.lines.append(f"for i{next(self.numbers)} in {rounds} {{")
        body = self.block(depth - 1)
        self.lines.append(f"}} {mode}")
        return "loop", rounds, mode[:6], body

    def function(self, depth: int) -> tuple:
        name, outer = f"f{next(self.numbers)}", self.lines
        self.lines = [f"function {name}() {{"]
        body = self.block(depth - 1)
        self.functions += [*self.lines, "}"]
        self.lines = outer
        self.lines.append(f"{name}()")
        return "call", body

    def attempt(self, depth: int) -> tuple:
        self.lines.append("try {")
        body = self.block(depth - 1)
        self.lines.append('throw "x"\n} catch e { }')
        return "try", body

    def program(self) -> tuple[str, list]:
        tree = self.block(3)
        return "\n".join([*self.functions, *self.lines]), tree


@dataclass
class Expected:
    """What should be shown in each request."""

    shown: list[list[str]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    base: int = 0

    def asked(self, shown: list[str]) -> str:
        self.shown.append(shown)
        return f"A{len(self.shown)}"

    def run(self, tree: list) -> Expected:
        for node in tree:
            getattr(self, f"_{node[0]}")(*node[1:])
        return self

    def _ask(self, prompt: str, context: str) -> None:
        before = {"default": self.history, "none": []}.get(context, self.history[self.base :])
        answer = self.asked([*before, prompt])
        if context != "none":
            self.history = [*self.history, prompt, answer]

    def _note(self, said: str) -> None:
        self.history = [*self.history, said]

    def _loop(self, rounds: int, mode: str, body: list) -> None:
        mark = self.history
        for _ in range(rounds):
            self.run(body)
            if mode == "forget":
                self.history = mark
        since = self.history[len(mark) :]
        if mode == "compre" and since:
            self.history = [*mark, self.asked(since)]

    def _call(self, body: list) -> None:
        history, base = self.history, self.base
        self.base = len(history)
        self.run(body)
        self.history, self.base = history, base

    def _try(self, body: list) -> None:
        self.run(body)


def check(seed: int, api: str) -> None:
    program, tree = Writer(Random(seed)).program()
    numbers = count(1)

    def answer(_: Received) -> Step:
        return f"A{next(numbers)}"

    expected = Expected().run(tree).shown
    run = ran(program, *[answer] * len(expected), api=api)
    assert run.outcome.error is None, f"{run.outcome.error.render()}\n{program}"
    assert [tokens(said(each)) for each in run.fake.requests] == expected, program


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(list(MODELS)))
@example(1, "anthropic")
def test_each_request_shows_what_it_should(seed: int, api: str):
    check(seed, api)


@every_api
def test_each_request_shows_what_it_should_in_every_api(api: str):
    check(12, api)


def test_what_async_let_asked_is_shown_from_its_first_use_on():
    text = 'async let a = do "first"\nprint(do "second")\nprint(a)\nprint(do "third" default)\n'

    def answer(received: Received) -> str:
        return f"<{said(received).splitlines()[-1]}>"

    run = ran(text, *[answer] * 3)
    second, third = (next(each for each in run.prompts if each.endswith(last)) for last in ("second", "third"))
    assert "first" not in second
    assert "a (" not in second
    assert "first\n<first>" in third
    assert 'a (json): "<first>"' in third


def test_a_result_that_was_cut_can_be_read_on_in_the_next_ask(tmp_path: Path):
    text = """\
import { long } from "./helper.py"
model m = { name: "default", tools: [long] }
vibe "look" m
vibe "look on" m
"""
    helper = (
        "from antiphon import tool\n\n@tool(output_limit=100)\ndef long() -> str:\n    'Long.'\n    return 'x' * 500\n"
    )
    (tmp_path / "helper.py").write_text(helper)
    file = tmp_path / "main.vibe"
    file.write_text(text)

    def read_on(received: Received) -> Call:
        handle = re.findall(r"handle '(result:[^']+)'", said(received))[-1]
        return Call("read_result", {"handle": handle, "start": 400})

    run = ran(file, {"tool": "long"}, "seen", read_on, "read")
    assert all(tool_names(each) == ["long", "read_result"] for each in run.fake.requests)
    assert "[characters 400 to 500 of 500]" in run.prompts[-1]
