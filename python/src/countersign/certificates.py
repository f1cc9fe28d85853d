"""Verifies certificates and staples without a question to the service, with the keys and status lists that are passed in."""

from __future__ import annotations

import re
import time
import zlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence, Tuple, overload

from ._ed25519 import base64url, encoding_fault, thumbprint
from ._jws import (
    Jws,
    Keys,
    assert_signed,
    base64url_bytes,
    is_32_bytes,
    is_base64url,
    is_number,
    parse_jws,
    read_key_set,
    refuse,
)
from ._urls import is_loopback, is_origin, parse_url
from .delegation import MAX_HOPS
from .errors import CountersignError

if TYPE_CHECKING:
    from ._evidence import Verdict
    from .status import StatusFollower

_LIST_BYTES = 32_768
_CERTIFICATE, _STAPLE, _STATUS_LIST = "dc+sd-jwt", "svc-status+jwt", "statuslist+jwt"
_DID = re.compile("[a-z][a-z0-9]{0,15}:agent:[1-9A-HJ-NP-Za-km-z]{24}")
_TIMESTAMP = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?Z")
_GRADES = ("A", "B", "C", "D", "E")

_SUSPENDED = "The agent of this certificate is suspended."
_REVOKED = "The certificate was replaced or revoked."

#: A key set, as ``/.well-known/jwks.json`` of an issuer has it.
KeySet = Mapping[str, Any]


@dataclass(frozen=True)
class VerifiedCertificate:
    """A verified certificate. It proves nothing about who sent it: verify a signature with ``public_key``."""

    issuer: str
    did: str
    #: The agent's key: 32 bytes.
    public_key: bytes
    #: Its JWK thumbprint (RFC 7638), the ``keyid`` of signed requests.
    key_thumbprint: str
    #: The number of the key among the keys of the agent, from 1.
    key_sequence: int
    #: ISO 8601, UTC.
    key_changed_at: str
    #: When the agent came to its owner, ISO 8601, UTC; ``None`` if it was never transferred.
    owner_changed_at: Optional[str]
    #: The identity provider that verified the owner; ``None`` if the owner is not verified.
    identity_method: Optional[str]
    #: ``verified`` or ``unverified``.
    identity_level: str
    #: ``low``, ``substantial``, ``high`` or ``None``.
    assurance: Optional[str]
    #: ``A`` to ``E``.
    grade: str
    #: Of the rules for the grade.
    policy_version: int
    did_web: str
    #: The entry of the key in the service's transparency log, by the name of the log and the index; ``None`` if none is named.
    #: Only a proof shows that it is there.
    log: Optional[Tuple[str, int]]
    #: How many hops a chain of delegations of the agent may have; 0: it may not delegate.
    max_delegation_depth: int
    #: Unix seconds: what the service knew until then is in the certificate.
    issued_at: int
    #: Unix seconds.
    expires_at: int
    #: The address of the status list, and the entry in it.
    status_list: Tuple[str, int]
    #: Unix seconds: the time of the list or staple that says that the certificate is valid. ``None`` if you check it yourself.
    status_as_of: Optional[float]
    #: The ``kid`` of the issuer's key.
    kid: str


@dataclass(frozen=True)
class VerifiedStaple:
    """A verified staple: an agent's status at a time."""

    issuer: str
    did: str
    #: JWK thumbprint (RFC 7638) of the key that the agent had.
    key_thumbprint: str
    #: ``active``, ``suspended`` or ``revoked``.
    status: str
    grade: str
    #: Unix seconds.
    issued_at: int
    expires_at: int
    #: The position in the status feed that its status is from, or newer: the epoch and the number of a change. ``None`` if it
    #: names none.
    feed: Optional[Tuple[str, int]]
    #: The ``kid`` of the issuer's key.
    kid: str


@overload
def verify_certificate(
    token: str,
    issuers: Mapping[str, KeySet],
    status_lists: Optional[Sequence[str]],
    now: Optional[float] = None,
) -> VerifiedCertificate: ...


@overload
def verify_certificate(
    token: str,
    *,
    status: "StatusFollower",
    staple: Optional[str] = None,
    lookup: Optional[Tuple[str, float]] = None,
) -> VerifiedCertificate: ...


