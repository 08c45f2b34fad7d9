"""Texts as models write them, and what they are in HTML: for tests that compare who draws Markdown."""

from __future__ import annotations

import html
import re
import urllib.parse
from html.parser import HTMLParser

from antiphon.views.markdown import MarkdownElement

#: Sentences in which a careless parser eats characters.
SENTENCES = (
    "Call `get_user_by_id` or get_user_by_id, then set user_name.",
    "It returns list[str], dict[str, int] or tuple[int, ...].",
    "The matrix is [[1, 2], [3, 4]], and m[0][1] is 2.",
    "Set $HOME and $PATH, or pay $5 and $10.",
    "Use snake_case_names, __init__ and __name__ == '__main__'.",
    "2 * 3 * 4 is 24, and 2*3*4 too.",
    "**Bold**, *italic*, ***both***, ~~gone~~ and `code`.",
    "Escaped \\*stars\\*, \\_lines\\_ and \\[brackets\\].",
    "A path such as C:\\Users\\ada or ~/notes.md.",
    "An AT&T entity: &lt;b&gt; is &amp;lt;b&amp;gt; and &copy; is a sign.",
    "Tags stay: <div class='x'>text</div>, List<String>, a < b > c.",
    'See [the docs](https://example.com/a_b?c=d&e=f "A title") for more.',
    "An address: https://example.com/a_b_c(d), and www.example.com.",
    "Write to ada@example.com or <bob@example.com>.",
    "An image: ![a cat](https://example.com/cat.png) here.",
    "An array index a[i] and a footnote[^1] and a [ ] box.",
    "A regular expression: ^[a-z_]+\\.(py|js)$ matches a_b.py.",
    "Percent 50% #hashtag @mention ~approximately~ 1~2.",
    "Line one\nline two  \nline three\\\nline four",
    "Unicode: naïve café — “quotes” … 日本語 and emoji 🎉.",
    "Math: $x_1 + x_2 = \\frac{a}{b}$ and \\(y^2\\).",
    "Generic: Map<String, List<Integer>> and std::vector<int>.",
    "Half open: **bold and `code and [link](",
    "Pipes: a | b || c, and `x | y`.",
    "Numbers 1. 2) 3: and -1 - 2 + 3.",
    'A call: f(*args, **kwargs) and print("a\\nb").',
    "A date 2026-11-18, a time 09:50:00, a version v1.2.3_rc4.",
    "HTML comments <!-- stay --> visible, and <br> too.",
    "Emphasis in_the_middle_of words, and*stars*in words.",
    "Quotes \"double\" and 'single', it's `` a ` tick ``.",
)


def _answers() -> tuple[str, ...]:
    forms = (
        "{}",
        "# {0}\n\n{1}",
        "- {0}\n- {1}\n  - {0}",
        "1. {0}\n2. {1}\n\n   {0}",
        "> {0}\n>\n> {1}",
        "```python\n{0}\n```\n\n{1}",
        "{0}\n\n- [ ] {1}\n- [x] done\n\n---\n\n{0}",
    )
    found: list[str] = []
    for place, sentence in enumerate(SENTENCES):
        other = SENTENCES[(place + 1) % len(SENTENCES)]
        one, two = (each.replace("\n", " ").replace("|", "/") for each in (sentence, other))
        found += [form.format(*((sentence,) if form == "{}" else (one, two))) for form in forms]
        found.append(f"| name | {one} |\n|:----|----:|\n| {two} | 12 |\n")
    return tuple(found)


#: Answers of all forms, some hundreds.
ANSWERS = _answers()


