"""Whole teams, with models that say what they are told to say, real git and real test runs."""

from __future__ import annotations

import asyncio
import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from antiphon import tool
from antiphon.conversation import Conversation, ToolCall
from antiphon.durable import Journal
from antiphon.effects import HumanAnswer
from antiphon.errors import LeaseLost, NotReadyError, NotSavedError, OptionError, RateLimited, ServerFailed
from antiphon.team import RepositoryError, SecretRefused, Team
from antiphon.team.events import TeamFinished, TurnPaused
from antiphon.team.roles import SOLO_ROLE
from antiphon.team.tools import make_write_tools
from antiphon.tools import Policy, Rule, execute
from tests.session.scripted import ScriptedStream, calls
from tests.team.teams import (
    APPROVE,
    CHANGES,
    FILES,
    FIX,
    SPEC,
    SUBMIT,
    Acting,
    Script,
    accept,
    answer_all,
    begin,
    facts,
    git,
    left,
    merged_file,
    repository,
    said,
    tasks,
    told,
)

SECRET = "sk-" + "ant-a1B2" * 6
#: At so many messages a team is forked.
FORKS = int(os.environ.get("ANTIPHON_FORKS", "3"))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def solo(where: Path, repo: Path, *script: Any, **given: Any) -> Team:
    return begin(where, repo, coder=Script(*script), solo=True, **given)


def whole(where: Path, repo: Path, coder: list[Any], reviews: list[Any] | None = None, **given: Any) -> Team:
    """A team of which the PM and the architect do what is usual."""
    architect = Script(tasks("fix add"), *([APPROVE] if reviews is None else reviews))
    return begin(where, repo, pm=Script(SPEC), architect=architect, coder=Script(*coder), **given)


# The usual way


