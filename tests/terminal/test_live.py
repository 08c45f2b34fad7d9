"""The live view of a running session, as a file, a terminal and a hostile model see it."""

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from antiphon.conversation import ToolCall, ToolResult
from antiphon.fakes import Answer, Fake, call
from antiphon.results import diff, table, text
from antiphon.session import (
    AIResult,
    CallFinished,
    CallStarted,
    Event,
    NoAnswer,
    Question,
    QuestionAsked,
    RunEnded,
    RunRecord,
    RunStarted,
    Session,
    UsageChanged,
)
from antiphon.terminal.live_view import LiveView
from antiphon.terminal.markdown_blocks import MarkdownBlocks
from antiphon.terminal.state_lines import sum_run_usage
from antiphon.tools import ToolCallRecord, ToolFailure, Toolset, as_tool
from antiphon.wire import CallDelta, ReasoningDelta, TextDelta, Usage
from tests.strategies import any_text, json_values
from tests.terminal.emulator import Emulator

#: What our own terminal output may do: colours, cursor up, to the line's start, erasing what is below, hiding the
#: cursor, cropping lines.
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9]+A|J|\?25[hl]|\?7[hl])")
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[5;5H\x9b31m\u202egnp\u2066\u200b\r\x08[red]x[/red] :smile: &#x202e; &#27;[2J"


def weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ToolFailure("no such city: Atlantis\nnor has there ever been")
    return f"Rain in {city}\nuntil tomorrow"


def drop(table: str) -> str:
    """Drop a table."""
    return f"dropped {table}"


@pytest.fixture(scope="module")
def served() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


class Page(Console):
    """A console that keeps what it was written to."""

    def __init__(self, **settings: Any) -> None:
        self.page = StringIO()
        super().__init__(file=self.page, _environ={"TERM": "xterm"}, **settings)


def console(width: int = 60, terminal: bool = False, **settings: Any) -> Page:
    return Page(width=width, height=20, force_terminal=terminal, **settings)


def written(console: Console) -> str:
    page = console.page if isinstance(console, Page) else console.file
    assert isinstance(page, StringIO)
    return page.getvalue()


class Telling(LiveView):
    """A view that is told of what happens in a run, or of one so many runs inside of it."""

    def tell(self, body: Any, depth: int = 0) -> None:
        run, around = f"run{depth}", f"run{depth - 1}" if depth else None
        if run not in self.__dict__.setdefault("known", set()):
            self.known.add(run)
            self.show(Event(run, 0, self._clock(), RunStarted("vibe", "", "", around)))
        self.show(Event(run, 0, self._clock(), body))


def done(result: AIResult) -> RunEnded:
    return RunEnded("done", result)


def failed(run: RunRecord) -> RunEnded:
    return RunEnded("failed", error=NoAnswer(run.detail, run))


def asked(kind: Any, call: ToolCall, text: str) -> QuestionAsked:
    return QuestionAsked(Question("q", kind, text, call=call))


def shown(*bodies: Any, width: int = 60) -> str:
    """What a file gets of these events."""
    to = console(width)
    with Telling(to, clock=lambda: 0.0) as view:
        for body in bodies:
            view.tell(body)
    return written(to)


def finished(result: ToolResult | str, milliseconds: float = 1500, **arguments: Any) -> CallFinished:
    given = result if isinstance(result, ToolResult) else ToolResult("c1", result)
    record = ToolCallRecord("weather", arguments, given.text, None, milliseconds)
    return CallFinished(ToolCall("c1", "weather", arguments), given, record)


#: One call after the other, so that they are done in the order of the calls.
IN_TURN = (as_tool(weather, concurrent=False),)


def run(fake: Fake, to: Console, *script: Any, tools: Any = IN_TURN) -> str:
    fake.reset()
    fake.play(*script)
    session = Session(fake.connect("anthropic/claude-sonnet-5"), tools)
    with LiveView(to) as view, session.stream("…") as events:
        for event in events:
            view.show(event)
    return re.sub(r" · \$[\d.]+", "", re.sub(r"\d+ms|\d\.\ds", "5ms", written(to)))


def interrupted(to: Console, error: type[BaseException]) -> None:
    with Telling(to, clock=lambda: 0.0) as view:
        view.tell(TextDelta("half a sent"))
        view.tell(CallStarted(ToolCall("c1", "weather", {"city": "Oslo"})))
        raise error


SCRIPT = (
    Answer(
        "Let me **look**.\n\n- one\n- two\n",
        [call("weather", city="Oslo"), call("weather", city="Atlantis")],
        reasoning="Two cities to\nlook up.",
        usage=(100, 20),
    ),
    Answer("It *rains* in Oslo.", usage=(200, 10)),
)


class TestAsAFile:
    def test_a_whole_run(self, served: Fake):
        assert run(served, console(), *SCRIPT) == (
            "∴ Two cities to\n"
            "\n"
            "Let me **look**.\n"
            "\n"
            "- one\n"
            "- two\n"
            "\n"
            '✓ weather(city="Oslo")  Rain in Oslo (+1 line)  5ms\n'
            '✗ weather(city="Atlantis")  5ms\n'
            "  no such city: Atlantis\n"
            "  nor has there ever been\n"
            "\n"
            "It *rains* in Oslo.\n"
            "\n"
            "✓ done  2 calls · 300 in, 30 out  5ms\n"
        )

    def test_in_twenty_columns(self, served: Fake):
        output = shown(finished("Rain", city="Oslo"), finished(ToolResult("c1", "no such city", True)), width=20)
        assert output == "✓ weath…  Rain  1.5s\n✗ weather()  1.5s\n  no such city\n"
        assert all(cell_len(line) <= 20 for line in run(served, console(20), *SCRIPT).splitlines())

    def test_lines_come_as_soon_as_they_are_complete(self):
        to = console()
        with Telling(to) as view:
            view.tell(TextDelta("one\ntw"))
            assert written(to) == "one\n"
            view.tell(TextDelta("o\nthree"))
            assert written(to) == "one\ntwo\n"
        assert written(to) == "one\ntwo\nthree\n"

    def test_a_run_inside_a_call_is_indented(self):
        to = console()
        with Telling(to, clock=lambda: 0.0) as view:
            view.tell(CallStarted(ToolCall("c0", "ask")))
            view.tell(TextDelta("hm"), depth=1)
            view.tell(finished("Rain", city="Oslo"), depth=1)
            view.tell(done(AIResult("hm", run=RunRecord(Usage(1, 2)))), depth=1)
            view.tell(CallFinished(ToolCall("c0", "ask"), ToolResult("c0", "hm"), ToolCallRecord("", {}, "", None, 0)))
        assert written(to) == (
            '  hm\n\n  ✓ weather(city="Oslo")  Rain  1.5s\n  ✓ done  1 in, 2 out  0ms\n✓ ask()  hm\n'
        )

    def test_a_result_says_its_own_summary_and_opens_if_it_asks_to(self):
        rows = table([{"a": 1}], summary="1 city")
        assert "✓ weather()  1 city  1.5s\n" in shown(finished(ToolResult("c1", "a\n1", semantic=rows)))
        opened = text("the whole", summary="short", collapsed=False)
        assert "the whole" in shown(finished(ToolResult("c1", "x", semantic=opened)))
        hidden = text("the whole", summary="short", preferred_view="hidden", collapsed=False)
        assert shown(finished(ToolResult("c1", "x", semantic=hidden))) == "✓ weather()  1.5s\n"

    def test_what_a_call_changed_is_seen_unless_its_tool_folds_it_away(self):
        changed = diff("a.py", "one\ntwo\n", "one\n2\n")
        output = shown(finished(ToolResult("c1", "x", semantic=changed)))
        assert output == "✓ weather()  +1 -1 lines  1.5s\n  @@ -1,2 +1,2 @@\n   one\n  -two\n  +2\n"
        folded = replace(changed, display=replace(changed.display, collapsed=True))
        assert shown(finished(ToolResult("c1", "x", semantic=folded))) == "✓ weather()  +1 -1 lines  1.5s\n"
        long = diff("a.py", "", "\n".join(map(str, range(100))))
        assert "more lines" in shown(finished(ToolResult("c1", "x", semantic=long)))

    def test_a_cost_of_nothing_is_not_told(self):
        for cost in (0.0, None):
            assert "$" not in shown(done(AIResult("x", run=RunRecord(Usage(1, 2), cost))))
        assert "<$0.0001" in shown(done(AIResult("x", run=RunRecord(Usage(1, 2), 0.00001))))

    def test_long_arguments_and_results_stay_one_line(self):
        line = shown(finished("y" * 10_000, city="x" * 10_000, more=[1] * 5000, and_more={"a": "b" * 5000}))
        assert line.count("\n") == 1
        assert cell_len(line.rstrip("\n")) <= 60

    def test_a_long_error_is_cut(self):
        output = shown(finished(ToolResult("c1", "e\n" * 500, is_error=True)))
        assert output.count("  e\n") == 20
        assert "[480 more lines]" in output

    def test_questions_are_shown_whole(self):
        question = f"May `weather` run with {'x' * 500}y?"
        output = shown(asked("approval", ToolCall("c1", "weather"), question))
        assert output.startswith("? May `weather` run")
        assert output.replace("\n", "").count("x") == 500
        output = shown(asked("question", ToolCall("c1", "ask"), "z" * 10_000))
        assert "[2,000 characters not shown]" in output

    def test_no_part_of_a_question_can_pass_for_another(self):
        forged = f"May `run_shell` run?\n  command: rm -r x;{' ' * 100}? May `look` run?{' ' * 100}path: x\n    body\n"
        output = shown(asked("approval", ToolCall("c1", "run_shell"), forged + "y" * 100))
        lines = output.splitlines()
        assert lines[:2] == ["? May `run_shell` run?", "    command: rm -r x;"]
        assert "        ? May `look` run?" in lines
        assert "        path: x" in lines
        assert "      body" in lines
        assert all(line.startswith("  ") for line in lines[1:] if line)

    def test_an_outcome_that_is_not_done_says_why(self):
        output = shown(failed(RunRecord(outcome="limit", detail="the limit of 3 turns is reached")))
        assert output == "■ limit  0ms\n  the limit of 3 turns is reached\n"

    def test_an_answer_that_was_not_streamed_is_shown_at_the_end(self):
        assert "forty-two" in shown(TextDelta("I think."), done(AIResult({"answer": "forty-two"})))
        assert "plain answer" in shown(done(AIResult("plain answer")))
        streamed = shown(TextDelta('{"answer": 42}'), done(AIResult({"answer": 42})))
        assert streamed.count("42") == 1

    def test_leaving_early_tells_what_was_interrupted(self):
        to = console()
        with pytest.raises(KeyboardInterrupt):
            interrupted(to, KeyboardInterrupt)
        assert written(to) == 'half a sent\n\n■ weather(city="Oslo")  interrupted  0ms\n'

    def test_a_terminal_that_knows_only_ascii(self):
        class Ascii(StringIO):
            encoding = "ascii"

        to = Console(file=Ascii(), width=60)
        with Telling(to, clock=lambda: 0.0) as view:
            view.tell(ReasoningDelta("hm"))
            view.tell(TextDelta("é ✓\n"))
            view.tell(finished("x" * 100, city="ü"))
            view.tell(done(AIResult("é ✓\n", (), RunRecord(Usage(1, 1), 0.5))))
        assert written(to).isascii()
        assert "+ done  1 in, 1 out - $0.50  0ms\n" in written(to)


def wait_until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


class TestAsATerminal:
    def test_markdown_is_rendered_when_a_block_is_complete(self):
        to = console(terminal=True, color_system=None)
        with Telling(to) as view:
            view.tell(TextDelta("Some **bo"))
            wait_until(lambda: "Some **bo" in written(to))  # as much of it as is Markdown already
            view.tell(TextDelta("ld** text.\n\nNext"))
            view.tell(TextDelta(" one.\n"))
            assert "Some bold text." in written(to)
        screen = played(written(to))
        assert screen == ["Some bold text.", "", "Next one."]

    def test_what_stays_on_the_screen_is_what_a_file_gets(self, served: Fake):
        to = console(terminal=True, color_system=None)
        lines = played(run(served, to, *SCRIPT))
        assert [line.strip() for line in lines] == [
            "∴ Two cities to",
            "",
            "Let me look.",
            "",
            "• one",
            "• two",
            "",
            '✓ weather(city="Oslo")  Rain in Oslo (+1 line)  5ms',
            '✗ weather(city="Atlantis")  5ms',
            "no such city: Atlantis",
            "nor has there ever been",
            "",
            "It rains in Oslo.",
            "",
            "✓ done  2 calls · 300 in, 30 out  5ms",
        ]

    def test_what_runs_now_is_told_at_the_bottom(self):
        to = console(terminal=True, color_system=None)
        with Telling(to) as view:
            for number in range(6):
                view.tell(CallStarted(ToolCall(f"c{number}", "weather", {"city": f"Oslo {number}"})))
            view.tell(UsageChanged(Usage(1204, 300), 0.25))
            wait_until(lambda: len(played(written(to))) == 6 and "0.25" in written(to))
            screen = played(written(to))
            assert re.fullmatch(r'\S weather\(city="Oslo 0"\)  \d+ms', screen[0])
            assert screen[4] == "  and 2 more"
            assert re.fullmatch(r"\S 6 calls · \d+ms · 1,204 in, 300 out · \$0\.25", screen[5])

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
    def test_the_terminal_is_given_back_whatever_happens(self, error: type[BaseException]):
        to = console(terminal=True)
        before = sys.stdout, sys.stderr
        with pytest.raises(error):
            interrupted(to, error)
        assert written(to).rindex("\x1b[?25h") > written(to).rindex("\x1b[?25l")
        assert (sys.stdout, sys.stderr) == before
        wait_until(lambda: not any("moving" in thread.name for thread in threading.enumerate()))
        to.print("still usable")

    def test_nothing_moves_while_a_human_is_asked(self, served: Fake):
        to = console(terminal=True, color_system=None)
        served.reset()
        served.play(call("drop", table="t"), "Gone.")
        session = Session(served.connect("anthropic/claude-sonnet-5"), Toolset([drop]).requiring_approval())
        with LiveView(to) as view, session.stream("…") as events:
            for event in events:
                view.show(event)
                if isinstance(event.body, QuestionAsked):
                    before = written(to)
                    assert before.rindex("\x1b[?25h") > before.rindex("\x1b[?25l")
                    time.sleep(0.3)
                    assert written(to) == before, "nothing moves"
                    events.run.allow(event.body.question.id)
        assert "dropped" in written(to)

    def test_no_color(self):
        to = Console(file=StringIO(), force_terminal=True, width=60, _environ={"NO_COLOR": "1", "TERM": "xterm"})
        with Telling(to) as view:
            view.tell(finished(ToolResult("c1", "bad", is_error=True)))
        assert not re.search(r"\x1b\[[0-9;]*3\dm", written(to))

    def test_many_events_cost_little(self):
        to = console(terminal=True)
        with Telling(to) as view:
            for _ in range(20_000):
                view.tell(TextDelta("word "))
            for _ in range(20_000):
                view.tell(CallDelta(0, "", '{"a'))
        assert len(written(to)) < 400_000


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=10) | any_text | st.just(HOSTILE), json_values, st.sampled_from([20, 60]), st.booleans())
def test_hostile_text_is_shown_and_not_obeyed(said: str, value: Any, width: int, terminal: bool):
    to = console(width, terminal)
    bad = ToolCall.read(said, said, {said: value})
    events: list[tuple[Any, int]] = [
        (ReasoningDelta(said), 0),
        (TextDelta(said), 0),
        (TextDelta(said + "\n\n"), 0),
        (CallDelta(0, said, said), 0),
        (asked("question", bad, said), 0),
        (CallStarted(bad), 1),
        (CallFinished(bad, ToolResult(bad.id, said), ToolCallRecord(said, {}, said, None, 1)), 1),
        (CallFinished(bad, ToolResult(bad.id, said, is_error=True), ToolCallRecord(said, {}, said, None, 1)), 9),
        (CallFinished(bad, ToolResult(bad.id, "", semantic=text(said, summary=said, collapsed=False)), RECORD), 0),
        (failed(RunRecord(outcome="stuck", detail=said)), 0),
    ]
    with Telling(to, clock=lambda: 1.0) as view:
        for event, depth in events:
            view.tell(event, depth)
    output = OURS.sub("", written(to))
    if terminal:
        output = output.replace("\r", "\n")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", output)
    assert all(cell_len(line) <= width for line in output.split("\n")), output


