"""What results look like in a terminal: golden files for the table of cases, and what must hold for any data."""

from __future__ import annotations

import importlib
import io
import os
import re
import struct
import unicodedata
import zlib
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from antiphon import views
from antiphon.errors import ContentError
from antiphon.results import Display, Result, diff, error, file_list, image, structured, table, terminal, text
from antiphon.results.result import VIEWS
from antiphon.terminal import (
    Context,
    Lines,
    make_console,
    make_renderable,
    page_description,
    print_result,
    register_renderer,
    sanitize_line,
    sanitize_text,
    sort_results,
)
from antiphon.terminal import custom_renderers as registry
from antiphon.terminal import view_renderers as drawers
from antiphon.terminal.images import detect_image_protocol
from antiphon.terminal.sixel import encode_sixel
from tests.strategies import results
from tests.terminal.cases import CASES, HOSTILE, NEW, OLD, PIXEL

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = (40, 80, 120)
SGR = re.compile(r"\x1b\[[0-9;]*m")
ENVIRONMENT = ("TERM_PROGRAM", "KITTY_WINDOW_ID", "TMUX", "STY", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


def printed(result: Result, width: int = 80, *, full: bool = False, color: bool = False, **options: Any) -> str:
    file = io.StringIO()
    make_console(file, width, color).print(make_renderable(result, full=full, **options), end="")
    return file.getvalue()


# The table of cases


def picture(result: Result) -> str:
    """A case at every width, and once with its colours made visible.

    One that opens by itself is shown as it is; others are shown closed, then in full.
    """
    full = result.display.collapsed is not False
    parts = [f"== {width} columns, closed\n{printed(result, width)}" for width in WIDTHS if full]
    parts += [f"== {width} columns\n{printed(result, width, full=full)}" for width in WIDTHS]
    colored = printed(result, 80, full=full, color=True).replace("\x1b", "␛")
    return "".join([*parts, f"== 80 columns, in colour\n{colored}"])


@pytest.mark.parametrize("name", CASES)
def test_a_case_looks_like_its_golden_file(name: str):
    """`UPDATE_GOLDEN=1 pytest tests/terminal` writes the files anew; read the difference before you keep it."""
    path = GOLDEN / f"{name}.txt"
    seen = picture(CASES[name])
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(seen, encoding="utf-8", newline="\n")
    assert seen == path.read_text(encoding="utf-8")


def test_every_golden_file_has_a_case():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_colours_add_nothing_but_colours(name: str):
    for width in (20, *WIDTHS):
        assert SGR.sub("", printed(CASES[name], width, full=True, color=True)) == printed(CASES[name], width, full=True)


@pytest.mark.parametrize("name", CASES)
def test_a_case_survives_a_terminal_without_unicode(name: str):
    for encoding in ("ascii", "cp1252", "cp932"):
        written(CASES[name], 60, True, encoding).encode(encoding)


# One line, opened, hidden


def test_a_result_is_one_line_unless_something_opens_it():
    assert printed(text("a\nb\nc", summary="three")) == "✓ text  three\n"
    assert printed(text("a\nb", summary="two", collapsed=False)).count("\n") == 3
    assert printed(error("broken")) == "✗ error\n  broken\n"
    assert printed(text("a", summary="s"), state="failed", title="run()", seconds=1.25) == "✗ run()  s  1.2s\n  a\n"


def test_the_line_says_what_ran_and_how_long_it_took():
    assert printed(text("a", summary="s"), title="run(x=1)", seconds=0.012) == "✓ run(x=1)  s  12ms\n"
    assert printed(terminal("make", "", exit_code=1)) == "✗ make  exit 1, 0 lines\n"


def test_a_result_without_a_summary_shows_how_it_begins():
    assert printed(text("first\nsecond\nthird")) == "✓ text  first (+2 lines)\n"
    assert printed(structured({"a": [1]})) == '✓ structured  {"a": [1]}\n'


def test_without_a_header_only_the_body_is_shown():
    result = text("body", summary="s")
    assert printed(result, full=True, header=False) == "body\n"
    assert printed(text("body"), full=True) == "body\n"


def test_hidden_results_are_named_only_when_everything_is_asked_for():
    hidden = text("secret", summary="internal", preferred_view="hidden")
    assert printed(hidden) == ""
    assert printed(hidden, full=True) == "(hidden) text: internal\n"


def test_full_pays_no_heed_to_the_height():
    assert "more lines" in printed(text(OLD, max_height=3, collapsed=False))
    assert "line 20" in printed(text(OLD, max_height=3), full=True)


def test_the_note_counts_what_is_left_out():
    shown = printed(table([{"n": n} for n in range(1000)], collapsed=False, max_height=12))
    assert "990 more rows" in shown
    shown = printed(terminal("x", "".join(f"{n}\n" for n in range(1000)), exit_code=3, collapsed=False, max_height=9))
    assert "993 more lines" in shown
    assert shown.endswith("  999\n  exit code 3\n")


def test_results_are_ordered_by_priority():
    a, b, c = (
        Result("text", name, display=Display(priority=priority)) for name, priority in (("a", 1), ("b", None), ("c", 5))
    )
    assert [result.data for result in sort_results([b, a, c])] == ["c", "a", "b"]
    assert sort_results([b, b]) == [b, b]


def test_print_result_prints_to_the_terminal_or_a_console(capsys: pytest.CaptureFixture[str]):
    print_result(text("a", summary="s"))
    assert capsys.readouterr().out == "✓ text  s\n"
    file = io.StringIO()
    print_result(text("[red]:smile:", summary="s"), Console(file=file, width=40), full=True)
    assert file.getvalue() == "✓ text  s\n  [red]:smile:\n"


def test_no_color_is_heeded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    file = io.StringIO()
    Console(file=file, force_terminal=True, width=80).print(make_renderable(error("x"), full=True))
    assert "[31m" not in file.getvalue()


def test_rows_that_were_not_even_given_are_counted():
    lines = Lines([Text("a"), Text("b")], total=7, noun="item")
    assert [line.plain for line in lines.fit(make_console(io.StringIO(), 40), 40, 10)] == ["a", "b", "… 5 more items"]
    lines = Lines([Text("a"), Text("b")], total=7, at_least=True, tail=[Text("z")])
    assert [line.plain for line in lines.fit(make_console(io.StringIO(), 40), 40, 10)] == [
        "a",
        "b",
        "… 4+ more lines",
        "z",
    ]


def test_of_what_a_command_printed_the_end_is_drawn_too():
    output = "".join(f"{n}\n" for n in range(1, 9))
    shown = printed(terminal("x", output, collapsed=False, max_height=6), header=False).splitlines()
    assert shown == ["$ x", "1", "… 3 more lines", "5", "6", "7", "8"]


@pytest.mark.parametrize(("side_by_side", "left_out"), [(True, 16), (False, 36)])
def test_what_is_left_out_of_a_diff_is_counted_as_it_is_drawn(side_by_side: bool, left_out: int):
    result = diff("a", OLD, OLD.replace("line", "row"), collapsed=False, max_height=5)
    shown = printed(result, side_by_side=side_by_side).splitlines()
    assert shown[-1].strip() == f"… {left_out} more lines"


def test_of_a_large_tree_it_is_told_how_much_is_left_out():
    shown = printed(structured({str(n): {"x": n} for n in range(100)}, collapsed=False, max_height=9), header=False)
    assert shown.splitlines()[-2:] == ["4: {1}", "… 191 more lines"]
    assert "10,001+ more lines" in printed(structured({str(n): {"x": n} for n in range(9000)}, collapsed=False))


def test_what_is_not_complete_says_so():
    status = Result("git.status", {"modified": ["a", "b"], "conflicted": ["b"], "truncated": True})
    assert printed(status, full=True) == "(no branch)\n~ a\n! b\n(the status is not complete)\n"
    patch = Result("git.diff", {"content": "@@ -1 +1 @@\n-a\n+b", "truncated": True}, mime_type="text/x-diff")
    assert printed(patch, full=True) == "@@ -1 +1 @@\n-a\n+b\n(the diff is not complete)\n"


def test_every_type_of_view_has_a_drawer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(views, "ViewBody", views.ViewBody | views.Leaf)
    with pytest.raises(TypeError, match="no renderer, or no view, for Leaf"):
        importlib.reload(drawers)


# Diffs


def test_diffs_are_side_by_side_where_there_is_room_or_when_asked():
    result = diff("a", OLD, NEW)
    assert "│" not in printed(result, 119, full=True)
    assert "│" in printed(result, 120, full=True)
    assert "│" in printed(result, 60, full=True, side_by_side=True)
    assert "│" not in printed(result, 200, full=True, side_by_side=False)


lines = st.lists(st.sampled_from("abcdefg"), max_size=30)


@given(lines, lines)
def test_a_unified_diff_leads_from_the_old_to_the_new(old: list[str], new: list[str]):
    before, after = "\n".join(["start", *old, "end"]), "\n".join(["start", *new, "end"])
    shown = printed(diff("x", before, after), full=True, header=False).splitlines()
    if before == after:
        assert shown == ["unchanged"]
        return
    assert apply(before.split("\n"), shown) == after.split("\n")


@pytest.mark.parametrize("seed", range(3))
def test_large_files_are_compared_exactly(seed: int):
    random = Random(seed)
    old = [f"{random.randrange(800)}" for _ in range(2000)]
    new = [line for line in old if random.random() > 0.05]
    for _ in range(50):
        new.insert(random.randrange(len(new)), "new")
    shown = printed(diff("x", "\n".join(old), "\n".join(new), summary="s"), full=True, header=False).splitlines()
    assert apply(old, shown) == new


def apply(old: list[str], shown: list[str]) -> list[str]:
    """The new lines, by the hunks that are shown."""
    new: list[str] = []
    at = 0
    for line in shown:
        if found := re.match(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line):
            start = int(found[1]) - (found[2] != "0")
            new += old[at:start]
            at = start
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            assert old[at] == line[1:]
            new += [line[1:]] if line.startswith(" ") else []
            at += 1
    return new + old[at:]


# Images


def terminal_console(**options: Any) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, **options)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "screen-256color", "TERM_PROGRAM": "iTerm.app"}, ""),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, ""),
    ],
)
def test_a_terminal_says_whether_it_draws(environment: dict[str, str], expected: str):
    assert detect_image_protocol(terminal_console(), environment) == expected
    assert detect_image_protocol(make_console(io.StringIO(), 80), environment) == ""


