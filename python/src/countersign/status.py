"""Follows the status lists of an issuer, so that certificates are verified without a question to it for each request."""

from __future__ import annotations

import math
import os
import random
import threading
import time
import weakref
from typing import Any, Callable, Mapping, Optional, Set, Tuple
from urllib.parse import quote

from ._bounded_map import BoundedMap
from ._evidence import LookedUpStatus, StapledStatus, Verdict, weigh
from ._feed_tokens import Context, FeedHead, Refused, read_feed, read_json, read_snapshot, request
from ._jws import Keys, parse_jws, read_key_set
from ._status_lists import StatusLists
from .certificates import (
    VerifiedCertificate,
    VerifiedStaple,
    issuer_origin,
    _read_status_list,
    verify_certificate,
    verify_staple,
)
from .errors import CountersignError
from .feed_chain import FeedFault, read_feed_line

# Between two questions for the newest changes: 5 seconds, drawn at random so that not all followers ask at the same moment.
_POLL_SECONDS = (4.5, 5.5)
# The first wait after a failure, which doubles.
_RETRY_SECONDS = 1.0
_MAX_RETRY_SECONDS = 10.0
# Between two snapshots because of faults.
_SNAPSHOT_PAUSE_SECONDS = 10.0
_KEYS_SECONDS = 60.0
# How long a key set or a list is left alone after it was asked for because of a token.
_PAUSE_SECONDS = 5.0
# A key that the issuer no longer lists is not trusted for longer than this.
_KEYS_MAX_AGE_SECONDS = 300.0
_MAX_KEY_SET_BYTES = 64 * 1024
_MAX_LIST_BYTES = 128 * 1024
_MAX_LATEST_BYTES = 64 * 1024
_MAX_FEED_BYTES = 4 * 1024 * 1024
_MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024
# Agents whose newest restricting staple is remembered.
_MAX_STAPLES = 10_000
_NDJSON = "application/x-ndjson"