def test_a_team_interviews_plans_writes_tests_reviews_and_merges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    files = {
        "calc.py": FILES["calc.py"],
        "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    }
    repo = repository(tmp_path / "repo", files)
    before = git(repo, "status", "--porcelain", "-b"), git(repo, "rev-parse", "HEAD")
    pm = Script(calls("list_files"), calls("chat_ask_user", question="Which?"), SPEC)
    coder = Script("I mend add", calls(("read_file", {"path": "calc.py"}), ("list_files", {})), FIX, SUBMIT)
    architect = Script(tasks("fix add"), APPROVE)
    team = begin(tmp_path, repo, pm=pm, architect=architect, coder=coder, command="")
    assert team.work().phase == "interview"
    assert answer_all(team, "add").phase == "spec"
    state = answer_all(team)
    assert (state.phase, state.tasks["1"].state, state.tasks["1"].plan) == ("done", "merged", "I mend add")
    assert state.tasks["1"].check is not None
    assert "pytest" in state.tasks["1"].check.command
    assert "1 passed" in state.tasks["1"].check.output
    assert "return a + b" in merged_file(team, repo)
    assert (git(repo, "status", "--porcelain", "-b"), git(repo, "rev-parse", "HEAD")) == before
    assert left(team) == []
    assert git(repo, "branch", "--list", "--format=%(refname:short)").splitlines() == [
        f"antiphon/{team.id}/main",
        "main",
    ]
    assert f"git merge antiphon/{team.id}/main" in said(team)[-1][2]


def two_coders(where: Path, repo: Path, *given: Any, meet: bool = False, **more: Any) -> Team:
    """A team of two whose coders do what the title of their task says: `FILE:OLD:NEW`."""

    def code(conversation: Any) -> Any:
        first, last = conversation.turns[0].text, told(conversation)
        title = next(line for line in first.splitlines() if line.startswith("# Task")).partition(": ")[2]
        name, old, new = title.split(":")
        if "short plan" in last:
            return "plan"
        if "Now do it" in last:
            return calls("edit_file", path=name, old=old, new=new)
        return calls("submit_work", summary=title)

    architect = Script(tasks(*given), *[APPROVE] * 9)
    more = {"coder": Meeting(code) if meet else Acting(code), **more}
    return begin(where, repo, pm=Script(SPEC), architect=architect, coders=2, **more)


class Meeting(Acting):
    """A model that gives no plan before it is asked for two of them."""

    def __init__(self, answer: Any) -> None:
        super().__init__(answer)
        self.plans = asyncio.Barrier(2)

    def astream(self, conversation: Conversation, **options: Any) -> ScriptedStream:
        del options
        return MeetingStream(self, conversation, self.plans if "short plan" in told(conversation) else None)


class MeetingStream(ScriptedStream):
    def __init__(self, model: Meeting, conversation: Conversation, plans: asyncio.Barrier | None) -> None:
        super().__init__(model, conversation)
        self._plans = plans

    async def __aenter__(self) -> ScriptedStream:
        if self._plans is not None:
            await asyncio.wait_for(self._plans.wait(), 60)
        return self


def test_two_coders_work_side_by_side(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a": "one\n", "b": "two\n", "check.sh": "true\n"})
    team = two_coders(tmp_path, repo, "a:one:1", "b:two:2", meet=True)
    state = accept(team)
    assert [task.state for task in state.tasks.values()] == ["merged", "merged"]
    assert {task.coder for task in state.tasks.values()} == {"@coder-1", "@coder-2"}
    assert (merged_file(team, repo, "a"), merged_file(team, repo, "b")) == ("1", "2")
    happened = facts(team)
    assert happened.index("@coder-2: plan") < happened.index("@coder-1: work")
    assert left(team) == []


def test_two_tasks_on_one_file_conflict_where_all_can_see_it_and_are_brought_together(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a": "one\n", "check.sh": "true\n"})

    def code(conversation: Any) -> Any:
        new = "uno" if "# Task 1" in conversation.turns[0].text else "eins"
        last = told(conversation)
        if "short plan" in last:
            return "plan"
        if "Others have changed the same places" in last:
            return calls("write_file", path="a", content="eins uno\n")
        if "Now do it" in last:
            return calls("edit_file", path="a", old="one", new=new)
        return SUBMIT

    architect = Script(tasks("one", "two"), *[APPROVE] * 4)
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=architect, coder=Acting(code), coders=2)
    state = accept(team)
    assert [task.state for task in state.tasks.values()] == ["merged", "merged"], facts(team)
    assert any("conflicts in a" in each for each in facts(team))
    assert merged_file(team, repo, "a") == "eins uno"


def test_what_is_green_alone_and_red_with_what_was_merged_before_is_not_merged(tmp_path: Path) -> None:
    check = "grep -q one a || grep -q two b || test -f both\n"
    repo = repository(tmp_path / "repo", {"a": "one\n", "b": "two\n", "check.sh": check})

    def code(conversation: Any) -> Any:
        last = told(conversation)
        if "short plan" in last:
            return "plan"
        if "together with what was merged since" in last:
            return calls("write_file", path="both", content="x\n")
        if "Now do it" in last:
            name = "a" if "# Task 1" in conversation.turns[0].text else "b"
            return calls("write_file", path=name, content="new\n")
        return SUBMIT

    architect = Script(tasks("one", "two"), *[APPROVE] * 4)
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=architect, coder=Acting(code), coders=2)
    state = accept(team)
    assert [task.state for task in state.tasks.values()] == ["merged", "merged"], facts(team)
    assert sum("failed, with what was merged before" in each for each in facts(team)) == 1
    assert merged_file(team, repo, "both") == "x"


def test_a_conflict_that_stays_is_for_the_human(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a": "one\n", "check.sh": "true\n"})
    # Whoever is second leaves the marks where they are.
    team = two_coders(tmp_path, repo, "a:one:1", "a:one:2", rounds=1)
    state = accept(team)
    assert sorted(task.state for task in state.tasks.values()) == ["human", "merged"]
    (question,) = state.questions.values()
    assert "conflicts again and again" in question.text
    state = answer_all(team, "drop")
    assert sorted(task.state for task in state.tasks.values()) == ["merged", "rejected"]
    assert left(team) == []


def test_tasks_wait_for_those_before_them(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a": "one\n", "check.sh": "true\n"})
    later = {"title": "a:two:three", "spec": "x", "after": [1]}
    team = two_coders(tmp_path, repo, "a:one:two", later)
    accept(team)
    happened = facts(team)
    assert happened.index("task 1 is merged: a:one:two") < next(
        i for i, each in enumerate(happened) if each.startswith("task 2")
    )
    assert merged_file(team, repo, "a") == "three"


def test_what_comes_after_a_task_that_was_given_up_is_asked_about(tmp_path: Path, repo: Path) -> None:
    after = [{"title": "second", "spec": "x", "after": [1]}, {"title": "third", "spec": "x", "after": [2]}]
    architect = Script(tasks("first", *after), *[CHANGES] * 9)
    coder = Script("plan", FIX, SUBMIT, "plan", FIX, SUBMIT)
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=architect, coder=coder, rounds=1)
    coder.script = ["plan", FIX, SUBMIT, SUBMIT]
    state = answer_all(team) if team.work() else None
    assert state is not None
    assert state.tasks["1"].state == "human"
    state = answer_all(team, "drop")
    assert [each.state for each in state.tasks.values()] == ["rejected", "human", "planned"]
    (question,) = state.questions.values()
    assert "comes after task 1" in question.text
    state = answer_all(team, "Drop!")
    assert [each.state for each in state.tasks.values()] == ["rejected", "rejected", "human"]
    coder.script = ["plan", FIX, SUBMIT]
    architect.script = [APPROVE]
    state = answer_all(team, "do it all the same")
    assert [each.state for each in state.tasks.values()] == ["rejected", "rejected", "merged"]
    assert state.ended is not None
    assert state.ended.rejected == ("1", "2")


def test_solo_is_one_agent_with_the_same_tests_and_files(tmp_path: Path, repo: Path) -> None:
    team = solo(tmp_path, repo, calls("run_tests"), FIX, SUBMIT)
    state = team.work()
    assert state.phase == "done"
    assert "return a + b" in merged_file(team, repo)
    assert [each.agent for each in team.costs()] == ["@coder"]


# Coders that are not to be trusted


def test_a_coder_that_says_that_tests_pass_is_not_believed(tmp_path: Path, repo: Path) -> None:
    team = solo(
        tmp_path, repo, calls("edit_file", path="calc.py", old="a - b\n\n", new="a * b\n\n"), SUBMIT, FIX, SUBMIT
    )
    coder = team._models["coder"]
    coder.script = [  # type: ignore[union-attr]
        calls("write_file", path="new.txt", content="x"),
        calls("submit_work", summary="All tests pass!"),
        FIX,
        SUBMIT,
    ]
    state = team.work()
    assert facts(team).count("task 1: failed") == 1
    assert state.phase == "done"
    assert "no return a + b" in "".join(coder.told)  # type: ignore[union-attr]


def test_a_coder_whose_tests_fail_again_and_again_is_for_the_human(tmp_path: Path, repo: Path) -> None:
    write = [calls("write_file", path=f"f{n}", content="x") for n in range(9)]
    team = solo(tmp_path, repo, *itertools.chain.from_iterable((each, SUBMIT) for each in write), tries=2)
    state = team.work()
    assert state.tasks["1"].state == "human"
    assert "what it handed in has failed 3 times" in next(iter(state.questions.values())).text
    # Not green, so it cannot be taken as it is.
    team._models["coder"].script = [FIX, SUBMIT]  # type: ignore[union-attr]
    state = answer_all(team, "Change the minus into a plus")
    assert state.phase == "done"
    assert "Change the minus" in "".join(team._models["coder"].told)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "change",
    [
        calls("write_file", path="check.sh", content="true\n"),
        calls("edit_file", path="tests/test_x.py", old="x", new="y"),
        calls("write_file", path="conftest.py", content="collect_ignore = ['tests']\n"),
        calls("write_file", path="pytest.ini", content="[pytest]\naddopts = --deselect tests\n"),
    ],
    ids=["command", "test", "conftest", "setup"],
)
def test_a_change_of_what_is_tested_is_marked(tmp_path: Path, change: Any) -> None:
    repo = repository(tmp_path / "repo", {**FILES, "tests/test_x.py": "x\n"})
    name = change[0][1]["path"]
    team = whole(tmp_path, repo, ["plan", change, FIX, SUBMIT], [CHANGES] * 9, rounds=1, command="sh check.sh")
    team._models["coder"].script.append(SUBMIT)  # type: ignore[union-attr]
    state = accept(team)
    architect = team._models["architect"]
    assert f"It changes what is tested: {name}" in "".join(architect.told)  # type: ignore[union-attr]
    assert any(f"it changes tests: {name}" in each for each in facts(team))
    state = answer_all(team, "approve")
    assert state.phase == "done"
    assert f"Changed files that say what is tested: {name}" in said(team)[-1][2]


def test_a_coder_that_goes_in_circles_is_stopped(tmp_path: Path, repo: Path) -> None:
    team = solo(tmp_path, repo, *[calls("read_file", path="calc.py")] * 9)
    state = team.work()
    assert state.tasks["1"].state == "human"
    assert "gave the same result 5 times: read_file" in next(iter(state.questions.values())).text
    assert len(team._models["coder"].script) == 4  # type: ignore[union-attr]
    team._models["coder"].script = [FIX, SUBMIT]  # type: ignore[union-attr]
    assert answer_all(team, "Just mend it").phase == "done"


def test_a_coder_that_fails_in_circles_is_stopped(tmp_path: Path, repo: Path) -> None:
    team = solo(tmp_path, repo, *[calls("read_file", path="nothing")] * 20)
    state = team.work()
    assert state.tasks["1"].state == "human"
    assert len(team._models["coder"].script) >= 10  # type: ignore[union-attr]


def test_a_coder_that_floods_the_chat_is_told_to_work(tmp_path: Path, repo: Path) -> None:
    posts = [calls(*[("chat_post", {"text": f"{n} {m}"}) for m in range(4)]) for n in range(5)]
    team = solo(tmp_path, repo, *posts, FIX, SUBMIT)
    assert team.work().phase == "done"
    assert len([each for each in said(team) if each[0] == "@coder"]) == 10


@pytest.mark.parametrize(
    "path", ["../x", "/tmp/antiphon-outside", "a/../../x", ".git/config", ".git/hooks/pre-commit", "link/x"]
)
def test_a_coder_cannot_write_outside_of_its_files(tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    repo = repository(tmp_path / "repo")
    (repo / "link").symlink_to(outside)
    git(repo, "add", ".")
    git(repo, "-c", "user.name=n", "-c", "user.email=n@x", "commit", "-qm", "link")
    before = git(repo, "config", "--list", "--local")
    team = solo(tmp_path, repo, calls("write_file", path=path, content="evil"), FIX, SUBMIT)
    assert team.work().phase == "done"
    assert list(outside.iterdir()) == []
    assert not Path("/tmp/antiphon-outside").exists()
    assert not (team.place / "x").exists()
    assert not (team.place / team.id / "x").exists()
    assert git(repo, "config", "--list", "--local") == before
    assert not (repo / ".git/hooks/pre-commit").exists()


def test_filters_and_repositories_that_a_coder_makes_start_nothing(tmp_path: Path, repo: Path) -> None:
    mark = tmp_path / "ran"
    git(repo, "config", "filter.evil.clean", f"touch {mark}; cat")
    team = solo(
        tmp_path,
        repo,
        calls("write_file", path=".gitattributes", content="* filter=evil\n"),
        calls("write_file", path="inner/.git/HEAD", content="ref: refs/heads/main\n"),
        calls("write_file", path="inner/a", content="kept\n"),
        FIX,
        SUBMIT,
    )
    assert team.work().phase == "done", facts(team)
    assert not mark.exists()
    assert merged_file(team, repo, "inner/a") == "kept"


def test_what_tests_leave_behind_stops_no_merge(tmp_path: Path) -> None:
    files = {**FILES, "check.sh": FILES["check.sh"] + "date > report.txt; echo x >> wanted.log\n", "wanted.log": ""}
    repo = repository(tmp_path / "repo", files)
    team = whole(tmp_path, repo, ["plan", FIX, SUBMIT])
    state = accept(team)
    assert state.phase == "done", facts(team)
    assert git(repo, "ls-tree", "--name-only", f"antiphon/{team.id}/main").splitlines() == sorted(files)


def test_nothing_changed_is_nothing_handed_in(tmp_path: Path, repo: Path) -> None:
    team = solo(tmp_path, repo, SUBMIT, FIX, SUBMIT)
    assert team.work().phase == "done"
    assert facts(team).count("task 1: unchanged") == 1


def test_a_coder_that_never_hands_in_is_reminded_and_then_the_human_is_asked(tmp_path: Path, repo: Path) -> None:
    team = solo(tmp_path, repo, "done!", "done!!", "really done", FIX, SUBMIT)
    state = team.work()
    assert state.tasks["1"].state == "human"
    assert "does not hand in anything with `submit_work`" in next(iter(state.questions.values())).text
    assert answer_all(team, "go on").phase == "done"


def test_a_plan_that_needed_a_question_is_still_a_plan(tmp_path: Path, repo: Path) -> None:
    coder = Script(calls("chat_ask_user", question="Which sign?"), "I use plus", FIX, SUBMIT)
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=Script(tasks("fix add"), APPROVE), coder=coder)
    team.work()
    state = answer_all(team)
    assert [each.text for each in state.questions.values()] == ["Which sign?"]
    state = answer_all(team, "plus")
    assert (state.phase, state.tasks["1"].plan) == ("done", "I use plus")
    assert ["write_file" in each for each in coder.offered] == [False, False, True, True]
    assert "Now do it" in coder.told[2]


# Reviewers, architects, PMs


def test_a_reviewer_that_never_approves_is_stopped_after_three_rounds(tmp_path: Path, repo: Path) -> None:
    edits = [calls("edit_file", path="calc.py", old="def sub", new=f"# {n}\ndef sub") for n in range(3)]
    coder = ["plan", FIX, SUBMIT, *itertools.chain.from_iterable((each, SUBMIT) for each in edits)]
    team = whole(tmp_path, repo, coder, [CHANGES] * 9)
    state = accept(team)
    assert state.tasks["1"].state == "human"
    assert "has wanted changes 4 times" in next(iter(state.questions.values())).text
    assert answer_all(team, "approve").phase == "done"
    assert "# 2" in merged_file(team, repo)


def test_what_the_human_says_of_a_task_is_told_to_its_coder(tmp_path: Path, repo: Path) -> None:
    edit = calls("edit_file", path="calc.py", old="def sub", new="# why\ndef sub")
    team = whole(tmp_path, repo, ["plan", FIX, SUBMIT, edit, SUBMIT, SUBMIT], [CHANGES, CHANGES, APPROVE], rounds=1)
    state = accept(team)
    assert state.tasks["1"].state == "human"
    state = answer_all(team, "Say why in a comment")
    assert state.phase == "done"
    seen = team._models["coder"].told  # type: ignore[union-attr]
    assert sum("Say why in a comment" in each for each in seen) == 1


def test_an_approved_task_with_changes_since_its_tests_is_tested_again(tmp_path: Path, repo: Path) -> None:
    loop = [calls("read_file", path="calc.py")] * 5
    break_it = calls("edit_file", path="calc.py", old="a + b", new="a * b")
    team = whole(tmp_path, repo, ["plan", FIX, SUBMIT, break_it, *loop], [CHANGES])
    state = accept(team)
    assert state.tasks["1"].state == "human"
    team._models["coder"].script = [calls("edit_file", path="calc.py", old="a * b", new="a + b"), SUBMIT]  # type: ignore[union-attr]
    team._models["architect"].script = [APPROVE]  # type: ignore[union-attr]
    state = answer_all(team, "approve")
    assert state.phase == "done", facts(team)
    assert "return a + b" in merged_file(team, repo)


def test_an_architect_that_never_hands_in_is_asked_about(tmp_path: Path, repo: Path) -> None:
    architect = Script("I think", "I think more", "and more", tasks("fix add"), APPROVE)
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=architect, coder=Script("plan", FIX, SUBMIT))
    team.work()
    state = answer_all(team)
    assert "@architect gets no further" in next(iter(state.questions.values())).text
    assert answer_all(team, "One task").phase == "done"
    assert any("One task" in each for each in architect.told)


