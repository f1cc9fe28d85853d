"""Signature tokens in compact form (RFC 7515), and the keys of their issuers."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NoReturn, Optional

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicNumbers
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from ._ed25519 import base64url, is_signature
from ._json import parse_json
from .errors import CountersignError

#: How far the clocks of an issuer and of a verifier may differ, in seconds.
CLOCK_SKEW = 60

_MAX_TOKEN_LENGTH = 100_000
_MAX_KEYS = 64
# Where a key would come from the token itself (RFC 7515 section 4.1), and extensions that must be understood.
_REFUSED_MEMBERS = ("jwk", "jku", "x5c", "x5u", "crit", "b64")
_BASE64URL = re.compile("[A-Za-z0-9_-]*")
# The bytes {" in base64url: what guards of signers look for, and what issuers write.
_HEADER_START = re.compile("ey[I-L]")
_32_BYTES = re.compile("[A-Za-z0-9_-]{43}")

#: Keys by their ``kid``.
Keys = Dict[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Jws:
    """A token, parsed and not yet verified."""

    alg: str
    kid: str
    typ: str
    payload: Mapping[str, Any]
    signing_input: bytes
    signature: bytes


def parse_jws(token: str, what: str) -> Jws:
    """Parses a token in compact form (RFC 7515 section 3.1). Nothing of it is verified yet."""
    if not isinstance(token, str) or len(token) > _MAX_TOKEN_LENGTH:
        refuse(what, "is too long.")
    parts = (token[:-1] if token.endswith("~") else token).split(".")
    if len(parts) != 3 or "" in parts:
        refuse(what, "does not have three parts that are separated by dots.")
    signature = canonical_bytes(parts[2])
    if signature is None or len(signature) != 64:
        refuse(what, "has no signature of 64 bytes.")
    header, payload = _object_in(parts[0], "header", what), _object_in(parts[1], "payload", what)
    for name in _REFUSED_MEMBERS:
        if name in header:
            refuse(what, f"has the header member {name}, which is refused.")
    alg, kid, typ = header.get("alg"), header.get("kid"), header.get("typ")
    if alg not in ("EdDSA", "ES256"):
        refuse(what, "is not signed with EdDSA or ES256.")
    if not isinstance(kid, str) or not isinstance(typ, str):
        refuse(what, "has no kid or no typ.")
    return Jws(alg, kid, typ, payload, f"{parts[0]}.{parts[1]}".encode("ascii"), signature)


def assert_signed(jws: Jws, typ: str, what: str, keys: Keys, now: float) -> None:
    if jws.typ != typ:
        refuse(what, f"has the type {jws.typ}, not {typ}.")
    key = keys.get(jws.kid)
    if key is None:
        refuse(what, "is signed with a key that the issuer does not list.")
    # The algorithm follows from the key, never from the token.
    if jws.alg != ("EdDSA" if key["kty"] == "OKP" else "ES256"):
        refuse(what, "names an algorithm that its key is not for.")
    issued: Any = jws.payload.get("iat")
    expires: Any = jws.payload.get("exp")
    start: Any = jws.payload.get("nbf")
    # `1e400` is JSON, and infinite.
    if not is_number(issued) or not is_number(expires) or not math.isfinite(issued) or not math.isfinite(expires):
        refuse(what, "has no iat or no exp.")
    if not issued <= now + CLOCK_SKEW:
        refuse(what, "was issued in the future.")
    if not expires > now - CLOCK_SKEW:
        refuse(what, "has expired.")
    if "nbf" in jws.payload and not (is_number(start) and start <= now + CLOCK_SKEW):
        refuse(what, "is not valid yet.")
    if not is_signed_by(key, jws.signing_input, jws.signature):
        refuse(what, "has a signature that does not verify.")


def is_signed_by(jwk: Mapping[str, Any], message: bytes, signature: bytes) -> bool:
    x = base64url_bytes(jwk["x"])
    if jwk["kty"] == "OKP":
        return is_signature(x, message, signature)
    r, s = (int.from_bytes(each, "big") for each in (signature[:32], signature[32:]))
    try:
        numbers = EllipticCurvePublicNumbers(
            int.from_bytes(x, "big"), int.from_bytes(base64url_bytes(jwk["y"]), "big"), SECP256R1()
        )
        numbers.public_key().verify(encode_dss_signature(r, s), message, ECDSA(SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def read_key_set(value: object) -> Keys:
    """The keys of a key set by ``kid``. Those of other types, and for other uses than signatures, are left out."""
    given = value.get("keys") if isinstance(value, Mapping) else None
    if isinstance(given, (list, tuple)) and len(given) <= _MAX_KEYS:
        keys: List[Mapping[str, Any]] = [each for each in given if _is_issuer_key(each)]
        by_kid = {each["kid"]: each for each in keys}
        if len(by_kid) == len(keys):
            return by_kid
    raise CountersignError(
        "INVALID_ARGUMENT", "issuers maps each origin to a key set, such as that of /.well-known/jwks.json."
    )


def _is_issuer_key(jwk: object) -> bool:
    if not isinstance(jwk, Mapping):
        return False
    if not isinstance(jwk.get("kid"), str) or jwk.get("use", "sig") != "sig":
        return False
    kind = (jwk.get("kty"), jwk.get("crv"))
    is_ec = kind == ("EC", "P-256") and is_32_bytes(jwk.get("y"))
    return is_32_bytes(jwk.get("x")) and (is_ec or kind == ("OKP", "Ed25519"))


def _object_in(part: str, name: str, what: str) -> Mapping[str, Any]:
    data = canonical_bytes(part)
    value = None
    try:
        if data is not None:
            value = parse_json(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        refuse(what, f"has a {name} that is not a JSON object.")
    if name == "header" and not _HEADER_START.match(part):
        refuse(what, 'has a header that does not begin with {".')
    return value


def canonical_bytes(text: str) -> Optional[bytes]:
    """``None`` unless the text is canonical base64url without padding (RFC 4648 section 5)."""
    if not is_base64url(text):
        return None
    data = base64url_bytes(text)
    return data if base64url(data) == text else None


def base64url_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_32_bytes(value: object) -> bool:
    return isinstance(value, str) and _32_BYTES.fullmatch(value) is not None


def refuse(what: str, message: str) -> NoReturn:
    raise CountersignError("INVALID_TOKEN", f"The {what} {message}")


def is_base64url(text: str) -> bool:
    """Whether a text is base64url without padding."""
    return _BASE64URL.fullmatch(text) is not None and len(text) % 4 != 1
