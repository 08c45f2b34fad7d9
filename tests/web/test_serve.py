"""`antiphon serve` as it is begun: certificates, addresses, a port that is taken, a journal that many share."""

from __future__ import annotations

import datetime
import ipaddress
import os
import signal
import socket
import ssl
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from antiphon.cli import cli
from antiphon.durable import Journal
from tests.forks import Forked
from tests.web.journals import ask, begun, put


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a certificate of this machine, its key, the same key locked, and the key of another."""
    home = tmp_path_factory.mktemp("secure")
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    addresses = [x509.IPAddress(ipaddress.ip_address(each)) for each in ("127.0.0.1", "::1")]
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), *addresses]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (home / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    open_ = serialization.NoEncryption()
    for file, each, lock in (
        ("key.pem", key, open_),
        ("other.pem", other, open_),
        ("locked.pem", key, serialization.BestAvailableEncryption(b"x")),
    ):
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        (home / file).write_bytes(each.private_bytes(*form, lock))
    (home / "none.pem").write_text("no PEM\n")
    return home


@contextmanager
def serving(tmp_path: Path, *options: str, db: str = "", **environment: str) -> Generator[tuple[str, list[str]]]:
    """The command, on a free port: the link that it prints, and what it complained of when it is over."""
    command = "--db", db or str(tmp_path / "logs.db"), "serve", "--port", "0", *options
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path), **environment}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Forked(*command, **pipes, text=True, start_new_session=True, env=env) as process:
        try:
            assert process.stdout is not None
            complaints: list[str] = []
            yield process.stdout.readline().removeprefix("The page: ").strip(), complaints
        finally:
            process.send_signal(signal.SIGINT)
            complaints.append(process.communicate(timeout=60)[1])
            assert process.returncode == 0


def test_it_is_served_by_https_where_nobody_else_listens_and_no_browser_opens(tmp_path: Path, secure: Path):
    files = "--cert", str(secure / "cert.pem"), "--key", str(secure / "key.pem")
    here = "::1" if _has_ipv6() else "127.0.0.1"
    trusting = ssl.create_default_context(cafile=str(secure / "cert.pem"))
    with serving(tmp_path, "--listen", here, *files, "--open", PATH=str(tmp_path), BROWSER="") as (url, complaints):
        assert url.startswith("https://[::1]:" if ":" in here else "https://127.0.0.1:")
        base = url.partition("/login")[0]
        with httpx2.Client(verify=trusting, timeout=60) as client:
            first = client.get(url)
            assert first.status_code == 303
            assert "; Secure" in first.headers["set-cookie"]
            assert "<title>Antiphon</title>" in client.get(f"{base}/").text
            assert client.get(f"{base}/api/sessions", headers={"host": "evil.example"}).status_code == 421
            refused = client.post(f"{base}/agui", json={}, headers={"authorization": "Bearer x"})
            assert refused.status_code == 401
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(url, timeout=60)
        with pytest.raises(httpx2.TransportError):
            httpx2.get(url.replace("https://", "http://"), timeout=60)
    assert "open the link yourself" in complaints[0]


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--cert", "none.pem", "--key", "key.pem"], "none.pem is not a certificate"),
        (["--cert", "key.pem", "--key", "key.pem"], "key.pem is not a certificate"),
        (["--cert", "cert.pem", "--key", "none.pem"], "none.pem is not a key"),
        (["--cert", "cert.pem", "--key", "other.pem"], "other.pem is not the key of the certificate cert.pem"),
        (["--cert", "cert.pem", "--key", "locked.pem"], "locked.pem is protected by a passphrase"),
        (["--cert", "missing.pem", "--key", "key.pem"], "does not exist"),
        (["--cert", "cert.pem"], "need each other"),
        (["--key", "key.pem"], "need each other"),
        (["--listen", "0.0.0.0"], "other machines can reach 0.0.0.0"),
        (["--listen", "::"], "other machines can reach ::"),
        (["--listen", "192.0.2.1"], "other machines can reach 192.0.2.1"),
        (["--listen", "agents.example"], "other machines can reach agents.example"),
        (["--listen", "192.0.2.1", "--insecure"], "cannot listen on 192.0.2.1:0"),
        (["--listen", "127.0.0.1:80", "--insecure"], "cannot listen on"),
        (["--listen", "no.such.invalid", "--insecure"], "cannot listen on no.such.invalid:0"),
        (["--name", "a/b"], "is not an origin; use a scheme, a host and a port"),
        (["--tools", "some"], "Invalid value for '--tools'"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_sentence(
    secure: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
):
    monkeypatch.chdir(secure)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    run = CliRunner().invoke(cli, ["--db", str(tmp_path / "logs.db"), "serve", "--port", "0", *options])
    assert run.exit_code == (2 if "Usage" in run.output else 1)
    assert told in run.output + str(run.exception)
    assert "Traceback" not in run.output
    assert "The page" not in run.output


def test_a_port_that_is_taken_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        run = CliRunner().invoke(cli, ["serve", "--port", port])
    assert run.exit_code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in run.output + str(run.exception)
    assert "`--port 0` picks a free one" in run.output + str(run.exception)


def test_a_journal_that_many_share_is_served_to_all_who_can_reach_it(tmp_path: Path, postgres: str):
    journal = Journal(postgres)
    running = begun(journal, "shared", "Runs elsewhere")
    put(running, "1", "hello")
    ask(running, "2", "Which?")
    running.finish("waiting")
    options = "--listen", "0.0.0.0", "--insecure"
    with serving(tmp_path, *options, db=postgres) as (url, _), httpx2.Client(timeout=60) as client:
        port, token = url.partition("/login")[0].rpartition(":")[2], url.partition("=")[2]
        base = f"http://127.0.0.1:{port}"
        assert socket.gethostname() in url
        assert client.get(f"{base}/login?token={token}").status_code == 303
        (run,) = client.get(f"{base}/api/sessions").json()["sessions"]
        assert (run["id"], run["steps"], run["waiting"]) == ("shared", 2, 1)
        assert client.get(f"{base}/api/sessions/shared/step?path=1").json()["head"] == "hello"
        (item,) = client.get(f"{base}/api/questions").json()["questions"]
        ours = {"origin": base, "sec-fetch-site": "same-origin"}
        with client.stream("GET", f"{base}/api/sessions/shared/events") as stream:
            lines = stream.iter_lines()
            assert next(each for each in lines if each == "event: steps")
            said = {"path": "2", "hash": item["hash"], "text": "this"}
            answered = client.post(f"{base}/api/sessions/shared/answer", json=said, headers=ours)
            assert (answered.status_code, answered.json()["state"]) == (200, "ready")
            assert next(
                each for each in lines if each.startswith("data: [") and '"path":"2"' in each and "this" in each
            )
        assert client.get(f"{base}/api/questions").json()["questions"] == []
        assert client.get(f"{base}/api/sessions", headers={"host": f"203.0.113.9:{port}"}).status_code == 421
    assert journal.list_questions("shared") == ()
    journal.close()
