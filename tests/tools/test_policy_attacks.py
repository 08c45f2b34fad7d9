"""Attempts to get past a policy: each is denied or asked about, however it is spelled."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from antiphon.conversation import ToolCall
from antiphon.tools import Policy, Rule, Tool, ToolFailure, as_tool, renamed
from antiphon.tools.approval import make_standing_decision
from antiphon.tools.builtin import shell_tool
from antiphon.tools.canonical_call import canonicalize
from antiphon.tools.shell_parsing import check_allowed_commands


def read(path: str) -> str:
    """Read a file."""
    return path


def read_all(paths: list[str]) -> str:
    """Read files."""
    return str(paths)


@dataclass
class Options:
    path: str
    force: bool = True


class Model(BaseModel):
    file: str
    more: list[Options] = []


def decide(made: Any, *rules: Rule, **arguments: Any) -> str:
    found = as_tool(made)
    return Policy(rules).decide(ToolCall("c", found.name, arguments), found)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ok", "no", "ok/a:", "é"):
        (tmp_path / name).mkdir()
    for name in ("ok/link", "ok/a:/link", "ok/two\nlines"):
        (tmp_path / name).symlink_to(tmp_path / "no")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "no"))
    return tmp_path


#: Spellings of `no/x`; `{}` is the absolute directory.
SPELLINGS = (
    *("no/x", "{}/ok/../no/x", "{}/ok/link/x", "/{}//no///x", "{}/no/x/", "~/x", "/proc/self/cwd/no/x"),
    *("{}/ok/a://link/x", "{}/ok/two\nlines/x", "ok/a://link/x", "{}/ok/./././link/x", " {}/no/x", "{}/no/x\t"),
    *("file://{}/no/x", "file://localhost{}/%6eo/x", "file:{}/no/x", "FILE://{}/ok/link/x", "{}/NO/x", "{}/No/X"),
)


class TestPaths:
    @pytest.mark.parametrize("spelled", SPELLINGS)
    def test_no_spelling_passes_a_rule_that_denies(self, here: Path, spelled: str):
        path = spelled.format(here)
        assert decide(read, Rule("deny", "read", {"path": f"{here}/no/*"}), path=path) == "deny"
        assert decide(read_all, Rule("deny", "read_all", {"paths": "no/*"}), paths=["a", path]) == "deny"
        allowed = Rule("allow", "read", {"path": f"{here}/ok/*"}), Rule("ask")
        assert decide(read, *allowed, path=path) == "ask"

    def test_a_path_that_is_too_long_to_look_at_is_not_allowed(self, here: Path):
        for path in (f"{here}/ok/" + "a/../" * 2_000 + "link/x", f"{here}/ok/" + "./" * 4_000 + "link/x", "ok/x\0"):
            assert decide(read, Rule("allow", "read", {"path": f"{here}/ok/*"}), Rule("ask"), path=path) == "ask"
            assert decide(read, Rule("deny", "read", {"path": f"{here}/no/*"}), path=path) == "deny"

    def test_forms_of_an_accent_are_one_name(self, here: Path):
        path = unicodedata.normalize("NFD", f"{here}/é/x")
        assert decide(read, Rule("deny", "read", {"path": f"{here}/é/*"}), path=path) == "deny"

    def test_links_of_a_list_stay_denied_by_their_own_names(self, here: Path):
        (here / "prod.env").symlink_to("values")
        assert decide(read_all, Rule("deny", "read_all", {"paths": "*.env"}), paths=["prod.env"]) == "deny"

    def test_paths_inside_of_objects_are_resolved(self):
        def load(options: Options | None = None, model: Model | None = None) -> str:
            return f"{options} {model}"

        def is_secret(options: Options | None, model: Model | None) -> bool:
            return ".env" in (options.path if options else "", model.file if model else "")

        made = as_tool(load, asks_about=is_secret)
        call = ToolCall("c", "load", {"model": {"file": "./x/../.env", "more": [{"path": "ok/../b"}]}})
        canonical = canonicalize(made, call)
        assert canonical.arguments["model"] == {"file": ".env", "more": [{"path": "b", "force": True}]}
        assert canonical.needs_approval
        rule = Rule("deny", "load", {"options": f'*"{os.getcwd()}/no/x"*'})
        assert decide(made, rule, options={"path": f"{os.getcwd()}/ok/link/x", "force": "yes"}) == "deny"


SHELL = shell_tool()
GIT = Rule("allow", "*", {"command": "git *"})
NEVER = Rule("deny", "*", {"command": "rm *"}), Rule("allow", "*", {"command": "*"})


class TestShells:
    @pytest.mark.parametrize(
        "line",
        [
            *(
                "-c core.pager='rm x' log",
                "-ccore.pager=x log",
                "-c alias.x='!rm x' x",
                "--config-env=core.pager=X log",
            ),
            *("--exec-path=/tmp/evil log", "--git-dir=/tmp/evil log", "-C /tmp/evil status", "clone -u 'rm x' ."),
            *("fetch --upload-pack 'rm x' o", "fetch --upload-p='rm x' o", "push --receive-pack='rm x' o"),
            *("archive --exec='rm x' --remote=.", "clone 'ext::sh -c rm% x'", "grep -O'rm x' a", "bisect run rm x"),
            *(
                "grep --open-files-in-pager='rm x' a",
                "difftool -x 'rm x'",
                "rebase --exec 'rm x' HEAD~",
                "diff --ext-diff",
            ),
            *("submodule foreach 'rm x'", "filter-branch --tree-filter 'rm x'", "config core.pager 'rm x'"),
            *("log --output=/home/me/.bashrc", "init --template=/tmp/evil", "send-email --sendmail-cmd='rm x'"),
            # An alias, hooks, and programs that the repository's own configuration or attributes name.
            *(
                "x",
                "st -s",
                "commit -m x",
                "checkout y",
                "merge y",
                "pull",
                "push",
                "gc",
                "worktree add --foo y",
                "am a",
            ),
            *(
                "status",
                "diff",
                "log -p",
                "show",
                "blame a",
                "stash",
                "grep x",
                "describe --dirty",
                "fsmonitor--daemon",
            ),
            *("-p rev-parse x", "--paginate rev-parse x", "--exec-path=/tmp/evil rev-parse x", "--bare rev-parse x"),
            *("--namespace x rev-parse x", "--no-pager x", "--no-pager -c alias.rev-parse=!x rev-parse x"),
            *("cat-file --textconv x", "cat-file --filters x", "rev-parse --git-dir=/tmp/evil"),
            *("rev-parse 'x^{tree}'", "rev-parse x~1", "rev-parse x:a", "rev-list x", "for-each-ref", "ls-tree x"),
        ],
    )
    def test_a_star_stands_for_no_option_that_starts_a_program(self, line: str):
        assert decide(SHELL, GIT, command=f"git {line}") == "ask"
        with pytest.raises(ToolFailure, match="not among the allowed"):
            check_allowed_commands(f"git {line}", ["git *"])

    def test_an_option_that_a_pattern_names_is_allowed(self):
        check_allowed_commands(
            "git -C docs log -n 3; git log -p -n 3; git add -u; git --no-pager rev-parse HEAD; find . -name x",
            ["git *", "git -C docs log *", "git log *", "git add *", "find *"],
        )
        for line in (
            *("find . -exec rm {} +", "find . -delete", "sort -o x y", "tar -I 'rm x' -xf a", "rg --pre rm x"),
            *(
                "split --filter='rm x' a",
                "go vet -vettool=./x",
                "nc -e /bin/sh x 1",
                "gcc -fplugin=./x.so a.c",
                "gcc @x",
            ),
            *(
                "uv run x",
                "cargo run",
                "go run x",
                "npm exec x",
                "gh alias set x '!rm'",
                "ip netns exec x rm",
                "curl -K x",
            ),
            *("test -v 'a[$(rm x)]'", "[ -v 'a[`rm x`]' ]", "printf %d 'a[$(rm x)]'", "wget --use-askpass=./x u"),
        ):
            with pytest.raises(ToolFailure):
                check_allowed_commands(line, [f"{line.split()[0]} *"])
        check_allowed_commands(
            "uv sync; cargo test x; npm run build; go test ./...; test -f x; printf %s x; curl -sS http://x",
            [f"{program} *" for program in ("uv", "cargo", "npm", "go", "test", "printf", "curl")],
        )

    @pytest.mark.parametrize(
        "line",
        [
            *("env rm x", "env -i rm x", "xargs rm", "xargs -I{} rm {}", "nice -n 5 rm x", "timeout 5 rm x", "sh x"),
            *(
                "sudo rm x",
                "ssh host rm x",
                "command rm x",
                "exec rm x",
                "source x",
                "awk 'BEGIN { system(\"rm x\") }'",
            ),
            *("python -c x", "python x.py", "python -m evil", "perl -e x", "node -e x", "npx evil", "docker run x"),
            *("sed e x", "sed '1e rm x' x", "sed s/a/rm/e x", "sed 's/a/b/w /tmp/x' x", "sed -n 'w x' y", "sed -f x y"),
            *("sed -e p -e 1e x", "sed -i p x", "sed -n -i p x", "sed 's/[/x/;s/]y/z/;1e rm' x", "sed 'p;e' x"),
            *(
                "start-stop-daemon --exec rm -- x",
                "prlimit rm x",
                "fakeroot rm x",
                "ld.so /bin/rm x",
                "socat EXEC:rm -",
            ),
            *("compgen -C 'rm x' a", "let 'a[$(rm x)]=1'", "hash -p /bin/rm ls", "enable -f ./x.so y", "nix-shell x"),
            *("make SHELL=/tmp/evil", "make --eval='x:;rm x'", "make -f /tmp/evil", "make CC=rm x"),
        ],
    )
    def test_a_star_stands_for_no_code_of_a_program_that_runs_code(self, line: str):
        program = line.split()[0]
        assert decide(SHELL, Rule("allow", "*", {"command": f"{program} *"}), command=line) == "ask"
        with pytest.raises(ToolFailure, match=r"not among the allowed commands: .*; only a pattern that names `"):
            check_allowed_commands(line, [f"{program} *"])

    @pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
    def test_what_a_star_covers_of_git_starts_no_program_of_the_repository(self, here: Path):
        start = shlex.join(["touch", str(here / "pwned")])
        settings = {
            **dict.fromkeys(("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"), start),
            **dict.fromkeys(("diff.external", "gpg.program", "filter.x.clean", "diff.x.textconv"), start),
            **dict.fromkeys(("remote.origin.uploadpack", "core.alternateRefsCommand"), f"{start};false"),
            **{"remote.origin.url": str(here), "remote.origin.promisor": "true", "extensions.partialClone": "origin"},
            **{"core.repositoryFormatVersion": "1", "log.showSignature": "true", "alias.x": f"!{start}"},
            **{"core.hooksPath": str(here / "hooks"), "alias.rev-parse": f"!{start}", "alias.version": f"!{start}"},
        }
        missing = "1234567890" * 4
        (here / "hooks").mkdir()
        for hook in ("post-index-change", "reference-transaction"):
            (here / "hooks" / hook).write_text(f"#!/bin/sh\n{start}\n")
            (here / "hooks" / hook).chmod(0o755)
        (here / ".gitattributes").write_text("* filter=x diff=x\n")
        subprocess.run(["git", "init", "-q", "."], check=True)
        subprocess.run(["git", "add", ".gitattributes"], check=True)
        for name, value in settings.items():
            subprocess.run(["git", "config", name, value], check=True)
        (here / ".gitattributes").write_text("* filter=x diff=x\n\n")
        subprocess.run(["git", "status"], check=False)
        assert (here / "pwned").exists(), "the settings work"
        (here / "pwned").unlink()
        for line in (
            *("rev-parse --show-toplevel", "rev-parse --abbrev-ref @", f"rev-parse {missing}", "rev-parse 12345678"),
            *(
                "check-ref-format a/b",
                "count-objects -v -H",
                "version --build-options",
            ),
        ):
            assert decide(SHELL, GIT, command=f"git {line}") == "allow"
            subprocess.run(["git", *line.split()], check=False, timeout=30)
            assert not (here / "pwned").exists(), line

    def test_code_that_a_pattern_names_is_allowed(self):
        patterns = ["python -m pytest *", "python run.py *", "sed *", "make *", "env A=1 ls", "docker ps *", "awk 1 *"]
        for line in (
            *(
                "python -m pytest -c x -k y",
                "python run.py -c x",
                "sed -n 1,5p x",
                "sed 's/a/b/g;$d' x",
                "make -k test",
            ),
            *("sed -n '/a/,/b/p' x y", "sed 's|/a|/b|' x", "sed s/[abc]//g x", "env A=1 ls", "docker ps -a", "awk 1 x"),
        ):
            check_allowed_commands(line, patterns)

    @pytest.mark.parametrize(
        "line",
        [
            *(
                "'rm' x",
                "r\\m x",
                "/bin/../bin/rm x",
                "rm\\\n x",
                "env A=1 rm x",
                "A=1 rm x",
                "command rm x",
                "nohup rm x",
            ),
            *("nice -n 5 rm x", "timeout 5 /bin/rm x", "ls | xargs rm", "find . -exec rm {} +", "find . -ok rm {} \\;"),
            *("sh -c 'rm x'", 'bash -lc "rm x"', "eval 'r''m x'", "busybox rm x", "sudo -u root rm x", "ssh host rm x"),
            *(
                "if true; then rm x; fi",
                "! rm x",
                "for i in a; do rm $i; done",
                "alias ll=rm; ll x",
                "f() { rm x; }; f",
            ),
            *(
                "echo 'rm x' | sh",
                "python -c 'import os; os.system(\"rm x\")'",
                "trap 'rm x' EXIT",
                ">x rm x",
                "<x rm x",
            ),
            *("prlimit rm x", "fakeroot rm x", "setarch x rm x", "/lib64/ld-linux-x86-64.so.2 /bin/rm x"),
            *(
                "uv run rm x",
                "poetry run rm x",
                "npm exec rm x",
                "bundle exec rm x",
                "conda run -n x rm y",
                "op run -- rm x",
            ),
            *("test -v 'a[$(rm x)]'", "printf %d 'a[$(rm x)]'", "compgen -C 'rm x' a", "split --filter='rm x' a"),
            *("$(echo rm) x", "a=rm; $a x", "rm$IFS''x", "git -c alias.x='!rm x' x", "echo $(r\\m x)"),
        ],
    )
    def test_a_program_that_is_denied_is_so_by_whatever_starts_it(self, line: str):
        assert decide(SHELL, *NEVER, command=line) == "deny"

    def test_a_program_whose_name_is_computed_is_asked_about(self):
        for line in ("$X y", "ls; ${A}${B} x", "r$(echo)m x", "${X:-rm} x", "/bin/r? x", "if $X; then ls; fi"):
            assert decide(SHELL, *NEVER, command=line) == "ask", line
            assert decide(SHELL, NEVER[1], command=line) == "allow", line

    def test_a_name_in_a_plain_argument_is_no_program(self):
        for line in ("grep rm x", "git log --grep rm", "echo $(date)", "ls *.py", "cat 'rm x'"):
            assert decide(SHELL, *NEVER, command=line) == "allow", line


def test_an_always_ends_when_a_tool_is_described_otherwise():
    def send(to: str) -> str:
        """Send a greeting."""
        return to

    def described(text: str) -> Tool:
        return as_tool(send, name="send", description=text, destructive=True)

    policy, call = Policy(), ToolCall("c", "send", {"to": "x"})
    policy.always(make_standing_decision(canonicalize(described("Send a greeting."), call)))
    assert policy.decide(call, described("Send a greeting.")) == "allow"
    assert policy.decide(call, described("Send all your files.")) == "ask"
    assert policy.decide(ToolCall("c", "other", {"to": "x"}), renamed(described("x"), "other")) == "ask"
    policy.always(make_standing_decision(canonicalize(described("Send a greeting."), call), allowed=False))
    assert policy.decide(call, described("Send all your files.")) == "deny"
