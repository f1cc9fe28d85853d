"""URLs in the one spelling that clients send (WHATWG URL), so that equal addresses are equal texts."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Optional, Tuple

_URL = re.compile(r"(https?)://([^/?#\\@]*)([^?#]*)(\?[^#]*)?", re.DOTALL)
_HOST = re.compile(r"[a-z0-9._-]+")
_PORT = re.compile(r"0|[1-9][0-9]{0,4}")
# The printable characters that URLs keep as they are (the path and the special-query percent-encode sets).
_PATH = re.compile(r'(?:/[\x21\x24-\x3b\x3d\x40-\x5b\x5d\x5f\x61-\x7a\x7c\x7e\x25\x26\x27]*)+')
_QUERY = re.compile(r"\?[\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]*")
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?=/|$)", re.IGNORECASE)
_LOOPBACK_V4 = re.compile(r"127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}")


@dataclass(frozen=True)
class Url:
    """An http or https URL in its canonical spelling."""

    scheme: str
    #: Host and port, without the default port.
    authority: str
    #: Empty for a bare origin.
    path: str
    #: With its ``?``; ``None`` without one.
    query: Optional[str]

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def hostname(self) -> str:
        host, _, _ = _split_port(self.authority)
        return host


def parse_url(text: str) -> Optional[Url]:
    """Parses a URL without user, password and fragment. ``None`` if it has another spelling than the canonical one."""
    match = _URL.fullmatch(text)
    if match is None:
        return None
    scheme, authority, path, query = match.groups()
    if not _is_authority(authority, scheme):
        return None
    if path and not is_canonical_path(path):
        return None
    if query is not None and _QUERY.fullmatch(query) is None:
        return None
    if query is not None and not path:
        return None
    return Url(scheme, authority, path, query)


def is_origin(text: str) -> bool:
    """Whether a text is an http or https origin (RFC 6454) in its canonical spelling."""
    url = parse_url(text)
    return url is not None and not url.path


def is_canonical_path(path: str) -> bool:
    """Whether a URL parser leaves a path as it is: no dot segments, nothing that it would encode."""
    return _PATH.fullmatch(path) is not None and _DOT_SEGMENT.search(path) is None


def is_loopback(hostname: str) -> bool:
    """Whether a host name can only be reached from this machine."""
    return hostname in ("localhost", "[::1]") or _LOOPBACK_V4.fullmatch(hostname) is not None


def _is_authority(text: str, scheme: str) -> bool:
    host, colon, port = _split_port(text)
    if colon:
        default = "443" if scheme == "https" else "80"
        if colon != ":" or _PORT.fullmatch(port) is None or int(port) > 65535 or port == default:
            return False
    return _is_host(host)


def _split_port(text: str) -> Tuple[str, str, str]:
    if text.startswith("["):
        host, bracket, rest = text.partition("]")
        return host + bracket, rest[:1], rest[1:]
    return text.partition(":")


def _is_host(host: str) -> bool:
    if host.startswith("["):
        try:
            # Python takes zones, such as `%eth0`.
            return "%" not in host and f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]" == host
        except ValueError:
            return False
    if _HOST.fullmatch(host) is None:
        return False
    last = host.rstrip(".").rpartition(".")[2]
    if re.fullmatch("[0-9]+|0x[0-9a-f]*", last) is None:
        return True
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False
