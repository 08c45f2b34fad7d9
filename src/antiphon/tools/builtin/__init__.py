"""The built-in tools, and bundles of them.

`read_only_tools` can only read; `all_tools` can change files, run commands and, if allowed, fetch pages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from antiphon._base.lazy_exports import publish_exports
from antiphon.tools.builtin.ask_user import AnswerFunction, ask_user_tool
from antiphon.tools.builtin.clock import now
from antiphon.tools.builtin.files import file_tools
from antiphon.tools.builtin.git import git_tools
from antiphon.tools.builtin.shell import shell_tool
from antiphon.tools.builtin.todo import todo_tool
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
    "todo_tool",
]


def read_only_tools(root: str | os.PathLike[str] = ".") -> list[Tool]:
    """Return tools that read a directory and its git repository and change nothing, and the clock."""
    return [tool for tool in (*file_tools([root]), *git_tools(root)) if tool.read_only] + [now]


def all_tools(
    root: str | os.PathLike[str] = ".",
    *,
    shell_allow: Sequence[str] = (),
    fetch_allow: Sequence[str] = (),
    answer: AnswerFunction | None = None,
) -> list[Tool]:
    """Return every built-in tool for a directory. Tools that change something need approval unless a policy
    decides otherwise.
    """
    return [
        *file_tools([root]),
        *git_tools(root),
        shell_tool(root, shell_allow),
        fetch_tool(fetch_allow),
        ask_user_tool(answer),
        now,
    ]


publish_exports(globals())