def verify_certificate(
    token: str,
    issuers: Optional[Mapping[str, KeySet]] = None,
    status_lists: Optional[Sequence[str]] = (),
    now: Optional[float] = None,
    *,
    status: "Optional[StatusFollower]" = None,
    staple: Optional[str] = None,
    lookup: Optional[Tuple[str, float]] = None,
) -> VerifiedCertificate:
    """Verifies the certificate of an agent: type, issuer, algorithm, signature, ``vct``, times, and that it was neither
    replaced nor revoked nor suspended. Certificates are public: one proves nothing about who sends it.

    :param token: in compact form, also with a ``~`` at its end (SD-JWT without disclosures)
    :param issuers: the issuers that you trust: the key set of each, by its origin, such as ``https://id.example``
    :param status_lists: status list tokens that you have; ``None``: you check the status yourself
    :param now: Unix seconds; by default the system's clock
    :param status: instead of ``issuers`` and ``status_lists``: a follower of the issuer, which has its keys and lists
    :param staple: that the agent sent along, with ``status``. One that does not verify is as if it had been left out
    :param lookup: the last response of the service if it restricted the agent, with ``status``: ``suspended`` or ``revoked``, and
        when you received it by ``status.now()``
    :raises CountersignError: ``INVALID_TOKEN``, ``CERTIFICATE_REVOKED``, ``CERTIFICATE_SUSPENDED``; ``ISSUER_UNAVAILABLE``
        if the status list is not among ``status_lists``, or what the follower knows is too old; ``INVALID_ARGUMENT``
    """
    if status is not None:
        if issuers is not None or (lookup is not None and lookup[0] not in ("suspended", "revoked")):
            message = "Pass status without issuers, and a lookup that restricts the agent."
            raise CountersignError("INVALID_ARGUMENT", message)
        return _followed(*status._verify(token, staple, lookup))
    if issuers is None:
        raise CountersignError("INVALID_ARGUMENT", "Pass issuers and status_lists, or status.")
    time_now = time.time() if now is None else now
    issuer, keys, jws = _verified(token, _CERTIFICATE, "certificate", issuers, time_now)
    certificate = _certificate_of(issuer, jws)
    if status_lists is None:
        return certificate
    uri, idx = certificate.status_list
    found = next((each for each in status_lists if _subject_of(each) == uri), None)
    if found is None:
        message = f"The status list {uri} is not among status_lists."
        raise CountersignError("ISSUER_UNAVAILABLE", message)
    return _with_status(certificate, _read_status_list(found, issuer, uri, keys, time_now))


def verify_with_keys(token: str, issuer: str, keys: Keys, now: float) -> VerifiedCertificate:
    """As :func:`verify_certificate` with the keys of its issuer, without the status."""
    jws = parse_jws(token, "certificate")
    if jws.payload.get("iss") != issuer:
        refuse("certificate", "is not of an issuer that you trust.")
    assert_signed(jws, _CERTIFICATE, "certificate", keys, now)
    return _certificate_of(issuer, jws)


def _with_status(certificate: VerifiedCertificate, listed: "_StatusList") -> VerifiedCertificate:
    """:raises CountersignError: ``CERTIFICATE_REVOKED``, ``CERTIFICATE_SUSPENDED``"""
    idx = certificate.status_list[1]
    # What the draft does not assign, or the list does not have, is invalid.
    value = listed.entries[idx >> 2] >> (idx & 3) * 2 & 3 if idx >> 2 < len(listed.entries) else 1
    if value == 2:
        raise CountersignError("CERTIFICATE_SUSPENDED", _SUSPENDED)
    if value != 0:
        raise CountersignError("CERTIFICATE_REVOKED", _REVOKED)
    return replace(certificate, status_as_of=listed.issued_at)


def _followed(certificate: VerifiedCertificate, verdict: "Verdict") -> VerifiedCertificate:
    if verdict.verdict == "suspended":
        raise CountersignError("CERTIFICATE_SUSPENDED", _SUSPENDED)
    if verdict.verdict in ("revoked", "replaced"):
        raise CountersignError("CERTIFICATE_REVOKED", _REVOKED)
    if verdict.as_of is None or verdict.verdict != "active":
        message = f"What is known of the status lists of {certificate.issuer} is too old."
        raise CountersignError("ISSUER_UNAVAILABLE", message)
    return replace(certificate, status_as_of=verdict.as_of / 1000)


