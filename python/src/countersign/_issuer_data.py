"""The keys and the status lists of a service, read when they are needed and kept for some seconds."""

from __future__ import annotations

import math
import threading
import time
from typing import Callable, Dict, Optional, Tuple

from ._bounded_map import BoundedMap
from ._json import parse_json
from ._jws import Keys, parse_jws, read_key_set
from .certificates import _read_status_list, _StatusList
from .errors import CountersignError

# How long keys are used before the service is asked again: a key that it has removed is dropped after this.
_KEYS_SECONDS = 60.0
# How long after asking for a key that the service does not have it is not asked for another one.
_KEYS_PAUSE_SECONDS = 5.0
# How long after a failure the service is not asked, so that those who wait for it do not each wait for their own failure.
_PAUSE_SECONDS = 1.0
_MAX_LISTS = 256


class IssuerData:
    """Reads keys and status lists, one request at a time.

    :param get: reads a path of the service: takes the path and the media type
    :param elapsed: a monotonic clock, in seconds
    """

    def __init__(self, get: Callable[[str, str], bytes], elapsed: Callable[[], float] = time.monotonic) -> None:
        self._get = get
        self._elapsed = elapsed
        self._keys: Keys = {}
        self._keys_at = self._keys_asked_at = -math.inf
        self._lists: "BoundedMap[str, Tuple[_StatusList, float]]" = BoundedMap(_MAX_LISTS)
        self._failed_at: Dict[str, float] = {}
        self._lock = threading.RLock()

    def keys(self, kid: str) -> Keys:
        """The keys, at most a minute old.

        :param kid: if they do not contain it, the service is asked again
        :raises CountersignError: ``ISSUER_UNAVAILABLE``
        """
        with self._lock:
            now = self._elapsed()
            has_key = kid in self._keys or now - self._keys_asked_at < _KEYS_PAUSE_SECONDS
            if now - self._keys_at < _KEYS_SECONDS and has_key:
                return self._keys
            self._keys_asked_at = now
            data = self._read("/.well-known/jwks.json", "application/json")
            try:
                self._keys = read_key_set(parse_json(data))
            except (CountersignError, ValueError) as cause:
                raise _unavailable("The key set of the service cannot be read.") from cause
            self._keys_at = now
            return self._keys

    def status_list(self, issuer: str, uri: str, max_age_seconds: Optional[float], now: float) -> _StatusList:
        """A status list, as old as it says it may be, and no older than ``max_age_seconds``.

        :param uri: its address, which begins with that of the issuer
        :param now: Unix seconds
        :raises CountersignError: ``ISSUER_UNAVAILABLE``, ``INVALID_TOKEN``
        """
        with self._lock:
            asked_at = self._elapsed()
            known = self._lists.get(uri)
            if known is not None:
                most = known[0].ttl if max_age_seconds is None else min(known[0].ttl, max_age_seconds)
                if asked_at - known[1] < most and known[0].expires_at > now:
                    return known[0]
            data = self._read(uri[len(issuer) :], "application/statuslist+jwt")
            token = data.decode("ascii", "replace").strip()
            keys = self.keys(parse_jws(token, "status list").kid)
            listed = _read_status_list(token, issuer, uri, keys, now)
            # An older list is a replay: a restriction is in the newer one.
            if known is not None and known[0].issued_at > listed.issued_at:
                raise _unavailable(f"{uri} is an older list than before.")
            self._lists.set(uri, (listed, asked_at))
            return listed

    def _read(self, path: str, accept: str) -> bytes:
        if self._elapsed() - self._failed_at.get(path, -math.inf) < _PAUSE_SECONDS:
            raise _unavailable("The service did not answer a moment ago.")
        try:
            data = self._get(path, accept)
        except CountersignError as cause:
            # Paths are those of lists that its own certificates name, so there are few.
            self._failed_at[path] = self._elapsed()
            raise _unavailable(f"{path} of the service cannot be read.") from cause
        self._failed_at.pop(path, None)
        return data


def _unavailable(message: str) -> CountersignError:
    return CountersignError("ISSUER_UNAVAILABLE", message)
