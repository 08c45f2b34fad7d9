"""Ordinary scenarios through Antiphon's public API against the independent servers.

`python -m tests.referees.scenarios [WORD …]` prints a table of all scenarios whose name or model contains the words;
`--why` adds the first piece of the prompt that each break changed. `--known` prints the file `known.py` anew.
The column `small` says how many breaks lie behind a prompt below every cache minimum; `dropped` counts reasoning
that a server left out because its prefix had changed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import chain

from tests.referees import known
from tests.referees.cases import CASES, Scenario
from tests.referees.known import KNOWN_BREAKING, KNOWN_FAILING
from tests.referees.stage import Stage

__all__ = ["KNOWN_BREAKING", "KNOWN_FAILING", "SCENARIOS", "Outcome", "run_scenario"]

SCENARIOS: dict[str, tuple[Scenario, str]] = {
    f"{case.name} @ {model}": (case, model) for case in CASES for model in case.models
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one scenario on one model."""

    name: str
    ok: bool
    requests: int
    refused: int
    breaks: int
    small: int
    dropped: int
    factor: float
    problem: str
    #: For each break: the conversation, the equal pieces before it, and the piece before and after.
    found: tuple[tuple[str, int, str, str], ...] = ()


def run_scenario(name: str) -> Outcome:
    """Run a scenario; it is ok when every request was accepted and the value is right."""
    case, model = SCENARIOS[name]
    problem = ""
    with Stage(model) as stage:
        try:
            case.run(stage)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        servers = list(stage.servers.values())
        refused = list(chain.from_iterable(server.refused for server in servers))
        unused = sum(len(server.script) for server in servers)
    if refused:
        problem = f"400 {refused[0].message[:200]}"
    if unused and not problem:
        problem = f"{unused} answers of the script were not asked for"
    requests = sum(len(server.exchanges) for server in servers)
    breaks = sum(server.ledger.breaks for server in servers) - case.breaks
    factor = max((server.ledger.factor for server in servers), default=1.0)
    found = tuple(chain.from_iterable(server.ledger.found for server in servers))
    small = sum(server.ledger.small for server in servers)
    dropped = sum(server.count_dropped() for server in servers)
    return Outcome(name, not problem, requests, len(refused), max(breaks, 0), small, dropped, factor, problem, found)


def main(words_given: list[str]) -> None:
    """Print the outcomes of the scenarios that the words choose."""
    names = [name for name in SCENARIOS if all(word in name for word in words_given if not word.startswith("--"))]
    outcomes = [run_scenario(name) for name in names]
    if "--known" in words_given:
        print(f'"""{known.__doc__}"""\n\nKNOWN_FAILING: set[str] = {{')
        print(*(f'    "{each.name}",' for each in outcomes if not each.ok), sep="\n")
        print("}\n#: Scenarios that pass, with the number of prefix breaks that they have.")
        print("KNOWN_BREAKING: dict[str, int] = {")
        print(*(f'    "{each.name}": {each.breaks},' for each in outcomes if each.ok and each.breaks), sep="\n")
        print("}")
        return
    print(f"{'scenario':64} ok  requests 400s breaks small dropped factor")
    for each in outcomes:
        numbers = (
            f"{each.requests:8} {each.refused:4} {each.breaks:6} {each.small:5} {each.dropped:7} {each.factor:6.2f}"
        )
        print(f"{each.name:64} {'yes' if each.ok else 'NO ':3} {numbers}  {each.problem}")
        for words, same, before, after in each.found if "--why" in words_given else ():
            print(f"    {words!r} after {same} pieces\n      was {before}\n      now {after}")
    passed = [each for each in outcomes if each.ok]
    unbroken = [each for each in passed if not each.breaks]
    print(f"\n{len(passed)} of {len(outcomes)} pass; {len(unbroken)} of them without a prefix break.")


if __name__ == "__main__":
    main(sys.argv[1:])
