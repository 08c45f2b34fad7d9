"""The static files of the page; only listed files are served."""

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

    from antiphon.web.renderers import RendererModules

STATIC_DIRECTORY = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
_IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
_PAGE_CSP = (
    "default-src 'none'; script-src 'self' 'sha256-{hash}'; style-src 'self'; style-src-attr 'unsafe-inline';"
    " img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


class _StaticFile(NamedTuple):
    body: bytes
    type: str
    tag: str


class StaticFiles:
    """The files of the page, and third-party modules that render further kinds of results."""

    def __init__(self, renderers: RendererModules) -> None:
        self._renderers = renderers

    @property
    def policy(self) -> str:
        """The Content-Security-Policy of the page: its own files, and no markup made from text."""
        found = _IMPORT_MAP.search((STATIC_DIRECTORY / "index.html").read_text("utf-8"))
        digest = hashlib.sha256((found[1] if found else "").encode()).digest()
        return _PAGE_CSP.format(hash=base64.b64encode(digest).decode())

    def answer(self, request: Request) -> Response:
        """Return a file by its name; the empty name is the page itself."""
        from starlette.responses import PlainTextResponse, Response

        file = self._file(request.path_params["name"])
        if file is None:
            return PlainTextResponse("The file does not exist.", 404)
        headers = {"etag": file.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers, media_type=file.type)

    def _file(self, name: str) -> _StaticFile | None:
        if name in ("", "index.html"):
            page = self._all["index.html"].body.decode()
            listed = " ".join(self._renderers.names())
            return _make_file(
                page.replace('name="renderers" content=""', f'name="renderers" content="{listed}"').encode()
            )
        if name.startswith("renderers/"):
            module = self._renderers.module(name.removeprefix("renderers/"))
            return None if module is None else _make_file(module, ".js")
        return self._all.get(name)

    @cached_property
    def _all(self) -> dict[str, _StaticFile]:
        return {
            path.relative_to(STATIC_DIRECTORY).as_posix(): _make_file(path.read_bytes(), path.suffix)
            for path in sorted(STATIC_DIRECTORY.rglob("*"))
            if path.suffix in _MEDIA_TYPES
        }


def _make_file(body: bytes, suffix: str = ".html") -> _StaticFile:
    return _StaticFile(body, _MEDIA_TYPES[suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
