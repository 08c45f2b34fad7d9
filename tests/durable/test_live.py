"""What a model says while it says it, for whoever looks from another process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.durable import Journal
from antiphon.durable.live_output import LiveOutput, LiveSubscriber
from antiphon.effects.codec import dump_ascii_json
from antiphon.effects.pipeline import private_effects
from antiphon.errors import ConnectionFailed
from antiphon.lang.runtime import Host, loads
from antiphon.programs.lazy_run import LazyRun
from antiphon.session import Session
from antiphon.storage.encryption import JournalCipher
from antiphon.storage.secret_refs import SecretRefs, parse_redacted_json
from tests.web.speaking import END, Speaker

PATIENCE = 60


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    monkeypatch.setenv("ACME_TOKEN", "abab-secret-abab")
    made = Journal(tmp_path / "logs.db")
    yield made
    made.close()


def live_of(journal: Journal) -> LiveOutput:
    assert journal.live_output is not None
    return journal.live_output


def until(what: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)
    return found


def listen(hearing: LiveSubscriber, wanted: str) -> list[Any]:
    """All pieces, once what is wanted was said."""
    found: list[Any] = []
    until(lambda: found.extend(hearing.read_new()) or wanted in "".join(each.text for each in found))
    return found


def files(journal: Journal) -> list[Path]:
    return [each for each in live_of(journal)._home.rglob("*") if each.is_file() and each.name != "wanted"]


def test_an_answer_is_heard_from_its_beginning_while_it_comes(journal: Journal):
    model = Speaker()
    run = Session(model, journal=journal).start("Hi")
    model.pieces.put("One ")
    first = live_of(journal).subscribe(run.id)
    assert [(each.path, each.before, each.text) for each in listen(first, "One ")] == [("1/r1", 0, "One ")]
    (file,) = files(journal)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    model.pieces.put("two ")
    assert [(each.before, each.text) for each in listen(first, "two ")] == [(4, "two ")]
    assert "".join(each.text for each in listen(live_of(journal).subscribe(run.id), "two ")) == "One two "
    model.pieces.put(END)
    run.wait()
    assert files(journal) == []
    assert first.read_new() == []


@pytest.mark.parametrize("before", ["", "py() { return 1 }\n"])
def test_a_program_is_heard_as_it_speaks(journal: Journal, before: str):
    """Also where the model is the first that it reaches, so that its run is begun just then."""
    model, host = Speaker(), Host(write=lambda _: None, default_model=lambda: "speaker", watch=lambda _: None)
    host = replace(host, connect=lambda *_, **__: model)
    late = LazyRun(lambda lines: journal.begin("program", "p.vibe", id="r", printed=lines))
    program = loads(f'{before}do "Hi"\n', "p.vibe")
    running = threading.Thread(target=lambda: program.attempt(replace(host, performers=(late,))))
    running.start()
    try:
        hearing = live_of(journal).subscribe("r")
        for piece in ("One ", "two "):
            model.pieces.put(piece)
            listen(hearing, piece)
    finally:
        model.pieces.put(END)
        running.join()


def test_where_nobody_looks_nothing_is_written(journal: Journal):
    model = Speaker()
    run = Session(model, journal=journal).start("Hi")
    for piece in ("One ", "two ", END):
        model.pieces.put(piece)
    run.wait()
    assert not live_of(journal)._home.exists()


def test_what_is_private_is_never_said(journal: Journal):
    model = Speaker()
    with private_effects():
        run = Session(model, journal=journal).start("Hi")
    hearing = live_of(journal).subscribe(run.id)
    model.pieces.put("my heart")
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        assert hearing.read_new() == []
        time.sleep(0.05)
    assert files(journal) == []
    model.pieces.put(END)
    run.wait()


def test_what_is_withheld_is_withheld_wherever_it_is_cut(journal: Journal):
    model = Speaker()
    run = Session(model, journal=journal).start("Hi")
    hearing = live_of(journal).subscribe(run.id)
    heard = ""
    for piece in ("It is aba", "b-sec", "ret-ab", "ab, and", " so on."):
        model.pieces.put(piece)
        heard += "".join(each.text for each in hearing.read_new())
        time.sleep(0.15)
    heard += "".join(each.text for each in listen(hearing, " so on."))
    assert heard == "It is [$ACME_TOKEN], and so on."
    model.pieces.put(END)
    run.wait()


WORDS = ["abab-secret-abab", "abab-", "secret", "ab", "-", "x y", "tok", "token7"]


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.lists(st.integers(1, 6), min_size=1))
def test_nothing_of_a_value_is_told_at_any_cut(pieces: list[str], sizes: list[int]):
    withheld = SecretRefs(JournalCipher(Path(os.devnull)))
    withheld._cipher.__dict__["_key"] = b"k" * 32
    withheld.add("LONG", "abab-secret-abab")
    withheld.add("SHORT", "token7")
    whole, held, told, at, count = "".join(pieces), "", "", 0, 0
    while at < len(whole):
        size = sizes[count % len(sizes)]
        held, at, count = held + whole[at : at + size], at + size, count + 1
        end = withheld.find_safe_end(held)
        told += parse_redacted_json(withheld.insert_references(dump_ascii_json({"text": held[:end]})), "a text")["text"]
        held = held[end:]
    told += parse_redacted_json(withheld.insert_references(dump_ascii_json({"text": held})), "a text")["text"]
    expected = parse_redacted_json(withheld.insert_references(dump_ascii_json({"text": whole})), "a text")["text"]
    # A short one counts only where it stands by itself, which a cut may let it do.
    assert told.replace("[$SHORT]", "token7") == expected.replace("[$SHORT]", "token7")
    assert "abab-secret-abab" not in told


def test_an_answer_that_breaks_off_is_taken_away(journal: Journal):
    model = Speaker()
    run = Session(model, journal=journal).start("Hi")
    hearing = live_of(journal).subscribe(run.id)
    model.pieces.put("One ")
    listen(hearing, "One ")
    model.pieces.put(ConnectionFailed("gone"))
    run.wait(raises=False)
    assert (run.state, files(journal)) == ("failed", [])


def test_when_nobody_looks_any_more_it_is_taken_away_and_said_anew_later(journal: Journal):
    model = Speaker()
    run = Session(model, journal=journal).start("Hi")
    hearing = live_of(journal).subscribe(run.id)
    model.pieces.put("One ")
    listen(hearing, "One ")
    (mark,) = live_of(journal)._home.rglob("wanted")
    os.utime(mark, (1, 1))
    until(lambda: not files(journal))
    assert [(each.before, each.text) for each in listen(live_of(journal).subscribe(run.id), "One ")] == [(0, "One ")]
    model.pieces.put(END)
    run.wait()


@pytest.mark.parametrize("name", ["../../up", "/etc/passwd", "a\0b", "\ud800", "x" * 200, "."])
def test_names_of_runs_lead_nowhere_else(tmp_path: Path, name: str):
    live = LiveOutput(tmp_path / "home" / "logs.live")
    live._home.parent.mkdir()
    assert live.mark_watched(name)
    assert live.is_watched(name)
    assert live.create_file(name, name).parent.parent == live._home
    assert [each.name for each in tmp_path.iterdir()] == ["home"]
    assert len(list(live._home.iterdir())) == 1


@pytest.mark.skipif(os.name != "posix", reason="modes and links are of POSIX")
def test_nothing_is_written_where_others_could_read_it(tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    linked = LiveOutput(tmp_path / "linked")
    linked._home.symlink_to(other)
    opened = LiveOutput(tmp_path / "open")
    opened._home.mkdir(mode=0o755)
    for live in (linked, opened):
        assert not live.mark_watched("r")
        assert live.subscribe("r").read_new() == []
        with pytest.raises(OSError):
            live.create_file("r", "1")
    ours = LiveOutput(tmp_path / "ours")
    assert ours.mark_watched("r")
    (mark,) = ours._home.rglob("wanted")
    mark.unlink()
    mark.symlink_to(tmp_path / "elsewhere")
    assert not ours.mark_watched("r")
    assert not ours.is_watched("r")
    assert not (tmp_path / "elsewhere").exists()


def test_what_dead_processes_left_is_swept(tmp_path: Path):
    live = LiveOutput(tmp_path / "logs.live")
    for run in ("old", "new"):
        live.mark_watched(run)
        live.create_file(run, "1").write_text('{"path":"1","text":"words"}\n')
    assert [each.text for each in live.subscribe("old").read_new()] == ["words"]
    mark = live.create_file("old", "2").with_name("wanted")
    os.utime(mark, (1, 1))
    live.remove_stale()
    assert [each.text for each in live.subscribe("new").read_new()] == ["words"]
    assert live.subscribe("old").read_new() == []


def test_a_journal_of_many_machines_has_none():
    assert Journal("postgresql://nobody@nowhere.invalid/none").live_output is None
