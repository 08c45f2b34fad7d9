"""Two commits side by side: whether one holds the other, what comes of both, and where they do not go together."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.agents.git import Git, RepositoryError

_LONGEST_SIDE = 100_000


@dataclass(frozen=True, slots=True)
class Clash:
    """A file that both sides changed. A side is `None` where there is no such file, or one that is no text."""

    path: str
    base: str | None
    theirs: str | None
    ours: str | None


def merge_trees(git: Git, task: str, theirs: str, ours: str) -> tuple[str, tuple[Clash, ...]]:
    """The tree of both, with marks where they do not go together, and the files where that is so."""
    # These names stand beside the marks.
    names = {f"before-{task}": theirs, task: ours}
    for name, commit in names.items():
        git.tell("update-ref", f"refs/heads/{name}", commit)
    said = git.ask("merge-tree", "--write-tree", "-z", "--no-messages", *names)
    if said.code not in (0, 1):
        raise RepositoryError(f"`{task}` cannot be merged: {said.errors}")
    tree, *entries = said.output.split(b"\0")
    sides: dict[bytes, dict[int, str]] = {}
    for entry in filter(None, entries):
        facts, _, name = entry.partition(b"\t")
        _, blob, stage = facts.decode().split()
        sides.setdefault(name, {})[int(stage)] = blob
    clashes = [
        Clash(shown(name), *(_text(git, stages.get(stage)) for stage in (1, 2, 3))) for name, stages in sides.items()
    ]
    return tree.decode(), tuple(clashes)


def _text(git: Git, blob: str | None) -> str | None:
    if blob is None or git.ask("cat-file", "-e", f"{blob}^{{blob}}").code:
        return None
    first, total = git.read("cat-file", "blob", blob, most=_LONGEST_SIDE)
    if b"\0" in first:
        return None
    cut = f"\n[… {total - len(first):,} bytes more …]\n" if total > len(first) else ""
    return first.decode("utf-8", "replace") + cut


def marked_files(git: Git, old: str, new: str) -> tuple[str, ...]:
    """The files in which marks of a conflict are left, of what changed between two commits."""
    said = git.ask("diff-tree", "--check", "-r", "--no-ext-diff", "--no-textconv", old, new)
    lines = said.output.decode("utf-8", "backslashreplace").splitlines()
    found = {line.rpartition(": leftover conflict marker")[0].rpartition(":")[0] for line in lines}
    return tuple(sorted(found - {""}))


def holds(git: Git, commit: str, other: str) -> bool:
    """Whether a commit has another in its history, or is it."""
    if commit == other:
        return True
    said = git.ask("merge-base", "--is-ancestor", other, commit)
    if said.code not in (0, 1):
        raise RepositoryError(f"the history of {commit[:12]} cannot be read: {said.errors}")
    return not said.code


def shown(name: bytes) -> str:
    """The name of a file for people; bytes that are no text are escaped."""
    return name.decode("utf-8", "backslashreplace")
