"""What an issuer signs about its status lists, and the requests for it. No request names an agent or a site."""

from __future__ import annotations

import hashlib
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NoReturn, Tuple

from ._ed25519 import base64url
from ._jws import Jws, Keys, assert_signed, base64url_bytes, is_32_bytes, parse_jws, refuse
from .certificates import _inflated, _is_integer
from .feed_chain import FeedPosition
from .registry import _opener

_TIME_LIMIT_SECONDS = 10.0
_HEAD, _MANIFEST = "svc-feed+jwt", "svc-snapshot+jwt"


@dataclass(frozen=True)
class FeedHead:
    """A verified head of the feed."""

    position: FeedPosition
    #: The token itself, the cursor from which the feed continues.
    token: str
    #: The ``kid`` of the key that signed it.
    kid: str


@dataclass(frozen=True)
class Context:
    """What tokens of the feed are verified against. ``now``: Unix seconds."""

    issuer: str
    keys_for: Callable[[str], Keys]
    now: float


class Refused(Exception):
    """The issuer answers with another status than 200."""


def request(
    address: str, accept: str, most: int, elapsed: Callable[[], float], is_stopped: Callable[[], bool]
) -> bytes:
    """The body of a response with status 200, of at most ``most`` bytes.

    :raises Refused: and other exceptions if the issuer does not answer, or answers too much or too slowly
    """
    headers = {"Accept": accept, "User-Agent": "countersign-python"}
    ends_at = elapsed() + _TIME_LIMIT_SECONDS
    try:
        asked = urllib.request.Request(address, None, headers)
        with _opener.open(asked, timeout=_TIME_LIMIT_SECONDS) as response:
            if response.status != 200:
                raise Refused(response.status)
            chunks: List[bytes] = []
            size = 0
            while True:
                # In pieces: a body that comes byte by byte must not hold the thread.
                chunk = response.read1(65_536)
                if not chunk:
                    return b"".join(chunks)
                chunks.append(chunk)
                size += len(chunk)
                if size > most or elapsed() > ends_at or is_stopped():
                    raise ValueError("a response that is too long")
    except urllib.error.HTTPError as answer:
        with answer:
            raise Refused(answer.code) from None


def read_json(data: bytes) -> Any:
    """:raises ValueError:"""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("no JSON of an issuer") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def read_feed(body: bytes, context: Context) -> Tuple[List[Any], FeedHead]:
    """The lines of a response of the feed, which are not verified, and the verified head at its end.

    :raises CountersignError: ``INVALID_TOKEN``
    :raises ValueError: for what is no feed
    """
    values = [read_json(each) for each in body.split(b"\n") if each.strip()]
    last = values.pop() if values else None
    token = last.get("head") if isinstance(last, dict) else None
    if not isinstance(token, str):
        raise ValueError("a feed that does not end with a head")
    return values, read_head(token, context)


def read_head(token: Any, context: Context) -> FeedHead:
    """Verifies a head of the feed.

    :raises CountersignError: ``INVALID_TOKEN``
    """
    what = "head of the feed"
    jws = _verified(token, _HEAD, what, context)
    return FeedHead(_position_in(jws, what), token, jws.kid)


@dataclass(frozen=True)
class Snapshot:
    """All status lists in one state, verified."""

    #: The head of that state.
    head: FeedHead
    #: The entries by the number of the list.
    lists: Dict[int, bytearray]
    #: The ``kid`` of the key that signed the hashes of the lists.
    kid: str


def read_snapshot(body: Any, context: Context) -> Snapshot:
    """Verifies a snapshot: signature, times, and that exactly the lists of its manifest are in it.

    :param body: the parsed JSON
    :raises CountersignError: ``INVALID_TOKEN``
    """
    what = "snapshot"
    snapshot = body if isinstance(body, dict) else {}
    manifest = _verified(snapshot.get("manifest"), _MANIFEST, what, context)
    position = _position_in(manifest, what)
    head = read_head(snapshot.get("head"), context)
    own = head.position
    if (own.epoch, own.n, own.chain) != (position.epoch, position.n, position.chain):
        refuse(what, "has the head of another state.")
    hashes = _by_number(manifest.payload.get("lists"), "hash", what)
    lists: Dict[int, bytearray] = {}
    for number, lst in _by_number(snapshot.get("lists"), "lst", what).items():
        entries = _inflated(lst)
        if entries is None or base64url(hashlib.sha256(entries).digest()) != hashes.get(number):
            refuse(what, "has another list than its manifest.")
        lists[number] = bytearray(entries)
    if len(lists) != len(hashes):
        refuse(what, "lacks lists of its manifest.")
    return Snapshot(head, lists, manifest.kid)


def _verified(token: Any, typ: str, what: str, context: Context) -> Jws:
    jws = parse_jws(token, what)
    assert_signed(jws, typ, what, context.keys_for(jws.kid), context.now)
    if jws.payload.get("iss") != context.issuer:
        refuse(what, f"was not issued by {context.issuer}.")
    return jws


def _position_in(jws: Jws, what: str) -> FeedPosition:
    claims = jws.payload
    epoch, n, chain, as_of = (claims.get(name) for name in ("epoch", "n", "chain", "asOf"))
    if not (isinstance(epoch, str) and _is_integer(n, 0) and is_32_bytes(chain) and _is_integer(as_of, 0)):
        refuse(what, "has other claims than it should have.")
    return FeedPosition(epoch, int(n or 0), base64url_bytes(str(chain)), int(as_of or 0))


def _by_number(value: Any, name: str, what: str) -> Dict[int, str]:
    found: Dict[int, str] = {}
    for each in value if isinstance(value, list) else [None]:
        number = each.get("list") if isinstance(each, dict) else None
        text = each.get(name) if isinstance(each, dict) else None
        if not _is_integer(number, 0) or not isinstance(text, str) or number in found:
            refuse(what, "has another shape than it should have.")
        found[int(number or 0)] = text
    return found
