"""Which hosts may be fetched from, and which of their addresses may be connected to."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Sequence
from fnmatch import fnmatchcase
from urllib.parse import SplitResult, urlsplit

from antiphon.tools.tool import ToolFailure

_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d+))?")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: Local translation of IPv4, site-local addresses, and IPv4 addresses in the forms of old: none is of the internet.
_LOCAL = tuple(map(ipaddress.ip_network, ("64:ff9b:1::/48", "fec0::/10", "::/96", "::ffff:0:0:0/96")))
#: Reserved blocks that some versions of Python take for public; clouds serve their metadata at 192.0.0.192.
_RESERVED = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "5f00::/16")))


def checked_url(url: str, allow: Sequence[str]) -> SplitResult:
    """The parts of an address that may be fetched; a ToolFailure says why one may not."""
    if not allow:
        raise ToolFailure("fetching is off: no host was allowed; whoever runs this can allow some with `fetch_allow`")
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ToolFailure(f"`{url[:200]}` is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ToolFailure(f"`{url[:200]}` is no URL that starts with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise ToolFailure("a URL with a user name or password in it is not fetched")
    if port == 0 or any(char.isspace() or char < " " for char in parts.netloc):
        raise ToolFailure(f"`{url[:200]}` is no URL: its host is not one")
    if not any(_allows(pattern, host, _port(parts)) for pattern in allow):
        raise ToolFailure(f"`{host}` is not among the allowed hosts: {', '.join(allow)}")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _pattern(text: str) -> tuple[str, int | None]:
    """A pattern's name, and its port if only that is allowed; an IPv6 address with a port is in brackets."""
    found = _HOST_AND_PORT.fullmatch(text.lower())
    return (found[1].strip("[]"), int(found[2]) if found[2] else None) if found else (text.lower(), None)


def _allows(pattern: str, host: str, port: int) -> bool:
    name, only = _pattern(pattern)
    return only in (None, port) and fnmatchcase(host, name)


def _is_named(host: str, port: int, allow: Sequence[str]) -> bool:
    """Whether a host was allowed by its own name, not by a pattern that happens to fit."""
    return any(name == host and only in (None, port) for name, only in map(_pattern, allow))


async def resolved(parts: SplitResult, allow: Sequence[str]) -> list[str]:
    """The addresses of a host that may be connected to: public ones, or any if the host was allowed by name."""
    host = parts.hostname or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, _port(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ToolFailure(f"there is no host named `{host}`") from None
    addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
    if _is_named(host, _port(parts), allow):
        return addresses
    public = [address for address in addresses if is_public(address)]
    if not public:
        raise ToolFailure(
            f"`{host}` is this machine or in a private network; it is fetched from only if allowed by its exact name"
        )
    return public


def is_public(address: str) -> bool:
    """Whether an address is of the public internet, also by way of the IPv4 address inside an IPv6 one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if any(ip in network for network in _LOCAL):
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _RESERVED)
