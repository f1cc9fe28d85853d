"""Rate limits."""

from __future__ import annotations

import ipaddress
import math
import threading
from typing import Tuple

from ._bounded_map import BoundedMap

_MAX_BUCKETS = 10_000


class TokenBuckets:
    """A token bucket for each key: ``requests`` at once, refilled evenly over ``seconds``."""

    def __init__(self, requests: float, seconds: float) -> None:
        self._requests = requests
        self._rate = requests / seconds
        self._buckets: "BoundedMap[str, Tuple[float, float]]" = BoundedMap(_MAX_BUCKETS)
        self._lock = threading.Lock()

    def take(self, key: str, now: float) -> int:
        """Takes a token. 0 if there was one, else the number of seconds until the next one."""
        with self._lock:
            tokens, filled_at = self._buckets.get(key) or (self._requests, now)
            tokens = min(self._requests, tokens + max(0.0, now - filled_at) * self._rate)
            taken = tokens >= 1
            self._buckets.set(key, (tokens - 1 if taken else tokens, now))
        return 0 if taken else max(1, math.ceil((1 - tokens) / self._rate))


def address_key(address: str) -> str:
    """The key under which requests of an address are counted: an IPv4 address, or the /64 of an IPv6 address."""
    bare = address.partition("%")[0].lower()
    try:
        parsed = ipaddress.ip_address(bare)
    except ValueError:
        return bare[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((parsed, 64), strict=False))
    return str(parsed)
