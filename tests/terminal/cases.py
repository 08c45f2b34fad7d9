"""The table of cases: results of every kind with the hints that matter to it. Golden files show what they look like."""

from __future__ import annotations

from antiphon.results import (
    Display,
    Location,
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

PROSE = (
    "The quick brown fox jumps over the lazy dog, and the dog does not mind it at all this time.\n\nSecond paragraph."
)
MARKDOWN = """# Title

Some *emphasis*, `code` and a [link](https://example.com/a "hint").

- one
- two
  - three

> quoted

```python
print("hi")
```

| name | size |
|------|-----:|
| a    |   12 |
"""
HOSTILE_MARKDOWN = """<script>alert(1)</script> *all of it*

[click](javascript:alert(1)) <b>bold</b> ![pixel](https://evil.example/p.png)

&#x202e;&#27;[31m [hidden]: # (not hidden)

[//]: # (a comment)
"""
HOSTILE = (
    "\x1b[31mred\x1b]8;;https://evil.example\x07link\x9b2J \u202eevil\u202c a\u200bb [bold]markup[/] :smile: \r over"
)
CODE = "def double(x: int) -> int:\n    # twice\n    return x * 2\n"
VIBE = """// Sorts a mail.
type Mail { from: text, urgent: boolean }
const mail: Mail = do "Who wrote {letter}? ${len(letter)} letters" local
"""
OLD = "".join(f"line {number}\n" for number in range(1, 21))
NEW = OLD.replace("line 3\n", "line three\n").replace("line 15\n", "line 15\nand a half\n").replace("line 20\n", "")
HUNKS = [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" same", "-old", "+new"]}]
ENTRIES = [
    {"name": "README.md", "type": "file", "size": 1234, "modified": "2025-03-04T05:06:07Z"},
    {"name": "src", "type": "directory"},
    {"name": "latest", "type": "symlink"},
    {"name": "données-日本語.csv", "type": "file", "size": 52_345_678},
]
ROWS = [
    {"name": "Ada", "score": 12345.5, "active": True, "born": "1815-12-10", "note": "first of all programmers, " * 3},
    {"name": "高橋", "score": 7, "active": False, "born": "1970-01-01T00:00:00Z", "note": None},
    {"name": "Zoë", "score": -1, "active": None, "born": 0, "note": "two\nlines"},
]
COLUMNS = [
    {"key": "name", "label": "Name"},
    {"key": "score", "type": "number"},
    {"key": "active", "type": "boolean", "align": "center"},
    {"key": "born", "type": "date"},
    {"key": "note"},
]
WIDE_ROWS = [{f"column_{n}": n * row for n in range(1, 13)} for row in (1, 2)]
TREE = {
    "name": "antiphon",
    "nested": {"list": [1, 2.5, None, True], "deep": {"deeper": {"deepest": "here"}}},
    "items": [{"id": 1}, {"id": 2}],
    "empty": [{}, []],
}
FIELDS = {"when": "2025-03-04T05:06:07+02:00", "site": "https://example.com", "file": "src/a.py", "count": 1234567}
FIELD_TYPES = {"when": "date", "site": "url", "file": "path", "count": "number"}
#: A red pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
STATUS = {
    "branch": "main",
    "ahead": 2,
    "behind": 1,
    "staged": ["src/a.py"],
    "modified": ["README.md", "src/b.py"],
    "untracked": ["notes.txt"],
}
LOG = "".join(f"{number} \x1b[32mok\x1b[0m\n" for number in range(1, 101))

