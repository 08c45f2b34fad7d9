"""Fetches the texts of CommonMark's and GitHub's specifications, whose examples are tests, into `build`."""

import hashlib
import io
import sys
import tarfile
import time
import urllib.request
from pathlib import Path

#: The source of marko, which ships both as they were published. Their licence is CC BY-SA, so they are no part of ours.
_ARCHIVE = (
    "https://files.pythonhosted.org/packages/82/6d/"
    "671a18bb386adca6311bca6c2fe6bec873947ee501cc5f8f509ec06bdde0/marko-2.2.4.tar.gz"
)
_HASH = "c042c66f835425673123d7536b39b4660de3b68e30078c70fd26245b31170683"
_PLACE = Path(__file__).parents[1] / "build" / "specifications"
_NAMES = ("commonmark.txt", "gfm.txt")
_ATTEMPTS, _PATIENCE = 3, 60


def main() -> int:
    if all((_PLACE / name).exists() for name in _NAMES):
        return 0
    try:
        content = _fetch()
    except OSError as error:
        print(f"specifications: {_ARCHIVE} cannot be fetched: {error}", file=sys.stderr)
        return 1
    if hashlib.sha256(content).hexdigest() != _HASH:
        print(f"specifications: {_ARCHIVE} is not what it was: its SHA-256 is another", file=sys.stderr)
        return 1
    _PLACE.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for name in _NAMES:
            found = archive.extractfile(f"marko-2.2.4/tests/spec/{name}")
            assert found is not None
            (_PLACE / name).write_bytes(found.read())
    return 0


def _fetch() -> bytes:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(_ARCHIVE, timeout=_PATIENCE) as response:
                return response.read()
        except OSError:
            if attempt == _ATTEMPTS:
                raise
            time.sleep(2**attempt)
    raise AssertionError


if __name__ == "__main__":
    sys.exit(main())
