"""Settings for all tests."""

import atexit
import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

import antiphon
from tests import postgres_server

# How long an example takes says more of the machine than of the code. The gate tries the same examples every time;
# whoever works on the code gets new ones.
settings.register_profile("antiphon", deadline=None, max_examples=50, derandomize=bool(os.environ.get("CI")))
settings.load_profile("antiphon")

# Threads of a model that others of its process wait for take more of a busy machine than one alone.
os.environ["ANTIPHON_LOCAL_THREADS"] = "1"

# What they do is written down elsewhere, and removed.
_data = tempfile.mkdtemp(prefix="antiphon-tests-")
_own = os.getpid()
# A child that was forked ends too, and what it was forked from still needs it.
atexit.register(lambda: shutil.rmtree(_data, ignore_errors=True) if os.getpid() == _own else None)
os.environ["XDG_DATA_HOME"] = _data
# Keys and settings of whoever runs the tests are none of their business. A browser would make the directory, so it is
# one that goes with the rest.
os.environ["XDG_CONFIG_HOME"] = os.path.join(_data, "no-such-directory")

# No test cuts the power, and the disk need not be waited for; where it is, is tested by itself.
os.environ["ANTIPHON_SYNCHRONOUS"] = "normal"

# Tests play models that are long gone; what is told of their end is tested by itself.
os.environ["PYTHONWARNINGS"] = "ignore::FutureWarning"

# Programs that tests start are to be of the tree that is tested, whichever one is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(antiphon.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)

# So is the Python of their tests, and what is installed beside it: a team runs the tests of its repository with pytest.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# Sockets and files of thousands of tests are closed when the garbage collector finds them; an ordinary user may often
# have 1,024 at once, and raise that.
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if _soft != resource.RLIM_INFINITY and _soft < 16_384:
    _most = 16_384 if _hard == resource.RLIM_INFINITY else min(16_384, _hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_most, _hard))

# Who begins the tests in the background of a script has it ignored, and so would all the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected is there to the end: it is old when the collector of garbage first looks, and is no garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.unfreeze()
        gc.enable()


@pytest.fixture
def postgres() -> Generator[str]:
    """The URL of an empty database."""
    with postgres_server.database() as url:
        yield url


def pytest_configure() -> None:
    postgres_server.configure()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        postgres_server.finish()
