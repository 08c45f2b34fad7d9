"""The state in which a program leaves its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Journal
from antiphon.lang.runtime.program import Host, loads
from antiphon.programs.lazy_run import LazyRun
from antiphon.programs.run_ending import finish_run

ASKING = 'import { readText } from "system/files"\nnow()\nprint(readText("/etc/hosts"))'


@pytest.mark.parametrize(("people", "state"), [(lambda _: False, "failed"), (None, "waiting")])
def test_a_program_waits_for_an_answer_and_not_after_a_refusal(tmp_path: Path, people: Any, state: str) -> None:
    journal = Journal(tmp_path / "j.db")
    late = LazyRun(lambda lines: journal.begin("program", "p", id="r", printed=lines))
    host = Host(lambda _: None, untrusted=True, people=people, performers=(late,))
    told = finish_run(late, loads(ASKING, "p.vibe", untrusted=True).attempt(host))
    assert (told["outcome"], journal.find("r").state) == ("waiting", state)