def test_a_pm_that_gets_nowhere_is_asked_about(tmp_path: Path, repo: Path) -> None:
    pm = Script(*[calls("list_files")] * 5, SPEC)
    team = begin(tmp_path, repo, pm=pm, architect=Script(tasks("fix add"), APPROVE), coder=Script("plan", FIX, SUBMIT))
    state = team.work()
    assert "@pm gets no further" in next(iter(state.questions.values())).text
    answer_all(team, "Write down what I said")
    assert team.state.phase == "spec"
    assert answer_all(team).phase == "done"


def test_a_pm_that_only_talks_waits_for_the_human(tmp_path: Path, repo: Path) -> None:
    team = whole(tmp_path, repo, ["plan", FIX, SUBMIT])
    team._models["pm"] = Script("Hello, what is it about?", SPEC)
    state = team.work()
    assert (state.phase, state.ended) == ("interview", None)
    assert said(team, "question") == [("@pm", "@human", "Hello, what is it about?")]
    team.say("About adding")
    assert team.work().phase == "spec"


def test_a_specification_that_is_not_wanted_is_written_anew(tmp_path: Path, repo: Path) -> None:
    team = whole(tmp_path, repo, ["plan", FIX, SUBMIT])
    team._models["pm"] = pm = Script(SPEC, calls("submit_spec", title="Better", text="better"))
    team.work()
    state = answer_all(team, "No, say more about sub")
    assert any("No, say more about sub" in each for each in pm.told)
    assert state.phase == "spec"
    assert state.spec is not None
    assert state.spec["title"] == "Better"
    assert answer_all(team, "LGTM!").phase == "done"