CASES: dict[str, Result] = {
    "text": text(PROSE),
    "text_with_summary": text(PROSE, summary="what the fox did"),
    "text_open": text(PROSE, summary="what the fox did", collapsed=False),
    "text_max_height": text(OLD, summary="twenty lines", collapsed=False, max_height=3),
    "text_hidden": text(PROSE, summary="internal", preferred_view="hidden"),
    "text_hostile": text(HOSTILE, summary=HOSTILE),
    "text_long_line": text("x" * 3000, summary="3,000 characters", collapsed=False, max_height=4),
    "markdown": text(MARKDOWN, markdown=True),
    "markdown_hostile": text(HOSTILE_MARKDOWN, markdown=True),
    "code": text(CODE, summary="a function", preferred_view="code", language="python"),
    "code_unknown_language": text(CODE, preferred_view="code", language="no such"),
    "code_vibe": file_content("sort.vibe", VIBE, collapsed=False),
    "markdown_vibe": text(f"As in:\n\n```vibe\n{VIBE}```\n", markdown=True, collapsed=False),
    "diff": diff("src/lines.txt", OLD, NEW),
    "diff_new_file": diff("src/lines.py", None, CODE),
    "diff_unchanged": diff("a.txt", "a\n", "a\n"),
    "diff_line_ends": diff("a.txt", "a\nb\n", "a\nb"),
    "diff_hunks": Result("diff", {"path": "a.txt", "hunks": HUNKS}, "+1 -1 lines"),
    "diff_max_height": diff("src/lines.txt", OLD, NEW, collapsed=False, max_height=4),
    "file_content": file_content("src/double.py", CODE),
    "file_content_part": Result(
        "file_content", {"path": "a.txt", "content": "here\nthere\n"}, "a.txt, part", locations=(Location("a.txt", 99),)
    ),
    "file_list": file_list("data", ENTRIES, truncated=True),
    "table": table(ROWS, COLUMNS),
    "table_found_columns": table([{"a": 1, "b": "x"}, {"b": "y", "c": [1, {"d": 2}]}]),
    "table_many_columns": table(WIDE_ROWS, collapsed=False),
    "table_as_records": table([{**WIDE_ROWS[0], "note": "words " * 10}]),
    "table_cut": table(ROWS, COLUMNS, collapsed=False),
    "table_max_height": table([{"n": n} for n in range(100)], collapsed=False, max_height=5),
    "image": image(base64=PIXEL, alt="a red pixel"),
    "image_url": image(url="https://example.com/cat.png", mime_type="image/png", alt="a cat"),
    "structured": structured(TREE, summary="a package"),
    "structured_raw": structured(TREE, summary="a package", preferred_view="raw"),
    "structured_fields": structured(FIELDS, field_types=FIELD_TYPES),
    "terminal": terminal("make test", "ran 3 tests\nall passed\n", exit_code=0),
    "terminal_failed": terminal("make test", "ran 3 tests\n1 failed\n", exit_code=2, dropped=5000),
    "terminal_long": terminal("make all", LOG, exit_code=1, collapsed=False, max_height=6),
    "error": error("No such file: 'a.txt'"),
    "error_details": error("The server said no.\nTwice.", details={"status": 403, "retry": False}),
    "question": question("Which database?", options=["SQLite", "PostgreSQL"], answer="SQLite"),
    "git_status": Result("git.status", STATUS, "1 staged, 2 modified", display=Display("tree")),
    "git_status_clean": Result(
        "git.status", {"branch": "main", "staged": []}, "clean", display=Display(collapsed=True)
    ),
    "custom_by_view": Result("acme.report", "a: 1", "by its view", "text/plain", Display("code", language="yaml")),
    "custom_by_mime_type": Result("acme.report", {"content": "# Report"}, "by its MIME type", "text/markdown"),
    "custom_by_shape": Result("acme.report", [{"a": 1, "b": 2}], "by its shape"),
    "custom_by_nothing": Result("acme.report", {"a": {"b": [1]}}, "as a tree"),
    "custom_without_data": Result("acme.report", None, "only a summary"),
    "custom_unfit_view": Result("acme.report", {"a": 1}, "no table", "text/plain", Display("table")),
    "kind_with_wrong_data": Result("table", "a, b\n1, 2", "not a table"),
}
