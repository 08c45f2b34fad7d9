"""Looking at repositories, hostile ones included: nothing of theirs is run."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from antiphon.tools.builtin import git, git_tools
from tests.tools.calls import Failed, call

pytestmark = pytest.mark.skipif(git.find_program("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gitconfig").write_text(
        "[user]\n name = Ann\n email = ann@example.org\n[init]\n defaultBranch = main\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text((tmp_path / "gitconfig").read_text())


def run_git(where: Path, *command: str) -> None:
    subprocess.run(["git", *command], cwd=where, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "sub").mkdir(parents=True)
    run_git(root, "init", "-q")
    (root / "a.txt").write_text("one\n")
    (root / "sub" / "b.txt").write_text("two\n")
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "First: ä")
    return root


def ask(root: Path, name: str, /, **arguments: object) -> str:
    return call(git_tools(root), name, **arguments)


def test_status_names_what_changed(repository: Path) -> None:
    (repository / "a.txt").write_text("changed\n")
    (repository / "ü.txt").touch()
    assert ask(repository, "git_status").splitlines() == ["## main", " M a.txt", "?? ü.txt"]


def test_diffs_of_what_is_staged_and_what_is_not(repository: Path) -> None:
    assert "no changes" in ask(repository, "git_diff")
    assert "nothing is staged" in ask(repository, "git_diff", staged=True)
    (repository / "a.txt").write_text("changed\n")
    (repository / "sub" / "b.txt").write_text("staged\n")
    run_git(repository, "add", "sub")
    assert "+changed" in ask(repository, "git_diff")
    assert "+staged" not in ask(repository, "git_diff")
    assert "+staged" in ask(repository, "git_diff", staged=True, path="sub/b.txt")
    assert "no changes" in ask(repository, "git_diff", path="sub")
    (repository / "a.txt").unlink()
    assert "-one" in ask(repository, "git_diff", path="a.txt")


@pytest.mark.parametrize("name", [".env", "deep/id_rsa", "with space/secrets.yml", "ünï/.npmrc"])
@pytest.mark.parametrize("staged", [True, False])
def test_changes_of_what_looks_like_a_secret_are_only_named(repository: Path, name: str, staged: bool) -> None:
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text("KEY=old-secret\n")
    run_git(repository, "add", name)
    run_git(repository, "commit", "-qm", "more", "--", name)
    (repository / name).write_text("KEY=new-secret\n")
    (repository / "a.txt").write_text("@@ other text\n")
    if staged:
        run_git(repository, "add", "-A")
    for arguments in ({}, {"path": name}):
        said = ask(repository, "git_diff", staged=staged, **arguments)
        assert "secret\n" not in said.replace("looks like a secret", "")
        assert "-secret" not in said
        assert "[not shown, it looks like a secret: " in said
        assert name.rpartition("/")[2] in said
        assert ("other text" in said) is (not arguments)


def test_a_long_diff_is_cut(repository: Path) -> None:
    (repository / "a.txt").write_text("long line\n" * 20_000)
    text = ask(repository, "git_diff")
    assert text.endswith("[cut: there is more; name a path]")
    assert len(text) < 40_000


def test_the_log_is_short(repository: Path) -> None:
    run_git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    lines = ask(repository, "git_log").splitlines()
    assert [line.partition(" Ann: ")[2] for line in lines] == ["Second", "First: ä"]
    assert len(ask(repository, "git_log", count=1).splitlines()) == 1
    assert "First" in ask(repository, "git_log", path="sub")
    with pytest.raises(Failed, match="between 1 and 500"):
        ask(repository, "git_log", count=0)


def test_there_may_be_no_commits(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    run_git(tmp_path / "new", "init", "-q")
    assert ask(tmp_path / "new", "git_log") == "there are no commits yet"


def test_no_repository_and_no_git_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/somewhere/else")
    with pytest.raises(Failed, match="not a git repository"):
        ask(tmp_path, "git_status")
    monkeypatch.setattr(git, "find_program", lambda _: None)
    with pytest.raises(Failed, match="git is not installed"):
        ask(tmp_path, "git_status")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "sub/../../x", "", "a\0b"])
def test_paths_outside_are_refused(repository: Path, path: str) -> None:
    with pytest.raises(Failed, match=r"outside|empty"):
        ask(repository, "git_diff", path=path)


@pytest.mark.parametrize("path", [":(top)a.txt", ":/", "*", "--output=x"])
def test_paths_mean_themselves(repository: Path, path: str) -> None:
    (repository / "a.txt").write_text("changed\n")
    assert "no changes" in ask(repository, "git_diff", path=path)
    assert not (repository / "x").exists()


def test_of_a_larger_repository_only_the_root_is_shown(repository: Path) -> None:
    (repository / "a.txt").write_text("changed\n")
    (repository / "sub" / "b.txt").write_text("changed\n")
    assert "a.txt" not in ask(repository / "sub", "git_diff")
    assert "b.txt" in ask(repository / "sub", "git_diff")
    assert "a.txt" not in ask(repository / "sub", "git_status")


HOSTILE = """
[core]
    fsmonitor = {trap} fsmonitor
    pager = {trap} pager
    editor = {trap} editor
    sshCommand = {trap} ssh
    hooksPath = {hooks}
    alternateRefsCommand = {trap} alternate
    gitProxy = {trap} proxy