def test_who_plans_is_told_that_tests_fail_before_anything_is_changed(tmp_path: Path, repo: Path) -> None:
    architect = Script(tasks("fix add"), APPROVE)
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=architect, coder=Script("plan", FIX, SUBMIT))
    assert accept(team).phase == "done"
    assert "do not pass as it is now (`sh check.sh`: failed)" in architect.told[0]
    assert "no return a + b" in architect.told[0]
    assert "do not pass as it is now" not in architect.told[1]
    alone = Script(FIX, SUBMIT)
    begin(tmp_path, repo, coder=alone, solo=True).work()
    assert "do not pass as it is now" in alone.told[0]


def test_what_is_handed_in_beside_a_question_is_not_taken(tmp_path: Path, repo: Path) -> None:
    both = [*calls("chat_ask_user", question="Which?"), *SPEC]
    team = whole(tmp_path, repo, ["plan", FIX, SUBMIT])
    team._models["pm"] = pm = Script(both, SPEC)
    assert team.work().phase == "interview"
    assert answer_all(team, "add").phase == "spec"
    assert "not handed in: you asked the human in the same reply" in pm.told[1]
    assert answer_all(team).phase == "done"


# The human


def test_a_pm_that_asks_the_same_again_and_again_is_asked_about(tmp_path: Path, repo: Path) -> None:
    team = whole(tmp_path, repo, ["plan", FIX, SUBMIT])
    team._models["pm"] = Script(*[calls("chat_ask_user", question="Which?")] * 4, SPEC)
    team.work()
    for _ in range(3):
        state = answer_all(team, "add")
    assert any("asks the same" in each.text for each in state.questions.values())
    assert answer_all(team, "Write down: add").phase == "spec"


