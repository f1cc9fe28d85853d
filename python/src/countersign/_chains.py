"""The form of chains: draft-ietf-oauth-delegate-sd-jwt, with the differences that docs/delegation.md lists. What a later draft may change is
here."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from ._bounded_map import BoundedMap
from ._ed25519 import base64url, encoding_fault, thumbprint
from ._json import parse_json
from ._jws import canonical_bytes, is_number, parse_jws
from ._limits import covers_limits, limits_as_json, read_limits
from .delegation import (
    MAX_CHAIN_LENGTH,
    MAX_DELEGATION_SECONDS,
    MAX_HOPS,
    Delegation,
    DelegationHop,
    DelegationLimits,
    DelegationPolicy,
)
from .errors import CountersignError

# The protected header of each hop, as text.
_HOP_HEADER = base64url(b'{"alg":"EdDSA","typ":"kb+sd-jwt+kb"}')
# RFC 9278.
_THUMBPRINT_URN = "urn:ietf:params:oauth:jwk-thumbprint:sha-256:"
_NONCE = re.compile("[A-Za-z0-9_-]{22,128}")
# The year 5138, in seconds.
_MAX_TIME = 99_999_999_999
_MAX_SAFE_INTEGER = 2**53 - 1
# How far ahead of this clock a hop may have been issued, in seconds.
_MAX_AHEAD = 60


def is_chain(value: str) -> bool:
    """Whether the certificate header of a request carries a chain: only a certificate alone has a ``~`` at its end."""
    return 0 <= value.find("~") < len(value) - 1


def split_chain(chain: str) -> "Optional[Tuple[str, Tuple[str, ...]]]":
    """The certificate and the hops of a chain, as text; ``None`` unless each token is followed by one ``~``, and one more joins it to
    the next."""
    if len(chain) > MAX_CHAIN_LENGTH:
        return None
    parts = chain.split("~")
    if len(parts) % 2 != 0 or any((each == "") != (at % 2 == 1) for at, each in enumerate(parts)):
        return None
    certificate, *hops = parts[::2]
    return (certificate, tuple(hops)) if 1 <= len(hops) <= MAX_HOPS else None


def join_chain(certificate: str, hops: Sequence[str]) -> str:
    return "~".join(f"{each}~" for each in (certificate, *hops))


def binding_of(token: str) -> str:
    """What binds a hop to the token before it: SHA-256 of its ASCII with one ``~``, base64url."""
    return base64url(hashlib.sha256(f"{token}~".encode("utf-8", "surrogatepass")).digest())


@dataclass(frozen=True)
class HopClaims:
    """What a hop states. ``binding``: :func:`binding_of` the token before it. Times in Unix seconds."""

    public_key: bytes
    iat: int
    exp: int
    nonce: str
    binding: str
    max_depth: int
    limits: DelegationLimits


@dataclass(frozen=True)
class ReadHop:
    """A hop that was read and not yet verified."""

    claims: HopClaims
    hop: DelegationHop
    signing_input: bytes
    signature: bytes


def hop_signing_input(claims: HopClaims) -> str:
    """What the key before a hop signs: ASCII. The members have an order, which verifiers compare as text."""
    x = base64url(claims.public_key)
    payload = {
        "iat": claims.iat,
        "aud": _THUMBPRINT_URN + thumbprint(claims.public_key),
        "nonce": claims.nonce,
        "sd_hash": claims.binding,
        "delegate_payload": [
            {
                "exp": claims.exp,
                "max_depth": claims.max_depth,
                "cnf": {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": x}},
                "limits": limits_as_json(claims.limits),
            }
        ],
    }
    return f"{_HOP_HEADER}.{base64url(json.dumps(payload, separators=(',', ':')).encode('ascii'))}"


def append_hop(before: str, hop: HopClaims, sign: Callable[[bytes], bytes]) -> str:
    """Signs a hop and appends it to a certificate or a chain. Read the result with :func:`read_chain` before you hand it on. The
    ``binding`` of the hop is replaced.

    :raises ValueError: if ``before`` is neither
    """
    tokens = split_chain(before) if is_chain(before) else (before[:-1] if before.endswith("~") else before, ())
    if tokens is None:
        raise ValueError("the text is no chain of delegations")
    certificate, hops = tokens
    text = hop_signing_input(replace(hop, binding=binding_of((certificate, *hops)[-1])))
    return join_chain(certificate, [*hops, f"{text}.{base64url(sign(text.encode('ascii')))}"])


def read_hop(token: str) -> Optional[ReadHop]:
    """Reads a hop. Its payload is written again and compared: that refuses white space, escapes, unknown, missing and repeated members,
    and any other spelling of a value.

    :returns: ``None`` if it has another form, or a value out of range
    """
    parts = token.split(".")
    if len(parts) != 3 or parts[0] != _HOP_HEADER:
        return None
    payload, signature = canonical_bytes(parts[1]), canonical_bytes(parts[2])
    claims = None if payload is None else _read_payload(payload)
    if claims is None or signature is None or len(signature) != 64:
        return None
    text = f"{parts[0]}.{parts[1]}"
    if hop_signing_input(claims) != text:
        return None
    keyid = thumbprint(claims.public_key)
    hop = DelegationHop(keyid, claims.iat, claims.exp, claims.max_depth, claims.limits)
    return ReadHop(claims, hop, text.encode("ascii"), signature)


def _read_payload(data: bytes) -> Optional[HopClaims]:
    """The values of a payload. What they do not say of its text, :func:`read_hop` compares."""
    try:
        outer = _members_of(parse_json(data))
    except ValueError:
        return None
    payloads = outer.get("delegate_payload")
    inner = _members_of(payloads[0] if isinstance(payloads, list) and payloads else None)
    public_key = _key_in(_members_of(_members_of(inner.get("cnf")).get("jwk")).get("x"))
    limits = read_limits(inner.get("limits"))
    iat, exp, max_depth = outer.get("iat"), inner.get("exp"), inner.get("max_depth")
    nonce, binding = outer.get("nonce"), outer.get("sd_hash")
    if public_key is None or limits is None or _key_in(binding) is None:
        return None
    if not (isinstance(nonce, str) and isinstance(binding, str) and _NONCE.fullmatch(nonce)):
        return None
    # Also `1e0` and `1.0` are integers in JSON, and spelled differently from what is written.
    if not (type(iat) is int and type(exp) is int and type(max_depth) is int):
        return None
    if not (0 <= iat <= _MAX_TIME and 0 <= exp <= _MAX_TIME and 0 <= max_depth <= MAX_HOPS):
        return None
    return HopClaims(public_key, iat, exp, nonce, binding, max_depth, limits)


def _members_of(value: object) -> "dict[str, object]":
    return value if isinstance(value, dict) else {}


def _key_in(text: object) -> Optional[bytes]:
    """32 bytes from canonical base64url; ``None`` if it is something else."""
    data = canonical_bytes(text) if isinstance(text, str) and len(text) == 43 else None
    return data if data is not None and len(data) == 32 else None


@dataclass(frozen=True)
class ChainRoot:
    """The certificate at the root of a chain, as it says.

    :ivar expires_at: Unix seconds
    :ivar max_depth: how many hops the owner allows: 0 to 3
    """

    certificate: str
    did: str
    public_key: bytes
    keyid: str
    expires_at: float
    max_depth: int


@dataclass(frozen=True)
class Chain:
    """What a chain says.

    :ivar keys: those of the hops, 32 bytes each
    :ivar unproven: what its hops signed; ``None``: their signatures are known to be valid
    """

    root: ChainRoot
    hops: Tuple[DelegationHop, ...]
    keys: Tuple[bytes, ...]
    unproven: Optional[Tuple[ReadHop, ...]]


@dataclass(frozen=True)
class UnreadableChain:
    """A chain of another form. ``hops``: those that could be read."""

    hops: Tuple[DelegationHop, ...]


def read_chain(text: str) -> Union[Chain, UnreadableChain]:
    """Step b: reads a chain. Nothing is verified."""
    tokens = split_chain(text)
    if tokens is None:
        return UnreadableChain(())
    certificate, hop_tokens = tokens
    root = read_root(certificate)
    read = []
    for token in hop_tokens:
        hop = read_hop(token)
        if hop is None:
            break
        read.append(hop)
    hops = tuple(each.hop for each in read)
    if root is None or len(read) < len(hop_tokens):
        return UnreadableChain(hops)
    return Chain(root, hops, tuple(each.claims.public_key for each in read), tuple(read))


def read_root(certificate: str) -> Optional[ChainRoot]:
    """The claims of a certificate that chains depend on. Whether it is one, nobody knows yet."""
    try:
        jws = parse_jws(certificate, "certificate")
    except CountersignError:
        return None
    did = jws.payload.get("sub")
    exp: Any = jws.payload.get("exp")
    jwk = _members_of(_members_of(jws.payload.get("cnf")).get("jwk"))
    max_depth = jws.payload.get("maxDelegationDepth", 0)
    is_key = (jwk.get("kty"), jwk.get("crv")) == ("OKP", "Ed25519")
    public_key = _key_in(jwk.get("x")) if is_key else None
    if jws.typ != "dc+sd-jwt" or public_key is None or not isinstance(did, str):
        return None
    if not is_number(exp) or not -_MAX_SAFE_INTEGER <= exp <= _MAX_SAFE_INTEGER or exp != int(exp):
        return None
    if not is_number(max_depth) or max_depth not in range(MAX_HOPS + 1):
        return None
    return ChainRoot(certificate, did, public_key, thumbprint(public_key), exp, int(max_depth))


def chain_fault(chain: Chain, keyid: str, now: float) -> Optional[str]:
    """Steps c to f.

    :param keyid: the key that signed the request, by its JWK thumbprint
    :param now: Unix seconds
    :returns: the fault; ``None`` if there is none
    """
    root, hops = chain.root, chain.hops
    before: Sequence[Union[ChainRoot, DelegationHop]] = (root, *hops)
    keyids = [each.keyid for each in before]
    is_faulty = any(encoding_fault(each) is not None for each in (root.public_key, *chain.keys))
    if len(set(keyids)) < len(keyids) or is_faulty or keyids[-1] != keyid:
        return "key"
    if any(hop.max_depth >= before[at].max_depth for at, hop in enumerate(hops)):
        return "depth"
    if not all(_is_in_time(hop, before[at].expires_at, now) for at, hop in enumerate(hops)):
        return "times"
    if not all(covers_limits(hops[at].limits, hop.limits) for at, hop in enumerate(hops[1:])):
        return "widened"
    return None if chain.unproven is None or _is_bound(root.certificate, chain.unproven) else "binding"


def _is_in_time(hop: DelegationHop, latest: float, now: float) -> bool:
    lasts = hop.expires_at - hop.issued_at
    return 0 < lasts <= MAX_DELEGATION_SECONDS and hop.issued_at <= now + _MAX_AHEAD and hop.expires_at <= latest


def _is_bound(certificate: str, hops: Sequence[ReadHop]) -> bool:
    """Each hop is bound to the token before it, so that none fits another chain."""
    before = certificate
    for each in hops:
        if each.claims.binding != binding_of(before):
            return False
        before = f"{each.signing_input.decode('ascii')}.{base64url(each.signature)}"
    return True


def chain_refusal(chain: Chain, policy: DelegationPolicy, now: float) -> Optional[str]:
    """Steps g and h: ``None`` if the chain is current, and the policy accepts it."""
    if not chain.hops[-1].expires_at > now:
        return "delegation-expired"
    return None if accepts_chain(policy, chain.hops) else "delegation-refused"


def accepts_chain(policy: DelegationPolicy, hops: Sequence[DelegationHop]) -> bool:
    """Step h."""
    lasts = hops[0].expires_at - hops[0].issued_at
    is_short = len(hops) <= policy.max_depth and lasts <= policy.max_seconds
    return is_short and (policy.mcp or all(each.limits.mcp is None for each in hops))


def delegation_of(hops: Tuple[DelegationHop, ...], fault: Optional[str] = None) -> Delegation:
    """A chain as results show it."""
    keyid = hops[-1].keyid if hops and fault != "format" else None
    return Delegation(len(hops), keyid, fault, hops)


class ProvenChains:
    """Chains whose hops were verified, so that a delegate's second request costs no more than an agent's: at most 10,000. Nothing else
    of a chain is remembered: its times, the certificate and its status count anew with each request."""

    def __init__(self) -> None:
        self._chains: "BoundedMap[bytes, Chain]" = BoundedMap(10_000)

    def get(self, text: str) -> Optional[Chain]:
        return self._chains.get(_digest_of(text))

    def add(self, text: str, chain: Chain) -> None:
        """``chain``: bound and with valid signatures."""
        self._chains.set(_digest_of(text), replace(chain, unproven=None))


def _digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
