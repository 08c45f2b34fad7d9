"""Other projects' tables against ours: every difference is listed with its reason, and no listed one is gone."""

import tomllib

from antiphon.facts import list_known_models
from antiphon.facts.build import DATA
from antiphon.facts.table import load_fact_table
from tests.facts import referees
from tests.facts.referees import Difference, differences, versions

LISTED = tomllib.loads((DATA / "disagreements.toml").read_text(encoding="utf-8"))["disagreement"]
FOUND = list(differences())


def _entry(each: dict[str, object]) -> Difference:
    return Difference(*(each[name] for name in ("referee", "model", "fact", "ours", "theirs")))  # type: ignore[arg-type]


def test_every_difference_is_listed():
    listed = [_entry(each) for each in LISTED]
    assert [each for each in FOUND if each not in listed] == []


def test_what_is_listed_still_differs():
    assert [entry for each in LISTED if (entry := _entry(each)) not in FOUND] == []


def test_an_entry_says_why_and_of_which_version():
    for each in LISTED:
        assert len(each["reason"]) > 10
        assert each["source"] in load_fact_table().sources
        assert each["version"] == versions()[each["referee"]]


def test_the_differences_that_are_known_are_among_them():
    known = {(each["referee"], each["model"], each["fact"]) for each in LISTED}
    assert ("pydantic-ai", "anthropic/claude-fable-5-2", "forced_choice") in known
    assert ("pydantic-ai", "anthropic/claude-mythos-5-1", "bound") in known
    assert ("litellm", "anthropic/claude-sonnet-5-5", "thinking.always") in known
    assert ("litellm", "openai/gpt-5.5", "max_input") in known


def test_referees_are_asked_about_most_models():
    for adapter, least in ((referees._pydantic, 60), (referees._litellm, 60), (referees._prices, 40)):
        assert sum(bool(adapter(model)) for model in list_known_models()) >= least, adapter.__name__
