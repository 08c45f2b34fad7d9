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
    r"|(?:ba|da|z|k|mk|a|c|tc|fi)?sh|pwsh|python[\d.]*|pypy[\d.]*|perl|ruby|node|deno|bun|php|lua|tclsh|[gmn]?awk|sed|vim?|ed"
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
        *("--open-files-in-pager", "--ext-diff", "--textconv", "--extcmd", "--template", "--output", "--work-tree"),
        *("--tree-filter", "--index-filter", "--msg-filter", "--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd"),
    ),
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "tar": (
        *("-I", "-F", "--to-command", "--use-compress-program", "--checkpoint-action", "--info-script"),
        *("--new-volume-script", "--rsh-command", "--rmt-command"),
    ),
    "sed": ("-i", "--in-place"),
    "sort": ("-o", "--output", "--compress-program"),
    "rg": ("--pre", "--hostname-bin"),
    "ssh": ("-o", "-F"),
    "scp": ("-o", "-F", "-S"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "man": ("-P", "-H", "--pager", "--html"),
    "zip": ("-TT", "--unzip-command"),
}
#: Subcommands that start programs or write files, with the option or word that they need for that, if any.
_LAUNCHING_SUBCOMMANDS: dict[str, dict[str, str]] = {
    "git": {
        **dict.fromkeys(("difftool", "mergetool", "filter-branch", "send-email", "config", "credential"), ""),
        **{"bisect": "run", "submodule": "foreach", "clone": "-u"},
    }
}
_MIN_OPTION_LENGTH = len("--ex")


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
    for at, word in enumerate(words):
        needed = verbs.get(word)
        found[at] = found[at] or needed == ""
        for later in range(at + 1, len(words)) if needed else ():
            found[later] = found[later] or words[later].startswith(needed or "")
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
        return any(word == each or (len(each) == 2 and word.startswith(each)) for each in short)
    return len(name) >= _MIN_OPTION_LENGTH and any(each.startswith(name) for each in options)
