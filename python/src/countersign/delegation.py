"""Delegations: chains from the key of an agent to the key of a delegate, which a certificate and 1 to 3 hops make (docs/delegation.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ._http import SignatureAgent

#: The longest chain, in characters: servers and proxies limit headers.
MAX_CHAIN_LENGTH = 6_144
#: The most hops of a chain.
MAX_HOPS = 3
#: The longest duration of a hop, in seconds.
MAX_DELEGATION_SECONDS = 86_400


@dataclass(frozen=True)
class DelegationLimits:
    """What a delegation restricts requests to. ``None``: everything.

    :ivar origins: 1 to 8 canonical https origins, on loopback also http
    :ivar methods: 1 to 8 methods. HEAD is not GET
    :ivar paths: 1 to 8 paths of at most 128 characters: ``/exact`` or ``/prefix/*``
    :ivar mcp: 1 to 16 values ``<method>`` or ``<method> <name>`` of the headers ``Mcp-Method`` and ``Mcp-Name``
    """

    origins: Tuple[str, ...]
    methods: Optional[Tuple[str, ...]] = None
    paths: Optional[Tuple[str, ...]] = None
    mcp: Optional[Tuple[str, ...]] = None


@dataclass(frozen=True)
class DelegationHop:
    """One delegation: from the key before it to the next key.

    :ivar keyid: the JWK thumbprint of the next key
    :ivar issued_at: Unix seconds
    :ivar expires_at: Unix seconds
    :ivar max_depth: how many hops may follow: 0 to 3
    """

    keyid: str
    issued_at: int
    expires_at: int
    max_depth: int
    limits: DelegationLimits


@dataclass(frozen=True)
class Delegation:
    """A chain of delegations, as far as it was read. Proven only with ``verified``.

    :ivar depth: the number of ``hops``
    :ivar keyid: the JWK thumbprint of the last key, the delegate's; ``None`` if the chain could not be read
    :ivar fault: with the reason ``delegation-invalid`` the check that fails: ``format``, ``key``, ``depth``, ``times``, ``widened``,
        ``binding``, ``root`` or ``signature``
    :ivar hops: from the agent to the delegate
    """

    depth: int
    keyid: Optional[str]
    fault: Optional[str]
    hops: Tuple[DelegationHop, ...]


@dataclass(frozen=True)
class DelegationPolicy:
    """Which chains of delegations a verifier accepts.

    :ivar max_depth: the most hops: 1 to 3
    :ivar max_seconds: the longest duration of the first hop: 1 to 86,400
    :ivar mcp: accept limits on ``Mcp-Method`` and ``Mcp-Name``. Only ``True`` if the server compares these headers with the body (MCP
        2026-07-28, SEP-2243)
    :raises ValueError: if a value is out of its range
    """

    max_depth: int
    max_seconds: int
    mcp: bool

    def __post_init__(self) -> None:
        depth, seconds = self.max_depth, self.max_seconds
        if not (_is_up_to(depth, MAX_HOPS) and _is_up_to(seconds, MAX_DELEGATION_SECONDS) and type(self.mcp) is bool):
            raise ValueError(
                f"delegation has max_depth (1 to {MAX_HOPS}), max_seconds (1 to {MAX_DELEGATION_SECONDS}) and mcp (a boolean)"
            )


def _is_up_to(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


@dataclass(frozen=True)
class DelegationRoot:
    """The certificate at the root of a chain, which nobody has verified yet.

    :ivar signature_agent: what the request names as the place of the agent's keys
    :ivar certificate: in compact form, without ``~``
    :ivar did: the DID that it names
    :ivar keyid: the JWK thumbprint of the agent's key in it
    """

    signature_agent: SignatureAgent
    certificate: str
    did: str
    keyid: str


@dataclass(frozen=True)
class SignedDelegation:
    """A delegation that was signed. It is no secret: it counts only with a request that the key of the delegate signs.

    :ivar chain: for ``DelegatedAgent``: the certificate, and each delegation up to this one
    :ivar expires_at: Unix seconds
    """

    chain: str
    expires_at: int


__all__ = [
    "MAX_CHAIN_LENGTH",
    "MAX_DELEGATION_SECONDS",
    "MAX_HOPS",
    "Delegation",
    "DelegationHop",
    "DelegationLimits",
    "DelegationPolicy",
    "DelegationRoot",
    "SignedDelegation",
]
