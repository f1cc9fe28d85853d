"""Approvals: the owner of an agent agrees to one request, which a site then admits once (docs/approvals.md)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from ._ed25519 import base64url
from ._http import HeaderFields, SignedParts, field_value, parse_content_digest
from ._json import parse_json
from ._jws import CLOCK_SKEW, Keys, canonical_bytes, is_32_bytes, is_signed_by, refuse
from ._limits import has_override
from ._naming import Naming
from ._structured_fields import StructuredFieldError
from ._urls import parse_url
from .nonces import NonceStore, UsedNonce

_TYPE = "svc-approval+jwt"
_MAX_LENGTH = 2560
_MAX_SECONDS = 3600
_MAX_TIME = 99_999_999_999
_CLAIMS = frozenset(
    ("iss", "sub", "aud", "jti", "iat", "exp", "method", "url", "content", "by", "evidence")
)
#: How an owner approves: with a passkey, or by a standing mandate.
METHODS = ("passkey", "mandate")
_ID = re.compile("ap_[A-Za-z0-9_-]{21}[AQgw]")
_METHOD = re.compile("[A-Z]{1,16}")
_DIGEST_METHODS = ("POST", "PUT", "PATCH")
_CHARSET = re.compile('charset=(?:utf-8|"utf-8")', re.IGNORECASE)
_EMPTY_DIGEST = base64url(hashlib.sha256(b"").digest())
#: How far ahead of a store's clock a token may be recorded, in seconds.
_CLOCK_SKEW = 30


@dataclass(frozen=True)
class ApprovalPolicy:
    """Which approvals a site accepts.

    :param max_age_seconds: how long ago the decision may be: 60 to 3,600
    :param by: ``passkey``, ``mandate`` or both
    :param body_checked_by_application: accept requests whose body could not be compared here. Only true if your application does it
    """

    max_age_seconds: int = 600
    by: Tuple[str, ...] = ("passkey",)
    body_checked_by_application: bool = False


@dataclass(frozen=True)
class RequestApproval:
    """An approval of the request that carries it. Times are in Unix seconds.

    :ivar id: ``ap_…``
    :ivar at: when it was decided
    :ivar use_key: refuse a request whose ``use_key`` you have stored before
    :ivar use_until: until when to store it
    """

    id: str
    by: str
    at: int
    expires_at: int
    use_key: str
    use_until: int


@dataclass(frozen=True)
class FoundApproval:
    """An approval of exactly the request that carries it.

    :ivar use: what a store of nonces records, so that it admits one request
    :ivar approves_body: whether a body was approved
    :ivar has_content: whether the request announces one
    """

    approval: RequestApproval
    use: UsedNonce
    approves_body: bool
    has_content: bool


#: Verifies a token by the agent's service: its claims, or ``approval-invalid`` or ``directory-unavailable``.
ApprovalVerifier = Callable[[str], Union[Mapping[str, Any], str]]


def read_approval(token: str, naming: Naming, issuer: str, keys: Callable[[str], Keys], now: float) -> Mapping[str, Any]:
    """The claims of a token, by issuer, key and signature. It may have expired.

    :param keys: the keys of the issuer, for a ``kid``
    :raises CountersignError: ``INVALID_TOKEN``; what ``keys`` raises
    """
    if len(token) > _MAX_LENGTH:
        refuse("approval", "is too long.")
    parts = token.split(".")
    signature = canonical_bytes(parts[-1])
    if len(parts) != 3 or signature is None or len(signature) != 64:
        refuse("approval", "does not have three parts with a signature of 64 bytes.")
    header, claims = _members(parts[0]), _members(parts[1])
    if header is None or set(header) != {"alg", "kid", "typ"} or header["typ"] != _TYPE:
        refuse("approval", "has another header.")
    kid = header["kid"]
    if header["alg"] not in ("EdDSA", "ES256") or not isinstance(kid, str):
        refuse("approval", "has another header.")
    if claims is None or set(claims) != _CLAIMS or not _are_claims(claims, naming):
        refuse("approval", "has other claims.")
    if claims["iss"] != issuer or claims["iat"] > now + CLOCK_SKEW:
        refuse("approval", "is of another issuer, or of the future.")
    key = keys(kid).get(kid)
    if key is None or header["alg"] != ("EdDSA" if key["kty"] == "OKP" else "ES256"):
        refuse("approval", "is signed with a key that the issuer does not list.")
    if not is_signed_by(key, f"{parts[0]}.{parts[1]}".encode("ascii"), signature):
        refuse("approval", "has a signature that does not verify.")
    return claims


class _Repeated(ValueError):
    pass


def _members(part: str) -> Optional[Dict[str, Any]]:
    """``None`` unless it is an object of which no member is repeated."""
    data = canonical_bytes(part)
    if data is None:
        return None
    try:
        value = parse_json(data, _once)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _once(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Repeated("a member is repeated")
    return members


def _are_claims(claims: Mapping[str, Any], naming: Naming) -> bool:
    sub, aud, url, content = claims["sub"], claims["aud"], claims["url"], claims["content"]
    issued, expires = claims["iat"], claims["exp"]
    if not (isinstance(sub, str) and naming.tail_of(sub) is not None and sub.startswith(naming.did_prefix)):
        return False
    if not (_is_match(claims["jti"], _ID) and _is_match(claims["method"], _METHOD) and isinstance(claims["iss"], str)):
        return False
    if not (isinstance(aud, str) and isinstance(url, str) and (url == aud or url.startswith(f"{aud}/"))):
        return False
    origin = parse_url(aud)
    if origin is None or url == aud:
        return False
    if not (_is_time(issued) and _is_time(expires) and issued < expires <= issued + _MAX_SECONDS):
        return False
    if content is not None and not (
        isinstance(content, dict)
        and set(content) == {"type", "sha256"}
        and isinstance(content["type"], str)
        and _is_digest(content["sha256"])
    ):
        return False
    return claims["by"] in METHODS and _is_digest(claims["evidence"])


def _is_match(value: object, pattern: "re.Pattern[str]") -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_time(value: object) -> bool:
    # In JSON, `1.0` is an integer too.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value <= _MAX_TIME and value == int(value)  # type: ignore[operator,call-overload]


def _is_digest(value: object) -> bool:
    return is_32_bytes(value) and canonical_bytes(str(value)) is not None


def find_approval(
    received: SignedParts,
    digest_field: Optional[str],
    did: Optional[str],
    naming: Naming,
    verify: ApprovalVerifier,
) -> Union[FoundApproval, str]:
    """Steps b to d: the approval that a request carries, or why it does not count. Nothing here depends on the time.

    :param digest_field: the covered ``Content-Digest``
    """
    token = field_value(received.fields, f"{naming.id_header.lower()}-approval")
    if token is None:
        return "approval-required"
    claims = verify(token)
    if isinstance(claims, str):
        return claims
    if not _is_for(claims, received, digest_field, did):
        return "approval-mismatch"
    key = base64url(hashlib.sha256(f"approval {claims['iss']} {claims['jti']}".encode("utf-8")).digest())
    at, expires_at = int(claims["iat"]), int(claims["exp"])
    until = expires_at + _CLOCK_SKEW
    approval = RequestApproval(claims["jti"], claims["by"], at, expires_at, key, until)
    # By the DID, since a key may change in the meantime.
    use = UsedNonce(claims["sub"], None, key, at, until)
    return FoundApproval(approval, use, claims["content"] is not None, received.has_content)


def _is_for(
    claims: Mapping[str, Any], received: SignedParts, digest_field: Optional[str], did: Optional[str]
) -> bool:
    """Byte for byte. The signature covers all of it, and the digest the body."""
    url = received.origin + received.path + (received.query or "")
    if (claims["sub"], claims["aud"], claims["method"], claims["url"]) != (did, received.origin, received.method, url):
        return False
    if has_override(received.fields):
        return False
    digest = _digest_in(digest_field)
    content = claims["content"]
    if content is not None:
        is_coded = "content-encoding" in received.fields
        return not is_coded and digest == content["sha256"] and _is_of_type(received.fields, content["type"])
    if received.has_content:
        return False
    return digest == _EMPTY_DIGEST or (digest is None and received.method not in _DIGEST_METHODS)


def _digest_in(field: Optional[str]) -> Optional[str]:
    try:
        return None if field is None else base64url(parse_content_digest(field))
    except StructuredFieldError:
        return None


def _is_of_type(fields: HeaderFields, expected: str) -> bool:
    given, *parameters = [each.strip() for each in (field_value(fields, "content-type") or "").split(";")]
    is_plain = not parameters or (len(parameters) == 1 and _CHARSET.fullmatch(parameters[0]) is not None)
    return given == expected and is_plain


def approval_fault(approval: RequestApproval, policy: ApprovalPolicy, now: float) -> Optional[str]:
    """Step e, which depends on the time and on the rules of a site."""
    if approval.expires_at <= now or now - approval.at > policy.max_age_seconds:
        return "approval-expired"
    return None if approval.by in policy.by else "approval-required"


def is_body_compared(found: FoundApproval, digest: str, sees_content: bool) -> bool:
    """The part of step f that is about the body.

    :param digest: that of the result
    :param sees_content: whether it is known for certain that a request has no content
    """
    if digest == "checked":
        return True
    return not found.approves_body and (digest == "none" or (sees_content and not found.has_content))


def record_approval(found: FoundApproval, nonces: NonceStore) -> str:
    """Step g: uses an approval up. A store that fails cannot tell."""
    try:
        return nonces.record(found.use)
    except Exception:  # Whatever it raises.
        return "unchecked"


__all__ = ["ApprovalPolicy", "RequestApproval"]