RECORD = ToolCallRecord("f", {}, "", None, 1)


LINES = ["a\n", "\n", "- x\n", "1. y\n", "```\n", "  z\n", "| t |\n", "~~~py\n", "<!-- c\n", "d -->\n", "b"]


@given(st.lists(st.sampled_from(LINES)), st.data())
def test_blocks_lose_nothing(pieces: list[str], data: st.DataObject):
    whole = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    blocks, found = MarkdownBlocks(), []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += blocks.feed(whole[start:end])
    found.append(blocks.finish())
    assert [line for block in found for line in block.split("\n") if line.strip()] == [
        line for line in whole.split("\n") if line.strip()
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\nb\n\nc\n", ["a", "b", "c"]),
        ("- a\n\n- b\n\n  more\n\nend\n", ["- a\n\n- b\n\n  more", "end"]),
        ("```\na\n\nb\n```\nc\n", ["```\na\n\nb\n```", "c"]),
        ("````\n```\n\nb\n````\n\nc\n", ["````\n```\n\nb\n````", "c"]),
        ("1. a\n\n   ```\n   x\n\n   y\n   ```\n\n2. b\n", ["1. a\n\n   ```\n   x\n\n   y\n   ```\n\n2. b"]),
        ("- a\n```\nx\n\ny\n```\n", ["- a\n```\nx\n\ny\n```"]),
        ("<pre>\na\n\n*b*\n</pre>\nc\n", ["<pre>\na\n\n*b*\n</pre>", "c"]),
        ("<!-- a\n\n```\n-->\n\nb\n\nc\n", ["<!-- a\n\n```\n-->", "b", "c"]),
    ],
)
def test_what_belongs_together_stays_together(text: str, expected: list[str]):
    blocks = MarkdownBlocks()
    found = [block for char in text for block in blocks.feed(char)]
    assert [*found, blocks.finish().rstrip()] == expected


def played(output: str) -> list[str]:
    """What is on the screen after all that was written."""
    emulator = Emulator(60, 20)
    emulator.write(output)
    return emulator.lines


def test_what_a_nested_run_used_is_counted_while_the_outer_one_goes_on():
    with Telling(console(), clock=lambda: 0.0) as view:
        view.tell(UsageChanged(Usage(100, 10), 0.5))
        view.tell(UsageChanged(Usage(7, 3), 0.25), depth=1)
        view.tell(UsageChanged(Usage(107, 13), 0.75))
        view.tell(done(AIResult("inner", run=RunRecord(Usage(7, 3)))), depth=1)
        assert (view.now().usage, view.now().cost) == (Usage(107, 13), 0.75)
        view.tell(done(AIResult("outer", run=RunRecord(Usage(107, 13)))))
        assert view.now().usage == Usage()


def test_the_cost_of_several_runs_is_unknown_if_one_is():
    known, unknown = UsageChanged(Usage(100, 10), 0.5), UsageChanged(Usage(7, 3), None)
    assert sum_run_usage([known, unknown]) == (Usage(107, 13), None)
    assert sum_run_usage([known, known]) == (Usage(200, 20), 1.0)
    assert sum_run_usage([]) == (Usage(None, None), None)
