"""Network policy of `fetch_url`: the hosts that may be fetched from, and the addresses that may be connected
to.
"""

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
#: Local IPv4 translation, site-local addresses, and deprecated IPv4 forms: none is on the public internet.
_NON_GLOBAL_NETWORKS = tuple(map(ipaddress.ip_network, ("64:ff9b:1::/48", "fec0::/10", "::/96", "::ffff:0:0:0/96")))
#: Reserved blocks that some Python versions consider public; clouds serve metadata at 192.0.0.192.
_RESERVED_NETWORKS = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "5f00::/16")))


def check_url(url: str, allow: Sequence[str]) -> SplitResult:
    """Return the parts of a URL that may be fetched. Raise a ToolFailure for any other."""
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
    ports = (None, _effective_port(parts))
    if not any(only in ports and fnmatchcase(host, name) for name, only in map(_parse_pattern, allow)):
        raise ToolFailure(f"`{host}` is not among the allowed hosts: {', '.join(allow)}")
    return parts


def _effective_port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _parse_pattern(text: str) -> tuple[str, int | None]:
    """Return a pattern's host name and its port, if it has one; an IPv6 address with a port is in brackets."""
    found = _HOST_AND_PORT.fullmatch(text.lower())
    return (found[1].strip("[]"), int(found[2]) if found[2] else None) if found else (text.lower(), None)


async def resolve_allowed_addresses(parts: SplitResult, allow: Sequence[str]) -> list[str]:
    """Return the addresses of a host that may be connected to: public ones, or any if its exact name is
    allowed.
    """
    host = parts.hostname or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, _effective_port(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ToolFailure(f"there is no host named `{host}`") from None
    addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
    ports = (None, _effective_port(parts))
    # Its exact name allows a host, and not only a wildcard pattern.
    if any(name == host and only in ports for name, only in map(_parse_pattern, allow)):
        return addresses
    public = [address for address in addresses if is_public_address(address)]
    if not public:
        raise ToolFailure(
            f"`{host}` is this machine or in a private network; it is fetched from only if allowed by its exact name"
        )
    return public


def is_public_address(address: str) -> bool:
    """Return whether an address is on the public internet, including IPv4 addresses embedded in IPv6 ones."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public_address(str(inner))
        if any(ip in network for network in _NON_GLOBAL_NETWORKS):
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _RESERVED_NETWORKS)
