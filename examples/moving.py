"""What organise.vibe does to files: nothing outside its folder, and nothing is ever overwritten."""

from __future__ import annotations

from pathlib import Path


def files(folder: str) -> list[str]:
    """The names of the files in a folder."""
    return sorted(path.name for path in Path(folder).expanduser().iterdir() if path.is_file())


def move(folder: str, name: str, into: str) -> str:
    """Move a file into a folder below; gives where it is now."""
    root = Path(folder).expanduser().resolve()
    source, target = (root / name).resolve(), (root / into / name).resolve()
    if root not in source.parents or root not in target.parents:
        raise ValueError(f"{into}/{name} is not inside {root}")
    if target.exists():
        raise ValueError(f"{target} is there already")
    target.parent.mkdir(parents=True, exist_ok=True)
    return str(source.rename(target))
