"""HTML in frames, and modules of others that draw results: what is served, and to whom. No browser is needed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.config.trust import find_project, record_trust_decision
from antiphon.conversation import ToolResult
from antiphon.durable import Journal
from antiphon.effects import CallTool, Outcome, ToolReturned
from antiphon.effects.pipeline import private_effects
from antiphon.errors import ConfigurationError
from antiphon.lang import highlight
from antiphon.results import Display, Result, file_content, structured, table, text
from antiphon.web import app
from antiphon.web.json_response import _load_redactions
from antiphon.web.static_files import STATIC_DIRECTORY
from tests.web.journals import begun, do, show
from tests.web.tabs import journal
from tests.web.test_server import TOKEN, get, known, sent

__all__ = ["journal"]

PAGE = "<!doctype html><h1>Report</h1><script>document.title = 'owned'</script>"
FRAMED = {"sec-fetch-dest": "iframe", "sec-fetch-site": "same-origin"}


def html(markup: str = PAGE, kind: str = "text", mime_type: str = "text/html", **more: Any) -> Result:
    return Result(kind, {"content": markup}, mime_type=mime_type, **more)


def frame_of(journal: Journal, result: Result, run: str = "r") -> str | None:
    show(begun(journal, run), "1", result)
    (view,) = get(journal, f"/api/sessions/{run}/step?path=1")["views"]
    return view.get("frame")


def fetched(journal: Journal, path: str, headers: dict[str, str] = FRAMED) -> httpx2.Response:
    return known(app(journal=journal, token=TOKEN), ("GET", f"/{path}", headers))[0]


# Frames


@pytest.mark.parametrize(
    "result",
    [
        html(),
        html(mime_type="Text/HTML; charset=utf-8"),
        html(kind="html", mime_type=""),
        Result("acme.page", PAGE, mime_type="text/html"),
        file_content("report.html", PAGE),
        html(display=Display("code")),
        Result("mcp.result", {"content": [
            {"type": "resource", "resource": {"uri": "ui://report", "mimeType": "text/html", "text": PAGE}}]}),
    ],
)  # fmt: skip
def test_html_has_an_address_and_a_policy_of_its_own(journal: Journal, result: Result):
    address = frame_of(journal, result)
    assert address == "frame/r?path=1&at=0"
    still, lively = fetched(journal, address), fetched(journal, f"{address}&scripts")
    for response, sandbox, scripts in ((still, "sandbox;", "'none'"), (lively, "sandbox allow-scripts;", "'unsafe-in")):
        policy = response.headers["content-security-policy"]
        assert (response.status_code, response.text) == (200, PAGE)
        assert response.headers.get_list("content-security-policy") == [policy]
        assert policy.startswith(f"{sandbox} default-src 'none'; script-src {scripts}")
        assert "form-action 'none'; frame-ancestors 'self'" in policy
        assert not re.search(r"allow-same-origin|https?:|\*|connect-src|'self'(?!$)", policy)
        assert response.headers.get_list("x-frame-options") == ["SAMEORIGIN"]
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "result",
    [text(PAGE), html(mime_type="text/html+x"), html(display=Display("hidden")), structured({"content": PAGE}),
     Result("acme.page", {"page": PAGE}, mime_type="text/html"), html(mime_type="image/svg+xml")],
)  # fmt: skip
def test_what_is_no_html_has_no_frame(journal: Journal, result: Result):
    assert frame_of(journal, result) is None
    assert fetched(journal, "frame/r?path=1&at=0").status_code == 404


@pytest.mark.parametrize("id", ["a b", "a/b", "50%", "a?b#c&at=7", "日本語", '"><script>'])
def test_frames_of_runs_of_any_name(journal: Journal, id: str):
    show(begun(journal, id), "1", html())
    (view,) = get(journal, f"/api/sessions/{quote(id, safe='')}/step?path=1")["views"]
    assert fetched(journal, view["frame"]).text == PAGE
    assert not set("\"'<> #") & set(view["frame"])


def test_html_inside_other_results_is_found(journal: Journal):
    inner = structured([text("no"), html("<p>deep")])
    show(begun(journal, "r"), "1", Result("acme.suite", {"a": html("<p>first"), "b": inner, "n": 1}))
    (view,) = get(journal, "/api/sessions/r/step?path=1")["views"]
    first, second = (each["view"] for each in view["inside"])
    assert fetched(journal, first["frame"]).text == "<p>first"
    assert "frame" not in second
    assert fetched(journal, second["inside"][1]["view"]["frame"]).text == "<p>deep"


@pytest.mark.parametrize("at", ["", "1", "0.0", "-1", "x", "0.", "٣", "9" * 5000, "0.0.0.0"])
def test_there_is_no_other_frame(journal: Journal, at: str):
    show(begun(journal, "r"), "1", html())
    response = fetched(journal, f"frame/r?path=1&at={at}")
    assert response.status_code == 404
    assert response.headers["content-security-policy"].startswith("default-src 'none'")


def test_frames_are_for_the_page_alone(journal: Journal):
    show(begun(journal, "r"), "1", html())
    page, address = app(journal=journal, token=TOKEN), "/frame/r?path=1&at=0"
    cases = [
        ({}, 200),
        (FRAMED, 200),
        ({"sec-fetch-dest": "document", "sec-fetch-site": "none"}, 403),
        ({"sec-fetch-dest": "document", "sec-fetch-site": "same-origin"}, 403),
        ({"sec-fetch-dest": "empty", "sec-fetch-site": "same-origin"}, 403),
        ({"sec-fetch-dest": "script", "sec-fetch-site": "same-origin"}, 403),
        ({"sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
        ({"host": "evil.example", **FRAMED}, 421),
    ]
    found = known(page, *(("GET", address, headers) for headers, _ in cases))
    assert [each.status_code for each in found] == [status for _, status in cases]
    assert sent(page, ("GET", address, FRAMED))[0].status_code == 401


def test_private_values_and_keys_are_in_no_frame(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    key = 'sk-ant-"secret"-0123456789'
    running = begun(journal, "r")
    show(running, "1", html(f"<p>{key}"))
    with private_effects():
        came = ToolReturned(ToolResult("c1", "shown", semantic=html("my-private-words")))
        do(running, "2", CallTool("show", {}), Outcome(came))
    # The journal keeps keys that it knows to itself: this one it has learned too late.
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    _load_redactions.cache_clear()
    first, second = fetched(journal, "frame/r?path=1&at=0"), fetched(journal, "frame/r?path=2&at=0")
    _load_redactions.cache_clear()
    assert first.text == "<p>[$ANTHROPIC_API_KEY]"
    assert (second.status_code, "my-private-words" in second.text) == (404, False)


def test_the_page_frames_nothing_but_its_own(journal: Journal):
    policy = fetched(journal, "", {}).headers["content-security-policy"]
    assert "; frame-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy


# Modules


def listed(page: Any) -> list[str]:
    found = re.search(r'name="renderers" content="([^"]*)"', known(page, ("GET", "/", {}))[0].text)
    assert found is not None
    return [f"/renderers/{each}" for each in found[1].split()]


def package(root: Path, name: str, value: str, entry: str = "") -> Path:
    """A package that is installed, with the entry point; its directory."""
    info = root / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[antiphon.page]\n{entry or name} = {value}\n")
    (root / name).mkdir()
    (root / name / "__init__.py").write_text("raise RuntimeError('imported')\n")
    return root / name


def test_modules_come_from_packages_configuration_and_the_command(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    inner = package(tmp_path / "site", "acme_looks", "acme_looks.page") / "page"
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    user, project, own = tmp_path / "config" / "antiphon", tmp_path / "project", tmp_path / "own"
    for directory in (inner, user / "looks", project / "looks", own):
        directory.mkdir(parents=True)
        (directory / "a.js").write_text(f"// {directory}")
    (user / "config.toml").write_text('[page]\nrenderers = "looks"\n')
    (project / "antiphon.toml").write_text('[page]\nrenderers = "./looks"\n')
    monkeypatch.chdir(project)
    record_trust_decision(find_project(), True)
    page = app(journal=journal, token=TOKEN, renderers=own)
    names = listed(page)
    assert len(set(names)) == 4
    found = known(page, *(("GET", name, {}) for name in names))
    assert [each.text for each in found] == [f"// {each}" for each in (inner, user / "looks", project / "looks", own)]
    assert {each.headers["content-type"] for each in found} == {"text/javascript; charset=utf-8"}
    assert "acme_looks" not in sys.modules
    (project / "antiphon.toml").write_text('[page]\nrenderers = "./looks" # changed\n')
    assert len(listed(app(journal=journal, token=TOKEN, renderers=own))) == 3


def test_a_module_is_what_it_is_now_and_nothing_else_is_served(journal: Journal, tmp_path: Path):
    (tmp_path / "secret.js").write_text("no")
    own = tmp_path / "own"
    own.mkdir()
    (own / "not.js").mkdir()
    (own / "data.json").write_text("{}")
    page = app(journal=journal, token=TOKEN, renderers=own)
    assert listed(page) == ["/renderers/0/not.js"]
    (own / "late.mjs").write_text("1")
    assert listed(page) == ["/renderers/0/late.mjs", "/renderers/0/not.js"]
    before, changed = (known(page, ("GET", "/renderers/0/late.mjs", {}))[0] for _ in range(2))
    assert before.headers["etag"] == changed.headers["etag"]
    (own / "late.mjs").write_text("2")
    (after,) = known(page, ("GET", "/renderers/0/late.mjs", {"if-none-match": before.headers["etag"]}))
    assert (after.status_code, after.text) == (200, "2")
    for path in ("0/not.js", "0/data.json", "0/../secret.js", "0/%2e%2e/secret.js", "0/..%2fsecret.js", "1/late.mjs",
                 "-1/late.mjs", f"{'9' * 5000}/late.mjs", "late.mjs", "0/", "", "٠/late.mjs"):  # fmt: skip
        assert known(page, ("GET", f"/renderers/{path}", {}))[0].status_code == 404


def test_a_wrong_directory_is_told_in_a_line(journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(
        ConfigurationError, match=f"^the renderers of the page must be in a directory, and {tmp_path}/no is"
    ):
        app(journal=journal, token=TOKEN, renderers=tmp_path / "no")
    run = CliRunner().invoke(cli, ["serve", "--renderers", str(tmp_path / "no")])
    assert (run.exit_code, "no' does not exist" in run.output) == (2, True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "antiphon").mkdir()
    (tmp_path / "antiphon" / "config.toml").write_text('[page]\nrenderers = "none"\n')
    run = CliRunner().invoke(cli, ["--db", str(tmp_path / "x.db"), "serve", "--port", "0"])
    # What is no bug is told by `antiphon` in a line.
    assert isinstance(run.exception, ConfigurationError)
    assert str(run.exception) == (
        f"{tmp_path}/antiphon/config.toml: the renderers of the page must be in a directory,"
        f" and {tmp_path}/antiphon/none is not one"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [("no_such_package", "package `no_such_package` is not installed"),
     ("acme_wrong.none", "acme_wrong/none is not one"),
     ("sys", "package `sys` is not installed")],
)  # fmt: skip
def test_a_package_that_promises_what_it_has_not_is_named(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, said: str
):
    package(tmp_path, "acme_wrong", value, "acme")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError) as told:
        app(journal=journal, token=TOKEN)
    assert str(told.value).startswith(f"the entry point `acme = {value}` of the group `antiphon.page`: ")
    assert said in str(told.value)


def test_components_get_the_data_of_what_is_inside_and_of_kinds_they_take_over(journal: Journal):
    running = begun(journal, "r")
    show(running, "1", structured([Result("acme.report", {"name": "Q3"}), table([{"a": 1}])]))
    show(running, "2", Result("git.status", {"branch": "main"}))
    show(running, "3", structured([Result("acme.report", "x" * 150_000) for _ in range(3)]))
    (view,) = get(journal, "/api/sessions/r/step?path=1")["views"]
    assert [each["view"].get("data") for each in view["inside"]] == [{"name": "Q3"}, None]
    (view,) = get(journal, "/api/sessions/r/step?path=1&own=table,diff")["views"]
    assert view["inside"][1]["view"]["data"]["rows"] == [{"a": 1}]
    assert "data" not in get(journal, "/api/sessions/r/step?path=2")["views"][0]
    assert get(journal, "/api/sessions/r/step?path=2&own=git.status")["views"][0]["data"] == {"branch": "main"}
    (view,) = get(journal, "/api/sessions/r/step?path=3")["views"]
    assert ["data" in each["view"] for each in view["inside"]] == [True, False, False]


def test_fences_know_the_words_of_the_language():
    written = (STATIC_DIRECTORY / "vibe.js").read_text()
    known_words = [
        getattr(highlight, name)
        for name in (
            "DECLARATION_KEYWORDS",
            "CONTROL_KEYWORDS",
            "ASK_KEYWORDS",
            "MODULE_KEYWORDS",
            "CONSTANT_KEYWORDS",
            "OPERATOR_KEYWORDS",
            "MODIFIER_KEYWORDS",
            "CONTEXTUAL_DECLARATION_KEYWORDS",
            "IMPORT_KEYWORDS",
            "CONTEXT_KEYWORDS",
            "LOOP_MODE_KEYWORDS",
            "PYTHON_KEYWORDS",
            "TYPE_KEYWORDS",
        )
    ]
    for word in sum(known_words, ()):
        assert re.search(rf"\b{word}\b", written), word
