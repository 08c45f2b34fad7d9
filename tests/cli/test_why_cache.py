"""`antiphon why-cache` as a person uses it: for a run, for a saved conversation, and for a batch with its rows."""

import json
from pathlib import Path

from antiphon.fakes import Answer, Fake
from tests.cli.asking import ask
from tests.lang_unit.commands import antiphon

LONG = "word " * 6000


def saved() -> str:
    """Return the id of the last saved conversation."""
    return json.loads(antiphon("show", "--json").out)["id"]


def test_each_request_of_a_saved_conversation_in_order(fake: Fake):
    fake.play("One.", "Two.", "Three.")
    ask(LONG)
    ask("-c", "And two?")
    ask("-c", "And three?")
    first, *later = antiphon("why-cache", saved()).out.splitlines()
    assert "the first request" in first
    assert len(later) == 2
    told = [json.loads(line) for line in antiphon("why-cache", saved(), "--json").out.splitlines()]
    assert [each["model"] for each in told] == ["openai/gpt-5"] * 3
    assert [each["step"] for each in told] == ["1", "2", "3"]
    assert told[1]["read"] > 7000


def test_a_chat_that_goes_on_reads_from_the_cache_until_the_provider_misses(fake: Fake):
    fake.play("One.", "Two.", Answer("Three.", usage=(7700, 5)))
    antiphon("chat", input=f"{LONG}\nAnd two?\nAnd three?\n/quit\n")
    told = [json.loads(line) for line in antiphon("why-cache", saved(), "--json").out.splitlines()]
    assert [(each["step"], each["outcome"]) for each in told] == [("1", "first"), ("2", "hit"), ("3", "missed")]
    ran = antiphon("why-cache", saved())
    assert ran.code == 1
    assert "the provider does not say why" in ran.out


def test_neither_a_run_nor_a_conversation(fake: Fake):
    fake.play("One.")
    ask("Hi.")
    ran = antiphon("why-cache", "zzzz")
    assert (ran.code, "there is no session 'zzzz'" in ran.err) == (2, True)


def test_the_rows_of_a_batch(fake: Fake):
    Path("row.vibe").write_text(
        'input words: text\nconst short: text = do "Shorten this: {words}" none\nreturn short\n'
    )
    Path("rows.jsonl").write_text("".join(json.dumps({"words": f"{n} {LONG}"}) + "\n" for n in range(3)))
    fake.play(*['{"short": "Yes."}'] * 3)
    assert antiphon("map", "row.vibe", "rows.jsonl").code == 0
    lines = antiphon("why-cache").out.splitlines()
    assert len({line.split(":")[0] for line in lines}) == 3
