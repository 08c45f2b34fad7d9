"""Shell commands that start other commands, by their nature or by a little-known option."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

#: Programs and shell built-ins that run commands given by their arguments or input.
_LAUNCHERS = re.compile(
    r"env|xargs|parallel|find|fd|sudo|doas|su|runuser|nohup|nice|ionice|chrt|taskset|time|timeout|stdbuf|setsid|setpriv"
    r"|command|builtin|exec|eval|source|\.|trap|alias|coproc|busybox|toybox|chroot|unshare|nsenter|flock|watch|script"
    r"|strace|ltrace|gdb|ssh|systemd-run|at|batch|crontab|entr|expect|tmux|screen|docker|podman|kubectl|make|npx|uvx"
    r"|pkexec|runcon|prlimit|numactl|setarch|linux(?:32|64)|i386|x86_64|capsh|bwrap|firejail|proot|fakeroot|faketime"
    r"|eatmydata|unbuffer|rlwrap|xvfb-run|dbus-run-session|ssh-agent|start-stop-daemon|ld\.so|ld-linux[\w.-]*|socat|nix-shell"
    r"|compgen|complete|bind|let|fc|enable|hash"
    r"|(?:ba|da|z|k|mk|a|c|tc|fi)?sh|pwsh|python[\d.]*|pypy[\d.]*|perl|ruby|node|deno|bun|php|lua|tclsh|[gmn]?awk|sed|vim?|ed"
)
#: Launchers whose arguments are the command to run, with options before it.
_PREFIX_LAUNCHERS = re.compile(
    r"env|xargs|parallel|sudo|doas|su|runuser|nohup|nice|ionice|chrt|taskset|time|timeout|stdbuf|setsid|setpriv|command"
    r"|builtin|exec|eval|source|\.|trap|alias|coproc|busybox|toybox|chroot|unshare|nsenter|flock|watch|script|strace"
    r"|ltrace|gdb|ssh|systemd-run|at|batch|crontab|entr|expect|tmux|screen|(?:ba|da|z|k|mk|a|c|tc|fi)?sh|pwsh"
    r"|pkexec|runcon|prlimit|numactl|setarch|linux(?:32|64)|i386|x86_64|capsh|bwrap|firejail|proot|fakeroot|faketime"
    r"|eatmydata|unbuffer|rlwrap|xvfb-run|dbus-run-session|ssh-agent|start-stop-daemon|ld\.so|ld-linux[\w.-]*|socat|nix-shell"
    r"|compgen|complete|bind|let|fc|enable|hash"
)
#: Launchers whose first argument that is no option is the code to run: a script, a module, a subcommand.
_INTERPRETERS = re.compile(
    r"docker|podman|kubectl|npx|uvx|python[\d.]*|pypy[\d.]*|perl|ruby|node|deno|bun|php|lua|tclsh|[gmn]?awk|vim?|ed"
)
#: Options that start a program, or write a file, in programs that mostly do neither. An option may be shortened.
_LAUNCHING_OPTIONS: dict[str, tuple[str, ...]] = {
    "git": (
        *(
            "-c",
            "-C",
            "-O",
            "-x",
            "--config-env",
            "--exec-path",
            "--git-dir",
            "--upload-pack",
            "--receive-pack",
            "--exec",
        ),
        *(
            "--open-files-in-pager",
            "--ext-diff",
            "--textconv",
            "--filters",
            "--extcmd",
            "--template",
            "--output",
            "--work-tree",
        ),
        *("--tree-filter", "--index-filter", "--msg-filter", "--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd"),
    ),
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "tar": (
        *("-I", "-F", "--to-command", "--use-compress-program", "--checkpoint-action", "--info-script"),
        *("--new-volume-script", "--rsh-command", "--rmt-command"),
    ),
    "make": ("-C", "-f", "-I", "--directory", "--file", "--makefile", "--include-dir", "--eval"),
    "sort": ("-o", "--output", "--compress-program"),
    "rg": ("--pre", "--hostname-bin"),
    "ssh": ("-o", "-F"),
    "scp": ("-o", "-F", "-S"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "man": ("-P", "-H", "--pager", "--html"),
    "zip": ("-TT", "--unzip-command"),
    "split": ("--filter",),
    "bat": ("--pager",),
    "delta": ("--pager",),
    "go": ("-exec", "-toolexec", "-vettool"),
    "gpg": ("--agent-program", "--dirmngr-program", "--photo-viewer"),
    "wget": ("--use-askpass", "--execute", "-e", "--config"),
    "curl": ("-K", "--config"),
    **dict.fromkeys(("nc", "ncat", "netcat"), ("-e", "-c", "--exec", "--sh-exec", "--lua-exec")),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), ("-wrapper", "-fplugin", "-specs", "@")),
}
#: Subcommands that start programs or write files, with the option or word that they need for that, if any.
_LAUNCHING_SUBCOMMANDS: dict[str, dict[str, str]] = {
    **{name: {"run": ""} for name in ("uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda", "mamba")},
    **{name: {"exec": ""} for name in ("bundle", "pyenv", "rbenv", "direnv", "mise", "tox", "aws-vault")},
    **{name: {"exec": "", "x": "", "dlx": ""} for name in ("npm", "pnpm", "yarn")},
    **{name: {"run": ""} for name in ("cargo", "op", "doppler", "dotenv")},
    "go": {"run": "", "generate": ""},
    "bun": {"x": ""},
    "gh": {"alias": "", "extension": ""},
    "ip": {"netns": ""},
    "git": {
        **dict.fromkeys(("difftool", "mergetool", "filter-branch", "send-email", "config", "credential"), ""),
        **{"bisect": "run", "submodule": "foreach", "clone": "-u"},
    },
}
#: Built-ins of a shell that evaluate an argument as an expression, and a substitution in an index of it.
_EVALUATING = frozenset(("test", "[", "printf", "declare", "typeset", "local", "export", "readonly", "read", "unset"))
_SUBSTITUTION = re.compile(r"\$\(|`")
_MIN_OPTION_LENGTH = len("--ex")
#: Subcommands of git that start no program which the configuration, the attributes or the hooks of a repository
#: name. `status` is none of them (`core.fsmonitor`, filters), and neither are `diff`, `show` and `blame`
#: (`diff.external`, textconv, filters) and `log` (`gpg.program`). Whatever reads objects may fetch missing ones
#: (`remote.*.uploadpack`, `core.sshCommand`). Any unknown word may be an alias.
_PLAIN_GIT_COMMANDS = frozenset(("check-ref-format", "count-objects", "rev-parse", "version"))
#: A revision that `rev-parse` resolves without reading objects.
_PLAIN_REVISION = re.compile(r"[\w@./=-]+")
_PLAIN_GIT_OPTIONS = frozenset(
    (
        "--no-pager",
        "-P",
        "--no-optional-locks",
        "--literal-pathspecs",
        "--no-replace-objects",
        "--version",
        "--no-lazy-fetch",
    )
)
#: Of `sed`, scripts that only print, delete and substitute: no `e`, `w` or `r`, also not as a flag of `s`.
_SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\[^\n])*/)"
_SED_COMMAND = (
    rf"(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?)?(?:!?[pdq=]"
    r"|s(?:/(?:[^/\\\n]|\\[^\n])*){2}/[gpI0-9]*|s(?:\|(?:[^|\\\n]|\\[^\n])*){2}\|[gpI0-9]*)"
)
_PLAIN_SED_SCRIPT = re.compile(rf"{_SED_COMMAND}|(?!.*\[){_SED_COMMAND}(?:; ?{_SED_COMMAND})*")
_PLAIN_SED_OPTION = re.compile(
    r"-[nErsuz]+|--quiet|--silent|--posix|--regexp-extended|--null-data|--unbuffered|--debug"
)


def launches_commands(words: Sequence[str]) -> bool:
    """Return whether a command starts other commands that its words name."""
    if not words:
        return False
    return _LAUNCHERS.fullmatch(_program_name(words)) is not None or any(find_launching_words(words))


def find_launching_words(words: Sequence[str]) -> list[bool]:
    """Return for each word whether it makes a program start another program, or write a file, that otherwise
    does not.
    """
    program = _program_name(words)
    options, verbs = _LAUNCHING_OPTIONS.get(program, ()), _LAUNCHING_SUBCOMMANDS.get(program, {})
    found = [at > 0 and _is_launching_option(word, options) for at, word in enumerate(words)]
    if program in _EVALUATING:
        return [at > 0 and _SUBSTITUTION.search(word) is not None for at, word in enumerate(words)]
    for at, word in enumerate(words):
        needed = verbs.get(word)
        found[at] = found[at] or needed == ""
        for later in range(at + 1, len(words)) if needed else ():
            found[later] = found[later] or words[later].startswith(needed or "")
    return found


def find_uncovered_words(words: Sequence[str]) -> list[bool]:
    """Return for each word whether a wildcard of a rule does not stand for it.

    These are the launching words, and in addition words that select the code to run: the subcommand of git
    and the options before it, the script of an interpreter, and every argument of a program such as `env`.
    """
    program, found = _program_name(words), find_launching_words(words)
    if _PREFIX_LAUNCHERS.fullmatch(program):
        return [at > 0 for at in range(len(words))]
    start = next((at for at, word in enumerate(words) if at and not word.startswith("-")), len(words))
    if program == "git":
        is_plain = start < len(words) and words[start] in _PLAIN_GIT_COMMANDS
        for at in range(1, min(start + 1, len(words))):
            found[at] = found[at] or not (words[at] in _PLAIN_GIT_OPTIONS or (at == start and is_plain))
        if "rev-parse" in words[start : start + 1]:
            found = [each or not _PLAIN_REVISION.fullmatch(word) for each, word in zip(found, words, strict=True)]
    elif program == "sed":
        found = [found[at] or (at > 0 and each) for at, each in enumerate(_find_sed_code(words))]
    elif program == "make":
        found = [each or (at > 0 and "=" in words[at]) for at, each in enumerate(found)]
    elif _INTERPRETERS.fullmatch(program):
        found = [each or 0 < at <= start for at, each in enumerate(found)]
    return found


def _find_sed_code(words: Sequence[str]) -> list[bool]:
    """Return for each word of a `sed` command whether it is, or may be, more than a plain script or a file."""
    found = [False] * len(words)
    is_script, has_script = False, False
    for at, word in enumerate(words[1:], 1):
        if is_script or (not has_script and not word.startswith("-")):
            found[at] = _PLAIN_SED_SCRIPT.fullmatch(word) is None
            is_script, has_script = False, True
        elif word in ("-e", "--expression"):
            is_script = True
        elif word.startswith("-"):
            found[at] = _PLAIN_SED_OPTION.fullmatch(word) is None
    return found


def _program_name(words: Sequence[str]) -> str:
    return os.path.basename(words[0]) if words else ""


def _is_launching_option(word: str, options: tuple[str, ...]) -> bool:
    if not options:
        return False
    # `ext::sh -c …` is an address that git runs.
    if "ext::" in word:
        return True
    name = word.partition("=")[0]
    if not word.startswith("--"):
        # A short option may be followed by its value without a space; `-exec` is one word.
        short = (each for each in options if not each.startswith("--"))
        return any(each in (word, name) or (len(each) <= 2 and word.startswith(each)) for each in short)
    return len(name) >= _MIN_OPTION_LENGTH and any(each.startswith(name) for each in options)
