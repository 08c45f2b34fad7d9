"""A worker in a process of its own, with the words `URL DIRECTORY LEASE SLOTS`.

Each run does three effects, which may be done twice. Who did what is written to `log` in the directory; as long as
there is a `closed`, effects wait for it to go, or for an `open.PID`. A `kill.RUN.NUMBER` is how many workers that
effect of that run is still going to kill.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from importlib import import_module
from pathlib import Path

from antiphon.durable import Dispatcher, Journal
from antiphon.effects import EffectCall, EffectContext, PathCounter, RunPython, perform, use_context

# What it needs is there before it is forked.
import_module("antiphon.durable.worker")


def main(words: list[str]) -> None:
    url, home, lease, slots = words[1], Path(words[2]), float(words[3]), int(words[4])
    logging.basicConfig(level=logging.WARNING)
    journal = Journal(url)
    lines = os.open(home / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def say(*what: object) -> None:
        os.write(lines, f"{os.getpid()} {' '.join(map(str, what))}\n".encode())

    def effect(run: str, number: int) -> int:
        say("did", run, number)
        deadly = home / f"kill.{run}.{number}"
        if deadly.exists() and (left := int(deadly.read_text())):
            deadly.write_text(str(left - 1))
            os.kill(os.getpid(), signal.SIGKILL)
        while (home / "closed").exists() and not (home / f"open.{os.getpid()}").exists():
            time.sleep(0.02)
        return number

    def execute(run: str) -> None:
        running = journal.resume(run)
        say("took", run)
        state, node = "failed", PathCounter()
        try:
            with use_context(EffectContext(node, (running.middleware,))):
                for number in range(3):
                    asked = RunPython("effect", {"run": run, "number": number}, is_harmless=True)
                    perform(EffectCall(node.next(), asked), lambda number=number: effect(run, number))
            state = "done"
        except Exception as error:
            say("lost", run, type(error).__name__)
            raise
        finally:
            running.finish(state)

    say("works")
    Dispatcher(url, lease=lease).work(execute, slots)
    say("ended")