@pytest.mark.parametrize(
    ("variables", "begins"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b_Ga=T,f=100,"),
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]1337;File=inline=1;"),
        ({"TERM": "foot"}, "\x1bPq#180;2;100;0;0#180@\x1b\\"),
    ],
)
def test_an_image_is_drawn_and_described(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], begins: str):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    terminal = terminal_console()
    terminal.print(make_renderable(image(base64=PIXEL, alt="red"), full=True))
    shown = terminal.file.getvalue()  # pyright: ignore
    assert begins in shown
    assert "[image: red, image/png, 1x1, 69 B]" in shown


def png(filters: str) -> bytes:
    """Five lines of three pixels, each line after the filter of that number."""
    pixels = [bytes((7 * y + 40 * x + 90 * c) % 256 for x in range(3) for c in range(3)) for y in range(5)]
    packed = b""
    for y, kind in enumerate(map(int, filters)):
        packed += bytes([kind])
        for x, value in enumerate(pixels[y]):
            left, up = pixels[y][x - 3] if x > 2 else 0, pixels[y - 1][x] if y else 0
            corner = pixels[y - 1][x - 3] if y and x > 2 else 0
            nearest = min((left, up, corner), key=lambda guess: abs(left + up - corner - guess))
            packed += bytes([(value - (0, left, up, (left + up) // 2, nearest)[kind]) % 256])
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 3, 5, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(packed)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I4s", len(body), name) + body + b"0000" for name, body in chunks
    )


def test_sixels_are_the_same_however_the_image_was_packed():
    expected = encode_sixel(png("00000"), 100)
    assert expected.startswith("\x1bPq#")
    for filters in ("01234", "43210", "22222", "44444"):
        assert encode_sixel(png(filters), 100) == expected
    assert encode_sixel(png("01234")[:60], 100) == ""


@pytest.mark.parametrize("data", ["\x1b]0;evil\x07", "aGk=\x1b[2J", "aGk", "", "aGk=" * 4_000_000])
def test_what_is_no_drawable_image_is_described(monkeypatch: pytest.MonkeyPatch, data: str):
    monkeypatch.setenv("TERM", "xterm-kitty")
    terminal = terminal_console()
    terminal.print(make_renderable(Result("image", {"base64": data, "alt": "x"}, "s", "image/png"), full=True))
    shown = SGR.sub("", terminal.file.getvalue())  # pyright: ignore
    assert "[image: x" in shown
    assert "\x1b" not in shown


# Renderers of others


@pytest.fixture
def renderers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_renderers", dict(registry._renderers))
    monkeypatch.setattr(registry, "page_description", {})


@pytest.mark.usefixtures("renderers")
def test_a_renderer_is_registered_by_kind():
    @register_renderer("acme.report", page="A report")
    def show(result: Result, context: Context) -> Text:
        return context.text(f"{result.data['title']}, {context.width} columns", "bold")

    assert printed(Result("acme.report", {"title": "Q3"}, "s"), full=True) == "✓ acme.report  s\n  Q3, 78 columns\n"
    assert registry.page_description == {"acme.report": "A report"}
    with pytest.raises(ContentError, match=r"git\.status"):
        register_renderer("Not A Kind")


@pytest.mark.usefixtures("renderers")
def test_a_renderer_goes_before_the_view_of_a_kind_that_ships():
    register_renderer("table")(lambda result, context: context.text(f"{len(result.data['rows'])} rows, my way"))
    assert printed(table([{"a": 1}]), full=True, header=False) == "1 rows, my way\n"
    register_renderer("table")(lambda _, __: 1 / 0)  # type: ignore[arg-type, return-value]
    failed = printed(table([{"a": 1}]), full=True, header=False)
    assert failed == "(the renderer of table failed: ZeroDivisionError: division by zero)\na\n─\n1\n"


@pytest.mark.usefixtures("renderers")
def test_a_renderer_that_fails_is_named_and_the_chain_goes_on():
    @register_renderer("acme.report")
    def show(_: Result, __: Context) -> Text:
        raise KeyError("no \x1b[31m title")

    shown = printed(Result("acme.report", [{"a": 1}], "s"), full=True).splitlines()
    assert shown[1] == "  (the renderer of acme.report failed: KeyError: 'no \\x1b[31m title')"
    assert shown[2:] == ["  a", "  ─", "  1"]


@pytest.mark.usefixtures("renderers")
def test_a_renderer_that_fails_while_it_is_printed_falls_back_too():
    class Late:
        def __rich_console__(self, *_: object):
            yield Text("half")
            raise ValueError("too late")

    register_renderer("acme.late")(lambda _, __: Late())
    shown = printed(Result("acme.late", "data", "s"), full=True)
    assert "half" not in shown
    assert shown.endswith("(the renderer of acme.late failed: ValueError: too late)\n  data\n")


@pytest.mark.usefixtures("renderers")
def test_what_a_careless_renderer_returns_is_harmless():
    def careless(result: Result, _: Context) -> Any:
        grid = Table(title=result.data)
        grid.add_column(Text(result.data))
        grid.add_row(Text(result.data, style="link https://evil.example"))
        return grid

    register_renderer("acme.careless")(careless)
    result = Result("acme.careless", HOSTILE * 5, "s")
    check(printed(result, 30, full=True), 30)
    assert "\x1b]" not in printed(result, 30, full=True, color=True)
    register_renderer("acme.string")(lambda result, _: "[red]" + result.data)
    assert printed(Result("acme.string", "x:smile:", ""), full=True) == "[red]x:smile:\n"


@pytest.mark.usefixtures("renderers")
def test_plugins_are_imported_when_their_kind_is_seen(monkeypatch: pytest.MonkeyPatch):
    loaded: list[str] = []

    def plugin(name: str, renderer: Any) -> Any:
        def load() -> Any:
            loaded.append(name)
            if renderer is None:
                raise ImportError("no such module")
            return renderer

        return SimpleNamespace(name=name, value="acme:show", load=load)

    plugins = [plugin("acme.good", lambda _, __: "shown"), plugin("acme.bad", None), plugin("text", None)]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: plugins if group == "antiphon.renderers" else []
    )
    registry._find_plugins.cache_clear()
    try:
        assert printed(text("a"), full=True) == "a\n"
        assert loaded == []
        for _ in range(2):
            assert printed(Result("acme.good", 1), full=True) == "shown\n"
            failed = printed(Result("acme.bad", 1), 120, full=True)
            assert "acme:show cannot be imported: ImportError: no such module" in failed
        assert loaded == ["acme.good", "acme.bad"]
    finally:
        registry._find_plugins.cache_clear()


def test_every_shipped_kind_is_described_for_the_page():
    kinds = {result.kind for result in CASES.values() if not result.kind.startswith("acme")}
    assert kinds == set(page_description)


# Safety


def check(shown: str, width: int) -> None:
    """Nothing that a terminal obeys, and no line wider than it."""
    assert not [character for character in shown if character != "\n" and unicodedata.category(character) in CONTROL]
    assert max(map(cell_len, shown.split("\n"))) <= width


CONTROL = ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_every_control_and_format_character_is_escaped():
    everything = "".join(map(chr, range(0x110000)))
    left = {character for character in sanitize_text(everything) if unicodedata.category(character) in CONTROL}
    assert left == {"\n"}
    assert sanitize_text("\u202ea\u200b\ud800\U000e0041") == "\\u202ea\\u200b\\ud800\\U000e0041"


def test_ordinary_text_of_any_language_stays_as_it_is():
    for ordinary in ("héllo ✓", "日本語", "Ελληνικά", "שלום", "नमस्ते", "e\u0301", "👍🏽", "a\u00a0b"):
        assert sanitize_text(ordinary) == ordinary
    assert sanitize_text("⚠\ufe0f") == "⚠"
    assert sanitize_text("👩\u200d💻 ❤\ufe0f\u200d🔥 می\u200cخواهم") == "👩💻 ❤🔥 میخواهم"
    assert sanitize_text("a\u200db 👩\u200d\u200d💻") == "a\\u200db 👩\\u200d\\u200d💻"
    assert sanitize_text("a\ufe00\ufe01") == "a\\ufe00\\ufe01"
    assert sanitize_text("e" + "\u0301" * 6) == "e" + "\u0301" * 4 + "\\u0301\\u0301"
    assert sanitize_text("é✓", "ascii") == "\\xe9\\u2713"
    assert sanitize_line("a\nb\tc" + "x" * 10, 5) == "a\\nb   c[+10 characters]"


@pytest.mark.parametrize(
    "source",
    [
        "```lang hidden words\ncode\n```",
        "``` hidden\n```",
        "| a |\n|---|\n| b | hidden |",
        "> " * 15 + "hidden",
        "- " * 25 + "hidden",
        "[a](b 'hidden')",
        "[hidden]: https://example.com",
        "<!-- hidden --> <p title='hidden'>",
        "![hidden](x)",
        "<https://hidden.example>",
    ],
)
def test_markdown_hides_nothing(source: str):
    assert "hidden" in printed(text(source, markdown=True), 60, full=True)


def written(result: Result, width: int, full: bool, encoding: str = "utf-8", **options: Any) -> str:
    """What arrives at a file with an encoding."""
    content = io.BytesIO()
    file = io.TextIOWrapper(content, encoding=encoding, newline="")
    make_console(file, width, False).print(make_renderable(result, full=full, **options), end="")
    file.flush()
    return content.getvalue().decode(encoding)


@given(
    results, st.sampled_from([1, 3, 8, 20, 40, 80, 120]), st.booleans(), st.sampled_from(["utf-8", "ascii", "cp1252"])
)
@example(text(HOSTILE, markdown=True), 20, True, "utf-8")
@settings(max_examples=150, deadline=None)
def test_anything_is_shown_harmlessly(result: Result, width: int, full: bool, encoding: str):
    shown = written(result, width, full, encoding, side_by_side=len(result.summary) % 2 == 0)
    check(shown, width)
    if not full:
        assert shown.count("\n") <= (result.display.max_height or 40) + 12


@given(results, st.sampled_from([20, 80]))
@settings(max_examples=100, deadline=None)
def test_in_colour_the_only_sequences_are_colours(result: Result, width: int):
    check(SGR.sub("", printed(result, width, full=True, color=True)), width)


@pytest.mark.parametrize("view", VIEWS)
def test_nesting_is_bounded(view: Any):
    deep: Any = "bottom"
    for _ in range(5000):
        deep = [deep] if len(str(view)) % 2 else {"k": deep}
    shown = printed(Result("acme.deep", deep, "deep", display=Display(view)), 40, full=True)
    check(shown, 40)


def test_only_what_is_shown_is_looked_at():
    """Far too much for any terminal, in a time that would not do for a thousandth of it."""
    rows = [{"n": n, "name": "x" * 50} for n in range(50_000)]
    assert "49,962 more rows" in printed(table(rows, collapsed=False))
    log = "a line of a log\n" * 500_000
    assert "499,96" in printed(terminal("x", log, collapsed=False))
    assert "more lines" in printed(text("# x\n" * 100_000, markdown=True, collapsed=False))
    assert printed(text("x" * 5_000_000), full=True, header=False).count("\n") == 10_001


@pytest.mark.parametrize("full", [False, True])
def test_a_diff_names_its_file_folded_and_opened(full: bool):
    """Without a summary, and under the title of a call that does not say it."""
    data = {"path": "src/a.py", "original": "a\n", "modified": "b\n"}
    for seen in (
        printed(Result("diff", data), full=full),
        printed(Result("diff", data, "+1 -1"), full=full, title="edit"),
    ):
        assert "src/a.py" in seen.partition("\n")[0]
        assert '"original"' not in seen


def test_a_folded_diff_without_a_file_is_no_json():
    result = Result("diff", {"original": "a\n", "modified": "b\n"})
    view = views.headline(result)
    assert view.gist == "a change of a file without a name"


@pytest.mark.parametrize(
    ("size", "shown"), [(999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"), (10**9, "1.0 GB")]
)
def test_a_size_never_rounds_up_to_a_thousand_of_its_unit(size: int, shown: str):
    listed = file_list("data", [{"name": "a", "type": "file", "size": size}])
    assert f" {shown} " in printed(listed, full=True)


def test_a_row_that_does_not_fit_at_all_counts_as_one():
    lines = Lines([Text("a"), Text("x" * 100), Text("c")])
    assert [line.plain for line in lines.fit(make_console(io.StringIO(), 40), 40, 1)] == ["a", "… 2 more lines"]
