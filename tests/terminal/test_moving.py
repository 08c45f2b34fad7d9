"""Answers as they come, in a terminal: nothing of them is lost, doubled or torn, and neither is what stands above."""

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.text import Text

from antiphon.session import Event, RunStarted
from antiphon.terminal.live_region import LiveRegion, reflows_on_resize
from antiphon.terminal.live_view import LiveView
from antiphon.terminal.scrollback import make_markdown
from antiphon.wire import ReasoningDelta, TextDelta
from tests.terminal.emulator import Emulator, Window

ABOVE = ["what stood there before", "and before that"]
WORDS = st.sampled_from(
    ["word", "**bold**", "`code`", "naïve", "漢字かな", "🎉", "x" * 70, "[a](b://c)", "*", "1.", "a_b_c", "\t"]
)
SAID = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
SHORT = st.lists(WORDS, min_size=1, max_size=4).map(lambda words: " ".join(words).replace("\t", ""))


@st.composite
def tables(draw: st.DrawFn) -> str:
    rows = draw(st.lists(st.tuples(SHORT, SHORT), min_size=1, max_size=12))
    return "\n".join(["| a | b |", "|---|--:|", *(f"| {first} | {second} |" for first, second in rows)])


@st.composite
def items(draw: st.DrawFn) -> str:
    mark, gap = draw(st.sampled_from(["- ", "* ", "1. "])), draw(st.sampled_from(["\n", "\n\n"]))
    return gap.join(f"{mark}{each}" for each in draw(st.lists(SAID, min_size=1, max_size=5)))


FENCED = st.lists(SAID | st.just(""), min_size=1, max_size=12).map(
    lambda lines: "```python\n" + "\n".join(lines) + "\n```"
)
QUOTED = st.lists(SAID, min_size=1, max_size=3).map(lambda lines: "\n".join(f"> {line}" for line in lines))
BLOCK = SAID | tables() | items() | FENCED | QUOTED | SHORT.map("# {}".format) | st.just("---")
#: Lines in any order: what belongs to what is for the parser to say.
SOUP = st.lists(
    st.sampled_from(
        ["a", "", "", "- x", "  - y", "1. z", "2) q", "```", "  ```", "   ````", "~~~py", "    deep", "  two",
         "| t | u |", "|---|---|", "> q", ">", "# h", "***", "---", "===", "* * *", "\tt", "-", "10. ten", "   - in",
         "`a`` b", " one"]
    ),
    max_size=25,
).map("\n".join)  # fmt: skip
TEXTS = st.one_of(
    st.lists(BLOCK, min_size=1, max_size=5).map("\n\n".join), st.lists(BLOCK, max_size=4).map("\n".join), SOUP
)


class Watched(LiveView):
    """A view of a run that says something."""

    def __init__(self, to: Any) -> None:
        super().__init__(to)
        self.show(Event("run", 0, time.time(), RunStarted("vibe", "", "", None)))

    def say(self, text: str) -> None:
        self.show(Event("run", 0, time.time(), TextDelta(text)))

    def draw(self) -> None:
        self._moving.draw()


@pytest.fixture
def terminal() -> Iterator[Emulator]:
    emulator = Emulator()
    emulator.write("\n".join([*ABOVE, ""]))
    yield emulator
    assert emulator.lines[:2] == ABOVE
    assert not emulator.screen.cursor.hidden


def drawn(text: str, columns: int) -> list[str]:
    """What there is to see of a text that is complete."""
    emulator = Emulator(columns, 100)
    Window(emulator).print(make_markdown(text))
    return emulator.lines


def cut(text: str, at: list[int]) -> list[str]:
    places = sorted({place % (len(text) + 1) for place in at})
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@settings(max_examples=60, deadline=None)
@example("a\n\n>\na\n\n-\n\nb", [3], 40, 10)
@given(TEXTS, st.lists(st.integers(0, 10_000), max_size=12), st.integers(40, 100), st.integers(3, 40))
def test_what_was_streamed_is_what_is_drawn_of_the_whole(text: str, at: list[int], columns: int, rows: int):
    emulator = Emulator(columns, rows)
    emulator.write("\n".join([*ABOVE, ""]))
    with Watched(Window(emulator)) as view:
        for piece in cut(text, at):
            view.say(piece)
            view.draw()
            assert emulator.lines[:2] == ABOVE
    assert emulator.lines == [*ABOVE, *drawn(text, columns)]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(30, 90), st.integers(8, 30)), min_size=1, max_size=6), st.booleans())
def test_a_terminal_may_change_its_size_at_any_time(sizes: list[tuple[int, int]], folds: bool):
    emulator = Emulator(60, 12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("antiphon.terminal.live_region.reflows_on_resize", lambda: folds)
        with Watched(Window(emulator)) as view:
            for number, (columns, rows) in enumerate(sizes):
                view.say(f"said{number} and **more** of it\n\n- open{number} in a list")
                view.draw()
                emulator.resize(columns, rows, folds=folds)
                view.draw()
                view.say(f" end{number}\n\n")
                view.draw()
    seen = " ".join(emulator.lines).split()
    assert [word for word in seen if word[:3] in ("sai", "ope", "end")] == [
        f"{word}{number}" for number in range(len(sizes)) for word in ("said", "open", "end")
    ]


def test_the_rows_that_a_narrower_terminal_makes_of_one_are_all_taken_back(terminal: Emulator):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMUX", "/tmp/tmux")
        with Watched(Window(terminal)) as view:
            view.say("a paragraph that is not complete, and longer than the terminal will be " * 2)
            view.draw()
            terminal.resize(40, 20, folds=True)
            view.draw()
            view.say("\n\nnext")
    assert " ".join(terminal.lines).count("a paragraph") == 2


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({"TMUX": "x"}, True), ({"TERM": "foot"}, True), ({"TERM": "xterm"}, False), ({}, False)],
)
def test_only_of_terminals_that_say_so_lines_are_thought_to_be_folded(environment: dict[str, str], expected: bool):
    assert reflows_on_resize(environment) is expected


