"""Tells what went wrong, according to a log: the cause, the lines that show it, and what to do."""

import argparse
import re
import sys
from pathlib import Path

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, RunContext


class Summary(BaseModel):
    cause: str = Field(description="the cause, in one or two sentences")
    evidence: list[int] = Field(description="the numbers of the lines that show it")
    next: str = Field(description="what to do next, in one sentence")


analyst = Agent(
    "openai:gpt-5-mini",
    deps_type=list[str],
    output_type=Summary,
    instructions="You find out what went wrong from a log. Look at more of it before you conclude.",
)


@analyst.tool
def lines(ctx: RunContext[list[str]], first: int, last: int) -> str:
    """Some lines of the log, at most 200."""
    log = ctx.deps
    if not 1 <= first <= len(log):
        raise ModelRetry(f"there are lines 1 to {len(log)}")
    return "\n".join(log[first - 1 : min(last, first + 199)])


@analyst.tool
def search(ctx: RunContext[list[str]], pattern: str) -> str:
    """The lines in which a regular expression is found, at most 50."""
    try:
        return "\n".join([line for line in ctx.deps if re.search(pattern, line)][:50])
    except re.error as error:
        raise ModelRetry(f"no regular expression: {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, required=True, help="the log")
    parser.add_argument("--tail", type=int, default=10, help="how many of the last lines the model sees at once")
    args = parser.parse_args()
    try:
        text = args.file.read_text(encoding="utf-8")
    except OSError as error:
        sys.exit(str(error))
    log = [f"{at}: {line}" for at, line in enumerate(text.splitlines(), 1)]

    end = "\n".join(log[-args.tail :])
    summary = analyst.run_sync(f"The log has {len(log)} lines. The last ones:\n\n{end}", deps=log).output
    errors = sum(bool(re.search(" (ERROR|FATAL) ", line)) for line in log)
    print(f"{args.file}: {len(log)} lines, {errors} errors")
    print(f"Cause: {summary.cause}")
    for number in summary.evidence:
        if 1 <= number <= len(log):
            print(f"  {log[number - 1]}")
    print(f"Next: {summary.next}")


if __name__ == "__main__":
    main()
