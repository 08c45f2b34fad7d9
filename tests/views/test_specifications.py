"""Every example of CommonMark 0.31.2 and of GitHub's specification, compared with what is drawn of it.

A difference is listed with its reason; what is listed and no longer differs is a failure too.
"""

from __future__ import annotations

import html
import re

import pytest

from antiphon.views.markdown import markdown_json, parse_markdown
from tests.answers import normalised, to_html
from tests.specifications import Example, read_examples
from tests.streaming import read_streamed

AN_IMAGE_IN_A_LINK = "an image is a link, and a link has none in it: the address of the image is text"
A_LINK_IN_AN_IMAGE = "the words of an image show the addresses of the links and images in them"
A_BARE_LINK = "an address is a link without brackets, too, as on GitHub"
STRONG_IN_STRONG = "GitHub draws strong text in strong text once; CommonMark keeps both"
CELLS_TOO_MANY = "cells for which there is no column are not dropped: the table is shown as it is written"

DIFFERING = {
    "commonmark": {
        **dict.fromkeys((517, 531), AN_IMAGE_IN_A_LINK),
        **dict.fromkeys((520, 574, 575), A_LINK_IN_AN_IMAGE),
        **dict.fromkeys((602, 606, 608, 611, 612), A_BARE_LINK),
    },
    "gfm": {
        204: CELLS_TOO_MANY,
        **dict.fromkeys((398, 426, 434, 435, 436, 473, 474, 475, 477), STRONG_IN_STRONG),
        **dict.fromkeys((525, 539), AN_IMAGE_IN_A_LINK),
        **dict.fromkeys((528, 582, 583), A_LINK_IN_AN_IMAGE),
        **dict.fromkeys((610, 614, 616, 619, 620), A_BARE_LINK),
    },
}

#: HTML is shown as text. These have some, and are what the specification says but for that.
WITH_HTML = {
    "commonmark": {
        21, 31, *range(148, 192), 201, 308, 309, 344, 475, 476, 477, 491, 494, 524, 536,
        *range(613, 618), 623, *range(625, 632), 642, 643,
    },
    "gfm": {
        *range(118, 161), 170, 288, 289, 317, 327, 354, 484, 485, 486, 500, 503, 532, 544,
        *range(632, 637), 642, *range(644, 651), 652, 662, 663,
    },
}  # fmt: skip


def expect(example: Example) -> str:
    """Return the HTML of an example, with the language of code where GitHub writes it."""
    return re.sub(r'<pre><code class="language-([^"]*)">', r'<pre lang="\1"><code>', example.html)


def is_same(example: Example) -> bool:
    return normalised(to_html(parse_markdown(example.text))) == normalised(expect(example))


def read_as_text(markup: str) -> str:
    """Return HTML without what tells tags that are text from others, and without white space."""
    while (plain := html.unescape(markup)) != markup:
        markup = plain
    return re.sub(r"\s+|</?plain>", "", markup)


def is_same_as_text(example: Example) -> bool:
    return read_as_text(to_html(parse_markdown(example.text))) == read_as_text(expect(example))


@pytest.mark.parametrize(("name", "count"), [("commonmark", 652), ("gfm", 672)])
def test_every_example_is_drawn_as_the_specification_says(name: str, count: int):
    examples = read_examples(name)
    assert len(examples) == count
    others = {each.number: each for each in examples if not is_same(each)}
    with_html = {number for number, each in others.items() if is_same_as_text(each)}
    assert with_html == WITH_HTML[name]
    assert others.keys() - with_html == DIFFERING[name].keys()


def test_the_examples_of_githubs_additions_are_among_them():
    found = [each.extension for each in read_examples("gfm") if each.extension]
    assert {name: found.count(name) for name in set(found)} == {
        "table": 8, "autolink": 11, "strikethrough": 2, "disabled": 2, "tagfilter": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("size", "end"), [(1, "\r\n"), (3, "\n"), (16, "\n")])
def test_an_example_that_came_in_pieces_is_the_whole_example(size: int, end: str):
    additions = [each for each in read_examples("gfm") if each.extension]
    differing = [
        text
        for each in (*read_examples("commonmark"), *additions)
        if read_streamed(text := each.text.replace("\n", end), size).blocks != markdown_json(text)
    ]
    assert differing == []


@pytest.mark.parametrize("size", [5, 40])
def test_all_examples_one_after_the_other_are_the_whole_text(size: int):
    """Definitions of later examples hold in earlier ones, as in any text."""
    examples = [each.text for each in read_examples("commonmark")]
    for place in range(0, len(examples), 25):
        text = "\n\n".join(examples[place : place + 25])
        assert read_streamed(text, size).blocks == markdown_json(text)
