"""The tools that come built in, and bundles of them.

`read_only_tools` can only look; `all_tools` can change files, run commands and, where allowed, fetch pages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from antiphon._public import publish
from antiphon.tools.builtin.clock import now
from antiphon.tools.builtin.files import file_tools
from antiphon.tools.builtin.git import git_tools
from antiphon.tools.builtin.people import Answer, ask_user_tool
from antiphon.tools.builtin.shell import shell_tool
from antiphon.tools.builtin.web import fetch_tool
from antiphon.tools.tool import Tool

__all__ = [
    "all_tools",
    "ask_user_tool",
    "fetch_tool",
    "file_tools",
    "git_tools",
    "now",
    "read_only_tools",
    "shell_tool",
]


def read_only_tools(root: str | os.PathLike[str] = ".") -> list[Tool]:
    """Tools that look at a directory and its git repository and change nothing; and the clock."""
    return [tool for tool in (*file_tools([root]), *git_tools(root)) if tool.read_only] + [now]


def all_tools(
    root: str | os.PathLike[str] = ".",
    *,
    shell_allow: Sequence[str] = (),
    fetch_allow: Sequence[str] = (),
    answer: Answer | None = None,
) -> list[Tool]:
    """Every built-in tool for a directory. Those that change something ask for approval, unless a policy says else."""
    return [
        *file_tools([root]),
        *git_tools(root),
        shell_tool(root, shell_allow),
        fetch_tool(fetch_allow),
        ask_user_tool(answer),
        now,
    ]


publish(globals())