def test_what_is_open_is_drawn_as_it_will_be(terminal: Emulator):
    with Watched(Window(terminal)) as view:
        view.say("Some **bold** text.\n\n| a | b |\n|---|---|\n| 1 | 2")
        view.draw()
        assert [line.rstrip() for line in terminal.lines[2:7]] == ["Some bold text.", "", "a  b", "────", "1  2"]
        assert "answering" in terminal.lines[-1]


def test_an_open_block_that_is_higher_than_the_screen_shows_its_end(terminal: Emulator):
    with Watched(Window(terminal)) as view:
        for number in range(100):
            view.say(f"{'' if number else '```python'}\nline = {number}")
            view.draw()
            assert len(terminal.screen.history.top) <= 2
        assert terminal.lines[-3].strip() == "line = 99"
        assert len(terminal.lines) <= 22
        view.say("\n```\n")
    assert [line.strip() for line in terminal.lines[2:]] == [f"line = {number}" for number in range(100)]


def test_each_change_is_one_write(terminal: Emulator):
    with Watched(Window(terminal)) as view:
        view.say("one\n\ntw")
        before = len(terminal.pieces)
        view.say("o\n\nthree\n\nfo")
        assert len(terminal.pieces) == before + 1
    assert terminal.lines[2:] == ["one", "", "two", "", "three", "", "fo"]


def test_a_slow_first_drawing_takes_nothing_away(terminal: Emulator):
    class Slow:
        def __rich_console__(self, *_: object) -> Iterator[Text]:
            time.sleep(0.3)  # Time enough for the moving lines to be drawn meanwhile, if nothing kept them from it.
            yield Text("slow")

    to = Window(terminal)
    height = [1]
    moving = LiveRegion(to, MovingRows(height))
    moving.start()
    for height[0] in (3, 1, 5):
        to.print(Slow())
    moving.stop()
    assert terminal.lines[2:] == ["slow"] * 3


def test_lines_that_move_are_never_more_than_the_screen_has(terminal: Emulator):
    to = Window(terminal)
    moving = LiveRegion(to, MovingRows([50]))
    moving.start()
    for number in range(3):
        to.print(f"kept {number}")
    moving.stop()
    assert terminal.lines[2:] == ["kept 0", "kept 1", "kept 2"]


class MovingRows:
    """So many rows that change all the time."""

    def __init__(self, height: list[int]) -> None:
        self._height = height

    def __rich_console__(self, *_: object) -> Iterator[Text]:
        for _each in range(self._height[0]):
            yield Text(str(time.monotonic()))


def test_whoever_prints_meanwhile_gets_whole_lines_above(terminal: Emulator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", terminal)
    to = Window(terminal)

    def talk(name: str) -> None:
        for number in range(50):
            print(name, end=" ")
            print(number)

    with Watched(to) as view:
        threads = [
            threading.Thread(target=to.print, args=(f"{name} {number}",)) for name in "ab" for number in range(50)
        ]
        talker = threading.Thread(target=talk, args=("c",))
        for thread in [talker, *threads]:
            thread.start()
        for number in range(50):
            view.say(f"said {number}\n\n")
            view.draw()
        for thread in [talker, *threads]:
            thread.join()
        print("no end", end="")
    assert sys.stdout is terminal
    lines = [line for line in terminal.lines[2:] if line]
    said = [line for line in lines if line.startswith("said")]
    assert said[:-1] == [f"said {number}" for number in range(49)]
    assert sorted(lines) == sorted(
        [*(f"{name} {number}" for name in "abc" for number in range(50)), *said[:-1], "said 49", "no end"]
    )


def test_a_character_that_is_wider_than_thought_makes_no_second_line(terminal: Emulator):
    class Wide:
        def __rich_console__(self, *_: object) -> Iterator[Text]:
            yield Text("x" * 58 + "\u2192\u2192", no_wrap=True)

    to = Window(terminal)
    moving = LiveRegion(to, Wide())
    feed = terminal.write
    # A terminal for which an arrow takes two columns.
    terminal.write = lambda text: feed(text.replace("\u2192", "\u6f22"))  # type: ignore[method-assign]
    moving.start()
    for _ in range(5):
        to.print("kept")
    moving.stop()
    assert terminal.lines[2:] == ["kept"] * 5


def test_thoughts_and_speech_of_many_rows_leave_nothing_behind(terminal: Emulator):
    with Watched(Window(terminal)) as view:
        for number in range(40):
            view.show(Event("run", 0, time.time(), ReasoningDelta(f"thought {number}\n")))
            view.draw()
        view.say("# Done\n\nand said")
        view.draw()
    assert terminal.lines[2:] == ["∴ thought 0", "", "Done", "", "and said"]


def test_a_region_that_grows_keeps_its_last_row(terminal: Emulator):
    rows = ["first", "second"]

    class Growing:
        def __rich__(self) -> Text:
            return Text("\n".join(rows))

    region = LiveRegion(Window(terminal), Growing())
    region.start()
    region.draw()
    rows.append("third")
    region.draw()
    assert [line.strip() for line in terminal.lines][-3:] == ["first", "second", "third"]
    region.stop()
