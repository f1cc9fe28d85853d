"""Verifying the certificates at the roots of chains at the service: its keys, its status list, and what it says of the agent."""

from __future__ import annotations

import base64
import time
from typing import Callable, Optional, Union

from ._jws import parse_jws
from .delegation import DelegationRoot
from .errors import CountersignError
from .registry import Registry
from .verification import RootLookup, SigningKey

# How old the status list may be, in seconds: an ended chain is refused after this.
_MAX_AGE = 5.0


def registry_roots(registry: Registry, now: Callable[[], float] = time.time) -> RootLookup:
    """Asks the service for each request."""

    def find_root(root: DelegationRoot) -> Union[SigningKey, str]:
        did = registry.naming.did_of_key_set(registry.service, root.signature_agent.url)
        if did is None:
            return "untrusted-agent"
        status = certificate_status(registry, root, did, _MAX_AGE, None, now)
        if status not in ("active", "suspended"):
            return status
        try:
            found = registry.agent(did)
            sequence = int(found["keySequence"])
            if not registry.record_key_sequence(did, sequence):
                return "directory-unavailable"
            if found["keyThumbprint"] != root.keyid or sequence != key_sequence_of(root):
                return "delegation-ended"
            agent_status = status if status == "suspended" else str(found["status"])
            return SigningKey(base64.b64decode(found["publicKey"], validate=True), did, agent_status)
        except CountersignError as error:
            return "unknown-key" if error.code == "NOT_FOUND" else "directory-unavailable"
        except (KeyError, TypeError, ValueError):
            return "directory-unavailable"

    return find_root


def certificate_status(
    registry: Registry,
    root: DelegationRoot,
    did: str,
    max_age_seconds: float,
    issuer: Optional[str],
    now: Callable[[], float],
) -> str:
    """``active`` or ``suspended``, or the fault of a ``RootLookup``.

    :param did: the agent that the request names
    """
    if root.did != did:
        return "delegation-invalid"
    try:
        registry.verify_certificate(root.certificate, max_age_seconds, issuer, now)
        return "active"
    except CountersignError as error:
        if error.code == "CERTIFICATE_SUSPENDED":
            return "suspended"
        if error.code == "CERTIFICATE_REVOKED":
            return "delegation-ended"
        return "delegation-invalid" if error.code == "INVALID_TOKEN" else "directory-unavailable"


def key_sequence_of(root: DelegationRoot) -> object:
    """The number of the key in a certificate that was verified."""
    return parse_jws(root.certificate, "certificate").payload.get("keySequence")
