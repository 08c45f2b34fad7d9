"""Gives text files names that tell what is in them. It shows the names, and asks before it renames."""

import argparse
import asyncio
import datetime
import re
import sys
from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_ai import Agent


class Name(BaseModel):
    day: datetime.date | None = Field(description="the date it is of, if it says one")
    title: str = Field(description="two to five words that tell what it is")


namer = Agent("openai:gpt-5-mini", output_type=Name, max_concurrency=8)


async def name(path: Path) -> Name:
    start = path.read_text(encoding="utf-8")[:2_000]
    return (await namer.run(f"Name this file, which is called {path.name}.\n\n{start}")).output


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the files are")
    parser.add_argument("--ending", default=".txt", help="which of them")
    parser.add_argument("--dry-run", action="store_true", help="only show the names")
    args = parser.parse_args()
    if not args.folder.is_dir():
        sys.exit(f"there is no folder {args.folder}")

    paths = sorted(args.folder.glob(f"*{args.ending}"))
    names = await asyncio.gather(*map(name, paths))
    taken = {path.name for path in args.folder.iterdir()}
    renames: list[tuple[Path, str]] = []
    for path, new in zip(paths, names, strict=True):
        words = f"{new.day or ''} {new.title}".lower()
        stem = "-".join(re.findall(r"\w+", words))
        to, copy = f"{stem}{args.ending}", 1
        while to != path.name and to in taken:
            copy += 1
            to = f"{stem}-{copy}{args.ending}"
        if to != path.name:
            taken.add(to)
            renames.append((path, to))
            print(f"{path.name} → {to}")

    if not renames:
        print(f"All {len(paths)} files have good names.")
    elif not args.dry_run and input(f"Rename {len(renames)} of {len(paths)} files? ").lower() in ("y", "yes"):
        for path, to in renames:
            path.rename(path.with_name(to))
        print("Renamed.")
    else:
        print("Nothing was renamed.")


if __name__ == "__main__":
    asyncio.run(main())
