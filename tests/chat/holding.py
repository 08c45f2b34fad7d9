"""A proxy before a fake: a streamed answer holds at a mark, until somebody has stopped it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2

#: An answer holds after the piece with this mark.
MARK = "§"


class Proxy:
    """Passes requests on to `target`; `holds` is set while an answer holds."""

    def __init__(self, target: str) -> None:
        self.holds, self.is_released = threading.Event(), threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                names = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                with httpx2.stream("POST", target + self.path, content=body, headers=names, timeout=60) as answer:
                    self.send_response(answer.status_code)
                    for name, value in answer.headers.items():
                        if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                            self.send_header(name, value)
                    self.send_header("connection", "close")
                    self.end_headers()
                    is_marked = False
                    for line in answer.iter_lines():
                        self.wfile.write(f"{line}\n".encode())
                        self.wfile.flush()
                        is_marked = is_marked or ('"delta":' in line and (MARK in line or "\\u00a7" in line))
                        # The piece ends with an empty line.
                        if is_marked and not line and not proxy.is_released.is_set():
                            proxy.holds.set()
                            proxy.is_released.wait(60)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.is_released.set()
        self._server.shutdown()
        self._server.server_close()
