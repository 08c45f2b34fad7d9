"""The files of the page: there is a list of them, so that nothing else can be asked for."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from antiphon.errors import ConfigurationError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
_MODULE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*\.m?js")
_POLICY = (
    "default-src 'none'; script-src 'self' 'sha256-{hash}'; style-src 'self'; style-src-attr 'unsafe-inline';"
    " img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)


class _File(NamedTuple):
    body: bytes
    type: str
    tag: str


class Files:
    """What the page is made of, and the modules of users that draw further kinds."""

    def __init__(self, renderers: Path | None = None) -> None:
        if renderers is not None and not renderers.is_dir():
            raise ConfigurationError(f"the renderers of the page are in a directory, and {renderers} is none")
        self._renderers = renderers

    @property
    def policy(self) -> str:
        """What browsers let the page do: its own files, and no markup made of text."""
        found = _MAP.search((STATIC / "index.html").read_text("utf-8"))
        digest = hashlib.sha256((found[1] if found else "").encode()).digest()
        return _POLICY.format(hash=base64.b64encode(digest).decode())

    async def answer(self, request: Request) -> Response:
        """A file by its name; the page itself has none."""
        from starlette.responses import PlainTextResponse, Response

        file = self._all.get(request.path_params["name"] or "index.html")
        if file is None:
            return PlainTextResponse("There is no such file.", 404)
        headers = {"etag": file.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers, media_type=file.type)

    @cached_property
    def _all(self) -> dict[str, _File]:
        found = {
            path.relative_to(STATIC).as_posix(): _file(path.read_bytes(), path.suffix)
            for path in sorted(STATIC.rglob("*"))
            if path.suffix in _TYPES
        }
        modules = sorted(self._renderers.iterdir()) if self._renderers is not None else []
        own = [path for path in modules if _MODULE.fullmatch(path.name)]
        found |= {f"renderers/{path.name}": _file(path.read_bytes(), path.suffix) for path in own}
        page = (STATIC / "index.html").read_text("utf-8")
        page = page.replace('name="renderers" content=""', f'name="renderers" content="{_names(own)}"')
        return {**found, "index.html": _file(page.encode(), ".html")}


def _names(modules: list[Path]) -> str:
    return " ".join(each.name for each in modules)


def _file(body: bytes, suffix: str) -> _File:
    return _File(body, _TYPES[suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
