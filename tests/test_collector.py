"""Work on trees without Python's collector: what it makes is not gone through at once, and is no garbage for ever."""

from __future__ import annotations

import gc
import weakref

from antiphon._base import gc_pause as collector
from antiphon._base.gc_pause import gc_paused


class _Circle:
    def __init__(self) -> None:
        self.itself = self


def test_what_was_made_is_old_when_the_collector_comes_back() -> None:
    gc.collect()
    with gc_paused():
        made = [[number] for number in range(2_000)]
    assert gc.isenabled()
    assert gc.get_count()[0] < 1_000, "else the next object would have all of them gone through"
    assert len(made) == 2_000


def test_what_nobody_needs_any_more_is_collected_after_enough_work(monkeypatch) -> None:
    monkeypatch.setattr(collector, "_collect_threshold", 5_000)
    with gc_paused():
        lost = weakref.ref(_Circle())
    kept: list[list[list[int]]] = []
    for _ in range(4):
        with gc_paused():
            kept.append([[number] for number in range(2_000)])
    assert lost() is None


def test_where_there_are_many_objects_it_waits_for_a_share_of_them(monkeypatch) -> None:
    monkeypatch.setattr(collector, "_MIN_OBJECTS", 10)
    monkeypatch.setattr(collector, "_collect_threshold", 10)
    with gc_paused():
        made = [[number] for number in range(50_000)]
    with gc_paused():
        lost = weakref.ref(_Circle())
        made += [[number] for number in range(1_000)]
    assert lost() is not None
    with gc_paused():
        made += [[number] for number in range(len(gc.get_objects()) // 3)]
    assert lost() is None


def test_work_within_other_work_leaves_the_collector_off() -> None:
    with gc_paused():
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_somebody_else_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        with gc_paused():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