[pager]
    status = {trap} pager-status
    diff = {trap} pager-diff
    log = {trap} pager-log
[diff]
    external = {trap} external
    submodule = diff
[diff "evil"]
    command = {trap} driver
    textconv = {trap} textconv
[filter "evil"]
    clean = {trap} clean
    smudge = {trap} smudge
    required = true
[filter "evil=x.y z"]
    process = {trap} process
[gpg]
    program = {trap}
[log]
    showSignature = true
[format]
    pretty = %G? %s
[status]
    submoduleSummary = true
[interactive]
    diffFilter = {trap} filter
[credential]
    helper = !{trap} credential
[alias]
    status = !{trap} alias
[extensions]
    partialClone = evil
[remote "evil"]
    url = ext::{trap} remote
    promisor = true
    uploadpack = {trap} uploadpack
[protocol "ext"]
    allow = always
"""


@pytest.fixture
def trapped(repository: Path, tmp_path: Path) -> Path:
    """A repository whose configuration runs a program at every turn; the program writes down that it ran."""
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/ran\n[ "$1" = remote ] || cat\n')
    trap.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        (hooks / hook).write_text(f"#!/bin/sh\n{trap} hook\n")
        (hooks / hook).chmod(0o755)
    commit = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=repository, capture_output=True, text=True
    ).stdout
    head, _, message = commit.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{message}"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repository,
        input=signed,
        capture_output=True,
        text=True,
    )
    run_git(repository, "update-ref", "HEAD", made.stdout.strip())
    nested = repository / "nested"
    nested.mkdir()
    run_git(nested, "init", "-q")
    run_git(nested, "commit", "-q", "--allow-empty", "-m", "x")
    run_git(repository, "-c", "advice.addEmbeddedRepo=false", "add", "nested")
    (repository / ".gitattributes").write_text('*.txt filter=evil diff=evil\n"*.md" filter="evil=x.y"\n')
    (repository / ".git" / "info" / "attributes").write_text("*.txt filter=evil diff=evil\n")
    for directory in (repository, nested):
        with open(directory / ".git" / "config", "a") as config:
            config.write(HOSTILE.format(trap=trap, hooks=hooks))
    (repository / "a.txt").write_text("changed\n")
    # The same size and another time: git must read the file to know, and filters it.
    (repository / "sub" / "b.txt").write_text("2wo\n")
    os.utime(repository / "sub" / "b.txt", (time.time() + 9, time.time() + 9))
    return repository


def test_a_hostile_repository_runs_nothing(trapped: Path, tmp_path: Path) -> None:
    assert " M a.txt" in ask(trapped, "git_status")
    assert "+changed" in ask(trapped, "git_diff")
    assert "+2wo" in ask(trapped, "git_diff", path="sub/b.txt")
    ask(trapped, "git_diff", staged=True)
    assert "First" in ask(trapped, "git_log")
    ran = (tmp_path / "ran").read_text() if (tmp_path / "ran").exists() else ""
    assert ran == ""


def test_the_trap_works(trapped: Path, tmp_path: Path) -> None:
    for command in ("status", "diff", "log"):
        subprocess.run(["git", command], cwd=trapped, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    ran = set((tmp_path / "ran").read_text().split())
    assert {"fsmonitor", "driver", "clean", "hook", "--keyid-format=long"} <= ran, ran


def test_missing_objects_are_not_fetched(trapped: Path, tmp_path: Path) -> None:
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:a.txt"], cwd=trapped, capture_output=True, text=True
    ).stdout.strip()
    (tmp_path / "ran").unlink(missing_ok=True)
    (trapped / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Failed):
        ask(trapped, "git_diff", path="a.txt")
    assert not (tmp_path / "ran").exists()
    subprocess.run(["git", "diff", "--no-ext-diff", "a.txt"], cwd=trapped, capture_output=True, timeout=60)
    assert "remote" in (tmp_path / "ran").read_text().split(), "the trap does not work"


def test_a_repository_that_points_elsewhere_is_not_looked_at(repository: Path, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "a.txt").write_text("secret\n")
    run_git(repository, "config", "core.worktree", str(private))
    with pytest.raises(Failed, match="somewhere else"):
        ask(repository, "git_diff")


def test_files_that_only_look_like_a_repository_are_not_one(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run(["git", "clone", "-q", "--bare", str(repository), str(bare)], check=True, capture_output=True)
    with pytest.raises(Failed):
        ask(bare, "git_log")
