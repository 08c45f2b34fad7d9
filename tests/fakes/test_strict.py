"""Scripts that do not match what is asked, functions that always answer, and the fixtures of pytest."""

from __future__ import annotations

from contextlib import suppress

import pytest

from antiphon import Conversation, Session
from antiphon.errors import OptionError, RequestRejected
from antiphon.fakes import Answer, Fail, Fake, ScriptMismatch, call, echo

pytest_plugins = ["pytester"]
MODEL = "openai/gpt-6-luna"


def ask(fake: Fake, text: str = "Hello?") -> str:
    return fake.connect(MODEL).chat(Conversation().add_user(text)).text


def test_answers_that_nobody_asked_for_are_an_error() -> None:
    with pytest.raises(ScriptMismatch) as caught, Fake(["One.", call("weather"), Fail(500), "Two."]) as fake:
        assert ask(fake) == "One."
    told = str(caught.value)
    assert "3 steps of the script were never asked for: a call of `weather`; a failure 500; the answer 'Two.'" in told
    assert "got 1 requests" in told
    assert "strict=False" in told


def test_a_request_without_an_answer_is_an_error_also_if_the_program_swallows_it() -> None:
    told = "no answer was left: gpt-6-luna was asked: 'And now"
    with pytest.raises(ScriptMismatch, match=told), Fake() as fake, suppress(RequestRejected):
        ask(fake, "And now?")


def test_what_a_mapping_has_left_is_told_with_its_text() -> None:
    told = r"one step .* the answer 'Pm\.' for requests with '@pm'"
    with pytest.raises(ScriptMismatch, match=told), Fake({"@pm": ["Pm."], "": ["All."]}) as fake:
        assert ask(fake) == "All."


def test_a_long_rest_is_told_in_short() -> None:
    with pytest.raises(ScriptMismatch, match=r"40 steps .*; …\. The fake"), Fake(["x"] * 40):
        pass


def test_a_fake_may_be_lax() -> None:
    with Fake(["One."], strict=False):
        pass
    with Fake(["One."], strict=False) as fake:
        with pytest.raises(ScriptMismatch):
            fake.check_played()
        fake.reset()
        fake.check_played()


def test_the_error_of_the_test_itself_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), Fake(["One."]):
        _ = 1 / 0


def test_a_function_answers_every_time_and_after_the_script() -> None:
    with Fake(answer=lambda request: f"{request.model}!") as fake:
        assert [ask(fake) for _ in range(3)] == ["gpt-6-luna!"] * 3
    with Fake(["First."], answer=echo) as fake:
        assert [ask(fake), ask(fake, "More?")] == ["First.", "You said: More?"]
        fake.play("Played.")
        assert ask(fake) == "Played."


@pytest.mark.parametrize("make", [lambda: Fake(answer="Hello."), lambda: Fake(echo, answer=echo)])  # type: ignore[arg-type, misc]
def test_an_answer_is_one_function(make: object) -> None:
    with pytest.raises(OptionError, match="`answer`"):
        make()  # type: ignore[operator]


def test_a_generator_may_have_more() -> None:
    with Fake(iter(["One.", "Two."])) as fake:
        assert ask(fake) == "One."


def test_a_session_plays_a_script_to_its_end() -> None:
    def weather(city: str) -> str:
        """The weather."""
        return f"rain in {city}"

    with Fake([call("weather", city="Oslo"), Answer("A coat.")]) as fake:
        assert Session(fake.connect(MODEL), [weather]).vibe("Oslo?") == "A coat."


# Fixtures


def test_the_fixture_is_strict(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_left(antiphon_fake):
            antiphon_fake.play("Hello.")

        def test_broken(antiphon_fake):
            antiphon_fake.play("Hello.")
            assert False

        def test_used(antiphon_fake_everywhere):
            from antiphon import Session
            antiphon_fake_everywhere.play("Hello.", "Good day.")
            assert Session("openai/gpt-6-luna").chat("Hi.") == "Hello."
            assert Session("anthropic/claude-sonnet-5-5").chat("Hi.") == "Good day."
        """
    )
    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    ran.assert_outcomes(passed=2, failed=1, errors=1)
    ran.stdout.fnmatch_lines(["*one step of the script was never asked for: the answer 'Hello.'*"])


def test_the_fixture_may_be_lax(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nantiphon_fake_strict = false\n")
    pytester.makepyfile('def test_left(antiphon_fake):\n    antiphon_fake.play("Hello.")\n')
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_exchanges_are_recorded_once_and_replayed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        from antiphon import Session

        def test_a_question(antiphon_exchanges):
            assert Session("openai/gpt-6-luna", **antiphon_exchanges).chat("Hi.") == "You said: Hi."
        """
    )
    missing = pytester.runpytest_inprocess()
    missing.assert_outcomes(errors=1)
    missing.stdout.fnmatch_lines(["*there are no exchanges in *test_it*test_a_question.jsonl*--antiphon-record*"])
    with Fake(echo) as fake, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))
        patch.setenv("OPENAI_API_KEY", "any")
        for _ in range(2):
            pytester.runpytest_inprocess("--antiphon-record").assert_outcomes(passed=1)
            written = (pytester.path / "exchanges" / "test_it" / "test_a_question.jsonl").read_text(encoding="utf-8")
        assert written.count("You said: Hi.") == 1, "the file is written anew"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        patch.setenv("OPENAI_API_KEY", "any")
        pytester.runpytest_inprocess().assert_outcomes(passed=1)
