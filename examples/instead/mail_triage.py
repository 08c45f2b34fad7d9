"""Sorts the mails of a folder by how soon they need an answer, and drafts those that are due today."""

import argparse
import asyncio
import csv
import sys
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent


class Triage(BaseModel):
    sender: str = Field(description="the name of the person who wrote")
    topic: Literal["billing", "bug", "question", "spam"] = Field(description="what the mail is about")
    due: Literal["today", "this week", "some time"] = Field(description="how soon an answer is needed")
    request: str = Field(description="what they want, in one short sentence")


MODEL = "openai:gpt-5-mini"
triager = Agent(MODEL, output_type=Triage, instructions="Triage this mail.", max_concurrency=8)
writer = Agent(MODEL, instructions="Draft a short, friendly answer to this mail.", max_concurrency=8)


async def triage(path: Path, drafts: Path | None) -> Triage:
    mail = path.read_text(encoding="utf-8")
    triage = (await triager.run(mail)).output
    if drafts and triage.due == "today" and triage.topic != "spam":
        draft = (await writer.run(mail)).output
        drafts.mkdir(parents=True, exist_ok=True)
        (drafts / f"{path.name}.txt").write_text(draft + "\n", encoding="utf-8")
    return triage


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the mails are, as .eml files")
    parser.add_argument("--table", type=Path, help="a CSV file for all that was found out")
    parser.add_argument("--drafts", type=Path, help="a folder for drafts of the answers that are due today")
    args = parser.parse_args()
    paths = sorted(args.folder.glob("*.eml"))
    if not paths:
        sys.exit(f"there are no .eml files in {args.folder}")

    mails = await asyncio.gather(*(triage(path, args.drafts) for path in paths))
    for due in ("today", "this week", "some time"):
        for mail in mails:
            if mail.due == due and mail.topic != "spam":
                print(f"{due:9}  {mail.topic:8}  {mail.sender}: {mail.request}")
    print(f"{len(mails)} mails, {sum(mail.topic == 'spam' for mail in mails)} of them spam")
    if args.table:
        with args.table.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, ["file", *Triage.model_fields], lineterminator="\n")
            table.writeheader()
            table.writerows({"file": path.name, **mail.model_dump()} for path, mail in zip(paths, mails, strict=True))


if __name__ == "__main__":
    asyncio.run(main())
