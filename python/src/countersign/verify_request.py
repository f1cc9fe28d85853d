"""Verifying one request with the keys of a service."""

from __future__ import annotations

import base64
import time
from typing import Callable, Optional, Sequence, Union

from ._http import RawRequest, SignatureAgent
from ._roots import registry_roots
from .delegation import DelegationPolicy
from .errors import CountersignError
from .nonces import NonceStore
from .registry import Registry
from .verification import RequestVerifier, SignatureResult, SigningKey


def verify_request(
    request: RawRequest,
    registry: Registry,
    audiences: Sequence[str],
    nonces: Optional[NonceStore],
    now: Callable[[], float] = time.time,
    delegation: Optional[DelegationPolicy] = None,
) -> SignatureResult:
    """Verifies the signature of a request (RFC 9421, Web Bot Auth). Decide by ``verdict``; ``reason`` is for your log.

    It asks the service for each signed request. The middlewares cache what it answers.

    :param registry: the service that certifies the agents
    :param audiences: the origins at which agents reach you, such as ``https://shop.example``; never take one from a request
    :param nonces: the nonces that were used, such as one ``MemoryNonceStore()`` that you create once; ``None``: you detect
        replays yourself
    :param now: the clock, in Unix seconds
    :param delegation: which delegates of agents to accept: requests that a worker signs, with a chain of delegations from its agent. Then
        ``did`` is the agent, and ``delegation`` says more. By default all are refused
    """

    def find_key(agent: SignatureAgent, keyid: str) -> Union[SigningKey, str]:
        did = registry.naming.did_of_key_set(registry.service, agent.url)
        if did is None:
            return "untrusted-agent"
        try:
            found = registry.agent(did)
            if not registry.record_key_sequence(did, int(found["keySequence"])):
                return "directory-unavailable"
            if found["keyThumbprint"] != keyid:
                return "unknown-key"
            return SigningKey(base64.b64decode(found["publicKey"], validate=True), did, str(found["status"]))
        except CountersignError as error:
            return "unknown-key" if error.code == "NOT_FOUND" else "directory-unavailable"
        except (KeyError, TypeError, ValueError):
            return "directory-unavailable"

    verifier = RequestVerifier(
        audiences,
        find_key,
        nonces,
        registry.naming,
        now=now,
        delegation=delegation,
        find_root=registry_roots(registry, now),
        proven=registry.proven_chains,
    )
    return verifier.verify(request)