def verify_staple(
    token: str, issuers: Mapping[str, KeySet], now: Optional[float] = None
) -> VerifiedStaple:
    """Verifies a staple: the status of an agent, signed by its service, valid for 15 minutes. Decide by ``status``.

    :param issuers: as for :func:`verify_certificate`
    :param now: Unix seconds; by default the system's clock
    :raises CountersignError: ``INVALID_TOKEN``, ``INVALID_ARGUMENT``
    """
    time_now = time.time() if now is None else now
    issuer, _, jws = _verified(token, _STAPLE, "staple", issuers, time_now)
    claims = jws.payload
    key = _object(claims.get("cnf")).get("jkt")
    if not (
        _is_did(claims.get("sub"))
        and is_32_bytes(key)
        and claims.get("agentStatus") in ("active", "suspended", "revoked")
        and claims.get("grade") in _GRADES
        and _is_integer(claims["iat"], 0)
        and _is_integer(claims["exp"], 0)
        and ("feed" not in claims or _feed_in(claims) is not None)
    ):
        refuse("staple", "has other claims than it should have.")
    return VerifiedStaple(
        issuer=issuer,
        did=claims["sub"],
        key_thumbprint=str(key),
        status=claims["agentStatus"],
        grade=claims["grade"],
        issued_at=int(claims["iat"]),
        expires_at=int(claims["exp"]),
        feed=_feed_in(claims),
        kid=jws.kid,
    )


def _verified(
    token: str, typ: str, what: str, issuers: Mapping[str, KeySet], now: float
) -> Tuple[str, Keys, Jws]:
    trusted = {issuer_origin(issuer): read_key_set(keys) for issuer, keys in issuers.items()}
    jws = parse_jws(token, what)
    issuer = jws.payload.get("iss")
    if not isinstance(issuer, str) or issuer not in trusted:
        refuse(what, "is not of an issuer that you trust.")
    assert_signed(jws, typ, what, trusted[issuer], now)
    return issuer, trusted[issuer], jws


def _certificate_of(issuer: str, jws: Jws) -> VerifiedCertificate:
    claims = jws.payload
    jwk = _object(_object(claims.get("cnf")).get("jwk"))
    status = _object(_object(claims.get("status")).get("status_list"))
    uri, idx, x = status.get("uri"), status.get("idx"), jwk.get("x")
    method = claims.get("identityMethod", 0)
    if not (
        _is_did(claims.get("sub"))
        and _is_integer(claims["iat"], 0)
        and _is_integer(claims["exp"], 0)
        and all(isinstance(claims.get(name), str) for name in ("jti", "vct", "did_web"))
        and (jwk.get("kty"), jwk.get("crv")) == ("OKP", "Ed25519")
        and is_32_bytes(x)
        and isinstance(uri, str)
        and _is_integer(idx, 0)
        and (method is None or isinstance(method, str))
        and claims.get("identityLevel") in ("verified", "unverified")
        and claims.get("assurance", 0) in ("low", "substantial", "high", None)
        and claims.get("grade") in _GRADES
        and _is_integer(claims.get("policyVersion"))
        and _is_integer(claims.get("keySequence"), 1, 2_147_483_647)
        and _is_timestamp(claims.get("keyChangedAt"))
        and ("ownerChangedAt" not in claims or _is_timestamp(claims["ownerChangedAt"]))
        and ("log" not in claims or _is_logged_key(claims["log"]))
        and ("maxDelegationDepth" not in claims or _is_integer(claims["maxDelegationDepth"], 1, MAX_HOPS))
    ):
        refuse("certificate", "has other claims than it should have.")
    if claims["vct"] != f"{issuer}/credentials/agent-certificate":
        refuse("certificate", "has another vct.")
    if not _is_list_of(issuer, str(uri)):
        refuse("certificate", "names a status list of another issuer.")
    public_key = base64url_bytes(str(x))
    if base64url(public_key) != x or encoding_fault(public_key) is not None:
        refuse("certificate", "has a key that no agent can have.")
    return VerifiedCertificate(
        issuer=issuer,
        did=claims["sub"],
        public_key=public_key,
        key_thumbprint=thumbprint(public_key),
        key_sequence=int(claims["keySequence"]),
        key_changed_at=claims["keyChangedAt"],
        owner_changed_at=claims.get("ownerChangedAt"),
        identity_method=method,
        identity_level=claims["identityLevel"],
        assurance=claims["assurance"],
        grade=claims["grade"],
        policy_version=int(claims["policyVersion"]),
        did_web=claims["did_web"],
        log=(str(claims["log"]["origin"]), int(claims["log"]["index"])) if "log" in claims else None,
        max_delegation_depth=int(claims.get("maxDelegationDepth", 0)),
        issued_at=int(claims["iat"]),
        expires_at=int(claims["exp"]),
        status_list=(str(uri), int(status["idx"])),
        status_as_of=None,
        kid=jws.kid,
    )


