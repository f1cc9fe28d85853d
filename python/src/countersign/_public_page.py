"""Fetching a page of the public internet, without reaching what is behind this machine's firewall."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from typing import List

_ACCEPT = "application/http-message-signatures-directory+json, application/json"
# How long to wait for one address before the next one is tried, in seconds.
_ADDRESS_SECONDS = 1.0

# What is not public of IPv4 (IANA's registry of special-purpose addresses), and of 2000::/3, which has all global unicast
# addresses. `is_global` of the standard library says otherwise about some, and changes with the version.
_NOT_PUBLIC_V4 = [
    ipaddress.IPv4Network(each)
    for each in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
]
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = [
    ipaddress.IPv6Network(each)
    for each in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
]


def is_public_address(text: str) -> bool:
    """Whether an address is public: not loopback, private, link-local, multicast, mapped, translated or reserved.

    :param text: as a resolver returns it
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in each for each in _NOT_PUBLIC_V4)
    # An address with a zone, or with an IPv4 address at its end.
    if "%" in text or "." in text or address not in _PUBLIC_V6:
        return False
    return not any(address in each for each in _NOT_PUBLIC_V6)


def fetch_public_page(url: str, seconds: float, max_bytes: int) -> bytes:
    """Fetches a page. The host is resolved once, refused unless every address is public, and one of those addresses is connected to,
    so that no second answer of the DNS is used (DNS rebinding). Follows no redirect.

    :param url: https on port 443 at a host name
    :param seconds: for all of it
    :raises OSError: unless the answer is 200 and has at most ``max_bytes``
    """
    fetching = _Fetching(url, max_bytes, time.monotonic() + seconds)
    # The resolver takes no time limit.
    worker = threading.Thread(target=fetching.run, daemon=True)
    worker.start()
    worker.join(seconds)
    fetching.end()
    if fetching.body is None:
        raise OSError(f"{url} cannot be read: {fetching.fault}")
    return fetching.body


class _Fetching:
    """One request in a thread, which :meth:`end` interrupts."""

    def __init__(self, url: str, max_bytes: int, deadline: float) -> None:
        self.body: "bytes | None" = None
        self.fault: object = "it takes too long"
        self._host, slash, path = url[len("https://") :].partition("/")
        self._path = slash + path
        self._max_bytes = max_bytes
        self._deadline = deadline
        self._lock = threading.Lock()
        self._ended = False
        self._socket: "socket.socket | None" = None

    def run(self) -> None:
        try:
            self.body = self._fetch()
        except Exception as error:  # Reported by the caller.
            self.fault = error

    def end(self) -> None:
        """Ends the connection, whatever it waits for."""
        with self._lock:
            self._ended = True
            if self._socket is not None:
                # Wakes a thread that reads, which closing alone does not.
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
                self._socket.close()

    def _fetch(self) -> bytes:
        found = socket.getaddrinfo(self._host, 443, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if not addresses or not all(map(is_public_address, addresses)):
            raise OSError(f"{self._host} has an address that is not public")
        connection = http.client.HTTPConnection(self._host)
        try:
            connection.sock = self._connect(addresses)
            headers = {"Accept": _ACCEPT, "Accept-Encoding": "identity", "Connection": "close"}
            connection.request("GET", self._path, headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(f"status {response.status}")
            body = response.read(self._max_bytes + 1)
            if len(body) > self._max_bytes:
                raise OSError("it is too large")
            return body
        finally:
            connection.close()

    def _connect(self, addresses: List[str]) -> ssl.SSLSocket:
        """To one address after the other, IPv4 first."""
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        failure: Exception = OSError("no address")
        for address in sorted(addresses, key=lambda each: ":" in each):
            left = self._deadline - time.monotonic()
            if left <= 0:
                break
            try:
                raw = socket.create_connection((address, 443), min(_ADDRESS_SECONDS, left))
                self._keep(raw)
                secure = context.wrap_socket(raw, server_hostname=self._host)
                self._keep(secure)
                secure.settimeout(max(0.001, self._deadline - time.monotonic()))
                return secure
            except OSError as error:
                failure = error
        raise failure

    def _keep(self, connected: socket.socket) -> None:
        with self._lock:
            self._socket = connected
            if self._ended:
                connected.close()
                raise OSError("it takes too long")
