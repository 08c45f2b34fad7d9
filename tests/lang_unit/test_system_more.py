"""The `system/…` modules of time, text, chance, hashes and the web."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.durable import Journal
from antiphon.lang.runtime.program import loads
from antiphon.lang.runtime.system import load_system_functions
from antiphon.lang.syntax.diagnostics import ProgramErrors
from antiphon.storage.database import LeasedWrite
from tests.lang_unit.harness import ran


def using(*modules: str) -> str:
    return "".join(f'import {{ {", ".join(load_system_functions(each))} }} from "system/{each}"\n' for each in modules)


def printed(module: str, program: str) -> list[str]:
    run = ran(using(module) + program)
    assert run.outcome.error is None, run.outcome.error.render()
    return run.prints


def failed(module: str, program: str) -> tuple[str, str]:
    error = ran(using(module) + program).error
    return error.code, error.message


# Time


def test_a_time_that_clocks_leave_out_is_none():
    zoned = 'print(parseTime("2026-{0} 02:30", "%Y-%m-%d %H:%M", "Europe/Oslo"))'
    assert printed("time", zoned.format("10-25")) == ["2026-10-25T02:30:00+02:00"]
    assert failed("time", zoned.format("03-29"))[0] == "V0945"


def test_days_and_months_keep_the_time_of_the_clocks_in_a_zone_and_hours_are_hours():
    start = "2026-03-28T09:15:00+01:00"
    added = 'add("{0}", {{ {1}: 1 }}, "Europe/Berlin")'
    assert printed("time", f"print({added.format(start, 'days')}, {added.format(start, 'months')})") == [
        "2026-03-29T09:15:00+02:00 2026-04-28T09:15:00+02:00"
    ]
    assert printed("time", 'print(add("2026-03-28T08:00:00Z", { days: 1, hours: 1 }, "Europe/Berlin"))') == [
        "2026-03-29T10:00:00+02:00"
    ]
    assert printed("time", f'print({added.format("2026-03-28", "days")}, add("{start}", {{ days: 1 }}))') == [
        "2026-03-29 2026-03-29T09:15:00+01:00"
    ]
    assert failed("time", f"print({added.format('2026-03-28T02:30:00+01:00', 'days')})")[0] == "V0945"


def test_times_are_read_written_and_reckoned_with():
    assert printed(
        "time",
        """
        print(parseTime("31.01.2026 10:00", "%d.%m.%Y %H:%M", "Europe/Oslo"), parseTime("2026-01-31T10:00Z"))
        print(formatTime("2026-07-01T10:00:00Z", "%d %B %Y %H:%M %Z", "Europe/Oslo"), formatTime("2026-07-01", "%A"))
        print(inZone("2026-07-01T10:00:00Z", "Asia/Tokyo"))
        print(parts("2026-07-05"))
        print(add("2024-01-31", { months: 1 }), add("2026-03-01", { days: -1, years: 1 }), add("2026-01-31", 90))
        print(add("2026-03-28T12:00:00+01:00", { weeks: 1, hours: 0.5 }))
        print(secondsBetween("2026-01-01", "2026-01-02T00:00:00.5Z"), unix("1970-01-02"), fromUnix(86400))
        """,
    ) == [
        "2026-01-31T10:00:00+01:00 2026-01-31T10:00:00+00:00",
        "01 July 2026 12:00 CEST Wednesday",
        "2026-07-01T19:00:00+09:00",
        '{"year":2026,"month":7,"day":5,"hour":0,"minute":0,"second":0,"weekday":7,"week":27}',
        "2024-02-29 2027-02-28 2026-01-31T00:01:30+00:00",
        "2026-04-04T12:30:00+01:00",
        "86400.5 86400 1970-01-02T00:00:00+00:00",
    ]


def test_arguments_may_be_named_and_those_before_left_out():
    assert printed("time", 'print(parseTime("2026-01-31T10:00", zone: "Europe/Oslo"))') == ["2026-01-31T10:00:00+01:00"]
    assert printed("data", 'print(parseCsv("a;b\\n1;2", separator: ";"))') == ['[{"a":"1","b":"2"}]']


def test_what_is_no_time_is_told():
    assert failed("time", 'parts("tomorrow")') == ("V0945", "'tomorrow' is not a time in ISO 8601")
    assert failed("time", 'parseTime("1.2.", "%Y")') == ("V0945", "'1.2.' is not a time in the format '%Y'")
    assert failed("time", 'today("Europe/Olso")') == ("V0945", "there is not a time zone 'Europe/Olso'")
    assert failed("time", 'add("9999-12-31", { days: 1 })')[0] == "V0945"
    assert failed("time", "fromUnix(1e300)")[0] == "V0945"
    assert failed("time", 'add("2026-01-01", { months: 0.5 })')[0] == "V0904"


def test_today_is_the_day_of_the_first_time(tmp_path: Path):
    journal = Journal(tmp_path / "j.db")
    with journal.run("r"):
        first = ran(using("time") + "print(today())").prints
    ((outcome,),) = journal.database.query("SELECT outcome FROM steps WHERE kind = 'tool'", ())
    assert json.loads(outcome) == {"value": first[0]}


# Text


def test_regular_expressions_find_replace_and_split():
    assert printed(
        "text",
        r"""
        const m = find("tel 123-456", "(?P<area>\\d+)-(\\d+)(x)?")
        if m != null { print(m.text, m.groups, m.names["area"], m.start, m.end) }
        print(find("a", "b"), matches("Abc", "(?i)^a"), findAll("a1b22", "\\d+").map(x => x.text))
        print(replace("a1b2", "([a-z])(\\d)", "\\2\\1"), split("a, b;c", "[,;] ?"), matches("a.b", escape("a.b")))
        """,
    ) == ['123-456 ["123","456",null] 123 4 11', 'null true ["1","22"]', '1a2b ["a","b","c"] true']


def test_templates_are_filled():
    program = r'print(fill("\{user.name}: \{items[1]} { 1 } {}", { user: { name: "Ann" }, items: [1, [2]] }))'
    assert printed("text", program) == ["Ann: [2] { 1 } {}"]
    said = "the template has the interpolation {user.nam}, and there is no value for it"
    assert failed("text", r'fill("\{user.nam}", { user: { name: "Ann" } })') == ("V0944", said)


@pytest.mark.parametrize("call", ['matches("", "(")', 'replace("a", "a", "\\\\1")', 'split("a", "(a)")'])
def test_what_is_no_pattern_is_told(call: str):
    assert failed("text", call)[0] == "V0944"


# Chance


DRAWING = """
print(random(), choice(["a", "b", "c"]), shuffle([1, 2, 3, 4]), uuid())
const rounds = async for i in 4 { yield [i, random()] }
async let later = uuid()
print(rounds, later)
"""


def test_a_seed_gives_the_same_in_every_run_and_each_round_its_own():
    first, second = (printed("random", f"seed(7)\n{DRAWING}") for _ in range(2))
    assert first == second
    assert len({draw for _, draw in json.loads(first[1].rpartition(" ")[0])}) == 4
    assert printed("random", DRAWING) != first


def test_what_was_drawn_is_not_drawn_again(tmp_path: Path):
    def drawn(text: str) -> list[str]:
        with Journal(tmp_path / "j.db").run("r"):
            return ran(using("random") + text).prints

    assert drawn(DRAWING) == drawn(DRAWING)


def test_chance_keeps_the_types_and_what_is_given():
    assert printed("random", "let xs = [1, 2]\nconst n = choice(xs) + shuffle(xs).sum()\nprint(n > 3, xs)") == [
        "true [1,2]"
    ]
    assert failed("random", "choice([])")[0] == "V0903"
    assert failed("random", 'shuffle("abc")')[0] == "V0902"
    with pytest.raises(ProgramErrors, match="found `number`"):
        loads(using("random") + "const t: text = choice([1, 2])\nprint(t)").attempt()


# Hashes


_MD5 = "66ddcd97cfdeabb2f6fb8a999b4bc76f"


def test_hashes_are_of_texts_and_bytes():
    assert printed("hash", 'print(md5("é"), md5([195, 169]), sha1(""), sha256("abc").length, sha512("").length)') == [
        f"{_MD5} {_MD5} da39a3ee5e6b4b0d3255bfef95601890afd80709 64 128"
    ]
    assert failed("hash", "md5([256])") == ("V0904", "bytes are integers from 0 to 255")


# The web


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A server that says what it was asked, and keeps it."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            asked.append(f"{self.command} {self.path} {self.headers.get('x-key', '-')} {body}")
            found = self.path != "/missing"
            said = json.dumps({"asked": asked[-1]}) if found else "nothing here"
            self.send_response(200 if found else 404)
            self.send_header("X-Said", "yes")
            self.end_headers()
            self.wfile.write(b"caf\xe9" if self.path == "/old" else said.encode())

        do_GET = do_POST = do_PUT = answer

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}", asked
        listening.shutdown()


def test_requests_give_what_was_answered(server: tuple[str, list[str]]):
    url, _ = server
    assert printed(
        "http",
        f"""
        const r = get("{url}/a", {{ query: {{ q: "xy" }}, headers: {{ "X-Key": "k" }} }})
        print(r.status, r.ok, r.headers["x-said"], r.json.asked, r.text.length > 5)
        print(post("{url}/b", {{ n: 1 }}).json.asked, post("{url}/b", "plain").json.asked)
        print(request("PUT", "{url}/c", {{ body: [1] }}).json.asked)
        const missing = get("{url}/missing")
        print(missing.status, missing.ok, missing.text, missing.json)
        try {{ expectOk(missing) }} catch e {{ print(e.code, e.message) }}
        """,
    ) == [
        "200 true yes GET /a?q=xy k  true",
        'POST /b - {"n":1} POST /b - plain',
        "PUT /c - [1]",
        "404 false nothing here null",
        f"V0947 `{url}/missing` answered with status 404: nothing here",
    ]


@pytest.mark.parametrize("path", ["/bomb", "/redirect"])
def test_a_short_answer_that_would_become_gigabytes_is_refused_early(path: str):
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(10_000_000)) for _ in range(60)) + packer.flush()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path == "/redirect" else 200)
            self.send_header("Location", "/small" if self.path == "/redirect" else "")
            if self.path != "/small":
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(b"small" if self.path == "/small" else bomb)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{listening.server_port}{path}"
        tracemalloc.start()
        try:
            if path == "/bomb":
                assert failed("http", f'get("{url}")') == ("V0946", f"`{url}` answers with more than 100 MB")
            else:
                # Of a redirect nothing is read but where it leads.
                assert printed("http", f'print(get("{url}").text)') == ["small"]
            assert tracemalloc.get_traced_memory()[1] < (300_000_000 if path == "/bomb" else 30_000_000)
        finally:
            tracemalloc.stop()
            listening.shutdown()


def test_a_request_is_sent_once_and_its_key_is_not_kept(
    server: tuple[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    url, asked = server
    monkeypatch.setenv("SERVICE_KEY", "hush-hush-4711")
    program = f'{using("http")}print(post("{url}", 1, {{ headers: {{ "X-Key": env("SERVICE_KEY") }} }}).status)'
    for _ in range(2):
        with Journal(tmp_path / "j.db").run("r"):
            assert ran(program).prints == ["200"]
    assert asked == ["POST / hush-hush-4711 1"]
    assert b"hush-hush" not in b"".join(each.read_bytes() for each in tmp_path.glob("j.db*"))


def test_an_answer_that_is_no_utf_8_is_read_in_the_encoding_that_is_named(server: tuple[str, list[str]]):
    url, _ = server
    assert printed("http", f'print(get("{url}/old", {{ encoding: "latin-1" }}).text)') == ["café"]
    assert failed("http", f'get("{url}/old")') == (
        "V0941",
        f"the answer of `{url}/old` is not UTF-8: byte 3, in line 1",
    )


def test_a_request_without_an_answer_is_an_error_of_the_program(server: tuple[str, list[str]]):
    url, asked = server
    assert failed("http", 'get("http://127.0.0.1:1/")')[0] == "V0946"
    assert failed("http", 'get("http://[")')[0] == "V0946"
    error = ran(using("http") + f'get("{url}")', untrusted=True, directory=".").error
    assert (error.code, asked) == ("V0923", [])


@contextlib.contextmanager
def _redirecting() -> Iterator[str]:
    """Serve `/N`, which redirects N times; the address of the server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            left = int(self.path[1:])
            self.send_response(302 if left else 200)
            self.send_header("Location", f"/{left - 1}")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()