#: Answers in which one construct stands in, or runs into, another.
NASTY = (
    "`a_b`_c_d_ and _e_f_ and __g__h__ and *i*j*k*",
    "x[y[z[0]]] and [[[deep]]] and [a](b[c]) and [d](e(f)g) and ![h](i(j))",
    "${HOME:-/root}/$USER and $$ and $(ls *.py) and `$HOME`",
    "[wiki](https://en.wikipedia.org/wiki/Foo_(bar)) and (https://a.de/b_(c)) and <https://d.de/e_f>",
    "[a](<b (c) d>) [e](f 'g') [h](i \"j (k)\") [l]( m ) [n](#o_p)",
    "| a | b \\| c | `d \\| e` |\n|:--|:-:|--:|\n| 1_2 | *3* | [4](5) |\n| \\|\\| | | x |",
    "| a |\n|---|\n| b | lost? | no |\n\nThen **this** is drawn.",
    "a | b\n:-|-:\n`|` | c\n\n|no table|",
    "1. one\n   ```py\n   x = [1]\n\n   y = {'a_b': 2}\n   ```\n   - two\n\n     > three\n     > 1. four\n2. five",
    "- a\n\n      code in an item\n\n  b\n\n- c\n  1) d\n  2) e",
    "* - + nested at once\n* 1. and a number\n  10. and another",
    "7. seven\n8. eight\n\ntext\n\n9) nine",
    "- [ ] open `x_y`\n- [x] done **z**\n  - [X] nested\n- [] none\n- [ ]none",
    "```\nunclosed fence with **stars** and <b>\n\n| a |\n|---|",
    "~~~~md\n```py\na_b\n```\n~~~\n~~~~\nafter",
    "````\n" + "x_1 = [y_2]\n" * 300 + "````\nend",
    "    indented *code*\n    <b>\n\n\tand a tab\n\nnot code",
    '```python title="a_b.py" {1,3}\npass\n```',
    "&amp;&lt;&gt;&quot;&#39; &nbsp;|&nbsp; &hearts; &#x1F600; &#0; &unknown; & &a;",
    "`&amp;` and `` `x` `` and ``` `` ``` and ` a ` and `\\`",
    "un*frigging*believable foo_bar_baz 2*3*4 __a_b__ **a*b** ***c** d*",
    "**bold*nested italic***, *it **bo***, ~~a **b** c~~ ~d~ ~~~e~~~",
    "日本語の**強調**です。「*引用*」、`コード`。中文**标题：**内容 한국어**조사**는",
    "שלום **עולם** [קישור](https://a.de/ש) — مرحبا *بالعالم* 123 abc",
    "# 標題 `a_b` #\n## *x* ##y\nSetext _a_\n===\nb\n---\n#no\n####### seven",
    "> a\n> > b\n> c\nlazy\n\n> ```\n> code\n> ```\n> - x\n>   y",
    "<details>\n<summary>More *x*</summary>\n\n**drawn**\n\n</details>",
    "<think>\nI use a*b*c and __init__\n</think>\n\nThe *answer*.",
    "a <b>b *c*</b> <img alt=\"**\"> **d <i title='**'> <!-- e *f* --> g",
    "<script>\nif (a < b && c*d*e) x[0]_y_\n\n**z**\n</script>\nafter *this*",
    '[ref][a_b] [a_b] [A_B][] [none][x] [^1] [ ] [x]\n\n[a_b]: https://a.de/c_d "T (x)"\n[^1]: note',
    "![a](b) [![c](d)](e) ![f *g* [h](i)](j) ![k][l]\n\n[l]: m",
    "\\*a\\* \\_b\\_ \\[c\\](d) \\`e\\` \\\\ \\| \\<f> C:\\new\\_x \\( y \\)",
    "a  \nb\\\nc   \n  d\ne\\",
    "* * *\na\n***\nb\n___\n- - -\n+ + +",
    "http://a.de/?q=x_y&z=*1* https://b.de. www.c.de/d, e_f@g.de; ftp://h.de/i) mailto:j@k.de",
    '**Note:** use `dict[str, list[int]]`:\n**a:**b **"c"**d *e.*f',
    "\\(x_1\\) \\[y^2\\] $$\\sum_{i=1}^n a_i * b_i$$ $a_b$ and $c_d$",
    "Term\n: no definition list\n\n==mark== ^sup^ ~sub~ :smile: @user #12 GH-3",
    "\r\nWindows\r\n\r\n- a\r\n- b\r\n\r\n```\r\nc\r\n```\r\n",
)


def to_html(nodes: tuple[MarkdownElement | str, ...]) -> str:
    """Return the blocks of a text as the HTML of the specification."""
    return "".join(map(_node_html, nodes))


def _node_html(node: MarkdownElement | str) -> str:
    if isinstance(node, str):
        return html.escape(node)
    tag, known = node.tag, node.attributes
    if tag == "pre":
        kind = f' lang="{html.escape(str(known["language"]))}"' if "language" in known else ""
        return f"<pre{kind}><code>{to_html(node.children)}</code></pre>"
    if known.get("definition"):
        return ""
    if tag in ("br", "hr"):
        return f"<{tag} />"
    box = f"<input type='checkbox' {'checked' if known['checked'] else ''} disabled> " if "checked" in known else ""
    named = ((name, known[name]) for name in ("href", "title", "start", "align") if name in known)
    given = "".join(f' {name}="{html.escape(str(value))}"' for name, value in named)
    return f"<{tag}{given}>{box}{to_html(node.children)}</{tag}>"


def normalised(markup: str) -> list[str]:
    """Return the tags and texts of HTML without what makes no difference: white space, and how links are escaped."""
    parser = _Normaliser()
    parser.feed(markup)
    parser.close()
    return parser.end()


_BLOCKS = {"p", "ul", "ol", "li", "blockquote", "pre", "table", "thead", "tbody", "tr", "th", "td", "hr", "br"}


class _Normaliser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._found: list[tuple[str, str]] = []
        self._in_code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag == "img":
            # Images are links here.
            self.handle_data("!")
            title = [("title", known["title"])] if "title" in known else []
            self.handle_starttag("a", [("href", known["src"]), *title])
            self.handle_data(known.get("alt") or known["src"])
            self.handle_endtag("a")
            return
        known = {name: urllib.parse.unquote(value) if name == "href" else value for name, value in known.items()}
        self._in_code += tag == "pre"
        self._found.append((tag, f"<{tag} {sorted(known.items())}>"))

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag == "pre"
        if tag not in ("br", "hr", "input", "img"):
            self._found.append((tag, f"</{tag}>"))

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self._found.append(("text", data))
            return
        text = re.sub(r"\s+", " ", data)
        if self._found and not self._found[-1][0]:
            text = self._found.pop()[1] + text
        self._found.append(("", text))

    def end(self) -> list[str]:
        found = list(self._found)
        for place, (tag, text) in enumerate(found):
            before, after = (
                found[place - 1][0] if place else "p",
                found[place + 1][0] if place + 1 < len(found) else "p",
            )
            if not tag:
                text = text.lstrip() if _is_block(before) else text
                found[place] = tag, text.rstrip() if _is_block(after) else text
        return [text for _, text in found if text]


def _is_block(tag: str) -> bool:
    return tag in _BLOCKS or re.fullmatch(r"h[1-6]", tag) is not None