class _StatusList(NamedTuple):
    #: 2 bits each, not compressed.
    entries: bytes
    #: Unix seconds.
    issued_at: float
    #: The epoch and the number of its position in the feed; ``None`` if it names none.
    feed: Optional[Tuple[str, int]]
    #: How long it may be used, in seconds; 0: no longer than it takes.
    ttl: float
    #: Unix seconds.
    expires_at: float


def _read_status_list(token: str, issuer: str, uri: str, keys: Keys, now: float) -> _StatusList:
    """Verifies a token status list (draft-ietf-oauth-status-list)."""
    what = "status list"
    jws = parse_jws(token, what)
    assert_signed(jws, _STATUS_LIST, what, keys, now)
    claims = jws.payload
    if claims.get("sub") != uri:
        refuse(what, "is for another address.")
    if claims.get("iss", issuer) != issuer:
        refuse(what, f"was not issued by {issuer}.")
    status_list = _object(claims.get("status_list"))
    entries = _inflated(status_list.get("lst")) if status_list.get("bits") == 2 else None
    if entries is None:
        refuse(what, "contains no list of 131,072 entries.")
    ttl = claims.get("ttl", 0)
    if not is_number(ttl) or not ttl >= 0:
        refuse(what, "has a wrong ttl.")
    if "feed" in claims and _feed_in(claims) is None:
        refuse(what, "has a wrong feed.")
    return _StatusList(entries, float(claims["iat"]), _feed_in(claims), float(ttl), float(claims["exp"]))


def _feed_in(claims: Mapping[str, Any]) -> Optional[Tuple[str, int]]:
    feed = _object(claims.get("feed"))
    epoch, n = feed.get("epoch"), feed.get("n")
    return (epoch, int(n)) if isinstance(epoch, str) and n is not None and _is_integer(n, 0) else None


def _inflated(lst: object) -> Optional[bytes]:
    """The bytes of a list from its compressed form in base64url; ``None`` if they are no list."""
    if not isinstance(lst, str) or not is_base64url(lst):
        return None
    inflater = zlib.decompressobj()
    try:
        # Bounded, so that small data cannot fill the memory.
        entries = inflater.decompress(base64url_bytes(lst), _LIST_BYTES + 1)
    except zlib.error:
        return None
    is_whole = inflater.eof and not inflater.unused_data and len(entries) == _LIST_BYTES
    return entries if is_whole else None


def issuer_origin(issuer: str) -> str:
    """The canonical origin of an issuer.

    :raises CountersignError: ``INVALID_ARGUMENT`` unless it is an https origin, or http on loopback
    """
    origin = issuer[:-1] if issuer.endswith("/") else issuer
    url = parse_url(origin) if is_origin(origin) else None
    if url is not None and (url.scheme == "https" or is_loopback(url.hostname)):
        return origin
    message = "An issuer is the https origin of a service, such as https://id.example."
    raise CountersignError("INVALID_ARGUMENT", message)


def _subject_of(token: str) -> object:
    try:
        return parse_jws(token, "status list").payload.get("sub")
    except CountersignError:
        return None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_integer(value: Any, least: Optional[int] = None, most: Optional[int] = None) -> bool:
    """As JSON means it: ``1.0`` is one too."""
    if not is_number(value) or (isinstance(value, float) and not value.is_integer()):
        return False
    return (least is None or value >= least) and (most is None or value <= most)


def _is_did(value: object) -> bool:
    return isinstance(value, str) and _DID.fullmatch(value) is not None


def _is_logged_key(value: object) -> bool:
    entry = _object(value)
    return isinstance(entry.get("origin"), str) and _is_integer(entry.get("index"), 0)


def _is_timestamp(value: object) -> bool:
    match = _TIMESTAMP.fullmatch(value) if isinstance(value, str) else None
    try:
        return match is not None and datetime.fromisoformat(match.group(1)) is not None
    except ValueError:
        return False


def _is_list_of(issuer: str, uri: str) -> bool:
    prefix = f"{issuer}/status/"
    return uri.startswith(prefix) and re.fullmatch("[0-9]{1,10}", uri[len(prefix) :]) is not None


__all__ = ["VerifiedCertificate", "VerifiedStaple", "verify_certificate", "verify_staple"]
