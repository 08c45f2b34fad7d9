"""The files of the page: there is a list of them, so that nothing else can be asked for."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from antiphon.web.renderers import Renderers

STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
_POLICY = (
    "default-src 'none'; script-src 'self' 'sha256-{hash}'; style-src 'self'; style-src-attr 'unsafe-inline';"
    " img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


class _File(NamedTuple):
    body: bytes
    type: str
    tag: str


class Files:
    """What the page is made of, and the modules of others that draw further kinds."""

    def __init__(self, renderers: Renderers) -> None:
        self._renderers = renderers

    @property
    def policy(self) -> str:
        """What browsers let the page do: its own files, and no markup made of text."""
        found = _MAP.search((STATIC / "index.html").read_text("utf-8"))
        digest = hashlib.sha256((found[1] if found else "").encode()).digest()
        return _POLICY.format(hash=base64.b64encode(digest).decode())

    def answer(self, request: Request) -> Response:
        """A file by its name; the page itself has none."""
        from starlette.responses import PlainTextResponse, Response

        file = self._file(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such file.", 404)
        headers = {"etag": file.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers, media_type=file.type)

    def _file(self, name: str) -> _File | None:
        if name in ("", "index.html"):
            page = self._all["index.html"].body.decode()
            listed = " ".join(self._renderers.names())
            return _file(page.replace('name="renderers" content=""', f'name="renderers" content="{listed}"').encode())
        if name.startswith("renderers/"):
            module = self._renderers.module(name.removeprefix("renderers/"))
            return None if module is None else _file(module, ".js")
        return self._all.get(name)

    @cached_property
    def _all(self) -> dict[str, _File]:
        return {
            path.relative_to(STATIC).as_posix(): _file(path.read_bytes(), path.suffix)
            for path in sorted(STATIC.rglob("*"))
            if path.suffix in _TYPES
        }


def _file(body: bytes, suffix: str = ".html") -> _File:
    return _File(body, _TYPES[suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
