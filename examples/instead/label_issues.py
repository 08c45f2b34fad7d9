"""Labels the open issues of a repository that have no label yet."""

import argparse
import os
import sys
from typing import Any, Literal

import httpx2
from pydantic import BaseModel, Field, TypeAdapter
from pydantic_ai import Agent


class Issue(BaseModel):
    number: int
    title: str
    body: str | None
    labels: list[Any]
    pull_request: Any = None


class Verdict(BaseModel):
    label: Literal["bug", "documentation", "enhancement", "question"]
    confidence: float = Field(description="from 0 to 1")
    reason: str = Field(description="in half a sentence")


Issues = TypeAdapter(list[Issue])
judge = Agent("openai:gpt-5-mini", output_type=Verdict, instructions="Which label fits?")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", required=True, help="the repository on GitHub, as owner/name")
    parser.add_argument("--apply", action="store_true", help="set the labels; otherwise they are only shown")
    parser.add_argument("--sure", type=float, default=0.8, help="how sure the model has to be, from 0 to 1")
    parser.add_argument("--api", default="https://api.github.com", help="where the API is")
    args = parser.parse_args()
    token = os.environ.get("GITHUB_TOKEN") or sys.exit("GITHUB_TOKEN is not set")
    headers = {"Authorization": f"Bearer {token}"}
    client = httpx2.Client(base_url=f"{args.api}/repos/{args.repo}", headers=headers)

    count = 0
    try:
        found = client.get("/issues", params={"state": "open", "per_page": 100}).raise_for_status()
        for issue in Issues.validate_json(found.content):
            if issue.labels or issue.pull_request:
                continue
            verdict = judge.run_sync(f"# {issue.title}\n\n{issue.body or ''}").output
            is_sure = verdict.confidence >= args.sure
            print(f"#{issue.number} {verdict.label if is_sure else '?'}: {issue.title} ({verdict.reason})")
            if is_sure and args.apply:
                client.post(f"/issues/{issue.number}/labels", json={"labels": [verdict.label]}).raise_for_status()
                count += 1
    except (httpx2.HTTPError, ValueError) as error:
        sys.exit(str(error))
    print(f"{count} issues were labelled")


if __name__ == "__main__":
    main()