def test_a_human_who_never_answers_finds_everything_as_it_was(tmp_path: Path, repo: Path) -> None:
    pm = Script(calls(("chat_ask_user", {"question": "Which?"}), ("chat_ask_user", {"question": "When?"})), SPEC)
    team = begin(tmp_path, repo, pm=pm)
    for _ in range(3):
        state = team.work()
        assert [each.text for each in state.questions.values()] == ["Which?", "When?"]
    assert team.journal.find(team.id).state == "waiting"
    assert len(pm.told) == 1
    later = Team.open(team.id[:6], Journal(tmp_path / "j.db"), models={"pm": pm})
    which, when = later.state.questions
    later.answer(when, "now")
    # Of several questions the answers are given together.
    later.work()
    assert len(pm.told) == 1
    later.answer(which, "that")
    assert later.work().phase == "spec"
    assert pm.told[1].endswith("To the question 'When?': now\n\nTo the question 'Which?': that")


def test_a_question_is_answered_once(tmp_path: Path, repo: Path) -> None:
    team = begin(tmp_path, repo, pm=Script(calls("chat_ask_user", question="Which?"), SPEC))
    (number,) = team.work().questions
    team.answer(number, "this")
    with pytest.raises(NotReadyError, match="has its answer already: this"):
        team.answer(number, "that")
    team.work()
    with pytest.raises(NotReadyError, match="has its answer already: this"):
        team.answer(number, "that")
    with pytest.raises(NotReadyError, match=r"question 9999 is not open; open: \d+"):
        team.answer(9999, "that")
    assert len(said(team, "answer")) == 1


def test_an_answer_is_heard_where_it_was_asked_whatever_else_its_reader_is_at(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a": "one\n", "b": "two\n", "check.sh": "true\n"})
    heard: dict[str, list[str]] = {"1": [], "2": []}

    def review(conversation: Any) -> Any:
        last = told(conversation)
        if "Hand in the tasks" in last:
            return tasks("a:one:1", "b:two:2")
        task = "1" if "# Task 1" in conversation.turns[0].text else "2"
        heard[task].append(last)
        if task == "1" and len(heard["1"]) == 1:
            return calls("chat_ask_user", question="Really?")
        if task == "2" and len(heard["2"]) == 1:
            # While it reviews the other one, the human answers.
            (number,) = (each.id for each in team.messages() if each.text == "Really?")
            Team.open(team.id, Journal(tmp_path / "j.db")).answer(number, "Yes, really")
            return calls("list_files")
        return APPROVE

    # The second is handed in only when the question is there.
    def code(conversation: Any) -> Any:
        name = "a" if "# Task 1" in conversation.turns[0].text else "b"
        if "short plan" in told(conversation):
            return "plan"
        if "Now do it" in told(conversation):
            return calls("write_file", path=name, content="new\n")
        if name == "b" and not any(each.text == "Really?" for each in team.messages()):
            return calls("search", pattern=f"x{len(conversation.turns)}")
        return SUBMIT

    team = begin(tmp_path, repo, pm=Script(SPEC), architect=Acting(review), coder=Acting(code), coders=2)
    state = accept(team)
    assert [each.state for each in state.tasks.values()] == ["merged", "merged"], (facts(team), state.jobs)
    assert "Yes, really" in heard["1"][1]
    assert not any("Yes, really" in each for each in heard["2"])


def test_what_the_human_says_in_the_middle_of_a_turn_is_heard_before_the_next_request(
    tmp_path: Path, repo: Path
) -> None:
    def code(conversation: Any) -> Any:
        if "short plan" in told(conversation):
            return "plan"
        if "Now do it" in told(conversation):
            Team.open(team.id, Journal(tmp_path / "j.db")).say("Mind the minus", to="coder-1")
            return FIX
        return SUBMIT

    coder = Acting(code)
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=Script(tasks("fix"), APPROVE), coder=coder)
    assert accept(team).phase == "done"
    assert coder.told[2].endswith("Mind the minus")
    assert "[Chat from" not in coder.told[2]


def test_an_idle_agent_answers_the_human(tmp_path: Path, repo: Path) -> None:
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=Script("I wait."), coder=Script("I am idle."), coders=2)
    team.work()
    team.say("What do you do?", to="@coder-2")
    team.say("And you?", to="architect")
    state = team.work()
    assert ("@coder-2", "@human", "I am idle.") in said(team)
    assert ("@architect", "@human", "I wait.") in said(team)
    assert state.phase == "spec"
    with pytest.raises(NotReadyError, match="there is nobody called '@coder-3'"):
        team.say("Hello", to="coder-3")


def test_who_is_not_there_cannot_be_addressed(tmp_path: Path, repo: Path) -> None:
    pm = Script(
        calls(("chat_post", {"text": "hi", "to": "@nobody"}), ("chat_post", {"text": "hi", "to": "@coder-1"})),
        calls("chat_post", text="hi", to="Architect"),
        SPEC,
    )
    team = begin(tmp_path, repo, pm=pm, architect=Script("noted"))
    team.work()
    assert "there is nobody called `@nobody`; there are: @human, @pm, @architect, @coder-1" in pm.told[1]
    assert "@coder-1 does not hear you" in pm.told[1]
    assert said(team)[1:] == [("@pm", "@architect", "hi")]


def test_agents_that_only_talk_to_one_another_come_to_an_end(tmp_path: Path, repo: Path) -> None:
    pm = Acting(
        lambda c: (
            calls("chat_post", text="Thanks!", to="@architect") if c.turns[-1].parts and len(c.turns) % 2 else "ok"
        )
    )
    architect = Acting(lambda c: calls("chat_post", text="Thank you!", to="@pm") if len(c.turns) % 2 else "ok")
    team = begin(tmp_path, repo, pm=pm, architect=architect)
    state = team.work()
    assert not state.turns
    assert len(pm.told) + len(architect.told) < 20
    # Nothing is lost by that: what was not read is read with what comes next.
    team.say("Go on")
    team.work()
    assert "[Chat from @architect]: Thank you!" in "".join(pm.told)


