"""Nonces of accepted requests, so that none is accepted twice."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Callable, Dict, List, Protocol, Tuple

_SHARE = 16


@dataclass(frozen=True)
class UsedNonce:
    """A nonce of a verified request.

    :param keyid: the JWK thumbprint of the key
    :param hash: SHA-256 of key and nonce: base64url, 43 characters
    :param created_at: when the signature was made, in Unix seconds
    :param expires_at: until when the signature could be accepted, in Unix seconds
    """

    keyid: str
    hash: str
    created_at: int
    expires_at: int


class NonceStore(Protocol):
    """Stores nonces. Every process that accepts requests for one audience must share one store."""

    def record(self, nonce: UsedNonce) -> str:
        """Records a nonce atomically: of several requests with one nonce at the same moment, exactly one is told ``fresh``.

        :returns: ``fresh``; ``used``; ``share-exceeded`` if this key has used its share of the store; ``unchecked`` if
            the store cannot tell. A store that raises counts as ``unchecked``.
        """
        ...


class MemoryNonceStore:
    """A nonce store in the memory of this process, for a site that is one process.

    It does not know the nonces of requests that were signed before it was created, nor further ones while it is full. It
    answers ``unchecked`` to these.

    :param max_entries: how many nonces it holds at most; nothing unexpired is evicted
    :param now: the clock, in Unix seconds
    """

    def __init__(self, max_entries: int = 200_000, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._max_entries = max_entries
        self._share = max(1, max_entries // _SHARE)
        self._started_at = now()
        self._purged_to = int(self._started_at)
        self._hashes: "set[str]" = set()
        self._used: Dict[str, int] = {}
        self._by_second: Dict[int, List[Tuple[str, str]]] = {}
        self._lock = threading.Lock()

    def record(self, nonce: UsedNonce) -> str:
        with self._lock:
            self._purge()
            if nonce.hash in self._hashes:
                return "used"
            # The clock went backwards: this nonce may have been recorded and purged.
            if nonce.expires_at < self._purged_to:
                return "unchecked"
            if self._used.get(nonce.keyid, 0) >= self._share:
                return "share-exceeded"
            if len(self._hashes) >= self._max_entries:
                return "unchecked"
            self._hashes.add(nonce.hash)
            self._used[nonce.keyid] = self._used.get(nonce.keyid, 0) + 1
            self._by_second.setdefault(nonce.expires_at, []).append((nonce.hash, nonce.keyid))
            return "unchecked" if nonce.created_at < self._started_at else "fresh"

    def _purge(self) -> None:
        second = int(self._now())
        while self._purged_to < second and self._by_second:
            for each, keyid in self._by_second.pop(self._purged_to, []):
                self._hashes.discard(each)
                self._used[keyid] -= 1
                if self._used[keyid] == 0:
                    del self._used[keyid]
            self._purged_to += 1
        self._purged_to = max(self._purged_to, second)
