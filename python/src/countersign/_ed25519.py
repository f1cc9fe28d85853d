"""Ed25519 (RFC 8032): which public keys count, strict verification, thumbprints."""

from __future__ import annotations

import base64
import hashlib
from typing import Optional, Tuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_SQRT_MINUS_ONE = pow(2, (_P - 1) // 4, _P)

#: Extended coordinates (RFC 8032 section 5.1.4).
_Point = Tuple[int, int, int, int]

# y coordinates of the eight points of small order.
_SMALL_ORDER_Y = frozenset(
    int.from_bytes(bytes.fromhex(each), "little")
    for each in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)


def key_fault(public_key: bytes) -> Optional[str]:
    """Why a public key of 32 bytes cannot be certified.

    :returns: ``non-canonical``, ``small-order``, ``not-on-curve`` or ``mixed-order``; ``None`` for a good key
    """
    fault = encoding_fault(public_key)
    if fault is not None:
        return fault
    point = _decode(public_key)
    if point is None:
        return "not-on-curve"
    return None if _is_identity(_multiply(_L, point)) else "mixed-order"


def is_signature(public_key: bytes, message: bytes, signature: bytes, is_delegated: bool = False) -> bool:
    """Verifies strictly, as the service does: S below the order, R and the key canonical and not of small order, the key in the
    group of prime order.

    :param is_delegated: the key is one of a chain, of which an agent can make any number: only its encoding is checked
    """
    if len(public_key) != 32 or len(signature) != 64:
        return False
    if int.from_bytes(signature[32:], "little") >= _L:
        return False
    if encoding_fault(signature[:32]) is not None:
        return False
    if not (encoding_fault(public_key) is None if is_delegated else _is_good_key(public_key)):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def thumbprint(public_key: bytes) -> str:
    """The JWK thumbprint of a key (RFC 7638 with SHA-256): 43 characters of base64url."""
    jwk = f'{{"crv":"Ed25519","kty":"OKP","x":"{base64url(public_key)}"}}'
    return base64url(hashlib.sha256(jwk.encode("ascii")).digest())


def base64url(data: bytes) -> str:
    """Base64url without padding (RFC 4648 section 5)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


# Checking that a key is in the group of prime order takes milliseconds, and a site sees the same keys again.
_GOOD_KEYS_LIMIT = 10_000
_good_keys: "dict[bytes, None]" = {}


def _is_good_key(public_key: bytes) -> bool:
    if public_key in _good_keys:
        return True
    if key_fault(public_key) is not None:
        return False
    if len(_good_keys) >= _GOOD_KEYS_LIMIT:
        _good_keys.clear()
    _good_keys[bytes(public_key)] = None
    return True


def encoding_fault(encoded: bytes) -> Optional[str]:
    """``non-canonical`` or ``small-order``; ``None`` for an encoding that a key can have."""
    y = int.from_bytes(encoded, "little") & (2**255 - 1)
    if y >= _P:
        return "non-canonical"
    return "small-order" if y in _SMALL_ORDER_Y else None


def _decode(encoded: bytes) -> Optional[_Point]:
    """The point of an encoding (RFC 8032 section 5.1.3) in extended coordinates, or None."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if v * x * x % _P != u:
        x = x * _SQRT_MINUS_ONE % _P
    if v * x * x % _P != u or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = _P - x
    return (x, y, 1, x * y % _P)


def _add(p: _Point, q: _Point) -> _Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _multiply(scalar: int, point: _Point) -> _Point:
    result: _Point = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


def _is_identity(point: _Point) -> bool:
    return point[0] % _P == 0 and (point[1] - point[2]) % _P == 0