def test_twenty_redirects_are_followed_and_no_more():
    with _redirecting() as url:
        assert printed("http", f'print(get("{url}/20").text)') == ["ok"]
        code, message = failed("http", f'get("{url}/21")')
    assert (code, "redirects more than 20 times" in message) == ("V0946", True)


def test_an_untrusted_program_fetches_only_the_address_that_was_allowed(monkeypatch: pytest.MonkeyPatch):
    connect = socket.socket.connect

    def connected(own: socket.socket, address: tuple[str, int]) -> None:
        # A public address, which is this machine.
        connect(own, ("127.0.0.1", address[1]) if address[0] == "8.8.8.8" else address)

    monkeypatch.setattr(socket.socket, "connect", connected)
    with _redirecting() as url:
        page = url.replace("127.0.0.1", "8.8.8.8")
        program = f'import {{ fetchUrl }} from "system/tools"\nprint(fetchUrl("{page}/%d").length > 0)'
        assert ran(program % 0, {"human": "yes"}, untrusted=True, directory=".").prints == ["true"]
        run = ran(program % 1, {"human": "yes"}, untrusted=True, directory=".")
    assert (run.error.code, "it was not gone to" in run.error.message) == ("V0917", True)


# Objects of Python


OBJECTS = """
import { date, timedelta } from "py:datetime"
import { Decimal } from "py:decimal"
const day = date(2026, 1, 31)
print(day, "{day}", [day], day.year + 1, day.isoformat().length, day.replace(2027).year)
print(Decimal("1.10"), Decimal("1.10").quantize(Decimal("1")), timedelta(1, 5).total_seconds(), day.toString())
"""
SAID = ['2026-01-31 2026-01-31 ["2026-01-31"] 2027 10 2027', "1.10 1 86405 2026-01-31"]


