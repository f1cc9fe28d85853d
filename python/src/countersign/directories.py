"""Keys of signers that are no agents of the service: the key directories that a policy lists."""

from __future__ import annotations

import math
import re
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from ._ed25519 import base64url, key_fault, thumbprint
from ._http import SignatureAgent
from ._json import parse_json
from ._jws import base64url_bytes
from ._public_page import fetch_public_page
from ._urls import parse_url
from .verification import MAX_DIRECTORY_LIFETIME, SignatureRules, SigningKey

#: Fetches a key set: returns its bytes, and raises for anything but a response with status 200.
FetchKeySet = Callable[[str], bytes]

_WELL_KNOWN = "/.well-known/http-message-signatures-directory"
# How long keys are used before the directory is asked again, and how long it is left alone after it failed, or did not have a
# key; in seconds.
_FRESH_SECONDS = 60.0
_PAUSE_SECONDS = 30.0
_TIME_LIMIT_SECONDS = 3.0
_MAX_BYTES = 64 * 1024
_MAX_KEYS = 64
# From here on, a time is one in milliseconds: directories in use have both. In seconds, it would be the year 5138.
_MILLISECONDS_FROM = 100_000_000_000
_ADDRESS = re.compile("(https://)([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
# Two labels or more, not ending in a digit: no `localhost`, and no spelling of an address.
_HOST_NAME = re.compile(
    r"(?=.{4,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]"
)
_X = re.compile("[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class Directory:
    """A key directory that a policy trusts.

    :ivar url: an origin, whose keys are at the well-known path, or the address of a key set or of a Client ID Metadata Document;
        canonical
    :ivar profile: ``strict``, or ``wba``: signatures for safe methods may cover the host alone, and have no nonce
    :ivar max_lifetime_seconds: the longest lifetime of a signature
    """

    url: str
    profile: str = "strict"
    max_lifetime_seconds: float = MAX_DIRECTORY_LIFETIME

    @property
    def rules(self) -> SignatureRules:
        return SignatureRules(self.profile, self.max_lifetime_seconds)

    @property
    def key_set_url(self) -> str:
        return self.url + _WELL_KNOWN if self.url.count("/") == 2 else self.url


def directory_url(text: str) -> Optional[str]:
    """The canonical form of a directory's address; ``None`` unless it is https on port 443 at a host name of the public internet."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    host = match.group(2).lower()
    url = parse_url(f"https://{host[:-4] if host.endswith(':443') else host}{match.group(3)}")
    if url is None or _HOST_NAME.fullmatch(url.authority) is None:
        return None
    is_origin = url.path in ("", "/") and url.query is None
    return url.origin if is_origin else f"{url.origin}{url.path}{url.query or ''}"


def read_client_document(value: Any, url: str) -> Any:
    """The keys of a Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document), which has them in ``jwks`` or names
    their address in ``jwks_uri``.

    :param url: at which it was read
    :returns: the key set, or its address, which has not been read; ``None`` if it is no such document of this address
    """
    # Who may publish a file on the host could else name the keys of another client.
    if not isinstance(value, dict) or value.get("client_id") != url or ("jwks" in value) == ("jwks_uri" in value):
        return None
    address = value.get("jwks_uri")
    if isinstance(address, str):
        return address if directory_url(address) == address else None
    return value.get("jwks") if isinstance(value.get("jwks"), dict) else None


@dataclass(frozen=True)
class DirectoryKey:
    """A key, with the time in which it is valid, in Unix seconds."""

    public_key: bytes
    not_before: float
    expires: float


def read_key_set(value: Any) -> Optional[Dict[str, DirectoryKey]]:
    """The keys of a JSON Web Key Set (RFC 7517) by thumbprint. What is no usable Ed25519 key is ignored.

    :returns: ``None`` if it is no key set, or one of more than 64 keys
    """
    keys = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(keys, list) or len(keys) > _MAX_KEYS:
        return None
    found: Dict[str, DirectoryKey] = {}
    for jwk in keys:
        if not isinstance(jwk, dict):
            continue
        x = jwk.get("x")
        named = (jwk.get("kty"), jwk.get("crv"), jwk.get("use", "sig"))
        if named != ("OKP", "Ed25519", "sig") or not isinstance(x, str) or not _X.fullmatch(x):
            continue
        public_key = base64url_bytes(x)
        not_before, expires = _seconds_of(jwk.get("nbf", 0)), _seconds_of(jwk.get("exp", math.inf))
        if base64url(public_key) != x or not_before is None or expires is None:
            continue
        if key_fault(public_key) is None:
            found[thumbprint(public_key)] = DirectoryKey(public_key, not_before, expires)
    return found


class KeyDirectories:
    """The directories of a policy with their cached keys. A directory is fetched when a request names it, one request at a time
    for each, within 3 seconds, at most 64 KiB and 64 keys, without redirects. A failure keeps the keys that are known; an empty
    key set removes them.

    :param fetch: for sites whose requests leave through a proxy; by default only public addresses are connected to
    :param now: a monotonic clock, in seconds
    :param wall_clock: in Unix seconds
    """

    def __init__(
        self,
        directories: Sequence[Directory],
        fetch: Optional[FetchKeySet] = None,
        now: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._directories: List[Directory] = list(directories)
        self._key_sets = {
            (each.key_set_url, is_document): _CachedKeySet(
                each.key_set_url, is_document, fetch or _fetch, now, wall_clock
            )
            for each in self._directories
            for is_document in (False, True)
        }

    def find(self, agent: SignatureAgent) -> Optional[Directory]:
        """The directory that a signature names, in whichever dialect; ``None`` if it is not listed."""
        url = agent.url
        if agent.dialect in ("legacy", "origin"):
            url = (url[:-1] if url.endswith("/") else url) + _WELL_KNOWN
        return next((each for each in self._directories if each.key_set_url == url), None)

    def find_key(self, agent: SignatureAgent, keyid: str) -> Union[SigningKey, str]:
        """Finds a key, or says why not: ``untrusted-agent``, ``unknown-key`` or ``directory-unavailable``."""
        directory = self.find(agent)
        if directory is None:
            return "untrusted-agent"
        key = self._key_sets[directory.key_set_url, agent.dialect == "cimd"].key(keyid)
        return key if isinstance(key, str) else SigningKey(key)


class _CachedKeySet:
    """The keys of one directory."""

    def __init__(
        self,
        url: str,
        is_document: bool,
        fetch: FetchKeySet,
        now: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self._url = url
        self._is_document = is_document
        self._fetch = fetch
        self._now = now
        self._wall_clock = wall_clock
        self._keys: Dict[str, DirectoryKey] = {}
        self._read_at = -math.inf
        self._asked_at = -math.inf
        self._has_failed = False
        self._lock = threading.Lock()

    def key(self, keyid: str) -> Union[bytes, str]:
        is_fresh = self._now() - self._read_at < _FRESH_SECONDS
        if not is_fresh or keyid not in self._keys:
            self._refresh()
        key = self._keys.get(keyid)
        if key is not None and key.not_before <= self._wall_clock() < key.expires:
            return key.public_key
        return "directory-unavailable" if self._has_failed else "unknown-key"

    def _refresh(self) -> None:
        # Those who wait find that it was asked meanwhile.
        with self._lock:
            if self._now() - self._asked_at < _PAUSE_SECONDS:
                return
            self._asked_at = self._now()
            try:
                keys = read_key_set(self._key_set_there())
            except Exception:  # Of whatever kind: the keys that are known stay.
                keys = None
            self._has_failed = keys is None
            if keys is not None:
                self._keys, self._read_at = keys, self._now()


    def _key_set_there(self) -> Any:
        value = parse_json(self._fetch(self._url))
        if not self._is_document:
            return value
        found = read_client_document(value, self._url)
        return parse_json(self._fetch(found)) if isinstance(found, str) else found


def _fetch(url: str) -> bytes:
    return fetch_public_page(url, _TIME_LIMIT_SECONDS, _MAX_BYTES)


def _seconds_of(time_value: Any) -> Optional[float]:
    """``nbf`` or ``exp`` of a key, in seconds or milliseconds; ``None`` if it is no time."""
    if isinstance(time_value, bool) or not isinstance(time_value, (int, float)):
        return None
    if math.isnan(time_value):
        return None
    return time_value if time_value < _MILLISECONDS_FROM else time_value / 1000


__all__ = ["Directory", "FetchKeySet", "KeyDirectories", "directory_url"]
