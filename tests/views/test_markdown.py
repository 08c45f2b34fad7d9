"""Markdown as blocks, compared with what GitHub's own implementation of the specification makes of it."""

from __future__ import annotations

import time

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.views.markdown import MarkdownElement, markdown_json, parse_markdown
from tests.answers import ANSWERS, normalised, to_html
from tests.streaming import read_streamed

#: Examples of each chapter of the specification, and of GitHub's additions.
EXAMPLES = (
    "\tcode\n\n  - foo\n\n\tbar",
    "# one\n## two ##\n#not\n####### seven\nText\n===\nText\n---",
    "***\n---\n_ _ _\n+++",
    "    code\n\n    more\ntext\n    no code",
    "```\n<\n >\n```\n~~~ py x=1\n```\n~~~",
    "``` a\\+b &ouml;\nx\n```",
    "[foo]: /url 'the title'\n\n[foo] [Foo][] [text][FOO] [none]",
    '[a]: <b c> "t"\n[x]: y\n[a] [x]',
    "[foo]: /a\n[foo]: /b\n\n[foo]",
    "a\n\n\nb\n  c\n d",
    "> # q\n> a\nlazy\n\n> b\n>> c\n> d",
    "-    a\n\n     b\n- c\n* d\n+ e",
    "10) a\n11) b\n\n3. c\n0. d",
    "- a\n\n- b\n\n  c\n-\n- d",
    "- a\n  - b\n    - c\n\n      d\n- e",
    "`` a ` b `` ` ` ``",
    "*a* **b** _c_ __d__ ***e*** a_b_c a*b*c",
    "**a*b**c* *a **b* c**",
    "[a](b) [a](<b c> 'd') [a]() [a [b](c)](d) [*a*](b)",
    '![a](b) ![a *b*](c "d") ![x][y]\n\n[y]: z',
    "<https://a.b/c?d=e&f> <a@b.c> <>",
    "a  \nb\\\nc\nd",
    "&amp; &copy; &#35; &#x22; &nope; &lt;i&gt;",
    "\\! \\a \\\\ \\`a\\` \\# \\[a](b)",
    "| a | b |\n|:-:|--:|\n| 1 | 2 |\n| \\| | `x \\| y` |",
    "a | b\n--|--\n1 |\n\ntext",
    "| a |\n|---|\n| b |\n> quote",
    "~~a~~ ~~b c~~",
    "- [ ] a\n- [x] b\n- [X] c\n- [y] d\n\n1. [ ] e",
    "- [ ] a\n\n- [x] b",
    "www.a.de https://a.de/b_c. (http://a.de/(b)) a@b.de ftp://x.y/z",
    "https://a.de/?q=1&hl=2; www.a.de/a), http://",
    "a.b-c_d@a.b a.b-c_d@a.b. a.b-c_d@a.b-",
    "* * *\n\n *a\n\n**\n\n__",
    "1986\\. A year\n- x\n1) y",
    "> - a\n>   b\n> - c\n\nd",
    "a\n```\nb\n```\nc\n***\nd\n# e\n> f\n- g",
)


FLAGS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_STRIKETHROUGH_DOUBLE_TILDE


def expected(text: str) -> list[str]:
    return normalised(cmarkgfm.github_flavored_markdown_to_html(text, options=FLAGS))


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_text_is_what_the_specification_says(text: str):
    assert normalised(to_html(parse_markdown(text))) == expected(text)


#: These hold HTML, which is text here.
HTML = ("<div", "<!--", "<br", "List<", "vector<", "Map<", "/a), http://")


@pytest.mark.parametrize("text", [each for each in ANSWERS if not any(map(each.__contains__, HTML))])
def test_an_answer_is_what_the_specification_says(text: str):
    assert normalised(to_html(parse_markdown(text))) == expected(text)


def words(nodes: tuple[MarkdownElement | str, ...]) -> str:
    return "".join(each if isinstance(each, str) else words(each.children) for each in nodes)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("<div>\n*a*\n</div>", "<div>\n*a*\n</div>"),
        ('**<a href="**">', '**<a href="**">'),
        ("<!-- a\n\n*b* -->", "<!-- a\n\n*b* -->"),
        ("[a](javascript:alert(1))", "[a](javascript:alert(1))"),
        ("[//]: # (a comment)", "[//]: # (a comment)"),
        ("[![a](b.png)](c)", "!a (b.png)"),
        ("|a|\n|-|\n|b|hidden|", "|a|\n|-|\n|b|hidden|"),
        (f"{'> ' * 60}hidden", f"{'> ' * 60}hidden"),
        ("[a] [a] [a]\n\n[a]: b\n\n|a|\n|-|\n|b|c|", "a a a[a]: b|a|\n|-|\n|b|c|"),
        ("![a ![b](c)](d)", "!a !b (c)"),
        ("[Б][Б]\n\n[б]: c", "Б[б]: c"),
    ],
)
def test_nothing_is_hidden_or_obeyed(text: str, seen: str):
    assert words(parse_markdown(text)) == seen


def test_only_the_block_of_which_something_would_be_hidden_is_shown_as_written():
    blocks = parse_markdown("# A\n\n|a|\n|-|\n|b|c|\n\n*d*")
    assert [each.tag for each in blocks] == ["h1", "plain", "p"]


def test_what_takes_too_long_is_not_parsed():
    began = time.process_time()
    for text in (
        "[" * 200_000,
        "*a " * 50_000,
        "<" * 99_000,
        "> " * 50_000,
        "@" * 90_000,
        "a.a" * 30_000,
        "<!-- - " * 4000,
        "<a b " * 4000,
        "<?" * 4000,
    ):
        assert parse_markdown(text)
    assert time.process_time() - began < 30


# As it comes


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_text_that_came_in_pieces_is_the_whole_text(size: int):
    for text in (*EXAMPLES, *ANSWERS[::5]):
        assert read_streamed(text, size).blocks == markdown_json(text), text


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([*EXAMPLES[:5], *EXAMPLES[9:16], *ANSWERS[::29]]), max_size=6), st.integers(1, 40))
def test_texts_one_after_the_other_are_closed_as_they_end(texts: list[str], size: int):
    text = "\n\n".join(texts)
    assert read_streamed(text, size).blocks == markdown_json(text)


def test_only_the_last_block_is_read_again():
    paragraphs, code = "Some words of a paragraph.\n\n" * 400, "```\n" + "x = 1\n" * 2000
    for text in (paragraphs, code):
        reader = read_streamed(text, 20)
        assert reader.sent < 40 * len(text)
