"""Signing a delegation: a hop for a further key, appended to a certificate or a chain."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from typing import Optional, Sequence

from ._chains import HopClaims, UnreadableChain, append_hop, chain_fault, read_chain
from ._ed25519 import key_fault, thumbprint
from ._limits import read_limits
from .delegation import (
    MAX_CHAIN_LENGTH,
    MAX_DELEGATION_SECONDS,
    DelegationLimits,
    SignedDelegation,
)
from .errors import CountersignError
from .keys import AgentKey


@dataclass(frozen=True)
class DelegateRequest:
    """The arguments of ``delegate``, described at ``Agent.delegate``."""

    public_key: str
    origins: Sequence[str]
    methods: Optional[Sequence[str]]
    paths: Optional[Sequence[str]]
    mcp: Optional[Sequence[str]]
    expires_in_seconds: int
    max_depth: int


@dataclass(frozen=True)
class DelegationSource:
    """What a delegation follows.

    :ivar before: a certificate or a chain
    :ivar limits: ``None``: a certificate, which limits nothing
    :ivar max_depth: how many hops may follow it
    :ivar expires_at: Unix seconds
    :ivar key: the one that signs
    """

    before: str
    limits: Optional[DelegationLimits]
    max_depth: int
    expires_at: float
    key: AgentKey


def sign_delegation(source: DelegationSource, request: DelegateRequest, now: float) -> SignedDelegation:
    """Signs a delegation, without a network.

    :param now: Unix seconds
    :raises CountersignError: ``INVALID_ARGUMENT``, ``DELEGATION_NOT_ALLOWED``
    """
    public_key = _key_of(request.public_key)
    limits = _limits_of(request, source.limits)
    seconds, max_depth = request.expires_in_seconds, request.max_depth
    if type(seconds) is not int or not 1 <= seconds <= MAX_DELEGATION_SECONDS:
        raise _invalid(f"expires_in_seconds is 1 to {MAX_DELEGATION_SECONDS}.")
    if type(max_depth) is not int or max_depth < 0:
        raise _invalid("max_depth is 0 to 2.")
    if max_depth >= source.max_depth:
        raise CountersignError("DELEGATION_NOT_ALLOWED", _not_allowed(source))
    issued_at = int(now)
    expires_at = min(issued_at + seconds, int(source.expires_at))
    if expires_at <= issued_at:
        raise _invalid("What this delegation follows has expired.")
    hop = HopClaims(public_key, issued_at, expires_at, secrets.token_urlsafe(18), "", max_depth, limits)
    chain = append_hop(source.before, hop, source.key.sign)
    _assert_usable(chain, thumbprint(public_key), now)
    return SignedDelegation(chain, expires_at)


def _not_allowed(source: DelegationSource) -> str:
    if source.limits is None:
        return (
            f"The owner of this agent allows {source.max_depth} levels of delegation. "
            "The owner can change that on the dashboard."
        )
    return f"This chain may have {source.max_depth} further delegations."


def _key_of(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        key = b""
    if len(key) == 32 and base64.b64encode(key).decode("ascii") == text and key_fault(key) is None:
        return key
    raise _invalid("public_key is an Ed25519 key: 32 bytes in padded standard base64.")


def _limits_of(request: DelegateRequest, before: Optional[DelegationLimits]) -> DelegationLimits:
    given = {"origins": request.origins}
    for name in ("methods", "paths", "mcp"):
        value = getattr(request, name)
        value = getattr(before, name, None) if value is None else value
        if value is not None:
            given[name] = value
    limits = read_limits(given)
    if limits is not None:
        return limits
    raise _invalid(
        "Limits are 1 to 8 different https origins such as https://shop.example, methods such as GET, paths such as /orders or "
        "/orders/* of at most 128 characters that no server reads differently, and 1 to 16 MCP calls such as tools/list or "
        "tools/call search."
    )


def _assert_usable(text: str, keyid: str, now: float) -> None:
    """What a verifier would refuse is not handed out."""
    if len(text) > MAX_CHAIN_LENGTH:
        raise _invalid(
            f"The chain would have {len(text)} characters. {MAX_CHAIN_LENGTH} are allowed: use fewer or shorter limits."
        )
    chain = read_chain(text)
    fault = "format" if isinstance(chain, UnreadableChain) else chain_fault(chain, keyid, now)
    if fault == "widened":
        raise _invalid("A delegation cannot allow more than the one before it.")
    if fault is not None:
        raise _invalid(f"Every verifier would refuse this chain ({fault}).")


def _invalid(message: str) -> CountersignError:
    return CountersignError("INVALID_ARGUMENT", message)