def test_a_team_that_is_done_says_so_to_who_talks_to_it(tmp_path: Path, repo: Path) -> None:
    team = solo(tmp_path, repo, FIX, SUBMIT)
    team.work()
    with pytest.raises(NotReadyError, match="is done"):
        team.say("More!")


# Limits


def test_at_its_limit_a_team_waits_until_more_is_allowed(tmp_path: Path, repo: Path) -> None:
    coder = Script(*[calls("search", pattern=f"x{n}") for n in range(4)], FIX, SUBMIT, price=0.3)
    team = begin(tmp_path, repo, coder=coder, solo=True, cost=1.0, task_cost=None)
    state = team.work()
    (turn,) = state.turns.values()
    assert turn.paused is not None
    assert "the limit of $1 for all of it is reached" in turn.paused.why
    assert len(coder.told) == 4
    # Whoever looks again asks nobody.
    assert len(Team.open(team.id, team.journal, models={"coder": coder}).work().turns) == 1
    assert len(coder.told) == 4
    assert "90% of $1 for all of it is used" in coder.told[3]
    team.raise_cost(10)
    assert team.work().phase == "done"
    assert [round(each.cost or 0, 1) for each in team.costs()] == [1.8]


def test_the_limit_of_a_task_is_its_own(tmp_path: Path, repo: Path) -> None:
    coder = Script("plan", *[calls("search", pattern=f"x{n}") for n in range(4)], FIX, SUBMIT, price=0.3)
    team = begin(
        tmp_path,
        repo,
        pm=Script(SPEC, price=5.0),
        architect=Script(tasks("x"), APPROVE),
        coder=coder,
        cost=20.0,
        task_cost=1.0,
    )
    state = accept(team)
    assert "$1 for task 1" in next(iter(state.turns.values())).paused.why  # type: ignore[union-attr]
    team.raise_cost(30)
    assert team.work().phase == "done"


def test_a_cost_of_which_a_part_is_unknown_is_unknown(tmp_path: Path, repo: Path) -> None:
    coder = Script(calls("search", pattern="x"), price=0.3)
    team = begin(tmp_path, repo, coder=coder, solo=True, requests=1)
    team.work()
    assert [each.cost for each in team.costs()] == [0.3]
    coder.script, coder.price = [FIX, SUBMIT], None
    team.raise_requests(9)
    assert team.work().phase == "done"
    assert [(each.requests, each.cost) for each in team.costs()] == [(3, None)]


def test_without_a_price_requests_are_counted(tmp_path: Path, repo: Path) -> None:
    coder = Script(*[calls("search", pattern=f"x{n}") for n in range(9)], price=None)
    team = begin(tmp_path, repo, coder=coder, solo=True, requests=3)
    state = team.work()
    assert "limit of 3 requests" in next(iter(state.turns.values())).paused.why  # type: ignore[union-attr]
    assert [(each.requests, each.cost) for each in team.costs()] == [(3, None)]
    coder.script = [FIX, SUBMIT]
    team.raise_requests(9)
    assert team.work().phase == "done"


class Limited(Script):
    """A model that has too much to do at first."""

    def __init__(self, wait: float, *script: Any) -> None:
        super().__init__(*script)
        self.wait = wait
        self.refused = 0

    def _reply(self, conversation: Any) -> Any:
        if self.wait:
            self.refused += 1
            raise RateLimited("too much", status=429, retry_after=self.wait)
        return super()._reply(conversation)


def test_a_provider_that_is_busy_for_long_is_waited_for_elsewhere(tmp_path: Path, repo: Path) -> None:
    coder = Limited(3600.0, FIX, SUBMIT)
    team = begin(tmp_path, repo, coder=coder, solo=True)
    state = team.work()
    (turn,) = state.turns.values()
    assert turn.paused is not None
    assert turn.paused.until is not None
    assert turn.paused.until - turn.paused.until % 1 > 0
    assert team.work().turns
    assert coder.refused == 1
    # When it is time, it is asked again.
    turn.paused = replace(turn.paused, until=1.0)
    coder.wait = 0
    assert team.work().phase == "done"


def test_a_provider_that_fails_is_asked_again_by_who_goes_on(tmp_path: Path, repo: Path) -> None:
    class Failing(Script):
        def _reply(self, conversation: Any) -> Any:
            if self.script[0] == "fail":
                self.script.pop(0)
                raise ServerFailed("overloaded", status=529)
            return super()._reply(conversation)

    team = begin(tmp_path, repo, coder=Failing(FIX, "fail", SUBMIT), solo=True)
    with pytest.raises(ServerFailed):
        team.work()
    assert team.journal.find(team.id).state == "interrupted"
    assert team.work().phase == "done"
    assert "return a + b" in merged_file(team, repo)


# Approvals


def _deploying(where: Path) -> Any:
    def deploy(place: str) -> str:
        """Deploy."""
        with (where / "deployed").open("a") as file:
            file.write(f"{place}\n")
        return f"deployed to {place}"

    return replace(SOLO_ROLE, more_tools=[tool(deploy)], policy=Policy([Rule("ask", "deploy")]))


@pytest.mark.parametrize("allowed", [True, False])
def test_what_needs_approval_is_asked_in_the_one_inbox(tmp_path: Path, repo: Path, allowed: bool) -> None:
    coder = Script(calls(("deploy", {"place": "here"}), ("deploy", {"place": "there"})), FIX, SUBMIT)
    team = begin(tmp_path, repo, coder=coder, solo=True, roles=[_deploying(tmp_path)])
    state = team.work()
    assert len(state.questions) == 2
    assert all("May `deploy` run" in each.text for each in state.questions.values())
    first, second = state.questions
    # Somebody answers in another process, which is left before the end.
    other = Team.open(team.id, Journal(tmp_path / "j.db"), models={"coder": coder}, roles=[_deploying(tmp_path)])
    other.answer(first, "yes")
    assert not (tmp_path / "deployed").exists()
    asked = other.state.questions[second]
    other.journal.answer(asked.data["run"], asked.data["path"], HumanAnswer("" if allowed else "no", allowed=allowed))
    other.answer(second, "yes" if allowed else "no")
    assert other.work().phase == "done"
    assert sorted((tmp_path / "deployed").read_text().split()) == (["here", "there"] if allowed else ["here"])
    assert other.state.questions == {}


