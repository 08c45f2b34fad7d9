"""Tells what is new in the repositories that you depend on, and what you have to do about it."""

import argparse
import asyncio
from datetime import date, timedelta

import httpx2
from pydantic import BaseModel, Field, TypeAdapter
from pydantic_ai import Agent


class Release(BaseModel):
    tag_name: str
    published_at: str
    body: str | None


class News(BaseModel):
    summary: str = Field(description="what is new, in one sentence")
    breaking: bool = Field(description="whether code that uses it may have to change")
    todo: str | None = Field(description="what to do before updating, in one sentence")


Releases = TypeAdapter(list[Release])
reader = Agent("openai:gpt-5-mini", output_type=News, max_concurrency=8)


async def read(client: httpx2.AsyncClient, repo: str, since: str) -> tuple[str, str, News] | None:
    try:
        response = (await client.get(f"/repos/{repo}/releases")).raise_for_status()
        all_releases = Releases.validate_json(response.content)
    except (httpx2.HTTPError, ValueError) as error:
        print(f"{repo} cannot be read: {error}")
        return None
    releases = [each for each in all_releases if each.published_at >= since]
    if not releases:
        return None
    notes = "\n\n".join(f"## {each.tag_name}\n\n{each.body or ''}" for each in releases)
    news = await reader.run(f"What do users of {repo} have to know?\n\n{notes}")
    return repo, ", ".join(each.tag_name for each in releases), news.output


async def main() -> None:
    week_ago = (date.today() - timedelta(days=7)).isoformat()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repos", action="append", required=True, help="repositories on GitHub, as owner/name")
    parser.add_argument("--since", default=week_ago, help="from this day on; if it is not given, for a week")
    parser.add_argument("--api", default="https://api.github.com", help="where the API is")
    args = parser.parse_args()

    async with httpx2.AsyncClient(base_url=args.api, follow_redirects=True) as client:
        read_all = await asyncio.gather(*(read(client, repo, args.since) for repo in args.repos))
    found = [each for each in read_all if each]
    for repo, versions, news in sorted(found, key=lambda each: not each[2].breaking):
        print(f"{'!' if news.breaking else ' '} {repo} {versions}: {news.summary}")
        if news.todo:
            print(f"    → {news.todo}")
    print(f"{len(found)} of {len(args.repos)} repositories have something new since {args.since}")


if __name__ == "__main__":
    asyncio.run(main())
