"""Nonces of accepted requests, so that none is accepted twice."""

from __future__ import annotations

import math
import os
import secrets
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Protocol, Tuple

_SHARE = 16
#: A request that was accepted before a store began can have a ``created`` up to 30 seconds later, and the clocks of several
#: processes differ by up to 5 seconds.
_BLIND_SECONDS = 35
#: How long a signature may be valid, in seconds.
_MAX_LIFETIME = 300
#: When this process loaded this module: no store of it has accepted anything before.
_LOADED_AT = time.monotonic()


@dataclass(frozen=True)
class UsedNonce:
    """A nonce of a verified request, or an approval that a request uses up.

    :param keyid: what takes the share of the store: the JWK thumbprint of the key, for approvals the agent's DID
    :param nonce: ``None`` for approvals; as it was signed: 22 to 128 characters of base64url; of a key in a directory with the profile ``wba`` any base64, at most 1,026
    :param hash: what may occur once: SHA-256 of key and nonce, or of the approval: base64url, 43 characters
    :param created_at: when the signature was made, by the signer's clock up to 30 seconds ahead, or the approval decided; in Unix seconds
    :param expires_at: until when to remember it, in Unix seconds: while the signature could be accepted, at most 330 seconds after it
        was made, an approval 3,630
    """

    keyid: str
    nonce: Optional[str]
    hash: str
    created_at: int
    expires_at: int


class NonceStore(Protocol):
    """Stores nonces. Every process that accepts requests for one audience must share one store.

    A store that may not know the nonces from before its start can have two more methods, as :class:`MemoryNonceStore` does:
    ``challenge()`` and ``retry_after_seconds(created_at)``.
    """

    def record(self, nonce: UsedNonce) -> str:
        """Records a nonce atomically: of several requests with one nonce at the same moment, exactly one is told ``fresh``.

        :returns: ``fresh``; ``used``; ``share-exceeded`` if this key has used its share of the store; ``unchecked`` if
            the store cannot tell. A store that raises counts as ``unchecked``.
        """
        ...


class MemoryNonceStore:
    """A nonce store in the memory of this process, for a site that is one process.

    The first store of a process knows all that was accepted since this module was loaded, a later one since it was created.
    It answers ``unchecked`` to requests that may have been signed before, and to further ones while it is full. After a fork,
    the store of the child starts anew.

    :param max_entries: how many nonces it holds at most; nothing unexpired is evicted
    :param now: the clock, in Unix seconds. With a clock of your own, the store starts when it is created
    """

    def __init__(self, max_entries: int = 200_000, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._max_entries = max_entries
        self._share = max(1, max_entries // _SHARE)
        self._begin(now is time.time and _first_store(), now())
        _stores.add(self)

    def _begin(self, is_first: bool, started_at: float) -> None:
        # By a clock that nobody sets, so that one that is set forward after the start admits nothing.
        self._began = _LOADED_AT if is_first else time.monotonic()
        self._started_at = None if self._now is time.time else started_at
        self._boot_id = secrets.token_urlsafe(16)
        self._purged_to = int(started_at)
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
            # Nobody could know the boot id before the start, whatever the clocks say.
            is_since = (nonce.nonce or "").startswith(self._boot_id) or nonce.created_at >= self._blind_until()
            return "fresh" if is_since else "unchecked"

    def challenge(self) -> Optional[str]:
        """A nonce for a signer whose request could be older than the memory of the store: who signs with it has signed since
        the store began. ``None`` once no valid signature can be too old."""
        if self._now() >= self._blind_until() + _MAX_LIFETIME:
            return None
        return self._boot_id + secrets.token_urlsafe(16)

    def retry_after_seconds(self, created_at: int) -> int:
        """After ``unchecked``: in how many seconds the store can check a new signature of the same signer."""
        # Clocks may be 30 seconds behind; an older signature is not from now.
        return max(1, math.ceil(self._blind_until() - max(created_at, self._now() - 30)))

    def _blind_until(self) -> float:
        started_at = self._started_at
        if started_at is None:
            started_at = self._now() - (time.monotonic() - self._began)
        return started_at + _BLIND_SECONDS

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


def challenge_of(store: NonceStore) -> Optional[str]:
    """``challenge()`` of a store that has it."""
    challenge = getattr(store, "challenge", None)
    return None if challenge is None else challenge()


_stores: "weakref.WeakSet[MemoryNonceStore]" = weakref.WeakSet()
_has_store = False


def _first_store() -> bool:
    global _has_store
    is_first = not _has_store
    _has_store = True
    return is_first


def _after_fork() -> None:
    """A worker that a server forks has no memory of what an earlier worker has accepted."""
    global _has_store
    _has_store = True
    for store in _stores:
        store._lock = threading.Lock()
        store._begin(False, store._now())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