class StatusFollower:
    """The status lists of one issuer in memory, followed by one daemon thread that asks it every 5 seconds.

    The thread starts with the first use, also in a process that was forked from this one. Pass the follower to
    :func:`countersign.verify_certificate`.

    :param issuer: an issuer that you trust, by its origin, such as ``https://id.example``
    :param key_set: keys of the issuer that you pin, as its ``/.well-known/jwks.json`` has them; those count that it still lists
    :param max_stale_seconds: how old the newest status may be. Older: ``ISSUER_UNAVAILABLE``. A restriction counts at any age
    :param timeout: how long a call waits for lists or keys that are being read, in seconds
    :param on_fault: called with the reason when the feed shows what the issuer would not send: ``form``, ``number``, ``position``,
        ``epoch``, ``token`` or ``snapshot``. It runs in the thread of the follower
    :param clock: Unix seconds
    :param elapsed: a monotonic clock, in seconds
    :raises CountersignError: ``INVALID_ARGUMENT``
    """

    def __init__(
        self,
        issuer: str,
        *,
        key_set: Optional[Mapping[str, Any]] = None,
        max_stale_seconds: float = 300.0,
        timeout: float = 5.0,
        on_fault: Optional[Callable[[str], None]] = None,
        clock: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer_origin(issuer)
        self.max_stale_seconds = max_stale_seconds
        self.timeout = timeout
        self._pinned: Optional[Keys] = None if key_set is None else read_key_set(key_set)
        self._on_fault = on_fault
        self._clock = clock
        self._elapsed = elapsed
        self._closed = False
        self._reset()
        _followers.add(self)

    def _reset(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._wake = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._published: Optional[Keys] = None
        self._keys_asked_at = -math.inf
        self._keys_confirmed_at = self._elapsed()
        self._lists = StatusLists()
        # The token of the newest verified head, and the kid that signed it.
        self._cursor: Optional[str] = None
        self._kid: Optional[str] = None
        # The kids that signed the lists. Heads do not commit to what is in a list, only to changes.
        self._list_kids: Set[str] = set()
        # When the newest head was signed, by the monotonic clock.
        self._signed_at: Optional[float] = None
        # When a snapshot was last read because of a fault.
        self._snapshot_at = -math.inf
        self._needs_snapshot = True
        self._wants_keys = False
        self._wanted_lists: Set[int] = set()
        self._lists_asked_at: "BoundedMap[int, float]" = BoundedMap(10_000)
        # Those that restrict, by agent and key, with their ends.
        self._staples: "BoundedMap[Tuple[str, str], Tuple[StapledStatus, int]]" = BoundedMap(_MAX_STAPLES)

    def __enter__(self) -> "StatusFollower":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the thread. A request that it waits for may take some seconds longer."""
        with self._changed:
            self._closed = True
            self._wake.set()
            self._changed.notify_all()

    def wait(self, timeout: float = 10.0) -> bool:
        """Waits until the lists were read.

        :returns: whether they are there
        """
        self._start()
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._lists.verified is not None, timeout)
            return self._lists.verified is not None

    @property
    def status_age_seconds(self) -> float:
        """The age of the newest signed head, by the monotonic clock; infinite without one. Keys that were not confirmed for long
        count against it, because somebody who has stolen one can sign heads."""
        with self._changed:
            if self._signed_at is None:
                return math.inf
            return max(0.0, self._elapsed() - self._signed_at, self._keys_overdue)

    def now(self) -> float:
        """Unix seconds, at least the time of the newest head: setting the clock back revives no token."""
        with self._changed:
            position = self._lists.verified
            if position is None or self._signed_at is None:
                return self._clock()
            return max(self._clock(), position.as_of / 1000 + self._elapsed() - self._signed_at)

    # For verify_certificate.

    def _verify(
        self, token: str, staple: Optional[str], lookup: Optional[Tuple[str, float]]
    ) -> Tuple[VerifiedCertificate, Verdict]:
        self._start()
        keys = self._keys_including(parse_jws(token, "certificate").kid)
        if not keys:
            raise CountersignError("ISSUER_UNAVAILABLE", f"The keys of {self.issuer} are not known.")
        issuers = {self.issuer: {"keys": list(keys.values())}}
        certificate = verify_certificate(token, issuers, None, self.now())
        agent = (certificate.did, certificate.key_thumbprint)
        stapled = None if staple is None else self._stapled(staple, issuers, agent)
        known = self._remembered(agent)
        staples = [each for each in (stapled, known) if each is not None]
        uri, idx = certificate.status_list
        number = int(uri.rpartition("/")[2])
        if stapled is None:
            self._await_list(number)
        else:
            self._want_list(number)
        looked_up = None if lookup is None else LookedUpStatus(lookup[0], lookup[1] * 1000)
        with self._changed:
            verdict = weigh(
                self._lists.listed(number, idx),
                self._lists.held(number, idx),
                staples,
                looked_up,
                self.now() * 1000,
                self.max_stale_seconds * 1000,
                self._keys_overdue * 1000,
            )
        return certificate, verdict

    def _stapled(
        self, token: str, issuers: Mapping[str, Mapping[str, Any]], agent: Tuple[str, str]
    ) -> Optional[StapledStatus]:
        """``None`` for a staple that does not verify, or is for another agent or key: as if it had been left out."""
        now = self.now()
        try:
            staple: VerifiedStaple = verify_staple(token, issuers, now)
        except CountersignError:
            return None
        if (staple.did, staple.key_thumbprint) != agent or staple.expires_at <= now:
            return None
        found = StapledStatus(staple.status, staple.feed, staple.issued_at * 1000)
        known = self._remembered(agent)
        if staple.status != "active" and (known is None or _is_stronger(found, known)):
            self._staples.set(agent, (found, staple.expires_at))
        return found

    def _remembered(self, agent: Tuple[str, str]) -> Optional[StapledStatus]:
        """A restriction that the agent no longer sends along. By the end of a staple, the lists are beyond its position."""
        found, expires_at = self._staples.get(agent) or (None, 0)
        is_current = found is not None and (found.status == "revoked" or expires_at > self.now())
        return found if is_current else None

    def _await_list(self, number: int) -> None:
        self.wait(self.timeout)
        self._want_list(number)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or number not in self._wanted_lists, self.timeout)

    def _want_list(self, number: int) -> None:
        """Has a list read that is not known, as new ones are not."""
        with self._changed:
            asked_at = self._lists_asked_at.get(number)
            is_paused = asked_at is not None and self._elapsed() - asked_at < _PAUSE_SECONDS
            if self._lists.verified is not None and not self._lists.has(number) and not is_paused:
                self._wanted_lists.add(number)
                self._wake.set()

    def _keys_including(self, kid: str) -> Keys:
        with self._changed:
            is_due = self._elapsed() - self._keys_asked_at >= _PAUSE_SECONDS
            if kid not in self._keys and (is_due or self._wants_keys):
                self._wants_keys = True
                self._wake.set()
                self._changed.wait_for(lambda: self._closed or not self._wants_keys, self.timeout)
            return self._keys

    @property
    def _keys(self) -> Keys:
        if self._pinned is None:
            return self._published or {}
        if self._published is None:
            return self._pinned
        return {kid: jwk for kid, jwk in self._pinned.items() if kid in self._published}

    @property
    def _keys_overdue(self) -> float:
        return max(0.0, self._elapsed() - self._keys_confirmed_at - _KEYS_MAX_AGE_SECONDS)

    # The thread.

    def _start(self) -> None:
        with self._changed:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name=f"status of {self.issuer}", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        failures = 0
        next_poll = -math.inf
        while not self._closed:
            self._wake.clear()
            self._serve_wants()
            if self._elapsed() >= next_poll:
                is_done = self._attempt(self._advance)
                failures = 0 if is_done else failures + 1
                retry = min(_RETRY_SECONDS * 2 ** min(failures - 1, 4), _MAX_RETRY_SECONDS)
                wait = random.uniform(*_POLL_SECONDS) if is_done else retry * random.uniform(0.5, 1)
                next_poll = self._elapsed() + wait
            self._wake.wait(max(0.0, next_poll - self._elapsed()))

    def _attempt(self, work: Callable[[], None]) -> bool:
        """Nothing that an issuer, or somebody in its place, sends may end the thread."""
        try:
            work()
            return True
        except Exception:  # noqa: BLE001
            return False
        finally:
            with self._changed:
                self._changed.notify_all()

    def _serve_wants(self) -> None:
        if self._wants_keys or self._elapsed() - self._keys_asked_at >= _KEYS_SECONDS:
            # Who needs a new key meanwhile waits for it.
            self._wants_keys = True
            self._attempt(self._read_keys)
            with self._changed:
                self._wants_keys = False
                self._changed.notify_all()
        while self._wanted_lists:
            number = next(iter(self._wanted_lists))
            self._attempt(lambda: self._read_list(number))
            with self._changed:
                self._lists_asked_at.set(number, self._elapsed())
                self._wanted_lists.discard(number)
                self._changed.notify_all()

    def _advance(self) -> None:
        """One step: the newest changes, or the lists if they have to be read (again)."""
        if not self._keys:
            self._read_keys()
        if self._lists.verified is not None:
            try:
                self._poll()
            except FeedFault as fault:
                self._report(fault.reason)
            except CountersignError as error:
                if error.code != "INVALID_TOKEN":
                    raise
                self._report("token")
        is_paused = self._elapsed() - self._snapshot_at < _SNAPSHOT_PAUSE_SECONDS
        if self._lists.verified is None or (self._needs_snapshot and not is_paused):
            self._read_snapshot()

    def _report(self, reason: str) -> None:
        self._needs_snapshot = True
        if self._on_fault is not None:
            try:
                self._on_fault(reason)
            except Exception:  # noqa: BLE001
                pass  # It must not keep the lists from being read.

    def _poll(self) -> None:
        position, cursor = self._lists.verified, self._cursor
        if position is None or cursor is None:
            return
        lines, head = read_feed(self._get("/api/v1/feed/latest", _NDJSON, _MAX_LATEST_BYTES), self._context)
        if head.position.epoch != position.epoch:
            self._lists.accept(head.position)
            return
        first = read_feed_line(lines[0]).n if lines else head.position.n + 1
        if first > position.n + 1:
            try:
                path = f"/api/v1/feed?after={quote(cursor, safe='')}"
                lines, head = read_feed(self._get(path, _NDJSON, _MAX_FEED_BYTES), self._context)
            except (Refused, ValueError):
                self._needs_snapshot = True
                return
        changes = [read_feed_line(each) for each in lines]
        with self._changed:
            self._lists.reconnect()
            for line in changes:
                if line.n > position.n:
                    self._lists.apply(line, self.now() * 1000)
            if self._lists.accept(head.position):
                self._needs_snapshot = False
                self._verified_by(head)

    def _verified_by(self, head: FeedHead) -> None:
        age = max(0.0, self._clock() - head.position.as_of / 1000)
        self._signed_at = self._elapsed() - age
        self._cursor, self._kid = head.token, head.kid

    def _read_snapshot(self) -> None:
        if self._lists.verified is not None:
            self._snapshot_at = self._elapsed()
        body = self._get("/api/v1/snapshot", "application/json", _MAX_SNAPSHOT_BYTES)
        try:
            snapshot = read_snapshot(read_json(body), self._context)
        except CountersignError:
            self._report("snapshot")
            raise
        with self._changed:
            if self._lists.load(snapshot.head.position, snapshot.lists):
                self._needs_snapshot = False
                self._list_kids.add(snapshot.kid)
                self._verified_by(snapshot.head)
                return
        self._report("snapshot")
        # If the service has lost changes, it learns that from the cursor alone, and begins another epoch.
        self._get(f"/api/v1/feed?after={quote(self._cursor or '0', safe='')}", _NDJSON, _MAX_FEED_BYTES)
        raise ValueError("the snapshot is older than what is known")

    def _read_list(self, number: int) -> None:
        body = self._get(f"/status/{number}", "application/statuslist+jwt", _MAX_LIST_BYTES)
        uri = f"{self.issuer}/status/{number}"
        token = body.decode("ascii")
        kid = parse_jws(token, "status list").kid
        keys = self._keys_for(kid)
        listed = _read_status_list(token, self.issuer, uri, keys, self.now())
        if listed.feed is None:
            raise ValueError("a list without a position")
        with self._changed:
            if self._lists.replace(number, bytearray(listed.entries), listed.feed):
                self._list_kids.add(kid)

    def _read_keys(self) -> None:
        self._keys_asked_at = asked_at = self._elapsed()
        body = self._get("/.well-known/jwks.json", "application/json", _MAX_KEY_SET_BYTES)
        published = read_key_set(read_json(body))
        with self._changed:
            self._published = published
            self._keys_confirmed_at = asked_at
            kids = self._list_kids if self._kid is None else {self._kid, *self._list_kids}
            if any(kid not in self._keys for kid in kids):
                # What the removed key has signed no longer counts.
                self._lists.distrust()
                self._list_kids = set()
                self._cursor = self._kid = self._signed_at = None
                self._staples = BoundedMap(_MAX_STAPLES)

    @property
    def _context(self) -> Context:
        return Context(self.issuer, self._keys_for, self.now())

    def _keys_for(self, kid: str) -> Keys:
        """The keys, read again if none of them is this one. Only in the thread."""
        if kid not in self._keys and self._elapsed() - self._keys_asked_at >= _PAUSE_SECONDS:
            self._read_keys()
        return self._keys

    def _get(self, path: str, accept: str, most: int) -> bytes:
        return request(self.issuer + path, accept, most, self._elapsed, lambda: self._closed)


def _is_stronger(found: StapledStatus, known: StapledStatus) -> bool:
    """Of two restrictions, the one that more recent statements have to beat."""
    if "revoked" in (found.status, known.status):
        return known.status != "revoked"
    if found.feed is not None and known.feed is not None and found.feed[0] == known.feed[0]:
        return found.feed[1] >= known.feed[1]
    return found.issued_at >= known.issued_at


_followers: "weakref.WeakSet[StatusFollower]" = weakref.WeakSet()


def _forked() -> None:
    """A forked process has no thread, and may have copied a lock that is held or lists that were half written."""
    for each in _followers:
        each._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

__all__ = ["StatusFollower"]