def test_an_answer_that_comes_before_it_is_known_that_it_is_waited_for_counts(tmp_path: Path, repo: Path) -> None:
    coder = Script(calls("deploy", place="here"), FIX, SUBMIT)
    team = begin(tmp_path, repo, coder=coder, solo=True, roles=[_deploying(tmp_path)])
    note = team.note

    def slow(fact: Any, *given: Any, **named: Any) -> Any:
        if isinstance(fact, TurnPaused):
            other = Team.open(team.id, Journal(tmp_path / "j.db"))
            for number in list(other.state.questions):
                other.answer(number, "yes")
        return note(fact, *given, **named)

    team.note = slow  # type: ignore[method-assign]
    assert team.work().phase == "done"


# Repositories


def test_a_repository_without_commits_gets_its_first_on_the_branch_of_the_team(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    team = solo(tmp_path, repo, calls("write_file", path="a", content="x\n"), SUBMIT, command="true")
    assert team.work().phase == "done"
    assert merged_file(team, repo, "a") == "x"
    assert "there are no commits yet" in said(team)[0][2]
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/heads/main") == ""


def test_no_tests_are_said_to_be_none(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a": "x\n"})
    coder = Script(calls("run_tests"), calls("write_file", path="a", content="y\n"), SUBMIT)
    team = begin(tmp_path, repo, coder=coder, solo=True, command="")
    assert team.work().phase == "done"
    assert "there is no command that runs tests here" in coder.told[1]
    assert "No tests were run" in said(team)[-1][2]


def test_any_state_of_the_users_files_is_left_as_it_is(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", {"x": "x\n"})
    repo = repository(tmp_path / "repo")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repo, "-c", "user.name=n", "-c", "user.email=n@x", "commit", "-qm", "sub")
    (repo / "calc.py").write_text("broken by me\n")
    (repo / "mine.txt").write_text("not committed\n")
    (repo / "large.bin").write_bytes(b"0" * 1000)
    git(repo, "add", "large.bin")
    before = git(repo, "status", "--porcelain=v2", "-b")
    team = solo(tmp_path, repo, FIX, SUBMIT)
    assert team.work().phase == "done", facts(team)
    assert git(repo, "status", "--porcelain=v2", "-b") == before
    assert (repo / "calc.py").read_text() == "broken by me\n"
    assert "return a + b" in merged_file(team, repo)
    assert git(repo, "ls-tree", f"antiphon/{team.id}/main", "sub").startswith("160000")
    told_of = "\n".join(each[2] for each in said(team))
    assert "submodules" in told_of
    assert "not committed: the team does not see them" in told_of


def test_a_file_that_is_too_large_is_left_out_and_named(tmp_path: Path, repo: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("antiphon.team.worktree.MAX_FILE_BYTES", 1000)
    team = whole(tmp_path, repo, ["plan", FIX, calls("write_file", path="big", content="x" * 2000), SUBMIT])
    assert accept(team).phase == "done"
    assert "too large or no file: big" in "".join(team._models["architect"].told)  # type: ignore[union-attr]
    assert "big" not in git(repo, "ls-tree", "--name-only", f"antiphon/{team.id}/main").split()


def test_two_teams_work_on_one_repository(tmp_path: Path, repo: Path) -> None:
    one, two = solo(tmp_path, repo, FIX, SUBMIT), solo(tmp_path, repo, FIX, SUBMIT)
    assert one.id != two.id
    assert one.work().phase == two.work().phase == "done"
    assert merged_file(one, repo) == merged_file(two, repo)
    assert [each.id for each in Team.all(one.journal)] == [two.id, one.id]


def test_a_team_cannot_begin_where_there_is_no_repository_or_nothing_to_do(tmp_path: Path, repo: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    with pytest.raises(RepositoryError, match="git init"):
        Team.begin("x", tmp_path, journal=journal)
    with pytest.raises(OptionError, match="say what"):
        Team.begin(" ", repo, journal=journal)
    with pytest.raises(SecretRefused):
        Team.begin(f"use {SECRET}", repo, journal=journal)
    assert Team.all(journal) == []
    with pytest.raises(NotSavedError, match="there is no team yet"):
        Team.open("last", journal)


def test_a_disk_that_is_full_stops_the_team_and_loses_nothing(tmp_path: Path, repo: Path, monkeypatch: Any) -> None:
    team = solo(tmp_path, repo, FIX, SUBMIT)

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("antiphon.team.worktree.write_atomically", full)
        with pytest.raises(Exception, match="No space left"):
            team.work()
    assert team.work().phase == "done"
    assert left(team) == []


def test_hostile_titles_and_summaries_are_only_text(tmp_path: Path, repo: Path) -> None:
    title = "--upload-pack=evil\n\x1b[31m$(touch /tmp/antiphon-evil) `x` ../../etc"
    architect = Script(tasks({"title": title, "spec": title, "checks": [title]}), APPROVE)
    submit = calls("submit_work", summary="-m evil\n\x00\x1b]0;x\x07 <a@b>")
    coder = Script("plan", FIX, submit)
    team = begin(tmp_path, repo, pm=Script(SPEC), architect=architect, coder=coder)
    assert accept(team).phase == "done"
    assert git(repo, "log", "-1", "--format=%s", f"antiphon/{team.id}/main") == "-m evil"
    assert not Path("/tmp/antiphon-evil").exists()


# Secrets


def test_secrets_are_never_posted_and_the_team_goes_on(tmp_path: Path, repo: Path) -> None:
    pm = Script(calls("chat_ask_user", question=f"Is it {SECRET}?"), calls("submit_spec", title="x", text=SECRET))
    coder = Script(
        f"I use {SECRET}", calls("chat_post", text=SECRET), FIX, calls("submit_work", summary=f"use {SECRET}")
    )
    team = begin(tmp_path, repo, pm=pm, architect=Script(tasks("fix add"), APPROVE), coder=coder)
    assert accept(team).phase == "done"
    assert "not posted: it holds a key" in pm.told[1]
    assert "not posted: it holds a key" in "".join(coder.told)
    posts = [each for each in team.messages() if each.kind != "fact"]
    assert SECRET not in "".join(each.text for each in posts)
    assert sum("holds a secret" in each.text and each.to == "@human" for each in posts) == 2
    with pytest.raises(SecretRefused):
        begin(tmp_path, repo, pm=Script()).say(SECRET)


# Leaving, going on, another way


def test_a_team_that_is_told_to_stop_is_gone_on_with_elsewhere(tmp_path: Path, repo: Path) -> None:
    def code(conversation: Any) -> Any:
        if len(conversation.turns) == 1:
            Team.open(team.id, Journal(tmp_path / "j.db")).stop()
            return FIX
        return SUBMIT

    team = begin(tmp_path, repo, coder=Acting(code), solo=True)
    state = team.work()
    while state.phase != "done":
        other = Team.open("last", Journal(tmp_path / "j.db"), models={"coder": Acting(lambda _: SUBMIT)})
        assert not other.is_running()
        state = other.work()
    assert "stop" in facts(team)
    assert "return a + b" in merged_file(team, repo)
    assert left(team) == []


def test_what_somebody_does_who_was_left_behind_is_not_written_down(tmp_path: Path, repo: Path) -> None:
    team = solo(tmp_path, repo, calls("chat_ask_user", question="Which?"), FIX, SUBMIT)
    team.work()
    other = Team.open(team.id, team.journal, models=team._models)
    answer_all(other, "this")
    with pytest.raises(LeaseLost):
        team.note(TeamFinished("x"), "done")
    # What the human says is not a matter of who runs it.
    team.raise_cost(7)
    assert other.refresh().settings.cost == 7


def test_a_fork_at_any_message_comes_to_the_same_end(tmp_path: Path, repo: Path) -> None:
    def code(conversation: Any) -> Any:
        last = told(conversation)
        made = [call.name for turn in conversation.turns for call in getattr(turn, "calls", ())]
        if "short plan" in last:
            return "plan"
        if "edit_file" not in made:
            return FIX
        if "chat_ask_user" not in made:
            return calls("chat_ask_user", question="Is it well?")
        if "reviewer wants changes" in last:
            return calls("write_file", path="why.txt", content="because\n")
        return SUBMIT

    def plan(conversation: Any) -> Any:
        last = told(conversation)
        if "Review what" in last:
            return APPROVE if "You wanted this before" in last else CHANGES
        return tasks("fix add")

    models = {"pm": Acting(lambda _: SPEC), "architect": Acting(plan), "coder": Acting(code)}
    team = begin(tmp_path, repo, **models)

    def ended(one: Team) -> None:
        for _ in range(6):
            if one.work().ended:
                return
            for number in list(one.state.questions):
                one.answer(number, "yes")
        raise AssertionError(facts(one))

    ended(team)
    before = team.messages(), git(repo, "rev-parse", f"antiphon/{team.id}/main")
    numbers = [each.id for each in team.messages()]
    begun = next(each.id for each in team.messages() if each.data.get("fact") == "begun")
    for at in [number for number in numbers if number >= begun][:: max(1, len(numbers) // FORKS)]:
        fork = team.fork(at)
        ended(fork)
        assert merged_file(fork, repo) == merged_file(team, repo), at
        assert merged_file(fork, repo, "why.txt") == "because", at
        assert sorted(map(str, said(fork, "answer"))) == sorted(map(str, said(team, "answer"))), at
        assert left(fork) == []
    assert (team.messages(), git(repo, "rev-parse", f"antiphon/{team.id}/main")) == before


def test_a_fork_of_a_team_that_waits_asks_anew(tmp_path: Path, repo: Path) -> None:
    coder = Script(calls("deploy", place="here"), FIX, SUBMIT)
    team = begin(tmp_path, repo, coder=coder, solo=True, roles=[_deploying(tmp_path)])
    (number,) = team.work().questions
    fork = team.fork(team.messages()[-1].id)
    fork._models = {"coder": Script(calls("deploy", place="there"), FIX, SUBMIT)}
    assert fork.state.questions == {}
    assert "there" in next(iter(fork.work().questions.values())).text
    assert answer_all(fork).phase == "done"
    assert (tmp_path / "deployed").read_text().split() == ["there"]
    assert list(team.refresh().questions) == [number]
    assert answer_all(team).phase == "done"
    assert (tmp_path / "deployed").read_text().split() == ["there", "here"]


def test_an_edit_that_is_done_again_after_a_crash_is_done_once(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    file = tmp_path / "tree" / "a"
    file.write_text("end\n")
    edit = make_write_tools(str(tmp_path / "tree"), tmp_path / "notes")["edit_file"]

    def do(key: str) -> str:
        made = ToolCall.read("c1", "edit_file", {"path": "a", "old": "end", "new": "more\nend"})
        return asyncio.run(execute(edit, made, Conversation(), None, key=key)).result.text

    assert "Edited a" in do("run/1/c1")
    assert "Edited a" in do("run/1/c1")
    assert file.read_text() == "more\nend\n"
    do("run/1/c2")
    assert file.read_text() == "more\nmore\nend\n"
    # Noted, and then killed before it was done.
    (tmp_path / "notes2").mkdir()
    again = make_write_tools(str(tmp_path / "tree"), tmp_path / "notes2")["edit_file"]
    for note in (tmp_path / "notes").iterdir():
        (tmp_path / "notes2" / note.name).write_text('"other"')
    made = ToolCall.read("c1", "edit_file", {"path": "a", "old": "end", "new": "more\nend"})
    asyncio.run(execute(again, made, Conversation(), None, key="run/1/c1"))
    assert file.read_text().count("more") == 3