def test_objects_of_python_keep_their_methods_and_print_as_python_prints_them(tmp_path: Path):
    assert ran(OBJECTS).prints == SAID
    for _ in range(2):
        with Journal(tmp_path / "j.db").run("r"):
            assert ran(OBJECTS).prints == SAID


MADE = """
import { Path } from "py:pathlib"
import { compile } from "py:re"
import { date } from "py:datetime"
import { len } from "py:builtins"
const place = Path("a/b.txt")
const pattern = compile("a+")
const thing = py() { return [object()] }
print(place.name, place, pattern.findall("aab"), Path.cwd().is_absolute(), len(thing), date.today())
"""


def test_objects_that_have_no_json_form_are_made_again_and_calls_of_classes_are_not(tmp_path: Path):
    journal = Journal(tmp_path / "j.db")
    with journal.run("r"):
        first = ran(MADE).prints
    assert first == [f'b.txt a/b.txt ["aa"] true 1 {first[0][-10:]}']
    change = "UPDATE steps SET outcome = ? WHERE request LIKE '%date.today%'"
    journal.write_at_epoch("r", 1, LeasedWrite(change, ('{"value":"then"}',)))
    with Journal(tmp_path / "j.db").run("r"):
        assert ran(MADE).prints == [first[0][:-10] + "then"]


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("day.yaer", "did you mean `year`?"),
        ("day.isofromat()", "did you mean `isoformat`?"),
        ("day.isoformat", "`isoformat` is a method and must be called"),
        ("day.year()", "`year` of a Python date is not a method"),
        ("day.__class__", "a Python date has no `__class__`"),
    ],
)
def test_what_an_object_of_python_has_not_is_told(use: str, said: str):
    error = ran(f'import {{ date }} from "py:datetime"\nconst day = date(2026, 1, 31)\nprint({use})').error
    assert said in error.render()
    assert error.code != "V0915"
