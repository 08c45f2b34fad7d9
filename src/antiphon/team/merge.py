"""Merge two commits without a checkout: ancestry, merged tree and conflicting files."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.team.git import GitRunner, RepositoryError

_MAX_SIDE_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class ConflictingFile:
    """A file with conflicting changes. A side is `None` where the file does not exist or is binary."""

    path: str
    base: str | None
    theirs: str | None
    ours: str | None


def merge_trees(git: GitRunner, task: str, theirs: str, ours: str) -> tuple[str, tuple[ConflictingFile, ...]]:
    """Merge two commits; return the tree, with conflict markers, and the conflicting files."""
    # These names appear beside the conflict markers.
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
        ConflictingFile(decode_file_name(name), *(_read_side(git, stages.get(stage)) for stage in (1, 2, 3)))
        for name, stages in sides.items()
    ]
    return tree.decode(), tuple(clashes)


def _read_side(git: GitRunner, blob: str | None) -> str | None:
    if blob is None or git.ask("cat-file", "-e", f"{blob}^{{blob}}").code:
        return None
    first, total = git.read("cat-file", "blob", blob, most=_MAX_SIDE_BYTES)
    if b"\0" in first:
        return None
    cut = f"\n[… {total - len(first):,} bytes more …]\n" if total > len(first) else ""
    return first.decode("utf-8", "replace") + cut


def find_conflict_markers(git: GitRunner, old: str, new: str) -> tuple[str, ...]:
    """Return the files, changed between two commits, that still have conflict markers."""
    said = git.ask("diff-tree", "--check", "-r", "--no-ext-diff", "--no-textconv", old, new)
    lines = said.output.decode("utf-8", "backslashreplace").splitlines()
    found = {line.rpartition(": leftover conflict marker")[0].rpartition(":")[0] for line in lines}
    return tuple(sorted(found - {""}))


def contains_commit(git: GitRunner, commit: str, other: str) -> bool:
    """Return whether a commit is, or has in its history, another one."""
    if commit == other:
        return True
    said = git.ask("merge-base", "--is-ancestor", other, commit)
    if said.code not in (0, 1):
        raise RepositoryError(f"the history of {commit[:12]} cannot be read: {said.errors}")
    return not said.code


def decode_file_name(name: bytes) -> str:
    """Return a file name as text, with undecodable bytes escaped."""
    return name.decode("utf-8", "backslashreplace")
